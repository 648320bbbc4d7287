"""Signal handlers: at whatever instruction one comes, it may record and call, and returns."""

from __future__ import annotations

import functools
import gc
import os
import signal
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.interrupted import with_interruption
from tracejit.debug import switch
from tracejit.eager import call_operation, traced_call
from tracejit.runtime import single_flight
from tracejit.specialise import explain, kernel_table, specialiser, trace_tree, uncompiled
from tracejit.support import config, garbage
from tracejit.trace.capture import freezing
from tracejit.trace.recording import mutable_attributes

X = np.array([0.5, -1.0, 2.0])
PLACES = int(os.environ.get("TRACEJIT_TEST_PLACES", by_day("4", "12")))
"""The instructions of each program at which a handler comes, at most."""


class Model:
    """An object that a recorded function assigns to."""

    def __init__(self) -> None:
        self.scale = 2.0


def branching(x: Any) -> Any:
    """A function of two branches."""
    return np.sum(x * x) if np.sum(x) > 0.0 else np.sum(np.sin(x))


def assigning(model: Model, x: Any) -> Any:
    """A function that leaves an attribute behind."""
    model.scale = np.sum(x)
    return np.sum(x) * model.scale


def counting(x: Any) -> Any:
    """Calls of several branches, of one function."""
    f = tj.function(branching, cache=False)
    return [f(x), f(-x), f(x * 2.0)]


def taped(x: Any) -> Any:
    """The gradient of a compiled function on a tape."""
    t = tj.constant(x)
    with tj.GradientTape() as tape:
        tape.watch(t)
        y = COMPILED(t)
    return tape.gradient(y, t).numpy()


COMPILED = tj.function(branching, cache=False)


def differentiated(x: Any) -> Any:
    """The gradient of the same function without a tape."""
    return tj.grad(COMPILED)(x)


def frozen(x: Any) -> Any:
    """A function that relies on an array that must not change."""
    table = np.arange(3.0)
    f = tj.function(lambda x: np.sum(x) * np.sum(np.sin(table)), cache=False, freeze=True)
    return f(x)


def configured(x: Any) -> Any:
    """A call under a setting of its own."""
    with tj.config(progress=False):
        return tj.function(branching, cache=False)(x)


def checked(x: Any) -> Any:
    """A call whose numbers are checked."""
    with tj.debug_nans():
        return tj.function(branching, cache=False)(x)


def assigned(x: Any) -> Any:
    """A call that assigns an attribute."""
    model = Model()
    f = tj.function(functools.partial(assigning, model), cache=False)
    return f(x), model.scale


def fallen(x: Any) -> Any:
    """A call that Python answers, and what is told of it."""
    f = tj.function(lambda x: x[x > 0.0].sum(), cache=False)
    return f(x), len(f.explain()) > 0


PROGRAMS: list[tuple[Callable[[Any], Any], tuple[ModuleType, ...]]] = [
    (counting, (garbage,)),
    (counting, (kernel_table, single_flight)),
    (counting, (trace_tree,)),
    (counting, (specialiser,)),
    (counting, (explain,)),
    (taped, (call_operation,)),
    (taped, (traced_call,)),
    (frozen, (freezing,)),
    (configured, (config,)),
    (checked, (switch,)),
    (assigned, (mutable_attributes,)),
    (fallen, (uncompiled,)),
]


def instructions(run: Callable[[], Any], modules: tuple[ModuleType, ...]) -> int:
    """The number of instructions that `run` executes in `modules`."""
    count = 0
    files = {module.__file__ for module in modules}

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(("program", "modules"), PROGRAMS)
def test_a_handler_may_come_at_any_instruction(program: Any, modules: Any) -> None:
    def fresh() -> Any:
        global COMPILED
        COMPILED = tj.function(branching, cache=False)
        return program(X)

    expected = fresh()
    total = min([instructions(fresh, modules) for _ in range(2)])  # a collection adds some
    assert total > 0
    most = 0.95 * total
    places = sorted({*np.linspace(0, most, PLACES).astype(int).tolist()})
    for place in places:
        inner: list[Any] = []
        handler = functools.partial(_called, inner, differentiated if program is taped else program)
        for _ in range(3):  # a run that finds more that is known may be over before
            if not inner:
                answer = with_interruption(fresh, modules, place, handler)
        assert len(inner) == 1, place
        assert_alike(answer, expected)
        if program is not taped:  # there it may be part of what is recorded
            assert_alike(inner[0], expected)
    assert_alike(fresh(), expected)


def _called(inner: list[Any], program: Callable[[Any], Any]) -> None:
    inner.append(program(X))


def assert_alike(answer: Any, expected: Any) -> None:
    """Compare two answers of a program."""
    pairs = zip(np.atleast_1d(answer), np.atleast_1d(expected), strict=True)
    assert all(np.allclose(mine, its, rtol=1e-12, atol=0.0) for mine, its in pairs)


def test_a_timer_that_records_in_easing_returns() -> None:
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timers on this system")
    answers: list[Any] = []

    def handler(number: int, frame: Any) -> None:
        with garbage.collection_eased():
            answers.append(tj.function(branching, cache=False)(X))

    before = signal.signal(signal.SIGALRM, handler)
    usual = gc.get_threshold()
    try:
        for number in range(5):
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            while len(answers) == number:
                with garbage.collection_eased():
                    pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert gc.get_threshold() == usual


class Garbage:
    """An object in a cycle, that records when it is collected."""

    answers: list[Any] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        self.answers.append(counting(X))


def test_garbage_that_records_when_it_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Garbage, "answers", [])
    usual = gc.get_threshold()
    gc.set_threshold(500)
    try:
        for _ in range(2):
            Garbage()
            counting(X)
    finally:
        gc.set_threshold(*usual)
    gc.collect()
    assert len(Garbage.answers) >= 2
    expected = counting(X)
    for answer in Garbage.answers:
        assert_alike(answer, expected)
