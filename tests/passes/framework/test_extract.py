"""Extracting the part of a graph between some of its values."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graphs import random_graph, random_inputs
from tests.interpret import interpret
from tests.support.graphs import ops_of
from tracejit.ir.graph import Constant, Graph
from tracejit.ir.printer import parse_graph, print_graph
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS
from tracejit.passes.framework.extract import extract

X = np.array([1.0, -2.0, 0.5])

TEXT = """\
graph f(x: f8[3], w: f8[3]) -> out: f8
  a    f8[3] = exp x
  b    f8[3] = multiply a w
  c    f8[3] = add b 2.0
  d    f8[3] = tanh b
  out  f8    = sum c  axis=(0,)
"""


@pytest.fixture
def graph() -> Graph:
    """The graph of TEXT."""
    return parse_graph(TEXT, OPS)


def value(graph: Graph, name: str) -> object:
    """The value of this name."""
    results = [result for node in graph.nodes for result in node.results]
    return next(one for one in (*graph.inputs, *results) if one.name == name)


def lines(graph: Graph) -> list[str]:
    """The printed graph, its columns closed up."""
    return [" ".join(line.split()) for line in print_graph(verify(graph)).splitlines()]


def test_only_what_lies_between_is_copied(graph: Graph) -> None:
    b, c, d = (value(graph, name) for name in "bcd")
    assert lines(extract(graph, "g", [b], [c])) == [
        "graph g(b: f8[3]) -> c: f8[3]",
        "c f8[3] = add b 2.0",
    ]
    assert lines(extract(graph, "g", [b], [d, c])) == [
        "graph g(b: f8[3]) -> d: f8[3], c: f8[3]",
        "c f8[3] = add b 2.0",
        "d f8[3] = tanh b",
    ]


def test_inputs_come_in_the_order_given_used_or_not(graph: Graph) -> None:
    x, w, a, b = (value(graph, name) for name in "xwab")
    new = extract(graph, "g", [w, a, x], [b])
    assert lines(new) == [
        "graph g(w: f8[3], a: f8[3], x: f8[3]) -> b: f8[3]",
        "b f8[3] = multiply a w",
    ]
    assert extract(graph, "g", [w, w, a], [b]).inputs[0] is not new.inputs[0]
    assert len(extract(graph, "g", [w, w, a], [b]).inputs) == 2


def test_the_original_is_not_changed(graph: Graph) -> None:
    before = print_graph(graph)
    nodes = list(graph.nodes)
    extract(graph, "g", graph.inputs, [value(graph, "d")], {graph.inputs[1]: X})
    assert print_graph(graph) == before
    assert graph.nodes == nodes


def test_substitutes_become_constants(graph: Graph) -> None:
    x, w, b = (value(graph, name) for name in "xwb")
    new = extract(graph, "g", [x, w], [b], {w: 3.0 * X})
    assert [one.name for one in new.inputs] == ["x"]
    constants = [one for node in new.nodes for one in node.operands if isinstance(one, Constant)]
    np.testing.assert_array_equal(constants[0].data, 3.0 * X)
    np.testing.assert_array_equal(interpret(new, X)[0], np.exp(X) * (3.0 * X))


def test_an_output_may_be_an_input_a_constant_or_there_twice(graph: Graph) -> None:
    x, a, w = (value(graph, name) for name in "xaw")
    new = verify(extract(graph, "g", [x], [x, a, a, w], {w: X}))
    found = interpret(new, 2.0 * X)
    for one, expected in zip(found, (2.0 * X, np.exp(2.0 * X), np.exp(2.0 * X), X), strict=True):
        np.testing.assert_array_equal(one, expected)


def test_given_one_of_several_results_the_others_are_computed() -> None:
    text = """graph f(x: f8[3]) -> out: f8[3]
  part, whole  f8[3], f8[3] = modf x
  out          f8[3] = multiply part whole
"""
    graph = parse_graph(text, OPS)
    part, whole = graph.nodes[0].results
    x, out = graph.inputs[0], graph.outputs[0]
    new = verify(extract(graph, "g", [part, x], [out]))
    np.testing.assert_array_equal(interpret(new, 10.0 * X, X)[0], 10.0 * X * np.trunc(X))
    alone = extract(graph, "g", [part, whole], [out])
    assert ops_of(alone) == ["multiply"]


def test_places_names_and_files_stay(graph: Graph) -> None:
    graph.files = {"f": "file"}  # type: ignore[dict-item]
    b, c = value(graph, "b"), value(graph, "c")
    c.label = "mine"  # type: ignore[attr-defined]
    new = extract(graph, "g", [b], [c])
    assert new.files is graph.files
    assert new.name == "g"
    assert new.outputs[0].name == "mine"
    assert new.nodes[0].where == graph.nodes[2].where


@given(st.randoms(use_true_random=False))
def test_what_is_extracted_computes_the_same(random: Random) -> None:
    """Any outputs from any values in between, given what the whole graph computes for them."""
    inputs = random_inputs(random)
    graph = random_graph(random, inputs, 20)
    known = dict(zip(graph.inputs, inputs, strict=True))
    with np.errstate(all="ignore"):
        expected = interpret(
            graph,
            *inputs,
            observe=lambda node, _, results: known.update(zip(node.results, results, strict=True)),
        )
        computed = [one for node in graph.nodes for one in node.results]
        chosen = random.sample(computed, min(3, len(computed)))
        given = [*chosen, *graph.inputs]
        new = verify(extract(graph, "g", given, graph.outputs))
        found = interpret(new, *[known[one] for one in given])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    made = {node.op.name for node in new.nodes}
    assert len(new.nodes) <= len(graph.nodes)
    assert made <= {node.op.name for node in graph.nodes}


def test_an_alias_is_read_as_the_input_it_stands_for(graph: Graph) -> None:
    """And what computes it is not copied."""
    a, b, c = (value(graph, name) for name in "abc")
    d = value(graph, "d")
    assert lines(extract(graph, "g", [a], [c, d], aliases={b: a})) == [
        "graph g(a: f8[3]) -> c: f8[3], d: f8[3]",
        "c f8[3] = add a 2.0",
        "d f8[3] = tanh a",
    ]


def test_only_the_nodes_that_are_given_are_copied() -> None:
    """An effect that is none of them does not take place."""
    text = """\
graph f(x: f8[3]) -> y: f8[3]
  a  f8  = getitem x  index=(0,)
  b  b1  = greater a 0.0
  c  ~b1 = decide b  outcome=True
  y  f8[3] = exp x
"""
    graph = parse_graph(text, OPS)
    x, y = graph.inputs[0], graph.outputs[0]
    assert len(extract(graph, "g", [x], [y]).nodes) == 4
    pure = [node for node in graph.nodes if not node.op.effect]
    assert lines(extract(graph, "g", [x], [y], nodes=pure)) == [
        "graph g(x: f8[3]) -> y: f8[3]",
        "y f8[3] = exp x",
    ]
