"""Residuals: split values that a later stage computes again, or that are kept for it.

Keeping costs memory for every row at once, on all workers together; computing again costs the time
of the stages before. Nothing is kept unless there is a budget, and then what saves most operations
per byte comes first.
"""

from __future__ import annotations

from tracejit.ir.graph import Node, Value
from tracejit.ir.sizes import evaluated
from tracejit.sharding.analysis import Analysis


def kept_values(found: Analysis, rows: int, budget: int | None) -> list[Value]:
    """The split values to keep, of arrays of so many `rows`, in at most `budget` bytes."""
    if not budget:
        return []
    saved = {value: _operations(found, value) for value in _read_later(found)}
    kept: list[Value] = []
    for value in sorted(saved, key=lambda value: -saved[value] / value.type.estimated_bytes):
        is_cheap = saved[value] <= value.type.estimated_size  # reading it takes as long
        if not is_cheap and _bytes(value, rows) <= budget:
            budget -= _bytes(value, rows)
            kept.append(value)
    return kept


def _read_later(found: Analysis) -> list[Value]:
    """The split values that a node of a later level reads, and that are not arguments."""
    read: dict[Value, None] = {}
    for node in found.graph.nodes:
        level = max((found.of(value).level for value in node.operands), default=0)
        for value in node.operands:
            place = found.of(value)
            if place.is_split and place.level < level and value.node is not None:
                read[value] = None
    return list(read)


def _operations(found: Analysis, value: Value) -> int:
    """The operations that computing a value again takes, from what is given."""
    nodes: set[Node] = set()
    remaining = [value]
    while remaining:
        one = remaining.pop()
        if one.node is not None and one.node not in nodes and found.is_computed_in_blocks(one):
            nodes.add(one.node)
            remaining.extend(one.node.operands)
    return sum(
        node.op.cost(*[operand.type for operand in node.operands], **node.params) for node in nodes
    )


def _bytes(value: Value, rows: int) -> int:
    count = value.type.dtype.itemsize
    for size in value.type.shape:
        count *= evaluated(size, {"n": rows})
    return max(count, 1)
