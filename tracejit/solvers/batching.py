"""Batching of routines: a loop over the elements, whose body calls the routine for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def define(name: str, **fields: Any) -> routines.Routine:
    """Declare a routine, which is batched one element after the other."""
    return routines.define(name, batch=one_by_one(name), **fields)


def one_by_one(name: str) -> Callable[..., Any]:
    """The batching rule of the routine of this name."""

    def rule(moved: Moved, *operands: Any, **params: Any) -> Any:
        recording = next(x for x, there in zip(operands, moved, strict=True) if there)._recording
        graph, start = recording.graph, len(recording.graph.nodes)
        step = step_number(recording)
        pairs = [*zip(operands, moved, strict=True)]
        wholes = [x for x, there in pairs if there]
        elements = iter([placeholder(recording, _element(x.type)) for x in wholes])
        rows = []
        inside = []
        for x, there in pairs:
            inside.append(next(elements) if there else x)
            rows += inside[-1:] if there else []
        values = [recording.lift(x) for x in inside]
        opened = opened_params(graph, params, values)
        found = results_of(OPS[name](*inside, **opened))
        nodes = take_out(recording, start, [step._value, *[x._value for x in rows]])
        side = Side(nodes, [x._value for x in found])
        inputs = LoopInputs([], [x._value for x in rows], step._value)
        steps = LoopRange(size_of(moved, operands), False)
        made = emit_loop(recording, name, steps, inputs, side, [], wholes)
        return tuple(made) if len(made) > 1 else made[0]

    return rule


def _element(type: ArrayType) -> ArrayType:
    """The type of an element of a batch."""
    return ArrayType(type.shape[1:], type.dtype, "array" if type.ndim > 1 else "scalar")
