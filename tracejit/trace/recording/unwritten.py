"""Arrays that converted code makes of nothing, `np.zeros(3)`, and never writes to: constants of the
graph, as they are in code as written.

While the function runs such an array may yet be written to, so it is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracejit.ir.graph import Node, Value, replace_values
from tracejit.support.cost_model import costs
from tracejit.trace.recording.record import Recording


def settle_unwritten(recording: Recording, start: int, kept: Iterable[Value]) -> None:
    """Let nodes from number `start` on read constants in the place of arrays that are made of
    nothing, unless these are written to or `kept`: results, and what events are given."""
    graph = recording.graph
    nodes = graph.nodes[start:]
    made = [node for node in nodes if _is_made_of_nothing(node)]
    if not made:
        return
    events = [value for event in recording.events for value in event.values]
    written = _written(nodes, {*kept, *events})
    known = {
        value: graph.constant(node.op.evaluate(**node.params))
        for node in made
        if (value := node.results[0]) not in written
    }
    for value, constant in known.items():
        constant.label = constant.label or value.label
    graph.forget_keys()
    for node in nodes:
        if not known.keys().isdisjoint(node.operands):
            node.operands = replace_values(node.operands, known)


def _is_made_of_nothing(node: Node) -> bool:
    if node.operands or node.op.effect or node.op.statements is not None or len(node.results) != 1:
        return False
    type = node.results[0].type
    is_array = type.form == "array" and type.sizes is None
    return is_array and 0 < type.size <= costs().most_folded_elements


def _written(nodes: Sequence[Node], written: set[Value]) -> set[Value]:
    """The values in `written`, and those that updates write to, through views or not."""
    for node in reversed(nodes):
        if node.op.statements is not None and node.op.inplace:
            written.add(node.operands[0])
        elif node.op.view_of is not None and node.results[0] in written:
            written.add(node.operands[node.op.view_of])
    return written
