"""Common subexpressions: nodes that differ only in the tapes that recorded them become one.

Everything else is shared at emission already. Recompute regions stay apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.rebuild import rebuild


def share(graph: Graph) -> Graph:
    """`graph` with nodes merged that compute the same."""
    return rebuild(graph, _without_tapes)


def _without_tapes(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value]:
    return graph.copy_node(node, operands, tapes=()).results
