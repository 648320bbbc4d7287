"""Rows: where the elements of a part of an array lie in the array made flat."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracejit.passes.areas import Area


class Rows(NamedTuple):
    """The rows of a part of so many elements along each axis, in an array of so many along all but
    the first; what axes have in common is one axis.

    >>> Rows((3, 4), (8,)).size
    20
    """

    extents: tuple[int, ...]
    lengths: tuple[int, ...]

    @property
    def number(self) -> int:
        """How many rows there are."""
        return math.prod(self.extents[:-1])

    @property
    def size(self) -> int:
        """The elements from the first to the last, with all that lies between the rows."""
        return self._reach(0)

    @property
    def gaps(self) -> int:
        """The elements that lie between the rows."""
        return self.size - math.prod(self.extents)

    @property
    def levels(self) -> Iterator[tuple[int, int]]:
        """The gaps of each axis: of so many elements, one stretch of them after the other, that
        many at the start are no gap."""
        for axis in range(len(self.lengths), 0, -1):
            yield self._reach(axis), math.prod(self.lengths[axis - 1 :])

    def _reach(self, first: int) -> int:
        """The elements from the first to the last, along the axes from `first` on."""
        axes = range(first, len(self.extents))
        return 1 + sum((self.extents[k] - 1) * math.prod(self.lengths[k:]) for k in axes)


class Stretch(NamedTuple):
    """The elements of an array made flat from `start` on, in rows."""

    start: int
    rows: Rows

    @property
    def selection(self) -> tuple[object, ...]:
        """The index that selects it."""
        return (("slice", self.start or None, self.start + self.rows.size, None),)


def stretch_of(area: Area, shape: Sequence[int]) -> Stretch | None:
    """The stretch that an area lies in; None for an area without elements.

    >>> stretch_of(((1, 4), (2, 6), (0, 3)), (5, 8, 3))
    Stretch(start=30, rows=Rows(extents=(3, 12), lengths=(24,)))
    """
    start = 0
    axes: list[tuple[int, int]] = []
    for (first, last), n in zip(area, shape, strict=True):
        extent = last - first
        if extent < 1:
            return None
        start = start * n + first
        if axes and extent == n:
            before, length = axes.pop()
            axes.append((before * n, length * n))
        else:
            axes.append((extent, n))
    while len(axes) > 1 and axes[0][0] == 1:
        del axes[0]
    if not axes:
        return None
    extents, lengths = zip(*axes, strict=True)
    return Stretch(start, Rows(extents, lengths[1:]))
