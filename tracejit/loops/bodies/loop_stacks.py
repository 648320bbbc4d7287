"""Arrays that loops stack: fewer of them.

A loop may stack what a step begins with beside what it ends with. The first of these arrays is the
second, shifted by a step, and is put together after the loop. Not a bit changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.loops.bodies.loops import rebuild_loops
from tracejit.ops.control.control_flow import body_inputs
from tracejit.ops.shapes.joining import concatenate
from tracejit.ops.shapes.joining import stack as join
from tracejit.ops.shapes.shapes import broadcast_to, reshape
from tracejit.passes.framework.emission import emit


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
    if initial.type.form == "scalar":
        row = emit(graph, loop, join, (initial,), axis=0)
    else:
        spread = reshape if initial.type.shape else broadcast_to
        row = emit(graph, loop, spread, (initial,), shape=(1, *type.shape[1:]))
    part = ("slice", 1, None, None) if loop.params["reverse"] else ("slice", None, -1, None)
    others = emit(graph, loop, "getitem", (stack,), index=(part,))
    parts = (others, row) if loop.params["reverse"] else (row, others)
    return emit(graph, loop, concatenate, parts, axis=0)
