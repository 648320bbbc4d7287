"""Integrals of scipy.integrate: `quad`, and those over several variables, which are nested.

The derivative of an integral is the integral of the derivative of the integrand, and the integrand
at its limits (Leibniz). It is another integral, so derivatives of every order are right. SciPy's
estimate of the error is taken for a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate as si
from scipy.special import roots_legendre

from tracejit.autodiff.reverse.loops import Derive
from tracejit.ir.graph import Node, Value
from tracejit.ir.subgraph import Subgraph
from tracejit.ir.types import ArrayType
from tracejit.ops.control.routines import keywords
from tracejit.solvers.batching import define
from tracejit.solvers.calls import Call, twin
from tracejit.solvers.functions import (
    NUMBER,
    Body,
    Function,
    call_routine,
    emit_routine,
    floats,
    inlined,
    role,
)
from tracejit.solvers.roots import number
from tracejit.trace.control_flow.loops import take_out
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor

OPTIONS = ("epsabs", "epsrel", "limit", "points")


class IntegralDerivative:
    """The derivative of an integral of a number or of an array."""

    def __init__(
        self, recording: Recording, node: Node, operands: Sequence[Tensor], wanted: Sequence[bool]
    ) -> None:
        """The operands that are `wanted` move."""
        self.recording = recording
        self.node = node
        self.operands = operands
        self.body: Subgraph = node.params["integrand"]
        self.first = node.params["invariants"]
        self.limits = operands[self.first :]
        self.moving = [k for k in range(self.first) if wanted[k] and operands[k].type.is_inexact]
        self.ends = [k for k in (0, 1) if wanted[self.first + k]]

    def pulled_back(self, cotangents: Sequence[Any], gradients: Derive) -> list[Any]:
        """The cotangent of each operand for that of the integral."""
        answers: list[Any] = [None] * len(self.operands)
        bar = cotangents[0]
        if bar is None:
            return answers
        for k in self.ends:
            slope = bar * self._integrand_at(k)
            slope = np.sum(slope) if slope.shape else slope
            answers[self.first + k] = slope if k else -slope
        if not self.moving:
            return answers
        shapes: list[tuple[int, tuple[int, ...]]] = []

        def integrand(nodes: Sequence[Node]) -> Any:
            xs = self._tensors([self.body.inputs[k] for k in self.moving])
            found = gradients(self._tensors(self.body.outputs), xs, [bar], nodes)
            there = [(k, g) for k, g in zip(self.moving, found, strict=True) if g is not None]
            shapes.extend((k, g.shape) for k, g in there)
            parts = [np.reshape(g, -1) for _, g in there]
            if not parts:
                return None
            if len(there) == 1:
                return there[0][1] if there[0][1].size == 1 else parts[0]
            return np.concatenate(parts)

        whole = self._integral(integrand, "_gradient")
        start = 0
        for k, shape in shapes:
            size = int(np.prod(shape))
            part = whole
            if whole.ndim and len(shapes) > 1:
                part = whole[start : start + size] if shape else whole[start]
            answers[k] = np.reshape(part, shape) if part.shape != shape else part
            start += size
        return answers

    def pushed_forward(self, dots: Sequence[Any], tangents: Derive) -> list[Any]:
        """The tangent of the integral for those of the operands."""
        moving = [k for k in self.moving if dots[k] is not None]
        terms = []

        def integrand(nodes: Sequence[Node]) -> Any:
            xs = self._tensors([self.body.inputs[k] for k in moving])
            return tangents(self._tensors(self.body.outputs), xs, [dots[k] for k in moving], nodes)[
                0
            ]

        if moving:
            terms.append(self._integral(integrand, "_tangent"))
        for k in self.ends:
            dot = dots[self.first + k]
            if dot is not None:
                terms.append((1.0 if k else -1.0) * (self._integrand_at(k) * dot))
        terms = [term for term in terms if term is not None]
        return [sum(terms[1:], terms[0]) if terms else None, None]

    def _integral(self, integrand: Callable[[Sequence[Node]], Any], suffix: str) -> Any:
        """The integral of what is derived from the integrand; None if that is zero."""
        recording, body = self.recording, self.body
        start = len(recording.graph.nodes)
        derived = integrand(body.nodes)
        made = take_out(recording, start)
        if derived is None:
            return None
        output = recording.lift(derived)
        nodes = [*body.nodes, *made]
        known = dict(zip(body.inputs[: self.first], self.operands, strict=False))
        function = Function(recording, body.name + suffix, {"x": NUMBER})
        known[body.inputs[-1]] = function.inputs[0]
        (value,) = function.record(lambda: inlined(recording, nodes, [output], known))
        options = {name: self.node.params[name] for name in OPTIONS}
        op = QUAD_VEC if value.shape else QUAD
        bodies = {"integrand": function.body([value])}
        return emit_routine(recording, op, bodies, self.limits, **options)[0]

    def _integrand_at(self, end: int) -> Any:
        """The integrand at a limit."""
        known = dict(
            zip(self.body.inputs, [*self.operands[: self.first], self.limits[end]], strict=True)
        )
        return inlined(self.recording, self.body.nodes, self.body.outputs, known)[0]

    def _tensors(self, values: Sequence[Value]) -> list[Tensor]:
        return [Tensor(value, self.recording) for value in values]


def _spelled(given: Sequence[ArrayType], **params: Any) -> str:
    options = keywords(**{name: params[name] for name in OPTIONS})
    return f"scipy.integrate.quad({{integrand}}, {{0}}, {{1}}{options})"


def _spelled_vec(given: Sequence[ArrayType], **params: Any) -> str:
    options = {name: params[name] for name in OPTIONS}
    for name in ("epsabs", "epsrel"):
        if options[name] is None:
            options[name] = BY_DEFAULT
    return f"scipy.integrate.quad_vec({{integrand}}, {{0}}, {{1}}{keywords(**options)})"


def _spelled_nested(given: Sequence[ArrayType], count: int, **params: Any) -> str:
    places = iter([f"{{{number}}}" for number in range(2, len(given))])
    ranges = [
        f"{{range_{k}}}" if f"range_{k}" in params else f"({next(places)}, {next(places)})"
        for k in range(count - 1)
    ]
    tolerances = keywords(epsabs=params["epsabs"], epsrel=params["epsrel"])
    options = f", opts=dict({tolerances.removeprefix(', ')})" if tolerances else ""
    return f"scipy.integrate.nquad({{function}}, [{', '.join([*ranges, '({0}, {1})'])}]{options})"


BY_DEFAULT = 1.49e-8
"""The tolerances of `quad`."""
QUAD = define(
    "integral",
    infer=lambda *types, **params: (NUMBER, NUMBER),
    spelling=_spelled,
    derivative=IntegralDerivative,
)
NESTED = define(
    "nested_integral",
    infer=lambda *types, **params: (NUMBER, NUMBER),
    spelling=_spelled_nested,
    derivative=IntegralDerivative,
)
QUAD_VEC = define(
    "integral_of_array",
    infer=lambda *types, integrand, **params: (integrand.output_types[0], NUMBER),
    spelling=_spelled_vec,
    derivative=IntegralDerivative,
)


def _integrand(recording: Recording, user: Any, *args: Any) -> tuple[Function, dict[str, Body]]:
    """The integrand as a function of a Python float."""
    function = Function(recording, role(user, "integrand"), {"x": NUMBER})
    (value,) = function.record(lambda: [floats(function.call(user, *args))])
    if value.size != 1:
        raise ValueError(f"the integrand returns {value.size} numbers, not one")
    if value.ndim:
        (value,) = function.record(lambda: [np.reshape(value, ())])
    return function, {"integrand": function.body([value])}


@twin(si.quad)
def _quad(call: Call) -> Any:
    call.known("func", "a", "b", "args", *OPTIONS)
    function, bodies = _integrand(call.recording, call["func"], *call.further)
    limits = [number(call["a"]), number(call["b"])]
    return tuple(call_routine(function, QUAD, bodies, limits, **call.options(*OPTIONS)))


@twin(si.dblquad)
def _dblquad(call: Call) -> Any:
    call.known("func", "a", "b", "gfun", "hfun", "args", "epsabs", "epsrel")
    inner = (call["gfun"], call["hfun"])
    return _nested(call, [inner, (call["a"], call["b"])])


@twin(si.tplquad)
def _tplquad(call: Call) -> Any:
    call.known("func", "a", "b", "gfun", "hfun", "qfun", "rfun", "args", "epsabs", "epsrel")
    ranges = [
        (call["qfun"], call["rfun"]),
        (call["gfun"], call["hfun"]),
        (call["a"], call["b"]),
    ]
    return _nested(call, ranges)


@twin(si.nquad)
def _nquad(call: Call) -> Any:
    call.known("func", "ranges", "args")
    return _nested(call, list(call["ranges"]))


def _nested(call: Call, ranges: Sequence[Any]) -> Any:
    """An integral over several variables, the first innermost, and the largest estimate of an
    error. A range is a pair, or a function of the variables further out; so may each of its limits
    be. The derivative takes it for an integral of integrals."""
    recording, further, user = call.recording, call.further, call["func"]
    is_nquad = call.name.endswith("nquad")
    tolerances = [name for name in ("epsabs", "epsrel") if name in call.arguments]
    options = {**dict.fromkeys(OPTIONS), **call.options(*tolerances)}

    def limits(level: int, outer: tuple[Any, ...]) -> list[Any]:
        extent = ranges[level]
        if callable(extent):
            extent = extent(*outer, *further)
        seen = (*outer, *further) if is_nquad else outer[::-1]
        return [number(one(*seen) if callable(one) else one) for one in extent]

    def integrand_of(level: int, outer: tuple[Any, ...]) -> tuple[Function, dict[str, Body]]:
        def integrand(x: Any) -> Any:
            if level == 0:
                return user(x, *outer, *further)
            _, inner = integrand_of(level - 1, (x, *outer))
            ends = limits(level - 1, (x, *outer))
            return emit_routine(recording, QUAD, inner, ends, **options)[0]

        integrand.__name__ = role(user, "integrand") if level == 0 else f"inner_{level}"
        return _integrand(recording, integrand)

    def body(name: str, first: int, compute: Callable[..., Sequence[Any]]) -> Body:
        variables = [f"x{k}" for k in range(first, len(ranges))]
        function = Function(recording, name, dict.fromkeys(variables, NUMBER))
        return function.body(function.record(lambda: compute(function)))

    last = len(ranges) - 1
    function, bodies = integrand_of(last, ())
    bodies["function"] = body(role(user, "integrand"), 0, lambda own: [own.call(user, *further)])
    given = limits(last, ())
    for k, extent in enumerate(ranges[:-1]):
        if callable(extent) or any(map(callable, extent)):
            bodies[f"range_{k}"] = body(
                f"range_{k}", k + 1, lambda own, k=k: limits(k, tuple(own.inputs))
            )
        else:
            given += limits(k, ())
    return tuple(call_routine(function, NESTED, bodies, given, count=len(ranges), **options))


@twin(si.fixed_quad)
def _fixed_quad(call: Call) -> Any:
    a, b = call["a"], call["b"]
    places, weights = roots_legendre(call["n"])
    y = (b - a) * (np.real(places) + 1) / 2.0 + a
    return (b - a) / 2.0 * np.sum(weights * call["func"](y, *call.further), axis=-1), None
