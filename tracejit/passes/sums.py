"""Sums: a sum over everything of sums is one sum, and so are sums of squares each a sum of its own.

`sum(sum(x, axis=1))` is `sum(x)`; `sum(c * (u * u) + v * v)` is `c * sum(u * u) + sum(v * v)`. Once
sums of products are dot products, no array is made for what the squares add up to, nor for them.
Only what is nowhere below zero is taken apart: where a part overflows, so does the whole. The terms
are added in another order, as a reduction may.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(u: f8[9], v: f8[9]) -> c: f8
...   a  f8[9] = multiply u u
...   b  f8[9] = multiply v v
...   b  f8[9] = multiply 0.5 b
...   d  f8[9] = add a b
...   c  f8    = sum d  axis=(0,)
... ''', OPS)
>>> for value in graph.values():
...     value.label = ""
>>> print(print_graph(drop_dead(take_sums_apart(graph))), end="")
graph f(u: f8[9], v: f8[9]) -> c: f8
  a    f8[9] = multiply u u
  b    f8[9] = multiply v v
  c_1  f8    = sum a  axis=(0,)
  c_2  f8    = sum b  axis=(0,)
  c_3  f8    = multiply 0.5 c_2
  c    f8    = add c_1 c_3
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.emission import (
    emit,
    for_decisions,
    is_nonnegative,
    is_real,
    made_by,
    number_of,
    readers_of,
)
from tracejit.passes.factors import LARGEST, SMALLEST
from tracejit.passes.rebuild import rebuild

MOST_PARTS = 4
Parts = list[tuple[float, Value]]


def take_sums_apart(graph: Graph) -> Graph:
    """`graph` with full sums of sums as one, and of squares taken apart."""
    if not any(is_full(node) and made_by(node.operands[0], "sum", "add") for node in graph.nodes):
        return graph
    kept = for_decisions(graph)
    before = readers_of(graph)
    shared: set[Value] = set()

    def is_inner(value: Value, reader: Node) -> bool:
        place = value.node and (value.node.region, value.node.segment)
        return place == (reader.region, reader.segment) and not value.label and value not in shared

    def parts(value: Value, reader: Node, factor: float, depth: int) -> Parts | None:
        """The squares that `value` is a sum of multiples of; None where it is not."""
        if depth > MOST_PARTS or not is_inner(value, reader):
            return None
        if made := made_by(value, "multiply"):
            number, inner = number_of(made.operands[0]), made.operands[1]
            if number is not None:
                within = SMALLEST <= number * factor <= LARGEST and inner.type is value.type
                return parts(inner, reader, number * factor, depth + 1) if within else None
            return [(factor, value)] if is_nonnegative(value) else None
        made = made_by(value, "add")
        if made is None or any(operand.type is not value.type for operand in made.operands):
            return None
        first, second = (parts(operand, reader, factor, depth + 1) for operand in made.operands)
        return first + second if first and second else None

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        for old, value in zip(node.operands, operands, strict=True):
            if before[old] > 1:
                shared.add(value)
        if node in kept or not is_full(node):
            return None
        inner = made_by(operands[0], "sum")
        if inner and is_inner(operands[0], node) and is_plain(inner):
            axes = tuple(range(inner.operands[0].type.ndim))
            value = emit(new, node, "sum", inner.operands, axis=axes)
            return (value,) if value.type is node.results[0].type else None
        found = parts(operands[0], node, 1.0, 0)
        if not found or not 1 < len(found) <= MOST_PARTS:
            return None
        total: Value | None = None
        for factor, square in found:
            part = emit(new, node, "sum", (square,), **node.params)
            if factor != 1.0:
                part = emit(new, node, "multiply", (new.constant(factor), part))
            total = part if total is None else emit(new, node, "add", (total, part))
        assert total is not None
        return (total,) if total.type is node.results[0].type else None

    return rebuild(graph, rewrite)


def is_full(node: Node) -> bool:
    """Tell if a sum is one number of all elements."""
    if node.op.name != "sum" or node.results[0].type.shape:
        return False
    return is_real(node.results[0]) and is_plain(node)


def is_plain(node: Node) -> bool:
    """Tell if a sum is one of an array of the same dtype, without more ado."""
    return is_real(node.operands[0]) and node.params.keys() <= {"axis", "keepdims"}
