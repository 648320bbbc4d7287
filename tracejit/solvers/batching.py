"""Batching of routines: a loop over the elements, whose body calls the routine for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tracejit.ir.subgraph import opened_params
from tracejit.ir.types import ArrayType
from tracejit.ops.base.batching import Moved, size_of
from tracejit.ops.base.op import OPS
from tracejit.ops.control import routines
from tracejit.trace.control_flow.loops import (
    LoopInputs,
    LoopRange,
    Side,
    emit_loop,
    placeholder,
    results_of,
    step_number,
    take_out,
)


def define(name: str, batch: Callable[..., Any] | None = None, **fields: Any) -> routines.Routine:
    """Declare a routine, which is batched one element after the other."""
    return routines.define(name, batch=batch or partial(one_by_one, name), **fields)


def one_by_one(name: str, moved: Moved, *operands: Any, **params: Any) -> Any:
    """The results of a routine for a batch."""
    found = looped(name, OPS[name], moved, operands, params)
    return tuple(found) if found[1:] else found[0]


def without_handle(name: str, moved: Moved, *operands: Any, **params: Any) -> Any:
    """The results of a routine for a batch: its handle stays behind, None is in its place."""

    def call(*inside: Any, **opened: Any) -> Any:
        return OPS[name](*inside, **opened)[0]

    return *looped(name, call, moved, operands, params), None


def looped(
    name: str,
    call: Callable[..., Any],
    moved: Moved,
    operands: Sequence[Any],
    params: dict[str, Any],
) -> list[Any]:
    """The results of a loop over the elements of a batch, which makes a `call` for each."""
    recording = next(x for x, there in zip(operands, moved, strict=True) if there)._recording
    start = len(recording.graph.nodes)
    step = step_number(recording)
    rows: dict[Any, Any] = {}
    for x, there in zip(operands, moved, strict=True):
        if there and x._value not in rows:
            rows[x._value] = x, placeholder(recording, _element(x.type))
    inside = [rows[x._value][1] if there else x for x, there in zip(operands, moved, strict=True)]
    opened = opened_params(recording.graph, params, [recording.lift(x) for x in inside])
    found = results_of(call(*inside, **opened))
    elements = [one._value for _, one in rows.values()]
    nodes = take_out(recording, start, [step._value, *elements])
    side = Side(nodes, [x._value for x in found])
    inputs = LoopInputs([], elements, step._value)
    steps = LoopRange(size_of(moved, operands), False)
    return emit_loop(recording, name, steps, inputs, side, [], [x for x, _ in rows.values()])


def _element(type: ArrayType) -> ArrayType:
    """The type of an element of a batch."""
    return ArrayType(type.shape[1:], type.dtype, "array" if type.ndim > 1 else "scalar")
