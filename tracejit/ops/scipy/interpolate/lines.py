"""scipy.interpolate: interp1d, and points that have to be within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import scipy.interpolate as si

from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, aligned
from tracejit.ops.base.creation import as_array, is_recorded, settled, type_in_call
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import Op, composite, defop
from tracejit.ops.base.twins import Twin, as_doubles, twin
from tracejit.ops.indexing.indexing import take
from tracejit.ops.scipy.base.blending import with_axes
from tracejit.ops.scipy.interpolate.bsplines import make_interp_spline
from tracejit.ops.scipy.interpolate.polynomials import moved_back


def _within_batch(moved: Moved, x: Any, low: Any, high: Any, problem: str) -> Any:
    if not moved[0]:
        size = (low if moved[1] else high).shape[0]
        x, moved = np.broadcast_to(x, (size, *x.shape)), (True, *moved[1:])
    return within(*aligned(moved, (x, low, high)), problem=problem)


within: Op = defop(
    name="within",
    infer=lambda x, low, high, problem: x,
    vjp=(lambda g, y, x, low, high, problem: g, None, None),
    jvp=(lambda v, y, x, low, high, problem: v, None, None),
    batch=_within_batch,
    source="helpers.within({0}, {1}, {2}, {problem})",
    view_of=0,
    raises="always",
    axes=axes.broadcasting,
)
"""The same points. ValueError in the kernel where one is out of bounds; Python makes the call again
and raises what SciPy does."""

_OUTSIDE = "A value in x_new is outside of the interpolation range."
_WORDS = ("linear", "nearest", "nearest-up", "previous", "next")
_BY_WEIGHTS = np.lib.NumpyVersion(scipy.__version__) >= "1.18.0"
"""SciPy weighs the two ends of an interval since 1.18; it went by the slope before."""
_DEGREES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}


@twin(si.interp1d)
@dataclass
class Interpolator1D(Twin):
    """Interpolation along an axis: `kind` is a word, or the degree of a spline."""

    x: Any
    y: Any
    kind: Any
    axis: int
    bounds_error: bool
    fill_value: Any

    @classmethod
    def attributes(cls, made: Any) -> list[str]:
        """The attributes of an object of SciPy's."""
        return ["x", "y", "_kind", "axis", "bounds_error", "_fill_value_orig", "_spline"]

    @classmethod
    def reading(cls, *values: Any) -> Any:
        """The twin of an object with these attributes."""
        x, y, kind, *rest, spline = values
        return cls(x, y, spline.k if kind == "spline" else kind, *rest)

    def __call__(self, x: Any) -> Any:
        """The values at the points `x`."""
        q = as_array(x)
        if type_in_call(q).dtype.kind not in "fc" or type_in_call(q).form == "weak":
            q = as_doubles(q)
        first, last = self.x[0], self.x[-1]
        if self.bounds_error:
            q = within(q, first, last, problem=_OUTSIDE)
        y = np.moveaxis(self.y, self.axis, 0) if self.axis else self.y
        found = self._values(q, y)
        if not (self.bounds_error or _extrapolates(self.fill_value)):
            below, above = _both(self.fill_value)
            rest = np.ndim(y) - 1
            found = np.where(with_axes(q < first, rest), below, found)
            found = np.where(with_axes(q > last, rest), above, found)
        return moved_back(found, np.ndim(q), self.axis if np.ndim(q) else 0)

    def _values(self, q: Any, y: Any) -> Any:
        x, size, rest = self.x, np.shape(self.x)[0], np.ndim(y) - 1
        if type(self.kind) is int:
            return make_interp_spline(x, y, self.kind)(q)
        if self.kind == "previous":
            place = np.maximum(np.searchsorted(x, q, side="right") - 1, 0)
            return take.record_call(y, place, axis=0)
        if self.kind == "next":
            place = np.minimum(np.searchsorted(x, q), size - 1)
            return take.record_call(y, place, axis=0)
        if self.kind != "linear":
            halves = x / 2.0
            middles, upwards = halves[1:] + halves[:-1], self.kind == "nearest-up"
            place = np.searchsorted(middles, q, side="right" if upwards else "left")
            return take.record_call(y, place, axis=0)
        kinds = {type_in_call(one).dtype for one in (x, y)}
        if not rest and kinds == {np.dtype(np.float64)} and not _extrapolates(self.fill_value):
            return np.interp(q, x, y)
        place = np.searchsorted(x[1:-1], q)
        x_low, x_high = (take.record_call(x, place + k) for k in (0, 1))
        y_low, y_high = (take.record_call(y, place + k, axis=0) for k in (0, 1))
        if _BY_WEIGHTS:
            above, below = ((one / (x_high - x_low)) for one in (q - x_low, x_high - q))
            return with_axes(above, rest) * y_high + with_axes(below, rest) * y_low
        slope = (y_high - y_low) / with_axes(x_high - x_low, rest)
        return slope * with_axes(q - x_low, rest) + y_low


def _extrapolates(fill_value: Any) -> bool:
    return isinstance(fill_value, str) and fill_value == "extrapolate"


def _both(fill_value: Any) -> tuple[Any, Any]:
    """The values below and above the range."""
    pair = isinstance(fill_value, tuple) and len(fill_value) == 2
    below, above = fill_value if pair else (fill_value, fill_value)
    return as_array(below), as_array(above)


@composite(si.interp1d)
def interp1d(
    x: Any, y: Any, kind: Any = "linear", axis: int = -1, copy: bool = True,
    bounds_error: Any = None, fill_value: Any = np.nan, assume_sorted: bool = False,
) -> Any:  # fmt: skip
    """Interpolation along an axis."""
    kind = _DEGREES.get(kind, kind)
    if type(kind) is not int and kind not in _WORDS:
        raise NotImplementedError(f"{kind} is unsupported: Use fitpack routines for other types.")
    x, y = as_array(x), as_array(y)
    if np.ndim(x) != 1:
        raise ValueError("the x array must have exactly one dimension.")
    if not np.ndim(y):
        raise ValueError("the y array must have at least one dimension.")
    axis = normalize_axis(axis, np.ndim(y))
    least = kind + 1 if type(kind) is int else 1
    if np.shape(x)[0] != np.shape(y)[axis] or np.shape(x)[0] < least:
        raise ValueError(
            f"x and y arrays must be equal in length along interpolation axis, with at least "
            f"{least} entries"
        )
    if type_in_call(y).dtype.kind not in "fc":
        y = as_doubles(y)
    if not assume_sorted and (is_recorded(x) or np.any(np.diff(x) < 0)):
        order = np.argsort(x, kind="stable")
        x, y = take.record_call(x, order), take.record_call(y, order, axis=axis)
    extrapolates = _extrapolates(fill_value)
    if extrapolates and bounds_error:
        raise ValueError("Cannot extrapolate and raise at the same time.")
    if extrapolates and kind in ("previous", "next"):
        ends = [take.record_call(y, np.intp(place), axis=axis) for place in (0, -1)]
        fill_value = (np.nan, ends[1]) if kind == "previous" else (ends[0], np.nan)
    if bounds_error is None:
        bounds_error = not extrapolates
    return Interpolator1D(x, y, kind, axis, bool(settled(bounds_error)), fill_value)
