"""Bounds and constraints of minima, as they are recorded.

At a minimum x, the gradient is balanced by those of the bounds and constraints that hold it, each
with a multiplier (the conditions of Karush, Kuhn and Tucker):

    gradient(x) = jacobian(x)^T multipliers

Which these are is found at SciPy's result: of the `sides`, -1 says that a value is held at its
lowest, 1 at its highest, 0 that it is free. With them, the minimum and its multipliers solve an
equation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize as so
from scipy.sparse import issparse

from tracejit.ir.types import ArrayType
from tracejit.solvers.calls import Call
from tracejit.solvers.functions import (
    FLOAT,
    INTEGER,
    Body,
    Function,
    floats,
    gradient,
    jacobian,
    vector,
)
from tracejit.trace.convert.rules import HANDED, RULES, where_recorded
from tracejit.trace.tensor.tensor import TENSORS


class Limits(NamedTuple):
    """The lowest and the highest values of the unknowns, or of a function of them."""

    lowest: Any
    highest: Any

    def held_at(self, sides: Any) -> Any:
        """The limit that each is at, where it is held."""
        return np.where(sides < 0, self.lowest, self.highest)


class Constraint(NamedTuple):
    """A function of the unknowns with limits: an "eq" or "ineq" as in a dictionary, or
    "nonlinear" or "linear" as an object of SciPy's, which has a matrix."""

    kind: str
    function: Callable[[Any], Any]
    limits: Limits
    matrix: Any = None

    @property
    def given(self) -> list[Any]:
        """The arrays of an object of SciPy's."""
        if self.kind in OF_DICTIONARY:
            return []
        return [*([] if self.matrix is None else [self.matrix]), *self.limits]

    def recorded_value(self, call: Call, function: Function) -> Any:
        """The value for the placeholder of a function that is being recorded."""
        found = function.call(self.function)
        if found is None or floats(found).ndim > 1:
            problem = f"returns {'None' if found is None else 'more than one axis'}"
            call.refuse(f"a constraint {problem}", "return a number or a vector.")
        value = vector(found)
        for limit in self.limits:
            if limit.shape not in ((), (1,), value.shape):
                problem = f"has {value.shape[0]} numbers and {limit.size} limits"
                call.refuse(f"a constraint {problem}", "give one limit, or one for each number.")
        return value

    def recorded(self, function: Function, number: int, value: Any, method: str) -> dict[str, Body]:
        """The functions that SciPy is given for the constraint of this number."""
        if self.kind == "linear":
            return {}
        x, name = function.inputs[0], f"constraint_{number}"
        (slopes,) = function.record(lambda: [jacobian(value, x, function.nodes)])
        bodies = {
            name: function.body([value], f"_{name}"),
            f"{name}_jacobian": function.body([slopes], f"_{name}_jacobian"),
        }
        if self.kind == "nonlinear" and method == "trust-constr":
            weighted = function.extended({"v": value.type})
            (total,) = weighted.record(lambda: [np.sum(weighted.inputs[1] * value)])
            (slope,) = weighted.record(lambda: [gradient(total, x, weighted.nodes)])
            matrix = weighted.record(lambda: [jacobian(slope, x, weighted.nodes)])
            bodies[f"{name}_hessian"] = weighted.body(matrix, f"_{name}_hessian")
        return bodies


OF_DICTIONARY = {"eq": ("0.0", "0.0"), "ineq": ("0.0", "np.inf")}
"""The limits of a constraint of a dictionary, by its type."""


def spelled_constraint(
    kind: str, number: int, places: Iterator[str], method: str
) -> tuple[str, str, str]:
    """A constraint as SciPy is given it, its lowest and its highest values."""
    name = f"constraint_{number}"
    jac = f"{{{name}_jacobian}}"
    if kind in OF_DICTIONARY:
        return f"dict(type={kind!r}, fun={{{name}}}, jac={jac})", *OF_DICTIONARY[kind]
    matrix = next(places) if kind == "linear" else ""
    low, high = next(places), next(places)
    if matrix:
        return f"scipy.optimize.LinearConstraint({matrix}, {low}, {high})", low, high
    hess = f", {{{name}_hessian}}" if method == "trust-constr" else ""
    return f"scipy.optimize.NonlinearConstraint({{{name}}}, {low}, {high}, {jac}{hess})", low, high


def bounds_of(call: Call, size: int) -> Limits | None:
    """The bounds of the unknowns: pairs or SciPy's Bounds; None where they bound nothing."""
    bounds = call["bounds"]
    if bounds is None:
        return None
    if isinstance(bounds, so.Bounds):
        return limits_of(call, bounds, size)
    pairs = list(bounds)
    if len(pairs) != size:
        raise ValueError(f"the number of bounds, {len(pairs)}, is not that of unknowns, {size}")
    lowest = [-np.inf if low is None else low for low, _ in pairs]
    highest = [np.inf if high is None else high for _, high in pairs]
    return limits_of(call, (lowest, highest), size)


def limits_of(call: Call, bounds: Any, size: int) -> Limits | None:
    """A pair of limits as vectors; None where they bound nothing."""
    if isinstance(bounds, so.Bounds):
        _refuse_feasible(call, bounds)
        bounds = bounds.lb, bounds.ub
    limits = Limits(*[np.broadcast_to(floats(one), (size,)) for one in bounds])
    is_known = not any(type(one) in TENSORS for one in limits)
    is_open = is_known and np.all(limits.lowest == -np.inf) and np.all(limits.highest == np.inf)
    return None if is_open else limits


def constraints_of(call: Call) -> list[Constraint]:
    """The constraints of a call: dictionaries or SciPy's objects, one or several."""
    given = call["constraints"] or ()
    are_several = isinstance(given, Iterable) and not isinstance(given, dict)
    several = list(given) if are_several else [given]
    return [_constraint(call, each) for each in several]


def _constraint(call: Call, given: Any) -> Constraint:
    if isinstance(given, dict):
        return _of_dictionary(call, given)
    if not isinstance(given, (so.LinearConstraint, so.NonlinearConstraint)):
        fix = "give a dictionary, a LinearConstraint or a NonlinearConstraint; bounds by bounds=."
        call.refuse(f"a constraint is of the class {type(given).__name__}", fix)
    _refuse_feasible(call, given)
    limits = Limits(floats(given.lb), floats(given.ub))
    if isinstance(given, so.NonlinearConstraint):
        if not callable(given.fun):
            fix = "give it a function of the unknowns."
            call.refuse(f"a constraint has the function {given.fun!r}", fix)
        return Constraint("nonlinear", given.fun, limits)
    if issparse(given.A):
        call.refuse("the matrix of a constraint is sparse", "give it as an array.")
    matrix = floats(given.A)
    return Constraint("linear", lambda x: matrix @ x, limits, matrix)


def _of_dictionary(call: Call, given: dict[str, Any]) -> Constraint:
    kind, user, args = given.get("type"), given.get("fun"), given.get("args", ())
    if not isinstance(kind, str) or kind.lower() not in OF_DICTIONARY:
        found = f"has the type {kind!r}" if "type" in given else "has no 'type'"
        call.refuse(f"a constraint {found}", "give it the type 'eq' or 'ineq'.")
    if not callable(user):
        found = f"has the function {user!r}" if "fun" in given else "has no 'fun'"
        call.refuse(f"a constraint {found}", "give it a function of the unknowns as 'fun'.")
    if not isinstance(args, (list, tuple)):
        found = f"has args of the class {type(args).__name__}"
        call.refuse(f"a constraint {found}", "give them as a tuple.")
    kind = kind.lower()
    limits = Limits(*[np.array(float(end.removeprefix("np."))) for end in OF_DICTIONARY[kind]])
    return Constraint(kind, lambda x: user(x, *args), limits)


def _refuse_feasible(call: Call, given: Any) -> None:
    if np.any(given.keep_feasible):
        call.refuse("keep_feasible=True is not recorded", "leave it out.")


def _recorded_linear(A: Any, *limits: Any, **options: Any) -> Any:
    """A LinearConstraint of what is recorded."""
    made = _with_limits(so.LinearConstraint, np.zeros((1, 1)))(*limits, **options)
    made.A = np.atleast_2d(floats(A))
    return made


def _with_limits(kind: Any, *first: Any) -> Callable[..., Any]:
    """The function that makes an object of SciPy's with limits that are recorded."""

    def make(lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> Any:
        made = kind(*first, keep_feasible=keep_feasible)
        made.lb, made.ub = np.atleast_1d(floats(lb)), np.atleast_1d(floats(ub))
        return made

    return make


RULES[so.Bounds] = where_recorded(so.Bounds, _with_limits(so.Bounds))
RULES[so.LinearConstraint] = where_recorded(so.LinearConstraint, _recorded_linear)
RULES[so.NonlinearConstraint] = so.NonlinearConstraint
HANDED.add(so.NonlinearConstraint)


def equation_between(
    function: Function, slope: Any, bounds: Limits | None
) -> tuple[Function, list[Any]]:
    """The equation of a minimum between bounds: what is zero and its Jacobian, as a function of
    the unknowns and, between bounds, the sides."""
    x = function.inputs[0]
    (matrix,) = function.record(lambda: [jacobian(slope, x, function.nodes)])
    if bounds is None:
        return function, [slope, matrix]
    equation = function.extended({"sides": ArrayType(x.shape, INTEGER)})

    def held() -> list[Any]:
        is_free = equation.inputs[1] == 0
        residual = np.where(is_free, slope, x - bounds.held_at(equation.inputs[1]))
        if not x.shape:
            return [residual, np.where(is_free, matrix, 1.0)]
        return [residual, np.where(is_free[:, None], matrix, np.eye(x.shape[0]))]

    return equation, equation.record(held)


def equation_under(
    function: Function,
    f: Any,
    bounds: Limits | None,
    parts: Sequence[Any],
    constraints: Sequence[Constraint],
) -> tuple[Function, list[Any]]:
    """The equation of a minimum under constraints, of which `parts` are the values, as a function
    of the unknowns, the multipliers and the sides of both."""
    x = function.inputs[0]
    (values,) = function.record(lambda: [np.concatenate(parts)])
    limits = Limits(
        *[
            np.concatenate([np.broadcast_to(e, v.shape) for e, v in zip(ends, parts, strict=True)])
            for ends in zip(*[one.limits for one in constraints], strict=True)
        ]
    )
    size, count = x.shape[0], values.shape[0]
    parameters = {
        "multipliers": ArrayType((count,), FLOAT),
        "sides": ArrayType((size + count,), INTEGER),
    }
    equation = function.extended(parameters)
    _, multipliers, sides = equation.inputs
    (lagrangian,) = equation.record(lambda: [f - np.sum(multipliers * values)])
    (slope,) = equation.record(lambda: [gradient(lagrangian, x, equation.nodes)])
    (curvature,) = equation.record(lambda: [jacobian(slope, x, equation.nodes)])
    (slopes,) = equation.record(lambda: [jacobian(values, x, equation.nodes)])

    def held() -> list[Any]:
        of_x, of_values = sides[:size], sides[size:]
        is_free, is_held = of_x == 0, of_values != 0
        balance = slope if bounds is None else np.where(is_free, slope, x - bounds.held_at(of_x))
        kept = np.where(is_held, values - limits.held_at(of_values), multipliers)
        above = np.concatenate((curvature, -np.transpose(slopes)), axis=1)
        below = np.concatenate((slopes, np.zeros((count, count))), axis=1)
        matrix = np.concatenate((above, below))
        rows = np.concatenate((is_free, is_held))[:, None]
        return [np.concatenate((balance, kept)), np.where(rows, matrix, np.eye(size + count))]

    return equation, equation.record(held)
