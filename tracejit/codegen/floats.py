"""Functions of float64 scalars that run on Python floats.

Python adds and multiplies its floats in less than half the time that NumPy takes for its scalars,
and to the same bits. Only division by zero differs, which is an error in Python: such a function
has a twin in NumPy scalars, `value_and_grad_in_scalars`, that takes over. Functions such as `exp`
stay NumPy's, for their last bits; powers are left alone, which Python may make complex.
"""

from __future__ import annotations

import numpy as np

from tracejit.codegen.expressions import Expressions
from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.branches import LEAVE
from tracejit.ops.op import Op
from tracejit.schedule.plan import Plan
from tracejit.support.cost_model import costs

FLOAT64 = ArrayType((), np.dtype("f8"), "scalar")


class FloatExpressions(Expressions):
    """Expressions of Python floats."""

    def operand(self, value: Value, strong: bool = True) -> str:
        """A value where it is used; every number is a literal."""
        return super().operand(value, strong=False)

    def expression(self, node: Node) -> str:
        """The node's right-hand side, a Python float."""
        text = super().expression(node)
        return text if node.op.arithmetic else f"float({text})"

    def result(self, value: Value) -> str:
        """A value as it is returned."""
        return self.bind(f"np.float64({self.operand(value)})")


def pays(plan: Plan) -> bool:
    """Return whether a function runs faster on Python floats, by enough."""
    if plan.branches.decisions or any(value.type is not FLOAT64 for value in plan.inputs):
        return False
    nodes = [node for node in (*plan.statements, *plan.inlined) if node.op is not LEAVE]
    if not all(map(_may_be_float, nodes)):
        return False
    returned = [value for end in plan.leaves for value in end.operands] or plan.results
    if not returned or any(value.type is not FLOAT64 for value in returned):
        return False
    operations = sum(bool(node.op.arithmetic) for node in nodes)
    calls = len(nodes) - operations
    model = costs()
    gain = model.float_operation_gain * operations + model.float_call_gain * calls
    gain -= model.python_call
    gain -= model.float_made * len(plan.inputs) + model.scalar_made * len(returned)
    time = model.scalar_operation * operations + model.scalar_call * calls
    return gain >= model.least_float_gain * time


def _may_be_float(node: Node) -> bool:
    """Return whether Python floats give the same bits, in an expression of this module."""
    if [value.type for value in node.results] != [FLOAT64] or not node.op.elementwise:
        return False
    if not all(value.type is FLOAT64 or _is_number(value) for value in node.operands):
        return False
    if all(isinstance(value, Constant) for value in node.operands) or node.op.effect:
        return False
    op: Op = node.op
    types = [value.type for value in node.operands]
    return op.arithmetic or op.template(types, node.params).startswith("np.")


def _is_number(value: Value) -> bool:
    return (
        isinstance(value, Constant) and value.type.form == "weak" and value.type.dtype.kind in "if"
    )
