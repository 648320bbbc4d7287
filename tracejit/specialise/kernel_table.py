"""The kernel table: what was made for the calls of one function, and who is making more.

Threads read it without a lock: what they read is replaced as a whole, never changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tracejit.compiler.kernel import Kernel
from tracejit.runtime.dispatch import Entry
from tracejit.runtime.single_flight import Mutex, SingleFlight
from tracejit.trace.signature import Call


class Made(NamedTuple):
    """What was made for one signature: `call` checks whether a call fits, and makes it."""

    entry: Entry
    kernel: Kernel
    call: Callable[..., Any]

    @property
    def fixed(self) -> tuple[bool, int]:
        """How much of a call is fixed: every size or not, and how many numbers."""
        return self.entry.sizes is None, len(self.entry.fixed)


class KernelTable:
    """What was made for a function: `kernels` are all kernels, the newest last, and `turns` the
    calls that are being recorded.

    `calls` are the entries in the order in which they are asked: those first that fix most, among
    them the newest. So a call whose sizes and numbers have a kernel of their own keeps it, and gets
    the same bits again, also when there is one for any.
    """

    def __init__(self) -> None:
        """Nothing yet."""
        self.made: tuple[Made, ...] = ()
        self.calls: tuple[Callable[..., Any], ...] = ()
        self.kernels: list[Kernel] = []
        self.recordings = 0
        self.turns = SingleFlight()
        self._mutex = Mutex()

    def made_for(self, call: Call, exact: bool = False) -> Made | None:
        """What was made for a call like this one, and holds; where `exact`, for its very sizes."""
        made = (one for one in _in_turn(self.made) if not exact or one.entry.sizes is None)
        return next((one for one in made if one.entry.fits(call)), None)

    def enter(self, new: Made, onto: Entry | None = None) -> Made:
        """Put what was made in its place among the others, in that of `onto`; with the kernel that
        it calls.

        One for the same call that computes the same has read what is different now, to no effect:
        the new guard takes its place.
        """
        while True:
            known, others = self.made, []
            replaced: Kernel | None = None
            for one in known:
                if one.entry is onto:
                    replaced = one.kernel
                elif one.kernel.key == new.kernel.key and one.entry.is_for(new.entry.call):
                    new = new._replace(kernel=one.kernel)
                    replaced = one.kernel
                else:
                    others.append(one)
            made = (*others, new)
            calls = tuple([one.call for one in _in_turn(made)])
            with self._mutex.here():
                if self.made is not known:
                    continue  # another thread has entered one
                self.made, self.calls = made, calls
                if replaced is None:
                    self.kernels.append(new.kernel)
                elif replaced is not new.kernel:
                    self.kernels[self.kernels.index(replaced)] = new.kernel
            return new

    def holds(self, entry: Entry) -> bool:
        """Tell if no other has taken the place of `entry`."""
        return any(one.entry is entry for one in self.made)

    def add(self, kernel: Kernel) -> None:
        """Show a kernel that served one call."""
        with self._mutex.here():
            if not self.kernels or self.kernels[-1].key != kernel.key:
                self.kernels.append(kernel)

    def count(self) -> None:
        """One recording more has ended."""
        with self._mutex.here():
            self.recordings += 1

    def state(self) -> tuple[Any, ...]:
        """What stands on it now, for `restore`."""
        return self.made, self.calls, list(self.kernels)

    def restore(self, state: tuple[Any, ...]) -> None:
        """Let stand on it what stood there before."""
        with self._mutex.here():
            self.made, self.calls, self.kernels[:] = state

    def clear(self) -> None:
        """Forget what was made."""
        with self._mutex.here():
            self.kernels.clear()
            self.made, self.calls = (), ()


def _in_turn(made: tuple[Made, ...]) -> list[Made]:
    """What was made, the newest last, in the order in which calls ask."""
    return sorted(reversed(made), key=lambda one: one.fixed, reverse=True)
