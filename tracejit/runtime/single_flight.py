"""Single flight: of the threads that make the same call at once, one records it.

Another thread that makes the same call at that time does not wait. It makes this one call without a
kernel, so no thread can wait for a thread that waits for it, whatever the user's code does while it
is recorded. A thread's own flights do not stand in its way. In a forked child the other threads are
gone, and their flights with them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tracejit.trace.arguments.signature import Call, is_alike


class Flight:
    """A call that is being recorded, with the numbers in it that are static, and who records it."""

    __slots__ = ("call", "fixed", "process", "thread")

    def __init__(self, call: Call, fixed: Mapping[str, Any]) -> None:
        """This thread's flight for `call`."""
        self.process = os.getpid()
        self.thread = threading.get_ident()
        self.call = call
        self.fixed = {name: repr(number) for name, number in fixed.items()}

    def stands_before(self, other: Flight) -> bool:
        """Return whether another thread of this process records the same call."""
        return (
            self.process == other.process
            and self.thread != other.thread
            and self.fixed == other.fixed
            and is_alike(self.call, other.call)
        )


class SingleFlight:
    """The calls of one function that are being recorded.

    Its list is appended to, copied and removed from in one step each: no lock is held while the
    user's code runs.
    """

    def __init__(self) -> None:
        """Begin with no call being recorded."""
        self.flights: list[Flight] = []

    @contextmanager
    def at(self, call: Call, fixed: Mapping[str, Any]) -> Iterator[bool]:
        """Record a call with these static numbers, if no other thread does: whether that is so. Of
        those that ask at once one is told so."""
        flight = Flight(call, fixed)
        self.flights.append(flight)
        try:
            flights = list(self.flights)
            earlier = flights[: flights.index(flight)]
            is_first = not any(one.stands_before(flight) for one in earlier)
            if not is_first:
                self.flights.remove(flight)
            yield is_first
        finally:
            if flight in self.flights:
                self.flights.remove(flight)


class Mutex:
    """A lock for a few steps in which no code of the user's runs, or whose other holders come to an
    end by themselves. It is free in a forked child: the thread that held it is not there."""

    def __init__(self) -> None:
        """Make a mutex that nobody holds."""
        self._locks: dict[int, Any] = {}

    def here(self) -> Any:
        """The lock of this process, for a `with` statement; its holder may take it again."""
        return self._locks.setdefault(os.getpid(), threading.RLock())

    def is_mine(self) -> bool:
        """Return whether this thread holds it: a signal handler has come in between."""
        return bool(self.here()._is_owned())
