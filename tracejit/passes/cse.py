"""Common subexpressions: nodes that differ only in the tapes that recorded them become one.

Everything else is shared at emission already. Recompute regions stay apart.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> graph = parse_graph('''graph f(x: f8[3]) -> y: f8[3]
...   y  f8[3] = exp x
... ''', OPS)
>>> recorded_by_a_tape = graph.copy_node(graph.nodes[0], tuple(graph.inputs), tapes=(1,))
>>> graph.outputs += recorded_by_a_tape.results
>>> graph.assign_names()
>>> print(print_graph(graph), print_graph(share(graph)), sep="", end="")
graph f(x: f8[3]) -> y: f8[3], y_1: f8[3]
  y    f8[3] = exp x
  y_1  f8[3] = exp x
graph f(x: f8[3]) -> y: f8[3], y: f8[3]
  y  f8[3] = exp x
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.rebuild import rebuild


def share(graph: Graph) -> Graph:
    """`graph` with nodes merged that compute the same."""
    if not any(node.tapes for node in graph.nodes):
        return graph
    return rebuild(graph, _without_tapes)


def _without_tapes(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value]:
    return graph.copy_node(node, operands, tapes=()).results
