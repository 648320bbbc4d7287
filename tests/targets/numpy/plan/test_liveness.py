"""Last uses: by the statement that reads a value, through whatever is written inside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.printer import parse_graph
from tracejit.ops.base.op import OPS
from tracejit.targets.numpy.plan.liveness import last_uses, read_values

TEXT = """\
graph f(x: f8[3], unused: f8[3]) -> d: f8[3]
  a  f8[3] = exp x
  b  f8[3] = tanh a
  c  f8[3] = multiply b x
  d  f8[3] = add c c
"""


@pytest.fixture
def graph() -> Graph:
    """The graph of TEXT."""
    return parse_graph(TEXT, OPS)


def uses(graph: Graph, inlined: set[Node], results: list[Value]) -> dict[str, int]:
    """The last use of every value by name."""
    statements = [node for node in graph.nodes if node not in inlined]
    return {value.name: last for value, last in last_uses(statements, inlined, results).items()}


def test_a_value_lives_until_the_last_statement_that_reads_it(graph: Graph) -> None:
    assert uses(graph, set(), graph.outputs) == {"x": 2, "a": 1, "b": 2, "c": 3, "d": 4}


def test_what_is_written_inside_a_statement_is_read_there(graph: Graph) -> None:
    inlined = set(graph.nodes[:2])
    assert uses(graph, inlined, graph.outputs) == {"x": 0, "a": 0, "b": 0, "c": 1, "d": 2}


def test_results_live_beyond_the_last_statement(graph: Graph) -> None:
    a, x = graph.nodes[0].results[0], graph.inputs[0]
    assert uses(graph, set(), [*graph.outputs, a, x]) == {"x": 4, "a": 4, "b": 2, "c": 3, "d": 4}


def test_a_result_written_in_the_return_keeps_what_it_reads(graph: Graph) -> None:
    inlined = {graph.nodes[3]}
    assert uses(graph, inlined, graph.outputs)["c"] == 3


def test_a_value_that_nothing_reads_has_no_last_use(graph: Graph) -> None:
    assert "unused" not in uses(graph, set(), graph.outputs)


def test_reads_are_listed_once_for_each_place(graph: Graph) -> None:
    last = graph.nodes[3]
    assert [value.name for value in read_values(last, set())] == ["c", "c"]
    names = [value.name for value in read_values(last, set(graph.nodes[:3]))]
    assert sorted(names) == ["a", "a", "b", "b", "c", "c", "x", "x", "x", "x"]


def test_what_the_lists_of_a_loop_hold_lives_as_long_as_they_do() -> None:
    """The first step hands on an array from outside: the derivative reads it in its list."""

    def program(w: Any, a: Any) -> Any:
        u, v = w * 1.0, a[1]
        for row in a:
            v = np.tanh(v * row + u)
            u = np.tanh(np.tanh(a[0]) * a[2])[::-1]
            if u[1] > 2.0:
                break
        return np.sum(u * v)

    rng = np.random.default_rng(3)
    w, a, direction = rng.normal(size=300), rng.normal(size=(12, 300)), rng.normal(size=(12, 300))
    _, slopes = tj.value_and_grad(program, argnums=1)(w, a)
    step = 1e-6 * direction
    slope = (program(w, a + step) - program(w, a - step)) / 2e-6
    np.testing.assert_allclose(np.sum(slopes * direction), slope, rtol=1e-6)
