"""Dead code goes, effects and what outputs need stay, in the order they were in."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graphs import random_graph, random_inputs
from tests.interpret import interpret
from tracejit.ir.graph import Graph
from tracejit.ir.printer import parse_graph, print_graph
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS, Op
from tracejit.passes.framework.dce import drop_dead, needed_nodes

TICK = Op(name="tick", infer=lambda x: x, source="{0}", effect=True)

TEXT = """\
graph f(x: f8[3], unused: f8[3]) -> out: f8[3]
  a    f8[3] = exp x
  b    f8[3] = tanh x
  c    f8[3] = multiply a b
  d    f8[3] = add b 1.0
  out  f8[3] = negative d
"""


@pytest.fixture
def graph() -> Graph:
    """The graph of TEXT, of which a and c are dead."""
    return parse_graph(TEXT, OPS)


def names(nodes) -> list[str]:
    """What the nodes' first results are called."""
    return [node.results[0].name for node in nodes]


def test_only_what_outputs_need_stays_in_order(graph: Graph) -> None:
    assert names(verify(drop_dead(graph)).nodes) == ["b", "d", "out"]


def test_inputs_stay_and_the_original_is_not_changed(graph: Graph) -> None:
    before = print_graph(graph)
    new = drop_dead(graph)
    assert names(new.nodes) == ["b", "d", "out"]
    assert [value.name for value in new.inputs] == ["x", "unused"]
    assert print_graph(graph) == before


def test_effects_stay_with_what_they_need(graph: Graph) -> None:
    c = graph.nodes[2].results[0]
    graph.emit(TICK, (c,), {}, [c.type], None).results[0].name = "tick"
    assert names(drop_dead(graph).nodes) == ["a", "b", "c", "d", "out", "tick"]


def test_outputs_may_be_inputs_and_constants() -> None:
    text = "graph f(x: f8[3]) -> x: f8[3], 2.0: ~f8\n  y  f8[3] = exp x\n"
    new = verify(drop_dead(parse_graph(text, OPS)))
    assert new.nodes == []
    assert len(new.outputs) == 2


def test_no_outputs_need_nothing(graph: Graph) -> None:
    graph.outputs = []
    assert drop_dead(graph).nodes == []


def test_given_values_are_not_computed_again(graph: Graph) -> None:
    d = graph.nodes[3].results[0]
    assert names(needed_nodes(graph.nodes, graph.outputs, {d})) == ["out"]
    assert needed_nodes(graph.nodes, [d], {d}) == []


def test_one_result_of_several_is_enough_to_keep_a_node() -> None:
    text = """graph f(x: f8[3]) -> whole: f8[3]
  part, whole  f8[3], f8[3] = modf x
  more         f8[3] = exp part
"""
    graph = parse_graph(text, OPS)
    assert names(drop_dead(graph).nodes) == ["part"]


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_outputs_of_random_graphs_stay_what_they_are(random: Random) -> None:
    inputs = random_inputs(random)
    graph = random_graph(random, inputs, 20)
    new = verify(drop_dead(graph))
    needed = set(new.nodes)
    assert new.nodes == [node for node in graph.nodes if node in needed]
    with np.errstate(all="ignore"):
        for expected, found in zip(interpret(graph, *inputs), interpret(new, *inputs), strict=True):
            np.testing.assert_array_equal(found, expected)
