"""Graphs as tests of passes ask for them, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.interpret import record
from tracejit.ir.graph import Graph, Node
from tracejit.ir.printer import parse_graph
from tracejit.ops.base.op import OPS
from tracejit.passes.algebra.simplify import simplify
from tracejit.passes.framework.dce import drop_dead


def graph_of(call: Callable[..., Any], *args: Any) -> Graph:
    """The graph of a call, simplified, as it comes to the passes that follow."""
    return drop_dead(simplify(record(call, *args)[0]))


def parsed(head: str, *nodes: str, named: str = "") -> Graph:
    """The graph of these printed nodes, whose user named only those in `named`."""
    graph = parse_graph("\n".join([f"graph f({head}", *(f"  {node}" for node in nodes)]), OPS)
    for value in graph.values():
        if value.node is not None and value.name not in named.split():
            value.label = ""
    return graph


def ops_of(graph: Graph) -> list[str]:
    """The names of the ops of a graph, in order."""
    return [node.op.name for node in graph.nodes]


def template_of(node: Node) -> str:
    """The expression of a node, with its operands left open."""
    template: str = node.op.template([value.type for value in node.operands], node.params)
    return template
