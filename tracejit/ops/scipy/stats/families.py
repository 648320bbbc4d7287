"""A family of distributions: the formulas of its standard form.

A formula takes a point of the support, where it is finite, and the shape parameters. Location,
scale, the support and invalid parameters are seen to here, as scipy.stats has them. Selections
stand on the points, too, so that what is not selected has no gradient, rather than nan.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracejit.ops.base.creation import as_array, is_recorded, type_in_call
from tracejit.ops.base.op import answer

Formula = Callable[..., Any]
Bounds = tuple[Any, Any]


def as_real(x: Any) -> Any:
    """Points in double precision."""
    x = as_array(x)
    kind = type_in_call(x)
    if kind.dtype.kind == "c":
        raise TypeError("complex arguments are not supported")
    return x if kind.dtype == np.float64 or kind.form == "weak" else x.astype(np.float64)


def settled_form(y: Any) -> Any:
    """A NumPy scalar for a result without axes."""
    return y[()] if type_in_call(y).form == "array" and np.ndim(y) == 0 else y


def always(condition: Any) -> bool:
    """Return whether a condition is known now and holds everywhere."""
    return not is_recorded(condition) and bool(np.all(condition))


def where_valid(valid: Any, y: Any) -> Any:
    """`y`, nan where a parameter is invalid."""
    return settled_form(y if always(valid) else np.where(valid, y, np.nan))


def both(first: Any, second: Any) -> Any:
    """Both conditions; a known true one does not count."""
    if always(first):
        return second
    return first if always(second) else first & second


def is_number(value: Any, number: int) -> bool:
    """Return whether a parameter is this Python number."""
    return type(value) in (int, float) and value == number


@dataclass(frozen=True)
class Family:
    """A continuous distribution, by the formulas that are known of its standard form.

    `bounds` gives the support for the shape parameters, `inside` a point in it. `valid` says which
    shape parameters are. `finite` says that no formula is right at infinity.
    """

    distribution: Any
    formulas: dict[str, Formula] = field(default_factory=dict)
    bounds: Callable[..., Bounds] = lambda *shapes: (-np.inf, np.inf)
    inside: Callable[..., Any] = lambda *shapes: 0.5
    valid: Callable[..., Any] = lambda *shapes: True
    scaled: bool = True
    point: str = "x"
    finite: bool = False

    def signature(self, *first: str) -> inspect.Signature:
        """The parameters of a method of SciPy's; `first` come before the distribution's own."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        names = [*first, *(self.distribution.shapes or "").replace(" ", "").split(",")]
        parameters = [inspect.Parameter(name, kind) for name in names if name]
        parameters.append(inspect.Parameter("loc", kind, default=0))
        if self.scaled:
            parameters.append(inspect.Parameter("scale", kind, default=1))
        return inspect.Signature(parameters)

    def declare(self) -> None:
        """Let the formulas answer for SciPy's methods."""
        for name in self.formulas:
            if hasattr(self.distribution, name):
                answer(getattr(self.distribution, name), self.method(name))

    def method(self, name: str) -> Callable[..., Any]:
        """The handler of one of SciPy's methods."""
        whole = {
            "pdf": self.density, "logpdf": self.density, "pmf": self.density,
            "logpmf": self.density, "cdf": self.cumulative, "sf": self.cumulative,
            "logcdf": self.cumulative, "logsf": self.cumulative, "ppf": self.quantile,
            "isf": self.quantile,
        }  # fmt: skip
        signature = self.signature(*([self.point] if name in whole else []))
        formula = self.formulas[name]

        def handler(*args: Any, **keywords: Any) -> Any:
            bound = signature.bind(*args, **keywords)
            bound.apply_defaults()
            values = [as_array(value) for value in bound.args]
            if name in whole:
                x, *values = values
                return whole[name](name, formula, as_real(x), *values)
            return self.moment(name, formula, *values)

        return handler

    def split(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any, Any, Any]:
        """Shape parameters, location and scale; where all are valid."""
        *shapes, loc, scale = values if self.scaled else (*values, 1)
        return tuple(shapes), loc, scale, both(self.valid(*shapes), scale > 0)

    def standard(self, x: Any, loc: Any, scale: Any) -> Any:
        """Points of the distribution as those of its standard form."""
        z = x if is_number(loc, 0) else x - loc
        return z if is_number(scale, 1) else z / scale

    def density(self, name: str, formula: Formula, x: Any, *values: Any) -> Any:
        """The density or its logarithm."""
        shapes, loc, scale, valid = self.split(values)
        z = self.standard(x, loc, scale)
        outside = self.outside(z, shapes, closed=True)
        y = formula(self.moved_inside(z, outside, shapes), *shapes)
        if not is_number(scale, 1):
            y = y - np.log(scale) if name.startswith("log") else y / scale
        if outside is not None:
            y = np.where(outside, -np.inf if name.startswith("log") else 0.0, y)
        return where_valid(valid, y)

    def outside(self, z: Any, shapes: tuple[Any, ...], closed: bool) -> Any:
        """True where points are outside of the support; None if that is everything. Its ends
        belong to it where it is `closed`."""
        low, high = self.bounds(*shapes)
        conditions = []
        if not always(low == -np.inf):
            conditions.append(z < low if closed else z <= low)
        if not always(high == np.inf):
            conditions.append(z > high if closed else z >= high)
        if self.finite:
            conditions.append(np.isinf(z))
        return functools.reduce(operator.or_, conditions) if conditions else None

    def moved_inside(self, z: Any, outside: Any, shapes: tuple[Any, ...]) -> Any:
        """The points, those outside of the support moved to one inside."""
        return z if outside is None else np.where(outside, self.inside(*shapes), z)

    def cumulative(self, name: str, formula: Formula, x: Any, *values: Any) -> Any:
        """A probability up to a point or beyond it, or its logarithm."""
        shapes, loc, scale, valid = self.split(values)
        z = self.standard(x, loc, scale)
        return where_valid(valid, self.probability(name, formula, z, shapes))

    def probability(self, name: str, formula: Formula, z: Any, shapes: tuple[Any, ...]) -> Any:
        """The probability for points of the standard form."""
        outside = self.outside(z, shapes, closed=False)
        y = formula(self.moved_inside(z, outside, shapes), *shapes)
        low, high = self.bounds(*shapes)
        nothing, all_ = (-np.inf, 0.0) if name.startswith("log") else (0.0, 1.0)
        below, above = (nothing, all_) if name.endswith("cdf") else (all_, nothing)
        if self.finite or not always(low == -np.inf):
            y = np.where(z <= low, below, y)
        is_above = self.finite or not always(high == np.inf)
        return np.where(z >= high, above, y) if is_above else y

    def quantile(self, name: str, formula: Formula, q: Any, *values: Any) -> Any:
        """The point below or above which the probability is q."""
        shapes, loc, scale, valid = self.split(values)
        outside = (q <= 0) | (q >= 1)
        y = formula(np.where(outside, 0.5, q), *shapes)
        low, high = self.bounds(*shapes)
        first, last = (low, high) if name == "ppf" else (high, low)
        y = np.where(q == 0, first, np.where(q == 1, last, np.where(outside, np.nan, y)))
        y = y if is_number(scale, 1) else y * scale
        return where_valid(valid, y if is_number(loc, 0) else y + loc)

    def moment(self, name: str, formula: Formula, *values: Any) -> Any:
        """A number of the whole distribution: its mean, variance, deviation or entropy."""
        shapes, loc, scale, valid = self.split(values)
        y = formula(*shapes)
        if name == "mean":
            y = y * scale + loc
        elif name == "entropy":
            y = y + np.log(scale)
        else:
            y = y * (scale * scale if name == "var" else scale)
        return where_valid(valid, y)


@dataclass(frozen=True)
class Discrete(Family):
    """A distribution on integers: densities are those of `pmf`."""

    scaled: bool = False
    point: str = "k"

    def outside(self, z: Any, shapes: tuple[Any, ...], closed: bool) -> Any:
        """Also where points are not integers."""
        beyond = super().outside(z, shapes, closed)
        if not closed:
            return beyond
        between = np.floor(z) != z
        return between if beyond is None else beyond | between

    def probability(self, name: str, formula: Formula, z: Any, shapes: tuple[Any, ...]) -> Any:
        """The probability for the integers up to a point, or beyond it."""
        z = np.floor(z)
        low, high = self.bounds(*shapes)
        below, above = z < low, z >= high
        y = formula(np.where(below | above, self.inside(*shapes), z), *shapes)
        nothing, all_ = (-np.inf, 0.0) if name.startswith("log") else (0.0, 1.0)
        first, last = (nothing, all_) if name.endswith("cdf") else (all_, nothing)
        return np.where(below, first, np.where(above, last, y))

    def moment(self, name: str, formula: Formula, *values: Any) -> Any:
        """A number of the whole distribution."""
        shapes, loc, _, valid = self.split(values)
        y = formula(*shapes)
        return where_valid(valid, y + loc if name == "mean" else y)
