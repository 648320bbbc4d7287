"""Defaults: where a Python number may stand for the NumPy scalar that a parameter is by default.

`out_bar=1.0` reads better than `out_bar=float64(1.0)`, and is the same as long as it meets arrays
and NumPy's functions, or is written into an array. A Python number is not divided by zero, has no
methods and no elements, is not returned as a scalar, and takes the dtype of what it meets.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from tracejit.ir.graph import Constant, Node, Value
from tracejit.ops.base.op import Op
from tracejit.ops.control.branches import LEAVE
from tracejit.ops.elementwise.arithmetic import divide
from tracejit.targets.numpy.plan.plan import Plan
from tracejit.targets.numpy.plan.tile_loops import TILES


def may_be_python(plan: Plan, value: Value) -> bool:
    """Return whether a body computes the same with a Python number in place of `value`."""
    if _is_mixed(plan):
        return False
    readers: dict[Value, list[Node]] = defaultdict(list)
    for node in (*plan.statements, *plan.inlined):
        for operand in dict.fromkeys(node.operands):
            readers[operand].append(node)
    numbers, pending = {value}, [value]
    while pending:
        for node in readers[pending.pop()]:
            is_number = all(one in numbers or _is_number(one) for one in node.operands)
            if not _takes_python(node, is_number):
                return False
            if is_number and node.op.arithmetic and node.results[0] not in numbers:
                numbers.add(node.results[0])
                pending.append(node.results[0])
    return numbers.isdisjoint((*plan.results, *plan.kept))


def _takes_python(node: Node, is_number: bool) -> bool:
    """Return whether a node takes a Python number; `is_number` if all its operands are such."""
    if node.op is TILES or node.op.update:
        return True
    if node.op is LEAVE or node.op.statements is not None or not node.op.source:
        return False
    if node.op is divide and is_number:
        below = node.operands[1]
        return isinstance(below, Constant) and bool(np.all(below.data != 0.0))
    op: Op = node.op
    types = [value.type for value in node.operands]
    return op.arithmetic or op.template(types, node.params).startswith("np.")


def _is_number(value: Value) -> bool:
    return isinstance(value, Constant) and value.type.form != "array"


def _is_mixed(plan: Plan) -> bool:
    """Return whether a Python number in place of a scalar could take another dtype: where there are
    several floating dtypes."""
    values = (
        v for node in (*plan.statements, *plan.inlined) for v in (*node.operands, *node.results)
    )
    return len({v.type.dtype for v in (*plan.inputs, *values) if v.type.is_inexact}) > 1
