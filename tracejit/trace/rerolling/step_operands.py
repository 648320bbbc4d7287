"""The operands of a step of a loop in relation to the steps: the kinds of columns.

`step_columns.py` finds out which kind each operand is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Constant, Value
from tracejit.ir.types import WEAK_TYPES, ArrayType
from tracejit.ops.indexing.indexing import getitem
from tracejit.trace.rerolling.periods import Index


class Inside(NamedTuple):
    """A result of the same step, by its number in the step."""

    slot: int


class Carried(NamedTuple):
    """A result of an earlier step, so many before; the first steps read `initial` values."""

    slot: int
    initial: tuple[Value, ...]


class Fixed(NamedTuple):
    """The same value at each step."""

    value: Value


class Listed(NamedTuple):
    """A constant at each step; integers may go on by `stride`."""

    constants: tuple[Constant, ...]
    stride: int | None = None


class Along(NamedTuple):
    """A row of `array` at each step, by an index whose entry in `place` begins as it is and goes on
    by `stride`."""

    array: Value
    entries: Index
    place: int
    stride: int


Column = Inside | Carried | Fixed | Listed | Along


def listed(constants: Sequence[Constant]) -> Listed:
    """A column of constants."""
    data = [constant.data for constant in constants]
    if constants[0].type is WEAK_TYPES[int]:
        stride = data[1] - data[0]
        if data == [data[0] + stride * k for k in range(len(data))]:
            return Listed(tuple(constants), stride)
    return Listed(tuple(constants))


def flags_of(count: int, start: int, stop: int) -> np.ndarray:
    """True from `start` to `stop`."""
    flags = np.zeros(count, dtype=bool)
    flags[start:stop] = True
    return flags


def stretch(values: Sequence[Value | None], middle: int) -> tuple[int, int]:
    """The steps around the middle one at which a value is a constant of the same type, or the row
    of the same array that follows."""
    here = values[middle]
    if here is None:
        return middle, middle
    if isinstance(here, Constant):
        if here.type.form == "handle":
            return middle, middle
        return _around(middle, len(values), lambda k: _may_be_listed(values[k], here.type))
    if not is_row(here):
        return middle, middle
    array = here.node.operands[0]  # type: ignore[union-attr]

    def is_row_of_it(k: int) -> bool:
        value = values[k]
        return value is not None and is_row(value) and value.node.operands[0] is array  # type: ignore[union-attr]

    start, stop = _around(middle, len(values), is_row_of_it)
    indices = [value.node.params["index"] for value in values[start:stop]]  # type: ignore[union-attr]
    if len(indices) < 2 or middle == start:
        return middle, middle
    low, high, entry, stride = index_course(indices, middle - start)
    if not stride or (indices[low][entry] < 0) != (indices[high - 1][entry] < 0):
        return middle, middle
    return start + low, start + high


def _may_be_listed(value: Value | None, type_of_all: ArrayType) -> bool:
    """Return whether a value is a constant that an array of such numbers can hold."""
    if type(value) is not Constant or value.type is not type_of_all:
        return False
    return type(value.data) is not int or -(2**63) <= value.data < 2**63


def may_be_promoted(initial: Value, type: ArrayType) -> bool:
    """Return whether a number is the same to an elementwise operation as numbers of this type."""
    kind = initial.type
    if not isinstance(initial, Constant) or not type.is_real or type.sizes is not None:
        return False
    if kind.form == "weak":
        return kind.dtype.kind in "if"
    return kind.form == "scalar" and np.can_cast(kind.dtype, type.dtype)


def is_row(value: Value) -> bool:
    """Return whether a value is a row of an array."""
    node = value.node
    return (
        node is not None
        and node.op is getitem
        and len(node.operands) == 1
        and "..." not in node.params["index"]
    )


def _around(middle: int, count: int, fits: Any) -> tuple[int, int]:
    start = stop = middle
    while stop < count and fits(stop):
        stop += 1
    while start > 0 and fits(start - 1):
        start -= 1
    return start, stop


def index_course(indices: Sequence[Index], middle: int) -> tuple[int, int, int, int]:
    """The steps around the middle one at which an index is the same, or goes on by one number: from
    which to which, the place of that number, and its stride, 0 where there is none."""
    other = middle - 1 if middle else 1
    here, there = indices[middle], indices[other]
    if here == there:
        start, stop = _around(middle, len(indices), lambda k: indices[k] == here)
        return start, stop, 0, 0
    if len(here) != len(there):
        return middle, middle, 0, 0
    places = [n for n, (x, y) in enumerate(zip(here, there, strict=True)) if x != y]
    entry = places[0]
    if len(places) > 1 or type(here[entry]) is not int or type(there[entry]) is not int:
        return middle, middle, 0, 0
    stride = (here[entry] - there[entry]) * (middle - other)

    def follows(k: int) -> bool:
        wanted = (*here[:entry], here[entry] + stride * (k - middle), *here[entry + 1 :])
        return bool(indices[k] == wanted)

    start, stop = _around(middle, len(indices), follows)
    return start, stop, entry, stride
