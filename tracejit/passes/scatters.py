"""Scatters: what is placed or added up in zeros, and then added to an array, is so in that array.

The gradient of what is gathered in several places, or used otherwise, too, is a sum of scattered
cotangents. The zeros and the addition go, and with them a fifth of the time of a scatter. It is
done where the array itself would be updated as fast as zeros are: not for rows of many columns, nor
for places that are most of the array. Terms of a sum come in another order: within 1 ulp of the
largest for each.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[9], g: f8[40], i: i8[40]) -> z: f8[9]
...   y  f8[9] = exp x
...   s  f8[9] = add_at g i  shape=(9,) index=('{1}',)
...   z  f8[9] = subtract y s
... ''', OPS)
>>> print(print_graph(drop_dead(scatter_into_sums(graph))), end="")
graph f(x: f8[9], g: f8[40], i: i8[40]) -> z: f8[9]
  y  f8[9] = exp x
  z  f8[9] = subtract_item y i g  index=('{1}',) unique=False
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.index_text import is_added_flat
from tracejit.passes.emission import emit, for_decisions, made_by, readers_of
from tracejit.passes.rebuild import rebuild
from tracejit.passes.sum_of_products import SUMS

SCATTERS = ("add_at", "put_at")
UPDATES = {"add": "add_item", "subtract": "subtract_item"}


def scatter_into_sums(graph: Graph) -> Graph:
    """`graph` with scattered terms of sums scattered into the rest of the sum."""
    readers = readers_of(graph)
    kept = for_decisions(graph)
    sums = [node for node in graph.nodes if node.op.name in SUMS and node not in kept]
    scattered: dict[Node, int] = {}
    for node in sums:
        for place in (1, 0)[: 2 if node.op.name == "add" else 1]:
            term = node.operands[place]
            if readers[term] == 1 and _may_move(term, node):
                scattered[node] = place
                break
    if not scattered:
        return graph

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node not in scattered:
            return None
        place = scattered[node]
        scatter = made_by(operands[place], *SCATTERS)
        assert scatter is not None
        value, *indices = scatter.operands
        updated = operands[1 - place], *indices, value
        where = {"index": scatter.params["index"], "unique": scatter.op.name == "put_at"}
        return (emit(new, node, UPDATES[node.op.name], updated, **where),)

    return rebuild(graph, rewrite, ops=SUMS)


def _may_move(term: Value, node: Node) -> bool:
    """Tell if a term of the sum `node` is scattered, and may as well be so into the rest of it."""
    scatter = made_by(term, *SCATTERS)
    if scatter is None or scatter.region != node.region or scatter.tapes != node.tapes:
        return False
    value, *indices = scatter.operands
    if any(one.type is not term.type for one in (*node.operands, *node.results)):
        return False
    if value.type.dtype != term.type.dtype:
        return False
    if scatter.op.name == "put_at":
        return bool(2 * value.type.estimated_size <= term.type.estimated_size)
    index = scatter.params["index"]
    return not is_added_flat(value.type, indices[0].type, term.type.shape, index)
