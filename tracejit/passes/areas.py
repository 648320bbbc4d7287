"""Areas: which part of an array a basic index of slices selects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tracejit.ir.graph import Value
from tracejit.ops.indexing import FULL
from tracejit.passes.emission import made_by

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
    """Tell if a value fills its area, and is not spread over it."""
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
