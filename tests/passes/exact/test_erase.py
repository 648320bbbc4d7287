"""Erasing markers: an override is its values, and nothing else of it remains."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret, record
from tests.support.graphs import ops_of
from tracejit.ir.printer import parse_graph, print_graph
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS
from tracejit.passes.exact.erase import erase_markers
from tracejit.passes.framework.dce import drop_dead


def erased(text: str) -> list[str]:
    """The nodes that print after erasing, without the head."""
    graph = verify(erase_markers(parse_graph(text, OPS)))
    return [" ".join(line.split()) for line in print_graph(graph).splitlines()[1:]]


def test_an_override_becomes_its_value() -> None:
    text = """graph f(x: f8[3]) -> out: f8
  q_1  f8[3] = rint x
  q    f8[3] = override q_1 <- x  outputs=1 grad=rint
  out  f8    = sum q  axis=(0,)
"""
    assert erased(text) == ["q_1 f8[3] = rint x", "out f8 = sum q_1 axis=(0,)"]


def test_the_users_name_goes_to_the_value() -> None:
    text = """graph f(x: f8[3]) -> q: f8[3]
  q_1  f8[3] = rint x
  q    f8[3] = override q_1 <- x  outputs=1 grad=rint
"""
    graph = parse_graph(text, OPS)
    graph.nodes[0].results[0].label = ""
    graph.nodes[0].results[0].name = ""
    new = erase_markers(graph)
    assert [value.name for value in new.outputs] == ["q"]


def test_several_values_go_each_to_its_place() -> None:
    text = """graph f(x: f8[3], y: f8[3]) -> b: f8[3], a: f8[3]
  e     f8[3] = exp x
  a, b  f8[3], f8[3] = override e y <- x y  outputs=2 grad=rule
"""
    graph = verify(erase_markers(parse_graph(text, OPS)))
    assert graph.outputs == [graph.inputs[1], graph.nodes[0].results[0]]


def test_what_only_the_gradient_needed_is_dead_afterwards() -> None:
    text = """graph f(x: f8[3]) -> out: f8[3]
  unused  f8[3] = exp x
  out     f8[3] = override x <- unused  outputs=1 grad=rule
"""
    graph = drop_dead(erase_markers(parse_graph(text, OPS)))
    assert graph.nodes == []


def test_overrides_of_overrides_vanish_together() -> None:
    text = """graph f(x: f8[3]) -> c: f8[3]
  a  f8[3] = override x  outputs=1 grad=stop_gradient
  b  f8[3] = override a <- x  outputs=1 grad=rint
  c  f8[3] = tanh b
"""
    assert erased(text) == ["c f8[3] = tanh x"]


def test_a_graph_without_markers_is_left_alone() -> None:
    graph = parse_graph("graph f(x: f8[3]) -> y: f8[3]\n  y  f8[3] = tanh x\n", OPS)
    assert erase_markers(graph) is graph


@tj.custom_gradient
def doubled(x, y):
    """Two results with a rule that needs both arguments."""
    return (x * 2.0, y + x), lambda g, h: (g * y, h * x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tj.stop_gradient({"a": x, "b": [x * 2.0]})["b"][0],
        lambda x: tj.grad_pass_through(np.rint)(x * 4.0),
        lambda x: doubled(x, x)[1] + doubled(x, x + 1.0)[0],
        lambda x: tj.recompute_grad(lambda y: np.tanh(y) * 2.0)(x),
        lambda x: tj.grad_pass_through(lambda y: tj.stop_gradient(y) * y)(x),
    ],
    ids=["stop_gradient", "grad_pass_through", "custom_gradient", "recompute_grad", "nested"],
)
def test_values_are_those_of_the_function(call) -> None:
    x = np.linspace(-2.0, 2.0, 7)
    graph, _ = record(call, x)
    new = verify(erase_markers(graph))
    assert not any(node.op.name == "override" for node in new.nodes)
    np.testing.assert_array_equal(interpret(new, x)[0], call(x))


def test_the_gradient_of_a_length_is_spelled_out() -> None:
    text = """graph f(g: f8[3], y: f8[3], x: f8[3,2]) -> z: f8[3,2]
  g_1  f8[3,1] = expand_dims g  axis=(1,)
  y_1  f8[3,1] = expand_dims y  axis=(1,)
  z    f8[3,2] = radial g_1 y_1 x  axis=(-1,)
"""
    graph = drop_dead(erase_markers(parse_graph(text, OPS)))
    names = ops_of(graph)
    assert names == ["equal", "where", "divide", "expand_dims", "multiply"]


def test_the_gradient_of_one_of_two_lengths_cannot_overflow() -> None:
    text = """graph f(g: f8[3], y: f8[3], x: f8[3]) -> z: f8[3]
  z    f8[3] = radial g y x
"""
    *_, quotient, product = erase_markers(parse_graph(text, OPS)).nodes
    assert (quotient.op.name, product.op.name) == ("divide", "multiply")
    assert product.operands[1] is quotient.results[0]
