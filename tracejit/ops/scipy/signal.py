"""scipy.signal: convolutions, spectra, trends and filters. Importing this declares them all."""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

import numpy as np
import scipy.signal as ss

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import as_array, is_recorded
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import Op, answer, composite
from tracejit.ops.scipy import convolutions, spectra
from tracejit.ops.scipy.base.calls import along_one_axis, linalg_op

__all__ = ["convolutions", "spectra"]

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


def _filter_batch(moved: Moved, b: Any, a: Any, x: Any) -> Any:
    return NotImplemented if any(moved[:2]) or not x.size else filtered(b, a, x)


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
    batch=_filter_batch,
    module="signal",
    handles=False,
    cost=lambda b, a, x: 2 * x.size * (b.size + a.size),
    axes="_,_,..._->..._",
)


def _states(b: Any, a: Any, x: Any, y: Any, zi: Any) -> Any:
    """The states behind the last element: what the coefficients that are still to come add."""
    count, size = np.shape(zi)[-1], np.shape(x)[-1]
    place, lag = np.ogrid[:count, : min(count, size)]
    index = place + lag + 1
    last = [one[..., size - lag.size :][..., ::-1] for one in (x, y)]
    parts = []
    for coefficients, values in zip((b, a), last, strict=True):
        padded = np.concatenate([coefficients, np.zeros(2 * count + 1, coefficients.dtype)])
        parts.append(values @ (padded[index] / a[0]).T)
    found = parts[0] - parts[1]
    if size < count:
        rest = np.zeros((*np.shape(zi)[:-1], size), zi.dtype)
        found = found + np.concatenate([zi[..., size:], rest], axis=-1)
    return found


def _with_states(b: Any, a: Any, x: Any, zi: Any) -> tuple[Any, Any]:
    """A filter along the last axis that begins with states; they are answered, too."""
    count, size = np.shape(zi)[-1], np.shape(x)[-1]
    if count != max(np.shape(b)[0], np.shape(a)[0]) - 1:
        raise ValueError(f"Unexpected shape for parameter zi: {np.shape(zi)}.")
    zi = np.broadcast_to(zi, (*np.shape(x)[:-1], count))
    if size > count:
        rest = np.zeros((*np.shape(zi)[:-1], size - count), zi.dtype)
        first = np.concatenate([zi, rest], axis=-1)
    else:
        first = zi[..., :size]
    y = filtered(b, a, x) + filtered(a[:1], a, first)
    return y, _states(b, a, x, y, zi)


def _lfilter_call(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """A filter; any axis but the last is moved there."""
    b, a, x = (np.atleast_1d(as_array(part)) for part in (b, a, x))
    is_last = normalize_axis(axis, np.ndim(x)) == np.ndim(x) - 1
    x = x if is_last else np.moveaxis(x, axis, -1)
    if zi is None:
        y = filtered(b, a, x)
        return y if is_last else np.moveaxis(y, -1, axis)
    zi = as_array(zi)
    if np.ndim(zi) != np.ndim(x):
        raise ValueError("Dimensions of parameters x and zi must match.")
    found = _with_states(b, a, x, zi if is_last else np.moveaxis(zi, axis, -1))
    return found if is_last else tuple(np.moveaxis(one, -1, axis) for one in found)


answer(ss.lfilter, _lfilter_call)


@cache
def _dtype_of_states(b: np.dtype[Any], a: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the states that the installed SciPy finds."""
    return np.asarray(ss.lfilter_zi(np.ones(2, b), np.array([2, 1], a))).dtype


@composite(ss.lfilter_zi)
def lfilter_zi(b: Any, a: Any) -> Any:
    """The states in which a filter stays where it is given ones."""
    b, a = np.atleast_1d(as_array(b)), np.atleast_1d(as_array(a))
    count = max(np.shape(b)[0], np.shape(a)[0])
    if count < 2:
        raise ValueError("A filter of one coefficient has no states.")
    dtype = _dtype_of_states(b.dtype, a.dtype)
    b, a = (np.concatenate([one, np.zeros(count - np.shape(one)[0])]) / a[0] for one in (b, a))
    change = np.cumsum(b[1:] - a[1:] * b[0])
    first = change[-1:] / np.sum(a)
    found = np.concatenate([first, np.cumsum(a)[1:-1] * first - change[:-1]])
    return found.astype(dtype)


def _extended(x: Any, padtype: Any, edge: int) -> Any:
    """A signal continued beyond both ends of the last axis."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(f"Unknown value '{padtype}' given to padtype.")
    size = np.shape(x)[-1]
    if size <= edge:
        raise ValueError(
            f"The length of the input vector x must be greater than padlen, which is {edge}."
        )
    if not edge:
        return x
    first, last = x[..., :1], x[..., -1:]
    if padtype == "constant":
        ends = [np.broadcast_to(end, (*np.shape(x)[:-1], edge)) for end in (first, last)]
    else:
        ends = [x[..., edge:0:-1], x[..., size - 2 : size - edge - 2 : -1]]
        if size == edge + 1:
            ends[1] = x[..., -2::-1]
    if padtype == "odd":
        ends = [2 * first - ends[0], 2 * last - ends[1]]
    return np.concatenate([ends[0], x, ends[1]], axis=-1)


def _both_ways(run: Any, x: Any, axis: int, padtype: Any, padlen: Any, taps: int) -> Any:
    """A signal through a filter forwards and backwards: `run(x, end)` begins in the states that
    belong to the value `end`."""
    edge = 0 if padtype is None else 3 * taps if padlen is None else operator.index(padlen)
    number = normalize_axis(axis, np.ndim(x))
    is_last = number == np.ndim(x) - 1
    y = _extended(x if is_last else np.moveaxis(x, number, -1), padtype, edge)
    for _ in range(2):
        y = run(y, y[..., :1])[..., ::-1]
    y = y[..., edge : np.shape(y)[-1] - edge] if edge else y
    return y if is_last else np.moveaxis(y, -1, number)


@composite(ss.filtfilt)
def filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None,
    method: str = "pad", irlen: Any = None,
) -> Any:  # fmt: skip
    """A signal through a filter forwards and backwards."""
    if method != "pad":
        raise TypeError(f"method={method!r} is not supported; take method='pad'")
    b, a, x = (np.atleast_1d(as_array(part)) for part in (b, a, x))
    taps = max(np.shape(b)[0], np.shape(a)[0])
    zi = lfilter_zi(b, a)
    return _both_ways(
        lambda y, end: _with_states(b, a, y, zi * end)[0], x, axis, padtype, padlen, taps
    )


def _sections(sos: Any) -> Any:
    """The sections of a filter, each with numerator and denominator."""
    sos = np.atleast_2d(as_array(sos))
    if np.ndim(sos) != 2 or np.shape(sos)[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    if not is_recorded(sos) and not np.all(sos[:, 3] == 1):
        raise ValueError("sos[:, 3] should be all ones")
    return sos


@composite(ss.sosfilt)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """A signal through the sections of a filter."""
    sos, x = _sections(sos), np.atleast_1d(as_array(x))
    number = normalize_axis(axis, np.ndim(x))
    y = np.moveaxis(x, number, -1)
    states = []
    for k in range(np.shape(sos)[0]):
        b, a = sos[k, :3], sos[k, 3:]
        if zi is None:
            y = filtered(b, a, y)
            continue
        y, state = _with_states(b, a, y, np.moveaxis(as_array(zi)[k], number, -1))
        states.append(np.moveaxis(state, -1, number))
    y = np.moveaxis(y, -1, number)
    return y if zi is None else (y, np.stack(states))


@composite(ss.sosfilt_zi)
def sosfilt_zi(sos: Any) -> Any:
    """The states in which the sections of a filter stay where it is given ones."""
    sos = _sections(sos)
    scale: Any = 1.0
    states = []
    for k in range(np.shape(sos)[0]):
        b, a = sos[k, :3], sos[k, 3:]
        states.append(scale * lfilter_zi(b, a))
        scale = scale * np.sum(b) / np.sum(a)
    return np.stack(states)


@composite(ss.sosfiltfilt)
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """A signal through the sections of a filter forwards and backwards."""
    sos, x = _sections(sos), np.atleast_1d(as_array(x))
    count = np.shape(sos)[0]
    taps = 2 * count + 1
    if padlen is None and padtype is not None:
        if is_recorded(sos):
            raise TypeError("its padding depends on which coefficients are zero; give padlen")
        taps -= min((sos[:, 2] == 0).sum(), (sos[:, 5] == 0).sum())
    zi = sosfilt_zi(sos)

    def run(y: Any, end: Any) -> Any:
        for k in range(count):
            y = _with_states(sos[k, :3], sos[k, 3:], y, zi[k] * end)[0]
        return y

    return _both_ways(run, x, axis, padtype, padlen, taps)


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
