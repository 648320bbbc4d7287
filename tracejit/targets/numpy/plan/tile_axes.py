"""Tile axes: the axis along which each value is tiled, and the effect of operations on that axis.

A value with an axis of the tiled size is tiled along it, along the first if there are several. An
operation computes *rows* where each row of its result depends only on the same rows of its
operands: elementwise operations, reductions over other axes, products with a matrix that is the
same for all rows. It computes a *total* where it combines all rows and can do so in parts: sums,
extremes, the product of two matrices along the tiled axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from tracejit.ir.dims import estimated, key_of
from tracejit.ir.graph import Node, Value
from tracejit.ops.base.axes import MIXED, AxisRule, axis_rule
from tracejit.ops.indexing.indexing import getitem, take_at
from tracejit.ops.linalg.products import dot_in_rows
from tracejit.ops.shapes.joining import concatenate, stack
from tracejit.ops.shapes.shapes import expand_dims, squeeze, transpose
from tracejit.support.cost_model import costs
from tracejit.targets.numpy.plan.blas_policy import product_of

MOVING = (transpose, expand_dims, squeeze, concatenate, stack)


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
        if node.op is dot_in_rows:
            return self._all_products(node)
        if not self._may_be_tiled(node):
            return None
        rule = axis_rule(node.op, [value.type for value in node.operands], node.params)
        return None if rule is None else self._by_letters(node, rule)

    def _may_be_tiled(self, node: Node) -> bool:
        """Return whether the letters of the axes of a node say all, and tiles are no slower."""
        op, params = node.op, node.params
        if op.product is not None:
            return op.product in ("vectors", "outer") or self._is_small(node)
        if op.reduces is not None:
            return params.keys() <= {"axis", "keepdims", "dtype"}
        if op is getitem:
            return not any(type(entry) is str for entry in params["index"])
        if op is take_at:
            return params["index"] == ("{1}",) and node.operands[1].type.ndim == 1
        is_in_place = op.elements == "same" and op.order != "F"
        return op.elementwise or is_in_place or op in MOVING

    def _by_letters(self, node: Node, rule: AxisRule) -> Tiled | None:
        """The total over an axis of rows that the result does not have, or else the rows along that
        of the result."""
        (made,), axes = rule.results, [self.axis(value) for value in node.operands]
        letters = [
            MIXED if k is None else one[k] for one, k in zip(rule.operands, axes, strict=True)
        ]
        ends = [one for one in letters if one not in (MIXED, *made) and _adds_up(node)]
        total = self._along(ends[0], letters, node, rule, False) if ends else None
        if total is not None:
            return total
        axis = self.axis(node.results[0])
        return None if axis is None else self._along(made[axis], letters, node, rule, True)

    def _along(
        self, letter: str, letters: Sequence[str], node: Node, rule: AxisRule, makes_rows: bool
    ) -> Tiled | None:
        """The tiled form along the axes with this letter, which operands must have along their axis
        of rows; those without it are the same for all rows."""
        tiled: set[Value] = set()
        whole: set[Value] = set()
        for value, own, one in zip(node.operands, letters, rule.operands, strict=True):
            if own != letter and letter in one:
                return None
            (tiled if own == letter else whole).add(value)
        is_known = letter != MIXED and tiled and tiled.isdisjoint(whole)
        return Tiled(makes_rows, frozenset(tiled)) if is_known else None

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

    def _all_products(self, node: Node) -> Tiled | None:
        if any(self.axis(value) != -value.type.ndim for value in node.operands):
            return None
        return Tiled(False, frozenset(node.operands))


def is_computed(value: Value) -> bool:
    """Return whether a value, or the value that it is a view of, is the result of a node."""
    while value.node is not None and value.node.op.view_of is not None:
        value = value.node.operands[value.node.op.view_of]
    return value.node is not None


def _adds_up(node: Node) -> bool:
    """Return whether a total may be made of parts: a product of parts may overflow where that of
    all elements does not."""
    is_product = node.op.reduces == "multiply"
    return node.op.reduces is None or (node.results[0].type.is_inexact and not is_product)


def ufunc_of(total: Node) -> str:
    """The ufunc that combines the parts of a total: those of products are added."""
    return total.op.reduces or "add"
