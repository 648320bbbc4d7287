"""Weighted squares: `w * (d * d)` is `(w * d) * d` where `w * d` is made anyway, times a number
perhaps.

The derivative of `sum(w * d ** 2)` is `2.0 * w * d`. With `s = w * d` the sum is that of `s * d`
and the derivative `2.0 * s`; no array is made for the squares.

Of the two orders, `w * d` overflows only where `w` or `w * (d * d)` does, for it lies between them,
and underflows only where one of these does. A number moves only as a factor does that is gathered
(tracejit/passes/factors.py).

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(w: f8[9], d: f8[9]) -> c: f8, e: f8[9]
...   a  f8[9] = multiply d d
...   b  f8[9] = multiply w a
...   c  f8    = sum b  axis=(0,)
...   e  f8[9] = multiply 2.0 w
...   e  f8[9] = multiply e d
... ''', OPS)
>>> for value in graph.values():
...     value.label = ""
>>> print(print_graph(drop_dead(share_weights(graph))), end="")
graph f(w: f8[9], d: f8[9]) -> c: f8, e: f8[9]
  b_1  f8[9] = multiply w d
  b    f8[9] = multiply b_1 d
  c    f8    = sum b  axis=(0,)
  e    f8[9] = multiply 2.0 b_1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.addends import is_step
from tracejit.passes.emission import emit, for_decisions, is_real, made_by, number_of, readers_of
from tracejit.passes.factors import LARGEST, SMALLEST
from tracejit.passes.rebuild import rebuild

OF_PRODUCTS = ("multiply", "dot", "vdot", "vecdot", "dot_in_rows")
"""What is computed of the products of two arrays of one type."""


class Pair(NamedTuple):
    """A weight and what it is a weight of."""

    weight: Value
    value: Value


class Product(NamedTuple):
    """The product of a pair, times a number if there is one."""

    pair: Pair
    number: Value | None = None


def share_weights(graph: Graph) -> Graph:
    """`graph` with weighted squares as products of what is made anyway."""
    squares = [node.results[0] for node in graph.nodes if _is_square(node)]
    if not squares:
        return graph
    readers, kept = readers_of(graph), for_decisions(graph)
    alone = {square for square in squares if readers[square] == 1}
    nodes = [node for node in graph.nodes if node.op.name in OF_PRODUCTS and node not in kept]
    weighted = {
        _key(node, pair): (node, pair)
        for node in nodes
        if (pair := _weighted(node, alone)) is not None
    }
    changes: dict[Node, Product] = {}
    for node in nodes if weighted else ():
        product = _product(node, readers)
        if product is not None and _key(node, product.pair) in weighted:
            square, pair = weighted[_key(node, product.pair)]
            changes[square], changes[node] = Product(pair), product._replace(pair=pair)
    return rebuild(graph, _Rewriting(changes).rewrite, ops=OF_PRODUCTS) if changes else graph


class _Rewriting:
    """Weighted squares, and products of the same pairs, by the product of the pair."""

    def __init__(self, changes: dict[Node, Product]) -> None:
        self.changes = changes
        self.known: dict[Value, Value] = {}

    def rewrite(
        self, new: Graph, node: Node, operands: tuple[Value, ...]
    ) -> Sequence[Value] | None:
        """The result of `node`, if it is one of these."""
        self.known.update(zip(node.operands, operands, strict=True))
        if node not in self.changes:
            return None
        (weight, value), number = self.changes[node]
        value = self.known[value]
        product = emit(new, node, "multiply", (self.known[weight], value))
        if number is not None:
            return (emit(new, node, "multiply", (self.known[number], product)),)
        if value in operands and self.known[weight] in operands:
            return (product,)
        return (emit(new, node, node.op.name, (product, value), **node.params),)


def _is_square(node: Node) -> bool:
    """Tell if a node makes the squares of an array that has no name."""
    if node.op.name != "multiply" or node.operands[0] is not node.operands[1]:
        return False
    value = node.results[0]
    return value.type.ndim > 0 and is_real(value) and not value.label


def _weighted(node: Node, squares: set[Value]) -> Pair | None:
    """The pair of which a node multiplies the weights by the squares."""
    for weight, square in (node.operands, node.operands[::-1]):
        if square in squares and weight.type is square.type and square.node is not None:
            value = square.node.operands[0]
            if weight is not value and is_step(square, node):
                return Pair(weight, value)
    return None


def _product(node: Node, readers: Counter[Value]) -> Product | None:
    """A node's result as a number times a pair."""
    if node.op.name != "multiply":
        return None
    for one, other in (node.operands, node.operands[::-1]):
        if one.type is not node.results[0].type:
            return None
        made = made_by(other, "multiply")
        if made is None or readers[other] > 1 or not is_step(other, node):
            continue
        for constant, weight in (made.operands, made.operands[::-1]):
            number = number_of(constant)
            if number is not None and SMALLEST <= abs(number) <= LARGEST:
                if weight.type is other.type is one.type:
                    return Product(Pair(weight, one), constant)
    first, second = node.operands
    return Product(Pair(first, second)) if first is not second else None


def _key(node: Node, pair: Pair) -> object:
    """What a node's place and a pair have in common with others."""
    return node.region, node.segment, node.tapes, frozenset(pair)
