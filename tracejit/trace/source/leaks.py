"""Leaks out of bodies: what the body of a loop or the side of a condition records has no value
outside of it."""

from __future__ import annotations

from collections.abc import Collection

from tracejit.ir.graph import Graph, Value
from tracejit.support.errors import fail
from tracejit.trace.source import places


def check_bodies(graph: Graph, gone: Collection[Value]) -> None:
    """Raise LeakedTensorError where `graph` reads values that were taken out of it."""
    gone = frozenset(gone)
    reads = [(node.where, node.operands) for node in graph.nodes]
    for where, values in [*reads, (None, tuple(graph.outputs))]:
        if not gone.isdisjoint(values):
            place = places.where_of(where, graph.files)
            raise fail("leaked-body", place, function=graph.name)
