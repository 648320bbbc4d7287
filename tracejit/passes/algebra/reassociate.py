"""Reassociation of sums over arrays: a full sum of sums is one sum, and squares are summed
separately. They are read in the form of tracejit/passes/algebra/sum_of_products.py, as those of
passes/algebra/factoring.py and passes/algebra/coefficients.py are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.reductions import reductions
from tracejit.passes.algebra.ranges import is_nonnegative
from tracejit.passes.algebra.sum_of_products import (
    LARGEST,
    SMALLEST,
    SUMS,
    Signed,
    addends_of,
    is_full,
    is_plain,
    is_step,
    multiple_of,
    written_sum,
)
from tracejit.passes.framework.emission import emit, made_by, readers_of
from tracejit.passes.framework.rebuild import rebuild
from tracejit.support.cost_model import costs


def add_apart(graph: Graph) -> Graph:
    """`graph` with full sums of sums as one, and those of squares taken apart.

    `sum(sum(x, axis=1))` is `sum(x)`; `sum(c * (u * u) + v * v)` is `c * sum(u * u) + sum(v * v)`.
    Once sums of products are dot products, no array is made for what the squares add up to, nor for
    them. Only what is nowhere below zero is taken apart: where a part overflows, so does the whole.

    >>> from tracejit.ir.printer import parse_graph, print_graph
    >>> from tracejit.ops.base.op import OPS
    >>> from tracejit.passes.framework.dce import drop_dead
    >>> graph = parse_graph('''graph f(u: f8[9], v: f8[9]) -> c: f8
    ...   a  f8[9] = multiply u u
    ...   b  f8[9] = multiply v v
    ...   b  f8[9] = multiply 0.5 b
    ...   d  f8[9] = add a b
    ...   c  f8    = sum d  axis=(0,)
    ... ''', OPS)
    >>> for value in graph.values():
    ...     value.label = ""
    >>> print(print_graph(drop_dead(add_apart(graph))), end="")
    graph f(u: f8[9], v: f8[9]) -> c: f8
      a    f8[9] = multiply u u
      b    f8[9] = multiply v v
      c_1  f8    = sum a  axis=(0,)
      c_2  f8    = sum b  axis=(0,)
      c_3  f8    = multiply 0.5 c_2
      c    f8    = add c_1 c_3
    """
    before = readers_of(graph)
    sums = [node.operands[0] for node in graph.nodes if node.op is reductions.sum]
    if not any([before[one] == 1 and made_by(one, "sum", *SUMS) for one in sums]):
        return graph
    shared: set[Value] = set()

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        shared.update(
            [after for old, after in zip(node.operands, operands, strict=True) if before[old] > 1]
        )
        if not is_full(node) or not is_inner(operands[0], node):
            return None
        (value,), params = operands, node.params
        if (inner := made_by(value, "sum")) and is_plain(inner):
            axes = tuple(range(inner.operands[0].type.ndim))
            value = emit(new, node, "sum", inner.operands, axis=axes)
            return (value,) if value.type is node.results[0].type else None
        parts = _squares(value, node, lambda value: is_inner(value, node))
        if not 1 < len(parts) <= costs().most_squares:
            return None
        totals: list[Signed] = []
        for number, square in parts:
            total = emit(new, node, "sum", (square,), **params)
            if number != 1.0:
                total = emit(new, node, "multiply", (new.constant(number), total))
            totals.append((1.0, total))
        value = written_sum(new, node, totals)
        return (value,) if value.type is node.results[0].type else None

    def is_inner(value: Value, reader: Node) -> bool:
        return value not in shared and is_step(value, reader)

    return rebuild(graph, rewrite)


def _squares(value: Value, node: Node, enters: Callable[[Value], bool]) -> list[Signed]:
    """The nonnegative terms of which a value is the sum, each with its number; empty where it is no
    such sum."""
    made = made_by(value, *SUMS)
    parts = []
    for number, part in addends_of(made, made.operands, enters) if made else ():
        while (found := multiple_of(part)) is not None and enters(part):
            number, part = number * found[0], found[1]
        if part.type is not value.type or not enters(part) or not is_nonnegative(part):
            return []
        if not made_by(part, "multiply") or not SMALLEST <= number <= LARGEST:
            return []
        parts.append((number, part))
    return parts
