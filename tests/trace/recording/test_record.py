"""Recordings: names, sharing, regions, tapes, and Tensors in the wrong place."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.interpret import interpret, record, run
from tests.support.graphs import ops_of
from tests.support.processes import python
from tracejit.ir.graph import Graph
from tracejit.ir.printer import print_graph
from tracejit.ir.types import ArrayType, type_of
from tracejit.specialise import tracer
from tracejit.support.errors import LeakedTensorError
from tracejit.trace.recording.record import Recording, current_recording
from tracejit.trace.recording.tape_window import Window
from tracejit.trace.tensor.tensor import Tensor

VECTOR = np.arange(3.0)
KIND = ArrayType((3,), np.dtype("f8"))


def names(graph: Graph) -> list[str]:
    """The names of all results, in order."""
    return [value.name for node in graph.nodes for value in node.results]


def recorded_names(call: Any, *args: Any) -> list[str]:
    """The names of all results of a call."""
    return names(record(call, *args)[0])


# Names


def test_values_are_called_what_the_user_calls_them() -> None:
    def f(x: Any) -> Any:
        h = np.exp(x) + 1.0
        y = h * h
        return y

    assert recorded_names(f, VECTOR) == ["h_1", "h", "y"]


def test_the_result_of_a_return_is_out() -> None:
    def f(x: Any) -> Any:
        return np.exp(x) + 1.0

    assert recorded_names(f, VECTOR) == ["out_1", "out"]


def test_a_loop_that_rebinds_numbers_its_values() -> None:
    def f(x: Any) -> Any:
        h = x
        for _ in range(3):
            h = np.exp(h) * 2.0
        return h

    assert recorded_names(f, VECTOR) == ["h_1", "h", "h_2", "h_3", "h_4", "h_5"]


def test_a_loop_on_one_line_numbers_its_values() -> None:
    space: dict[str, Any] = {"np": np}
    exec("def f(x):\n    h = x\n    for _ in range(3): h = np.exp(h)\n    return h\n", space)
    assert recorded_names(space["f"], VECTOR) == ["h", "h_1", "h_2"]


def test_several_names_on_a_line() -> None:
    def f(x: Any) -> Any:
        a, b = np.exp(x), np.tanh(x)
        c = d = a * b
        return c + d

    assert recorded_names(f, VECTOR) == ["a", "b", "c", "out"]


def test_a_helper_names_what_it_makes() -> None:
    def square(a: Any) -> Any:
        product = a * a
        return product + 0.0

    def f(x: Any) -> Any:
        h = square(np.exp(x))
        y = square(h)
        return y

    assert recorded_names(f, VECTOR) == ["a", "product", "h", "product_1", "y"]


def test_a_function_of_helpers_alone_names_what_they_answer() -> None:
    def square(a: Any) -> Any:
        return a * a

    def f(x: Any) -> Any:
        h = square(x)
        y = square(h)
        return y

    assert recorded_names(f, VECTOR) == ["h", "y"]


def test_lambdas_and_expressions_are_named_after_ops() -> None:
    assert recorded_names(lambda x: np.exp(x) * np.tanh(x), VECTOR) == ["out_1", "out_2", "out"]


def test_names_of_closures_and_arguments_are_kept() -> None:
    def f(x: Any) -> Any:
        scaled = x * 2.0

        def inner() -> Any:
            return scaled + 1.0

        shifted = inner()
        return shifted

    graph, _ = record(f, VECTOR)
    assert [value.name for value in graph.inputs] == ["x"]
    assert names(graph) == ["scaled", "shifted"]


def test_a_result_that_replaces_an_argument_is_numbered() -> None:
    def f(x: Any) -> Any:
        x = np.exp(x)
        return x

    assert recorded_names(f, VECTOR) == ["x_1"]


def test_code_without_source_has_lines_and_names() -> None:
    space: dict[str, Any] = {"np": np}
    exec("def f(x):\n    h = np.exp(x)\n    return h * 2.0\n", space)
    graph, _ = record(space["f"], VECTOR)
    assert names(graph) == ["h", "out"]
    assert [(node.where.short, node.where.text) for node in graph.nodes if node.where] == [
        ("f:1", ""),
        ("f:2", ""),
    ]


def test_a_frame_of_very_many_names_is_not_read() -> None:
    body = "".join(f"    v{k} = 0\n" for k in range(600))
    space: dict[str, Any] = {"np": np}
    exec(f"def f(x):\n{body}    h = np.exp(x)\n    return h\n", space)
    assert recorded_names(space["f"], VECTOR) == ["out"]


def test_the_frames_of_the_user_are_let_go() -> None:
    class Marked:
        alive = 0

        def __init__(self) -> None:
            Marked.alive += 1

        def __del__(self) -> None:
            Marked.alive -= 1

    def f(x: Any) -> Any:
        kept = Marked()
        return np.exp(x) * kept.alive

    record(f, VECTOR)
    assert Marked.alive == 0


# Sharing


def test_equal_computations_are_one_node() -> None:
    def f(x: Any) -> Any:
        a = np.exp(x) * 2.0
        b = np.exp(x) * 2.0
        return a + b

    graph, _ = record(f, VECTOR)
    assert ops_of(graph) == ["exp", "multiply", "add"]


def test_numbers_of_other_types_or_signs_are_not_shared() -> None:
    numbers = [1, 1.0, True, np.float64(1), 1 + 0j, 0.0, -0.0]
    graph, _ = record(lambda x: [x * number for number in numbers], VECTOR)
    assert len(graph.nodes) == len(numbers)
    for actual, number in zip(interpret(graph, VECTOR), numbers, strict=True):
        expected = VECTOR * number
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(np.signbit(actual.real), np.signbit(expected.real))


def test_nodes_of_a_region_are_not_shared_with_others() -> None:
    started = run(lambda x: np.exp(x), VECTOR)
    recording, (x,) = started.recording, started.inputs
    with recording.inside_region() as region:
        assert np.exp(x)._value is np.exp(x)._value
        with recording.inside_region() as inner:
            assert inner == region
            np.tanh(x)
    with recording.inside_region() as other:
        np.exp(x)
    np.exp(x)
    assert other != region
    nodes = [(node.op.name, node.region) for node in recording.graph.nodes]
    assert nodes == [("exp", 0), ("exp", region), ("tanh", region), ("exp", other)]


def test_a_region_ends_with_an_error() -> None:
    recording = run(lambda x: x, VECTOR).recording
    with pytest.raises(ZeroDivisionError), recording.inside_region():
        raise ZeroDivisionError
    assert recording.region == 0


def test_nodes_of_other_tapes_are_not_shared() -> None:
    started = run(lambda x: np.exp(x), VECTOR)
    recording, (x,) = started.recording, started.inputs
    one, two = Window(), Window()
    for window in (one, two):
        window.watch(x._value)
    for windows in ((one,), (one, two), (), (one,)):
        with recording.seen_by(windows):
            np.exp(x)
    first, second = one.number, two.number
    assert [node.tapes for node in recording.graph.nodes] == [(), (first,), (first, second)]
    assert (len(one.nodes), len(two.nodes)) == (2, 1)


# Tensors in the wrong place


def leaked(x: Any) -> Any:
    """A Tensor that outlives its recording."""
    started = run(lambda x: np.exp(x), x)
    started.finish()
    return started.leaves[0]


@pytest.mark.parametrize(
    "use",
    [np.exp, lambda t: t + 1, lambda t: np.ones(3) @ t, lambda t: t[0], float, np.asarray],
)
def test_a_tensor_is_refused_after_its_recording(use: Any) -> None:
    with pytest.raises(LeakedTensorError, match="recorded in lambda_ was used after"):
        use(leaked(VECTOR))


def test_a_tensor_of_an_abandoned_recording_is_refused() -> None:
    kept: list[Any] = []

    def f(x: Any) -> None:
        kept.append(x)
        raise KeyError

    with pytest.raises(KeyError):
        run(f, VECTOR)
    with pytest.raises(LeakedTensorError, match="recorded in f was used after"):
        np.exp(kept[0])


def test_a_leaked_tensor_is_refused_in_another_recording() -> None:
    old = leaked(VECTOR)
    with pytest.raises(LeakedTensorError, match="was used after that recording had ended"):
        run(lambda x: x + old, VECTOR)


def test_two_recordings_do_not_mix() -> None:
    def outer(x: Any) -> Any:
        return run(lambda y: y * x, VECTOR, name="inner").leaves

    with pytest.raises(LeakedTensorError, match=r"two recordings \((inner and outer|outer and in)"):
        run(outer, VECTOR)


def test_a_tensor_is_refused_on_another_thread() -> None:
    caught: list[BaseException] = []

    def f(x: Any) -> Any:
        def work() -> None:
            try:
                np.exp(x)
            except LeakedTensorError as error:
                caught.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x + 1.0

    graph, _ = record(f, VECTOR)
    assert len(graph.nodes) == 1
    assert "recorded in f was used on another thread" in str(caught[0])


def test_each_thread_has_its_own_recording() -> None:
    with Recording("f") as outer:
        seen: list[Any] = []
        thread = threading.Thread(target=lambda: seen.append(current_recording()))
        thread.start()
        thread.join()
        assert seen == [None]
        with Recording("g") as inner:
            assert current_recording() is inner
        assert current_recording() is outer
    assert current_recording() is None


# The graph


def test_a_weak_argument_knows_its_number() -> None:
    recording = Recording("f")
    kind = type_of(2.0)
    assert kind is not None
    number = recording.argument("lr", kind, 2.0)
    assert (number * 3 + 1).type is kind
    assert recording.known_value((number * 3 + 1)._value) == 7.0
    assert recording.reads == {}
    assert float(number * 3) == 6.0
    assert [(value, known) for value, (known, _) in recording.reads.items()] == [
        (number._value, 2.0)
    ]


def test_a_python_number_of_another_type_than_inferred_is_a_guarded_constant() -> None:
    """2 ** n is an int or, for negative n, a float: which is only known from the number."""
    for number, kind in ((3, int), (-1, float)):
        started = run(lambda x, n: x * 2**n, VECTOR, number)
        graph = started.finish()
        assert [known for known, _ in started.recording.reads.values()] == (
            [-1] if kind is float else []
        )
        np.testing.assert_array_equal(interpret(graph, VECTOR, number)[0], VECTOR * 2**number)


def test_an_operand_may_be_a_list() -> None:
    graph, _ = record(lambda x: x * [1.0, 2.0, 3.0], VECTOR)
    np.testing.assert_array_equal(interpret(graph, VECTOR)[0], VECTOR * [1.0, 2.0, 3.0])


def test_nothing_is_computed_while_recording() -> None:
    huge = Recording("f").argument("x", ArrayType((10**6, 10**6), np.dtype("f8")))
    assert np.exp(huge).shape == (10**6, 10**6)


SCRIPT = """
import numpy as np
import tracejit.ops
from tests.interpret import run
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.ir.printer import print_graph

def helper(a):
    scaled = {"k": a * 2.0, "j": a + np.arange(3.0)}
    return scaled["k"] + scaled["j"] + np.arange(40.0)[:3]

def f(x, w):
    for _ in range(3):
        x = np.tanh(x * w) + helper(x)
    return np.sum(x)

started = run(f, np.ones((2, 3)), np.ones(3))
seed = started.recording.argument("g", started.tensors[0].type)
print(print_graph(started.finish(*gradients(started.tensors, started.inputs, [seed]))))
"""


def test_a_graph_is_the_same_text_in_every_process(tmp_path: Path) -> None:
    texts = set()
    for seed in by_day(("0", "4242"), ("0", "1", "4242")):
        script = tmp_path / f"folder{seed}" / "script.py"
        script.parent.mkdir()
        script.write_text(SCRIPT)
        texts.add(python(script, PYTHONHASHSEED=seed))
    (text,) = texts
    assert "0x" not in text
    assert str(tmp_path) not in text
    assert "# f:2  x = np.tanh(x * w) + helper(x)" in text


def test_a_graph_is_the_same_text_in_every_run() -> None:
    def f(x: Any) -> Any:
        h = np.tanh(x * 2.0)
        return np.sum(h * h)

    assert print_graph(record(f, VECTOR)[0]) == print_graph(record(f, VECTOR)[0])


def test_errors_find_the_name_of_a_value_that_was_just_made() -> None:
    def f(x: Any) -> Any:
        h = x * 2.0
        assert isinstance(h, Tensor)
        return float(h)

    with pytest.raises(TypeError, match=r"float\(h\) needs a value, but h is being recorded"):
        run(f, VECTOR)


# Signal handlers, which may record at any instruction


def test_a_signal_handler_may_record_at_the_end_of_a_recording(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finish, answers = tracer.finish, []

    def interrupted(*args: Any) -> Any:
        monkeypatch.undo()
        finished = finish(*args)
        answers.append(tj.value_and_grad(lambda x: np.sum(x * x))(VECTOR))
        return finished

    monkeypatch.setattr(tracer, "finish", interrupted)
    value = tj.function(lambda x: np.sum(np.sin(x)), cache=False)(VECTOR)
    assert value == np.sum(np.sin(VECTOR))
    ((square, slope),) = answers
    assert square == 5.0 and np.array_equal(slope, 2 * VECTOR)


def test_a_recording_that_takes_no_more_runs_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    running = []

    def assign_names(graph: Graph) -> None:
        running.append(current_recording())

    monkeypatch.setattr(Graph, "assign_names", assign_names)
    with Recording("f") as recording:
        recording.finish([])
        assert current_recording() is None
    assert running == [None] and not recording.open
