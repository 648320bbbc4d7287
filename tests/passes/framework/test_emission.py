"""What rules are made with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rewrites import graph_of
from tracejit.ir.graph import Constant
from tracejit.ops.control import control_flow
from tracejit.passes.framework.emission import emit, is_real, made_by, number_of


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


def test_what_raises_is_left_to_the_call() -> None:
    graph = graph_of("x: f8[3]", "y f8[3] = exp x")
    value = emit(graph, graph.nodes[0], "inv", (graph.constant(np.zeros((1, 1))),))
    assert not isinstance(value, Constant)
    assert value.node is not None


def doubled(x: Any) -> Any:
    return tj.while_loop(lambda v: v * v < 10.0, lambda v: 2.0 * v, x)


LOOPS = {
    "of constants": lambda x: x + tj.fori_loop(0, 100, lambda i, y: np.sin(y) + 0.5, 1.0),
    "in a side": lambda x: tj.cond(x < 5.0, lambda: doubled(x), lambda: x),
    "in a loop": lambda x: tj.fori_loop(0, 3, lambda i, v: doubled(0.1 * v), x),
    "of numbers in a loop": lambda x: tj.fori_loop(
        0, 5, lambda i, v: v + x * tj.fori_loop(0, 20, lambda j, k: k + i, 1), 0.0
    ),
}


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("name", LOOPS)
def test_the_compiler_runs_no_body(
    name: str, batched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> Any:
        raise AssertionError("a body was run")

    f, x = LOOPS[name], np.array([0.3, 1.0, 7.0])
    expected = [f(one) for one in x]
    monkeypatch.setattr(control_flow, "run", refuse)
    compiled = tj.vmap(f) if batched else tj.function(f)
    found = compiled(x) if batched else [compiled(one) for one in x]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_real_values() -> None:
    graph = graph_of(
        "a: f8[3], b: f4, c: f8[], d: ~f8, e: i8[3], f: c16[3], g: f2[3]", "y f4 = exp b"
    )
    assert [is_real(value) for value in graph.inputs] == [True, True, *[False] * 5]
