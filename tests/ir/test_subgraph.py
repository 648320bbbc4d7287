"""Bodies: taken out of a recording, as graphs of their own, and read back from the printed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret, record
from tracejit.ir.graph import Graph
from tracejit.ir.printer import parameter_text, parse_graph, print_graph
from tracejit.ir.subgraph import (
    Subgraph,
    bodies_of,
    dependents,
    every_node,
    needed_for,
    values_around,
)
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS
from tracejit.support.errors import GraphError

X = np.arange(1.0, 4.0)
PARAMS = "body=step invariants=1 carried=1 length=3 reverse=False"


def running(x: Any, w: Any) -> Any:
    def step(total: Any, e: Any) -> Any:
        total = np.tanh(total * w) + e
        return total, total

    return tj.scan(step, np.float64(0.5), x)


def nested(x: Any, w: Any) -> Any:
    def outer(total: Any, row: Any) -> Any:
        def inner(part: Any, e: Any) -> Any:
            return part * w + np.sin(e), part

        part, parts = tj.scan(inner, total, row)
        return part, np.sum(parts)

    return tj.scan(outer, np.float64(0.5), x)


def choosing(x: Any, w: Any) -> Any:
    def first() -> Any:
        return tj.while_loop(lambda v: np.sum(v) < 20.0, lambda v: v * 1.5 + w, x)

    return tj.cond(w > 0.5, lambda: x * w, first)


def gradient_of_a_while(x: Any, w: Any) -> Any:
    def f(x: Any) -> Any:
        found = tj.while_loop(lambda v: np.sum(v) < 20.0, lambda v: v * 1.5 + np.sin(v * w), x)
        return np.sum(found)

    return f(x), tj.grad(f)(x)


def loop_of(f: Any, *arguments: Any) -> Graph:
    """The graph of a call with one loop."""
    return record(f, *arguments)[0]


def body_of(graph: Graph) -> Subgraph:
    """The body of the only loop of a graph."""
    ((_, body),) = [one for node in graph.nodes for one in bodies_of(node)]
    return body


def test_a_body_is_printed_under_its_node() -> None:
    lines = print_graph(loop_of(running, X, np.float64(0.3))).splitlines()
    assert [line.partition("  #")[0].rstrip() for line in lines] == [
        "graph running(x: f8[3], w: f8) -> total: f8, out: f8[3]",
        f"  total, out  f8, f8[3] = loop w f8(0.5) x  {PARAMS}",
        "    body: graph step(w: f8, total: f8, e: f8, t: ~i8) -> total_3: f8, total_3: f8",
        "      total_1  f8 = multiply total w",
        "      total_2  f8 = tanh total_1",
        "      total_3  f8 = add total_2 e",
    ]
    assert lines[3].endswith("# step:1  total = np.tanh(total * w) + e")


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (running, X),
        (nested, np.arange(6.0).reshape(2, 3)),
        (choosing, X),
        (gradient_of_a_while, X),
    ],
    ids=["plain", "nested", "choice", "lists"],
)
def test_bodies_are_read_back(f: Any, x: Any) -> None:
    w = np.float64(0.3)
    graph = loop_of(f, x, w)
    text = print_graph(graph)
    again = verify(parse_graph(text, OPS))
    assert print_graph(again) == text
    for one, other in zip(interpret(again, x, w), interpret(graph, x, w), strict=True):
        np.testing.assert_array_equal(one, other)


def test_bodies_in_a_tuple_are_read_back() -> None:
    graph = loop_of(running, X, np.float64(0.3))
    body = body_of(graph)
    assert parameter_text((body, body)) == parameter_text(body) * 2
    graph.nodes[-1].params.update(body=(body, body), reverse=body)
    text = print_graph(graph)
    assert "body=(step,step)" in text
    assert text.count("    body: graph step(") == 2
    params = _params_of(text)
    assert [type(one) for one in params["body"]] == [Subgraph, Subgraph]
    assert type(params["reverse"]) is Subgraph


def _params_of(text: str) -> dict[str, Any]:
    """The parameters of the last node of a printed graph, read back."""
    return parse_graph(text, OPS).nodes[-1].params


def test_bodies_that_differ_are_printed_differently() -> None:
    def doubled(x: Any, w: Any) -> Any:
        def step(total: Any, e: Any) -> Any:
            return total * 2.0 + e, None

        return tj.scan(step, np.float64(0.5), x)[0]

    def tripled(x: Any, w: Any) -> Any:
        def step(total: Any, e: Any) -> Any:
            return total * 3.0 + e, None

        return tj.scan(step, np.float64(0.5), x)[0]

    one, other = (
        parameter_text(body_of(loop_of(f, X, np.float64(1.0)))) for f in (doubled, tripled)
    )
    assert one.replace("2.0", "3.0") == other
    assert one != other


def test_an_array_constant_belongs_to_the_graph_around() -> None:
    table = np.arange(40.0)

    def f(x: Any, w: Any) -> Any:
        return tj.scan(lambda total, e: (total + np.sum(table * e), None), np.float64(0.0), x)[0]

    graph = loop_of(f, X, np.float64(0.0))
    assert not body_of(graph).graph.constants()
    assert any(constant.type.shape == (40,) for constant in graph.constants())


def test_every_node_is_found() -> None:
    graph = loop_of(nested, np.arange(6.0).reshape(2, 3), np.float64(0.3))
    names = [node.op.name for node in every_node(graph.nodes)]
    assert names.count("loop") == 2
    assert {"multiply", "sin", "sum"} <= {*names}


def test_what_a_body_needs_and_reads() -> None:
    graph = record(lambda x, y: np.exp(x) * y + np.sin(y), X, X, name="f")[0]
    x, y = graph.inputs
    assert [node.op.name for node in dependents(graph.nodes, [x])] == ["exp", "multiply", "add"]
    assert [node.op.name for node in dependents(graph.nodes, [y])] == ["multiply", "sin", "add"]
    product = graph.nodes[1].results[0]
    needed = needed_for(graph.outputs, graph.nodes, [product])
    assert [node.op.name for node in needed] == ["sin", "add"]
    assert values_around(needed, graph.outputs, []) == [y, product]


def test_an_extension_of_an_equal_body_is_one_of_that_body() -> None:
    first, second = (body_of(loop_of(running, X, np.float64(0.3))) for _ in range(2))
    wider = [*second.outputs, second.nodes[0].results[0]]
    extended = Subgraph(second.parent, "step", second.inputs, second.nodes, wider, second)
    assert extended.extended_from(first).base is first
    text = parameter_text(extended)
    assert parameter_text(extended.extended_from(first)) == text != parameter_text(first)


def test_a_broken_body_is_found() -> None:
    graph = loop_of(running, X, np.float64(0.3))
    verify(graph)
    body_of(graph).graph.nodes.reverse()
    with pytest.raises(GraphError, match=r"step: node 0 .* before it is made"):
        verify(graph)


def test_a_body_that_does_not_fit_its_operands_is_found() -> None:
    graph = loop_of(running, X, np.float64(0.3))
    node = graph.nodes[-1]
    node.operands = (node.operands[0], graph.constant(np.float32(0.5)), node.operands[2])
    with pytest.raises(
        GraphError, match=r"a body from .* does not fit operands \[f8, f4, f8\[3\]\]"
    ):
        verify(graph)
