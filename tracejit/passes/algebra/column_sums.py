"""Push sums through linear operations: sum the operands first, not the results.

The sum of the rows of `a @ b` is the sum of the rows of `a` times `b`; of `x * s`, where all rows
are multiplied by the same `s`, it is the sum of the rows of `x` times `s`. So a gradient that goes
back through a product only to be added up over the points needs the product of one vector. A sum of
such terms is taken apart where a product is among them, or all are of one array: terms that cancel
are as exact as the product is. The sums are added up in another order.

The same elements are not finite as before, though of rows 2.0 and -1.0 of `a` and an infinity in
`b` the sum is inf for nan. So it is done where inf and nan are not observable: from there on both
only spread, as operations that are linear in a cotangent let them.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[900,30], a: f8[30,20], s: f8[20]) -> y: f8[20]
...   p  f8[900,20] = matmul x a
...   q  f8[900,20] = multiply p s
...   y  f8[20]     = sum q  axis=(0,)
... ''', OPS)
>>> for value in graph.values():
...     value.label = ""
>>> print(print_graph(drop_dead(sum_columns_first(graph))), end="")
graph f(x: f8[900,30], a: f8[30,20], s: f8[20]) -> y: f8[20]
  y_1  f8[30] = sum x  axis=(0,)
  y_2  f8[20] = vector_matmul y_1 a
  y    f8[20] = multiply y_2 s
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.reductions import reductions
from tracejit.ops.shapes.shapes import transpose
from tracejit.passes.algebra.sum_of_products import is_plain
from tracejit.passes.framework.emission import emit, is_real, made_by, number_of, readers_of
from tracejit.passes.framework.rebuild import rebuild
from tracejit.support.cost_model import costs

Axes = tuple[int, ...]


class Summed(NamedTuple):
    """The sum of a value over axes: what the operations cost that it is in place of, the arrays
    that are summed for it, whether a product is among the operations, and how it is made."""

    saved: int
    leaves: frozenset[tuple[Value, Axes]]
    is_rounded: bool
    make: Callable[[], Value]


def sum_columns_first(graph: Graph) -> Graph:
    """`graph` with sums of linear expressions as expressions of sums."""
    sums = [node for node in graph.nodes if node.op is reductions.sum]
    if not any([_may_change(node, node.operands[0]) for node in sums]):
        return graph
    before = readers_of(graph)
    observable = _observable(graph)
    shared: set[Value] = set()

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        for old, value in zip(node.operands, operands, strict=True):
            if before[old] > 1:
                shared.add(value)
        if node.op is not reductions.sum or node.results[0] in observable:
            return None
        if not _may_change(node, operands[0]):
            return None
        (value,), axes = operands, node.params["axis"]
        found = _Sums(new, node, shared).of(value, axes, 0)
        added = sum(leaf.type.size for leaf, _ in found.leaves)
        if not found.saved or found.saved + value.type.size <= added:
            return None
        made = found.make()
        if node.params.get("keepdims"):
            made = emit(new, node, "expand_dims", (made,), axis=axes)
        return (made,) if made.type is node.results[0].type else None

    return rebuild(graph, rewrite)


def _observable(graph: Graph) -> set[Value]:
    """The values of which something depends on whether they are inf or nan: of real numbers, what
    is linear makes the same elements not finite of either."""
    observable: set[Value] = set()
    for node in reversed(graph.nodes):
        is_real = len(node.results) == 1 and node.results[0].type.dtype.kind == "f"
        linear_in = node.op.linear_in if is_real else ()
        if not linear_in or not observable.isdisjoint(node.results):
            observable.update(node.operands)
        elif type(linear_in) is tuple:  # a denominator may be infinite
            observable.update([v for k, v in enumerate(node.operands) if k not in linear_in])
    return observable


def _is_linear(value: Value) -> bool:
    return value.node is not None and _rule_of(value.node) is not None


def _may_change(node: Node, value: Value) -> bool:
    return (
        is_plain(node)
        and _is_linear(value)
        and value.type.sizes is None
        and value.type.size >= costs().least_column_sum_elements
    )


def _saved(made: Node) -> int:
    """The cost that is saved where a node is not computed for all summed elements; signs and
    numbers find a better place anyway."""
    if len(made.operands) == 1 or any(map(number_of, made.operands)):
        return 0
    cost: int = made.op.cost(*(one.type for one in made.operands), **made.params)
    return cost


class _Sums:
    """The sums that replace the sum of one node."""

    def __init__(self, new: Graph, node: Node, shared: set[Value]) -> None:
        self.new, self.node, self.shared = new, node, shared

    def of(self, value: Value, axes: Axes, depth: int) -> Summed:
        """The sum of `value` over `axes`, which are not in the result."""
        made = value.node
        is_near = depth < costs().column_sum_depth
        if made is not None and is_near and self._is_inner(value, made):
            rule = _rule_of(made)
            found = None if rule is None else rule(self, made, axes, depth + 1)
            if found is not None:
                return found._replace(saved=found.saved + _saved(made))
        make = self._emitting("sum", lambda: (value,), axis=axes)
        return Summed(0, frozenset(((value, axes),)), False, make)

    def _is_inner(self, value: Value, made: Node) -> bool:
        """Return whether only the sum needs a value that is linear in others."""
        place = made.region, made.segment
        return (
            not value.label
            and value not in self.shared
            and is_real(value)
            and place == (self.node.region, self.node.segment)
            and all(one.type.dtype == value.type.dtype for one in made.operands)
        )

    def _emitting(
        self, op: str, operands: Callable[[], tuple[Value, ...]], **params: object
    ) -> Callable[[], Value]:
        return lambda: emit(self.new, self.node, op, operands(), **params)

    def _both(self, made: Node, axes: Axes, depth: int) -> Summed | None:
        """A sum or difference of two arrays of the same shape."""
        first, second = made.operands
        if first.type is not second.type:
            return None
        one, other = self.of(first, axes, depth), self.of(second, axes, depth)
        is_rounded, leaves = one.is_rounded or other.is_rounded, one.leaves | other.leaves
        if not is_rounded and len(leaves) > 1:
            return None
        make = self._emitting(made.op.name, lambda: (one.make(), other.make()))
        return Summed(one.saved + other.saved, leaves, is_rounded, make)

    def _multiple(self, made: Node, axes: Axes, depth: int) -> Summed:
        inner = self.of(made.operands[0], axes, depth)
        return inner._replace(make=self._emitting(made.op.name, lambda: (inner.make(),)))

    def _scaled(self, made: Node, axes: Axes, depth: int) -> Summed | None:
        """An array times or by what is the same along the axes."""
        operands, type = made.operands, made.results[0].type
        for number in filter(made.op.is_linear_in, (0, 1)):
            value, scale = operands[number], operands[1 - number]
            if value.type is type and is_same_along(scale, axes, type.ndim):
                inner = self.of(value, axes, depth)

                def factors(inner: Summed = inner, number: int = number) -> tuple[Value, ...]:
                    parts = inner.make(), self._without(operands[1 - number], axes, type.ndim)
                    return parts if number == 0 else parts[::-1]

                return inner._replace(make=self._emitting(made.op.name, factors))
        return None

    def _product(self, made: Node, axes: Axes, depth: int) -> Summed | None:
        """A matrix product: of the sum of the rows of one, the columns of the other, or both."""
        first, second = made.operands
        ndim = made.results[0].type.ndim
        rows, columns = ndim - 2 in axes, ndim - 1 in axes
        if len(axes) != rows + columns:
            return None
        of_first = self.of(first, (first.type.ndim - 2,), depth) if rows else None
        of_second = self.of(second, (second.type.ndim - 1,), depth) if columns else None
        summed = [one for one in (of_first, of_second) if one is not None]

        def make() -> Value:
            return self._times(
                of_first.make() if of_first else first,
                of_second.make() if of_second else second,
                rows,
                columns,
            )

        leaves = frozenset[tuple[Value, Axes]]().union(*(one.leaves for one in summed))
        return Summed(sum(one.saved for one in summed), leaves, True, make)

    def _turned(self, made: Node, axes: Axes, depth: int) -> Summed:
        order = made.params["axes"]
        before = tuple(sorted(order[axis] for axis in axes))
        inner = self.of(made.operands[0], before, depth)
        left = [axis for axis in range(len(order)) if axis not in before]
        after = tuple(left.index(axis) for axis in order if axis in left)
        if after == tuple(range(len(after))):
            return inner
        return inner._replace(make=self._emitting("transpose", lambda: (inner.make(),), axes=after))

    def _times(self, first: Value, second: Value, rows: bool, columns: bool) -> Value:
        """The product of two matrices, or stacks of them, of which one is summed to a vector, or
        both."""
        stacked = []
        if rows and first.type.ndim > 1:
            first, stacked = self._put(first, -2), [-2]
        if columns and second.type.ndim > 1:
            second, stacked = self._put(second, -1), [*stacked, -1]
        vectors = first.type.ndim == 1, second.type.ndim == 1
        product = emit(self.new, self.node, PRODUCTS[vectors], (first, second))
        ndim = product.type.ndim
        if vectors[1] and stacked == [-2]:
            stacked = [-1]
        axes = tuple(ndim + axis for axis in stacked)
        return emit(self.new, self.node, "squeeze", (product,), axis=axes) if axes else product

    def _put(self, value: Value, axis: int) -> Value:
        return emit(
            self.new, self.node, "expand_dims", (value,), axis=(value.type.ndim + 1 + axis,)
        )

    def _without(self, scale: Value, axes: Axes, ndim: int) -> Value:
        """`scale`, which is spread over `ndim` dimensions, as it is over those that are left."""
        missing = ndim - scale.type.ndim
        gone = tuple(axis - missing for axis in axes if axis >= missing)
        made = made_by(scale, "expand_dims")
        if made is not None and made.params["axis"] == gone:
            return made.operands[0]
        return emit(self.new, self.node, "squeeze", (scale,), axis=gone) if gone else scale


def is_same_along(scale: Value, axes: Axes, ndim: int) -> bool:
    """Return whether `scale`, broadcast to `ndim` dimensions, is the same all along `axes`."""
    missing = ndim - scale.type.ndim
    return all(axis < missing or scale.type.shape[axis - missing] == 1 for axis in axes)


PRODUCTS = {
    (False, False): "matmul",
    (True, False): "vector_matmul",
    (False, True): "matmul_vector",
    (True, True): "vectors_matmul",
}
"""The product of two operands, by which of them is a vector."""


def _rule_of(made: Node) -> Callable[[_Sums, Node, Axes, int], Summed | None] | None:
    """The rule that makes the sum of a node's result of other sums; None if it is not linear."""
    op = made.op
    if op.product == "matrices":
        return _Sums._product
    if op is transpose:
        return _Sums._turned
    if not op.elementwise or not op.linear_in or made.params:
        return None
    if len(made.operands) == 1:
        return _Sums._multiple
    if len(made.operands) > 2:
        return None
    return _Sums._both if op.linear_in == "jointly" else _Sums._scaled
