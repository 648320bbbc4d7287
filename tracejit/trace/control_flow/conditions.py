"""Recording of conditions: each side once, and the node that owns them.

All that a side records is of that side, as it may be expensive, raise, or have an effect. All sides
return results of one type: Python numbers become scalars of the dtype that the other sides have,
and a number is a 0-d array where it is one on any side.

What a side makes with an effect, such as a draw, is a further result of the node, so that a
derivative need not make it again: zeros where another side is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tracejit.ir.graph import Constant, Value
from tracejit.ir.subgraph import Placeholder, Subgraph, needed_for, values_around
from tracejit.ir.types import HANDLE, ArrayType
from tracejit.ops.base.creation import full, plain_number
from tracejit.ops.base.forms import as_array, as_element, as_scalar
from tracejit.ops.control.control_flow import COND, op_for
from tracejit.trace.control_flow.loops import Side, results_of, take_out
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor


def record_side(
    recording: Recording, side: Callable[[], Sequence[Tensor]], nodes: Sequence[Any] = ()
) -> Side:
    """Record `side`, after `nodes` of the same side."""
    start = len(recording.graph.nodes)
    outputs = [tensor._value for tensor in side()]
    return Side([*nodes, *take_out(recording, start)], outputs)


def common_type(types: Sequence[ArrayType]) -> ArrayType | None:
    """The type that values of these types all become; None if there is none.

    >>> from tracejit.ir.types import parse_type
    >>> common_type([parse_type("~i8"), parse_type("f4"), parse_type("f4[]")])
    f4[]
    >>> common_type([parse_type("f8[3]"), parse_type("f8[2]")]) is None
    True
    """
    first = types[0]
    if all(type is first for type in types):
        return first
    if any(type.shape for type in types) or any(type.form in ("list", "handle") for type in types):
        return None
    strong = {type.dtype for type in types if type.form != "weak"}
    if len(strong) > 1:
        return None
    dtype = strong.pop() if strong else np.result_type(*[type.dtype for type in types])
    if not all(np.can_cast(type.dtype, dtype, "same_kind") for type in types):
        return None
    is_array = any(type.form == "array" for type in types)
    return ArrayType((), dtype, "array" if is_array else "scalar")


def converted(tensor: Any, type: ArrayType) -> Any:
    """A number as one of another type."""
    if tensor.type.form == "weak" and type.form != "weak":
        tensor = as_scalar(tensor, dtype=type.dtype)
    if tensor.type is not type:
        tensor = as_array(tensor) if type.form == "array" else as_element(tensor)
    return tensor


def emit_condition(
    recording: Recording,
    name: str,
    choice: Tensor,
    sides: Sequence[Side],
    around: dict[Value, Any] | None = None,
    takes_numbers: bool = False,
) -> list[Tensor]:
    """The results of a condition on `choice`, whose sides return values that have common types.
    `around` maps values that the sides read from outside to what they are here. One that
    `takes_numbers` has the numbers in its sides as operands: the conditions of the steps of a loop
    are alike but for these."""
    types = _common_types(sides)
    sides = [_converted(recording, side, types) for side in sides]
    sides = _with_effects(recording, sides)
    if not sides[0].outputs:
        return []
    numbers: dict[Value, Value] = {}
    if takes_numbers:
        sides = [_with_placeholders(recording, side, numbers) for side in sides]
    kept = [needed_for(side.outputs, side.nodes, ()) for side in sides]
    read = dict.fromkeys(
        value
        for nodes, side in zip(kept, sides, strict=True)
        for value in values_around(nodes, side.outputs, ())
    )
    bodies = tuple(
        Subgraph(recording.graph, f"{name}_{number}", [*read], nodes, side.outputs)
        for number, (nodes, side) in enumerate(zip(kept, sides, strict=True))
    )
    known: dict[Value, Any] = {**(around or {}), **_tensors(recording, numbers)}
    operands = [known.get(value, Tensor(value, recording)) for value in read]
    op = op_for(COND, [node for nodes in kept for node in nodes])
    return results_of(op(choice, *operands, bodies=bodies))[: len(types)]


def _tensors(recording: Recording, values: dict[Value, Value]) -> dict[Value, Any]:
    return {name: Tensor(value, recording) for name, value in values.items()}


def _with_placeholders(recording: Recording, side: Side, numbers: dict[Value, Value]) -> Side:
    """A side with a placeholder in place of each number in it; `numbers` learns which."""

    def placed(value: Value) -> Value:
        if not isinstance(value, Constant) or value.type.shape or value.type.form == "handle":
            return value
        made = Placeholder(value.type)
        recording.gone.add(made)
        numbers[made] = value
        return made

    for node in side.nodes:
        node.operands = tuple(map(placed, node.operands))
    return Side(side.nodes, [*map(placed, side.outputs)])


def _common_types(sides: Sequence[Side]) -> list[ArrayType]:
    columns = zip(*[side.outputs for side in sides], strict=True)
    types = [common_type([value.type for value in column]) for column in columns]
    assert None not in types
    return types  # type: ignore[return-value]


def _converted(recording: Recording, side: Side, types: Sequence[ArrayType]) -> Side:
    """A side that returns values of these types."""
    pairs = list(zip(side.outputs, types, strict=True))
    if all(value.type is type for value, type in pairs):
        return side

    def outputs() -> list[Tensor]:
        return [converted(Tensor(value, recording), type) for value, type in pairs]

    return record_side(recording, outputs, side.nodes)


def _with_effects(recording: Recording, sides: Sequence[Side]) -> Sequence[Side]:
    """Sides that return what each of them makes by effects, too."""
    made = [
        [
            value
            for node in side.nodes
            if node.op.effect
            for value in node.results
            if value.type is not HANDLE and value not in side.outputs
        ]
        for side in sides
    ]
    if not any(made):
        return sides

    def outputs(side: Side) -> list[Tensor]:
        found = [Tensor(value, recording) for value in side.outputs]
        for other, values in zip(sides, made, strict=True):
            found += [
                Tensor(value, recording) if other is side else zeros(recording, value.type)
                for value in values
            ]
        return found

    return [record_side(recording, partial(outputs, side), side.nodes) for side in sides]


def zeros(recording: Recording, type: ArrayType, negative: bool = False) -> Any:
    """Zeros of a type. A sum begins with negative ones, which leave the sign of its first term."""
    number = -type.dtype.type(0) if negative else type.dtype.type(0)
    if type.form == "array":
        params = {"shape": type.shape, "fill": plain_number(number), "dtype": type.dtype}
        return recording.record(full, (), params)
    return Tensor(recording.lift(number.item() if type.form == "weak" else number), recording)
