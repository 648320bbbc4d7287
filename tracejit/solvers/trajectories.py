"""Calls of `solve_ivp` and `odeint`, as they are recorded, and the times of events.

The time of an event solves an equation: the event at the state that the problem leads to until
then. So its derivatives are those of a root (`equations.py`), through those of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate as si

from tracejit.autodiff.batch.batch import Batch
from tracejit.autodiff.request.request import tangents_of
from tracejit.ir.types import ArrayType
from tracejit.ops.control.routines import Routine, keywords
from tracejit.solvers.batching import define
from tracejit.solvers.calls import Call, Result, twin
from tracejit.solvers.equations import EquationDerivative
from tracejit.solvers.functions import (
    FLOAT,
    INTEGER,
    SCALAR,
    Body,
    Function,
    call_routine,
    emit_routine,
    floats,
    inlined,
    jacobian,
    plain_unless_recorded,
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
    spelled_events,
)
from tracejit.solvers.roots import number
from tracejit.support.errors import fail
from tracejit.trace.convert.numbers import python_number
from tracejit.trace.source import places
from tracejit.trace.structure.trees import map_tree
from tracejit.trace.tensor.tensor import TENSORS, Tensor

COUNTED = ArrayType((), INTEGER, "weak")
"""A Python integer."""


class Event(NamedTuple):
    """An event: a function of time, state and further arguments, and what SciPy reads of it."""

    function: Callable[..., Any]
    terminal: Any
    direction: float


def _spelled_call(given: Sequence[ArrayType], **params: Any) -> str:
    jac = ", jac={rate_jacobian}" if "rate_jacobian" in params else ""
    at = ", t_eval={3}" if len(given) > 3 else ""
    options = keywords(**{name: params[name] for name in ("method", *IVP_OPTIONS)})
    events = spelled_events(params["signs"])
    call = f"scipy.integrate.solve_ivp({{rate}}, ({{0}}, {{1}}), {{2}}{at}{events}{jac}{options})"
    return f"helpers.succeeded({call})"


def _spelled_event(given: Sequence[ArrayType], which: int, index: Any, **params: Any) -> str:
    call = _spelled_call(given, **params)
    return f"helpers.event_at({call}, {which}, {'...' if index is None else index})"


def _spelled_count(given: Sequence[ArrayType], which: Any, **params: Any) -> str:
    call = _spelled_call(given, **params)
    return f"len({call}.t)" if which is None else f"len({call}.t_events[{which}])"


def _infer_event(*types: ArrayType, index: Any, count: int, **params: Any) -> ArrayType:
    return SCALAR if index is not None else ArrayType((count,), FLOAT)


_define = partial(define, derivative=EquationDerivative)
EVENT = _define("event_time", infer=_infer_event, spelling=_spelled_event)
COUNT = _define("event_count", infer=lambda *types, **params: COUNTED, spelling=_spelled_count)
END = _define(
    "end",
    infer=lambda *types, **params: (SCALAR, COUNTED),
    spelling=lambda given, **params: (
        f"helpers.end_of({_spelled_call(given, **params)}, {[*params['ending']]})"
    ),
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


class _Span:
    """A problem of `solve_ivp` between two times, with its events."""

    def __init__(
        self, problem: _Problem, begin: Any, end: Any, params: dict[str, Any], events: list[Event]
    ) -> None:
        self.problem, self.begin, self.end, self.params = problem, begin, end, params
        self.recording = problem.call.recording
        self.given = [begin, end, problem.start]
        self.signs = tuple((event.terminal, event.direction) for event in events)
        self.events = {f"event_{k}": self._event(event) for k, event in enumerate(events)}
        around = [value for body in self.events.values() for value in body.around()]
        around += problem.function.around or ()
        plain_unless_recorded(around, [*self.given, problem.call["t_eval"]])
        self.ending = [k for k, event in enumerate(events) if event.terminal]

    def states(self, times: Any) -> Any:
        """The states at several times, a column each. An event that ends the solution does so."""
        bodies, params = self.problem.bodies, self.params
        if self.ending:
            bodies, params = {**bodies, **self.events}, {**params, "signs": self.signs}
        return emit_routine(self.recording, STATES, bodies, [*self.given, times], **params)[0]

    def state(self, time: Any) -> Any:
        """The state at one time."""
        return self.states(np.reshape(time, (1,)))[:, 0]

    def last(self) -> Any:
        """The state at the end."""
        bodies = self.problem.bodies
        return emit_routine(self.recording, FINAL, bodies, self.given, **self.params)[0]

    @cached_property
    def ended(self) -> Any:
        """The last time, and the number of the event that it is of: -1 where none ends the
        solution."""
        kinds = {"t": SCALAR, "ended": COUNTED}

        def value(t: Any, y: Any, ended: Any) -> Any:
            found = t - self.end
            for k in self.ending:
                found = np.where(ended == k, self._value(self.events[f"event_{k}"], t, y), found)
            return found

        equation = self._equation("end", kinds, value)
        return self._asked(END, equation=equation, ending=tuple(self.ending))

    def until(self, times: Any) -> Any:
        """The times up to an event that ends the solution in this call."""
        return times[: int(self._asked(COUNT, times, which=None)[0])] if self.ending else times

    def event_time(self, which: int, index: int | None) -> Any:
        """The time at which an event takes place for this time; all in this call for None."""
        event = self.events[f"event_{which}"]
        count = 1 if index is not None else int(self._asked(COUNT, which=which)[0])
        if not count:
            return np.zeros(0)
        kind = SCALAR if index is not None else ArrayType((count,), FLOAT)
        equation = self._equation(event.name, {"t": kind}, partial(self._value, event))
        return self._asked(EVENT, equation=equation, which=which, index=index, count=count)[0]

    def _asked(self, op: Routine, *given: Any, equation: Any = (), **options: Any) -> Any:
        """The results of a solver that knows the events."""
        names = {"jacobian": "rate_jacobian"}
        bodies = {names.get(name, name): body for name, body in self.problem.bodies.items()}
        bodies |= {**self.events, **dict(equation)}
        options |= {**self.params, "signs": self.signs}
        return emit_routine(self.recording, op, bodies, [*self.given, *given], **options)

    def _event(self, event: Event) -> Body:
        """An event as a function of time and state."""
        call = self.problem.call
        function = Function(call.recording, role(event.function, "event"), self.problem.kinds)

        def value() -> list[Any]:
            found = floats(function.call(event.function, *call.further))
            return [np.reshape(found, ()) if found.shape else found]

        return function.body(function.record(value))

    def _value(self, event: Body, t: Any, y: Any) -> Any:
        """An event at a time and a state."""
        known = dict(zip(event.inputs, (t, y), strict=True))
        return inlined(self.recording, event.nodes, event.outputs, known)[0]

    def _equation(
        self, name: str, kinds: Mapping[str, ArrayType], value: Callable[..., Any]
    ) -> dict[str, Body]:
        """The equation for a time of an event, or for several, and its slope: `value` of the time
        and the state there is zero, for one time."""
        function = Function(self.recording, f"{name}_at", kinds)
        t, *others = function.inputs
        bodies, begin, start = self.problem.bodies, self.begin, self.problem.start

        def residual() -> list[Any]:
            if not t.shape:
                y = emit_routine(self.recording, FINAL, bodies, [begin, t, start], **self.params)
                return [value(t, y[0], *others)]
            given = [begin, t[-1], start, t]
            rows: Any = np.transpose(
                emit_routine(self.recording, STATES, bodies, given, **self.params)[0]
            )
            batch = Batch(self.recording, t.shape[0])
            with batch.recorded():
                found = value(batch.placeholder(t), batch.placeholder(rows))
            return [batch.everywhere(found)]

        def slope() -> list[Any]:
            one = Tensor(self.recording.lift(np.ones(t.shape)[()]), self.recording)
            (found,) = tangents_of([total], [t], [one], function.nodes)
            return [found[:, None] * np.eye(t.shape[0]) if t.shape else found]

        (total,) = function.record(residual)
        return {
            "residual": function.body([total]),
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
    params = {"order": "ty", "method": method, **options}
    events = _events_of(call)
    span = _Span(problem, begin, end, params, events)
    times = [_Occurrences("t_events", partial(span.event_time, k)) for k in range(len(events))]
    states = [_Occurrences("y_events", partial(_states_at, span, one)) for one in times]
    at = None if call["t_eval"] is None else vector(call["t_eval"])

    @cache
    def last() -> Any:
        return span.state(span.ended[0]) if span.ending else span.last()

    made: dict[str, Callable[[], Any]] = {
        "y": lambda: Steps("sol.y", problem.start, last()),
        "t": lambda: Steps("sol.t", begin, span.ended[0] if span.ending else end),
    }
    if at is not None:
        until = cache(partial(span.until, at))
        made = {"y": lambda: span.states(until()), "t": until}
    made |= {
        "status": lambda: python_number(span.ended[1] >= 0, int) if span.ending else 0,
        "t_events": lambda: times or None,
        "y_events": lambda: states or None,
        "sol": lambda: partial(_dense, span) if call["dense_output"] else None,
    }
    return Result(call, {"solution": last if at is None else made["y"], **made})


def _events_of(call: Call) -> list[Event]:
    """The events of a call."""
    given = call["events"]
    several = [] if given is None else [given] if callable(given) else list(given)
    return [
        Event(one, getattr(one, "terminal", False), float(getattr(one, "direction", 0.0)))
        for one in several
    ]


def _states_at(span: _Span, times: _Occurrences, index: int | None) -> Any:
    """The state at one time of an event, or at all in this call."""
    if index is not None:
        return span.state(times[index])
    whole = times[:]
    return np.transpose(span.states(whole)) if whole.shape[0] else np.zeros(0)


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


class _Occurrences(np.lib.mixins.NDArrayOperatorsMixin):
    """The times or states of an event: one is recorded by its number, and all for the number of
    times that the event takes place in this call."""

    def __init__(self, name: str, find: Callable[[int | None], Any]) -> None:
        """`find` returns one, or all for None; `name` is that of the attribute."""
        self._name, self._find = name, find
        self._found: dict[int | None, Any] = {}

    def _at(self, index: int | None) -> Any:
        if index not in self._found:
            whole = self._found.get(None)
            self._found[index] = self._find(index) if whole is None else whole[index]
        return self._found[index]

    def __getitem__(self, index: Any) -> Any:
        first, *rest = index if isinstance(index, tuple) else (index,)
        if isinstance(first, (int, np.integer)) and type(first) not in TENSORS:
            found = self._at(int(first))
            return found[tuple(rest)] if rest else found
        return self._at(None)[index]

    def __repr__(self) -> str:
        return f"<sol.{self._name}[k]>"

    def __len__(self) -> int:
        return len(self._at(None))

    def __iter__(self) -> Any:
        return iter(self._at(None))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._at(None), name)

    def __tracejit_read__(self) -> Any:
        return self._at(None)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._at(None), dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map_tree(_array_of, inputs), **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*map_tree(_array_of, args), **map_tree(_array_of, kwargs))


class Steps:
    """Results of `solve_ivp` at its own steps, of which the first and the last are known: their
    number depends on data."""

    def __init__(self, name: str, first: Any, last: Any, is_turned: bool = False) -> None:
        """The steps are along the first axis where it `is_turned`, else along the last. The `name`
        is that of the attribute."""
        self._name = name
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

    def _refused(self) -> Exception:
        problem = (
            f"{self._name} has a number of elements that is only known once the solver has run"
        )
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


def _array_of(one: Any) -> Any:
    """The times or states of an event as an array; anything else as it is."""
    return one.__tracejit_read__() if type(one) is _Occurrences else one
