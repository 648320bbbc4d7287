"""Initial value problems of scipy.integrate: `solve_ivp` and `odeint`.

The derivatives of the states are states themselves (forward sensitivity): along each direction the
sensitivity s of the state y satisfies

    s' = (d rate / d y) s + (d rate / d parameters) direction

and is integrated beside y, by the same method to the same tolerances. That is another initial value
problem, so derivatives of every order are right. A gradient takes all directions at once; its rate
is one batched pass over them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate as si
from scipy.integrate._ivp.ivp import OdeResult

from tracejit.autodiff.batch.batch import Batch
from tracejit.autodiff.request.request import tangents_of
from tracejit.autodiff.reverse.loops import Derive
from tracejit.ir.graph import Node
from tracejit.ir.location import NOWHERE
from tracejit.ir.subgraph import Subgraph
from tracejit.ir.types import ArrayType
from tracejit.ops.control.routines import keywords
from tracejit.solvers.batching import define
from tracejit.solvers.calls import Call, twin
from tracejit.solvers.functions import (
    FLOAT,
    Body,
    Function,
    call_routine,
    emit_routine,
    floats,
    inlined,
    jacobian,
    role,
    vector,
)
from tracejit.solvers.roots import number
from tracejit.support.errors import fail
from tracejit.trace.recording.record import Recording
from tracejit.trace.source import places
from tracejit.trace.tensor.tensor import Tensor

SCALAR = ArrayType((), FLOAT, "scalar")
IVP_OPTIONS = ("rtol", "atol", "first_step", "max_step", "min_step")
ODEINT_OPTIONS = ("rtol", "atol", "h0", "hmax", "hmin", "mxstep", "mxordn", "mxords")
IMPLICIT = ("Radau", "BDF", "LSODA")
"""The methods that take the Jacobian of the rate."""


class InitialValueDerivative:
    """The derivative of the states that an initial value problem leads to."""

    def __init__(
        self, recording: Recording, node: Node, operands: Sequence[Tensor], wanted: Sequence[bool]
    ) -> None:
        """The operands that are `wanted` move."""
        self.recording = recording
        self.op = node.op
        self.params = node.params
        self.rate: Subgraph = node.params["rate"]
        self.first = node.params["invariants"]
        self.operands = operands
        self.states: Any = Tensor(node.results[0], recording)
        places = PLACES[node.op.name]
        self.place_of = {name: self.first + k for k, name in enumerate(places)}
        self.moving = [k for k in range(self.first) if wanted[k] and operands[k].type.is_inexact]
        self.moves = {name: wanted[place] for name, place in self.place_of.items()}
        self.start = self._given("y0")
        self.size = int(self.start.shape[0])

    def pulled_back(self, cotangents: Sequence[Any], gradients: Derive) -> list[Any]:
        """The cotangent of each operand for those of the states."""
        answers: list[Any] = [None] * len(self.operands)
        bar = cotangents[0]
        if bar is None:
            return answers
        rows: list[Any] = []
        directions: list[tuple[int, tuple[int, ...]]] = []
        if self.moves["y0"]:
            rows.append(np.eye(self.size))
            directions.append((self.place_of["y0"], self.start.shape))
        if self._moves_start:
            rows.append(np.reshape(-self._rate_at_start(), (1, self.size)))
            directions.append((self.place_of["t0" if "t0" in self.place_of else "times"], ()))
        first = sum(len(row) for row in rows)
        for k in self.moving:
            shape = self.operands[k].shape
            rows.append(np.zeros((int(np.prod(shape)), self.size)))
            directions.append((k, shape))
        if rows:
            starts = rows[0] if len(rows) == 1 else np.concatenate(rows)
            found = self._contracted(self._along_all(starts, first), bar)
            place = 0
            for k, shape in directions:
                size = int(np.prod(shape))
                part = found[place : place + size]
                answers[k] = np.reshape(part, shape) if shape else found[place]
                place += size
        if self.moves.get("t1"):
            answers[self.place_of["t1"]] = np.sum(bar * self._rate_at_end())
        if self.moves.get("times"):
            self._add_times(answers, bar)
        return answers

    def pushed_forward(self, dots: Sequence[Any], tangents: Derive) -> list[Any]:
        """The tangents of the states for those of the operands."""
        start = dots[self.place_of["y0"]]
        start = np.zeros(self.size) if start is None else start
        first = dots[self.place_of["t0"]] if "t0" in self.place_of else None
        times = dots[self.place_of["times"]] if "times" in self.place_of else None
        if "t0" not in self.place_of and times is not None:
            first = times[0]
        if first is not None:
            start = start - first * self._rate_at_start()
        found = self._along_one(start, dots)
        last = dots[self.place_of["t1"]] if "t1" in self.place_of else None
        if last is not None:
            found = found + last * self._rate_at_end()
        if times is not None:
            rates = self._rates_at_times()
            found = found + (times[:, None] * rates if self._is_by_rows else times * rates)
        return [found]

    # Sensitivities

    def _along_one(self, start: Any, dots: Sequence[Any]) -> Any:
        """The sensitivity of the states along one direction."""
        moving = [k for k in self.moving if dots[k] is not None]

        def rates(s: Any, y: Any, r: Any, nodes: Sequence[Node]) -> Any:
            xs = [y, *[self.operands[k] for k in moving]]
            return tangents_of([r], xs, [s, *[dots[k] for k in moving]], nodes)[0]

        return self._sensitivities(start, rates, "_tangent")

    def _along_all(self, starts: Any, first: int) -> Any:
        """The sensitivities along every direction: those of the initial state are the `first`, and
        those of the elements of the parameters follow."""
        count = int(starts.shape[0])

        def rates(s: Any, y: Any, r: Any, nodes: Sequence[Node]) -> Any:
            batch = Batch(self.recording, count)
            units = [np.zeros((count, *self.operands[k].shape)) for k in self.moving]
            place = first
            for unit in units:
                size = int(np.prod(unit.shape[1:]))
                unit.reshape(count, size)[place : place + size] = np.eye(size)
                place += size
            lifted = [Tensor(self.recording.lift(unit), self.recording) for unit in units]
            with batch.recorded():
                xs = [y, *[self.operands[k] for k in self.moving]]
                dots = [batch.placeholder(s), *[batch.placeholder(unit) for unit in lifted]]
                (dot,) = tangents_of([r], xs, dots, nodes)
            return batch.everywhere(dot)

        return self._sensitivities(starts, rates, "_sensitivities")

    def _sensitivities(self, starts: Any, rates: Callable[..., Any], suffix: str) -> Any:
        """The sensitivities that start there, as arrays of their shape for each of the states."""
        recording, size = self.recording, self.size
        shape = starts.shape
        count = int(np.prod(shape)) // max(size, 1)
        names = self._ordered(SCALAR, ArrayType((size * (1 + count),), FLOAT), ("t", "z"))
        function = Function(recording, self.rate.name + suffix, names)
        t, z = self._ordered_back(function.inputs)

        def rate() -> list[Any]:
            with recording.at(NOWHERE):
                y, s = z[:size], np.reshape(z[size:], shape)
                start = len(recording.graph.nodes)
                r = self._rate(t, y)
                nodes = recording.graph.nodes[start:]
                moved = np.reshape(rates(s, y, r, nodes), -1)
                outputs = [np.concatenate((r, moved))]
                if "jacobian" in self.params:
                    block = jacobian(r, y, nodes)
                    whole = np.eye(1 + count)[:, None, :, None] * block[None, :, None, :]
                    outputs.append(np.reshape(whole, (size * (1 + count), size * (1 + count))))
                return outputs

        outputs = function.record(rate)
        bodies = {"rate": function.body(outputs[:1])}
        if "jacobian" in self.params:
            bodies["jacobian"] = function.body(outputs[1:], "_jacobian")
        given = list(self.operands[self.first :])
        initial = np.concatenate((self.start, np.reshape(starts, -1)))
        given[self.place_of["y0"] - self.first] = initial
        bodies_of_node = ("rate", "jacobian")
        options = {
            name: value
            for name, value in self.params.items()
            if name not in bodies_of_node and name != "invariants"
        }
        atol = options.get("atol")
        if isinstance(atol, tuple):
            options["atol"] = atol * (1 + count)
        (found,) = emit_routine(recording, self.op, bodies, given, **options)
        if self.op is ODEINT:
            return np.reshape(found[:, size:], (-1, *shape))
        if self.op is STATES:
            return np.reshape(found[size:], (*shape, -1))
        return np.reshape(found[size:], shape)

    def _contracted(self, sensitivities: Any, bar: Any) -> Any:
        """The cotangent of each direction."""
        if self.op is ODEINT:
            return np.einsum("kmn,kn->m", sensitivities, bar)
        if self.op is STATES:
            return np.einsum("mnk,nk->m", sensitivities, bar)
        return sensitivities @ bar

    # Times

    @property
    def _is_by_rows(self) -> bool:
        return self.op is ODEINT

    @property
    def _moves_start(self) -> bool:
        return bool(self.moves.get("t0") or (self._is_by_rows and self.moves["times"]))

    def _add_times(self, answers: list[Any], bar: Any) -> None:
        """Add the cotangents of the times of the states."""
        place = self.place_of["times"]
        found = np.sum(bar * self._rates_at_times(), axis=1 if self._is_by_rows else 0)
        before = answers[place]
        if before is not None:  # of the first, where the problem begins
            found = found + np.concatenate((np.reshape(before, (1,)), np.zeros(found.shape[0] - 1)))
        answers[place] = found

    def _rate_at_start(self) -> Any:
        is_timed = "t0" in self.place_of
        return self._rate(self._given("t0") if is_timed else self._given("times")[0], self.start)

    def _rate_at_end(self) -> Any:
        return self._rate(self._given("t1"), self.states)

    def _rates_at_times(self) -> Any:
        """The rate at each of the states, in the shape of these."""
        times = self._given("times")
        rows = self.states if self._is_by_rows else np.transpose(self.states)
        batch = Batch(self.recording, int(times.shape[0]))
        with batch.recorded():
            found = self._rate(batch.placeholder(times), batch.placeholder(rows))
        whole = batch.everywhere(found)
        return whole if self._is_by_rows else np.transpose(whole)

    # The rate

    def _rate(self, t: Any, y: Any) -> Any:
        """The rate at a time and a state."""
        body = self.rate
        known = [*self.operands[: self.first], *self._ordered(t, y).values()]
        pairs = dict(zip(body.inputs, known, strict=True))
        return inlined(self.recording, body.nodes, body.outputs, pairs)[0]

    def _ordered(self, t: Any, y: Any, names: tuple[str, str] = ("t", "y")) -> dict[str, Any]:
        """Time and state by name, in the order in which the rate takes them."""
        pair = {names[0]: t, names[1]: y}
        return pair if self.params["order"] == "ty" else dict(reversed(pair.items()))

    def _ordered_back(self, pair: Sequence[Any]) -> tuple[Any, Any]:
        first, second = pair
        return (first, second) if self.params["order"] == "ty" else (second, first)

    def _given(self, name: str) -> Any:
        return self.operands[self.place_of[name]]


def _spelled_ivp(given: Sequence[ArrayType], **params: Any) -> str:
    at = ", t_eval={3}" if len(given) == 4 else ""
    jac = ", jac={jacobian}" if "jacobian" in params else ""
    options = keywords(method=params["method"], **{name: params[name] for name in IVP_OPTIONS})
    call = f"scipy.integrate.solve_ivp({{rate}}, ({{0}}, {{1}}), {{2}}{at}{jac}{options})"
    return f"helpers.integrated({call})" + ("" if at else "[:, -1]")


def _spelled_odeint(given: Sequence[ArrayType], **params: Any) -> str:
    first = ", tfirst=True" if params["order"] == "ty" else ""
    options = keywords(**{name: params[name] for name in ODEINT_OPTIONS})
    call = f"scipy.integrate.odeint({{rate}}, {{0}}, {{1}}{first}{options}, full_output=True)"
    return f"helpers.successful(*{call})"


PLACES = {
    "final_state": ("t0", "t1", "y0"),
    "states": ("t0", "t1", "y0", "times"),
    "states_by_rows": ("y0", "times"),
}
"""The names of what the routines are given."""
FINAL = define(
    "final_state",
    infer=lambda *types, invariants, **params: types[invariants + 2],
    spelling=_spelled_ivp,
    derivative=InitialValueDerivative,
)
STATES = define(
    "states",
    infer=lambda *types, invariants, **params: ArrayType(
        (types[invariants + 2].shape[0], types[invariants + 3].shape[0]), FLOAT
    ),
    spelling=_spelled_ivp,
    derivative=InitialValueDerivative,
)
ODEINT = define(
    "states_by_rows",
    infer=lambda *types, invariants, **params: ArrayType(
        (types[invariants + 1].shape[0], types[invariants].shape[0]), FLOAT
    ),
    spelling=_spelled_odeint,
    derivative=InitialValueDerivative,
)


def _bodies(call: Call, user: Any, order: str, size: int, has_jacobian: bool) -> dict[str, Body]:
    """The rate as a function of time and state, and its Jacobian by the state."""
    parameters = {"t": SCALAR, "y": ArrayType((size,), FLOAT)}
    if order == "yt":
        parameters = dict(reversed(parameters.items()))
    function = Function(call.recording, role(user, "rate"), parameters)

    def rate() -> list[Any]:
        found = vector(function.call(user, *call.further))
        if found.shape != (size,):
            problem = f"the rate has {found.shape[0]} numbers for a state of {size}"
            call.refuse(problem, "return one rate for each number of the state.")
        return [found]

    (r,) = function.record(rate)
    bodies = {"rate": function.body([r])}
    if has_jacobian:
        y = function.inputs["ty".index("y") if order == "ty" else 0]
        (matrix,) = function.record(lambda: [jacobian(r, y, function.nodes)])
        bodies["jacobian"] = function.body([matrix], "_jacobian")
    return bodies


@twin(si.solve_ivp)
def _solve_ivp(call: Call) -> Any:
    given = {**call.arguments, **call.arguments.get("options", {})}
    call.known("fun", "t_span", "y0", "method", "t_eval", "dense_output", "args", "options")
    unknown = set(call.arguments.get("options", {})) - {*IVP_OPTIONS, "jac"}
    if unknown:
        call.refuse(f"{sorted(unknown)[0]}= is not recorded")
    begin, end = (number(one) for one in given["t_span"])
    start = vector(given["y0"])
    method = given["method"]
    if not isinstance(method, str):
        call.refuse("method= is a class", "give the method by its name.")
    method = next((one for one in IMPLICIT if one.lower() == method.lower()), method.upper())
    bodies = _bodies(call, given["fun"], "ty", start.shape[0], method in IMPLICIT)
    options = {name: call.literal(name, given.get(name)) for name in IVP_OPTIONS}
    params = {"order": "ty", "method": method, **options}

    def states(times: Any = None) -> Any:
        at = [] if times is None else [times]
        op = FINAL if times is None else STATES
        return call_routine(call.recording, op, bodies, [begin, end, start, *at], **params)[0]

    result = OdeResult(success=True, status=0)
    if given["t_eval"] is not None:
        times = vector(given["t_eval"])
        result.t, result.y = times, states(times)
    else:
        last = states()
        result.t = Steps("sol.t", begin, end)
        result.y = Steps("sol.y", start, last)
    result.sol = (lambda t: _dense(states, t)) if given["dense_output"] else None
    return result


def _dense(states: Callable[[Any], Any], t: Any) -> Any:
    times = floats(t)
    return states(times) if times.ndim else states(np.reshape(times, (1,)))[:, 0]


class Steps:
    """What `solve_ivp` returns at its own steps, whose number depends on data: the first and the
    last are known."""

    def __init__(self, name: str, first: Any, last: Any, is_turned: bool = False) -> None:
        """The `name` is for errors; where it `is_turned`, the steps are along the first axis."""
        self.name, self.first, self.last, self.is_turned = name, first, last, is_turned

    @property
    def T(self) -> Steps:
        """The same with the steps along the first axis."""
        return Steps(f"{self.name}.T", self.first, self.last, not self.is_turned)

    def __getitem__(self, index: Any) -> Any:
        index = index if isinstance(index, tuple) else (index,)
        is_vector = bool(np.ndim(self.first))
        whole = index if is_vector else (slice(None), *index)
        step = whole[0] if self.is_turned and is_vector else whole[-1]
        rest = whole[1:] if self.is_turned else whole[:-1]
        if len(whole) <= 2 and (len(whole) == 2 or self.is_turned) and step in (0, -1):
            found = self.last if step else self.first
            return found[rest] if is_vector and rest not in ((), (slice(None),)) else found
        raise self._refused()

    def _refused(self) -> Exception:
        problem = f"{self.name} has as many columns as the solver makes steps, which depends on data"
        fix = "give t_eval=, or read the last one: sol.y[:, -1]."
        words = {"function": "scipy.integrate.solve_ivp", "problem": problem, "fix": fix}
        return fail("unsupported-call", places.here(), **words)

    def __getattr__(self, name: str) -> Any:
        raise self._refused()

    def __len__(self) -> int:
        raise self._refused()

    def __iter__(self) -> Any:
        raise self._refused()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise self._refused()


@twin(si.odeint)
def _odeint(call: Call) -> Any:
    call.known("func", "y0", "t", "args", "Dfun", "tfirst", *ODEINT_OPTIONS)
    start, times = vector(call["y0"]), vector(call["t"])
    order = "ty" if call["tfirst"] else "yt"
    bodies = _bodies(call, call["func"], order, start.shape[0], False)
    options = call.options(*ODEINT_OPTIONS)
    return call_routine(call.recording, ODEINT, bodies, [start, times], order=order, **options)[0]
