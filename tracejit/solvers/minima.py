"""Minima of scipy.optimize: `minimize`, `minimize_scalar`, `least_squares`, `curve_fit`.

The gradient and the Hessian or Jacobian that SciPy wants are generated. A minimum solves the
equation gradient(x) = 0; between bounds and under constraints, that of `constraints.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.optimize as so

from tracejit.ir.types import ArrayType
from tracejit.ops.control.routines import Routine, keywords
from tracejit.ops.scipy.linear_algebra.solvers import solve_triangular
from tracejit.solvers.batching import define
from tracejit.solvers.calls import Call, Result, twin
from tracejit.solvers.constraints import (
    Limits,
    bounds_of,
    constraints_of,
    equation_between,
    equation_under,
    limits_of,
    spelled_constraint,
)
from tracejit.solvers.equations import EquationDerivative
from tracejit.solvers.functions import (
    FLOAT,
    INTEGER,
    NUMBER,
    Body,
    Function,
    call_routine,
    floats,
    gradient,
    jacobian,
    role,
    solution_of,
    vector,
)
from tracejit.solvers.roots import as_given, number, python_float

BY_VALUE = frozenset(("nelder-mead", "powell", "cobyla", "cobyqa"))
"""The methods of `minimize` that take no gradient."""
BY_HESSIAN = frozenset(
    ("newton-cg", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr")
)
"""The methods that take a Hessian."""
UNDER_CONSTRAINTS = frozenset(("", "slsqp", "cobyla", "cobyqa", "trust-constr"))
"""The methods that take constraints; none stands for the one that SciPy chooses."""
BETWEEN_BOUNDS = UNDER_CONSTRAINTS | {"nelder-mead", "powell", "l-bfgs-b", "tnc"}
"""The methods that take bounds."""
LOSSES: dict[str, Callable[[Any], tuple[Any, Any, Any]]] = {
    "soft_l1": lambda z: (
        2.0 * ((1.0 + z) ** 0.5 - 1.0),
        (1.0 + z) ** -0.5,
        -0.5 * (1.0 + z) ** -1.5,
    ),
    "huber": lambda z: _huber(z, np.where(z <= 1.0, 1.0, z)),
    "cauchy": lambda z: (np.log1p(z), 1.0 / (1.0 + z), -1.0 / (1.0 + z) ** 2),
    "arctan": lambda z: (np.arctan(z), 1.0 / (1.0 + z**2), -2.0 * z / (1.0 + z**2) ** 2),
}
"""The losses of `least_squares`: of a squared residual, with their first two derivatives."""


def _huber(z: Any, large: Any) -> tuple[Any, Any, Any]:
    value = np.where(z <= 1.0, z, 2.0 * large**0.5 - 1.0)
    return value, large**-0.5, np.where(z <= 1.0, 0.0, -0.5 * large**-1.5)


def _spelled_minimum(given: Sequence[ArrayType], has_sides: bool = False, **params: Any) -> str:
    method = (params["method"] or "").lower()
    places = iter([f"{{{number}}}" for number in range(1, len(given))])
    is_by_value = method in BY_VALUE
    asked = "{value}, {0}" if is_by_value else "{value_and_gradient}, {0}, jac=True"
    hess = ", hess={hessian}" if method in BY_HESSIAN else ""
    low, high, bounds = "-np.inf", "np.inf", ""
    if params["is_bounded"]:
        low, high = next(places), next(places)
        bounds = f", bounds=scipy.optimize.Bounds({low}, {high})"
    kinds = params["constraints"]
    parts = [spelled_constraint(kind, k, places, method) for k, kind in enumerate(kinds)]
    under = f", constraints=[{', '.join(text for text, *_ in parts)}]" if parts else ""
    options = keywords(**{name: params[name] for name in ("method", "tol", "options")})
    call = f"scipy.optimize.minimize({asked}{hess}{bounds}{under}{options})"
    if not (has_sides and parts):
        return _spelled_sides(call, low, high, has_sides)
    lows = ", ".join([low, *[one for _, one, _ in parts]])
    highs = ", ".join([high, *[one for *_, one in parts]])
    found = f"helpers.solved({call}), {{conditions}}, scipy.optimize.nnls, [{lows}], [{highs}]"
    return f"helpers.on_constraints({found})"


def _spelled_sides(call: str, low: str, high: str, has_sides: bool) -> str:
    """A call for the solution, and for the sides that it is at, too."""
    if has_sides:
        return f"helpers.on_bounds(helpers.solved({call}), {{slope}}, {low}, {high})"
    return f"helpers.solved({call})"


def _spelled_scalar(given: Sequence[ArrayType], has_sides: bool = False, **params: Any) -> str:
    places = [f"{{{number}}}" for number in range(len(given))]
    word = "bounds" if params["is_bounded"] else "bracket"
    limits = f", {word}=({', '.join(places)})" if places else ""
    options = keywords(**{name: params[name] for name in ("method", "tol", "options")})
    call = f"scipy.optimize.minimize_scalar({{value}}{limits}{options})"
    return (
        _spelled_sides(call, places[0], places[-1], has_sides)
        if has_sides
        else f"helpers.solved({call})"
    )


def _spelled_least_squares(
    given: Sequence[ArrayType], has_sides: bool = False, **params: Any
) -> str:
    limits = ", bounds=({1}, {2})" if len(given) > 1 else ""
    options = keywords(**{name: params[name] for name in LEAST_SQUARES_OPTIONS})
    call = f"scipy.optimize.least_squares({{residuals}}, {{0}}, jac={{slopes}}{limits}{options})"
    return _spelled_sides(call, "{1}", "{2}", has_sides)


LEAST_SQUARES_OPTIONS = (
    "method",
    "ftol",
    "xtol",
    "gtol",
    "x_scale",
    "loss",
    "f_scale",
    "tr_solver",
    "max_nfev",
)
_define = partial(define, derivative=EquationDerivative)


def _with_sides(
    name: str, infer: Callable[..., ArrayType], spelling: Callable[..., str]
) -> tuple[Routine, Routine]:
    """Declare a minimum without bounds, and one with the sides of its bounds."""

    def infer_all(*types: ArrayType, **params: Any) -> tuple[ArrayType, ArrayType]:
        x = infer(*types, **params)
        return x, ArrayType(x.shape, INTEGER)

    alone = _define(name, infer=infer, spelling=spelling)
    spelled = partial(spelling, has_sides=True)
    return alone, _define(f"{name}_between", infer=infer_all, spelling=spelled, first_alone=alone)


def _infer_under(
    *types: ArrayType, invariants: int, conditions: Any, **params: Any
) -> tuple[ArrayType, ...]:
    """The types of a minimum, the multipliers and the sides."""
    x, count = types[invariants], conditions.output_types[1].shape[0]
    return x, ArrayType((count,), FLOAT), ArrayType((x.shape[0] + count,), INTEGER)


MINIMUM, MINIMUM_BETWEEN = _with_sides("minimiser", as_given, _spelled_minimum)
SCALAR_MINIMUM, SCALAR_BETWEEN = _with_sides("scalar_minimiser", python_float, _spelled_scalar)
LEAST_SQUARES, LEAST_SQUARES_BETWEEN = _with_sides(
    "least_squares_fit", as_given, _spelled_least_squares
)
MINIMUM_UNDER = _define(
    "minimiser_under",
    infer=_infer_under,
    spelling=partial(_spelled_minimum, has_sides=True),
    first_alone=MINIMUM,
)


def _bodies(function: Function, **outputs: Sequence[Any]) -> dict[str, Body]:
    """The functions that the call of a minimum has."""
    suffixes = {"value": "", "residuals": "", "slopes": "_jacobian", "slope": "_gradient"}
    return {
        name: function.body(values, suffixes.get(name, f"_{name}"))
        for name, values in outputs.items()
    }


def _equation(equation: Function, conditions: Sequence[Any]) -> dict[str, Body]:
    """The functions of the equation that a minimum solves."""
    return {
        "residual": equation.body(conditions[:1], "_residual"),
        "jacobian": equation.body(conditions[1:], "_residual_jacobian"),
    }


@twin(so.minimize)
def _minimize(call: Call) -> Any:
    names = ("fun", "x0", "args", "method", "jac", "hess", "hessp", "bounds", "constraints")
    call.known(*names, "tol", "options")
    start = vector(call["x0"])
    function = Function(
        call.recording, role(call["fun"], "loss"), {"x": ArrayType(start.shape, FLOAT)}
    )
    x = function.inputs[0]
    method = (call["method"] or "").lower()
    bounds, constraints = bounds_of(call, start.shape[0]), constraints_of(call)
    if constraints and method not in UNDER_CONSTRAINTS:
        constraints = _ignored(method, "constraints", [])
    if bounds is not None and method not in BETWEEN_BOUNDS:
        bounds = _ignored(method, "bounds", None)

    def user() -> list[Any]:
        value = _scalar(call, function, call["jac"] is True)
        return [value, *[one.recorded_value(call, function) for one in constraints]]

    f, *values = function.record(user)
    (slope,) = function.record(lambda: [gradient(f, x, function.nodes)])
    asked = {"value": [f]} if method in BY_VALUE else {"value_and_gradient": [f, slope]}
    if method in BY_HESSIAN:
        asked["hessian"] = function.record(lambda: [jacobian(slope, x, function.nodes)])
    bodies = _bodies(function, slope=[slope], **asked)
    given = [start, *(bounds or ())]
    op = MINIMUM if bounds is None else MINIMUM_BETWEEN
    if constraints:
        op = MINIMUM_UNDER
        for k, (one, value) in enumerate(zip(constraints, values, strict=True)):
            given += one.given
            bodies |= one.recorded(function, k, value, method)
        slopes = function.record(
            lambda: [np.concatenate([jacobian(one, x, function.nodes) for one in values])]
        )
        bodies |= _bodies(function, conditions=[slope, *slopes, *values])
        bodies |= _equation(*equation_under(function, f, bounds, values, constraints))
    else:
        bodies |= _equation(*equation_between(function, slope, bounds))
    params = {
        "method": call["method"],
        "is_bounded": bounds is not None,
        "constraints": tuple(one.kind for one in constraints),
        **call.options("tol", "options"),
    }
    found = call_routine(function, op, bodies, given, **params)[0]
    value, gradient_there = solution_of(function.body([f, slope]), found)
    name = "grad" if method == "trust-constr" else "jac"
    return Result(call, {}, x=found, fun=value, **{name: gradient_there})


def _ignored(method: str, given: str, none: Any) -> Any:
    """Nothing, with SciPy's warning that the method takes no such argument."""
    warnings.warn(f"Method {method} cannot handle {given}.", RuntimeWarning, stacklevel=2)
    return none


@twin(so.minimize_scalar)
def _minimize_scalar(call: Call) -> Any:
    call.known("fun", "bracket", "bounds", "args", "method", "tol", "options")
    function = Function(call.recording, role(call["fun"], "loss"), {"x": NUMBER})
    (f,) = function.record(lambda: [_scalar(call, function, False)])
    (slope,) = function.record(lambda: [gradient(f, function.inputs[0], function.nodes)])
    ends = [number(one) for one in call["bounds"] or ()]
    bounds = Limits(*ends) if ends else None
    bodies = _bodies(function, value=[f], slope=[slope])
    bodies |= _equation(*equation_between(function, slope, bounds))
    given = [number(one) for one in call["bracket"] or ()] if bounds is None else ends
    params = {"method": call["method"], **call.options("tol", "options")}
    op = SCALAR_MINIMUM if bounds is None else SCALAR_BETWEEN
    x = call_routine(function, op, bodies, given, is_bounded=bounds is not None, **params)[0]
    return Result(call, {}, x=x, fun=solution_of(function.body([f]), x)[0])


@twin(so.least_squares)
def _least_squares(call: Call) -> Any:
    call.known("fun", "x0", "jac", "bounds", "args", "kwargs", *LEAST_SQUARES_OPTIONS)
    user = partial(call["fun"], **call["kwargs"]) if call["kwargs"] else call["fun"]
    bounds = limits_of(call, call["bounds"], np.size(call["x0"]))
    params = call.options(*LEAST_SQUARES_OPTIONS)
    fit = _Fit(call, role(call["fun"], "residuals"), user, call["x0"], bounds, params)
    r, slopes, cost, slope = fit.at_solution
    return Result(call, {}, x=fit.x, fun=r, jac=slopes, cost=cost, grad=slope)


class _Fit:
    """A solution of least squares, with the residuals and their Jacobian there, as SciPy scales
    it, the cost and its gradient."""

    def __init__(
        self,
        call: Call,
        name: str,
        user: Any,
        x0: Any,
        bounds: Limits | None,
        params: dict[str, Any],
    ) -> None:
        start = vector(x0)
        loss, width = params["loss"] or "linear", params["f_scale"] or 1.0
        if loss != "linear" and loss not in LOSSES:
            call.refuse("loss= is a function", f"name one of {', '.join(map(repr, LOSSES))}.")
        function = Function(call.recording, name, {"x": ArrayType(start.shape, FLOAT)})
        x = function.inputs[0]
        (r,) = function.record(lambda: [vector(function.call(user, *call.further))])
        (slopes,) = function.record(lambda: [jacobian(r, x, function.nodes)])
        scaled = slopes

        def robust() -> list[Any]:
            z = (r / width) ** 2
            value, first, second = LOSSES[loss](z)
            weights = np.maximum(first + 2.0 * second * z, np.finfo(float).eps) ** 0.5
            return [0.5 * width**2 * np.sum(value), slopes * weights[:, None]]

        if loss == "linear":
            (cost,) = function.record(lambda: [0.5 * np.sum(r**2)])
        else:
            cost, scaled = function.record(robust)
        (slope,) = function.record(lambda: [gradient(cost, x, function.nodes)])
        bodies = _bodies(function, residuals=[r], slopes=[slopes], slope=[slope])
        bodies |= _equation(*equation_between(function, slope, bounds))
        op = LEAST_SQUARES if bounds is None else LEAST_SQUARES_BETWEEN
        self.x = call_routine(function, op, bodies, [start, *(bounds or ())], **params)[0]
        self.at_solution = solution_of(function.body([r, scaled, cost, slope]), self.x)


@twin(so.curve_fit)
def _curve_fit(call: Call) -> Any:
    call.known(
        "f",
        "xdata",
        "ydata",
        "p0",
        "sigma",
        "absolute_sigma",
        "bounds",
        "method",
        "jac",
        "check_finite",
        "kwargs",
    )
    model, xs, ys = call["f"], call["xdata"], vector(call["ydata"])
    count = _parameters_of(call)
    bounds = limits_of(call, call["bounds"], count)
    start = call["p0"] if call["p0"] is not None else _between(bounds, count)
    sigma = call["sigma"]
    deviations = floats(sigma) if sigma is not None else None
    if deviations is not None and deviations.ndim > 1:
        deviations = np.linalg.cholesky(deviations)

    def residuals(x: Any) -> Any:
        error = model(xs, *[x[k] for k in range(count)]) - ys
        if deviations is None:
            return error
        if deviations.ndim > 1:
            return solve_triangular(deviations, error, lower=True)
        return error / deviations

    method = call["method"] or ("lm" if bounds is None else "trf")
    further = {"max_nfev" if name == "maxfev" else name: v for name, v in call["kwargs"].items()}
    unknown = sorted(further.keys() - set(LEAST_SQUARES_OPTIONS))
    if unknown:
        call.refuse(f"{unknown[0]}= is not recorded")
    options = {name: call.literal(name, value) for name, value in further.items()}
    params = {**dict.fromkeys(LEAST_SQUARES_OPTIONS), "method": method, **options}
    fit = _Fit(call, role(model, "model") + "_residuals", residuals, start, bounds, params)
    r, slopes, cost, _ = fit.at_solution
    covariance: Any = np.linalg.inv(slopes.T @ slopes)
    if not call["absolute_sigma"] or sigma is None:
        covariance = covariance * (2.0 * cost / (r.shape[0] - count))
    return fit.x, covariance


def _between(bounds: Limits | None, count: int) -> Any:
    """The start that `curve_fit` takes between bounds where none is given."""
    if bounds is None:
        return np.ones(count)
    of_low, of_high = map(np.isfinite, bounds)
    low, high = np.where(of_low, bounds.lowest, 0.0), np.where(of_high, bounds.highest, 0.0)
    one_sided = np.where(of_low, low + 1.0, np.where(of_high, high - 1.0, 1.0))
    return np.where(of_low & of_high, 0.5 * (low + high), one_sided)


def _parameters_of(call: Call) -> int:
    """The number of parameters of the model that is fitted."""
    if call["p0"] is not None:
        return int(np.size(call["p0"]))
    code = getattr(call["f"], "__wrapped__", call["f"]).__code__
    return int(code.co_argcount) - 1


def _scalar(call: Call, function: Function, is_pair: bool) -> Any:
    """The value of what is minimised."""
    user = call["fun"]
    found = function.call(user, *call.further)
    found = floats(found[0] if is_pair else found)
    if found.size != 1:
        call.refuse(f"the function returns {found.size} numbers", "return one number to minimise.")
    return np.reshape(found, ()) if found.ndim else found
