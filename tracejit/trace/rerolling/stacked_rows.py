"""Rows of what loops stack, where something reads them: stretches of them are parts of stacks."""

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
    first, last = numbers[0], numbers[-1]
    stride = 1 if last > first else -1
    if (first, last) == (0, len(stacked) - 1):
        return stacked
    stop: int | None = last + stride
    return stacked[first : None if stop == -1 else stop : stride]
