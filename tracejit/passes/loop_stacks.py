"""Arrays that loops slice and stack: fewer of them, and fewer rows to read and to write.

- `slice_no_broadcasts`: of an array that is broadcast along the steps each step reads the same, so
  that it is an invariant;
- `share_shifted_stacks`: a loop may stack what a step begins with beside what it ends with. The
  first of these arrays is the second, shifted by a step, and is put together after the loop.

Both are exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ops.control_flow import body_inputs, element_type, loop_operands
from tracejit.ops.creation import full
from tracejit.ops.joining import concatenate
from tracejit.ops.shapes import broadcast_to, reshape
from tracejit.passes.emission import emit
from tracejit.passes.loops import emit_like, rebuild_loops, with_inputs


def slice_no_broadcasts(graph: Graph) -> Graph:
    """`graph` with what each step of a loop reads alike as invariants."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        count = len(loop_operands(node).sliced)
        elements = [_element(new, node, value) for value in operands[len(operands) - count :]]
        body = node.params["body"].graph
        alike = {
            value: element
            for value, element in zip(body.inputs[-1 - count : -1], elements, strict=True)
            if element is not None and element.type is value.type
        }
        if not alike:
            return None
        pairs = zip(body.inputs, operands, strict=False)
        others = [(value, operand) for value, operand in pairs if value not in alike]
        inputs = [*alike, *[value for value, _ in others], body.inputs[-1]]
        read = [*alike.values(), *[operand for _, operand in others]]
        wider = with_inputs(body, inputs, body.nodes, body.outputs, {})
        invariants = node.params["invariants"] + len(alike)
        return emit_like(new, node, read, wider, invariants=invariants).results

    return rebuild_loops(graph, rewrite)


def _element(graph: Graph, loop: Node, whole: Value) -> Value | None:
    """The element that an array has at each step; None where they may differ."""
    type = element_type(whole.type)
    if isinstance(whole, Constant):
        rows = np.asarray(whole.data)
        is_alike = len(rows) > 0 and (rows.tobytes() == rows[:1].tobytes() * len(rows))
        return graph.constant(rows[0]) if is_alike else None
    node = whole.node
    if node is None:
        return None
    if node.op is full:
        if type.form == "scalar":
            return graph.constant(type.dtype.type(node.params["fill"]))
        return emit(graph, loop, full, (), **{**node.params, "shape": type.shape})
    if node.op is not broadcast_to:
        return None
    value = node.operands[0]
    if value.type.ndim == whole.type.ndim:
        if value.type.shape[0] != 1 or whole.type.shape[0] == 1:
            return None
        value = emit(graph, loop, reshape, (value,), shape=value.type.shape[1:])
    if value.type.shape != type.shape:
        value = emit(graph, loop, broadcast_to, (value,), shape=type.shape)
    return value


def share_shifted_stacks(graph: Graph) -> Graph:
    """`graph` with no loop that stacks what each step begins with beside what it ends with."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        body = node.params["body"].graph
        count = node.params["carried"]
        ends = {value: place for place, value in enumerate(body.outputs) if place >= count}
        shifted = {
            ends[value]: (ends[out], initial)
            for value, out, initial in zip(
                body_inputs(node).carried,
                body.outputs,
                operands[node.params["invariants"] :],
                strict=False,
            )
            if value in ends and out in ends and value is not out
        }
        if not shifted:
            return None
        results = list(new.take(node, operands).results)
        for place, (end, initial) in shifted.items():
            results[place] = _shifted(new, node, results[end], initial)
            results[place].take_name(node.results[place])
        return results

    return rebuild_loops(graph, rewrite)


def _shifted(graph: Graph, loop: Node, stack: Value, initial: Value) -> Value:
    """The values that steps begin with, from those that they end with and the first of all."""
    type = stack.type
    first = (1, *type.shape[1:])
    spread = reshape if initial.type.shape else broadcast_to
    row = emit(graph, loop, spread, (initial,), shape=first)
    part = ("slice", 1, None, None) if loop.params["reverse"] else ("slice", None, -1, None)
    others = emit(graph, loop, "getitem", (stack,), index=(part,))
    parts = (others, row) if loop.params["reverse"] else (row, others)
    return emit(graph, loop, concatenate, parts, axis=0)
