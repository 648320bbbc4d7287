"""Evenly spaced numbers between recorded ends: `linspace`, `logspace`, `geomspace`; the window of
recorded shape, `kaiser`."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base.batching import aligned
from tracejit.ops.base.creation import as_array, cast, type_in_call
from tracejit.ops.base.infer import answered, broadcast_shapes
from tracejit.ops.base.op import Op, answer, composite, defop


def _linspace_type(start: ArrayType, stop: ArrayType, num: int, endpoint: bool) -> ArrayType:
    shape = (num, *broadcast_shapes(start.shape, stop.shape))
    ends = [ArrayType((), end.dtype, end.form) for end in (start, stop)]
    # By NumPy's own promotion, which differs between its versions for numbers and arrays.
    return ArrayType(shape, answered(np.linspace, *ends, num=2).dtype)


def _fractions(y: Any, endpoint: bool) -> Any:
    """The position of each element of a linspace between its start and its stop, from 0 to 1."""
    parts = np.linspace(0.0, 1.0, y.shape[0], endpoint=endpoint, dtype=y.dtype)
    return parts.reshape(-1, *(1,) * (y.ndim - 1))


_linspace_rules = (
    lambda g, y, start, stop, num, endpoint: g * (1.0 - _fractions(y, endpoint)),
    lambda g, y, start, stop, num, endpoint: g * _fractions(y, endpoint),
)
linspace: Op = defop(
    name="linspace",
    infer=_linspace_type,
    vjp=_linspace_rules,
    batch=lambda moved, start, stop, **params: np.moveaxis(
        linspace(*aligned(moved, (start, stop)), **params), 1, 0
    ),
    source=lambda types, num, endpoint: (
        "np.linspace({0}, {1}, {num}" + (")" if endpoint else ", endpoint=False)")
    ),
    linear_in="jointly",
    axes="...,...->_...",
)


def _linspace_call(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    start, stop = as_array(start), as_array(stop)
    y = linspace(start, stop, num=count, endpoint=bool(endpoint))
    kind = y.dtype
    y = y if axis == 0 else np.moveaxis(y, 0, axis)
    if dtype is not None and np.dtype(dtype) != kind:
        y = (np.floor(y) if np.dtype(dtype).kind in "iu" else y).astype(dtype)
    if not retstep:
        return y
    parts = count - 1 if endpoint else count
    return y, (cast(stop, kind) - cast(start, kind)) / parts if parts > 0 else math.nan


answer(np.linspace, _linspace_call)


@composite(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Powers of `base`, evenly spaced on a logarithmic scale."""
    start, stop, base = as_array(start), as_array(stop), as_array(base)
    if np.ndim(base):
        ndim = max(map(np.ndim, (start, stop, base)))
        start, stop, base = (
            np.reshape(end, (1,) * (ndim - np.ndim(end)) + np.shape(end))
            for end in (start, stop, base)
        )
        base = np.expand_dims(base, axis)
    powers = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return powers if dtype is None or np.dtype(dtype) == powers.dtype else powers.astype(dtype)


@composite(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Numbers of equal ratio. An end that is zero gives nan or inf, where NumPy raises."""
    start, stop, count = as_array(start), as_array(stop), operator.index(num)
    kinds = [type_in_call(end).dtype for end in (start, stop)]
    kind = np.result_type(*kinds, 1.0, np.dtype(dtype or np.float64))
    start, stop = cast(start, kind), cast(stop, kind)
    sign = np.sign(start)
    start, stop = start / sign, stop / sign
    result = np.power(10.0, np.linspace(np.log10(start), np.log10(stop), count, endpoint))
    if result.dtype != kind:
        result = result.astype(kind)
    if count:
        row = (1, *np.shape(result)[1:])
        ends = [np.broadcast_to(end, row) for end in (start, stop)]
        last = count > 1 and bool(endpoint)
        parts = [ends[0], result[1:-1] if last else result[1:], *([ends[1]] if last else [])]
        result = np.concatenate(parts)
    result = result * sign
    result = result if axis == 0 else np.moveaxis(result, 0, axis)
    return result if dtype is None or np.dtype(dtype) == kind else result.astype(dtype)


def _kaiser(M: Any, beta: Any) -> Any:
    """The Kaiser window of M points, by the shape beta."""
    beta = cast(as_array(beta), np.dtype(np.float64))
    if M == 1:
        return np.ones(1)
    middle = (M - 1) / 2.0
    distances = ((np.arange(0, M) - middle) / middle) ** 2.0
    return np.i0(beta * np.sqrt(1 - distances)) / np.i0(beta)


answer(np.kaiser, _kaiser)
