"""One run of a function under the recorder, without a Function: the graph, and what it shows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.specialise.pieces import trace_request, tracer
from tests.support.graphs import ops_of
from tracejit.autodiff.request.request import Request
from tracejit.specialise.callee import Callee
from tracejit.specialise.trace_tree import RecordedCall
from tracejit.specialise.tracer import takes_gradients
from tracejit.trace.recording.decisions import Failed

X = np.array([1.0, -2.0, 3.0])


def recorded(callee: Callee, *args: Any, **rest: Any) -> RecordedCall:
    return tracer(callee).record(trace_request(callee, *args, **rest))


def ops(one: RecordedCall) -> list[str]:
    return ops_of(one.recording.graph)


def test_a_run_gives_a_graph_and_the_result_in_it() -> None:
    one = recorded(Callee(lambda x: {"y": np.sin(x) * 2.0}), X)
    assert ops(one) == ["sin", "multiply"]
    assert [value.name for value in one.recording.graph.inputs] == ["x"]
    assert one.finished.recorded.outputs == 1
    assert (one.fixed, one.readers, one.hidden) == ({}, {}, [])


def test_a_gradient_is_part_of_the_graph() -> None:
    one = recorded(Callee(lambda x: np.sum(x**2), Request("grad", (0,))), X)
    assert one.differentiated == {"x"}
    assert [value.name for value in one.recording.graph.inputs] == ["x", "out_bar"]
    assert len(one.recording.graph.outputs) == 2


def test_a_static_number_is_no_input_and_one_that_python_reads_becomes_fixed() -> None:
    def f(x: Any, n: int, k: float) -> Any:
        for _ in [None] * n:
            x = x * k
        return x

    one = recorded(Callee(f), X, 2, 0.5, fixed={"k": 0.5})
    assert [value.name for value in one.recording.graph.inputs] == ["x", "n"]
    assert one.fixed == {"n": 2, "k": 0.5}
    assert one.baked == {"k"}
    where = one.readers["n"]
    assert where is not None and "[None] * n" in where.text


@pytest.mark.usefixtures("as_written")
def test_where_c_code_wants_a_number_all_numbers_are_fixed() -> None:
    callee = Callee(lambda x, n: x * len(json.dumps(n)))
    one = tracer(callee).record(trace_request(callee, X, 12))
    assert callee.static_rows() == {"x": "wanted", "n": "wanted"}
    assert one.baked == {"n"}


def test_effects_are_found_also_where_the_function_raises() -> None:
    variable = tj.Variable(X)

    def f(x: Any) -> Any:
        variable.assign(x)
        raise KeyError("mine")

    callee = Callee(f)
    with pytest.raises(KeyError, match="mine"):
        tracer(callee).record(trace_request(callee, X))
    assert "events" in callee.findings.effects
    assert variable.numpy() is not X
    np.testing.assert_array_equal(variable.numpy(), X)


def test_a_function_that_differentiates_equal_things_keeps_them_apart_from_then_on() -> None:
    def f(x: Any) -> Any:
        one, other = x * 2.0, x * 2.0
        return tj.gradients(np.sum(one * one * other), [one])[0]

    callee = Callee(f)
    tracer(callee).record(trace_request(callee, X))
    assert callee.findings.takes_gradients
    assert callee.findings.keeps_apart
    assert tracer(callee).record(trace_request(callee, X)).recording.keeps_apart


def test_what_takes_gradients_by_its_own_arguments_is_known_from_its_code() -> None:
    def taking(x: Any) -> Any:
        return tj.gradients(np.sum(x**2), x)

    for python, expected in ((taking, True), (lambda x: x + 1.0, False)):
        callee = Callee(python)
        assert takes_gradients(python, trace_request(callee, X).call) == expected


def test_an_attribute_that_changes_is_lent_from_its_second_value_on() -> None:
    class Holder:
        factor = 1.0

    holder = Holder()
    holder.factor = 2.0
    callee = Callee(lambda x: x * holder.factor)

    def inputs() -> list[str]:
        one = tracer(callee).record(trace_request(callee, X))
        return [value.name for value in one.recording.graph.inputs]

    assert inputs() == ["x"]
    holder.factor = 3.0
    assert inputs() == ["x", "factor"]


def test_a_message_that_shows_what_has_no_numbers_fails() -> None:
    def f(x: Any) -> Any:
        raise ValueError(f"{x}")

    with pytest.raises(Failed) as caught:
        recorded(Callee(f), X)
    assert caught.value.row == "text"


def test_first_decisions_are_forced() -> None:
    callee = Callee(lambda x: np.sin(x) if x[0] > 0 else np.cos(x))
    assert "sin" in ops(recorded(callee, X))
    assert "cos" in ops(recorded(callee, X, forced=[False]))
