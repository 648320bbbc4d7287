"""Tile axes: the axis along which each value is tiled, and the effect of operations on that axis.

A value with an axis of the tiled size is tiled along it, along the first if there are several. An
operation computes *rows* where each row of its result depends only on the same rows of its
operands: elementwise operations, reductions over other axes, products with a matrix that is the
same for all rows. It computes a *total* where it combines all rows and can do so in parts: sums,
extremes, the product of two matrices along the tiled axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from tracejit.ir.dims import estimated, key_of
from tracejit.ir.graph import Node, Value
from tracejit.ops.base.op import Op
from tracejit.ops.indexing.indexing import FULL, getitem, take_at
from tracejit.ops.linalg.products import dot_in_rows
from tracejit.ops.shapes.joining import concatenate, stack
from tracejit.ops.shapes.shapes import expand_dims, squeeze, transpose
from tracejit.support.cost_model import costs
from tracejit.targets.numpy.plan.blas_policy import product_of


class Tiled(NamedTuple):
    """The tiled form of a node: it computes rows, or else a total; `operands` are those that are
    tiled for it."""

    makes_rows: bool
    operands: frozenset[Value]


class TileAxes:
    """The tiling of the nodes of a body along axes of `rows` rows."""

    def __init__(self, rows: Any) -> None:
        """Free dimensions are compared by their keys."""
        self._rows, self._count = key_of(rows), max(estimated((rows,)), 1)

    def axis(self, value: Value) -> int | None:
        """The axis along which a value is tiled, counted from the end; None if it is not."""
        type = value.type
        if type.form != "array":
            return None
        for number, size in enumerate(type.shape):
            if key_of(size) == self._rows:
                return number - type.ndim
        return None

    def of(self, node: Node) -> Tiled | None:
        """The tiled form of a node; None if it cannot run tile by tile."""
        if node.region or node.op.effect or len(node.results) != 1:
            return None
        if node.op.elementwise:
            return self._elementwise(node)
        rule = _rule_of(node.op)
        return rule(self, node) if rule is not None else None

    def _elementwise(self, node: Node) -> Tiled | None:
        axis = self.axis(node.results[0])
        return self._rows_of(node, axis, [axis] * len(node.operands))

    def _rows_of(self, node: Node, axis: int | None, axes: Sequence[int | None]) -> Tiled | None:
        """The rows that a node makes along `axis` of rows along `axes` of its operands."""
        if axis is None or self.axis(node.results[0]) != axis:
            return None
        return self._tiled(True, node, axes)

    def _tiled(self, makes_rows: bool, node: Node, axes: Sequence[int | None]) -> Tiled | None:
        """The tiled form of a node whose operands have rows along these `axes`; other operands must
        be the same for all rows."""
        tiled: set[Value] = set()
        whole: set[Value] = set()
        for value, axis in zip(node.operands, axes, strict=True):
            if axis is not None and self.axis(value) == axis:
                tiled.add(value)
            elif axis is not None and self._is_long(value, axis):
                return None
            else:
                whole.add(value)
        return Tiled(makes_rows, frozenset(tiled)) if tiled and tiled.isdisjoint(whole) else None

    def _is_long(self, value: Value, axis: int) -> bool:
        shape = value.type.shape
        return len(shape) >= -axis and key_of(shape[axis]) == self._rows

    def _reduction(self, node: Node) -> Tiled | None:
        value, axes = node.operands[0], node.params["axis"]
        axis = self.axis(value)
        if axis is None or not node.params.keys() <= {"axis", "keepdims", "dtype"}:
            return None
        place = axis + value.type.ndim
        if place in axes:
            # A product of parts may overflow where that of all elements does not.
            may_be_parts = node.op.reduces != "multiply" and node.results[0].type.is_inexact
            return self._tiled(False, node, [axis]) if may_be_parts else None
        after = 0 if node.params.get("keepdims") else sum(other > place for other in axes)
        return self._rows_of(node, axis + after, [axis])

    def _in_place(self, node: Node) -> Tiled | None:
        """The same elements in the same places."""
        axis = self.axis(node.operands[0])
        return self._rows_of(node, axis, [axis])

    def _moved(self, node: Node, order: Sequence[int | None]) -> Tiled | None:
        """The axes of the operand in another `order`, and new ones: None."""
        axis = self.axis(node.operands[0])
        place = -1 if axis is None else axis + node.operands[0].type.ndim
        if place not in order:
            return None
        return self._rows_of(node, list(order).index(place) - len(order), [axis])

    def _transposed(self, node: Node) -> Tiled | None:
        return self._moved(node, node.params["axes"])

    def _expanded(self, node: Node) -> Tiled | None:
        ndim = node.results[0].type.ndim
        added = {axis % ndim for axis in node.params["axis"]}
        old = iter(range(ndim))
        return self._moved(node, [None if n in added else next(old) for n in range(ndim)])

    def _squeezed(self, node: Node) -> Tiled | None:
        ndim = node.operands[0].type.ndim
        gone = {axis % ndim for axis in node.params["axis"]}
        return self._moved(node, [axis for axis in range(ndim) if axis not in gone])

    def _gathered(self, node: Node) -> Tiled | None:
        """Rows gathered from an array that is the same for all, by a number for each row."""
        if node.params["index"] != ("{1}",) or node.operands[1].type.ndim != 1:
            return None
        return self._rows_of(node, -node.results[0].type.ndim, [None, -1])

    def _joined(self, node: Node) -> Tiled | None:
        """Arrays next to each other, along another axis than the rows."""
        axis, ndim = self.axis(node.operands[0]), node.operands[0].type.ndim
        if axis is None or axis + ndim == node.params["axis"]:
            return None
        return self._rows_of(node, axis, [axis] * len(node.operands))

    def _stacked(self, node: Node) -> Tiled | None:
        axis, ndim = self.axis(node.operands[0]), node.operands[0].type.ndim
        if axis is None:
            return None
        after = axis + ndim < node.params["axis"] % (ndim + 1)
        return self._rows_of(node, axis - after, [axis] * len(node.operands))

    def _part(self, node: Node) -> Tiled | None:
        """A part of each row."""
        axis, index = self.axis(node.operands[0]), node.params["index"]
        if axis is None or any(type(entry) is str for entry in index):
            return None
        place = axis + node.operands[0].type.ndim
        taken = [entry for entry in index if entry is not None]
        if place < len(taken) and taken[place] != FULL:
            return None
        rest = iter(range(node.operands[0].type.ndim))
        order: list[int | None] = []
        for entry in index:
            number = None if entry is None else next(rest)
            if type(entry) is not int:
                order.append(number)
        return self._moved(node, [*order, *rest])

    def _matrices(self, node: Node) -> Tiled | None:
        """A product of matrices: of the rows of the first, the columns of the second, or stacks."""
        first, second = map(self.axis, node.operands)
        axis = self.axis(node.results[0])
        if not self._is_small(node):
            return None
        if first == -1 and second == -2:
            return self._tiled(False, node, [-1, -2])
        if axis == -2:
            return None if second == -2 else self._rows_of(node, axis, [-2, None])
        if axis == -1:
            return None if first == -1 else self._rows_of(node, axis, [None, -1])
        return self._rows_of(node, axis, [axis, axis])

    def _matrix_vector(self, node: Node) -> Tiled | None:
        first, second = map(self.axis, node.operands)
        if not self._is_small(node):
            return None
        if first == -1 and second == -1:
            return self._tiled(False, node, [-1, -1])
        axis = self.axis(node.results[0])
        return None if axis is None else self._rows_of(node, axis, [axis - 1, None])

    def _vector_matrix(self, node: Node) -> Tiled | None:
        first, second = map(self.axis, node.operands)
        if not self._is_small(node):
            return None
        if first == -1 and second == -2:
            return self._tiled(False, node, [-1, -2])
        return self._rows_of(node, -1, [None, -1])

    def _is_small(self, node: Node) -> bool:
        """Return whether a product takes few operations for each element that it reads or makes."""
        product = product_of(node)
        if product is None or any(value.type.dtype.kind != "f" for value in node.operands):
            return False
        types = [value.type for value in (*node.operands, *node.results)]
        if min(type.ndim for type in types[:2]) == 1:
            wide = max(node.operands, key=attrgetter("type.estimated_size"))
            most = costs().tiled_row_multiplications * self._count
            return is_computed(wide) or product.multiplications <= most
        elements = sum(one.estimated_size for one in types)
        return product.multiplications <= costs().tiled_multiplications * elements

    def _outer(self, node: Node) -> Tiled | None:
        """Each element of one vector times all of the other."""
        axis = self.axis(node.results[0])
        return self._rows_of(node, axis, [-1, None] if axis == -2 else [None, -1])

    def _vectors(self, node: Node) -> Tiled | None:
        """The products of vectors along the last axis of both."""
        if all(self.axis(value) == -1 for value in node.operands):
            return self._tiled(False, node, [-1, -1])
        axis = self.axis(node.results[0])
        return None if axis is None else self._rows_of(node, axis, [axis - 1] * 2)

    def _all_products(self, node: Node) -> Tiled | None:
        if any(self.axis(value) != -value.type.ndim for value in node.operands):
            return None
        return self._tiled(False, node, [-value.type.ndim for value in node.operands])


def is_computed(value: Value) -> bool:
    """Return whether a value, or the value that it is a view of, is the result of a node."""
    while value.node is not None and value.node.op.view_of is not None:
        value = value.node.operands[value.node.op.view_of]
    return value.node is not None


def ufunc_of(total: Node) -> str:
    """The ufunc that combines the parts of a total: those of products are added."""
    return total.op.reduces or "add"


TileRule = Callable[[TileAxes, Node], Tiled | None]
PRODUCTS: dict[str, TileRule] = {
    "matrices": TileAxes._matrices,
    "matrix_vector": TileAxes._matrix_vector,
    "vector_matrix": TileAxes._vector_matrix,
    "vectors": TileAxes._vectors,
    "outer": TileAxes._outer,
}
RULES: dict[Op, TileRule] = {
    transpose: TileAxes._transposed,
    expand_dims: TileAxes._expanded,
    squeeze: TileAxes._squeezed,
    getitem: TileAxes._part,
    take_at: TileAxes._gathered,
    concatenate: TileAxes._joined,
    stack: TileAxes._stacked,
    dot_in_rows: TileAxes._all_products,
}


def _rule_of(op: Op) -> TileRule | None:
    """The tiling rule of an operation that is not elementwise; None if it has none."""
    if op.product is not None:
        return PRODUCTS[op.product]
    if op.reduces is not None:
        return TileAxes._reduction
    is_in_place = op.elements == "same" and op.order != "F"
    return TileAxes._in_place if is_in_place else RULES.get(op)
