"""Names of values: read off the frames in which they were computed, when a statement is over."""

from __future__ import annotations

import ast
import gc
import sys
import weakref
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import run
from tracejit.ir.graph import Graph
from tracejit.trace.recording.namer import Namer, _Visit
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor

X = np.array([1.0, -2.0, 0.5])


def labels(call: Any, *args: Any) -> list[str]:
    """What the values of a call are labelled, in order."""
    made = run(call, *args)
    graph = made.finish()
    return [value.label for node in graph.nodes for value in node.results]


def test_a_name_is_read_when_the_statement_is_over() -> None:
    def f(x: Any) -> Any:
        h = np.exp(x) * 2.0
        return h - 1.0

    assert labels(f, X) == ["", "h", ""]


def test_the_first_name_stays() -> None:
    def f(x: Any) -> Any:
        first = np.exp(x)
        second = first
        return second * 2.0

    assert labels(f, X) == ["first", ""]


def test_a_name_that_was_rebound_names_both_values() -> None:
    def f(x: Any) -> Any:
        h = np.exp(x)
        h = np.sin(h)
        h = np.cos(h)
        return h

    assert labels(f, X) == ["h", "h", "h"]


def test_a_loop_on_one_line_is_seen_by_its_instructions() -> None:
    space: dict[str, Any] = {"np": np}
    exec("def f(x):\n    h = x\n    for _ in range(3): h = np.exp(h)\n    return h\n", space)
    assert labels(space["f"], X) == ["h", "h", "h"]


def test_a_callers_names_go_before_those_of_its_helpers() -> None:
    def helper(x: Any) -> Any:
        inner = np.exp(x)
        return inner

    def f(x: Any) -> Any:
        outer = helper(x)
        again = helper(outer) * 2.0
        return again

    assert labels(f, X) == ["outer", "inner", "again"]


def test_a_caller_names_what_a_helper_returns_unnamed() -> None:
    def helper(x: Any) -> Any:
        return np.exp(x)

    def f(x: Any) -> Any:
        before = np.sin(x)
        h = helper(before)
        return h * 2.0

    assert labels(f, X) == ["before", "h", ""]


def test_tensors_in_containers_and_other_locals_have_no_name() -> None:
    def f(x: Any) -> Any:
        pair = (np.exp(x), np.sin(x))
        text = "text"
        assert text
        return pair[0] + pair[1]

    assert labels(f, X) == ["", "", ""]


def test_what_is_no_name_in_python_names_nothing() -> None:
    tree = ast.parse("def f(x):\n    part = np.exp(x)\n    return part - 1.0")
    tree.body[0].body[0].targets[0].id = "@part"  # type: ignore[attr-defined]
    tree.body[0].body[1].value.left.id = "@part"  # type: ignore[attr-defined]
    space: dict[str, Any] = {"np": np}
    exec(compile(tree, __file__, "exec"), space)
    assert labels(space["f"], X) == ["", ""]


def test_arguments_keep_their_names() -> None:
    def f(x: Any) -> Any:
        other = x
        return other * 2.0

    made = run(f, X)
    assert [value.name for value in made.finish().inputs] == ["x"]


def test_the_variables_of_a_comprehension_name_nothing_else() -> None:
    def f(x: Any) -> Any:
        rows = [row * 2.0 for row in x]
        total = rows[0] + rows[1]
        return total

    assert labels(f, X)[-1] == "total"


def test_what_a_cotangent_is_called_in_a_rule_is_not_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", "0")

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def rule(upstream: Any) -> Any:
            factor = np.cos(x)
            return upstream * factor

        return np.sin(x), rule

    source = tj.value_and_grad(lambda x: np.sum(f(x) ** 2)).kernel(X).source
    assert "factor" in source
    assert "upstream =" not in source


# By itself


def test_catching_up_names_what_was_just_made_and_keeps_the_frames() -> None:
    namer, recording = Namer(Graph("f")), Recording("f")
    with recording:
        x = recording.argument("x", Tensor(recording.lift(X), recording).type)
        value: Any = recording.distinct(x)
        namer.visit(sys._getframe())
        assert value._value.label == ""
        namer.catch_up()
        assert value._value.label == "value"
        later: Any = recording.distinct(x)
        namer.catch_up()
        assert later._value.label == "later"


def test_a_visit_on_another_line_reads_the_frame() -> None:
    namer, recording = Namer(Graph("f")), Recording("f")
    with recording:
        x = recording.argument("x", Tensor(recording.lift(X), recording).type)
        namer.visit(sys._getframe())
        value: Any = recording.distinct(x)
        namer.visit(sys._getframe())
        assert value._value.label == "value"
        namer.finish()
        value._value.label = ""
        # The frames are forgotten.
        namer.catch_up()
        assert value._value.label == ""


def test_the_recordings_inputs_and_constants_are_not_renamed() -> None:
    namer, recording = Namer(Graph("f")), Recording("f")
    with recording:
        given: Any = recording.argument("x", Tensor(recording.lift(X), recording).type)
        constant: Any = Tensor(recording.lift(2.0), recording)
        namer.visit(sys._getframe())
        namer.finish()
    assert (given._value.label, constant._value.label) == ("x", "")


def test_frames_are_let_go() -> None:
    class Thing:
        """What a frame holds."""

    def visited(namer: Namer) -> weakref.ref[Thing]:
        thing = Thing()
        frame: FrameType | None = sys._getframe()
        assert frame is not None
        namer.visit(frame)
        return weakref.ref(thing)

    for end in (Namer.finish, Namer.forget):
        namer = Namer(Graph("f"))
        held = visited(namer)
        gc.collect()
        assert held() is not None
        end(namer)
        gc.collect()
        assert held() is None


def test_a_frame_of_too_many_names_is_not_read() -> None:
    names = "; ".join(f"a{k} = 0" for k in range(Namer.LOCALS_LIMIT))
    space: dict[str, Any] = {"np": np}
    exec(f"def f(x):\n    {names}\n    h = np.exp(x)\n    return h\n", space)
    assert labels(space["f"], X) == [""]


def test_a_signal_handler_may_record_while_locals_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    namer, here = Namer(Graph("f")), sys._getframe()
    namer._visits[here] = _Visit()

    def read(frame: Any) -> None:
        assert here.f_back is not None
        namer._visits[here.f_back] = _Visit()

    monkeypatch.setattr(namer, "_read", read)
    namer.catch_up()
    assert len(namer._visits) == 2
