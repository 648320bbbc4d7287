"""scipy.interpolate: splines of FITPACK, through data; smoothing ones where SciPy has made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as si

from tracejit.ops.base.op import composite
from tracejit.ops.base.twins import Twin, as_doubles, twin, unsupported
from tracejit.ops.elementwise.python_numbers import CONVERSIONS
from tracejit.ops.scipy.interpolate.bsplines import (
    Spline,
    interpolating_knots,
    places_of_data,
    spline_through,
)
from tracejit.ops.scipy.interpolate.cubic import read_data
from tracejit.ops.scipy.interpolate.lines import within

_EXTENSIONS = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


@twin(si.InterpolatedUnivariateSpline, si.UnivariateSpline, si.LSQUnivariateSpline)
@dataclass
class Univariate(Twin):
    """A spline, and `ext`, which says what it is beyond its knots."""

    t: Any
    c: Any
    k: int
    ext: Any = 0

    @classmethod
    def attributes(cls, made: Any) -> list[str]:
        """The attributes of an object of SciPy's."""
        return ["_eval_args", "ext"]

    @classmethod
    def reading(cls, *values: Any) -> Any:
        """The twin of an object with these attributes."""
        (t, c, k), ext = values
        return cls(t, c, k, ext)

    @property
    def spline(self) -> Any:
        """The same as a BSpline."""
        return Spline(self.t, self.c, self.k)

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """The values at the points `x`, or derivatives there."""
        ext = self.ext if ext is None else ext
        ext = _EXTENSIONS.get(ext, ext)
        if ext not in range(4):
            raise ValueError(f"Unknown extrapolation mode {ext}.")
        if nu > self.k:
            raise ValueError(f"0<=der={nu}<=k={self.k} must hold")
        x, first, last = as_doubles(x), self.t[self.k], self.t[-self.k - 1]
        if ext == 2:
            x = within(x, first, last, problem="a point is outside of the knots")
        is_held = ext == 3 and not nu  # FITPACK continues derivatives
        found = self.spline(np.clip(x, first, last) if is_held else x, nu)
        return np.where((x < first) | (x > last), 0.0, found) if ext == 1 else found

    def derivatives(self, x: Any) -> Any:
        """The values of the spline and of all its derivatives at one point."""
        return np.stack([np.reshape(self(x, nu), ()) for nu in range(self.k + 1)])

    def derivative(self, n: int = 1) -> Any:
        """The derivative of this order."""
        spline, is_held = self.spline.derivative(n), self.ext in (3, "const")
        return Univariate(spline.t, spline.c, spline.k, 1 if is_held else self.ext)

    def antiderivative(self, n: int = 1) -> Any:
        """The integral from the first knot, this often."""
        spline = self.spline.antiderivative(n)
        return Univariate(spline.t, spline.c, spline.k, self.ext)

    def integral(self, a: Any, b: Any) -> Any:
        """The integral from a to b; beyond its knots the spline is zero."""
        return CONVERSIONS[float](self.spline.integrate(a, b, False))

    def get_coeffs(self) -> Any:
        """The coefficients."""
        return self.c[: np.shape(self.t)[0] - self.k - 1]

    def get_knots(self) -> Any:
        """The knots, the outer ones once."""
        return self.t[self.k : np.shape(self.t)[0] - self.k]


@composite(si.InterpolatedUnivariateSpline)
def InterpolatedUnivariateSpline(
    x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
    check_finite: bool = False,
) -> Any:  # fmt: skip
    """The spline through data."""
    if w is not None:
        raise TypeError("weights are not supported: the spline goes through all data; leave out w")
    x, y, _ = read_data(x, y, 0)
    if not 1 <= k <= 5:
        raise ValueError("k should be 1 <= k <= 5")
    t = interpolating_knots(x, k, *bbox)
    return Univariate(t, spline_through(x, y, t, k, places_of_data(np.shape(x)[0], k)), k, ext)


@composite(si.UnivariateSpline)
def UnivariateSpline(
    x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, s: Any = None,
    ext: Any = 0, check_finite: bool = False,
) -> Any:  # fmt: skip
    """The spline through data, for s=0."""
    if not (type(s) in (int, float) and s == 0):
        fix = "pass s=0, or use the values of a CubicSpline at a few knots as parameters."
        raise unsupported("scipy.interpolate.UnivariateSpline", "it chooses its knots", fix)
    return InterpolatedUnivariateSpline(x, y, w, bbox, k, ext)


# The same as functions of knots, coefficients and degree


@composite(si.splrep)
def splrep(
    x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, task: int = 0,
    s: Any = None, t: Any = None, full_output: int = 0, per: int = 0, quiet: int = 1,
) -> Any:  # fmt: skip
    """The spline through data."""
    if w is not None or t is not None or task or s or full_output or per:
        problem = "weights, knots, smoothing, periods and full_output are not supported"
        fix = "leave them out, or use CubicSpline for periods."
        raise unsupported("scipy.interpolate.splrep", problem, fix)
    made = InterpolatedUnivariateSpline(x, y, None, (xb, xe), k)
    return made.t, np.concatenate([made.c, np.zeros(k + 1)]), k


def _read(tck: Any, ext: int, function: str) -> Univariate:
    """The spline of one variable of knots, coefficients and degree."""
    if not (isinstance(tck, (tuple, list)) and len(tck) == 3) or np.ndim(tck[1]) != 1:
        problem = "it is recorded of (t, c, k) with coefficients of one axis"
        raise unsupported(f"scipy.interpolate.{function}", problem, "call a BSpline.")
    t, c, k = tck
    return Univariate(t, c, k, ext)


@composite(si.splev)
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """The values of a spline, or of a derivative."""
    return _read(tck, ext, "splev")(x, der)


@composite(si.splint)
def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """The integral of a spline from a to b."""
    if full_output:
        raise TypeError("full_output is not supported")
    return _read(tck, 0, "splint").integral(a, b)


@composite(si.splder)
def splder(tck: Any, n: int = 1) -> Any:
    """The derivative of a spline."""
    spline = _read(tck, 0, "splder").spline.derivative(n)
    return spline.t, spline.c, spline.k


@composite(si.splantider)
def splantider(tck: Any, n: int = 1) -> Any:
    """The integral of a spline from its first knot."""
    spline = _read(tck, 0, "splantider").spline.antiderivative(n)
    return spline.t, spline.c, spline.k
