"""Initial value problems of scipy.integrate: `solve_ivp` and `odeint`.

Forward mode integrates sensitivities: along a direction, the sensitivity s of the state y satisfies

    s' = (d rate / d y) s + (d rate / d parameters) direction

and is integrated beside y, by the same method to the same tolerances.

Reverse mode goes through the steps of the solver backwards. The cotangent a satisfies the adjoint
equation a' = -(d rate / d y)^T a, and the gradient of the parameters is the integral of
(d rate / d parameters)^T a. The equation is linear, so each step is one of Radau's collocation
method, and many are solved at once. For a large state, the steps of an explicit method are
differentiated as they were made; after a stiff one, each step of Radau's method is solved by
iteration, with factors of the size of the Jacobian. `odeint` has no dense output: it is asked for
the states at the nodes between two times as well, which costs no step. Where it made more than four
steps there, it solves again, for the nodes of every fourth step.

The derivative of an adjoint is that of the same product with all sensitivities, which is another
initial value problem: so derivatives of every order are right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache, partial
from typing import Any

import numpy as np

from tracejit.autodiff.batch.batch import Batch
from tracejit.autodiff.request.request import cotangents_of, tangents_of
from tracejit.autodiff.reverse.loops import Derive
from tracejit.ir.graph import Node
from tracejit.ir.location import NOWHERE
from tracejit.ir.subgraph import Subgraph
from tracejit.ir.types import HANDLE, ArrayType
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.op import OPS
from tracejit.ops.control.routines import Routine, keywords
from tracejit.solvers.batching import define, looped, one_by_one, without_handle
from tracejit.solvers.functions import (
    FLOAT,
    SCALAR,
    Body,
    Function,
    emit_routine,
    inlined,
    jacobian,
)
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor

IVP_OPTIONS = ("rtol", "atol", "first_step", "max_step", "min_step")
ODEINT_OPTIONS = ("rtol", "atol", "h0", "hmax", "hmin", "mxstep", "mxordn", "mxords")
IMPLICIT = ("Radau", "BDF", "LSODA")
"""The methods that take the Jacobian of the rate."""
STAGES = {"RK23": 3, "RK45": 4, "DOP853": 5, "Radau": 3, "BDF": 3, "LSODA": 4, "odeint": 4}
"""The stages of Radau's method for the adjoint of each method: its order is 2 stages - 1. The steps
of an explicit method are long for another of its order: so the adjoint has a higher one."""
MOST_COLLOCATED = 32
"""The largest state whose adjoint is solved in matrices, for many steps at once."""
MOST_NUMBERS = 1_000_000
"""The most numbers in the matrices that are solved at once."""


class Problem:
    """An initial value problem at the values that a node has: its rate, and its sensitivities."""

    def __init__(self, recording: Recording, node: Node, operands: Sequence[Any]) -> None:
        """The problem of a node of `solve_ivp` or `odeint`, or of an adjoint of one."""
        self.recording = recording
        self.operands = operands
        self.params = node.params
        self.body: Subgraph = node.params["rate"]
        self.invariants = node.params["invariants"]
        self.places = node.op.given
        self.op: Routine = node.op.base or node.op
        self.start: Any = self.given("y0")
        self.size = int(self.start.shape[0])

    def place(self, name: str) -> int:
        """The number of the operand that is given by this name."""
        number: int = self.invariants + self.places.index(name)
        return number

    def given(self, name: str) -> Any:
        """The operand of this name; None if there is none."""
        return self.operands[self.place(name)] if name in self.places else None

    @property
    def begin(self) -> Any:
        """The time of the initial state."""
        return self.given("times")[0] if self.op is ODEINT else self.given("t0")

    def moved(self, sources: Mapping[int, Any]) -> Problem:
        """The same problem with other operands of these numbers."""
        made = copy(self)
        made.operands = [sources.get(k, x) for k, x in enumerate(self.operands)]
        return made

    def rate(self, t: Any, y: Any) -> Any:
        """The rate at a time and a state."""
        pair = (t, y) if self.params["order"] == "ty" else (y, t)
        known = dict(zip(self.body.inputs, [*self.operands[: self.invariants], *pair], strict=True))
        return inlined(self.recording, self.body.nodes, self.body.outputs, known)[0]

    def rates_at(self, times: Any, states: Any) -> Any:
        """The rate at each of several states, which are rows."""
        batch = Batch(self.recording, int(times.shape[0]))
        with batch.recorded():
            found = self.rate(batch.placeholder(times), batch.placeholder(states))
        return batch.everywhere(found)

    def along(self, start: Any, moving: Sequence[int], dots: Sequence[Any]) -> Any:
        """The sensitivity along one direction: from `start`, the operands `moving` along `dots`."""

        def rates(s: Any, y: Any, r: Any, nodes: Sequence[Node]) -> Any:
            xs = [y, *[self.operands[k] for k in moving]]
            return tangents_of([r], xs, [s, *dots], nodes)[0]

        return self._sensitivities(start, rates, "_tangent")

    def product(self, moving: Sequence[int], bar: Any) -> Any:
        """The cotangents of the initial state and of the elements of the operands `moving`, for
        that of the states."""
        sizes = [int(np.prod(self.operands[k].shape)) for k in moving]
        count = self.size + sum(sizes)

        def rates(s: Any, y: Any, r: Any, nodes: Sequence[Node]) -> Any:
            batch = Batch(self.recording, count)
            units, place = [], self.size
            for k, size in zip(moving, sizes, strict=True):
                unit = np.zeros((count, size))
                unit[place : place + size] = np.eye(size)
                unit = unit.reshape(count, *self.operands[k].shape)
                units.append(Tensor(self.recording.lift(unit), self.recording))
                place += size
            with batch.recorded():
                xs = [y, *[self.operands[k] for k in moving]]
                dots = [batch.placeholder(s), *map(batch.placeholder, units)]
                (dot,) = tangents_of([r], xs, dots, nodes)
            return batch.everywhere(dot)

        starts = np.eye(count, self.size)
        found = self._sensitivities(starts, rates, "_sensitivities")
        if self.op is ODEINT:
            return np.einsum("kmn,kn->m", found, bar)
        return np.einsum("mnk,nk->m", found, bar) if self.op is STATES else found @ bar

    def _sensitivities(self, starts: Any, rates: Callable[..., Any], suffix: str) -> Any:
        """The sensitivities that start there, in the shape of `starts` for each of the states."""
        recording, size, shape = self.recording, self.size, starts.shape
        count = int(np.prod(shape)) // max(size, 1)
        whole = size * (1 + count)
        is_timed_first = self.params["order"] == "ty"
        kinds = {"t": SCALAR, "z": ArrayType((whole,), FLOAT)}
        kinds = kinds if is_timed_first else dict(reversed(kinds.items()))
        function = Function(recording, self.body.name + suffix, kinds)

        def rate() -> list[Any]:
            with recording.at(NOWHERE):
                t, z = function.inputs if is_timed_first else reversed(function.inputs)
                y, s = z[:size], np.reshape(z[size:], shape)
                first = len(recording.graph.nodes)
                r = self.rate(t, y)
                nodes = recording.graph.nodes[first:]
                moved = np.reshape(rates(s, y, r, nodes), -1)
                outputs = [np.concatenate((r, moved))]
                if "jacobian" in self.params:
                    block = jacobian(r, y, nodes)
                    blocks = np.eye(1 + count)[:, None, :, None] * block[None, :, None, :]
                    outputs.append(np.reshape(blocks, (whole, whole)))
                return outputs

        outputs = function.record(rate)
        names = ("rate", "jacobian")[: len(outputs)]
        bodies = {
            name: function.body([output], "" if name == "rate" else "_jacobian")
            for name, output in zip(names, outputs, strict=True)
        }
        given = [*self.operands[self.invariants : self.invariants + len(self.op.given)]]
        initial = np.concatenate((self.start, np.reshape(starts, -1)))
        given[self.op.given.index("y0")] = initial
        given = within_times(self.op, given, self.params)
        options = {name: self.params[name] for name in self.op.options}
        if isinstance(options["atol"], tuple):
            options["atol"] = options["atol"] * (1 + count)
        found = emit_routine(recording, self.op, bodies, given, **options)[0]
        if self.op is ODEINT:
            return np.reshape(found[:, size:], (-1, *shape))
        return np.reshape(found[size:], (*shape, -1) if self.op is STATES else shape)


class InitialValueDerivative:
    """The derivative of the states that an initial value problem leads to."""

    def __init__(
        self, recording: Recording, node: Node, operands: Sequence[Any], wanted: Sequence[bool]
    ) -> None:
        """The operands that are `wanted` move."""
        self.recording = recording
        self.problem = problem = Problem(recording, node, operands)
        self.node = node
        self.operands = operands
        self.states: Any = Tensor(node.results[0], recording)
        self.wanted = wanted
        read = {x for one in problem.body.nodes for x in one.operands} | {*problem.body.outputs}
        # Others are of the Jacobian alone: the states do not depend on them.
        self.moving = [
            k
            for k, x in enumerate(problem.body.inputs[: problem.invariants])
            if wanted[k] and operands[k].type.is_inexact and x in read
        ]

    def pulled_back(self, cotangents: Sequence[Any], gradients: Derive) -> list[Any]:
        """The cotangent of each operand for that of the states."""
        problem = self.problem
        answers: list[Any] = [None] * len(self.operands)
        bar = cotangents[0]
        if bar is None:
            return answers
        is_moved = self.moving or self._moves("y0") or self._moves_begin()
        found: Any = self._adjoint(bar) if is_moved else None
        if self._moves("y0"):
            answers[problem.place("y0")] = found[: problem.size]
        place = problem.size
        for k in self.moving:
            shape = self.operands[k].shape
            size = int(np.prod(shape))
            part = found[place : place + size] if shape else found[place]
            answers[k] = np.reshape(part, shape) if len(shape) > 1 else part
            place += size
        begin: Any = None
        if self._moves_begin():
            begin = -np.sum(found[: problem.size] * problem.rate(problem.begin, problem.start))
        if self._moves("t0"):
            answers[problem.place("t0")] = begin
        if self._moves("t1"):
            rate = problem.rate(problem.given("t1"), self.states)
            answers[problem.place("t1")] = np.sum(bar * rate)
        if self._moves("times"):
            times = np.sum(bar * self._rates(), axis=1 if problem.op is ODEINT else 0)
            if problem.op is ODEINT:  # whose first is the time of the initial state
                rest = np.zeros(int(times.shape[0]) - 1)
                times = times + np.concatenate((np.reshape(begin, (1,)), rest))
            answers[problem.place("times")] = times
        return answers

    def pushed_forward(self, dots: Sequence[Any], tangents: Derive) -> list[Any]:
        """The tangent of the states for those of the operands."""
        problem = self.problem

        def dot_of(name: str) -> Any:
            return dots[problem.place(name)] if name in problem.places else None

        start, times = dot_of("y0"), dot_of("times")
        last = None if "times" in problem.places else dot_of("t1")
        begin = dot_of("t0") if problem.op is not ODEINT or times is None else times[0]
        start = np.zeros(problem.size) if start is None else start
        if begin is not None:
            start = start - begin * problem.rate(problem.begin, problem.start)
        moving = [k for k in self.moving if dots[k] is not None]
        found = problem.along(start, moving, [dots[k] for k in moving])
        if last is not None:
            found = found + last * problem.rate(problem.given("t1"), self.states)
        if times is not None:
            found = found + (times[:, None] if problem.op is ODEINT else times) * self._rates()
        return [found, *[None] * (len(self.node.results) - 1)]

    def _moves(self, name: str) -> bool:
        problem = self.problem
        if name == "t1" and "times" in problem.places:  # the states at times do not depend on it
            return False
        return name in problem.places and self.wanted[problem.place(name)]

    def _moves_begin(self) -> bool:
        return self._moves("times" if self.problem.op is ODEINT else "t0")

    def _rates(self) -> Any:
        """The rate at each of the states, in their shape."""
        times = self.problem.given("times")
        if self.problem.op is ODEINT:
            return self.problem.rates_at(times, self.states)
        return np.transpose(self.problem.rates_at(times, np.transpose(self.states)))

    def _adjoint(self, bar: Any) -> Any:
        """The cotangents of the initial state and of what moves of the parameters."""
        problem, recording = self.problem, self.recording
        method = self.node.params.get("method", "odeint")
        if problem.op is ODEINT and len(bar) == 1:
            return problem.product(self.moving, bar)
        given: list[Any] = [
            *self.operands[problem.invariants :],
            Tensor(self.node.results[1], recording),
            bar,
        ]
        bodies = {
            name: self._here(body)
            for name in ("rate", "jacobian")
            if (body := self.node.params.get(name)) is not None
        }
        if problem.size <= MOST_COLLOCATED:
            bodies |= self._collocated(method)
        else:
            bodies |= self._one_by_one(method)
        if is_dense(problem.size, method):
            given += radau(STAGES[method])
        options = {name: self.node.params[name] for name in problem.op.options}
        first = [self.operands[k] for k in self.moving]
        options["parameters"] = len(first)
        options |= {name: self.node.params[name] for name in ("signs",) if name in self.node.params}
        options["size"] = problem.size + sum(int(np.prod(x.shape)) for x in first)
        op = OPS[f"adjoint_of_{problem.op.name}"]
        assert isinstance(op, Routine)
        return emit_routine(recording, op, bodies, given, first, **options)[0]

    def _one_by_one(self, method: str) -> dict[str, Body]:
        """The functions of one time and state: the cotangents of the state and of what moves of the
        parameters for that of the rate; for an implicit method the Jacobian by the state."""
        problem, recording = self.problem, self.recording
        kinds = {"t": SCALAR, "y": problem.start.type, "cotangent": problem.start.type}
        function = Function(recording, problem.body.name, kinds)
        alone = Function(recording, problem.body.name, dict(list(kinds.items())[:2]))

        def rate(t: Any, y: Any) -> tuple[Any, list[Node]]:
            first = len(recording.graph.nodes)
            return problem.rate(t, y), recording.graph.nodes[first:]

        def pull() -> list[Any]:
            t, y, bar = function.inputs
            r, nodes = rate(t, y)
            xs = [y, *[self.operands[k] for k in self.moving]]
            found = cotangents_of([r], xs, [bar], nodes)
            return [np.concatenate([np.reshape(g, -1) for g in found])]

        def matrix() -> list[Any]:
            t, y = alone.inputs
            r, nodes = rate(t, y)
            return [jacobian(r, y, nodes)]

        with recording.at(NOWHERE):
            bodies = {"pull": function.body(function.record(pull), "_pullback")}
            if is_dense(problem.size, method):
                bodies["matrix"] = alone.body(alone.record(matrix), "_jacobian")
            return bodies

    def _here(self, body: Subgraph) -> Body:
        """A function of time and state, as it reads the operands."""
        kinds = {"t": SCALAR, "y": self.problem.start.type}
        kinds = kinds if self.node.params["order"] == "ty" else dict(reversed(kinds.items()))
        function = Function(self.recording, body.name, kinds)
        known = [*self.operands[: self.problem.invariants], *function.inputs]
        pairs = dict(zip(body.inputs, known, strict=True))
        found = function.record(lambda: inlined(self.recording, body.nodes, body.outputs, pairs))
        return function.body(found)

    def _collocated(self, method: str) -> dict[str, Body]:
        """The functions of many times and states at once: the Jacobians of the rate by the state,
        and the cotangents of what moves of the parameters, summed."""
        problem, recording = self.problem, self.recording
        size = problem.size
        times = int(problem.given("times").shape[0]) if problem.op is ODEINT else 0
        count = STAGES[method] * chunk_of(size, method, times)
        rows = ArrayType((count, size), FLOAT)
        kinds = {"ts": ArrayType((count,), FLOAT), "ys": rows, "cotangents": rows}
        function = Function(recording, problem.body.name, kinds)
        alone = Function(recording, problem.body.name, dict(list(kinds.items())[:2]))

        def jacobians() -> list[Any]:
            ts, ys = alone.inputs
            whole = problem.rates_at(ts, ys)
            unit: Any = Tensor(recording.lift(np.eye(size)[:, None, :]), recording)
            units: Any = np.broadcast_to(unit, (size, count, size))
            batch = Batch(recording, size)
            with batch.recorded():
                dot = batch.placeholder(units)
                (moved,) = tangents_of([whole], [ys], [dot])
            return [np.transpose(batch.everywhere(moved), (1, 2, 0))]

        def pull() -> list[Any]:
            ts, ys, bars = function.inputs
            xs = [recording.distinct(self.operands[k]) for k in self.moving]
            whole = problem.moved(dict(zip(self.moving, xs, strict=True))).rates_at(ts, ys)
            found = cotangents_of([whole], xs, [bars])
            parts = [np.reshape(g, -1) for g in found]
            return [np.concatenate(parts) if parts else np.zeros_like(problem.start, shape=(0,))]

        with recording.at(NOWHERE):
            return {
                "jacobians": alone.body(alone.record(jacobians), "_jacobians"),
                "pull": function.body(function.record(pull), "_pullback"),
            }


@cache
def radau(stages: int) -> list[Any]:
    """The nodes of Radau's collocation method in [0, 1), and the integrals from each of them to 1
    of the polynomials that are one at one of them (Hairer and Wanner, Solving Ordinary Differential
    Equations II, IV.5, backwards)."""
    power = np.poly1d([1.0] + [0.0] * (stages - 1)) * np.poly1d([1.0, -1.0]) ** stages
    nodes = np.sort(power.deriv(stages - 1).roots.real)
    nodes[-1] = 1.0
    powers = np.arange(stages)
    table = nodes[:, None] ** powers
    weights = table * nodes[:, None] / (powers + 1) @ np.linalg.inv(table)
    return [1.0 - nodes[::-1], weights[::-1, ::-1].copy()]


def is_dense(size: int, method: str) -> bool:
    """Return whether an adjoint reads states between the solver's steps."""
    return size <= MOST_COLLOCATED or method in (*IMPLICIT, "odeint")


def within_times(op: Routine, given: Sequence[Any], params: Mapping[str, Any]) -> list[Any]:
    """The given arguments of a problem, up to its last time if an event may end it before t1."""
    made = list(given)
    if "signs" in params:
        made[op.given.index("t1")] = made[op.given.index("times")][-1]
    return made


def chunk_of(size: int, method: str, times: int = 0) -> int:
    """The number of steps that are solved at once: one between two times of `odeint`, and a few."""
    most = MOST_NUMBERS // (STAGES[method] * size) ** 2
    return int(np.clip(most, 1, np.clip(times + 8, 32, 256)))


def _batched_adjoint(name: str, moved: Moved, *operands: Any, **params: Any) -> Any:
    """The adjoints of a batch. Where only the cotangents differ, the steps are the same for all;
    else they are made again for each element."""
    op = OPS[name]
    assert isinstance(op, Routine) and op.base is not None
    base, place = op.base, params["invariants"] + op.given.index("steps")
    if not any(moved[:place]):
        return one_by_one(name, moved, *operands, **params)

    def call(*inside: Any, **opened: Any) -> Any:
        names = ("rate", "jacobian", "invariants", *base.options)
        options = {key: opened[key] for key in names if key in opened}
        first = params["invariants"]
        given = within_times(base, inside[first:place], opened)
        steps = base(*inside[:first], *given, **options)[1]
        return op(*inside[:place], steps, *inside[place + 1 :], **opened)

    return looped(name, call, moved, operands, params)[0]


class AdjointDerivative:
    """The derivative of the product of a cotangent with the sensitivities, which an adjoint is."""

    def __init__(
        self, recording: Recording, node: Node, operands: Sequence[Any], wanted: Sequence[bool]
    ) -> None:
        """The operands that are `wanted` move."""
        self.moving = [k for k, x in enumerate(operands) if wanted[k] and x.type.is_inexact]
        # Of its own, so that no node is one that another derivative has recorded before.
        own = {k: recording.distinct(operands[k]) for k in self.moving}
        self.operands = [own.get(k, x) for k, x in enumerate(operands)]
        problem = Problem(recording, node, self.operands)
        start = len(recording.graph.nodes)
        moving = range(node.params["parameters"])
        self.product = problem.product(moving, problem.given("bar"))
        self.nodes = recording.graph.nodes[start:]

    def pulled_back(self, cotangents: Sequence[Any], gradients: Derive) -> list[Any]:
        """The cotangent of each operand for that of the adjoint."""
        answers: list[Any] = [None] * len(self.operands)
        if cotangents[0] is not None:
            xs = [self.operands[k] for k in self.moving]
            found = gradients([self.product], xs, [cotangents[0]], self.nodes)
            for k, answer in zip(self.moving, found, strict=True):
                answers[k] = answer
        return answers

    def pushed_forward(self, dots: Sequence[Any], tangents: Derive) -> list[Any]:
        """The tangent of the adjoint for those of the operands."""
        moving = [k for k in self.moving if dots[k] is not None]
        xs = [self.operands[k] for k in moving]
        return tangents([self.product], xs, [dots[k] for k in moving], self.nodes)


def _spelled_ivp(given: Sequence[ArrayType], has_steps: bool = False, **params: Any) -> str:
    at = ", t_eval={3}" if len(given) == 4 else ""
    jac = ", jac={jacobian}" if "jacobian" in params else ""
    reads_between = at or is_dense(given[2].size, params["method"])
    options = keywords(
        method=params["method"],
        **{name: params[name] for name in IVP_OPTIONS},
        dense_output=True if has_steps and reads_between else None,
    )
    events = spelled_events(params.get("signs", ()))
    call = f"scipy.integrate.solve_ivp({{rate}}, ({{0}}, {{1}}), {{2}}{at}{events}{jac}{options})"
    if has_steps:
        return f"helpers.{'with_states' if at else 'with_last'}({call})"
    return f"helpers.integrated({call})" + ("" if at else "[:, -1]")


def spelled_events(signs: Sequence[tuple[Any, float]]) -> str:
    """The events of a call, with the attributes that SciPy reads."""
    marked = [
        f"helpers.marked({{event_{k}}}, {end!r}, {way!r})" for k, (end, way) in enumerate(signs)
    ]
    return f", events=[{', '.join(marked)}]" if marked else ""


def _spelled_adjoint(places: Mapping[str, str], given: Sequence[ArrayType], **params: Any) -> str:
    times = f", {places['times']}" if "times" in places else ""
    grid = f"*helpers.steps_to({places['steps']}, {places['bar']}{times})"
    method, size = params["method"], given[2].size
    if not is_dense(size, method):
        return f"helpers.explicit_adjoint({{rate}}, {{pull}}, scipy.integrate.{method}, {grid})"
    nodes = f"helpers.nodes_of_steps({places['steps']}.sol, {places['nodes']}, {grid})"
    return _spelled_radau(size, chunk_of(size, method), places, nodes)


def _spelled_radau(size: int, chunk: int, places: Mapping[str, str], nodes: str) -> str:
    known = f"{places['weights']}, *{nodes}"
    if size <= MOST_COLLOCATED:
        return f"helpers.collocation_adjoint({{jacobians}}, {{pull}}, {chunk}, {known})"
    solver = "scipy.linalg.lu_factor, scipy.linalg.lu_solve"
    return f"helpers.implicit_adjoint({{matrix}}, {{pull}}, {solver}, {known})"


def _odeint_options(params: Any) -> str:
    first = ", tfirst=True" if params["order"] == "ty" else ""
    return first + keywords(**{name: params[name] for name in ODEINT_OPTIONS})


def _spelled_odeint(given: Sequence[ArrayType], has_steps: bool = False, **params: Any) -> str:
    options = _odeint_options(params)
    if not has_steps:
        call = f"scipy.integrate.odeint({{rate}}, {{0}}, {{1}}{options}, full_output=True)"
        return f"helpers.successful(*{call})"
    solve = f"lambda rate, ts: scipy.integrate.odeint(rate, {{0}}, ts{options}, full_output=True)"
    place, fractions = params["order"].index("t"), radau(STAGES["odeint"])[0].tolist()
    return f"helpers.with_nodes({solve}, {{rate}}, {place}, {{1}}, {fractions})"


def _spelled_odeint_adjoint(
    places: Mapping[str, str], given: Sequence[ArrayType], **params: Any
) -> str:
    solve = f"lambda ts: scipy.integrate.odeint({{rate}}, {{0}}, ts{_odeint_options(params)})"
    known = ", ".join(places[word] for word in ("nodes", "times", "steps", "bar"))
    nodes = f"helpers.nodes_of_odeint({solve}, {known})"
    size = given[0].size
    return _spelled_radau(size, chunk_of(size, "odeint", given[1].size), places, nodes)


def _last(*types: ArrayType, invariants: int, **params: Any) -> ArrayType:
    """The type of the last state."""
    return types[invariants + 2]


def _columns(*types: ArrayType, invariants: int, **params: Any) -> ArrayType:
    """The type of a state for each time, a column each."""
    state, times = types[invariants + 2 : invariants + 4]
    return ArrayType((*state.shape, *times.shape), FLOAT)


def _rows(*types: ArrayType, invariants: int, **params: Any) -> ArrayType:
    """The type of a state for each time, a row each."""
    state, times = types[invariants : invariants + 2]
    return ArrayType((*times.shape, *state.shape), FLOAT)


def _cotangents(*types: ArrayType, size: int, **params: Any) -> ArrayType:
    """The type of the cotangents of the initial state and of the parameters, as one vector."""
    return ArrayType((size,), FLOAT)


def _with_steps(infer: Callable[..., ArrayType]) -> Callable[..., tuple[ArrayType, ArrayType]]:
    return lambda *types, **params: (infer(*types, **params), HANDLE)


_BETWEEN = ("t0", "t1", "y0")
_IVP = ("order", "method", *IVP_OPTIONS)
_define = partial(define, derivative=InitialValueDerivative)


def _with_adjoint(
    name: str,
    infer: Callable[..., ArrayType],
    spelling: Callable[..., str],
    adjoint: Callable[..., str],
    **fields: Any,
) -> Routine:
    """Declare a routine that leads to states, the same without its steps, and its adjoint."""
    alone = _define(f"{name}_alone", infer=infer, spelling=spelling, **fields)
    spelled = partial(spelling, has_steps=True)
    fields |= {"first_alone": alone, "batch": partial(without_handle, name)}
    base = _define(name, infer=_with_steps(infer), spelling=spelled, **fields)
    given = (*base.given, "steps", "bar", "nodes", "weights")
    define(
        f"adjoint_of_{name}",
        batch=partial(_batched_adjoint, f"adjoint_of_{name}"),
        infer=_cotangents,
        spelling=partial(adjoint, {word: f"{{{k}}}" for k, word in enumerate(given)}),
        derivative=AdjointDerivative,
        given=given,
        options=base.options,
        base=base,
    )
    return base


FINAL = _with_adjoint(
    "last_state", _last, _spelled_ivp, _spelled_adjoint, given=_BETWEEN, options=_IVP
)
STATES = _with_adjoint(
    "states",
    _columns,
    _spelled_ivp,
    _spelled_adjoint,
    given=(*_BETWEEN, "times"),
    options=_IVP,
)
ODEINT = _with_adjoint(
    "states_by_rows",
    _rows,
    _spelled_odeint,
    _spelled_odeint_adjoint,
    given=("y0", "times"),
    options=("order", *ODEINT_OPTIONS),
)
