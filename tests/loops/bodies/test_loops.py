"""Invariants leave a loop, and nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret
from tests.support.graphs import ops_of
from tracejit.ir.graph import Graph
from tracejit.ir.printer import parse_graph, print_graph
from tracejit.ir.subgraph import bodies_of
from tracejit.ir.verify import verify
from tracejit.loops.bodies.loops import (
    emit_like,
    graphs_of,
    has_bodies,
    hoist_invariants,
    in_bodies,
    moved_node,
    with_inputs,
)
from tracejit.ops.base.op import OPS
from tracejit.passes.framework.rebuild import rebuild

X, W = np.arange(1.0, 5.0), np.float64(0.5)
TEXT = """graph f(x: f8[4], w: f8) -> last: f8, rows: f8[4]
  v_1         f8        = exp w
  last, rows  f8, f8[4] = loop w 0.0 x  body=step invariants=1 carried=1 length=4 reverse=False
    body: graph step(w: f8, c: f8, e: f8, t: ~i8) -> d: f8, v_1: f8
      v_1  f8 = sin w
      v_2  f8 = multiply v_1 v_1
      v_3  f8 = multiply v_2 c
      d    f8 = add v_3 e
""".replace(" 0.0 x", " f8(0.0) x")


def loop(text: str = TEXT) -> Graph:
    """A graph with a loop, which satisfies every invariant."""
    return verify(parse_graph(text, OPS))


def same(before: Graph, after: Graph) -> Graph:
    """`after`, which computes what `before` does, and is well formed."""
    for one, other in zip(interpret(before, X, W), interpret(after, X, W), strict=True):
        np.testing.assert_array_equal(one, other)
    return verify(after)


def ops_in_bodies(graph: Graph) -> list[str]:
    """The ops of the bodies of the nodes of a graph."""
    bodies = [body for node in graph.nodes for _, body in bodies_of(node)]
    return [node.op.name for body in bodies for node in body.graph.nodes]


def test_what_depends_on_invariants_alone_is_computed_before_the_loop() -> None:
    before = loop()
    after = same(before, hoist_invariants(before))
    assert ops_in_bodies(after) == ["multiply", "add"]
    assert ops_of(after) == ["exp", "sin", "multiply", "loop"]


def test_what_is_moved_gets_a_name_of_its_own() -> None:
    """`v_1` of the body is not `v_1` of the graph around it."""
    after = hoist_invariants(loop())
    names = [value.name for value in after.values()]
    assert len(set(names)) == len(names)
    assert "v_1" in names


@pytest.mark.parametrize("line", ["v_1  f8 = draw g  call='normal()'", "v_1  f8 = sin e"])
def test_draws_and_what_differs_from_step_to_step_stay(line: str) -> None:
    text = TEXT.replace("v_1  f8 = sin w", line)
    if "draw" in line:
        generator = np.random.default_rng(3)

        def noisy(x: Any, g: Any) -> Any:
            return tj.scan(lambda c, e: (c + g.normal() * e, None), 0.0, x)[0]

        call = tj.function(noisy)
        assert call(X, generator) == noisy(X, np.random.default_rng(3))
        assert call.source.index("for ") < call.source.index("g.normal()")
    else:
        before = loop(text)
        assert ops_in_bodies(same(before, hoist_invariants(before))) == ops_in_bodies(before)


FILL = """graph f(x: f8[4], w: f8) -> last: f8[4]
  last  f8[4] = loop x x  body=step invariants=0 carried=1 length=4 reverse=False
    body: graph step(c: f8[4], e: f8, t: ~i8) -> d: f8[4]
      z    f8[4] = full  shape=(4,) fill=0 dtype=f8
      d_1  f8[4] = multiply c e
      d    f8[4] = add d_1 z
"""


def test_an_array_of_one_number_may_stay_in_the_body() -> None:
    before = loop(FILL)
    assert ops_in_bodies(hoist_invariants(before, with_fills=False)) == ops_in_bodies(before)
    outside = same(before, hoist_invariants(before))
    assert ops_in_bodies(outside) == ["multiply", "add"]


def test_a_pass_runs_in_every_body_the_innermost_first() -> None:
    inner = "graph g(c: f8, t: ~i8) -> h: f8\n  h  f8 = tanh c\n"
    nested = TEXT.replace(
        "      v_3  f8 = multiply v_2 c\n",
        "      v_3  f8 = loop c  body=g invariants=0 carried=1 length=2 reverse=False\n"
        "        body: graph g(c: f8, t: ~i8) -> h: f8\n          h  f8 = tanh c\n",
    )
    assert inner.splitlines()[0].removeprefix("graph ") in nested
    before = loop(nested)
    seen = []

    def note(graph: Graph) -> Graph:
        seen.append(graph.name)
        return graph

    assert print_graph(in_bodies(before, note)) == print_graph(before)
    assert seen[0] in ("g", "step")
    assert "step" in seen
    assert has_bodies(before)
    assert not has_bodies(parse_graph(inner, OPS))


def test_a_loop_with_another_body_stands_in_the_place_of_the_first() -> None:
    before = loop()

    def rewrite(new: Graph, node: Any, operands: Any) -> Any:
        (body,) = graphs_of(node)
        wider = with_inputs(body, body.inputs, body.nodes, [*body.outputs, body.outputs[0]], {})
        return emit_like(new, node, operands, wider).results[:2]

    after = same(before, rebuild(before, rewrite, ops=("loop",)))
    assert [value.type.shape for value in after.nodes[-1].results] == [(), (4,), (4,)]


def test_a_node_that_is_there_is_not_moved_twice() -> None:
    graph, other = loop(), loop()
    (body,) = graphs_of(other.nodes[-1])
    (w,) = [value for value in graph.inputs if value.name == "w"]
    first, second = (
        moved_node(graph, body.nodes[0], (w,), segment=0, region=0, tapes=()) for _ in range(2)
    )
    assert first is second
    graph.complete_names()
    names = [value.name for value in graph.values()]
    assert len(set(names)) == len(names)
