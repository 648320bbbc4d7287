"""Rows by the number of a step: `x[t + 1]` of all steps of a loop is `x[1:n + 1]`.

`row_index` finds that an index goes through an array in equal steps, one element of one axis in
each step of the loop. What a loop reads there for all steps is a slice, and so is what it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tracejit.ir.graph import Node, Value
from tracejit.ops.indexing.indexing import getitem, put_slice
from tracejit.ops.indexing.updates import set_item


class RowIndex(NamedTuple):
    """The index of all steps, as params and as operands. The steps stand along the axis `axis` of
    what it selects; one of them selects `ndim` axes."""

    entries: tuple[Any, ...]
    operands: tuple[Value, ...]
    axis: int
    ndim: int


def row_index(
    node: Node, tables: Mapping[Value, Sequence[Any]], is_same: Callable[[Value], bool]
) -> RowIndex | None:
    """The index of a node of a loop's body for all steps: `tables` say which numbers are known at
    each, and `is_same` which values do not differ. None where it is no slice."""
    operands = _index_operands(node)
    moving = [k for k, value in enumerate(operands) if value in tables]
    if len(moving) != 1 or not all(is_same(v) for v in operands if v not in tables):
        return None
    if any(value.type.shape for value in operands):
        return None
    place, axis = -1, 0
    entries: list[Any] = []
    rest: list[Value] = []
    for number, entry in enumerate(node.params["index"]):
        if entry is None or entry == "...":
            return None
        if isinstance(entry, str) and (which := int(entry[1:-1]) - 1) in moving:
            place, axis = number, sum(type(one) is tuple for one in entries)
        elif isinstance(entry, str):
            rest.append(operands[which])
            entry = f"{{{len(rest)}}}"
        entries.append(entry)
    shape = _shape(node)
    steps = _slice_of(tables[operands[moving[0]]], shape[place])
    if steps is None:
        return None
    ndim = len(shape) - sum(type(entry) is not tuple for entry in entries)
    entries[place] = steps
    return RowIndex(tuple(entries), tuple(rest), axis, ndim)


def _index_operands(node: Node) -> tuple[Value, ...]:
    """The operands of an index that are part of it."""
    if node.op not in (getitem, put_slice, set_item):
        return ()
    return node.operands[1:-1] if node.op is set_item else node.operands[1:]


def _shape(node: Node) -> tuple[int, ...]:
    """The shape of the array that is indexed."""
    shape: tuple[int, ...]
    shape = node.params["shape"] if node.op is put_slice else node.operands[0].type.shape
    return shape


def _slice_of(numbers: Sequence[Any], size: int) -> tuple[str, int, int | None, int | None] | None:
    """The slice that takes these elements of an axis."""
    first, last = numbers[0], numbers[-1]
    step = numbers[1] - first if len(numbers) > 1 else 1
    if min(first, last) < 0 or max(first, last) >= size or not step:
        return None
    if any(number != first + k * step for k, number in enumerate(numbers)):
        return None
    stop = last + (1 if step > 0 else -1)
    return "slice", first, None if stop < 0 else stop, None if step == 1 else step
