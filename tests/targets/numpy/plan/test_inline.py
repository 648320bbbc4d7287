"""What is written inside the expression that uses it: single uses, small or adjacent, never what
the user named."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graphs import random_graph, random_inputs
from tests.support.graphs import parsed
from tracejit.ir.graph import Graph, Node
from tracejit.passes.framework.dce import drop_dead
from tracejit.support.cost_model import costs
from tracejit.targets.numpy.plan.inline import inlined_nodes
from tracejit.targets.numpy.plan.plan import plan_body


def inlined(graph: Graph) -> list[str]:
    """The names of the values written inside expressions in the first place."""
    found = inlined_nodes(graph.nodes, graph.outputs)
    return [node.results[0].name for node in graph.nodes if node in found]


def planned(graph: Graph) -> list[str]:
    """The names of the values that are no statements of a plan."""
    plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
    return [node.results[0].name for node in graph.nodes if node in plan.inlined]


def test_what_a_statement_reads_in_a_loop_is_computed_before_it() -> None:
    graph = parsed(
        "x: f8[3,2]) -> c: f8[4]",
        "a  f8[3,2] = exp x",
        "c  f8[4] = add_windows a  shape=(4,) window_shape=(2,) axis=(0,)",
    )
    assert inlined(graph) == []


def test_what_nothing_reads_may_stand_anywhere() -> None:
    graph = parsed(
        "x: f8[3]) -> b: f8[3]", "a  f8[2] = full shape=(2,) fill=0.0 dtype=f8", "b  f8[3] = exp x"
    )
    assert inlined(graph) == ["a"]


def test_small_single_uses_are_inlined() -> None:
    graph = parsed(
        "x: f8[3]) -> c: f8[3]",
        "a  f8[3] = exp x",
        "b  f8[3] = multiply a x",
        "c  f8[3] = negative b",
    )
    assert inlined(graph) == ["a", "b"]


def test_what_the_user_named_keeps_its_line() -> None:
    nodes = ("a  f8[3] = exp x", "b  f8[3] = multiply a x", "c  f8[3] = negative b")
    graph = parsed("x: f8[3]) -> c: f8[3]", *nodes, named="a")
    assert inlined(graph) == ["b"]


def test_the_cotangent_of_what_the_user_named_keeps_its_line() -> None:
    nodes = ("h_bar  f8[3] = exp x", "c  f8[3] = negative h_bar")
    graph = parsed("x: f8[3]) -> c: f8[3]", *nodes)
    graph.nodes[0].results[0].derived = (graph.inputs[0], "_bar")
    assert inlined(graph) == []


def test_a_value_used_twice_is_a_statement() -> None:
    graph = parsed(
        "x: f8[3]) -> c: f8[3]",
        "a  f8[3] = exp x",
        "b  f8[3] = multiply a a",
        "c  f8[3] = add a b",
    )
    assert inlined(graph) == ["b"]


def test_results_are_statements() -> None:
    graph = parsed("x: f8[3]) -> a: f8[3], b: f8[3]", "a  f8[3] = exp x", "b  f8[3] = tanh a")
    assert inlined(graph) == []


def test_large_arrays_are_statements_where_they_are_updated_in_place() -> None:
    graph = parsed(
        "x: f8[300]) -> c: f8[300]",
        "a  f8[300] = exp x",
        "b  f8[300] = multiply a x",
        "c  f8[300] = negative b",
    )
    assert inlined(graph) == []
    assert planned(graph) == []


def test_a_large_array_is_inlined_in_the_next_statement_where_no_buffer_is_lost() -> None:
    graph = parsed(
        "x: f8[30,20], w: f8[20,20]) -> c: f8[30,20]",
        "a  f8[30,20] = matmul x w",
        "b  f8[30,20] = tanh x",
        "s  f8[30,20] = multiply x x",
        "c  f8[30,20] = add b s",
    )
    # c may overwrite b, so s loses nothing; a is dead, and nothing reads it.
    assert planned(graph) == ["s"]


def test_a_large_array_is_not_inlined_across_another_statement() -> None:
    graph = parsed(
        "x: f8[30,20]) -> t: f8, c: f8[30,20]",
        "a  f8[30,20] = multiply x x",
        "t  f8 = sum x  axis=(0, 1)",
        "c  f8[30,20] = exp a",
    )
    assert planned(graph) == []


def test_a_large_array_that_the_next_statement_reads_twice_is_not_inlined() -> None:
    graph = parsed(
        "x: f8[30,20]) -> c: f8",
        "a  f8[30,20] = multiply x x",
        "b  f8[30,20] = multiply a a",
        "c  f8 = sum b  axis=(0, 1)",
    )
    # b overwrites a, and is then a buffer itself.
    assert planned(graph) == []


def test_views_of_named_values_may_be_repeated() -> None:
    graph = parsed(
        "x: f8[30,20], w: f8[30,20]) -> c: f8[20,20], d: f8[20,20]",
        "v  f8[20,30] = transpose w  axes=(1, 0)",
        "c  f8[20,20] = matmul v x",
        "e  f8[20,20] = matmul v w",
        "d  f8[20,20] = add c e",
    )
    assert inlined(graph) == ["v"]


def test_another_shape_that_is_updated_is_a_statement() -> None:
    graph = parsed(
        "x: f8[3,2], y: f8[2]) -> b: f8[6]",
        "v  f8[6] = ravel x",
        "b  f8[6] = add_slice v y  index=(('slice', 1, 3, None),)",
    )
    assert inlined(graph) == []


def test_an_array_that_is_updated_is_a_statement() -> None:
    update = "b  f8[6] = add_slice v y  index=(('slice', 1, 3, None),)"
    graph = parsed("x: f8[6], y: f8[2]) -> b: f8[6]", "v  f8[6] = add x 1.0", update)
    assert inlined(graph) == []


def test_a_reduction_to_a_small_result_ends_the_line_it_is_used_on() -> None:
    nodes = (
        "a  f8 = sum x  axis=(0, 1)            # f:1  return np.sum(x) * 2.0",
        "b  f8 = multiply a 2.0",
    )
    assert inlined(parsed("x: f8[30,20]) -> b: f8", *nodes)) == ["a"]
    apart = (nodes[0], "b  f8 = multiply a 2.0  # f:2  return a * 2.0")
    assert inlined(parsed("x: f8[30,20]) -> b: f8", *apart)) == []


def test_several_results_and_effects_are_statements() -> None:
    graph = parsed(
        "x: f8[3]) -> c: f8[3]",
        "a, b  f8[3], f8[3] = modf x",
        "c     f8[3] = add a b",
    )
    assert inlined(graph) == []


def test_expressions_stay_short() -> None:
    nodes = [f"v{k + 1}  f8[3] = tanh v{k}" for k in range(20)]
    graph = parsed("v0: f8[3]) -> v20: f8[3]", *nodes)
    statements = len(nodes) - len(inlined(graph))
    assert statements == pytest.approx(len(nodes) / (costs().expression_operations + 1), abs=1)


def operations(node: Node, within: set[Node]) -> int:
    """The number of operations written in the expression of `node`."""
    inside = [v.node for v in node.operands if v.node is not None and v.node in within]
    return 1 + sum(operations(one, within) for one in inside)


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_what_is_inlined_is_written_once_or_is_a_view(random: Random) -> None:
    graph = drop_dead(random_graph(random, random_inputs(random), 30))
    plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
    for node in plan.inlined:
        (value,) = node.results
        assert not value.is_named and value not in graph.outputs
        assert plan.readers[value] == 1 or node.op.name == "transpose"
        assert operations(node, plan.inlined) <= costs().expression_operations
