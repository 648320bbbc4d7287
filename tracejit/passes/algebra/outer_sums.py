"""Sums of outer products as one product of two thin matrices.

Each outer product writes a whole array, and each sum of two reads two and writes one. The product
of their columns, side by side, with their rows, on top of each other, writes the sum once.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> graph = parse_graph('''graph f(a: f8[3], b: f8[4], c: f8[3], d: f8[4]) -> z: f8[3,4]
...   p  f8[3,4] = outer a b
...   q  f8[3,4] = outer c d
...   z  f8[3,4] = subtract p q
... ''', OPS)
>>> print(print_graph(drop_dead(join_outers(graph))), end="")
graph f(a: f8[3], b: f8[4], c: f8[3], d: f8[4]) -> z: f8[3,4]
  z_1  f8[3]   = negative c
  z_2  f8[2,3] = stack a z_1  axis=0
  z_3  f8[3,2] = transpose z_2  axes=(1, 0)
  z_4  f8[2,4] = stack b d  axis=0
  z    f8[3,4] = matmul z_3 z_4
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import OPS
from tracejit.passes.algebra.sum_of_products import (
    SUMS,
    Signed,
    addends_of,
    inner_sums,
    is_beside,
    written_sum,
)
from tracejit.passes.framework.emission import emit, is_real, readers_of
from tracejit.passes.framework.rebuild import rebuild

OUTERS = frozenset(name for name, op in OPS.items() if op.product == "outer")
"""Operations whose result is the product of a column and a row."""


def join_outers(graph: Graph) -> Graph:
    """`graph` with the outer products that one sum adds up, and nothing else reads, as one product
    of matrices."""
    if sum([node.op.name in OUTERS for node in graph.nodes]) < 2:
        return graph
    uses = readers_of(graph)
    sums = [node for node in graph.nodes if node.op.name in SUMS and is_real(node.results[0])]
    inner = inner_sums(sums, lambda value, node: uses[value] == 1 and is_beside(value, node))
    alone: set[Value] = set()
    within: set[Value] = set()

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        result = node.results[0]
        if node.op.name in SUMS and result not in inner and is_real(result):
            addends = addends_of(node, operands, within.__contains__)
            joined = _joined(new, node, addends, alone)
            if joined is not addends:
                return (written_sum(new, node, joined),)
        results = new.take(node, operands).results
        if uses[result] == 1:
            alone.update(results if node.op.name in OUTERS else ())
            within.update(results if result in inner else ())
        return results

    return rebuild(graph, rewrite)


def _joined(new: Graph, like: Node, addends: list[Signed], alone: set[Value]) -> list[Signed]:
    """`addends` with one product for the outer products of one kind among those that are read
    `alone`."""
    kinds: dict[tuple[ArrayType, ...], list[Signed]] = {}
    for sign, value in addends:
        made = value.node
        if made is not None and value in alone and is_beside(value, like):
            if value.type is like.results[0].type:
                types = tuple(one.type for one in made.operands)
                kinds.setdefault(types, []).append((sign, value))
    joined = addends
    for found in kinds.values():
        if len(found) > 1:
            rest = [one for one in joined if one not in found]
            joined = [(1.0, _product(new, like, found)), *rest]
    return joined


def _product(new: Graph, like: Node, outers: Sequence[Signed]) -> Value:
    """The sum of outer products of one kind, each with its sign."""
    columns, rows = [], []
    for sign, value in outers:
        assert value.node is not None
        column, row = value.node.operands
        columns.append(column if sign > 0 else emit(new, like, "negative", (column,)))
        rows.append(row)
    left = emit(new, like, "stack", tuple(columns), axis=0)
    left = emit(new, like, "transpose", (left,), axes=(1, 0))
    return emit(new, like, "matmul", (left, emit(new, like, "stack", tuple(rows), axis=0)))
