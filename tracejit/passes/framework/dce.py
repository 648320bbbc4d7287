"""Dead code: nodes that neither an output nor an effect depends on are dropped.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> graph = parse_graph('''graph f(x: f8[3]) -> out: f8
...   y    f8[3] = exp x
...   z    f8[3] = multiply y y
...   out  f8    = sum y  axis=(0,)
... ''', OPS)
>>> print(print_graph(drop_dead(graph)), end="")
graph f(x: f8[3]) -> out: f8
  y    f8[3] = exp x
  out  f8    = sum y  axis=(0,)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracejit.ir.graph import Graph, Node, Value


def drop_dead(graph: Graph) -> Graph:
    """`graph` with only the nodes its outputs and effects need; inputs stay as they are."""
    new = Graph(graph.name)
    new.branches = graph.branches
    new.adopt(graph)
    new.inputs = graph.inputs
    new.nodes = needed_nodes(graph.nodes, graph.outputs)
    new.outputs = graph.outputs
    return new


def needed_nodes(
    nodes: Sequence[Node], outputs: Iterable[Value], given: Iterable[Value] = ()
) -> list[Node]:
    """The nodes that `outputs` and effects need, in order, when the values `given` are there
    already: the effects that have made them are over."""
    there = set(given)
    wanted = {output.node for output in outputs if output not in there}
    kept = []
    for node in reversed(nodes):
        if node in wanted or (node.op.effect and not there.issuperset(node.results)):
            kept.append(node)
            for value in node.operands:
                if value not in there:
                    wanted.add(value.node)
    return kept[::-1]
