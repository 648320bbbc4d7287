"""Common subexpressions: nodes that differ only in the tapes that recorded them become one.

Everything else is shared at emission already. Recompute regions stay apart. The reduced singular
value decomposition, which derivatives ask for, is a part of the full one where that is there.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
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
from tracejit.ops.indexing.indexing import FULL
from tracejit.ops.linalg.factorizations import svd
from tracejit.passes.framework.emission import emit
from tracejit.passes.framework.rebuild import rebuild


def share(graph: Graph) -> Graph:
    """`graph` with nodes merged that compute the same."""
    if not any(node.tapes for node in graph.nodes):
        return graph
    return rebuild(graph, _without_tapes)


def _without_tapes(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value]:
    return graph.copy_node(node, operands, tapes=()).results


def share_decompositions(graph: Graph) -> Graph:
    """`graph` with reduced decompositions as parts of full ones of the same matrix."""
    if {node.params["full"] for node in graph.nodes if node.op is svd} != {False, True}:
        return graph
    full: dict[tuple[Value, int], Node] = {}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        known = full.get((operands[0], node.region))
        if node.params["full"]:
            known = full[operands[0], node.region] = new.take(node, operands)
            return known.results
        if known is None or not new.branches.precedes(known.segment, node.segment):
            return None
        u, s, vh = known.results
        size, ndim = s.type.shape[-1], u.type.ndim
        part = ("slice", None, size, None)
        if u.type.shape[-1] != size:
            u = emit(new, node, "getitem", (u,), index=((*(FULL,) * (ndim - 1), part)))
        if vh.type.shape[-2] != size:
            vh = emit(new, node, "getitem", (vh,), index=((*(FULL,) * (ndim - 2), part)))
        return u, s, vh

    return rebuild(graph, rewrite, ops=("svd",))
