"""scipy.integrate: integrals of samples, linear in them. `simpson` has no derivative with respect
to places."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.integrate as si

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import Op, answer, composite
from tracejit.ops.reductions.reductions import along
from tracejit.ops.scipy.base.calls import along_one_axis, linalg_op
from tracejit.support.errors import fail


def _spacing(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """The distances between samples, in the shape of the intervals."""
    if x is None:
        return dx
    x = as_array(x)
    if np.ndim(x) != 1:
        return np.diff(x, axis=axis)
    shape = [1] * np.ndim(y)
    shape[axis] = np.shape(x)[0] - 1
    return np.reshape(np.diff(x), shape)


def _intervals(y: Any, x: Any, dx: Any, axis: int) -> Any:
    first, last = y[along(axis, slice(None, -1))], y[along(axis, slice(1, None))]
    return _spacing(y, x, dx, axis) * (last + first) / 2.0


@composite(si.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule."""
    y = as_array(y)
    axis = normalize_axis(axis, np.ndim(y))
    return np.sum(_intervals(y, x, dx, axis), axis=axis)


@composite(si.cumulative_trapezoid)
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """The integrals up to each sample by the trapezoidal rule."""
    y = as_array(y)
    axis = normalize_axis(axis, np.ndim(y))
    total = np.cumsum(_intervals(y, x, dx, axis), axis=axis)
    if initial is None:
        return total
    if initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    return np.concatenate([np.zeros_like(total[along(axis, slice(1))]), total], axis=axis)


def _reduced(y: ArrayType, *x: ArrayType, axis: int = -1, **params: Any) -> Shape:
    number = normalize_axis(axis, y.ndim)
    if x and x[0].shape != (y.shape[number],):
        raise TypeError(f"places of the shape {x[0].shape} are not supported, only a vector")
    return (*y.shape[:number], *y.shape[number + 1 :])


@cache
def _integral_dtype(count: int, ndim: int, *dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of an integral, for a number of samples as even or odd as `count`."""
    samples = np.ones((1,) * (ndim - 1) + (count,), dtypes[0])
    places = np.arange(count).astype(dtypes[-1]) if len(dtypes) > 1 else None
    return np.asarray(si.simpson(samples, x=places)).dtype


def _integral_type(*types: ArrayType, **params: Any) -> ArrayType:
    shape = _reduced(*types, **params)
    count = types[0].shape[normalize_axis(params.get("axis", -1), types[0].ndim)]
    if not count:
        raise TypeError("an axis of no samples is not supported")
    few = min(count, 3 + (count + 1) % 2)
    dtype = _integral_dtype(few, types[0].ndim, *[type.dtype for type in types])
    return ArrayType(shape, dtype, "array" if shape else "scalar")


def _spread(g: Any, weights: Any, axis: int, ndim: int) -> Any:
    """The cotangent of the samples along an axis of these weights."""
    number = normalize_axis(axis, ndim)
    shape = [-1 if k == number else 1 for k in range(ndim)]
    return np.expand_dims(g, number) * np.reshape(weights, shape)


def _even_vjp(g: Any, s: Any, y: Any, axis: int = -1, **params: Any) -> Any:
    weights = si.simpson(np.eye(y.shape[axis]), axis=0, **params).astype(g.dtype)
    return _spread(g, weights, axis, y.ndim)


simpson = linalg_op(
    si.simpson,
    operands=("y",),
    keywords=("dx", "axis"),
    shape=_reduced,
    infer=_integral_type,
    vjp=_even_vjp,
    jvp="linear",
    batch=along_one_axis("simpson"),
    module="integrate",
    handles=False,
    axes=axes.over,
)


def _by_places(*values: Any, **params: Any) -> Any:
    raise fail(
        "no-rule", None, op="scipy.integrate.simpson with respect to the places of the samples"
    )


simpson_at: Op = linalg_op(
    si.simpson,
    name="simpson_at",
    operands=("y", "x"),
    places="{0}, x={1}",
    keywords=("axis",),
    shape=_reduced,
    infer=_integral_type,
    vjp=(
        lambda g, s, y, x, axis=-1: _spread(
            g, simpson_at(np.eye(x.shape[0], dtype=y.dtype), x), axis, y.ndim
        ),
        _by_places,
    ),
    batch=along_one_axis("simpson_at"),
    jvp=(None, _by_places),
    linear_in=(0,),
    module="integrate",
    handles=False,
    axes=axes.over,
)


def _simpson_call(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    keywords = {} if axis == -1 else {"axis": axis}
    if x is not None:
        return simpson_at.record_call(y, x=x, **keywords)
    return simpson.record_call(y, dx=dx, **keywords)


answer(si.simpson, _simpson_call)
