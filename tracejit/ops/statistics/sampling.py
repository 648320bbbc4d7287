"""Sampled functions: integrals, slopes, interpolation and filters.

What NumPy itself makes of array operations is a formula here, with NumPy's order of operations and
so its bits. Convolution and correlation are ops, bilinear, each the adjoint of the other; so is
interpolation, differentiable in the places, in the grid and in the values on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import as_array, cast, is_recorded, type_in_call
from tracejit.ops.base.infer import promote
from tracejit.ops.base.op import Op, composite, defop
from tracejit.ops.indexing.indexing import add_at, take
from tracejit.ops.linalg import batched_products
from tracejit.ops.shapes.joining import at_least

Operands = tuple[tuple[Any, ...], dict[str, Any]]


# Integrals and slopes


@composite(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours in the flattened array, with numbers put before and after."""
    flat = np.reshape(as_array(ary), -1)
    before = _edge(to_begin, "to_begin", flat.dtype)
    after = _edge(to_end, "to_end", flat.dtype)
    return np.concatenate([*before, flat[1:] - flat[:-1], *after])


def _edge(given: Any, name: str, dtype: np.dtype[Any]) -> list[Any]:
    """The numbers to put at one end, if any."""
    if given is None:
        return []
    edge = np.reshape(at_least(1, as_array(given)), -1)
    if not np.can_cast(edge.dtype, dtype, casting="same_kind"):
        raise TypeError(
            f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
        )
    return [edge if edge.dtype == dtype else edge.astype(dtype)]


# Filters


def _filter_call(a: Any, v: Any, mode: str) -> Operands:
    operands = (as_array(a), as_array(v))
    if not all(map(np.ndim, operands)):
        raise ValueError("object of too small depth for desired array")
    if any(np.ndim(operand) > 1 for operand in operands):
        raise ValueError("object too deep for desired array")
    if not all(map(np.size, operands)):
        raise ValueError("a and v cannot be empty")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be 'full', 'same' or 'valid', not {mode!r}")
    return operands, {"mode": mode}


def _filter_type(a: ArrayType, v: ArrayType, mode: str) -> ArrayType:
    longer, shorter = max(a.size, v.size), min(a.size, v.size)
    sizes = {"full": longer + shorter - 1, "same": longer, "valid": longer - shorter + 1}
    return ArrayType((sizes[mode],), promote(a, v))


def _in_full(g: Any, shorter: Any, before: int, after: int) -> Any:
    """g with zeros around it, where it has its place in the full result."""
    dtype = g.dtype
    pieces = [np.zeros_like(shorter[:before], dtype=dtype)] * bool(before) + [g]
    pieces += [np.zeros_like(shorter[:after], dtype=dtype)] * bool(after)
    return np.concatenate(pieces) if len(pieces) > 1 else g


def _full_cotangent(g: Any, a: Any, v: Any, mode: str, backward: bool) -> Any:
    """The cotangent of the full convolution. `backward`: the shorter operand came first, and the
    middle was taken from the other end."""
    shorter = a if a.shape[0] < v.shape[0] else v
    rest = shorter.shape[0] - 1
    margins = {"full": (0, 0), "same": (rest // 2, rest - rest // 2), "valid": (rest, rest)}[mode]
    return _in_full(g, shorter, *(margins[::-1] if backward else margins))


_convolve_vjp = (
    lambda g, y, a, v, mode: np.convolve(
        _full_cotangent(g, a, v, mode, False), np.flip(v, 0), "valid"
    ),
    lambda g, y, a, v, mode: np.convolve(
        _full_cotangent(g, a, v, mode, False), np.flip(a, 0), "valid"
    ),
)
convolve = defop(
    np.convolve,
    canonical=lambda a, v, mode="full": _filter_call(
        at_least(1, as_array(a)), at_least(1, as_array(v)), mode
    ),
    infer=_filter_type,
    vjp=_convolve_vjp,
    jvp="bilinear",
    batch=batched_products.convolve,
    source="np.convolve({0}, {1}, {mode})",
    cost=lambda a, v, mode: a.size * v.size,
    axes="_,_->_",
)


def _conjugate(x: Any) -> Any:
    return np.conj(x) if x.dtype.kind == "c" else x


def _correlate_full(g: Any, a: Any, v: Any, mode: str) -> Any:
    return _full_cotangent(g, a, v, mode, a.shape[0] < v.shape[0])


_correlate_vjp = (
    lambda g, y, a, v, mode: np.convolve(_correlate_full(g, a, v, mode), _conjugate(v), "valid"),
    lambda g, y, a, v, mode: _conjugate(
        np.flip(np.convolve(_correlate_full(g, a, v, mode), np.flip(a, 0), "valid"), 0)
    ),
)
correlate = defop(
    np.correlate,
    canonical=lambda a, v, mode="valid": _filter_call(a, v, mode),
    infer=_filter_type,
    vjp=_correlate_vjp,
    jvp="bilinear",
    batch=batched_products.correlate,
    source="np.correlate({0}, {1}, {mode})",
    cost=lambda a, v, mode: a.size * v.size,
    axes="_,_->_",
)


# Interpolation


def _interp_type(x: ArrayType, xp: ArrayType, fp: ArrayType) -> ArrayType:
    dtype = np.dtype(np.complex128 if fp.dtype.kind == "c" else np.float64)
    return ArrayType(x.shape, dtype, "array" if x.shape else "scalar")


def _interval(x: Any, xp: Any, fp: Any) -> tuple[Any, Any, Any, Any]:
    """For each place the number of its interval, the weights of the interval's two ends, and the
    slope: zero beyond the grid."""
    number = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, xp.shape[0] - 2)
    start, end = np.take(xp, number), np.take(xp, number + 1)
    within = (x >= xp[0]) & (x <= xp[-1])
    right = np.where(within, (x - start) / (end - start), 1.0 * (x > xp[-1]))
    rise = np.take(fp, number + 1) - np.take(fp, number)
    return number, 1.0 - right, right, np.where(within, rise / (end - start), 0.0)


def _at_ends(left: Any, right: Any, number: Any, size: int) -> Any:
    """The sums of what falls to each point of the grid."""
    values = np.concatenate((np.reshape(left, -1), np.reshape(right, -1)))
    places = np.concatenate((np.reshape(number, -1), np.reshape(number + 1, -1)))
    return add_at(values, places, shape=(size,), index=("{1}",))


def _grid_vjp(g: Any, y: Any, x: Any, xp: Any, fp: Any) -> Any:
    number, left, right, slope = _interval(x, xp, fp)
    return _at_ends(-g * slope * left, -g * slope * right, number, xp.shape[0])


def _values_vjp(g: Any, y: Any, x: Any, xp: Any, fp: Any) -> Any:
    number, left, right, _ = _interval(x, xp, fp)
    return _at_ends(g * left, g * right, number, fp.shape[0])


def _between(v: Any, number: Any, left: Any, right: Any) -> Any:
    return left * np.take(v, number) + right * np.take(v, number + 1)


def _grid_jvp(v: Any, y: Any, x: Any, xp: Any, fp: Any) -> Any:
    number, left, right, slope = _interval(x, xp, fp)
    return -slope * _between(v, number, left, right)


def _values_jvp(v: Any, y: Any, x: Any, xp: Any, fp: Any) -> Any:
    number, left, right, _ = _interval(x, xp, fp)
    return _between(v, number, left, right)


def _batched_interp(moved: Moved, x: Any, xp: Any, fp: Any) -> Any:
    """For all elements at once on one grid; otherwise in turn."""
    return NotImplemented if moved[1] or moved[2] else interpolate(x, xp, fp)


interpolate: Op = defop(
    name="interp",
    infer=_interp_type,
    vjp=(lambda g, y, x, xp, fp: g * _interval(x, xp, fp)[3], _grid_vjp, _values_vjp),
    jvp=(lambda v, y, x, xp, fp: v * _interval(x, xp, fp)[3], _grid_jvp, _values_jvp),
    linear_in=(2,),
    batch=_batched_interp,
    source="np.interp({0}, {1}, {2})",
    cost=lambda x, xp, fp: 10 * x.size,
    axes="...,_,_->...",
)


def _constant(x: Any, fp: Any) -> Any:
    """The interpolation between one point."""
    kind = np.dtype(np.complex128 if type_in_call(fp).dtype.kind == "c" else np.float64)
    value = fp[:1] if fp.dtype == kind else cast(fp[:1], kind)
    return take.record_call(value, np.zeros(np.shape(x), np.intp))


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Places and grid within one period, the grid in order and one point longer at each end."""
    if not is_recorded(period) and period == 0:
        raise ValueError("period must be a non-zero value")
    period, double = np.abs(period), np.dtype(np.float64)
    x, xp = cast(x, double) % period, cast(xp, double) % period
    order = np.argsort(xp)
    xp, fp = take.record_call(xp, order), take.record_call(fp, order)
    return (
        x,
        np.concatenate((xp[-1:] - period, xp, xp[:1] + period)),
        np.concatenate((fp[-1:], fp, fp[:1])),
    )


@composite(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Piecewise linear interpolation; beyond the grid constant or periodic."""
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    if np.ndim(xp) != 1 or np.ndim(fp) != 1:
        raise ValueError("Data points must be 1-D sequences")
    if np.shape(xp) != np.shape(fp):
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
        left = right = None
    if not np.shape(xp)[0]:
        raise ValueError("array of sample points is empty")
    if any(type_in_call(array).dtype.kind == "c" for array in (x, xp)):
        raise TypeError("only the values fp may be complex")
    y = interpolate(x, xp, fp) if np.shape(xp)[0] > 1 else _constant(x, fp)
    for beyond, value in ((x < xp[0], left), (x > xp[-1], right)):
        if value is not None:
            chosen = np.where(beyond, value, y)
            y = chosen if np.shape(chosen) else chosen[()]
    return y
