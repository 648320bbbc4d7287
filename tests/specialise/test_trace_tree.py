"""Recordings of one kind of call, without a table: their calls on Tensors, and joined."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.specialise.pieces import trace_request, tracer
from tests.support.compare import assert_same
from tracejit.compiler.kernel import make_kernel
from tracejit.ir.sizes import Sizes
from tracejit.specialise.callee import Callee
from tracejit.specialise.trace_tree import RecordedCall, Trace, TraceTree
from tracejit.support.options import Options

X = np.array([1.0, -2.0, 3.0])
OPTIONS = Options(cache=False)


def recorded(python: Any, *args: Any, **rest: Any) -> RecordedCall:
    callee = Callee(python)
    return tracer(callee).record(trace_request(callee, *args, **rest))


def trace(one: RecordedCall) -> Trace:
    """The recording, with a kernel of its own."""
    return Trace(one, functools.partial(make_kernel, options=OPTIONS), "forward")


def called(one: RecordedCall, *leaves: Any) -> Any:
    """The answer of its kernel, called as one operation."""
    answer, outcomes = trace(one).attempt(leaves)
    assert outcomes is None
    return answer


def repeated(x: Any, n: Any) -> Any:
    for _ in [None] * n:
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


@pytest.mark.parametrize(
    ("needs", "free"), [(np.sum, True), (lambda x: x * len([0] * len(x)), False)]
)
def test_sizes_are_free_until_the_function_needs_the_number(needs: Any, free: bool) -> None:
    callee = Callee(needs)
    sizes: Sizes | None = None
    for size in (3, 4):
        request = callee.note(callee.bind((np.ones(size),), {}))
        call, sizes = callee.shapes.freed(request.call)
    to_trace = trace_request(callee, X)._replace(call=call, sizes=sizes)
    one = tracer(callee).record(to_trace)
    assert (one.sizes is not None) == free


def signed(x: Any) -> Any:
    return np.sin(x) if x[0] > 0 else (np.exp(x), x)


def test_a_call_that_takes_another_branch_is_told_by_its_decisions() -> None:
    tree = TraceTree(trace(recorded(signed, X)))
    assert tree.attempt([tj.constant(X)])[1] is None
    assert tree.attempt([tj.constant(-X)]) == (None, [False])


def test_traces_that_begin_alike_are_joined() -> None:
    first, other = (TraceTree(trace(recorded(signed, x))) for x in (X, -X))
    assert (first.is_uniform, first.is_full(2)) == (True, False)
    assert other.joined_to(first) is first
    assert (len(first), first.is_uniform, first.is_full(2)) == (2, False, True)
    assert (first.failed().row, first.failed().detail) == ("traces", "2")
    for x, expected in ((X, np.sin(X)), (-X, (np.exp(-X), -X))):
        found, outcomes = first.attempt([tj.constant(x)])
        assert outcomes is None
        found = [one.numpy() for one in found] if type(found) is tuple else found.numpy()
        np.testing.assert_array_equal(found, expected)
    kernel = make_kernel(first.recorded(), OPTIONS)
    assert kernel.forward(X)[-1] != kernel.forward(-X)[-1]
    answers, which = first.answers()
    assert len(answers) == 2
    assert which == (-1,)


def test_traces_of_other_calls_and_other_programs_stay_apart() -> None:
    first = TraceTree(trace(recorded(repeated, X, 2)))
    for other in (recorded(repeated, X, 3), recorded(lambda x, n: np.cos(x) * n, X, 2)):
        alone = TraceTree(trace(other))
        assert alone.joined_to(first) is alone
    assert len(first) == 1


def test_the_same_trace_is_joined_once() -> None:
    tree = TraceTree(trace(recorded(signed, X)))
    assert TraceTree(trace(recorded(signed, X))).joined_to(tree) is tree
    assert len(tree) == 1


@pytest.mark.parametrize("calls", [(1.6, 0.5, 3.0, 1.6), (0.5, 1.6, 3.0, 1.6)])
def test_a_branch_that_changes_what_it_reads_joins_no_kernel(calls: tuple[float, ...]) -> None:
    """It is for one call. In the kernel of other branches it would answer the next one, too."""

    def program() -> Callable[[Any], Any]:
        seen: list[int] = []

        def counted() -> float:
            seen.append(1)
            return 0.1 * len(seen)

        return lambda x: (counted() if x > 1.0 else 0.0, x)

    plain, compiled = program(), tj.function(program())
    for number in calls:
        assert compiled(np.float64(number)) == plain(np.float64(number))
