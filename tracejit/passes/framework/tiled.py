"""Large arrays, which passes leave to the tiles."""

from __future__ import annotations

from typing import Any

from tracejit.ir.graph import Graph, Value
from tracejit.support.cost_model import costs


def tiled_rows(graph: Graph) -> set[Any]:
    """The numbers of rows of the arrays that tiles go through."""
    elementwise = [node for node in graph.nodes if node.op.elementwise]
    return {v.type.shape[0] for n in elementwise for v in n.results if is_tiled(v)}


def is_tiled(value: Value) -> bool:
    """Return whether a value is an array so large that it is tiled along its rows."""
    type = value.type
    if type.sizes is not None or not type.shape:
        return False
    return type.size * type.dtype.itemsize >= costs().left_to_tiles_bytes
