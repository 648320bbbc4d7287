"""Terms that the steps of a loop add to a sum, and the factors of these products."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracejit.ir.graph import Constant, Node, Value
from tracejit.loops.bodies.step_values import RowIndex
from tracejit.ops.base.creation import full
from tracejit.ops.elementwise.arithmetic import multiply
from tracejit.passes.framework.emission import made_by


class Term(NamedTuple):
    """A term that each step adds to a sum, or subtracts from it.

    `parts` are what is needed for all steps: the term itself; two factors, whose products are added
    up by one product; or `rows`, which each step places at its own index: a slice of all, or what
    `scattered` says, a node. There are none where the term is the same at each step. The sum is
    `placed` by a node at an index that is the same.
    """

    value: Value
    is_subtracted: bool
    parts: tuple[Value, ...]
    rows: RowIndex | None = None
    placed: Node | None = None
    scattered: Node | None = None

    @property
    def wanted(self) -> tuple[Value, ...]:
        """The values that are needed for all steps."""
        indices = () if self.scattered is None else self.scattered.operands[1:]
        return (*self.parts, *indices)


def factors_of(node: Node) -> tuple[Value, ...]:
    """`a` and `b` of a product `outer(a, b)` or `a.T @ b`, of a number and an array, or of a column
    and a row."""
    left, right = node.operands[:2] if len(node.operands) > 1 else (node.results[0],) * 2
    if node.op.product == "outer":
        return left, right
    if node.op.product == "matrices" and left.type.ndim == right.type.ndim == 2:
        turned = made_by(left, "transpose")
        return (turned.operands[0], right) if turned is not None else ()
    if node.op is multiply and left.type.dtype == right.type.dtype:
        for column, row in ((left, right), (right, left)):
            is_column = column.type.ndim == 2 and column.type.shape[1] == 1 == _row_count(row)
            if is_column or (not column.type.ndim and row.type.ndim):
                return column, row
    return ()


def _row_count(value: Value) -> int:
    """The number of rows of a matrix, or of what is broadcast with one."""
    shape = value.type.shape
    return shape[0] if len(shape) == 2 else 1 if len(shape) == 1 else 0


def is_zero(value: Value) -> bool:
    """Return whether a value is known to be zero everywhere."""
    if isinstance(value, Constant):
        return not np.any(value.data)
    node = value.node
    return node is not None and node.op is full and node.params["fill"] == 0
