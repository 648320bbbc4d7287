"""Roots and fixed points of scipy.optimize. The Jacobian that SciPy wants is generated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.optimize as so

from tracejit.ir.types import ArrayType
from tracejit.ops.base.forms import as_scalar
from tracejit.ops.control.routines import keywords
from tracejit.solvers.batching import define
from tracejit.solvers.calls import Call, Result, twin
from tracejit.solvers.equations import EquationDerivative
from tracejit.solvers.functions import (
    FLOAT,
    NUMBER,
    SCALAR,
    Body,
    Function,
    call_routine,
    floats,
    jacobian,
    role,
    solution_of,
    vector,
)
from tracejit.trace.convert.numbers import python_number

WITH_JACOBIAN = ("hybr", "lm")
"""The methods of `root` that take a Jacobian."""
BY_SLOPE = ("newton", "halley")
"""The methods of `root_scalar` that take a derivative."""


def _spelled_root(given: Sequence[ArrayType], **params: Any) -> str:
    jac = ", jac={jacobian}" if params["method"] in WITH_JACOBIAN else ""
    options = keywords(**{name: params[name] for name in ("method", "tol", "options")})
    return f"helpers.solved(scipy.optimize.root({{residual}}, {{0}}{jac}{options}))"


def _spelled_bracketed(given: Sequence[ArrayType], **params: Any) -> str:
    options = keywords(xtol=params["xtol"], rtol=params["rtol"], maxiter=params["maxiter"])
    return f"scipy.optimize.{params['search']}({{residual}}, {{0}}, {{1}}{options})"


def _spelled_scalar(given: Sequence[ArrayType], **params: Any) -> str:
    method = params["method"]
    if params["is_bracket"]:
        start = ", bracket=({0}, {1})"
    else:
        start = ", x0={0}" + (", x1={1}" if len(given) == 2 else "")
    slope = ", fprime={jacobian}" if method in BY_SLOPE else ""
    options = keywords(**{name: params[name] for name in ("method", "xtol", "rtol", "maxiter")})
    return f"helpers.root_of(scipy.optimize.root_scalar({{residual}}{start}{slope}{options}))"


def _spelled_newton(given: Sequence[ArrayType], **params: Any) -> str:
    options = keywords(tol=params["tol"], rtol=params["rtol"], maxiter=params["maxiter"])
    slope = "" if given[0].shape else ", fprime={jacobian}"
    return f"scipy.optimize.newton({{residual}}, {{0}}{slope}{options})"


def _spelled_fixed_point(given: Sequence[ArrayType], **params: Any) -> str:
    options = keywords(xtol=params["xtol"], maxiter=params["maxiter"], method=params["method"])
    end = "" if given[0].shape else "[()]"
    return f"scipy.optimize.fixed_point({{function}}, {{0}}{options}){end}"


def as_given(*types: ArrayType, invariants: int, **params: Any) -> ArrayType:
    """The type of the first argument that is given."""
    return types[invariants]


def python_float(*types: ArrayType, **params: Any) -> ArrayType:
    """A Python float."""
    return NUMBER


_define = partial(define, derivative=EquationDerivative)
ROOT = _define("root", infer=as_given, spelling=_spelled_root)
BRACKETED = _define("bracketed_root", infer=python_float, spelling=_spelled_bracketed)
ROOT_SCALAR = _define("scalar_root", infer=python_float, spelling=_spelled_scalar)
NEWTON = _define("newton_root", infer=as_given, spelling=_spelled_newton)
FIXED_POINT = _define("fixed_point", infer=as_given, spelling=_spelled_fixed_point)


def _equation(
    call: Call, user: Any, x: ArrayType, is_pair: bool = False
) -> tuple[Function, dict[str, Body]]:
    """The function of an equation in a vector or a number, with the residual and its Jacobian."""
    function = Function(call.recording, role(user, "residual"), {"x": x})

    def residual() -> list[Any]:
        found = function.call(user, *call.further)
        found = floats(found[0] if is_pair else found)
        if found.size != x.size:
            problem = f"the function returns {found.size} numbers for {x.size} unknowns"
            call.refuse(problem, "return one number for each unknown.")
        return [found if found.shape == x.shape else np.reshape(found, x.shape)]

    (r,) = function.record(residual)
    (matrix,) = function.record(lambda: [jacobian(r, function.inputs[0], function.nodes)])
    bodies = {"residual": function.body([r]), "jacobian": function.body([matrix], "_jacobian")}
    return function, bodies


@twin(so.root)
def _root(call: Call) -> Any:
    call.known("fun", "x0", "args", "method", "jac", "tol", "options")
    start = vector(call["x0"])
    function, bodies = _equation(
        call, call["fun"], ArrayType(start.shape, FLOAT), call["jac"] is True
    )
    options = call.options("tol", "options")
    method = call["method"].lower()
    (x,) = call_routine(function, ROOT, bodies, [start], method=method, **options)
    return Result(call, {}, x=x, fun=solution_of(bodies["residual"], x)[0])


@twin(so.fsolve)
def _fsolve(call: Call) -> Any:
    call.known("func", "x0", "args", "fprime", "xtol", "maxfev", "factor")
    start = vector(call["x0"])
    function, bodies = _equation(call, call["func"], ArrayType(start.shape, FLOAT))
    found = call.options("xtol", "maxfev", "factor")
    tol = found.pop("xtol")
    options = tuple((name, value) for name, value in found.items() if value is not None) or None
    params = {"method": "hybr", "tol": tol, "options": options}
    return call_routine(function, ROOT, bodies, [start], **params)[0]


@twin(so.brentq, so.brenth, so.ridder, so.bisect, so.toms748)
def _bracketed(call: Call) -> Any:
    call.known("f", "a", "b", "args", "xtol", "rtol", "maxiter")
    function, bodies = _equation(call, call["f"], NUMBER)
    given = [number(call["a"]), number(call["b"])]
    params = call.options("xtol", "rtol", "maxiter")
    search = call.name.rpartition(".")[2]
    return call_routine(function, BRACKETED, bodies, given, search=search, **params)[0]


@twin(so.root_scalar)
def _root_scalar(call: Call) -> Any:
    names = ("f", "args", "method", "bracket", "fprime", "fprime2", "x0", "x1")
    call.known(*names, "xtol", "rtol", "maxiter")
    is_bracket = call["bracket"] is not None
    starts = call["bracket"] if is_bracket else [call["x0"], call["x1"]]
    given = [number(one) for one in starts if one is not None]
    if not given:
        raise ValueError(
            "Unable to select a solver as neither bracket nor starting point provided."
        )
    function, bodies = _equation(call, call["f"], NUMBER, call["fprime"] is True)
    by_default = "brentq" if is_bracket else "newton" if len(given) == 1 else "secant"
    method = (call["method"] or by_default).lower()
    params = {"method": method, "is_bracket": is_bracket, **call.options("xtol", "rtol", "maxiter")}
    if method == "halley":
        call.refuse("method='halley' is not recorded", "method='newton' is.")
    (x,) = call_routine(function, ROOT_SCALAR, bodies, given, **params)
    return Result(call, {}, root=x)


@twin(so.newton)
def _newton(call: Call) -> Any:
    call.known("func", "x0", "args", "fprime", "fprime2", "tol", "rtol", "maxiter")
    start = floats(call["x0"])
    if start.ndim > 1:
        call.refuse(f"x0 has the shape {start.shape}", "pass a vector.")
    start = start if start.shape else as_scalar(start, dtype=FLOAT)
    x = ArrayType(start.shape, FLOAT) if start.shape else SCALAR
    function, bodies = _equation(call, call["func"], x)
    params = call.options("tol", "rtol", "maxiter")
    return call_routine(function, NEWTON, bodies, [start], **params)[0]


@twin(so.fixed_point)
def _fixed_point(call: Call) -> Any:
    call.known("func", "x0", "args", "xtol", "maxiter", "method")
    start = floats(call["x0"])
    if start.ndim > 1:
        call.refuse(f"x0 has the shape {start.shape}", "pass a vector.")
    x = ArrayType(start.shape, FLOAT, "array")
    function = Function(call.recording, role(call["func"], "function"), {"x": x})
    (value,) = function.record(lambda: [floats(function.call(call["func"], *call.further))])
    (r,) = function.record(lambda: [value - function.inputs[0]])
    (matrix,) = function.record(lambda: [jacobian(r, function.inputs[0], function.nodes)])
    bodies = {
        "function": function.body([value]),
        "residual": function.body([r], "_residual"),
        "jacobian": function.body([matrix], "_jacobian"),
    }
    params = call.options("xtol", "maxiter", "method")
    return call_routine(function, FIXED_POINT, bodies, [start], **params)[0]


def number(value: Any) -> Any:
    """A number as a Python float."""
    return python_number(np.reshape(floats(value), ()), float)
