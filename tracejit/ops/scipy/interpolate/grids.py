"""scipy.interpolate: interpolation of data on grids, by products of bases along each axis.

The coefficients of splines on a grid are solved exactly, along each axis in turn. SciPy's
RegularGridInterpolator iterates to a tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as si

from tracejit.ops.base.creation import as_array, is_recorded, settled, type_in_call
from tracejit.ops.base.op import composite
from tracejit.ops.base.twins import Twin, as_doubles, twin, unsupported
from tracejit.ops.elementwise.python_numbers import CONVERSIONS
from tracejit.ops.indexing.indexing import take
from tracejit.ops.scipy.base.blending import Weights, blended, in_a_row, with_axes
from tracejit.ops.scipy.interpolate.bsplines import (
    Spline,
    interpolating_knots,
    make_interp_spline,
    places_of_data,
    spline_through,
    weights_at,
)
from tracejit.ops.scipy.interpolate.lines import within
from tracejit.ops.scipy.interpolate.polynomials import increasing

# Regular grids

_SPLINES = {"slinear": 1, "cubic": 3, "quintic": 5}


def _linear(grid: Any, q: Any) -> Weights:
    if np.shape(grid)[0] == 1:
        return np.zeros(np.shape(q), np.intp), [np.ones_like(q)]
    place = np.searchsorted(grid[1:-1], q, side="right")
    low, high = take.record_call(grid, place), take.record_call(grid, place + 1)
    share = (q - low) / (high - low)
    return place, [1 - share, share]


def _nearest(grid: Any, q: Any) -> Weights:
    place, weights = _linear(grid, q)
    if len(weights) == 1:
        return place, [None]
    return np.where(weights[1] <= 0.5, place, place + 1), [None]


@twin(si.RegularGridInterpolator)
@dataclass
class RegularGrid(Twin):
    """Data on a grid."""

    grid: Any
    values: Any
    method: str
    bounds_error: bool
    fill_value: Any

    def __call__(self, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
        """The values at points, whose coordinates are in the last axis, or arrays in a tuple."""
        method = self.method if method is None else method
        if nu is not None and method not in _SPLINES:
            raise ValueError(
                f"Can only compute derivatives for methods {set(_SPLINES)}, got {method}"
            )
        count = len(self.grid)
        points = self._points(xi, count)
        if np.shape(points)[-1] != count:
            raise ValueError(
                f"The requested sample points xi have dimension {np.shape(points)[-1]} but this "
                f"RegularGridInterpolator has dimension {count}"
            )
        qs = [points[..., axis] for axis in range(count)]
        if self.bounds_error:
            problem = "One of the requested xi is out of bounds in dimension "
            qs = [
                within(q, x[0], x[-1], problem=f"{problem}{axis}")
                for axis, (q, x) in enumerate(zip(qs, self.grid, strict=True))
            ]
        found = self._values(qs, method, (0,) * count if nu is None else nu)
        rest = np.ndim(found) - np.ndim(qs[0])
        if not self.bounds_error and self.fill_value is not None:
            outside: Any = False
            for q, x in zip(qs, self.grid, strict=True):
                outside = outside | (q < x[0]) | (q > x[-1])
            found = np.where(with_axes(outside, rest), self.fill_value, found)
        if method == "nearest":
            is_nan: Any = False
            for q in qs:
                is_nan = is_nan | np.isnan(q)
            found = np.where(with_axes(is_nan, rest), np.nan, found)
        return found

    @staticmethod
    def _points(xi: Any, count: int) -> Any:
        if isinstance(xi, tuple) and not (len(xi) == 1 and np.ndim(as_array(xi[0])) > 1):
            parts = np.broadcast_arrays(*[as_doubles(part) for part in xi])
            return np.stack(parts, axis=-1)
        points = as_doubles(xi[0] if isinstance(xi, tuple) else xi)
        if np.ndim(points) == 1:
            return np.reshape(points, (-1, count))
        return points

    def _values(self, qs: list[Any], method: str, orders: Any) -> Any:
        if method in ("linear", "nearest"):
            weights = _linear if method == "linear" else _nearest
            along = [weights(x, q) for x, q in zip(self.grid, qs, strict=True)]
            return blended(self.values, [in_a_row(*one) for one in along])
        if method not in _SPLINES:
            name = "scipy.interpolate.RegularGridInterpolator"
            if method not in si.RegularGridInterpolator._ALL_METHODS:
                raise ValueError(f"Method '{method}' is not defined")
            fix = "use method='cubic', or PchipInterpolator along each axis in turn."
            raise unsupported(name, f"its method is {method}", fix)
        k = _SPLINES[method]
        c, along = self.values, []
        for axis, (x, q, order) in enumerate(zip(self.grid, qs, orders, strict=True)):
            spline = make_interp_spline(x, c, k, axis=axis)
            c = np.moveaxis(spline.c, 0, axis)
            along.append(weights_at(spline.t, q, k, int(order)))
        return blended(c, [in_a_row(*one) for one in along])


@composite(si.RegularGridInterpolator)
def RegularGridInterpolator(
    points: Any, values: Any, method: str = "linear", bounds_error: bool = True,
    fill_value: Any = np.nan, *, solver: Any = None, solver_args: Any = None,
) -> Any:  # fmt: skip
    """Data on a grid whose coordinates are `points` along each axis."""
    if solver is not None or solver_args:
        raise TypeError(
            "solver= is not supported, because splines are solved directly; leave it out"
        )
    values = as_array(values)
    if type_in_call(values).dtype.kind not in "fc":
        values = as_doubles(values)
    grid = []
    for axis, point in enumerate(points):
        x = as_doubles(point)
        if np.ndim(x) != 1 or np.shape(x)[0] != np.shape(values)[axis]:
            raise ValueError(
                f"There are {np.size(x)} points and {np.shape(values)[axis]} values on dimension "
                f"{axis}"
            )
        if not is_recorded(x) and np.size(x) > 1 and np.all(np.diff(x) < 0):
            x, values = x[::-1], np.flip(values, axis)
        grid.append(increasing(x) if np.shape(x)[0] > 1 else x)
    if method in _SPLINES and min(np.shape(x)[0] for x in grid) <= _SPLINES[method]:
        raise ValueError(
            f"method {method} requires at least {_SPLINES[method] + 1} points per dimension."
        )
    return RegularGrid(tuple(grid), values, method, bool(settled(bounds_error)), fill_value)


@composite(si.interpn)
def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:  # fmt: skip
    """The values at points of data on a grid."""
    if method == "splinef2d":
        problem, fix = "its method is splinef2d", "call RectBivariateSpline."
        raise unsupported("scipy.interpolate.interpn", problem, fix)
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


# Splines of two variables


@twin(si.RectBivariateSpline, si.SmoothBivariateSpline, si.LSQBivariateSpline)
@dataclass
class Surface(Twin):
    """A spline of two variables: knots and coefficients, and degrees, along both axes."""

    tx: Any
    ty: Any
    c: Any
    kx: int
    ky: int

    @classmethod
    def attributes(cls, made: Any) -> list[str]:
        """The attributes of an object of SciPy's."""
        return ["tck", "degrees"]

    @classmethod
    def reading(cls, *values: Any) -> Any:
        """The twin of an object with these attributes."""
        (tx, ty, c, *_), (kx, ky) = values
        return cls(tx, ty, np.reshape(c, (len(tx) - kx - 1, len(ty) - ky - 1)), kx, ky)

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """The values on the grid of the coordinates, or at points; beyond the data, those at the
        bounds."""
        spline = self._derived(dx, dy)
        x = np.clip(as_doubles(x), self.tx[0], self.tx[-1])
        y = np.clip(as_doubles(y), self.ty[0], self.ty[-1])
        if not grid:
            return spline._at(x, y)
        x, y = np.atleast_1d(x), np.atleast_1d(y)
        for name, q in (("x", x), ("y", y)):
            if not is_recorded(q) and np.any(np.diff(q) < 0):
                raise ValueError(f"{name} must be strictly increasing when `grid` is True")
        rows = Spline(spline.tx, spline.c, spline.kx)(x)
        return Spline(spline.ty, rows.T, spline.ky)(y).T

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """The values at points."""
        return self(xi, yi, dx, dy, grid=False)

    def _at(self, x: Any, y: Any) -> Any:
        x, y = np.broadcast_arrays(x, y)
        along = [weights_at(t, q, k) for t, q, k in ((self.tx, x, self.kx), (self.ty, y, self.ky))]
        return blended(self.c, [in_a_row(*one) for one in along])

    def _derived(self, dx: int, dy: int) -> Any:
        if dx > self.kx or dy > self.ky or dx < 0 or dy < 0:
            raise ValueError("the order of a derivative is between 0 and the degree of the spline")
        if not dx and not dy:
            return self
        nx, ny = np.shape(self.c)
        rows = Spline(self.tx, self.c, self.kx).derivative(dx)
        both = Spline(self.ty, rows.c[: nx - dx].T, self.ky).derivative(dy)
        return Surface(rows.t, both.t, both.c[: ny - dy].T, rows.k, both.k)

    def partial_derivative(self, dx: int, dy: int) -> Any:
        """The spline of a derivative."""
        return self._derived(dx, dy)

    def integral(self, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
        """The integral over a rectangle, where the spline is zero beyond its data."""
        rows = Spline(self.tx, self.c, self.kx, False).integrate(xa, xb)
        return CONVERSIONS[float](Spline(self.ty, rows, self.ky, False).integrate(ya, yb))

    def get_knots(self) -> Any:
        """The knots along both axes."""
        return self.tx, self.ty

    def get_coeffs(self) -> Any:
        """The coefficients."""
        return np.reshape(self.c, -1)


@composite(si.RectBivariateSpline)
def RectBivariateSpline(
    x: Any, y: Any, z: Any, bbox: Any = (None,) * 4, kx: int = 3, ky: int = 3, s: Any = 0,
    maxit: int = 20,
) -> Any:  # fmt: skip
    """The spline of two variables through data on a grid."""
    if settled(s) != 0:
        raise TypeError("smoothing, s other than 0, is not supported; interpolate with s=0")
    x, y, c = increasing(x), increasing(y), as_doubles(z)
    if np.shape(c) != (np.shape(x)[0], np.shape(y)[0]):
        raise ValueError("the dimensions of z must have same number of elements as x and y")
    knots = []
    for points, k, ends in ((x, kx, bbox[:2]), (y, ky, bbox[2:])):
        t = interpolating_knots(points, k, *ends)
        places = places_of_data(np.shape(points)[0], k)
        c = spline_through(points, c, t, k, places).T
        knots.append(t)
    return Surface(knots[0], knots[1], c, kx, ky)
