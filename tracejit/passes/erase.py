"""Erase markers: once a graph is differentiated, an `override` is just its values.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> graph = parse_graph('''graph f(x: f8[3]) -> out: f8
...   q_1  f8[3] = rint x
...   q    f8[3] = override q_1 <- x  outputs=1 grad=rint
...   out  f8    = sum q  axis=(0,)
... ''', OPS)
>>> print(print_graph(erase_markers(graph)), end="")
graph f(x: f8[3]) -> out: f8
  q_1  f8[3] = rint x
  out  f8    = sum q_1  axis=(0,)
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.marker_ops import IDENTITY, OVERRIDE
from tracejit.passes.rebuild import rebuild


def erase_markers(graph: Graph) -> Graph:
    """`graph` with every override and identity replaced by its values."""
    if not any(node.op in (OVERRIDE, IDENTITY) for node in graph.nodes):
        return graph
    return rebuild(graph, _erase)


def _erase(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
    if node.op is IDENTITY:
        return operands
    return operands[: node.params["outputs"]] if node.op is OVERRIDE else None
