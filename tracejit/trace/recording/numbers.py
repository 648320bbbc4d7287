"""Numbers that Python reads while a function is recorded: `float(lr)`, `math.sqrt(2.0 * lr)`.

What is made of constants, of Python numbers and NumPy scalars that are arguments, and of sizes is
known in the call that is recorded. To read it is to go by these arguments: each becomes a guard of
the kernel.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tracejit.ir.graph import Constant, Value
from tracejit.ir.subgraph import Placeholder
from tracejit.ops.control.marker_ops import IDENTITY, OVERRIDE
from tracejit.ops.elementwise.weak import BINARY_OPS, SIZE, UNARY_OPS
from tracejit.trace.tensor.tensor import TENSORS


def may_be_differentiated(leaf: Any) -> bool:
    """Return whether something is a Variable or a Tensor through which derivatives may flow: of
    floats, and no Python number but one that is computed from floats of NumPy's, or that a body is
    given."""
    if not hasattr(type(leaf), "__tracejit_record__") or not leaf.type.is_inexact:
        return False
    if type(leaf) not in TENSORS:
        return True
    if any(window.knows(leaf._value) for window in leaf._recording.windows):
        return True
    waiting, met = [leaf._value], {leaf._value}
    while waiting:
        value = waiting.pop()
        if value.type.form != "weak" or type(value) is Placeholder:
            if value.type.is_inexact:
                return True
        elif value.node is not None:
            new = set(value.node.operands) - met
            met |= new
            waiting += new
    return False


def is_plain_number(tensor: Any) -> bool:
    """Return whether a Tensor is a Python number through which no derivative flows."""
    return bool(tensor.type.form == "weak") and not may_be_differentiated(tensor)


def origins_of(value: Value) -> set[Value] | None:
    """The inputs and sizes that `value` is computed from: none where it is made of constants alone.
    None if a draw or a callback is among what computes it, or where an array or NumPy scalar has
    gone through a marker, which may stand for something that is differentiated by."""
    pending, met, found = [value], {value}, set[Value]()
    while pending:
        one = pending.pop()
        if isinstance(one, Constant):
            continue
        if one.node is None or one.node.op is SIZE:
            found.add(one)
            continue
        if one.node.op.effect:
            return None
        if one.node.op in (OVERRIDE, IDENTITY) and one.type.form != "weak":
            return None
        pending += [x for x in one.node.operands if x not in met]
        met.update(one.node.operands)
    return found


def readable_origins(recording: Any, value: Value) -> set[Value] | None:
    """The inputs and sizes that a value is computed from, if Python may read the value under guards
    on them without losing a derivative. None if it may not."""
    origins = origins_of(value)
    if not origins:
        return origins
    if value.type.form == "array":
        return None
    if any(window.knows(value) for window in recording.windows):
        return None
    known = all(one in recording.known or one in recording.scalars for one in origins)
    if recording.reopened_by is not None:
        known = all(one in recording.known for one in origins)
    return origins if known else None


def note_reads(recording: Any, origins: Collection[Value]) -> None:
    """Python goes by these arguments and sizes from here. A derivative that is recorded for one
    call of a kernel is for this call alone."""
    recording.decisions.has_read |= recording.reopened_by is not None
    for one in origins:
        if one.node is not None:
            int(one.node.params["value"])
    for one in recording.graph.inputs:
        if one in origins and one not in recording.reads:
            known = recording.known if one in recording.known else recording.scalars
            recording.reads[one] = known[one], recording.here()


_OF_SIZES: dict[Any, Callable[..., Any]] = {
    BINARY_OPS["+"]: operator.add,
    BINARY_OPS["-"]: operator.sub,
    BINARY_OPS["*"]: operator.mul,
    UNARY_OPS["-"]: operator.neg,
}


def size_in_steps(value: Value, steps: Mapping[Value, Callable[[], Any]]) -> Any:
    """A number that is computed from the numbers of `steps`, as a size; None where it is none."""
    if isinstance(value, Constant):
        return value.data if type(value.data) is int else None
    if value in steps:
        return steps[value]()
    if value.node is None or value.node.op not in _OF_SIZES:
        return None
    sides = [size_in_steps(one, steps) for one in value.node.operands]
    return None if any(one is None for one in sides) else _OF_SIZES[value.node.op](*sides)
