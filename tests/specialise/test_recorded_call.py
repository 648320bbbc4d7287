"""A recording that has ended, without a table: what it holds for, and its call on Tensors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs import assert_same
from tests.specialise.pieces import trace_request, tracer
from tracejit.compiler.kernel import make_kernel
from tracejit.ir.sizes import Sizes
from tracejit.specialise.callee import Callee
from tracejit.specialise.recorded_call import RecordedCall
from tracejit.support.options import Options

X = np.array([1.0, -2.0, 3.0])
OPTIONS = Options(cache=False)


def recorded(python: Any, *args: Any, **rest: Any) -> RecordedCall:
    callee = Callee(python)
    return tracer(callee).record(trace_request(callee, *args, **rest))


def called(one: RecordedCall, *leaves: Any) -> Any:
    """The call by the path of a kernel."""
    make = functools.partial(make_kernel, options=OPTIONS)
    path = one.finished.path(one.recording, make(one.finished.recorded).forward, make)
    return one.call_by_path(path, leaves)


def repeated(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x * 2.0
    return x


def test_recordings_take_the_same_calls_where_python_has_read_the_same() -> None:
    two, again, three = (recorded(repeated, X, n) for n in (2, 2, 3))
    assert two.takes_what(again)
    assert not two.takes_what(three)
    assert not two.takes_what(recorded(repeated, X, 2, fixed={"n": 2}))


def test_a_call_on_tensors_answers_in_the_structure_of_the_function() -> None:
    one = recorded(lambda x, y: {"sum": x + y, "n": 3}, X, X)
    found = called(one, tj.constant(X), 2.0 * X)
    assert found["n"] == 3
    assert_same(found["sum"].numpy(), 3.0 * X)


def test_a_call_on_tensors_lets_events_take_place() -> None:
    variable = tj.Variable(np.zeros(3))

    def assigning(x: Any) -> Any:
        variable.assign(x * 2.0)
        return x

    one = recorded(assigning, X)
    np.testing.assert_array_equal(variable.numpy(), np.zeros(3))
    called(one, tj.constant(X))
    np.testing.assert_array_equal(variable.numpy(), 2.0 * X)


def test_a_variable_that_is_read_is_differentiated() -> None:
    variable = tj.Variable(X)
    one = recorded(lambda x: np.sum(x * variable), X)
    with tj.GradientTape() as tape:
        y = called(one, tj.constant(X))
    assert_same(tape.gradient(y, variable).numpy(), X)


@pytest.mark.parametrize(("needs", "free"), [(np.sum, True), (lambda x: x * len(x), False)])
def test_sizes_are_free_until_the_function_needs_the_number(needs: Any, free: bool) -> None:
    callee = Callee(needs)
    sizes: Sizes | None = None
    for size in (3, 4):
        request = callee.note(callee.bind((np.ones(size),), {}))
        call, sizes = callee.shapes.freed(request.call)
    to_trace = trace_request(callee, X)._replace(call=call, sizes=sizes)
    one = tracer(callee).record(to_trace)
    assert (one.sizes is not None) == free
