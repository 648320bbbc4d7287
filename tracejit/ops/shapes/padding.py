"""Padding: margins of constants, of the array's own elements, of ramps or of statistics."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import (
    as_array,
    cast,
    filled,
    is_recorded,
    known,
    plain_number,
    type_in_call,
)
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import OPS, Op, answer, defop
from tracejit.ops.indexing.index_text import index_text
from tracejit.ops.indexing.indexing import FULL, getitem
from tracejit.ops.reductions.reductions import along

Widths = Sequence[tuple[int, int]]


def _inner(pad_width: Widths) -> tuple[Any, ...]:
    """The index of the original elements in a padded array."""
    ends = [(before or None, -after or None) for before, after in pad_width]
    return tuple(FULL if not any(end) else ("slice", *end, None) for end in ends)


def _padded_type(x: ArrayType, pad_width: Any, value: Any) -> ArrayType:
    sizes = zip(x.shape, pad_width, strict=True)
    return ArrayType(tuple(before + size + after for size, (before, after) in sizes), x.dtype)


def _padded(types: Sequence[ArrayType], pad_width: Any, value: Any) -> tuple[str, str]:
    result = _padded_type(types[0], pad_width, value)
    full = filled(result.shape, value, result.dtype)
    return f"{{out}} = {full}", f"{{out}}[{index_text(_inner(pad_width))}] = {{0}}"


def _padded_batch(name: str) -> Callable[..., Any]:
    """The batching rule of an op of padding: none along the batch."""

    def rule(moved: Moved, x: Any, pad_width: Any, **params: Any) -> Any:
        return OPS[name](x, pad_width=((0, 0), *pad_width), **params)

    return rule


def _padded_axes(types: Sequence[ArrayType], pad_width: Widths, **params: Any) -> str:
    return axes.along(types, tuple(k for k, width in enumerate(pad_width) if any(width)))


pad: Op = defop(
    name="pad",
    infer=_padded_type,
    vjp=lambda g, y, x, pad_width, value: getitem(g, index=_inner(pad_width)),
    jvp=lambda v, y, x, pad_width, value: pad(v, pad_width=pad_width, value=0),
    batch=_padded_batch("pad"),
    statements=_padded,
    moves=True,
    axes=_padded_axes,
)


def _pairs(values: Any, ndim: int, whole: bool = False) -> Any:
    """A number before and one after each axis, as NumPy reads them: some NumPy's, some Python's."""
    values = np.array(known(values, "stat_length") if whole else values)
    if whole:
        values = np.round(values).astype(np.intp)
        if values.min(initial=0) < 0:
            raise ValueError("index can't contain negative values")
    if values.ndim < 3 and (values.size == 1 or (values.size == 2 and values.shape != (2, 1))):
        ends = values.ravel()
        return [(ends[0], ends[-1])] * ndim
    return np.broadcast_to(values, (ndim, 2)).tolist()


def _pad_constant(array: Any, widths: Widths, constant_values: Any = 0) -> Any:
    """One number all around; or sides in turn, as NumPy overwrites the corners."""
    ndim = np.ndim(array)
    given = as_array(constant_values)
    if is_recorded(given):
        return _pad_recorded(array, widths, np.broadcast_to(given, (ndim, 2)))
    numbers = [plain_number(value) for value in np.broadcast_to(given, (ndim, 2)).flat]
    if len(set(map(repr, numbers))) <= 1:
        return pad(array, pad_width=tuple(map(tuple, widths)), value=numbers[0] if numbers else 0)
    for side, number in enumerate(numbers):
        axis, end = divmod(side, 2)
        pairs = [[0, 0] for _ in widths]
        pairs[axis][end] = widths[axis][end]
        array = pad(array, pad_width=tuple(map(tuple, pairs)), value=number)
    return array


def _pad_recorded(array: Any, widths: Widths, values: Any) -> Any:
    """Numbers that are being recorded all around."""
    for axis, pair in enumerate(widths):
        margins = [_margin(array, axis, width, values[axis, end]) for end, width in enumerate(pair)]
        array = _between(margins, array, axis)
    return array


def _margin(array: Any, axis: int, width: int, values: Any) -> Any:
    """The padding at one end of an axis, cast to the dtype of the array."""
    shape = (*array.shape[:axis], width, *array.shape[axis + 1 :])
    values = values if values.dtype == array.dtype else cast(values, array.dtype)
    return np.broadcast_to(values, shape)


def _between(margins: Sequence[Any], array: Any, axis: int) -> Any:
    """The array between two margins, either of which may have no width."""
    before, after = ([margin] if margin.shape[axis] else [] for margin in margins)
    return np.concatenate([*before, array, *after], axis) if before or after else array


def _pad_places(mode: Any) -> Callable[..., Any]:
    """Padding with elements of the array itself."""

    def handler(array: Any, widths: Widths) -> Any:
        for axis, width in enumerate(widths):
            if any(width):
                places = np.pad(np.arange(np.shape(array)[axis]), width, mode=mode)
                array = np.take(array, places, axis=axis)
        return array

    return handler


@lru_cache(64)
def _weights(size: int, width: tuple[int, int], mode: Any) -> Any:
    """Of each element along an axis, how often it is in each padded one."""
    return np.pad(np.eye(size), (width, (0, 0)), mode, reflect_type="odd")


def _odd_vjp(g: Any, y: Any, x: Any, pad_width: Widths, mode: str) -> Any:
    for axis in reversed([axis for axis, width in enumerate(pad_width) if any(width)]):
        weights = _weights(x.shape[axis], pad_width[axis], mode).astype(g.dtype)
        g = np.moveaxis(np.tensordot(g, weights, axes=((axis,), (0,))), -1, axis)
    return g


pad_odd = defop(
    name="pad_odd",
    infer=lambda x, pad_width, mode: _padded_type(x, pad_width, 0),
    vjp=_odd_vjp,
    jvp="linear",
    batch=_padded_batch("pad_odd"),
    source="np.pad({0}, {pad_width}, {mode}, reflect_type='odd')",
    cost=lambda x, **params: 10 * x.size,
    axes=_padded_axes,
)


def _pad_reflected(mode: Any) -> Callable[..., Any]:
    """Padding with the elements in reverse order, or with that reflected at the edges' values."""
    even = _pad_places(mode)

    def handler(array: Any, widths: Widths, reflect_type: str = "even") -> Any:
        if reflect_type == "even":
            return even(array, widths)
        if reflect_type != "odd":
            raise ValueError(f"reflect_type must be 'even' or 'odd', not {reflect_type!r}")
        _check_empty_axes(array, widths)
        return pad_odd(array, pad_width=tuple(map(tuple, widths)), mode=mode)

    return handler


def _pad_ramp(array: Any, widths: Widths, end_values: Any = 0) -> Any:
    """Padding with numbers from the edge evenly to the end values."""
    _check_empty_axes(array, widths)
    ends = _pairs(end_values, np.ndim(array))
    for axis, (pair, values) in enumerate(zip(widths, ends, strict=True)):
        edges = array[along(axis, slice(1))], array[along(axis, slice(-1, None))]
        ramps = [
            _ramp(value, edge, width, axis)
            for value, edge, width in zip(values, edges, pair, strict=True)
        ]
        array = _between((ramps[0], np.flip(ramps[1], axis)), array, axis)
    return array


def _ramp(value: Any, edge: Any, width: int, axis: int) -> Any:
    ramp = np.linspace(value, np.squeeze(edge, axis), width, endpoint=False, axis=axis)
    if ramp.dtype == edge.dtype:
        return ramp
    return (np.floor(ramp) if edge.dtype.kind in "iu" else ramp).astype(edge.dtype)


def _pad_statistic(statistic: Callable[..., Any]) -> Callable[..., Any]:
    """Padding with a statistic of the elements next to each edge."""

    def handler(array: Any, widths: Widths, stat_length: Any = None) -> Any:
        _check_empty_axes(array, widths)
        ndim = np.ndim(array)
        lengths = ((None, None),) * ndim if stat_length is None else _pairs(stat_length, ndim, True)
        for axis, (pair, counts) in enumerate(zip(widths, lengths, strict=True)):
            size = array.shape[axis]
            first, last = (size if count is None else min(int(count), size) for count in counts)
            if not (first and last) and statistic in (np.max, np.min):
                raise ValueError("stat_length of 0 yields no value for padding")
            parts = slice(first), slice(size - last, None)
            stats = [_rounded(statistic, array, axis, part) for part in parts]
            margins = [
                _margin(array, axis, width, stat) for width, stat in zip(pair, stats, strict=True)
            ]
            array = _between(margins, array, axis)
        return array

    return handler


def _rounded(statistic: Callable[..., Any], array: Any, axis: int, part: slice) -> Any:
    """A statistic of some slices, a whole number if the array has such."""
    part = slice(None) if part.indices(array.shape[axis]) == (0, array.shape[axis], 1) else part
    chunk = array if part == slice(None) else array[along(axis, part)]
    value = statistic(chunk, axis=axis, keepdims=True)
    return np.round(value) if array.dtype.kind in "iu" else value


def _check_empty_axes(array: Any, widths: Widths) -> None:
    for axis, (size, pair) in enumerate(zip(np.shape(array), widths, strict=True)):
        if not size and any(pair):
            raise ValueError(
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            )


_PAD: dict[str, Callable[..., Any]] = {
    "constant": _pad_constant,
    "edge": _pad_places("edge"),
    "empty": lambda array, widths: _pad_constant(array, widths),
    "linear_ramp": _pad_ramp,
    "maximum": _pad_statistic(np.max),
    "mean": _pad_statistic(np.mean),
    "median": _pad_statistic(np.median),
    "minimum": _pad_statistic(np.min),
    "reflect": _pad_reflected("reflect"),
    "symmetric": _pad_reflected("symmetric"),
    "wrap": _pad_places("wrap"),
}


def _pad_call(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    array = as_array(array)
    array = array if type_in_call(array).form == "array" else np.copy(array)
    if isinstance(pad_width, dict):
        pad_width = _by_axis(pad_width, np.ndim(array))
    widths = np.asarray(known(pad_width, "pad_width"))
    if widths.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    if (widths < 0).any():
        raise ValueError("index can't contain negative values")
    if callable(mode):
        raise TypeError("a function as mode writes in place, which is not supported")
    if mode not in _PAD:
        raise ValueError(f"mode {mode!r} is not supported")
    pairs = np.broadcast_to(widths, (np.ndim(array), 2)).tolist()
    padded = _PAD[mode](array, pairs, **options)
    return np.copy(padded) if padded is array else padded


def _by_axis(widths: dict[int, Any], ndim: int) -> list[tuple[int, int]]:
    """The widths of all axes, where some were given by their number."""
    pairs = [(0, 0)] * ndim
    for axis, width in widths.items():
        before, after = width if isinstance(width, tuple) else (width, width)
        pairs[normalize_axis(axis, ndim)] = operator.index(before), operator.index(after)
    return pairs


answer(np.pad, _pad_call)
