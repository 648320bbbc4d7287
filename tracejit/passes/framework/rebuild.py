"""`rebuild`: a new graph from an old one, node by node. Every pass that changes nodes is a rewrite
given to it.

A rewrite is called as rewrite(new_graph, node, operands), the operands being values of the new
graph, and returns the values that stand for the node's results, or None to copy the node. Emission
into the new graph hash-conses, so what a rewrite makes equal becomes one node. A rewrite of few
`ops` names them, and is not asked about others.

Nodes of a graph that is passing go over to the new one as the rewrite leaves them: its rules look
at the node that they are given and at the new graph. What they have to know of others is found
out before.

IR in -> IR out, for a rewrite that drops every tanh:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> graph = parse_graph('''graph f(x: f8[3]) -> z: f8[3]
...   y  f8[3] = tanh x        # f:1  y = np.tanh(x)
...   z  f8[3] = multiply y y  # f:2  return y * y
... ''', OPS)
>>> def drop(graph, node, operands):
...     return operands if node.op.name == "tanh" else None
>>> print(print_graph(rebuild(graph, drop)), end="")
graph f(x: f8[3]) -> z: f8[3]
  z  f8[3] = multiply x x                           # f:2  return y * y
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any

from tracejit.ir.graph import Graph, Node, Value, replace_values

Rewrite = Callable[[Graph, Node, tuple[Value, ...]], Sequence[Value] | None]


def rebuild(
    graph: Graph,
    rewrite: Rewrite,
    substitutes: Mapping[Value, Any] | None = None,
    ops: Container[str] | None = None,
    origin: dict[Value, Value] | None = None,
) -> Graph:
    """`graph` with every node rewritten, of `ops` if there are any; inputs in `substitutes` become
    constants. Values of the new graph that stand for others are entered into `origin`."""
    new = Graph(graph.name)
    new.branches = graph.branches
    new.adopt(graph)
    known: dict[Value, Value] = {}
    if graph.is_passing and graph.sizes is None and not substitutes:
        new.takes_nodes = True
        new.inputs = list(graph.inputs)
    else:
        for value in graph.inputs:
            if substitutes and value in substitutes:
                known[value] = new.constant(substitutes[value])
            else:
                known[value] = new.add_input(value.name, value.type)
    if origin is not None:
        origin.update((value, old) for old, value in known.items())
    protected, nodes = graph.protected, iter(graph.nodes)
    if new.takes_nodes and ops is not None:
        new.take_all(takewhile(lambda node: node.op.name not in ops, graph.nodes))
        nodes = islice(graph.nodes, len(new.nodes), None)
    for node in nodes:
        operands = node.operands
        if known and not known.keys().isdisjoint(operands):
            operands = replace_values(operands, known)
        results = None
        if (ops is None or node.op.name in ops) and not (protected and node in protected):
            results = rewrite(new, node, operands)
        if results is None:
            results = new.take(node, operands).results
        elif results is not node.results:
            for old, result in zip(node.results, results, strict=True):
                result.take_name(old)
        if results is not node.results:
            if len(results) == 1:
                known[node.results[0]] = results[0]
            else:
                known.update(zip(node.results, results, strict=True))
            if origin is not None:
                origin.update(zip(results, node.results, strict=True))
    if new.takes_nodes and not known and new.nodes == graph.nodes:
        return graph
    new.outputs = list(replace_values(graph.outputs, known))
    new.complete_names()
    return new
