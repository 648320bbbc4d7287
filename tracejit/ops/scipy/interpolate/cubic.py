"""scipy.interpolate: cubic interpolators, by the slopes that each chooses at the data.

The slopes of a spline solve SciPy's banded system, and its gradient solves another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as si

from tracejit.ops.base.creation import is_recorded
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import composite
from tracejit.ops.base.twins import as_doubles, twin
from tracejit.ops.scipy.base.blending import with_axes
from tracejit.ops.scipy.interpolate.polynomials import (
    Polynomials,
    extrapolation,
    increasing,
    is_complex,
)
from tracejit.ops.scipy.linear_algebra.banded import solve_banded


@twin(si.CubicHermiteSpline)
class CubicHermiteTwin(Polynomials):
    """A cubic with given slopes."""


@twin(si.CubicSpline)
class CubicSplineTwin(Polynomials):
    """A cubic spline."""


@twin(si.PchipInterpolator)
class PchipTwin(Polynomials):
    """A monotonic cubic."""


@twin(si.Akima1DInterpolator)
class AkimaTwin(Polynomials):
    """A cubic of Akima's."""


def read_data(x: Any, y: Any, axis: int, name: str = "y") -> tuple[Any, Any, int]:
    """Knots, and data with the axis that is interpolated in front."""
    x, y = increasing(x), as_doubles(y)
    if not np.ndim(y):
        raise ValueError(
            f"The length of `{name}` along `axis`={axis} doesn't match the length of `x`"
        )
    axis = normalize_axis(axis, np.ndim(y))
    if np.shape(y)[axis] != np.shape(x)[0]:
        raise ValueError(
            f"The length of `{name}` along `axis`={axis} doesn't match the length of `x`"
        )
    if not is_recorded(y) and not np.all(np.isfinite(y)):
        raise ValueError(f"`{name}` must contain only finite values.")
    return x, np.moveaxis(y, axis, 0) if axis else y, axis


def _real(y: Any, name: str) -> None:
    if is_complex(y):
        raise ValueError(f"`{name}` only works with real values for `y`.")


def _hermite(x: Any, y: Any, slopes: Any) -> Any:
    """The coefficients of the cubics with these values and slopes at the knots."""
    h = with_axes(np.diff(x), np.ndim(y) - 1)
    slope = np.diff(y, axis=0) / h
    bend = (slopes[:-1] + slopes[1:] - 2 * slope) / h
    return np.stack([bend / h, (slope - slopes[:-1]) / h - bend, slopes[:-1], y[:-1]])


@composite(si.CubicHermiteSpline)
def CubicHermiteSpline(x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> Any:
    """The cubics with these values and slopes."""
    x, data, number = read_data(x, y, axis)
    _, slopes, _ = read_data(x, dydx, axis, "dydx")
    if np.shape(slopes) != np.shape(data):
        raise ValueError("The shapes of `y` and `dydx` must be identical.")
    return CubicHermiteTwin(_hermite(x, data, slopes), x, extrapolation(extrapolate), number)


# Cubic splines


def _bounds(bc_type: Any, y: Any, axis: int) -> list[Any]:
    """The conditions at both ends: words, or (order, derivative)."""
    if isinstance(bc_type, str):
        bc_type = (bc_type, bc_type)
    elif len(bc_type) != 2:
        raise ValueError("`bc_type` must contain 2 elements to specify start and end conditions.")
    elif any(isinstance(one, str) and one == "periodic" for one in bc_type):
        raise ValueError(
            "'periodic' `bc_type` is defined for both curve ends and cannot be used with other "
            "boundary conditions."
        )
    found = []
    for one in bc_type:
        if isinstance(one, str):
            if one not in ("not-a-knot", "periodic", "clamped", "natural"):
                raise ValueError(f"bc_type={one} is not allowed.")
            order = {"clamped": 1, "natural": 2}.get(one)
            found.append(one if order is None else (order, 0.0))
            continue
        order, derivative = one
        if order not in (1, 2):
            raise ValueError("The specified derivative order must be 1 or 2.")
        derivative = as_doubles(derivative)
        if np.shape(derivative) != np.shape(y)[1:]:
            raise ValueError(
                f"`deriv_value` shape {np.shape(derivative)} is not the expected one "
                f"{np.shape(y)[1:]}."
            )
        found.append((order, derivative))
    if found[0] == "periodic" and not is_recorded(y):
        if not np.allclose(y[0], y[-1], rtol=1e-15, atol=1e-15):
            raise ValueError(
                f"The first and last `y` point along axis {axis} must be identical (within "
                "machine precision) when bc_type='periodic'."
            )
    return found


def _row(*numbers: Any) -> Any:
    """Numbers and vectors, in turn."""
    return np.concatenate([np.reshape(one, (-1,)) for one in numbers])


def _end(bound: Any, h: Any, slope: Any, sign: int = 1) -> tuple[Any, Any, Any]:
    """The equation of the condition at the first knot: the number on the diagonal, that beside it,
    and the right side. At the last knot, widths and slopes are given from there, and `sign` -1."""
    if isinstance(bound, str):
        d = h[0] + h[1]
        return h[1], d, ((h[0] + 2 * d) * h[1] * slope[0] + h[0] ** 2 * slope[1]) / d
    order, derivative = bound
    if order == 1:
        return 1.0, 0.0, derivative + np.zeros_like(slope[0])
    return 2 * h[0], h[0], h[0] * (3 * slope[0] - sign * 0.5 * derivative * h[0])


def _spline_slopes(x: Any, y: Any, start: Any, end: Any) -> Any:
    """The slopes at the knots of the cubic spline."""
    h = np.diff(x)
    hs = with_axes(h, np.ndim(y) - 1)
    slope = np.diff(y, axis=0) / hs
    size = np.shape(x)[0]
    if size == 2:
        start, end = [(1, slope[0]) if isinstance(one, str) else one for one in (start, end)]
    if size == 3 and start == end == "not-a-knot":
        second = (slope[1] - slope[0]) / (h[0] + h[1])
        middle = slope[0] + second * h[0]
        return np.stack([slope[0] - second * h[0], middle, slope[1] + second * h[1]])
    if start == "periodic":
        return _periodic_slopes(h, hs, slope)
    right = 3 * (hs[1:] * slope[:-1] + hs[:-1] * slope[1:])
    first, upper, b_first = _end(start, h, slope)
    last, lower, b_last = _end(end, h[::-1], slope[::-1], -1)
    band = np.stack(
        [
            _row(0.0, upper, h[:-1]),
            _row(first, 2 * (h[:-1] + h[1:]), last),
            _row(h[1:], lower, 0.0),
        ]
    )
    b = np.concatenate([b_first[None], right, b_last[None]])
    return _solved(band, b)


def _solved(band: Any, b: Any) -> Any:
    """The solution of a tridiagonal system for data of any number of axes."""
    columns = b if np.ndim(b) <= 2 else np.reshape(b, (np.shape(b)[0], -1))
    found = solve_banded(band, columns, lower=1, upper=1, check_finite=False)
    return found if np.ndim(b) <= 2 else np.reshape(found, np.shape(b))


def _periodic_slopes(h: Any, hs: Any, slope: Any) -> Any:
    """The slopes of a periodic spline: the last equation is taken out, and solved for."""
    size = np.shape(h)[0]
    if size == 2:
        same = np.sum(slope / hs, axis=0) / np.sum(1.0 / hs, axis=0)
        return np.stack([same, same, same])
    before, before_slope = (
        np.concatenate([h[-1:], h[:-1]]),
        np.concatenate([slope[-1:], slope[:-1]]),
    )
    widths = np.concatenate([hs[-1:], hs[:-1]])
    b = 3 * (widths * slope + hs * before_slope)
    diagonal = 2 * (before + h)
    inner = size - 1
    # The slope at knot i: h[i] s[i-1] + 2 (h[i-1] + h[i]) s[i] + h[i-1] s[i+1]
    band = np.stack(
        [
            _row(0.0, before[: inner - 1]),
            diagonal[:inner],
            _row(h[1:inner], 0.0),
        ]
    )
    corner = np.concatenate([-h[:1], np.zeros(inner - 2), -before[inner - 1 : inner]])
    ends = with_axes(corner, np.ndim(b) - 1)
    first = _solved(band, b[:inner])
    second = _solved(band, ends)
    left, under = before[-1], h[-1]
    last = b[-1] - left * first[0] - under * first[-1]
    last = last / (diagonal[-1] + left * second[0] + under * second[-1])
    slopes = first + last * second
    return np.concatenate([slopes, last[None], slopes[:1]])


@composite(si.CubicSpline)
def CubicSpline(
    x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> Any:
    """The spline of twice continuous slope through the data."""
    x, y, axis = read_data(x, y, axis)
    start, end = _bounds(bc_type, y, axis)
    otherwise = "periodic" if start == "periodic" else True
    slopes = _spline_slopes(x, y, start, end) if np.size(y) else np.zeros_like(y)
    return CubicSplineTwin(_hermite(x, y, slopes), x, extrapolation(extrapolate, otherwise), axis)


# Local interpolators


def _edge(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """The slope at an end, by three points, kept in shape."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (np.sign(m0) != np.sign(m1)) & (np.abs(d) > 3.0 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(steep, 3.0 * m0, d))


def _pchip_slopes(x: Any, y: Any) -> Any:
    h = with_axes(np.diff(x), np.ndim(y) - 1)
    m = np.diff(y, axis=0) / h
    if np.shape(y)[0] == 2:
        return np.concatenate([m, m])
    before, after = m[:-1], m[1:]
    flat = (np.sign(before) != np.sign(after)) | (before == 0) | (after == 0)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    inverse = w1 / np.where(flat, 1.0, before) + w2 / np.where(flat, 1.0, after)
    inner = np.where(flat, 0.0, (w1 + w2) / inverse)
    first = _edge(h[0], h[1], m[0], m[1])
    last = _edge(h[-1], h[-2], m[-1], m[-2])
    return np.concatenate([first[None], inner, last[None]])


@composite(si.PchipInterpolator)
def PchipInterpolator(x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> Any:
    """The cubics that are monotonic where the data are. Where data are flat, the slopes are zero
    and have no derivative."""
    _real(y, "PchipInterpolator")
    x, y, axis = read_data(x, y, axis)
    c = _hermite(x, y, _pchip_slopes(x, y))
    return PchipTwin(c, x, extrapolation(extrapolate), axis)


def _akima_slopes(x: Any, y: Any, method: str) -> Any:
    inner = np.diff(y, axis=0) / with_axes(np.diff(x), np.ndim(y) - 1)
    if np.shape(y)[0] == 2:
        return np.concatenate([inner, inner])
    left = 2.0 * inner[0] - inner[1]
    right = 2.0 * inner[-1] - inner[-2]
    outer_left, outer_right = 2.0 * left - inner[0], 2.0 * right - inner[-1]
    ends = [outer_left[None], left[None], inner, right[None], outer_right[None]]
    m = np.concatenate(ends)
    change = np.abs(np.diff(m, axis=0))
    f1, f2 = change[2:], change[:-2]
    if method == "makima":
        sums = np.abs(m[1:] + m[:-1])
        f1, f2 = f1 + 0.5 * sums[2:], f2 + 0.5 * sums[:-2]
    total = f1 + f2
    known = total > 1e-9 * np.max(total)
    share = f2 / np.where(known, total, 1.0)
    return np.where(known, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))


@composite(si.Akima1DInterpolator)
def Akima1DInterpolator(
    x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
) -> Any:
    """Akima's cubics, each of which depends on six points."""
    if method not in ("akima", "makima"):
        raise NotImplementedError(f"`method`={method} is unsupported.")
    _real(y, "Akima1DInterpolator")
    x, y, axis = read_data(x, y, axis)
    slopes = _akima_slopes(x, y, method) if np.size(y) else np.zeros_like(y)
    return AkimaTwin(_hermite(x, y, slopes), x, extrapolation(extrapolate, False), axis)
