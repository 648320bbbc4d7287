"""Rows of arrays that steps read, and of what loops stack: stretches of them are slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tracejit.trace.tensor.tensor import Tensor


class StackedRow(NamedTuple):
    """Element `number` of a stacked array."""

    stacked: Tensor
    number: int


def stretches_of(rows: Sequence[StackedRow | None]) -> list[list[int]]:
    """Rows of one array with consecutive numbers, up or down, by their numbers; in between, what is
    no such row."""
    parts: list[list[int]] = []
    before: StackedRow | None = None
    for row in rows:
        last = parts[-1] if parts else []
        follows = (
            row is not None
            and before is not None
            and row.stacked is before.stacked
            and row.number - before.number in ((1, -1) if len(last) < 2 else (last[1] - last[0],))
        )
        number = -1 if row is None else row.number
        if follows or (parts and row is None and before is None):
            last.append(number)
        else:
            parts.append([number])
        before = row
    return parts


def part_of(stacked: Any, numbers: Sequence[int]) -> Any:
    """These elements of an array, whose numbers go up or down by one."""
    stride = 1 if numbers[-1] > numbers[0] else -1
    part = slice_of(numbers[0], stride, len(numbers), len(stacked))
    return stacked if part == slice(None) else stacked[part]


def slice_of(first: int, stride: int, count: int, size: int) -> slice:
    """The slice of so many elements of an axis, as it is written shortest.

    >>> slice_of(0, 1, 25, 25), slice_of(1, 1, 3, 4), slice_of(3, -1, 4, 4)
    (slice(None, None, None), slice(1, None, None), slice(None, None, -1))
    >>> slice_of(1, 2, 3, 9), slice_of(5, -2, 2, 9)
    (slice(1, 6, 2), slice(5, 2, -2))
    """
    end = first + stride * count
    start: int | None = None if first == (0 if stride > 0 else size - 1) else first
    stop: int | None = None if end >= size or end < 0 else end - stride + (1 if stride > 0 else -1)
    return slice(start, stop, None if stride == 1 else stride)
