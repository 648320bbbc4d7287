"""Reassociation of products and of sums over arrays.

Products are multiplied in the order of others, so that what these make is made once; full sums of
sums are one sum, and squares are added up each by themselves. Both read the form of
tracejit/passes/sum_of_products.py, as passes/factoring.py and passes/coefficients.py do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops import reductions
from tracejit.ops.arithmetic import multiply
from tracejit.ops.products import dot, dot_in_rows, vdot, vecdot
from tracejit.passes.emission import emit, made_by, number_of, readers_of
from tracejit.passes.ranges import is_nonnegative
from tracejit.passes.rebuild import rebuild
from tracejit.passes.sum_of_products import (
    LARGEST,
    SMALLEST,
    SUMS,
    Factor,
    Product,
    Signed,
    addends_of,
    expanded,
    is_full,
    is_plain,
    is_step,
    multiple_of,
    written_sum,
)
from tracejit.support.cost_model import costs

OF_PRODUCTS = {multiply.name, dot.name, vdot.name, vecdot.name, dot_in_rows.name}
"""Operations on the products of two arrays of one type."""


# Products in the order of others


def share_products(graph: Graph) -> Graph:
    """`graph` with weighted squares as products of what is made anyway.

    `w * (d * d)` is `(w * d) * d` where `w * d` is made, times a number perhaps, as in the
    derivative of `sum(w * d ** 2)`: no array is made for the squares. Of the two orders, `w * d`
    overflows only where `w` or `w * (d * d)` does, for it lies between them, and underflows only
    where one of these does.

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
    >>> print(print_graph(drop_dead(share_products(graph))), end="")
    graph f(w: f8[9], d: f8[9]) -> c: f8, e: f8[9]
      b_1  f8[9] = multiply w d
      b    f8[9] = multiply b_1 d
      c    f8    = sum b  axis=(0,)
      e    f8[9] = multiply 2.0 b_1
    """
    nodes = [one for one in graph.nodes if one.op.name in OF_PRODUCTS]
    of_squares = {one.results[0] for one in nodes if _is_square(one)}
    if not of_squares:
        return graph
    readers = readers_of(graph)
    squares: dict[object, tuple[Node, list[Value]]] = {}
    for node, factors, numbers in _products(nodes, of_squares, readers):
        if sorted(factors.values()) == [1, 2] and not numbers:
            squares[_key(node, factors)] = node, sorted(factors, key=factors.__getitem__)
    weighted = {value for _, pair in squares.values() for value in pair}
    multiples: list[tuple[object, Node, list[Value]]] = []
    for node, factors, numbers in _products(nodes, weighted, readers):
        if sorted(factors.values()) == [1, 1] and node.op is multiply:
            multiples.append((_key(node, factors), node, numbers))
    changes = {
        node: (squares[key][1], numbers) for key, node, numbers in multiples if key in squares
    }
    squared = {squares[key][0]: squares[key][1] for key, *_ in multiples if key in squares}
    known: dict[Value, Value] = {}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        known.update(zip(node.operands, operands, strict=True))
        if node not in changes and node not in squared:
            return None
        pair, numbers = (squared[node], []) if node in squared else changes[node]
        weight, value = (known[one] for one in pair)
        product = emit(new, node, "multiply", (weight, value))
        if node in squared:
            return (emit(new, node, node.op, (product, value), **node.params),)
        for number in numbers:
            product = emit(new, node, "multiply", (number, product))
        return (product,)

    return rebuild(graph, rewrite, ops=OF_PRODUCTS) if changes else graph


def _products(
    nodes: list[Node], some: set[Value], readers: Counter[Value]
) -> Iterator[tuple[Node, Counter[Value], list[Value]]]:
    """The nodes with `some` values as operands, and the factors and numbers that they multiply."""
    for node in nodes:
        if not some.isdisjoint(node.operands):
            yield node, *_factors_of(node, readers)


def _is_square(node: Node) -> bool:
    return node.op is multiply and node.operands[0] is node.operands[1]


def _key(node: Node, factors: Counter[Value]) -> object:
    """The key that nodes share whose place and factors are the same."""
    return node.region, node.segment, node.tapes, frozenset(factors)


def _factors_of(node: Node, readers: Counter[Value]) -> tuple[Counter[Value], list[Value]]:
    """The arrays of one type whose products a node makes or adds up, and a number at most; nothing
    where there are others."""

    def is_inner(value: Value) -> bool:
        return readers[value] == 1 and is_step(value, node)

    number, factors, steps = expanded(Product(1.0, Counter(map(Factor, node.operands))), is_inner)
    operands = [*node.operands, *[one for step in steps if step.node for one in step.node.operands]]
    numbers = [one for one in operands if number_of(one) is not None]
    type = max(node.operands, key=lambda one: one.type.ndim).type
    if any([one.divides or one.value.type is not type for one in factors]) or len(numbers) > 1:
        return Counter(), []
    if [number] != ([number_of(one) for one in numbers] or [1.0]) or not type.ndim:
        return Counter(), []
    if not type.is_real or not SMALLEST <= abs(number) <= LARGEST:
        return Counter(), []
    return Counter({one.value: times for one, times in factors.items()}), numbers


# Sums of sums, and of squares


def add_apart(graph: Graph) -> Graph:
    """`graph` with full sums of sums as one, and those of squares taken apart.

    `sum(sum(x, axis=1))` is `sum(x)`; `sum(c * (u * u) + v * v)` is `c * sum(u * u) + sum(v * v)`.
    Once sums of products are dot products, no array is made for what the squares add up to, nor for
    them. Only what is nowhere below zero is taken apart: where a part overflows, so does the whole.

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
