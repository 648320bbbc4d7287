"""Liveness: the last statement that reads each value."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Node, Value


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
    return last


def read_values(node: Node, inlined: set[Node]) -> list[Value]:
    """The values that the statement of `node` reads: its operands, through inlined expressions."""
    values = list(node.operands)
    for value in values:
        if value.node is not None and value.node in inlined:
            values.extend(value.node.operands)
    return values
