"""Calls of `solve_ivp` and `odeint`, as they are recorded, and the times of events.

The time of an event solves an equation: the event at the state that the problem leads to until
then. So its derivatives are those of a root (`equations.py`), through those of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate as si
from scipy.integrate._ivp.ivp import OdeResult

from tracejit.autodiff.request.request import tangents_of
from tracejit.ir.types import ArrayType
from tracejit.ops.control.routines import keywords
from tracejit.solvers.batching import define
from tracejit.solvers.calls import Call, twin
from tracejit.solvers.equations import EquationDerivative
from tracejit.solvers.functions import (
    FLOAT,
    SCALAR,
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
from tracejit.solvers.initial_values import (
    FINAL,
    IMPLICIT,
    IVP_OPTIONS,
    ODEINT,
    ODEINT_OPTIONS,
    STATES,
)
from tracejit.solvers.roots import number
from tracejit.support.errors import fail
from tracejit.trace.source import places
from tracejit.trace.tensor.tensor import Tensor


class Event(NamedTuple):
    """An event: a function of time, state and further arguments, and what SciPy reads of it."""

    function: Callable[..., Any]
    terminal: Any
    direction: float


def _spelled_event(given: Sequence[ArrayType], which: int, signs: Any, **params: Any) -> str:
    events = [
        f"helpers.marked({{event_{k}}}, {terminal!r}, {direction!r})"
        for k, (terminal, direction) in enumerate(signs)
    ]
    jac = ", jac={rate_jacobian}" if "rate_jacobian" in params else ""
    options = keywords(**{name: params[name] for name in ("method", *IVP_OPTIONS)})
    call = "scipy.integrate.solve_ivp({rate}, ({0}, {1}), {2}"
    call = f"{call}, events=[{', '.join(events)}]{jac}{options})"
    return f"helpers.first_event({call}, {which})"


EVENT = define(
    "event_time",
    infer=lambda *types, **params: SCALAR,
    spelling=_spelled_event,
    derivative=EquationDerivative,
)


class _Problem:
    """An initial value problem that is being recorded: its rate, and what it is given."""

    def __init__(self, call: Call, user: Any, order: str, start: Any, has_jacobian: bool) -> None:
        """The rate is the function `user` of time and state, in this order or turned."""
        self.call = call
        self.start = start
        self.order = order
        size = start.shape[0]
        self.kinds = {"t": SCALAR, "y": ArrayType((size,), FLOAT)}
        kinds = self.kinds if order == "ty" else dict(reversed(self.kinds.items()))
        self.function = function = Function(call.recording, role(user, "rate"), kinds)

        def rate() -> list[Any]:
            found = vector(function.call(user, *call.further))
            if found.shape != (size,):
                problem = f"the rate has {found.shape[0]} numbers for a state of {size}"
                call.refuse(problem, "return one rate for each number of the state.")
            return [found]

        (r,) = function.record(rate)
        self.bodies = {"rate": function.body([r])}
        if has_jacobian:
            y = function.inputs[order.index("y")]
            (matrix,) = function.record(lambda: [jacobian(r, y, function.nodes)])
            self.bodies["jacobian"] = function.body([matrix], "_jacobian")


class _Span(NamedTuple):
    """A problem of `solve_ivp` between two times."""

    problem: _Problem
    begin: Any
    end: Any
    params: Mapping[str, Any]

    def states(self, times: Any) -> Any:
        """The states at several times, a column each."""
        given = [self.begin, self.end, self.problem.start, times]
        return call_routine(
            self.problem.function, STATES, self.problem.bodies, given, **self.params
        )[0]

    def state(self, time: Any) -> Any:
        """The state at one time."""
        return self.states(np.reshape(time, (1,)))[:, 0]

    def last(self) -> Any:
        """The state at the end."""
        given = [self.begin, self.end, self.problem.start]
        return call_routine(
            self.problem.function, FINAL, self.problem.bodies, given, **self.params
        )[0]

    def event_time(self, events: Sequence[Event], which: int) -> Any:
        """The time at which an event takes place first."""
        problem = self.problem
        names = {"jacobian": "rate_jacobian"}
        bodies = {names.get(name, name): body for name, body in problem.bodies.items()}
        for k, event in enumerate(events):
            bodies[f"event_{k}"] = self._event(event)
        bodies |= self._equation(bodies[f"event_{which}"])
        given = [self.begin, self.end, problem.start]
        signs = tuple((event.terminal, event.direction) for event in events)
        return emit_routine(
            problem.call.recording, EVENT, bodies, given, which=which, signs=signs, **self.params
        )[0]

    def _event(self, event: Event) -> Body:
        """An event as a function of time and state."""
        call = self.problem.call
        function = Function(call.recording, role(event.function, "event"), self.problem.kinds)

        def value() -> list[Any]:
            found = floats(function.call(event.function, *call.further))
            return [np.reshape(found, ()) if found.shape else found]

        return function.body(function.record(value))

    def _equation(self, event: Body) -> dict[str, Body]:
        """The equation for the time of an event, and its slope."""
        problem, recording = self.problem, self.problem.call.recording
        function = Function(recording, event.name + "_at", {"t": SCALAR})
        (t,) = function.inputs

        def residual() -> list[Any]:
            given = [self.begin, t, problem.start]
            y = emit_routine(recording, FINAL, problem.bodies, given, **self.params)[0]
            known = dict(zip(event.inputs, (t, y), strict=True))
            return inlined(recording, event.nodes, event.outputs, known)

        def slope() -> list[Any]:
            one = Tensor(recording.lift(FLOAT.type(1.0)), recording)
            return tangents_of([value], [t], [one], function.nodes)

        (value,) = function.record(residual)
        return {
            "residual": function.body([value]),
            "jacobian": function.body(function.record(slope), "_slope"),
        }


@twin(si.solve_ivp)
def _solve_ivp(call: Call) -> Any:
    names = ("fun", "t_span", "y0", "method", "t_eval", "dense_output", "events", "args", "options")
    call.known(*names)
    further = call.arguments.get("options", {})
    unknown = sorted(set(further) - {*IVP_OPTIONS, "jac"})
    if unknown:
        call.refuse(f"{unknown[0]}= is not recorded")
    method = call["method"]
    if not isinstance(method, str):
        call.refuse("method= is a class", "give the method by its name.")
    method = next((one for one in IMPLICIT if one.lower() == method.lower()), method.upper())
    begin, end = (number(one) for one in call["t_span"])
    problem = _Problem(call, call["fun"], "ty", vector(call["y0"]), method in IMPLICIT)
    options = {name: call.literal(name, further.get(name)) for name in IVP_OPTIONS}
    span = _Span(problem, begin, end, {"order": "ty", "method": method, **options})
    result = OdeResult(success=True, status=0)
    events = _events_of(call)
    if events:
        result.t_events = [
            _First("t_events", partial(span.event_time, events, k)) for k in range(len(events))
        ]
        result.y_events = [
            _First("y_events", partial(_state_at, span, one)) for one in result.t_events
        ]
    ending = [k for k, event in enumerate(events) if event.terminal]
    if call["t_eval"] is not None:
        if ending:
            call.refuse("t_eval= has times after a terminal event, so their number depends on data")
        result.t = vector(call["t_eval"])
        result.y = span.states(result.t)
    elif len(ending) > 1:
        call.refuse("the solution may end at any of several events", "let one of them be terminal.")
    elif ending:
        result.status = 1
        result.t = Steps("sol.t", begin, result.t_events[ending[0]][0])
        result.y = Steps("sol.y", problem.start, result.y_events[ending[0]][0])
    else:
        result.t = Steps("sol.t", begin, end)
        result.y = Steps("sol.y", problem.start, span.last())
    result.sol = partial(_dense, span) if call["dense_output"] else None
    return result


def _events_of(call: Call) -> list[Event]:
    """The events of a call."""
    given = call["events"]
    several = [] if given is None else [given] if callable(given) else list(given)
    return [
        Event(one, getattr(one, "terminal", False), float(getattr(one, "direction", 0.0)))
        for one in several
    ]


def _state_at(span: _Span, time: _First) -> Any:
    """The state at the time of an event."""
    return span.state(time[0])


def _dense(span: _Span, t: Any) -> Any:
    """The states at a time, or at several."""
    times = floats(t)
    return span.states(times) if times.ndim else span.state(times)


@twin(si.odeint)
def _odeint(call: Call) -> Any:
    call.known("func", "y0", "t", "args", "Dfun", "tfirst", *ODEINT_OPTIONS)
    order = "ty" if call["tfirst"] else "yt"
    problem = _Problem(call, call["func"], order, vector(call["y0"]), False)
    given = [problem.start, vector(call["t"])]
    options = call.options(*ODEINT_OPTIONS)
    return call_routine(problem.function, ODEINT, problem.bodies, given, order=order, **options)[0]


class _Unknown:
    """Results of which there are as many as data decide: some are known, the others are refused."""

    def __init__(self, name: str, fix: str) -> None:
        """The `name` is that of the attribute, and `fix` what to do instead."""
        self._name, self._fix = name, fix

    def _refused(self) -> Exception:
        problem = (
            f"{self._name} has a number of elements that is only known once the solver has run"
        )
        words = {"function": "scipy.integrate.solve_ivp", "problem": problem, "fix": self._fix}
        return fail("unsupported-call", places.here(), **words)

    def __getattr__(self, name: str) -> Any:
        raise self._refused()

    def __len__(self) -> int:
        raise self._refused()

    def __iter__(self) -> Any:
        raise self._refused()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise self._refused()


class _First(_Unknown):
    """The times or states of an event, of which the first is known."""

    def __init__(self, name: str, find: Callable[[], Any]) -> None:
        super().__init__(f"sol.{name}[k]", f"read the first one: sol.{name}[k][0].")
        self._find = find
        self._found: Any = None

    def __getitem__(self, index: Any) -> Any:
        first, *rest = index if isinstance(index, tuple) else (index,)
        if first != 0:
            raise self._refused()
        if self._found is None:
            self._found = self._find()
        return self._found[tuple(rest)] if rest else self._found


class Steps(_Unknown):
    """Results of `solve_ivp` at its own steps, of which the first and the last are known."""

    def __init__(self, name: str, first: Any, last: Any, is_turned: bool = False) -> None:
        """The steps are along the first axis where it `is_turned`, else along the last."""
        super().__init__(name, "give t_eval=, or read the last one: sol.y[:, -1].")
        self.first, self.last, self.is_turned = first, last, is_turned

    @property
    def T(self) -> Steps:
        """The same with the steps along the first axis."""
        return Steps(f"{self._name}.T", self.first, self.last, not self.is_turned)

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
