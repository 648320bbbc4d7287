"""scipy.interpolate: piecewise polynomials, which are what cubic interpolators are.

A point is looked up among the breakpoints, and its polynomial is evaluated by Horner's scheme.
Breakpoints increase.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.interpolate as si

from tracejit.ops.base import forms
from tracejit.ops.base.creation import as_array, is_recorded, settled, type_in_call
from tracejit.ops.base.op import composite
from tracejit.ops.base.twins import Twin, as_doubles, twin, unsupported
from tracejit.ops.indexing.indexing import take
from tracejit.ops.scipy.base.blending import with_axes


def is_complex(x: Any) -> bool:
    """Return whether an array or number is complex."""
    return type_in_call(as_array(x)).dtype.kind == "c"


def increasing(x: Any, name: str = "x") -> Any:
    """Knots as doubles. ValueError unless they are a vector that increases; recorded ones that do
    not are nan."""
    x = as_doubles(x)
    if is_complex(x):
        raise ValueError(f"`{name}` must contain real values.")
    if np.ndim(x) != 1:
        raise ValueError(f"`{name}` must be 1-dimensional.")
    if np.shape(x)[0] < 2:
        raise ValueError(f"`{name}` must contain at least 2 elements.")
    if not is_recorded(x):
        if not np.all(np.isfinite(x)):
            raise ValueError(f"`{name}` must contain only finite values.")
        if np.any(np.diff(x) <= 0):
            raise ValueError(f"`{name}` must be strictly increasing sequence.")
        return x
    return np.where(np.all(np.diff(x) > 0), x, np.nan)


def moved_back(y: Any, points: int, axis: int) -> Any:
    """Results whose first axes are those of the points, with these put in place of the axis that
    was interpolated."""
    if not np.ndim(y):
        return forms.as_array(y)
    if not axis:
        return y
    order = list(range(np.ndim(y)))
    order = order[points : points + axis] + order[:points] + order[points + axis :]
    return np.transpose(y, order)


def factors(count: int, order: int) -> np.ndarray:
    """The numbers that derivatives of this order multiply powers by, the highest first, where so
    many are left."""
    powers = np.arange(count, 0, -1.0)
    found = np.ones(count)
    for step in range(order):
        found *= powers + step
    return found


@twin(si.PPoly)
@dataclass
class Polynomials(Twin):
    """A piecewise polynomial: coefficients c[power, piece, ...], the highest power first."""

    c: Any
    x: Any
    extrapolate: Any = True
    axis: int = 0

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The values at the points `x`, or derivatives there."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if nu < 0:
            raise ValueError("Order of derivative cannot be negative")
        points = as_doubles(x)
        if is_complex(points):
            raise unsupported("a spline", "its points are complex", "give it their real parts.")
        y = self._derived(nu)._values(points, extrapolate)
        return moved_back(y, np.ndim(points), self.axis)

    def _values(self, q: Any, extrapolate: Any) -> Any:
        x, first, last = self.x, self.x[0], self.x[-1]
        if extrapolate == "periodic":
            q = first + (q - first) % (last - first)
        count = np.shape(self.c)[0]
        trailing = np.ndim(self.c) - 2
        piece = np.searchsorted(x[1:-1], q, side="right")
        c = [take.record_call(self.c[power], piece, axis=0) for power in range(count)]
        step = with_axes(q - take.record_call(x, piece), trailing)
        y = c[0] + 0.0 * step if count == 1 else c[0]
        for power in range(1, count):
            y = y * step + c[power]
        if extrapolate:
            return y
        inside = with_axes((q >= first) & (q <= last), trailing)
        return np.where(inside, y, np.nan)

    def _derived(self, nu: int) -> Any:
        """The derivative of this order, in itself the same polynomials for 0."""
        if not nu:
            return self
        left = np.shape(self.c)[0] - nu
        if left <= 0:
            return self.renewed(c=np.zeros_like(self.c[:1]))
        rest = np.ndim(self.c) - 1
        return self.renewed(c=self.c[:left] * with_axes(factors(left, nu), rest))

    def derivative(self, nu: int = 1) -> Any:
        """The derivative of this order."""
        return self._derived(nu) if nu >= 0 else self.antiderivative(-nu)

    def antiderivative(self, nu: int = 1) -> Any:
        """The integral from the first breakpoint, this often."""
        if nu <= 0:
            return self.derivative(-nu)
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        c = self.c
        for _ in range(nu):
            c = _integrated(c, np.diff(self.x))
        return self.renewed(c=c, extrapolate=extrapolate)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        a, b = as_doubles(a), as_doubles(b)
        whole = self.renewed(axis=0, extrapolate=True).antiderivative()
        if extrapolate == "periodic":
            found = whole._over_periods(b) - whole._over_periods(a)
        else:
            found = whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)
        return found if np.ndim(found) else forms.as_array(found)

    def _over_periods(self, q: Any) -> Any:
        """The antiderivative of what is repeated beyond the last breakpoint."""
        first, period = self.x[0], self.x[-1] - self.x[0]
        periods = np.floor((q - first) / period)
        rest = self(q - periods * period)
        return periods * self(self.x[-1]) + rest


def _integrated(c: Any, widths: Any) -> Any:
    """The coefficients of the antiderivative, which is zero at the first breakpoint."""
    count, rest = np.shape(c)[0], np.ndim(c) - 1
    c = c / with_axes(np.arange(count, 0, -1.0), rest)
    h = with_axes(widths, rest - 1)
    total = c[0] * h
    for power in range(1, count):
        total = (total + c[power]) * h
    starts = np.concatenate([np.zeros_like(total[:1]), np.cumsum(total[:-1], axis=0)])
    return np.concatenate([c, starts[None]])


@composite(si.PPoly)
def PPoly(c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Any:
    """A piecewise polynomial with these coefficients."""
    c = as_doubles(c)
    if np.ndim(c) < 2:
        raise ValueError("Coefficients array must be at least 2-dimensional.")
    if not 0 <= axis < np.ndim(c) - 1:
        raise ValueError(f"axis={axis} must be between 0 and {np.ndim(c) - 1}")
    if axis:
        c = np.moveaxis(np.moveaxis(c, axis + 1, 0), axis + 1, 0)
    x = increasing(x)
    if np.shape(c)[1] != np.shape(x)[0] - 1:
        raise ValueError("number of coefficients != len(x)-1")
    return Polynomials(c, x, extrapolation(extrapolate), axis)


def extrapolation(extrapolate: Any, otherwise: Any = True) -> Any:
    """The argument of this name, `otherwise` if it is None."""
    extrapolate = otherwise if extrapolate is None else settled(extrapolate)
    return extrapolate if type(extrapolate) is str else bool(extrapolate)
