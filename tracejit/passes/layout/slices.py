"""Slices: which part of an array a basic index of slices selects, and where it lies in the array
made flat."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tracejit.ir.graph import Value
from tracejit.ops.indexing.indexing import FULL
from tracejit.passes.framework.emission import made_by

Area = tuple[tuple[int, int], ...]


class Part(NamedTuple):
    """A value, and the area of an array that it fills or is added to."""

    value: Value
    area: Area


def parents(value: Value) -> Iterator[Part]:
    """The arrays that `value` is a view of, each with the area that it shows."""
    area: Area = tuple((0, n) for n in value.type.shape)
    while (made := made_by(value, "getitem")) is not None and len(made.operands) == 1:
        value = made.operands[0]
        outer = area_of(made.params["index"], value.type.shape)
        if outer is None:
            return
        area = tuple(
            (a + first, a + last) for (a, _), (first, last) in zip(outer, area, strict=True)
        )
        yield Part(value, area)


def area_of(index: Iterable[Any], shape: Sequence[Any]) -> Area | None:
    """The area that a basic index of slices selects; None for any other."""
    entries = list(index)
    if "..." in entries:
        place = entries.index("...")
        entries[place : place + 1] = [FULL] * (len(shape) - len(entries) + 1)
    if not all(type(n) is int for n in shape) or len(entries) > len(shape):
        return None
    area: list[tuple[int, int]] = []
    for entry, n in zip(entries, shape, strict=False):
        if type(entry) is not tuple or entry[3] not in (None, 1):
            return None
        first, last, _ = slice(*entry[1:]).indices(n)
        area.append((first, last))
    return (*area, *[(0, n) for n in shape[len(area) :]])


def has_area(part: Part) -> bool:
    """Return whether a value fills its area, and is not broadcast over it."""
    shape = tuple(last - first for first, last in part.area)
    return part.value.type.sizes is None and part.value.type.shape == shape


def index_of(area: Area, shape: Sequence[int]) -> tuple[object, ...]:
    """The index that selects an area."""
    entries = [
        ("slice", first or None, last if last < n else None, None)
        for (first, last), n in zip(area, shape, strict=True)
    ]
    while entries[-1] == ("slice", None, None, None) and len(entries) > 1:
        entries.pop()
    return tuple(entries)


class SliceRows(NamedTuple):
    """The rows of a part of so many elements along each axis, in an array of so many along all but
    the first; what axes have in common is one axis.

    >>> SliceRows((3, 4), (8,)).size
    20
    """

    extents: tuple[int, ...]
    lengths: tuple[int, ...]

    @property
    def number(self) -> int:
        """The number of rows."""
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
        """The gaps of each axis: of so many elements, one run of them after the other, that
        many at the start are not a gap."""
        for axis in range(len(self.lengths), 0, -1):
            yield self._reach(axis), math.prod(self.lengths[axis - 1 :])

    def around(self, part: Sequence[int], shape: Sequence[int]) -> SliceRows | None:
        """The rows of an array of `shape` that a `part` lies in; None if it has no place there.

        >>> SliceRows((3, 4), (8,)).around((3, 4), (5, 6))
        SliceRows(extents=(5, 6), lengths=(8,))
        """
        is_longer = any(n >= length for n, length in zip(shape[1:], self.lengths, strict=False))
        return None if is_longer or self.extents != part else SliceRows(tuple(shape), self.lengths)

    def _reach(self, first: int) -> int:
        """The elements from the first to the last, along the axes from `first` on."""
        axes = range(first, len(self.extents))
        return 1 + sum((self.extents[k] - 1) * math.prod(self.lengths[k:]) for k in axes)


class FlatSlice(NamedTuple):
    """The elements of an array made flat from `start` on, in rows."""

    start: int
    rows: SliceRows

    @property
    def selection(self) -> tuple[object, ...]:
        """The index that selects it."""
        return (("slice", self.start or None, self.start + self.rows.size, None),)


def flat_slice_of(area: Area, shape: Sequence[int]) -> FlatSlice | None:
    """The flat slice that an area lies in; None for an area without elements.

    >>> flat_slice_of(((1, 4), (2, 6), (0, 3)), (5, 8, 3))
    FlatSlice(start=30, rows=SliceRows(extents=(3, 12), lengths=(24,)))
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
    return FlatSlice(start, SliceRows(extents, lengths[1:]))
