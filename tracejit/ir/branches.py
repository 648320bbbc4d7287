"""Branches of a graph that joins several traces: its segments and decisions."""

from __future__ import annotations

from typing import Any, NamedTuple


class Decision(NamedTuple):
    """A decision of the program: the segment it ends, and for each outcome the segment that
    follows, in the order of the text."""

    number: int
    segment: int
    sides: tuple[tuple[Any, int], ...]


class Branches(NamedTuple):
    """The segments and decisions of a graph that joins several traces, numbered in the order of the
    text: a segment comes before all that follow it on some trace. `ends` holds, for each segment,
    the number after the last of those.
    """

    ends: tuple[int, ...] = ()
    decisions: tuple[Decision, ...] = ()

    def precedes(self, first: int, second: int) -> bool:
        """Return whether segment `first` dominates `second`: every trace through `second` runs
        `first`."""
        return first == second or not self.ends or first < second < self.ends[first]


STRAIGHT = Branches()
