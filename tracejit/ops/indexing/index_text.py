"""The spelling of indexing: the text between the brackets, and the fastest call for rows.

Rows that one array of integers names are gathered by `take`, and added up by columns or in an array
made flat: `x[rows]` and `np.add.at(out, rows, v)` go through the general machinery of indexing for
each row, which takes two to seven times as long. The same numbers are added in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base.creation import filled
from tracejit.support.cost_model import costs

Index = tuple[Any, ...]


def index_text(index: Index) -> str:
    """The index between the brackets.

    >>> index_text((("slice", 1, None, None), None, ("slice", None, None, 2)))
    '1:, None, ::2'
    """
    return ", ".join(map(_entry_text, index)) or "()"


def _entry_text(entry: Any) -> str:
    if not isinstance(entry, tuple):
        return str(entry)
    start, stop, step = ("" if bound is None else str(bound) for bound in entry[1:])
    return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"


def index_object_text(index: Index) -> str:
    """The index as an argument of a call.

    >>> index_object_text((("slice", None, None, None), "{1}"))
    '(slice(None), {1})'
    """
    texts = []
    for entry in index:
        if isinstance(entry, tuple):
            *bounds, step = entry[1:]
            bounds = bounds if step is None else [*bounds, step]
            bounds = bounds[1:] if bounds[0] is None and len(bounds) == 2 else bounds
            texts.append(f"slice({', '.join(map(str, bounds))})")
        else:
            texts.append(str(entry))
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def taken(types: Sequence[ArrayType], index: Index) -> str:
    """Elements of {0} at arrays of integers.

    `take` is four times as fast, but copies an array that is not contiguous, so that it must not
    have more than four times as many elements as are taken.
    """
    x, places = types[:2]
    if index == ("{1}",) and x.ndim > 1 and np.can_cast(places.dtype, np.intp):
        selected = places.estimated_size * ArrayType(x.shape[1:], x.dtype).estimated_size
        if 4 * selected >= x.estimated_size:
            return "{0}.take({1}, axis=0)"
    return f"{{0}}[{index_text(index)}]"


def assigned(types: Sequence[ArrayType], shape: Shape, index: Index) -> tuple[str, str]:
    """{0} put at an index in zeros."""
    return _zeros(types, shape), f"{{out}}[{index_text(index)}] = {{0}}"


def slice_update(types: Sequence[ArrayType], index: Index) -> str:
    """{1} added to what is at an index."""
    return f"{{out}}[{index_text(index)}] += {{1}}"


def added(types: Sequence[ArrayType], shape: Shape, index: Index) -> tuple[str, ...]:
    """{0} added up at an index in zeros."""
    value, rows = types[:2]
    if is_added_flat(value, rows, shape, index):
        lines = _added_flat(math.prod(shape[1:]), rows)
    else:
        lines = added_up("np.add.at", "{0}", value, rows, shape, index)
    return _zeros(types, shape), *lines


def is_added_flat(value: ArrayType, rows: ArrayType, shape: Shape, index: Index) -> bool:
    """Return whether many rows are added up in a flattened array, which only zeros are sure to
    allow."""
    if index != ("{1}",) or not all(type(size) is int for size in shape[1:]):
        return False
    is_slow = math.prod(shape[1:]) > 1 and value.estimated_size >= costs().many_indexed_elements
    by_columns = _columns(value, rows, shape, index)
    return bool(is_slow and not by_columns and np.can_cast(rows.dtype, np.int64))


def added_up(
    call: str, text: str, value: ArrayType, rows: ArrayType, shape: Shape, index: Index
) -> tuple[str, ...]:
    """The `call` of a ufunc's at that adds `value`, which is spelled `text`, to {out} at an index:
    in one row or column of it, by columns, or in general."""
    if len(index) == len(shape) > 1 and all(type(one) is int or one == "{1}" for one in index):
        if index.count("{1}") == 1:
            part = ", ".join(":" if one == "{1}" else str(one) for one in index)
            return (f"{call}({{out}}[{part}], {{1}}, {text})",)
    columns = _columns(value, rows, shape, index)
    if not columns:
        return (f"{call}({{out}}, {index_object_text(index)}, {text})",)
    first = columns.start
    bounds = f"{first}, {columns.stop}" if first else f"{columns.stop}"
    place = f"column - {first}" if first else "column"
    return (
        f"for column in range({bounds}):",
        f"    {call}({{out}}[:, column], {{1}}, {text}[:, {place}])",
    )


def _columns(value: ArrayType, rows: ArrayType, shape: Shape, index: Index) -> range:
    """The few columns of a matrix of which one array names rows; none where that is not so."""
    whole = ("slice", None, None, None)
    first, chosen = (*index, whole)[:2]
    if len(shape) != 2 or len(index) > 2 or first != "{1}" or rows.ndim != 1 or value.ndim != 2:
        return range(0)
    if chosen[0] != "slice" or not all(type(one) is int for one in (shape[1], value.shape[1])):
        return range(0)
    columns = range(*slice(*chosen[1:]).indices(shape[1]))
    if columns.step != 1 or len(columns) != value.shape[1] or len(columns) > costs().added_columns:
        return range(0)
    are_many = value.estimated_size >= costs().many_indexed_elements and rows.dtype.kind in "iu"
    return columns if are_many else range(0)


def _added_flat(columns: int, rows: ArrayType) -> tuple[str, ...]:
    size = str(columns) if rows.dtype == np.int64 else f"np.int64({columns})"
    places = f"({{1}}[..., None] * {size} + np.arange({columns})).reshape(-1)"
    return (f"np.add.at({{out}}.reshape(-1), {places}, {{0}}.reshape(-1))",)


def _zeros(types: Sequence[ArrayType], shape: Shape) -> str:
    return f"{{out}} = {filled(shape, 0, types[0].dtype)}"
