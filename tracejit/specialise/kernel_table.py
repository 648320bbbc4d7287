"""Kernel table: the kernels compiled for the calls of one function.

Threads read it without a lock: what they read is replaced as a whole, never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NamedTuple, NoReturn

from tracejit.compiler.kernel import Kernel
from tracejit.runtime.dispatch import Entry
from tracejit.runtime.single_flight import Mutex
from tracejit.trace.arguments.signature import Call


class CompiledCall(NamedTuple):
    """The kernel for one signature with its entry: `call` checks that a call fits, and makes it."""

    entry: Entry
    kernel: Kernel
    call: Callable[..., Any]

    def arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments that the kernel gets in such a call, which is not made."""

        def take(*arrays: Any) -> NoReturn:
            raise _Taken(arrays)

        try:
            self.with_target(take)(*args, **kwargs)
        except _Taken as taken:
            return taken.arrays
        raise LookupError(f"the call does not fit {self.kernel!r}")

    def with_target(self, target: Callable[..., Any]) -> Callable[..., Any]:
        """The entry with another function in the place of the kernel's."""
        entry: Any = self.call
        own = self.entry.target
        space = {name: target if x is own else x for name, x in entry.__globals__.items()}
        made = FunctionType(entry.__code__, space, None, entry.__defaults__)
        made.__kwdefaults__ = entry.__kwdefaults__
        return made


class _Taken(Exception):
    """The arguments of a call that was not made."""

    def __init__(self, arrays: tuple[Any, ...]) -> None:
        self.arrays = arrays


class KernelTable:
    """The kernels of one function, the newest last, and the entries that choose between them.

    `calls` are the entries in the order in which they are asked: those first that fix most, among
    them the newest. So a call whose sizes and numbers have a kernel of their own keeps it, and gets
    the same bits again, also when there is one for any. `recordings` counts how often the function
    was recorded.
    """

    def __init__(self) -> None:
        """Begin without kernels."""
        self.compiled: tuple[CompiledCall, ...] = ()
        self.calls: tuple[Callable[..., Any], ...] = ()
        self.kernels: list[Kernel] = []
        self.recordings = 0
        self._mutex = Mutex()

    def find(self, call: Call, exact: bool = False) -> CompiledCall | None:
        """Find what serves a call like this one, and holds; where `exact`, for its very sizes."""
        return next((one for one in self.for_call(call, exact) if one.entry.holds()), None)

    def for_call(self, call: Call, exact: bool = False) -> Iterator[CompiledCall]:
        """The kernels that would serve a call like this one if all that they read were unchanged;
        where `exact`, for its very sizes."""
        for one in _in_turn(self.compiled):
            if not (exact and one.entry.sizes is not None) and one.entry.is_for(call):
                yield one

    def enter(self, new: CompiledCall, onto: Entry | None = None) -> CompiledCall:
        """Put what was compiled in its place among the others, in that of `onto`; return it with
        the kernel that it calls.

        One for the same call that computes the same has read what is different now, to no effect:
        the new guard takes its place.
        """
        while True:
            known, others = self.compiled, []
            replaced: Kernel | None = None
            for one in known:
                if one.entry is onto:
                    replaced = one.kernel
                elif one.kernel.key == new.kernel.key and one.entry.is_for(new.entry.call):
                    new = new._replace(kernel=one.kernel)
                    replaced = one.kernel
                else:
                    others.append(one)
            compiled = (*others, new)
            calls = tuple([one.call for one in _in_turn(compiled)])
            with self._mutex.here():
                if self.compiled is not known:
                    continue  # another thread has entered one
                self.compiled, self.calls = compiled, calls
                if replaced is None:
                    self.kernels.append(new.kernel)
                elif replaced is not new.kernel:
                    self.kernels[self.kernels.index(replaced)] = new.kernel
            return new

    def kernel_of(self, entry: Entry | None) -> Kernel | None:
        """The kernel of `entry`; None if another has taken its place."""
        return next((one.kernel for one in self.compiled if one.entry is entry), None)

    def add(self, kernel: Kernel) -> None:
        """Show a kernel that served one call."""
        with self._mutex.here():
            if not self.kernels or self.kernels[-1].key != kernel.key:
                self.kernels.append(kernel)

    def count(self) -> None:
        """One recording more has ended."""
        with self._mutex.here():
            self.recordings += 1

    def clear(self) -> None:
        """Forget what was compiled."""
        with self._mutex.here():
            self.kernels.clear()
            self.compiled, self.calls = (), ()


def _in_turn(compiled: tuple[CompiledCall, ...]) -> list[CompiledCall]:
    """Sort what was compiled, the newest last, in the order in which calls ask: those that fix
    every size come first, then those that fix most numbers."""

    def fixed(one: CompiledCall) -> tuple[bool, int]:
        return one.entry.sizes is None, len(one.entry.fixed)

    return sorted(reversed(compiled), key=fixed, reverse=True)
