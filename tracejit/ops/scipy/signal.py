"""scipy.signal: convolutions, trends and linear filters. Importing this declares them all."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import Op, answer
from tracejit.ops.scipy import convolutions
from tracejit.ops.scipy.base.calls import along_one_axis, linalg_op

__all__ = ["convolutions"]

# What is left of a trend is a symmetric projection.


def _kept_shape(x: ArrayType, axis: int = -1, **params: Any) -> Shape:
    normalize_axis(axis, x.ndim)
    return x.shape


detrend: Op = linalg_op(
    ss.detrend,
    operands=("data",),
    keywords=("axis", "type", "bp"),
    shape=_kept_shape,
    vjp=lambda g, y, x, **params: detrend(g, **params),
    jvp="linear",
    batch=along_one_axis("detrend"),
    probe=lambda x, axis=-1, type="linear", bp=0: ss.detrend(x, type=type),
    module="signal",
    cost=lambda x, **params: 4 * x.size,
    axes=axes.along,
)

# Filters along the last axis: a * y = b * x


def _filter_shape(b: ArrayType, a: ArrayType, x: ArrayType) -> Shape:
    if b.ndim != 1 or a.ndim != 1 or not x.ndim or not a.size or not b.size:
        raise ValueError("b and a are vectors, and x has at least one axis")
    return x.shape


def _inverse(a: Any, x: Any) -> Any:
    """`x` through the filter 1 / a."""
    return filtered(np.ones_like(a, shape=(1,)), a, x)


def _lagged(g: Any, x: Any, count: int) -> Any:
    """The sums of g[n] x[n - k] for k below `count`."""
    size = x.shape[-1]
    lags = []
    for k in range(count):
        if k < size:
            lags.append(np.sum(g[..., k:] * x[..., : size - k]))
        else:
            lags.append(np.zeros_like(np.sum(g)))
    return np.stack(lags)


def _delayed(b: Any, x: Any) -> Any:
    """`x` through the filter b."""
    return filtered(b, np.ones_like(b, shape=(1,)), x)


filtered: Op = linalg_op(
    ss.lfilter,
    operands=("b", "a", "x"),
    shape=_filter_shape,
    vjp=(
        lambda g, y, b, a, x: _lagged(g, _inverse(a, x), b.shape[0]),
        lambda g, y, b, a, x: -_lagged(g, _inverse(a, y), a.shape[0]),
        lambda g, y, b, a, x: filtered(b, a, g[..., ::-1])[..., ::-1],
    ),
    jvp=(
        lambda v, y, b, a, x: _delayed(v, _inverse(a, x)),
        lambda v, y, b, a, x: -_delayed(v, _inverse(a, y)),
        None,
    ),
    linear_in=(0, 2),
    module="signal",
    handles=False,
    cost=lambda b, a, x: 2 * x.size * (b.size + a.size),
    axes="_,_,..._->..._",
)


def _lfilter_call(b: Any, a: Any, x: Any, axis: int = -1, zi: None = None) -> Any:
    """A filter from rest; any axis but the last is moved there."""
    if zi is not None:
        raise TypeError("unexpected keyword argument 'zi'")
    b, a, x = (np.atleast_1d(as_array(part)) for part in (b, a, x))
    if normalize_axis(axis, np.ndim(x)) == np.ndim(x) - 1:
        return filtered(b, a, x)
    return np.moveaxis(filtered(b, a, np.moveaxis(x, axis, -1)), -1, axis)


answer(ss.lfilter, _lfilter_call)


# A smoothing filter is linear, with the weights that it has for the unit vectors.


def _savgol_vjp(g: Any, y: Any, x: Any, axis: int = -1, **params: Any) -> Any:
    axis = normalize_axis(axis, x.ndim)
    size = x.shape[axis]
    weights = ss.savgol_filter(np.eye(size), axis=0, **params).astype(g.dtype)
    moved = np.tensordot(g, weights, (axis, 0))
    return moved if axis == x.ndim - 1 else np.moveaxis(moved, -1, axis)


def _savgol_shape(x: ArrayType, mode: str = "interp", cval: float = 0.0, **params: Any) -> Shape:
    if mode == "constant" and cval:
        raise TypeError("cval other than zero is not supported")
    return _kept_shape(x, params.get("axis", -1))


savgol_filter = linalg_op(
    ss.savgol_filter,
    operands=("x",),
    keywords=("window_length", "polyorder", "deriv", "delta", "axis", "mode", "cval"),
    shape=_savgol_shape,
    vjp=_savgol_vjp,
    jvp="linear",
    batch=along_one_axis("savgol_filter"),
    probe=lambda x, **params: ss.savgol_filter(np.ones((3,) * x.ndim, x.dtype), 1, 0),
    module="signal",
    axes=axes.along,
)
