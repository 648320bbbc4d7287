"""Plain arrays that converted code makes, `np.arange(n)`.

They stay plain, as Python may go by their numbers, unless something recorded is written to one.
Then the function is recorded again, and what that line makes is recorded from its start.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection
from typing import Any

import numpy as np

from tracejit.trace.guards.contents import memory_of
from tracejit.trace.recording.reruns import Line, WrittenArray
from tracejit.trace.source import places


class MadeArrays:
    """The plain arrays that a recording has made, with the lines of the user's that make them.
    Those of the lines `recorded` are to be recorded; of None, all stay plain."""

    def __init__(self, recorded: Collection[Line] | None = None) -> None:
        """None is made yet."""
        self._recorded = recorded
        self._made: dict[int, tuple[weakref.ref[Any], Line]] = {}

    def is_recorded(self, array: np.ndarray) -> bool:
        """Note an array that the user's line has just made; return whether to record it."""
        if self._recorded is None or array.dtype.kind not in "biufc":
            return False
        memory, frame = memory_of(array), places.user_frame()
        if frame is None or not isinstance(memory, np.ndarray):
            return False
        line = frame.f_code.co_filename, frame.f_lineno
        if line not in self._recorded and not self.has(memory):
            self._made[id(memory)] = weakref.ref(memory), line
        return line in self._recorded

    def has(self, target: Any) -> bool:
        """Return whether a target of writes is one of these, or a view of one; what is read-only
        is no target."""
        if type(target) is not np.ndarray or not target.flags.writeable:
            return False
        memory = memory_of(target)
        found = self._made.get(id(memory))
        return found is not None and found[0]() is memory

    def write(self, target: Any) -> None:
        """Raise WrittenArray if a target is one of these."""
        if self.has(target):
            raise WrittenArray(self._made[id(memory_of(target))][1])
