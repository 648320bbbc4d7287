"""Common subexpressions: merged where only tapes tell them apart, kept where regions do."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tests.interpret import interpret
from tests.support.graphs import ops_of
from tracejit.ir.graph import Graph
from tracejit.ir.printer import parse_graph
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS, Op
from tracejit.passes.exact.cse import share, share_decompositions
from tracejit.passes.framework.dce import drop_dead


def graph_with(*tapes: tuple[int, ...], region: int = 0, op: str = "exp") -> Graph:
    """y = op(x) once for each of `tapes`, all of them outputs."""
    graph = parse_graph("graph f(x: f8[3]) -> x: f8[3]\n", OPS)
    (x,) = graph.inputs
    for number, recorded in enumerate(tapes):
        node = graph.emit(OPS[op], (x,), {}, [x.type], None, region * number, recorded)
        graph.outputs.append(node.results[0])
    graph.assign_names()
    return verify(graph)


def test_nodes_that_differ_in_tapes_only_become_one() -> None:
    graph = graph_with((), (1,), (1, 2), (2,))
    assert len(graph.nodes) == 4
    new = verify(share(graph))
    assert len(new.nodes) == 1
    assert len(set(new.outputs[1:])) == 1
    assert not new.nodes[0].tapes


def test_what_depends_on_merged_values_is_merged_in_turn() -> None:
    graph = graph_with((), (1,))
    first, second = graph.outputs[1:]
    for value, tapes in ((first, ()), (second, (1,))):
        node = graph.emit(OPS["tanh"], (value,), {}, [value.type], None, tapes=tapes)
        graph.outputs.append(node.results[0])
    graph.assign_names()
    new = verify(share(graph))
    assert ops_of(new) == ["exp", "tanh"]


def test_recompute_regions_stay_apart() -> None:
    new = share(graph_with((), (1,), (1, 2), region=1))
    assert [node.region for node in new.nodes] == [0, 1, 2]


def test_effects_stay_apart() -> None:
    tick = Op(name="tick", infer=lambda x: x, source="{0}", effect=True)
    graph = parse_graph("graph f(x: f8[3]) -> x: f8[3]\n", OPS)
    for tapes in ((), (1,), (1,)):
        graph.emit(tick, tuple(graph.inputs), {}, [graph.inputs[0].type], None, tapes=tapes)
    graph.assign_names()
    assert len(share(graph).nodes) == 3


def test_without_tapes_there_is_nothing_to_merge() -> None:
    graph = graph_with(())
    assert share(graph) is graph


def test_values_stay() -> None:
    graph = graph_with((), (1,), (2,))
    x = np.array([-0.0, np.inf, np.nan])
    for expected, found in zip(interpret(graph, x), interpret(share(graph), x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_reduced_decomposition_is_a_part_of_the_full_one() -> None:
    graph = parse_graph(
        """graph f(x: f8[2,3,5]) -> a: f8[2,3,3], c: f8[2,5,5], r: f8[2,3,5], t: f8[2,3]
  a, b, c  f8[2,3,3], f8[2,3], f8[2,5,5] = svd x  full=True
  q, t, r  f8[2,3,3], f8[2,3], f8[2,3,5] = svd x  full=False
""",
        OPS,
    )
    after = verify(drop_dead(share_decompositions(graph)))
    assert ops_of(after) == ["svd", "getitem"]
    x = np.random.default_rng(1).normal(size=(2, 3, 5))
    for found, expected in zip(interpret(after, x), interpret(graph, x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    alone = parse_graph(
        """graph f(x: f8[3,5]) -> t: f8[3]
  q, t, r  f8[3,3], f8[3], f8[3,5] = svd x  full=False
""",
        OPS,
    )
    assert share_decompositions(alone) is alone


def test_what_one_branch_computes_is_not_read_in_another() -> None:
    def f(x: Any, y: Any) -> Any:
        if x[0] > 0:
            return np.sum(np.sin(x * y))
        return np.sum(np.cos(y * x))

    x, y = np.array([0.5, -2.0, 3.0]), np.array([1.5, 0.25, -1.0])
    compiled = tj.function(f)
    for given in (x, -x, x):
        np.testing.assert_allclose(compiled(given, y), f(given, y))
