"""Norms of vectors and matrices.

`norm` is the op of the 2-norm, the Frobenius norm and other p-norms, along all axes, one or two.
Its gradient is zero where the norm is zero, and so is that by an element that is zero wherever the
norm has a kink there; what is computed of it: `lengths`. The 1-norm, the norms by a maximum
or minimum and those by singular values are compositions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, behind, rows
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.infer import normalize_axis, reduced_shape, strict_axis
from tracejit.ops.base.op import Op, composite, defop
from tracejit.ops.elementwise.lengths import (
    along_length,
    length_to_divide_by,
    radial,
    unknown_slope,
    without_factor,
)
from tracejit.ops.linalg.linalg import real_dtype
from tracejit.ops.linalg.products import array_or_scalar, conj


def _norm_type(
    x: ArrayType, axis: tuple[int, ...] | None = None, ord: Any = 2, keepdims: bool = False
) -> ArrayType:
    axes = tuple(range(x.ndim)) if axis is None else axis
    dtype = real_dtype(x.dtype) if x.is_inexact else np.dtype(np.float64)
    return array_or_scalar(reduced_shape(x.shape, axes, keepdims), dtype)


def _norm_source(
    types: Any, axis: tuple[int, ...] | None = None, ord: Any = 2, keepdims: bool = False
) -> str:
    parts = ["{0}"]
    if ord != 2:
        parts.append("{ord}")
    if axis is not None:
        parts.append("axis={axis}" if len(axis) > 1 else f"axis={axis[0]}")
    if keepdims:
        parts.append("keepdims=True")
    return f"np.linalg.norm({', '.join(parts)})"


def _nonzero(x: Any) -> Any:
    """`x`, one in place of zero."""
    return np.where(x == 0, 1.0, x)


def _over(x: Any, axis: tuple[int, ...] | None, keepdims: bool) -> Any:
    """A result of the norm, with the axes it was taken over as ones."""
    return x if axis is None or keepdims or not x.ndim else np.expand_dims(x, axis)


def _derivative(y: Any, x: Any, ord: Any) -> Any:
    """The derivative of a p-norm by the elements of x, p being below 2."""
    slope = np.sign(conj(x)) * (_nonzero(np.abs(x)) / _nonzero(y)) ** (ord - 1)
    return slope if ord > 0 else np.where(y == 0, 0.0, slope)


def _norm_vjp(
    g: Any, y: Any, x: Any, axis: Any = None, ord: Any = 2, keepdims: bool = False
) -> Any:
    """The gradient is zero, and its slope unknown, where the norm has no second derivative; known
    where it is that of a power of the norm whose second derivative is zero there."""
    g, y = _over(g, axis, keepdims), _over(y, axis, keepdims)
    over = tuple(number - x.ndim for number in (range(x.ndim) if axis is None else axis))
    if ord == 2:
        return along_length(g, y, conj(x), over)
    known = without_factor(g, y)
    if ord < 2:
        is_tip, found = x == 0, g * _derivative(y, x, ord)
    else:
        share = (np.abs(x) / length_to_divide_by(y)) ** (ord - 2)
        if known is None:
            return radial(g * share, y, conj(x), axis=over)
        is_tip, found = y == 0, known * share * conj(x)
    if known is not None:
        is_tip &= known != 0
    return np.where(is_tip, unknown_slope(conj(x)), found)


def _norm_batch(moved: Moved, x: Any, axis: Any = None, **params: Any) -> Any:
    if axis is None:
        return norm_op(rows(x), axis=(1,), **params)
    return norm_op(x, axis=behind(axis), **params)


def _norm_axes(types: Sequence[ArrayType], axis: Any = None, **params: Any) -> str:
    return axes.over(types, axis, params.get("keepdims", False))


def _norm_formula(x: Any, axis: Any = None, ord: Any = 2, keepdims: bool = False) -> Any:
    """The root of the sum of powers."""
    size = np.abs(x if x.dtype.kind in "fc" else np.astype(x, np.dtype(np.float64)))
    if ord == 2:
        return np.sqrt(np.sum(size * size, axis=axis, keepdims=keepdims))
    return np.sum(size**ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)


norm_op: Op = defop(
    name="norm",
    infer=_norm_type,
    vjp=_norm_vjp,
    batch=_norm_batch,
    source=_norm_source,
    cost=lambda x, **params: 2 * x.size,
    axes=_norm_axes,
    formula=_norm_formula,
)


@composite(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of a vector or matrix, or of all vectors or matrices along an axis or two."""
    _check_order(ord)
    x = as_array(x)
    ndim = np.ndim(x)
    if axis is None and (
        ord is None or (ord in ("f", "fro") and ndim == 2) or (ord == 2 and ndim == 1)
    ):
        total = norm_op(x)
        return np.reshape(total, (1,) * ndim) if keepdims else total
    axes = _axes(axis, ndim)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _check_order(ord: Any) -> None:
    if ord is not None and type(ord) not in (int, float, str):
        raise TypeError(f"ord={ord!r} is not supported, only numbers and names")


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is tuple:
        return tuple(strict_axis(one, ndim) for one in axis)
    return (normalize_axis(axis, ndim),)


def _keywords(keepdims: bool) -> dict[str, Any]:
    return {"keepdims": True} if keepdims else {}


def _vector_norm(x: Any, ord: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    keywords = _keywords(keepdims)
    if ord is None or ord == 2:
        return norm_op(x, axis=axis, **keywords)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order {ord!r} for vectors")
    x = x if x.dtype.kind in "fc" else np.astype(x, np.dtype(np.float64))
    if ord == math.inf:
        return np.max(np.abs(x), axis=axis, **keywords)
    if ord == -math.inf:
        return np.min(np.abs(x), axis=axis, **keywords)
    if ord == 0:
        return np.sum(np.astype(x != 0, real_dtype(x.dtype)), axis=axis, **keywords)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, **keywords)
    return norm_op(x, axis=axis, ord=ord, **keywords)


def _matrix_norm(x: Any, ord: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    rows, columns = axis
    if rows == columns:
        raise ValueError("Duplicate axes given.")
    if ord is None or ord in ("f", "fro"):
        return norm_op(x, axis=axis, **_keywords(keepdims))
    x = x if x.dtype.kind in "fc" else np.astype(x, np.dtype(np.float64))
    if ord in (2, -2, "nuc"):
        # abs changes no value, and takes the derivative from those that are zero
        values = np.abs(np.linalg.svdvals(np.moveaxis(x, axis, (-2, -1))))
        reduce: Any = {2: np.max, -2: np.min, "nuc": np.sum}[ord]
        result = reduce(values, axis=-1)
    elif ord in (1, -1, math.inf, -math.inf):
        summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = np.sum(np.abs(x), axis=summed)
        reduce = np.max if ord > 0 else np.min
        result = reduce(sums, axis=chosen - (chosen > summed))
    else:
        raise ValueError("Invalid norm order for matrices.")
    if keepdims:
        return np.reshape(result, reduced_shape(x.shape, axis, True))
    return result
