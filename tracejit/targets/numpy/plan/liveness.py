"""Liveness: the last statement that reads each value."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Node, Value
from tracejit.ops.control.control_flow import body_inputs, is_loop, loop_operands
from tracejit.targets.numpy.plan.buffers import Storages


def last_uses(
    statements: Sequence[Node], inlined: set[Node], results: Sequence[Value]
) -> dict[Value, int]:
    """The number of the last statement reading each value; len(statements) for results."""
    last: dict[Value, int] = {}
    for number, node in enumerate(statements):
        for value in read_values(node, inlined):
            last[value] = number
    for result in results:
        last[result] = len(statements)
        if result.node in inlined:
            assert result.node is not None
            last.update(dict.fromkeys(read_values(result.node, inlined), len(statements)))
    for node in reversed(statements):
        lists = [value for value in node.results if value.type.form == "list"]
        end = max([last.get(value, -1) for value in lists], default=-1)
        values = held_in_lists(node) if end >= 0 and is_loop(node) else []
        for value in values:
            last[value] = max(last.get(value, -1), end)
            if value.node is not None and value.node in inlined:
                values.extend(value.node.operands)
    return last


def held_in_lists(node: Node) -> list[Value]:
    """The operands of a loop that its lists hold, or views of them: a step hands them on."""
    graph, count = node.params["body"].graph, node.params["carried"]
    storages = Storages((), graph.nodes)
    operands, inputs = loop_operands(node), body_inputs(node)
    results = dict(zip(inputs.carried, graph.outputs[:count], strict=True))
    waiting = [value for value in graph.outputs[count:] if value.type.form == "array"]
    found = set[Value]()
    for value in waiting:
        root = storages.root(value)
        if root not in found:
            found.add(root)
            waiting += [results[root]] if root in results else []
    return [
        operand
        for given, taken in zip(operands, inputs, strict=True)
        for operand, inner in zip(given, taken, strict=True)
        if inner in found
    ]


def read_values(node: Node, inlined: set[Node]) -> list[Value]:
    """The values that the statement of `node` reads: its operands, through inlined expressions."""
    values = list(node.operands)
    for value in values:
        if value.node is not None and value.node in inlined:
            values.extend(value.node.operands)
    return values
