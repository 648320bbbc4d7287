"""ufunc.reduceat: reductions of parts of one axis, at indices that are known."""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import along_axis
from tracejit.ops.base.creation import as_array, cast, known
from tracejit.ops.base.op import Op, defop, literal
from tracejit.ops.reductions.accumulations import one_axis
from tracejit.ops.reductions.folds import (
    is_discrete,
    loop_dtype,
    refuse_wrong,
    result_dtype,
    slopes_of,
)
from tracejit.ops.reductions.reductions import along


def _reduceat_type(
    x: ArrayType, ufunc: str, indices: tuple[int, ...], axis: int, dtype: Any = None
) -> ArrayType:
    size = x.shape[axis]
    for index in indices:
        if not 0 <= index < size:
            raise IndexError(f"index {index} out-of-bounds in {ufunc}.reduceat [0, {size})")
    words = (("indices", (0,)), ("axis", axis), ("dtype", dtype))
    found = result_dtype(ufunc, "reduceat", ((x.dtype, x.ndim),), words)
    return ArrayType((*x.shape[:axis], len(indices), *x.shape[axis + 1 :]), found)


def _reduceat_source(
    types: Any, ufunc: str, indices: tuple[int, ...], axis: int, dtype: Any = None
) -> str:
    words = [f"axis={axis}"] if axis else []
    words += [f"dtype={literal(dtype)}"] if dtype is not None else []
    return f"np.{ufunc}.reduceat({', '.join(['{0}', str(list(indices)), *words])})"


def _segments(size: int, indices: tuple[int, ...]) -> list[slice]:
    """The segment that each index begins: up to the next index, if that is larger, else one
    element."""
    ends = (*indices[1:], size)
    return [slice(k, max(end, k + 1)) for k, end in zip(indices, ends, strict=True)]


def _gathered(x: Any, y: Any, segments: list[slice], axis: int, ufunc: str) -> Any:
    """The derivatives by the elements of one segment after the other."""
    x = x if x.dtype == y.dtype else cast(x, y.dtype)
    parts = [
        slopes_of(ufunc, x[along(axis, segment)], y[along(axis, slice(k, k + 1))], (axis,))[0]
        for k, segment in enumerate(segments)
    ]
    return np.concatenate(parts, axis)


def _reduceat_vjp(
    g: Any, y: Any, x: Any, ufunc: str, indices: tuple[int, ...], axis: int, dtype: Any = None
) -> Any:
    size = x.shape[axis]
    if not indices:
        return np.zeros_like(x)
    segments = _segments(size, indices)
    counts = [segment.stop - segment.start for segment in segments]
    product = np.repeat(g, counts, axis)
    if ufunc != "add":
        product = product * _gathered(x, y, segments, axis, ufunc)
    if all(a.stop == b.start for a, b in itertools.pairwise(segments)):
        return _placed(product, slice(indices[0], size), size, axis)
    ends = list(itertools.accumulate(counts))
    parts = [product[along(axis, slice(e - n, e))] for e, n in zip(ends, counts, strict=True)]
    placed = [_placed(*pair, size, axis) for pair in zip(parts, segments, strict=True)]
    return functools.reduce(operator.add, placed)


def _placed(part: Any, where: slice, size: int, axis: int) -> Any:
    """An array of zeros but for a part of one axis."""
    widths = [(0, 0)] * np.ndim(part)
    widths[axis] = (where.start, size - where.stop)
    return np.pad(part, widths) if any(widths[axis]) else part


def _reduceat_jvp(
    v: Any, y: Any, x: Any, ufunc: str, indices: tuple[int, ...], axis: int, dtype: Any = None
) -> Any:
    if ufunc == "add" or not indices:
        params = {} if dtype is None else {"dtype": dtype}
        return reduceat(v, ufunc="add", indices=indices, axis=axis, **params)
    segments = _segments(x.shape[axis], indices)
    moved = np.concatenate([v[along(axis, segment)] for segment in segments], axis)
    product = moved * _gathered(x, y, segments, axis, ufunc)
    counts = [segment.stop - segment.start for segment in segments]
    starts = (0, *itertools.accumulate(counts[:-1]))
    return reduceat(product, ufunc="add", indices=starts, axis=axis)


_REDUCEAT: dict[str, Any] = {"infer": _reduceat_type, "source": _reduceat_source}
reduceat: Op = defop(
    name="reduceat",
    vjp=_reduceat_vjp,
    jvp=_reduceat_jvp,
    batch=along_axis("reduceat"),
    **_REDUCEAT,
    axes=axes.along,
)
reduceat_discrete = defop(
    name="reduceat_discrete",
    vjp=(),
    batch=along_axis("reduceat_discrete"),
    **_REDUCEAT,
    axes=axes.along,
)


def reduceat_call(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None
) -> Any:
    """ufunc.reduceat at indices that are known."""
    name = ufunc.__name__
    x = as_array(array)
    k = one_axis(x, axis, "reduceat")
    numbers = np.asarray(known(indices, "indices"))
    if numbers.ndim != 1:
        raise ValueError("indices must be one-dimensional")
    places = tuple(int(number) for number in numbers)
    params = {"ufunc": name, "indices": places, "axis": k}
    params |= loop_dtype(name, "reduceat", x, dtype)
    refuse_wrong(name, x, params.get("dtype"))
    return (reduceat_discrete if is_discrete(name) else reduceat)(x, **params)
