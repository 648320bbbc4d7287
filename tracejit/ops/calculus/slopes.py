"""`np.gradient`: slopes by differences of neighbours.

Where the distance of the places is one number, they are a formula, with NumPy's order of operations
and so its bits. NumPy looks whether places are equally far from each other; where they are being
recorded that is not known, and each axis is an op, which NumPy computes. Its rules are written in
the rises between neighbours, s, and the widths between places, h: the slope at an inner point is
(h s' + h' s) / (h + h').
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import as_array, is_recorded, settled
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import Op, composite, defop
from tracejit.ops.reductions.reductions import along

TOO_SMALL = (
    "Shape of array too small to calculate a numerical gradient, "
    "at least (edge_order + 1) elements are required."
)


def spread(values: Any, axis: int, ndim: int) -> Any:
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
    """For each axis the distance of its places, or the distances, or the recorded places."""
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
    if places.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(places) != size:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if is_recorded(places):
        return places
    distances = np.diff(places.astype(np.float64) if places.dtype.kind in "iu" else places)
    return distances[0] if (distances == distances[0]).all() else distances


def _slopes(f: Any, axis: int, spacing: Any, edge_order: int, kind: np.dtype[Any]) -> Any:
    """The slopes along one axis."""
    if np.shape(f)[axis] < edge_order + 1:
        raise ValueError(TOO_SMALL)

    if is_recorded(spacing) and np.ndim(spacing):
        return gradient_at(f, spacing, axis=axis, edge_order=edge_order)

    def part(start: int | None, stop: int | None) -> Any:
        return f[along(axis, slice(start, stop))]

    if np.ndim(spacing) == 0:
        inner = (part(2, None) - part(None, -2)) / (2.0 * spacing)
        first = last = spacing
    else:
        before, after = spacing[:-1], spacing[1:]
        both = before + after
        left = spread(-after / (before * both), axis, np.ndim(f))
        middle = spread((after - before) / (before * after), axis, np.ndim(f))
        right = spread(before / (after * both), axis, np.ndim(f))
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


# Slopes at recorded places


def _rises(f: Any, x: Any, axis: int) -> tuple[Any, Any]:
    """The rises between neighbours, along the last axis, and the widths."""
    widths = x[1:] - x[:-1]
    rows = np.moveaxis(f, axis, -1)
    return (rows[..., 1:] - rows[..., :-1]) / widths, widths


def _placed(v: Any, start: int, size: int) -> Any:
    """Zeros, and v from `start` on, along the last axis."""
    after = size - start - v.shape[-1]
    return np.pad(v, [*[(0, 0)] * (v.ndim - 1), (start, after)])


def _to_ends(v: Any) -> Any:
    """The cotangent of the points, of that of the differences of neighbours."""
    size = v.shape[-1] + 1
    return _placed(v, 1, size) - _placed(v, 0, size)


def _combined_transposed(g: Any, h: Any, edge_order: int) -> Any:
    """The cotangent of the rises."""
    size, inner = h.shape[0], g[..., 1:-1] / (h[:-1] + h[1:])
    first, last = g[..., :1], g[..., -1:]
    total = _placed(first, 0, size) + _placed(last, size - 1, size)
    total = total + _placed(inner * h[:-1], 1, size) + _placed(inner * h[1:], 0, size)
    if edge_order == 2:
        first = first * (h[0] / (h[0] + h[1]))
        last = last * (h[-1] / (h[-1] + h[-2]))
        total = total + _placed(first, 0, size) - _placed(first, 1, size)
        total = total + _placed(last, size - 1, size) - _placed(last, size - 2, size)
    return total


def _bends(s: Any, h: Any, edge_order: int) -> Any:
    """By how much each slope changes with h' dh - h dh', where h and h' are the widths before and
    after an inner point, the outer and the inner one at an edge."""
    bends = (s[..., 1:] - s[..., :-1]) / (h[:-1] + h[1:]) ** 2
    if edge_order == 1:
        return _placed(bends, 1, s.shape[-1] + 1)
    return np.concatenate((-bends[..., :1], bends, bends[..., -1:]), axis=-1)


def _turned_transposed(h: Any, g: Any, edge_order: int) -> Any:
    inner, size = g[1:-1], h.shape[0]
    if edge_order == 2:
        inner = inner + _placed(g[:1], 0, size - 1) - _placed(g[-1:], size - 2, size - 1)
    return _placed(h[1:] * inner, 0, size) - _placed(h[:-1] * inner, 1, size)


def _values_vjp(g: Any, y: Any, f: Any, x: Any, axis: int, edge_order: int) -> Any:
    widths = x[1:] - x[:-1]
    rises = _combined_transposed(np.moveaxis(g, axis, -1), widths, edge_order)
    return np.moveaxis(_to_ends(rises / widths), -1, axis)


def _places_vjp(g: Any, y: Any, f: Any, x: Any, axis: int, edge_order: int) -> Any:
    s, h = _rises(f, x, axis)
    g = np.moveaxis(g, axis, -1)
    rows = tuple(range(g.ndim - 1))
    bends = np.sum(g * _bends(s, h, edge_order), axis=rows)
    stretched = np.sum(_combined_transposed(g, h, edge_order) * s, axis=rows) / h
    return _to_ends(_turned_transposed(h, bends, edge_order) - stretched)


def _gradient_type(f: ArrayType, x: ArrayType, axis: int, edge_order: int) -> ArrayType:
    if f.shape[axis] < edge_order + 1:
        raise ValueError(TOO_SMALL)
    return ArrayType(f.shape, f.dtype if f.is_inexact else np.dtype(np.float64))


def _gradient_source(types: Any, axis: int, edge_order: int) -> str:
    keywords = ["axis={axis}"] * (types[0].ndim > 1) + ["edge_order=2"] * (edge_order == 2)
    return f"np.gradient({', '.join(['{0}', '{1}', *keywords])})"


def _gradient_batch(moved: Moved, f: Any, x: Any, axis: int, **params: Any) -> Any:
    return NotImplemented if moved[1] else gradient_at(f, x, axis=axis + 1, **params)


gradient_at: Op = defop(
    name="gradient_at",
    infer=_gradient_type,
    vjp=(_values_vjp, _places_vjp),
    linear_in=(0,),
    batch=_gradient_batch,
    source=_gradient_source,
    cost=lambda f, x, **params: 8 * f.size,
    axes=axes.along,
)
