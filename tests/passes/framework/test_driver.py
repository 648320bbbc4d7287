"""The pass driver: order, legality along decisions, fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.rewrites import graph_of
from tests.support import graphs
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.base.op import OPS
from tracejit.ops.control.branches import DECIDE
from tracejit.passes.framework.driver import (
    Pass,
    only_decided,
    ops_of,
    run_in_turn,
    run_to_fixed_point,
)
from tracejit.passes.framework.rebuild import rebuild
from tracejit.support.cost_model import assuming, costs


def replacing(before: str, after: str, asked: list[str] | None = None) -> Any:
    """A pass that puts another ufunc in the place of one, and notes that it was asked."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value]:
        types = [value.type for value in node.results]
        return new.emit(OPS[after], operands, {}, types, node.where).results

    def run(graph: Graph) -> Graph:
        if asked is not None:
            asked.append(before)
        return rebuild(graph, rewrite, ops=(before,))

    return run


def deciding() -> Graph:
    """A graph whose sine only a decision reads."""
    graph = graph_of("x: f8[3]", "a f8[3] = sin x; b f8 = sum a axis=(0,); y f8[3] = exp x")
    total = graph.nodes[1].results
    params = {"outcome": True}
    types = DECIDE.result_types([value.type for value in total], params)
    graph.emit(DECIDE, total, params, types, None)
    return graph


def test_what_only_decisions_read() -> None:
    graph = deciding()
    assert only_decided(graph) == set(graph.nodes[:2]) | {graph.nodes[-1]}
    plain = graph_of("x: f8[3]", "a f8[3] = exp x; y f8[3] = multiply a x")
    assert only_decided(plain) == frozenset()


def test_a_pass_without_its_ops_is_not_asked() -> None:
    asked: list[str] = []
    graph = graph_of("x: f8[3]", "y f8[3] = exp x")
    run_to_fixed_point(graph, [Pass(replacing("sin", "cos", asked), needs=("sin",))])
    assert asked == []


def test_a_pass_is_asked_again_about_ops_that_later_ones_make() -> None:
    asked: list[str] = []
    graph = graph_of("x: f8[3]", "a f8[3] = sin x; y f8[3] = tanh a")
    passes = (
        Pass(replacing("cos", "exp", asked), needs=("cos",)),
        Pass(replacing("sin", "cos", asked), needs=("sin",)),
        Pass(replacing("tanh", "sqrt", asked), needs=("tanh",)),
    )
    assert graphs.ops_of(run_to_fixed_point(graph, passes)) == ["exp", "sqrt"]
    assert asked == ["sin", "tanh", "cos"]


def test_the_rounds_are_bounded() -> None:
    """Two passes that undo each other end."""
    asked: list[str] = []
    graph = graph_of("x: f8[3]", "y f8[3] = sin x")
    passes = (
        Pass(replacing("sin", "cos", asked), needs=("sin",)),
        Pass(replacing("cos", "sin", asked), needs=("cos",)),
    )
    with assuming(pass_rounds=5):
        run_to_fixed_point(graph, passes)
        assert len(asked) == 2 * costs().pass_rounds


@pytest.mark.parametrize("is_exact", [True, False])
def test_what_a_decision_reads_is_protected_from_passes_that_change_bits(is_exact: bool) -> None:
    graph = deciding()
    graph.branches = graph.branches._replace(decisions=(object(),))
    each = Pass(replacing("sin", "cos"), is_exact=is_exact)
    assert graphs.ops_of(run_in_turn(graph, [each]))[0] == ("cos" if is_exact else "sin")
    assert not graph.protected
    local = Pass(replacing("exp", "sqrt"), along_decisions=False)
    assert run_in_turn(graph, [local]) is graph


def test_ops_are_counted() -> None:
    graph = graph_of("x: f8[3]", "a f8[3] = exp x; b f8[3] = exp a; y f8[3] = multiply a b")
    assert ops_of(graph) == {"exp": 2, "multiply": 1}
