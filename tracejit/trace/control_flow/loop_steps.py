"""Steps of a loop that is being closed: segments between decisions, and the variables of the
frame."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType
from typing import Any

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, type_of
from tracejit.ops.base.forms import as_element, as_scalar
from tracejit.ops.control.control_flow import ControlFlow


class Segment:
    """The nodes of a step up to a decision, or to its end, with the values of the variables there
    and the test. The `forms` tell which variables are of the type that they began with; None where
    a step leaves one as it is."""

    def __init__(self) -> None:
        """Begin with no node."""
        self.nodes: list[Node] = []
        self.decision: Value | None = None
        self.sides: dict[bool, Segment] = {}
        self.outputs: list[Value] = []
        self.temporaries: dict[str, Value] = {}
        self.forms: dict[str, bool | None] = {}

    def leaves(self) -> list[Segment]:
        """The ends of all ways from here."""
        return [leaf for side in self.sides.values() for leaf in side.leaves()] or [self]

    def all_nodes(self) -> list[Node]:
        """The nodes of all ways from here."""
        later = [node for side in self.sides.values() for node in side.all_nodes()]
        return [*self.nodes, *later]

    def named(self, inputs: Iterable[str]) -> Iterator[tuple[str, Value]]:
        """The variables after a step, those that it began with first."""
        yield from zip(inputs, self.outputs, strict=False)
        yield from self.temporaries.items()

    def made(self) -> set[tuple[str, ArrayType]]:
        """The variables that were assigned anew, and their types."""
        return {(name, value.type) for name, value in self.temporaries.items()}

    def unseen(self) -> tuple[bool, ...] | None:
        """The outcomes that lead to a side that was not recorded yet."""
        if self.decision is None:
            return None
        for outcome in (True, False):
            side = self.sides.get(outcome)
            if side is None:
                return (outcome,)
            rest = side.unseen()
            if rest is not None:
                return (outcome, *rest)
        return None


def as_bool(tensor: Any, outcome: bool) -> Any:
    """Return, recorded, whether the truth value of a number is `outcome`."""
    if tensor.type.form == "weak":
        tensor = as_scalar(tensor, dtype=tensor.dtype)
    if tensor.type.form == "array":
        tensor = as_element(np.reshape(tensor, ()))
    if tensor.dtype.kind != "b":
        tensor = tensor != 0
    return tensor if outcome else np.logical_not(tensor)


def is_same(one: Any, other: Any) -> bool:
    """Return whether two objects that are no Tensors are the same, or equal numbers."""
    if one is other:
        return True
    kind = type_of(one)
    return kind is not None and kind is type_of(other) and repr(one) == repr(other)


def reads_alike(node: Node, others: Mapping[Value, ArrayType]) -> bool:
    """Return whether a node computes the same where an operand, a scalar, is of its type in
    `others`: a Python number or a 0-d array. Two of them may be such at once, which gives another
    Python number: no node reads two."""
    read = {operand for operand in node.operands if operand in others}
    if not read:
        return True
    if len(read) > 1:
        return False
    (one,) = read
    other = others[one]
    kinds = [operand.type for operand in node.operands if operand.type.form != "weak"]
    is_alone = len(kinds) == sum(operand is one for operand in node.operands)
    dtypes = (one.type.dtype, np.dtype(bool))
    if is_alone or isinstance(node.op, ControlFlow) or any(x.dtype not in dtypes for x in kinds):
        return False
    types = [other if operand is one else operand.type for operand in node.operands]
    try:
        found = node.op.result_types(types, node.params)
    except (TypeError, ValueError):
        return False
    return list(found) == [result.type for result in node.results]


def at_line(frame: FrameType, head: int, line: int, act: Callable[[], None]) -> None:
    """Call `act` when a running frame, which is about to go through the `head` of a loop, comes to
    this line next. No debugger is there."""

    def look(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line" and frame.f_lineno == head:
            return look
        sys.settrace(None)
        frame.f_trace = None
        if event == "line" and frame.f_lineno == line:
            act()
        return None

    frame.f_trace = look
    sys.settrace(lambda frame, event, argument: None)


def set_locals(frame: FrameType, values: Mapping[str, Any]) -> None:
    """Assign variables of a running frame, as debuggers do."""
    local = frame.f_locals
    for name, value in values.items():
        local[name] = value
    if sys.version_info < (3, 13):
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
