"""Minima of scipy.optimize: `minimize`, `minimize_scalar`, `least_squares`, `curve_fit`.

The gradient and the Hessian or Jacobian that SciPy wants are generated. A minimum solves the
equation gradient(x) = 0. Between bounds it solves it where a step along the gradient stays inside,
and is the bound elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.optimize as so
from scipy.optimize import OptimizeResult

from tracejit.ir.types import ArrayType
from tracejit.ops.control.routines import keywords
from tracejit.solvers.batching import define
from tracejit.solvers.calls import Call, twin
from tracejit.solvers.equations import EquationDerivative
from tracejit.solvers.functions import (
    FLOAT,
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
from tracejit.solvers.roots import as_given, python_float

BY_VALUE = frozenset(("nelder-mead", "powell", "cobyla", "cobyqa"))
"""The methods of `minimize` that take no gradient."""
BY_HESSIAN = frozenset(
    ("newton-cg", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr")
)
"""The methods that take a Hessian."""
Bounds = tuple[tuple[float, ...], tuple[float, ...]]
"""The lowest and the highest values of the unknowns."""


def _spelled_minimum(given: Sequence[ArrayType], **params: Any) -> str:
    method = (params["method"] or "").lower()
    function = "{value}" if method in BY_VALUE else "{value_and_gradient}"
    jac = "" if method in BY_VALUE else ", jac=True"
    hess = ", hess={jacobian}" if method in BY_HESSIAN else ""
    bounds = params["bounds"]
    pairs = None if bounds is None else tuple(zip(*bounds, strict=True))
    limits = "" if pairs is None else f", bounds={_spelled_bounds(pairs)}"
    options = keywords(**{name: params[name] for name in ("method", "tol", "options")})
    call = f"scipy.optimize.minimize({function}, {{0}}{jac}{hess}{limits}{options})"
    return f"helpers.solved({call})"


def _spelled_bounds(pairs: Any) -> str:
    """Numbers in tuples, infinite ones as NumPy's."""
    if isinstance(pairs, tuple):
        return f"({', '.join(map(_spelled_bounds, pairs))},)"
    return repr(pairs) if np.isfinite(pairs) else "np.inf" if pairs > 0 else "-np.inf"


def _spelled_scalar(given: Sequence[ArrayType], **params: Any) -> str:
    options = keywords(
        **{name: params[name] for name in ("bracket", "bounds", "method", "tol", "options")}
    )
    return f"helpers.solved(scipy.optimize.minimize_scalar({{value}}{options}))"


def _spelled_least_squares(given: Sequence[ArrayType], **params: Any) -> str:
    bounds = params["bounds"]
    limits = "" if bounds is None else f", bounds={_spelled_bounds(bounds)}"
    options = keywords(**{name: params[name] for name in LEAST_SQUARES_OPTIONS})
    call = f"scipy.optimize.least_squares({{residuals}}, {{0}}, jac={{slopes}}{limits}{options})"
    return f"helpers.solved({call})"


LEAST_SQUARES_OPTIONS = ("method", "ftol", "xtol", "gtol", "x_scale", "max_nfev")
_define = partial(define, derivative=EquationDerivative)
MINIMUM = _define("minimiser", infer=as_given, spelling=_spelled_minimum)
SCALAR_MINIMUM = _define("scalar_minimiser", infer=python_float, spelling=_spelled_scalar)
LEAST_SQUARES = _define("least_squares_fit", infer=as_given, spelling=_spelled_least_squares)


def _stationary(function: Function, f: Any, bounds: Bounds | None) -> list[Any]:
    """The gradient of `f`, and the residual and Jacobian of the equation that a minimum solves."""
    x = function.inputs[0]
    (slope,) = function.record(lambda: [gradient(f, x, function.nodes)])
    (curvature,) = function.record(lambda: [jacobian(slope, x, function.nodes)])
    if bounds is None:
        return [slope, slope, curvature]

    def masked() -> list[Any]:
        lowest, highest = map(np.array, bounds)
        stepped = x - slope
        is_free: Any = (stepped > lowest) & (stepped < highest)
        matrix = np.where(is_free[:, None], curvature, np.eye(x.shape[0]))
        return [slope, np.where(is_free, slope, 0.0), matrix]

    return function.record(masked)


def _bodies(
    function: Function, stationary: Sequence[Any], **outputs: Sequence[Any]
) -> dict[str, Body]:
    """The functions of a minimum: those that the call has, and those of the equation."""
    suffixes = {"value": "", "residuals": "", "slopes": "_jacobian"}
    bodies = {
        name: function.body(values, suffixes.get(name, f"_{name}"))
        for name, values in outputs.items()
    }
    _, residual, matrix = stationary
    bodies["residual"] = function.body([residual], "_gradient")
    bodies["jacobian"] = function.body([matrix], "_hessian")
    return bodies


@twin(so.minimize)
def _minimize(call: Call) -> Any:
    names = ("fun", "x0", "args", "method", "jac", "hess", "hessp", "bounds", "tol", "options")
    call.known(*names)
    start = vector(call["x0"])
    function = Function(
        call.recording, role(call["fun"], "loss"), {"x": ArrayType(start.shape, FLOAT)}
    )
    is_pair = call["jac"] is True
    (f,) = function.record(lambda: [_scalar(call, function, is_pair)])
    bounds = _bounds_of(call, start.shape[0])
    stationary = _stationary(function, f, bounds)
    method = call["method"]
    asked = (
        {"value": [f]}
        if (method or "").lower() in BY_VALUE
        else {"value_and_gradient": [f, stationary[0]]}
    )
    bodies = _bodies(function, stationary, **asked)
    params = {"method": method, "bounds": bounds, **call.options("tol", "options")}
    (x,) = call_routine(function, MINIMUM, bodies, [start], **params)
    found = solution_of(function.body([f, stationary[0]]), x)
    return OptimizeResult(x=x, success=True, fun=found[0], jac=found[1])


@twin(so.minimize_scalar)
def _minimize_scalar(call: Call) -> Any:
    call.known("fun", "bracket", "bounds", "args", "method", "tol", "options")
    function = Function(call.recording, role(call["fun"], "loss"), {"x": NUMBER})
    (f,) = function.record(lambda: [_scalar(call, function, False)])
    bodies = _bodies(function, _stationary(function, f, None), value=[f])
    params = call.options("bracket", "bounds", "method", "tol", "options")
    if params["bounds"] is not None:
        call.refuse(
            "a minimum between bounds= may lie at one of them", "use minimize with bounds=."
        )
    (x,) = call_routine(function, SCALAR_MINIMUM, bodies, [], **params)
    return OptimizeResult(x=x, success=True, fun=solution_of(function.body([f]), x)[0])


@twin(so.least_squares)
def _least_squares(call: Call) -> Any:
    call.known("fun", "x0", "jac", "bounds", "args", "kwargs", *LEAST_SQUARES_OPTIONS)
    user = partial(call["fun"], **call["kwargs"]) if call["kwargs"] else call["fun"]
    bounds = _box_of(call, call["bounds"], np.size(call["x0"]))
    params = call.options(*LEAST_SQUARES_OPTIONS)
    fit = _Fit(call, role(call["fun"], "residuals"), user, call["x0"], bounds, params)
    r, slopes = fit.at_solution
    cost = 0.5 * np.sum(r**2)
    return OptimizeResult(x=fit.x, success=True, fun=r, jac=slopes, cost=cost, grad=slopes.T @ r)


class _Fit:
    """A solution of least squares, with the residuals and their Jacobian there."""

    def __init__(
        self,
        call: Call,
        name: str,
        user: Any,
        x0: Any,
        bounds: Bounds | None,
        params: dict[str, Any],
    ) -> None:
        start = vector(x0)
        function = Function(call.recording, name, {"x": ArrayType(start.shape, FLOAT)})
        (r,) = function.record(lambda: [vector(function.call(user, *call.further))])
        slopes, half = function.record(
            lambda: [jacobian(r, function.inputs[0], function.nodes), 0.5 * np.sum(r**2)]
        )
        bodies = _bodies(
            function, _stationary(function, half, bounds), residuals=[r], slopes=[slopes]
        )
        (self.x,) = call_routine(function, LEAST_SQUARES, bodies, [start], bounds=bounds, **params)
        self.at_solution = solution_of(function.body([r, slopes]), self.x)


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
    )
    model, xs, ys = call["f"], call["xdata"], vector(call["ydata"])
    count = _parameters_of(call)
    start = call["p0"] if call["p0"] is not None else np.ones(count)
    bounds = _box_of(call, call["bounds"], count)
    if call["p0"] is None and bounds is not None:
        call.refuse("bounds= without p0=", "pass a start between the bounds as p0=.")
    sigma = call["sigma"]
    if np.ndim(sigma) > 1:
        call.refuse("sigma= is a matrix", "give the standard deviations of the points.")

    def residuals(x: Any) -> Any:
        error = model(xs, *[x[k] for k in range(count)]) - ys
        return error if sigma is None else error / sigma

    method = call["method"] or ("lm" if bounds is None else "trf")
    params = {**dict.fromkeys(LEAST_SQUARES_OPTIONS), "method": method}
    fit = _Fit(call, role(model, "model") + "_residuals", residuals, start, bounds, params)
    r, slopes = fit.at_solution
    covariance: Any = np.linalg.inv(slopes.T @ slopes)
    if not call["absolute_sigma"] or sigma is None:
        covariance = covariance * (np.sum(r**2) / (ys.shape[0] - count))
    return fit.x, covariance


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


def _bounds_of(call: Call, size: int) -> Bounds | None:
    """The bounds of `minimize`: pairs, or SciPy's Bounds."""
    bounds = call["bounds"]
    if bounds is None:
        return None
    if isinstance(bounds, so.Bounds):
        return _box_of(call, (bounds.lb, bounds.ub), size)
    lowest = [-np.inf if low is None else low for low, _ in bounds]
    highest = [np.inf if high is None else high for _, high in bounds]
    return _box_of(call, (lowest, highest), size)


def _box_of(call: Call, bounds: Any, size: int) -> Bounds | None:
    """The lowest and the highest values as numbers; None where they do not bound anything."""
    if isinstance(bounds, so.Bounds):
        bounds = bounds.lb, bounds.ub
    try:
        lowest, highest = (np.broadcast_to(np.asarray(one, float), (size,)) for one in bounds)
    except (TypeError, ValueError):
        call.refuse("bounds= must be known before the call", "give the bounds as plain numbers.")
    if np.isinf(lowest).all() and np.isinf(highest).all():
        return None
    return tuple(lowest.tolist()), tuple(highest.tolist())
