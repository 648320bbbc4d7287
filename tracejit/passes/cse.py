"""Common subexpressions: nodes that differ only in the tapes that recorded them become one.

Everything else is shared at emission already. Recompute regions stay apart.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> graph = parse_graph('''graph f(x: f8[3]) -> z: f8[3]
...   y    f8[3] = exp x
...   y_1  f8[3] = exp x
...   y_2  f8[3] = exp@1 x
...   z_1  f8[3] = multiply y y_1
...   z    f8[3] = multiply z_1 y_2''', OPS)
>>> print(print_graph(share(graph)), end="")
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
