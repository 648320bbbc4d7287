"""Reductions: laid out as they run fastest.

A sum over axes next to each other is one over a single axis of the array in another shape, which
`lower` can do in blocks. The largest elements of many short rows are found for all rows at once, if
these are the columns of a copy: `maximum.reduce` takes its time for each row. Large arrays stay,
for they may go in tiles, and so do the rows that go along with them.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> graph = parse_graph('''graph f(x: f4[30,40,16]) -> s: f4[16], t: f4[30,40]
...   s  f4[16]    = sum x  axis=(0, 1)
...   t  f4[30,40] = max x  axis=(2,)
... ''', OPS)
>>> print(print_graph(arrange_reductions(graph)), end="")
graph f(x: f4[30,40,16]) -> s: f4[16], t: f4[30,40]
  s_1  f4[1200,16] = reshape x  shape=(1200, 16)
  s    f4[16]      = sum s_1  axis=(0,)
  t_1  f4[16,1200] = transpose s_1  axes=(1, 0)
  t_2  f4[16,1200] = ascontiguousarray t_1
  t_3  f4[1200]    = max t_2  axis=(0,)
  t    f4[30,40]   = reshape t_3  shape=(30, 40)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import Shape
from tracejit.passes.emission import emit, for_decisions
from tracejit.passes.lower import FLOATING, is_tiled
from tracejit.passes.rebuild import rebuild
from tracejit.support.cost_model import costs

REDUCTIONS = ("sum", "max", "min")
SHORT_ROW = 20
"""Up to there a copy of rows as columns is cheaper than a call for each row."""
LEAST_ELEMENTS = 1000


def arrange_reductions(graph: Graph) -> Graph:
    """`graph` with sums over one axis, and extremes over the first."""
    kept = for_decisions(graph)
    tiled = {
        value.type.shape[0]
        for node in graph.nodes
        for value in node.results
        if node.op.batch == "elementwise" and is_tiled(value)
    }

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node in kept or not _is_open(node, operands[0]):
            return None
        if operands[0].type.shape[0] in tiled:
            return None
        arranged = _over_one_axis if node.op.name == "sum" else _of_columns
        value = arranged(new, node, operands[0])
        return None if value is None else (value,)

    return rebuild(graph, rewrite, ops=REDUCTIONS)


def _is_open(node: Node, x: Value) -> bool:
    """Tell if a reduction is one of an array that is in C order, as far as is known, and neither
    small nor large."""
    type = x.type
    if type.sizes is not None or not type.shape or type.dtype not in FLOATING:
        return False
    if type.size < LEAST_ELEMENTS or type.estimated_bytes >= costs().left_to_tiles_bytes:
        return False
    if x.node is not None and x.node.op.alias is not None and x.node.op.name != "reshape":
        return False
    return type.dtype == node.results[0].type.dtype and node.params.keys() <= {"axis", "keepdims"}


def _over_one_axis(graph: Graph, node: Node, x: Value) -> Value | None:
    """A sum over several neighbouring axes as one over a single axis."""
    axis, shape = sorted(node.params["axis"]), x.type.shape
    if not 1 < len(axis) < len(shape) or x.type.size <= costs().blas_elements:
        return None
    first, last = axis[0], axis[-1] + 1
    if axis != list(range(first, last)):
        return None
    parts = [shape[:first], shape[first:last], shape[last:]]
    sizes = tuple(math.prod(part) for part in parts if part)
    x = emit(graph, node, "reshape", (x,), shape=sizes)
    found = emit(graph, node, "sum", (x,), axis=(1 if first else 0,))
    return _shaped(graph, node, found, node.results[0].type.shape)


def _of_columns(graph: Graph, node: Node, x: Value) -> Value | None:
    """The extremes of short rows as those of the columns of a copy."""
    shape, axis = x.type.shape, list(node.params["axis"])
    if len(shape) < 2 or axis != [len(shape) - 1] or not 1 < shape[-1] <= SHORT_ROW:
        return None
    x = _shaped(graph, node, x, (x.type.size // shape[-1], shape[-1]))
    x = emit(graph, node, "transpose", (x,), axes=(1, 0))
    x = emit(graph, node, "ascontiguousarray", (x,))
    found = emit(graph, node, node.op.name, (x,), axis=(0,))
    return _shaped(graph, node, found, node.results[0].type.shape)


def _shaped(graph: Graph, node: Node, x: Value, shape: Shape) -> Value:
    return x if x.type.shape == shape else emit(graph, node, "reshape", (x,), shape=shape)
