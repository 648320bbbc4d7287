"""Extract: the part of a graph between some of its values, as a graph of its own.

IR in -> IR out, from `y` to `z`:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> graph = parse_graph('''graph f(x: f8[3]) -> out: f8
...   y    f8[3] = exp x
...   z    f8[3] = multiply y y
...   out  f8    = sum z  axis=(0,)
... ''', OPS)
>>> y, z = graph.nodes[0].results[0], graph.nodes[1].results[0]
>>> print(print_graph(extract(graph, "g", [y], [z])), end="")
graph g(y: f8[3]) -> z: f8[3]
  z  f8[3] = multiply y y
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracejit.ir.graph import Graph, Node, Value, replace_values
from tracejit.passes.framework.dce import needed_nodes


def extract(
    graph: Graph,
    name: str,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    substitutes: Mapping[Value, Any] | None = None,
    nodes: Sequence[Node] | None = None,
    aliases: Mapping[Value, Value] | None = None,
) -> Graph:
    """The graph `name` that computes `outputs` from `inputs`, values of `graph`; other inputs are
    in `substitutes`, and become constants. Only `nodes` are taken, by default those of `graph`;
    `aliases` maps values to inputs that stand for them, too."""
    new = Graph(name)
    new.adopt(graph)
    known: dict[Value, Value] = {}
    for value, data in (substitutes or {}).items():
        known[value] = new.constant(data)
    for value in inputs:
        if value not in known:
            known[value] = new.add_input(value.label or value.base or value.name or "x", value.type)
    known |= {value: known[same] for value, same in (aliases or {}).items()}
    for node in needed_nodes(graph.nodes if nodes is None else nodes, outputs, known):
        if all(result in known for result in node.results):
            continue
        copy = new.copy_node(node, replace_values(node.operands, known))
        for old, result in zip(node.results, copy.results, strict=True):
            known.setdefault(old, result)
    new.outputs = list(replace_values(outputs, known))
    new.assign_names()
    return new
