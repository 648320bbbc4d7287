"""Sampled functions: integrals, slopes, interpolation and filters.

What NumPy itself makes of array operations is a formula here, with NumPy's order of operations and
so its bits. Convolution and correlation are ops, bilinear, each the adjoint of the other; so is
interpolation, differentiable in the places, in the grid and in the values on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.creation import as_array, is_recorded, settled, type_in_call
from tracejit.ops.indexing import add_at
from tracejit.ops.infer import normalize_axis, promote
from tracejit.ops.joining import at_least
from tracejit.ops.op import composite, defop
from tracejit.ops.reductions import along

Operands = tuple[tuple[Any, ...], dict[str, Any]]


# Integrals and slopes


@composite(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule."""
    y = as_array(y)
    axis = normalize_axis(axis, np.ndim(y))
    widths = dx if x is None else _widths(as_array(x), axis, np.ndim(y))
    ends = y[along(axis, slice(1, None))] + y[along(axis, slice(-1))]
    return np.sum(widths * ends / 2.0, axis=axis)


def _widths(x: Any, axis: int, ndim: int) -> Any:
    """The distances between the places x, along an axis of an array of `ndim` axes."""
    return _spread(np.diff(x), axis, ndim) if np.ndim(x) == 1 else np.diff(x, axis=axis)


def _spread(values: Any, axis: int, ndim: int) -> Any:
    """1-D values along one of `ndim` axes."""
    return np.reshape(values, (1,) * axis + (-1,) + (1,) * (ndim - axis - 1))


@composite(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The slopes along each axis: central differences, one-sided ones at the edges."""
    f = as_array(f)
    ndim = np.ndim(f)
    axes = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [normalize_axis(k, ndim) for k in axes]
    if len(set(axes)) != len(axes):
        raise ValueError("repeated axis in `axis` argument")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' must be 1 or 2")
    kind = f.dtype if f.dtype.kind in "fc" else np.dtype(np.float64)
    spacings = _spacings(varargs, [np.shape(f)[k] for k in axes])
    f = f.astype(np.float64) if f.dtype.kind in "iu" else f
    slopes = [
        _slopes(f, k, spacing, edge_order, kind) for k, spacing in zip(axes, spacings, strict=True)
    ]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _spacings(given: tuple[Any, ...], sizes: list[int]) -> list[Any]:
    """For each axis the distance of its places, or the distances."""
    if not given:
        return [1.0] * len(sizes)
    if len(given) == 1 and np.ndim(given[0]) == 0:
        return [given[0]] * len(sizes)
    if len(given) != len(sizes):
        raise TypeError("invalid number of arguments")
    return [_spacing(places, size) for places, size in zip(given, sizes, strict=True)]


def _spacing(places: Any, size: int) -> Any:
    """One number where the places are equally far from each other, as NumPy has it."""
    if np.ndim(places) == 0:
        return places
    places = settled(as_array(places))
    if is_recorded(places):
        raise TypeError(
            "whether the places are equally spaced is not known while they are being recorded; "
            "they have to be a plain array, or the spacing a number"
        )
    if places.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(places) != size:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    distances = np.diff(places.astype(np.float64) if places.dtype.kind in "iu" else places)
    return distances[0] if (distances == distances[0]).all() else distances


def _slopes(f: Any, axis: int, spacing: Any, edge_order: int, kind: np.dtype[Any]) -> Any:
    """The slopes along one axis."""
    if np.shape(f)[axis] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )

    def part(start: int | None, stop: int | None) -> Any:
        return f[along(axis, slice(start, stop))]

    if np.ndim(spacing) == 0:
        inner = (part(2, None) - part(None, -2)) / (2.0 * spacing)
        first = last = spacing
    else:
        before, after = spacing[:-1], spacing[1:]
        both = before + after
        left = _spread(-after / (before * both), axis, np.ndim(f))
        middle = _spread((after - before) / (before * after), axis, np.ndim(f))
        right = _spread(before / (after * both), axis, np.ndim(f))
        inner = left * part(None, -2) + middle * part(1, -1) + right * part(2, None)
        first, last = spacing[0], spacing[-1]
    if edge_order == 1:
        start = (part(1, 2) - part(None, 1)) / first
        end = (part(-1, None) - part(-2, -1)) / last
    else:
        a, b, c = _edge_weights(spacing, 0)
        start = a * part(None, 1) + b * part(1, 2) + c * part(2, 3)
        a, b, c = _edge_weights(spacing, -1)
        end = a * part(-3, -2) + b * part(-2, -1) + c * part(-1, None)
    pieces = [piece if piece.dtype == kind else piece.astype(kind) for piece in (start, inner, end)]
    return np.concatenate(pieces, axis)


def _edge_weights(spacing: Any, edge: int) -> tuple[Any, Any, Any]:
    """The weights of the three elements at an edge, in the order of the array."""
    if np.ndim(spacing) == 0:
        if edge == 0:
            return -1.5 / spacing, 2.0 / spacing, -0.5 / spacing
        return 0.5 / spacing, -2.0 / spacing, 1.5 / spacing
    if edge == 0:
        near, far = spacing[0], spacing[1]
        a = -(2.0 * near + far) / (near * (near + far))
        return a, (near + far) / (near * far), -near / (far * (near + far))
    far, near = spacing[-2], spacing[-1]
    a = near / (far * (far + near))
    b = -(near + far) / (far * near)
    return a, b, (2.0 * near + far) / (near * (far + near))


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
    source="np.convolve({0}, {1}, {mode})",
    cost=lambda a, v, mode: a.size * v.size,
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
    source="np.correlate({0}, {1}, {mode})",
    cost=lambda a, v, mode: a.size * v.size,
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


interpolate = defop(
    name="interp",
    infer=_interp_type,
    vjp=(lambda g, y, x, xp, fp: g * _interval(x, xp, fp)[3], _grid_vjp, _values_vjp),
    jvp=(lambda v, y, x, xp, fp: v * _interval(x, xp, fp)[3], _grid_jvp, _values_jvp),
    source="np.interp({0}, {1}, {2})",
    cost=lambda x, xp, fp: 10 * x.size,
)


@composite(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """Piecewise linear interpolation, constant beyond the grid."""
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    if np.ndim(xp) != 1 or np.ndim(fp) != 1:
        raise ValueError("Data points must be 1-D sequences")
    if np.shape(xp) != np.shape(fp):
        raise ValueError("fp and xp are not of the same length.")
    if np.shape(xp)[0] < 2:
        raise ValueError("interpolation takes two points or more")
    if any(type_in_call(array).dtype.kind == "c" for array in (x, xp)):
        raise TypeError("only the values fp may be complex")
    y = interpolate(x, xp, fp)
    for beyond, value in ((x < xp[0], left), (x > xp[-1], right)):
        if value is not None:
            chosen = np.where(beyond, value, y)
            y = chosen if np.shape(chosen) else chosen[()]
    return y
