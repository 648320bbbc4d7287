"""Memory: what is updated in place is ours and dead, what is returned is fresh.

The property at the end runs whole plans. The cases before it say which statements are in place, and
which results are copied.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.by_day import by_day
from tests.graphs import compiled, random_graph, random_inputs
from tests.interpret import interpret
from tests.support.compare import assert_same
from tests.support.graphs import parsed
from tracejit.ir.graph import Graph
from tracejit.ir.printer import parse_graph
from tracejit.ops.base.op import OPS
from tracejit.targets.numpy.plan.plan import plan_body


def overwritten(graph: Graph) -> dict[str, str]:
    """Which result takes over the buffer of which value."""
    plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
    return {node.results[0].name: old.name for node, old in plan.overwrites.items()}


def copies(graph: Graph, kept: int = 0) -> set[int]:
    """The positions of the outputs that are copied, the last `kept` being residuals."""
    results = graph.outputs[: len(graph.outputs) - kept]
    return plan_body(graph.inputs, graph.nodes, results, graph.outputs[len(results) :]).copies


def test_a_chain_lives_in_one_buffer() -> None:
    graph = parsed(
        "x: f8[300]) -> d: f8[300]",
        "a  f8[300] = exp x",
        "b  f8[300] = multiply a x",
        "c  f8[300] = tanh b",
        "d  f8[300] = subtract 1.0 c",
    )
    assert overwritten(graph) == {"b": "a", "c": "b", "d": "c"}


def test_inputs_are_never_overwritten() -> None:
    graph = parsed("x: f8[300]) -> a: f8[300]", "a  f8[300] = negative x")
    assert overwritten(graph) == {}


def test_constants_are_never_overwritten() -> None:
    graph = parse_graph("graph f(x: f8[300]) -> x: f8[300]\n", OPS)
    ones = graph.constant(np.linspace(0.0, 1.0, 300))
    node = graph.emit(OPS["multiply"], (ones, graph.inputs[0]), {}, [ones.type], None)
    graph.outputs = list(node.results)
    graph.assign_names()
    assert overwritten(graph) == {}


def test_what_is_read_later_is_not_overwritten() -> None:
    graph = parsed(
        "x: f8[300]) -> c: f8[300]",
        "a  f8[300] = exp x",
        "b  f8[300] = tanh a",
        "c  f8[300] = multiply a b",
    )
    assert overwritten(graph) == {"c": "a"}


def test_results_and_residuals_are_not_overwritten() -> None:
    graph = parsed("x: f8[300]) -> a: f8[300]", "a  f8[300] = exp x", "b  f8[300] = tanh a")
    a, b = (node.results[0] for node in graph.nodes)
    assert not plan_body(graph.inputs, graph.nodes, [a, b]).overwrites
    assert not plan_body(graph.inputs, graph.nodes, [b], [a]).overwrites


def test_a_value_whose_view_is_read_later_is_not_overwritten() -> None:
    graph = parsed(
        "x: f8[20,20]) -> c: f8[20,20]",
        "a  f8[20,20] = exp x",
        "v  f8[20,20] = transpose a  axes=(1, 0)",
        "b  f8[20,20] = tanh a",
        "c  f8[20,20] = matmul v b",
    )
    assert overwritten(graph) == {}


def test_a_view_is_not_overwritten() -> None:
    graph = parsed(
        "x: f8[30,20]) -> b: f8[600]",
        "a  f8[30,20] = exp x",
        "v  f8[600] = reshape a  shape=(600,)",
        "b  f8[600] = tanh v",
    )
    assert overwritten(graph) == {}


WHOLE = (
    "a  f8[30,20] = exp x",
    "v  f8[600] = ravel a",
    "b  f8[600] = add_slice v y  index=(('slice', 1, 6, None),)",
    "w  f8[30,20] = reshape b  shape=(30, 20)",
    "c  f8[30,20] = add_slice w y  index=(('slice', 1, None, None), ('slice', 2, 7, None))",
)


def test_all_of_an_array_in_another_shape_is_updated_in_place() -> None:
    graph = parsed("x: f8[30,20], y: f8[5]) -> c: f8[30,20]", *WHOLE)
    assert overwritten(graph) == {"b": "v", "c": "w"}
    assert copies(graph) == set()


def test_what_is_read_in_its_own_shape_is_not_updated() -> None:
    graph = parsed("x: f8[30,20], y: f8[5]) -> d: f8[30,20]", *WHOLE, "d  f8[30,20] = multiply a c")
    assert overwritten(graph) == {"c": "w", "d": "a"}


def test_a_part_in_another_shape_is_not_updated() -> None:
    graph = parsed(
        "x: f8[30,20], y: f8[5]) -> b: f8[300]",
        "a  f8[30,20] = exp x",
        "p  f8[15,20] = getitem a  index=(('slice', 15, None, None),)",
        "v  f8[300] = ravel p",
        "b  f8[300] = add_slice v y  index=(('slice', 1, 6, None),)",
    )
    assert overwritten(graph) == {}


def test_only_the_same_shape_and_dtype_is_overwritten() -> None:
    graph = parsed(
        "x: f8[20,20], y: f4[20,20]) -> c: f8[20,20]",
        "a  f8[20] = sum x  axis=(0,)",
        "b  f8[20,20] = multiply a x",
        "d  f4[20,20] = exp y",
        "c  f8[20,20] = multiply d x",
    )
    assert overwritten(graph) == {}


def test_small_arrays_and_scalars_are_not_updated_in_place() -> None:
    graph = parsed("x: f8[3], s: f8) -> b: f8[3], t: f8",
        "a  f8[3] = exp x",
        "b  f8[3] = tanh a",
        "r  f8 = exp s",
        "t  f8 = tanh r",
    )  # fmt: skip
    assert overwritten(graph) == {}


@pytest.mark.parametrize("infix", ["less", "equal", "logical_and"])
def test_booleans_compared_in_place(infix: str) -> None:
    graph = parsed(
        "x: f8[300]) -> c: b1[300]",
        "a  b1[300] = less x 0.5",
        "b  b1[300] = greater x -0.5",
        f"c  b1[300] = {infix} a b",
    )
    plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
    assert plan.overwrites
    x = np.linspace(-1.0, 1.0, 300)
    assert_same(interpret(graph, x)[0], compiled(plan).forward(x)[0][0])


def test_an_input_that_is_returned_is_copied() -> None:
    graph = parsed("x: f8[3], s: f8, n: ~i8) -> x: f8[3], s: f8, n: ~i8")
    assert copies(graph) == {0}


def test_a_constant_that_is_returned_is_copied() -> None:
    text = "graph f(x: f8[2]) -> c_1: f8[2]\n  c_1 f8[2] = constant [1.0,2.0]\n"
    assert copies(parse_graph(text, OPS)) == {0}


def test_one_value_returned_twice_is_copied_once() -> None:
    graph = parsed("x: f8[3]) -> a: f8[3], a: f8[3]", "a  f8[3] = exp x")
    assert copies(graph) == {1}


def test_a_result_that_is_a_residual_too_is_copied() -> None:
    graph = parsed("x: f8[3]) -> a: f8[3], a: f8[3]", "a  f8[3] = exp x")
    assert copies(graph, kept=1) == {0}


def test_a_view_of_an_input_is_copied() -> None:
    graph = parsed("x: f8[3,1]) -> v: f8[3]", "v  f8[3] = reshape x  shape=(3,)")
    assert copies(graph) == {0}


def test_a_view_of_all_that_is_ours_need_not_be_copied() -> None:
    graph = parsed(
        "x: f8[3,1]) -> v: f8[3]", "a  f8[3,1] = exp x", "v  f8[3] = reshape a  shape=(3,)"
    )
    assert copies(graph) == set()


def test_a_view_of_a_part_is_copied_so_that_the_rest_is_freed() -> None:
    graph = parsed(
        "x: f8[9]) -> v: f8[1]",
        "a  f8[9] = exp x",
        "v  f8[1] = getitem a  index=(('slice', None, 1, None),)",
    )
    assert copies(graph) == {0}


def test_a_value_and_its_view_are_two_arrays() -> None:
    graph = parsed(
        "x: f8[3,1]) -> a: f8[3,1], v: f8[3]",
        "a  f8[3,1] = exp x",
        "v  f8[3] = reshape a  shape=(3,)",
    )
    assert copies(graph) == {1}


def frozen(inputs: list[Any]) -> list[Any]:
    """`inputs`, whose arrays must not be written to."""
    for value in inputs:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return inputs


@settings(max_examples=by_day(30, 150), deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([8, 20, 50]))
@np.errstate(all="ignore")
def test_a_body_writes_to_no_input_and_returns_fresh_arrays(random: Random, steps: int) -> None:
    inputs = frozen(random_inputs(random))
    graph = random_graph(random, inputs, steps)
    nodes = [value for value in graph.values() if value.node is not None]
    kept = random.sample(nodes, min(len(nodes), random.randint(0, 3)))
    forward = compiled(plan_body(graph.inputs, graph.nodes, graph.outputs, kept)).forward
    results, residuals = forward(*inputs)
    expected = interpret(graph, *inputs)
    for value, result in zip(expected, results, strict=True):
        assert_same(value, result)
    arrays = [result for result in results if isinstance(result, np.ndarray)]
    others = [value for value in (*inputs, *residuals) if isinstance(value, np.ndarray)]
    for number, array in enumerate(arrays):
        assert array.flags.writeable and not array.flags.writebackifcopy
        for other in (*others, *arrays[:number]):
            assert not np.shares_memory(array, other)
    graph.outputs = kept
    for value, residual in zip(interpret(graph, *inputs), residuals, strict=True):
        assert_same(value, residual)


@settings(max_examples=by_day(10, 30), deadline=None)
@given(st.randoms(use_true_random=False))
@np.errstate(all="ignore")
def test_a_second_call_gives_the_same(random: Random) -> None:
    inputs = random_inputs(random)
    graph = random_graph(random, inputs, 20)
    forward = compiled(plan_body(graph.inputs, graph.nodes, graph.outputs)).forward
    first, _ = forward(*inputs)
    before = [np.copy(result) for result in first]
    for result in first:
        if isinstance(result, np.ndarray):
            result[...] = 1  # results belong to the caller
    for value, result in zip(before, forward(*inputs)[0], strict=True):
        np.testing.assert_array_equal(result, value)
