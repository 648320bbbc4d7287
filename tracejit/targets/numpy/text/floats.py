"""Functions and loops of float64 scalars that run on Python floats.

Python adds and multiplies its floats in less than half the time that NumPy takes for its scalars,
and to the same bits. Only division by zero differs, which is an error in Python: such a function
has a twin in NumPy scalars, `value_and_grad_in_scalars`, that takes over. Functions such as `exp`
stay NumPy's, for their last bits; powers are left alone, which Python may make complex.

A loop has no twin. It divides by `x or float64(x)`, which is NumPy's zero where x is zero: the
quotient is NumPy's, with its warning, and so is what is computed from it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import Op
from tracejit.ops.control.branches import LEAVE
from tracejit.ops.control.control_flow import STACK_ROW, body_inputs
from tracejit.ops.elementwise.arithmetic import divide
from tracejit.ops.indexing.indexing import getitem
from tracejit.support.cost_model import costs
from tracejit.targets.numpy.plan.plan import Plan
from tracejit.targets.numpy.text.expressions import Expressions

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


class StepExpressions(FloatExpressions):
    """Expressions of a step of a loop, whose quotients never raise an error."""

    def operands(self, node: Node) -> list[str]:
        """The operands of a node, each as it is written."""
        texts = super().operands(node)
        divisor = node.operands[-1]
        is_known = isinstance(divisor, Constant) and divisor.data != 0
        if node.op is divide and not is_known:
            texts[1] = self.bind(f"({texts[1]} or np.float64({texts[1]}))")
        return texts

    def expression(self, node: Node) -> str:
        """The node's right-hand side, a Python number."""
        if node.results[0].type is FLOAT64 and node.op is not getitem:
            return super().expression(node)
        return Expressions.expression(self, node)


def loop_pays(node: Node, step: Plan) -> bool:
    """Return whether a loop, whose `step` is planned, runs faster on Python floats, by enough."""
    inputs, length = body_inputs(node), node.params["length"]
    if type(length) is not int:
        return False
    results = node.params["body"].graph.outputs
    sliced = [value for value in inputs.sliced if step.readers[value]]
    fixed = [value for value in inputs.invariants if step.readers[value]]
    numbers = [value for value in fixed if _is_python(value)]
    lists = [value for value in fixed if not _is_python(value)]
    if not all(map(_is_python, (*inputs.carried, *sliced, *results))):
        return False
    nodes = [one for one in (*step.statements, *step.inlined) if one.op is not STACK_ROW]
    if not all(_is_element(one, lists) or _may_be_float(one) or _is_weak(one) for one in nodes):
        return False
    if any(_reads_whole(one, lists) for one in nodes) or any(v in lists for v in results):
        return False
    listed = length * len(sliced) + sum(value.type.size for value in lists)
    plain = [one for one in nodes if _may_be_float(one)]
    operations = sum(bool(one.op.arithmetic) for one in plain)
    calls = len(plain) - operations
    model = costs()
    gain = model.float_operation_gain * operations + model.float_call_gain * calls
    time = model.scalar_operation * operations + model.scalar_call * calls
    made = model.float_made * len(numbers) + model.scalar_made * node.params["carried"]
    saved = length * gain - made - model.listed_number * listed
    return bool(saved >= model.least_float_gain * length * time)


def _is_python(value: Value) -> bool:
    """Return whether a value of a step may be a Python number."""
    return value.type is FLOAT64 or _is_number(value)


def _is_weak(node: Node) -> bool:
    return all(value.type.form == "weak" for value in (*node.operands, *node.results))


def _is_element(node: Node, arrays: Sequence[Value]) -> bool:
    """Return whether a node takes a number of one of `arrays` by a Python index."""
    if node.op is not getitem or node.results[0].type is not FLOAT64:
        return False
    array, *index = node.operands
    is_plain = node.params["index"] == ("{1}",) and [v.type.form for v in index] == ["weak"]
    return is_plain and array in arrays and array.type.ndim == 1


def _reads_whole(node: Node, arrays: Sequence[Value]) -> bool:
    return not _is_element(node, arrays) and not set(arrays).isdisjoint(node.operands)


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
    return value.type.form == "weak" and value.type.dtype.kind in "if"
