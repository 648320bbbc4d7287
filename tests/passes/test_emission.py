"""What rules are made with."""

from __future__ import annotations

import numpy as np

from tests.rewrites import graph_of
from tracejit.ir.graph import Constant
from tracejit.passes.emission import emit, is_real, made_by, number_of


def test_what_is_emitted_stands_in_the_place_of_a_node() -> None:
    graph = graph_of("x: f8[3]", "y f8[3] = exp x")
    (node,) = graph.nodes
    node.region = 2
    value = emit(graph, node, "tanh", (graph.inputs[0],))
    assert value.node is not None
    assert (value.node.region, value.node.where, value.base) == (2, node.where, "y")
    assert made_by(value, "tanh", "exp") is value.node
    assert made_by(value, "sin") is None
    assert made_by(graph.inputs[0], "exp") is None


def test_constants_are_folded() -> None:
    graph = graph_of("x: f8[3]", "y f8[3] = exp x")
    folded = emit(graph, graph.nodes[0], "add", (graph.constant(np.float64(2.0)),) * 2)
    assert isinstance(folded, Constant)
    assert (number_of(folded), number_of(graph.inputs[0])) == (4.0, None)
    assert number_of(graph.constant(np.ones(1))) is None


def test_real_values() -> None:
    graph = graph_of(
        "a: f8[3], b: f4, c: f8[], d: ~f8, e: i8[3], f: c16[3], g: f2[3]", "y f4 = exp b"
    )
    assert [is_real(value) for value in graph.inputs] == [True, True, *[False] * 5]
