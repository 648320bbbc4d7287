"""Means, variances and ranges: formulas, with NumPy's own order of operations and so its bits.

NumPy divides by the count of elements in double precision and then rounds to the dtype of the sum;
float16 is summed in float32 by mean, but not by var; integers are taken as float64. `std` is an op
because its derivative at zero, by convention zero, does not come out of the formula.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import along_axis
from tracejit.ops.base.creation import as_array, cast, with_room
from tracejit.ops.base.infer import answered, few, normalize_axis, reduced_shape, strict_axes
from tracejit.ops.base.op import answer, composite, defop, literal
from tracejit.ops.control.marker_ops import OVERRIDE, Marker, pass_through
from tracejit.ops.elementwise.lengths import along_length
from tracejit.ops.linalg.norms import norm_op
from tracejit.ops.reductions.reductions import Axes, Call, accumulator, axis_text, expand, kept

_EXACT_IN_FLOAT32 = 2**24


def _count(a: Any, axis: Any, keepdims: Any = False, where: Any = True) -> Any:
    """The number of elements of `a` that a reduction over `axis` combines."""
    if where is not True:
        mask = np.broadcast_to(where, np.shape(a))
        return np.sum(mask, axis=axis, dtype=np.intp, keepdims=keepdims)
    return math.prod(np.shape(a)[k] for k in strict_axes(axis, np.ndim(a)))


def _over(total: Any, count: Any) -> Any:
    """total / count, divided in double precision where rounding to total's dtype would show it."""
    plain = "f" if type(count) is int and count <= _EXACT_IN_FLOAT32 else ""
    if total.dtype.char in plain + "dDgG":
        return total / count
    exact = np.float64(count) if type(count) is int else count
    return (total / exact).astype(total.dtype)


def _default(a: Any, dtype: Any) -> Any:
    """The dtype to sum in: the user's, or float64 for integers and booleans."""
    return np.dtype(np.float64) if dtype is None and a.dtype.kind in "biu" else dtype


@composite(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, where: Any = True
) -> Any:
    """The arithmetic mean."""
    where = where if where is True else as_array(where)
    words = {"keepdims": keepdims} | ({} if where is True else {"where": where})
    count = _count(a, axis, keepdims, where)
    if dtype is not None or a.dtype != np.float16:
        return _over(np.sum(a, axis=axis, dtype=_default(a, dtype), **words), count)
    total = np.sum(a, axis=axis, dtype=np.float32, **words)
    if total.shape:
        return _over(total, count).astype(np.float16)
    exact = np.float64(count) if where is True else count
    return (total / exact).astype(np.float16)


def freedom(ddof: Any, correction: Any) -> Any:
    """The number to subtract from the count, under either of its two names."""
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


@composite(np.var)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: Any = False,
    correction: Any = None,
    where: Any = True,
    mean: Any = None,
) -> Any:
    """The mean of squared distances to the mean, or to what is given for it."""
    less = freedom(ddof, correction)
    return _variance(a, axis, dtype, less, keepdims, where, mean)[0]


def _variance(
    a: Any, axis: Any, dtype: Any, less: Any, keepdims: Any, where: Any, mean: Any
) -> tuple[Any, Any, Any]:
    """The variance, the distances, and what their squares are divided by."""
    dtype = _default(a, dtype)
    words = {} if where is True else {"where": as_array(where)}
    count = _count(a, axis, True, **words)
    if mean is None:
        center = _over(np.sum(a, axis=axis, dtype=dtype, keepdims=True, **words), count)
    else:
        center = as_array(mean)
    distances = as_array(a) - center
    if where is not True:
        distances = np.where(words["where"], distances, 0.0)
    squares = distances * distances if a.dtype.kind in "iuf" else _squared(distances)
    total = np.sum(squares, axis=axis, dtype=dtype, keepdims=keepdims, **words)
    if where is True:
        count = max(count - less, 0)
    else:
        count = np.maximum(np.reshape(count, np.shape(total)) - less, 0)
    return _over(total, count), distances, count


def root_of_variance(variance: Any, distances: Any, count: Any, axis: Any) -> Any:
    """The root of a sum of squared distances over a count, with the gradient of a length."""
    over = strict_axes(axis, np.ndim(distances))
    moved = np.moveaxis(distances, over, tuple(range(-len(over), 0)))
    shape, last = np.shape(moved), np.ndim(moved) - len(over)
    rows = np.reshape(moved, (*shape[:last], math.prod(shape[last:])))
    length = np.reshape(norm_op(rows, axis=(last,)), np.shape(variance)) / np.sqrt(count)
    root = np.sqrt(variance)
    length = length if length.dtype == root.dtype else cast(length, root.dtype)
    return OVERRIDE(root, length, outputs=1, grad=_LENGTH)


_LENGTH = Marker("std", "a length", pass_through)


def _squared(x: Any) -> Any:
    """|x|**2, real."""
    if x.dtype.kind != "c":
        return x * x
    return np.real(x) * np.real(x) + np.imag(x) * np.imag(x)


def _std_call(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: Any = False,
    correction: Any = None,
) -> Call:
    default = np.dtype(np.float64) if a.dtype.kind in "biu" else a.dtype
    if dtype is not None and (np.dtype(dtype).kind != "f" or default.kind == "c"):
        raise TypeError(f"dtype={np.dtype(dtype)} for {a.dtype} is not supported")
    params: dict[str, Any] = {"axis": strict_axes(axis, np.ndim(a))}
    less = float(freedom(ddof, correction))
    if less:
        params["ddof"] = int(less) if less.is_integer() else less
    return (a,), params | accumulator(dtype, default) | kept(keepdims)


def _std_type(
    x: ArrayType, axis: Axes, ddof: float = 0, dtype: Any = None, keepdims: bool = False
) -> ArrayType:
    shape = reduced_shape(x.shape, axis, keepdims)
    return ArrayType(
        shape, answered(np.std, few(x), dtype=dtype).dtype, "array" if shape else "scalar"
    )


def _std_source(
    types: Any, axis: Axes, ddof: float = 0, dtype: Any = None, keepdims: bool = False
) -> str:
    arguments = [] if len(axis) == types[0].ndim else [f"axis={axis_text(axis, types[0].ndim)}"]
    arguments += [] if dtype is None else [f"dtype={literal(dtype)}"]
    arguments += [f"ddof={ddof}"] if ddof else []
    arguments += ["keepdims=True"] if keepdims else []
    if types[0].form == "weak":
        return f"np.std({', '.join(['{0}', *arguments])})"
    return f"{{0}}.std({', '.join(arguments)})"


def _std_vjp(
    g: Any,
    y: Any,
    x: Any,
    axis: Axes,
    ddof: float = 0,
    dtype: Any = None,
    keepdims: bool = False,
) -> Any:
    """The number of elements times y may overflow, for float16 the number alone."""
    g, y, x = with_room(g), with_room(y), with_room(x)
    count = _count(x, axis)
    distances = x - np.sum(x, axis=axis, dtype=dtype, keepdims=True) / count
    g, y = (expand(each, axis, keepdims) for each in (g / max(count - ddof, 0), y))
    return along_length(g, y, np.conj(distances), tuple(k - np.ndim(x) for k in axis))


def _std_formula(x: Any, **params: Any) -> Any:
    return np.sqrt(np.var(x, **params))


std = defop(
    name="std",
    canonical=_std_call,
    infer=_std_type,
    vjp=_std_vjp,
    batch=along_axis("std"),
    source=_std_source,
    cost=lambda x, **params: 4 * x.size,
    axes=axes.over,
    formula=_std_formula,
)


def _std_handler(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: Any = False,
    correction: Any = None,
    where: Any = True,
    mean: Any = None,
) -> Any:
    """np.std; of some elements, or from a given mean, the root of the variance."""
    if where is True and mean is None:
        keywords = {"ddof": ddof, "keepdims": keepdims, "correction": correction}
        return std.record_call(a, axis, dtype, **keywords)
    less = freedom(ddof, correction)
    return root_of_variance(*_variance(a, axis, dtype, less, keepdims, where, mean), axis)


answer(np.std, _std_handler)


@composite(np.ptp)
def ptp(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """The maximum less the minimum."""
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


@composite(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False
) -> Any:
    """The weighted mean, and the sum of weights. Weights that sum to zero give nan or inf, where
    NumPy raises."""
    a = as_array(a)
    if axis is not None:  # in its order, which is that of the axes of the weights
        axes = axis if isinstance(axis, (tuple, list)) else (axis,)
        axis = tuple(normalize_axis(number, np.ndim(a)) for number in axes)
    if weights is None:
        mean = np.mean(a, axis=axis, keepdims=keepdims)
        if not returned:
            return mean
        counts = np.full_like(mean, np.size(a) / np.size(mean))
        return mean, counts if counts.shape else counts[()]
    weights = aligned_weights(as_array(weights), a, axis)
    dtype = np.result_type(a.dtype, weights.dtype, *([np.float64] if a.dtype.kind in "biu" else []))
    scale = np.sum(weights, axis=axis, dtype=dtype, keepdims=keepdims)
    products = _cast(a, dtype) * _cast(weights, dtype)
    mean = np.sum(products, axis=axis, keepdims=keepdims) / scale
    if not returned:
        return mean
    return mean, scale if scale.shape == mean.shape else np.broadcast_to(scale, mean.shape).copy()


def _cast(a: Any, dtype: np.dtype[Any]) -> Any:
    return a if a.dtype == dtype else a.astype(dtype)


def aligned_weights(weights: Any, a: Any, axis: Any) -> Any:
    """Weights along `axis` alone, with axes of length one for the others."""
    if np.shape(weights) == np.shape(a):
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    ndim = np.ndim(a)
    axes = [normalize_axis(k, ndim) for k in (axis if isinstance(axis, tuple) else (axis,))]
    if np.shape(weights) != tuple(np.shape(a)[k] for k in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    ordered = np.transpose(weights, sorted(range(len(axes)), key=axes.__getitem__))
    return np.reshape(ordered, tuple(n if k in axes else 1 for k, n in enumerate(np.shape(a))))
