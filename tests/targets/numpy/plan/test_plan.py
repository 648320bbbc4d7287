"""The plan of a body as a whole: every node once, in order, nothing read before it is there."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graphs import random_graph, random_inputs
from tracejit.ir.graph import Constant, Graph
from tracejit.ir.printer import parse_graph
from tracejit.ops.base.op import OPS
from tracejit.targets.numpy.plan.liveness import read_values
from tracejit.targets.numpy.plan.plan import Plan, plan_body

TEXT = """\
graph f(x: f8[32,16], w: f8[16,8], b: f8[8]) -> out: f8, h: f8[32,8], v: f8[8,32]
  h_1  f8[32,8] = matmul x w           # f:1  h = np.tanh(x @ w + b)
  h_2  f8[32,8] = add h_1 b
  h    f8[32,8] = tanh h_2
  s    f8[32,8] = multiply h h         # f:2  return np.sum(h * h), h, h.T
  out  f8       = sum s  axis=(0, 1)
  v    f8[8,32] = transpose h  axes=(1, 0)
"""


@pytest.fixture
def graph() -> Graph:
    """The graph of TEXT with only h named by the user."""
    graph = parse_graph(TEXT, OPS)
    for value in graph.values():
        if value.node is not None and value.name != "h":
            value.label = ""
    return graph


def names(plan: Plan) -> list[str]:
    """The results of the statements."""
    return [node.results[0].name for node in plan.statements]


def test_a_body_of_statements_in_place_results_and_residuals(graph: Graph) -> None:
    out, h, v = graph.outputs
    plan = plan_body(graph.inputs, graph.nodes, [out, v], [h])
    assert names(plan) == ["h_1", "h_2", "h", "out", "v"]
    overwritten = {node.results[0].name: value.name for node, value in plan.overwrites.items()}
    assert overwritten == {"h_2": "h_1", "h": "h_2"}
    assert plan.results == [out, v] and plan.kept == [h]
    assert plan.copies == {1}
    assert plan.last_use[h] == plan.last_use[out] == 5


def test_reads_count_operands_and_what_is_returned(graph: Graph) -> None:
    out, h, v = graph.outputs
    plan = plan_body(graph.inputs, graph.nodes, [out, h, h])
    assert plan.readers[h] == 5
    assert plan.readers[out] == 1
    assert plan.readers[v] == 0


def test_a_body_without_nodes() -> None:
    graph = parse_graph("graph f(x: f8[3]) -> x: f8[3]\n", OPS)
    plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
    assert plan.statements == []
    assert plan.copies == {0}


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_every_node_is_a_statement_or_inlined_and_read_after_it_is_made(random: Random) -> None:
    graph = random_graph(random, random_inputs(random), 25)
    plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
    statements = set(plan.statements)
    assert plan.statements == [node for node in graph.nodes if node in statements]
    assert statements | plan.inlined == set(graph.nodes)
    assert not statements & plan.inlined
    there = set(plan.inputs)
    for number, node in enumerate(plan.statements):
        for value in read_values(node, plan.inlined):
            if not isinstance(value, Constant) and value.node not in plan.inlined:
                assert value in there
            assert plan.last_use[value] >= number
        there.update(node.results)
    for value in graph.outputs:
        assert plan.last_use[value] == len(plan.statements)


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_buffer_is_overwritten_by_its_last_reader_and_once(random: Random) -> None:
    graph = random_graph(random, random_inputs(random), 25)
    plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
    assert len(set(plan.overwrites.values())) == len(plan.overwrites)
    for number, node in enumerate(plan.statements):
        old = plan.overwrites.get(node)
        if old is not None:
            assert plan.last_use[old] == number
            assert old.type is node.results[0].type
            assert old not in plan.inputs and old not in graph.outputs
            assert old.node not in plan.inlined


ENSURED = {
    "what others read": (
        """  y  f8[2,2] = inv x
  e  ~b1     = ensure y
  z  f8[2,2] = exp y
""",
        ["exp"],
        {"inv"},
    ),
    "a view of what others read": (
        """  y  f8[2,2] = inv x
  v  f8[2]   = getitem y index=(0,)
  e  ~b1     = ensure v
  z  f8[2,2] = exp y
""",
        ["exp"],
        {"inv"},
    ),
    "an argument": (
        """  v  f8[2]   = getitem x index=(0,)
  e  ~b1     = ensure v
  z  f8[2,2] = exp x
""",
        ["exp"],
        set(),
    ),
    "what has a name": (
        """  y  f8[2,2] = inv x  # f:1  y = np.linalg.inv(x)
  z  f8[2,2] = exp x
  e  ~b1     = ensure y
""",
        ["inv", "exp"],
        set(),
    ),
    "what has none, twice": (
        """  y  f8[2,2] = inv x
  v  f8[2]   = getitem y index=(0,)
  z  f8[2,2] = exp x
  e  ~b1     = ensure y
  e  ~b1     = ensure v
""",
        ["ensure", "exp"],
        {"inv"},
    ),
}


@pytest.mark.parametrize(("nodes", "statements", "inlined"), ENSURED.values(), ids=ENSURED)
def test_what_nothing_reads_is_computed_at_its_place(
    nodes: str, statements: list[str], inlined: set[str]
) -> None:
    """Once, with no line that shows what is there anyway."""
    graph = parse_graph(f"graph f(x: f8[2,2]) -> z: f8[2,2]\n{nodes}", OPS)
    for value in graph.values():
        value.label = value.label if value.name == "y" and "# f:1" in nodes else ""
    plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
    assert [node.op.name for node in plan.statements] == statements
    assert {node.op.name for node in plan.inlined} == inlined
