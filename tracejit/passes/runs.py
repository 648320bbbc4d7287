"""Longer runs: what is spread over short rows of a large array is repeated until its rows are long.

NumPy's loops go along the last axes, as far as all operands lie there as one. A bias of 16 channels
over a stack of images makes a loop of 16 elements for each of thousands of pixels, which takes
three times as long as long loops. Repeated for the pixels of a line, or of an image, it makes one
for each line. The copy is a small part of what is computed with it; basic arithmetic keeps every
bit. What tiles go through is left to them.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[9,32,32,8], b: f8[8]) -> h: f8[9,32,32,8]
...   h  f8[9,32,32,8] = add x b
... ''', OPS)
>>> print(print_graph(drop_dead(lengthen_runs(graph))), end="")
graph f(x: f8[9,32,32,8], b: f8[8]) -> h: f8[9,32,32,8]
  h_1  f8[32,8]      = broadcast_to b  shape=(32, 8)
  h_2  f8[32,8]      = copy h_1  order='C'
  h    f8[9,32,32,8] = add x h_2
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import Shape
from tracejit.passes.emission import emit, for_decisions
from tracejit.passes.lower import is_tiled
from tracejit.passes.rebuild import rebuild

LEAST_ELEMENTS = 8192
LONG_RUN = 64
SHARE = 8
"""A copy is no larger than such a part of the result."""


def lengthen_runs(graph: Graph) -> Graph:
    """`graph` with operands repeated where they are spread over short rows."""
    kept = for_decisions(graph)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node in kept or node.op.batch != "elementwise" or len(operands) < 2:
            return None
        axes = _axes(node)
        if not axes:
            return None
        shape = node.results[0].type.shape
        longer = tuple(_repeated(new, node, value, shape, axes) for value in operands)
        return new.take(node, longer).results

    return rebuild(graph, rewrite)


def _axes(node: Node) -> int:
    """Along how many of the last axes operands are to be repeated; 0 where it is not worth it."""
    type = node.results[0].type
    if type.sizes is not None or type.ndim < 3 or type.size < LEAST_ELEMENTS:
        return 0
    if is_tiled(node.results[0]):
        return 0
    shape = type.shape
    arrays = [value.type for value in node.operands if value.type.size > 1]
    alike = 0
    while alike < len(shape) and all(_lies_along(one.shape, shape, alike + 1) for one in arrays):
        alike += 1
    if alike == len(shape) or not 1 < math.prod(shape[len(shape) - alike :]) < LONG_RUN:
        return 0
    axes = alike + 1
    while math.prod(shape[-axes:]) < LONG_RUN and axes < len(shape) - 1:
        axes += 1
    spread = [one.shape for one in arrays if not _lies_along(one.shape, shape, axes)]
    largest = max(math.prod(_target(one, shape, axes)) for one in spread)
    return axes if axes < len(shape) and largest * SHARE <= type.size else 0


def _lies_along(own: Shape, shape: Shape, axes: int) -> bool:
    """Tell if an operand has the last `axes` of `shape` itself."""
    return own[-axes:] == shape[-axes:]


def _target(own: Shape, shape: Shape, axes: int) -> Shape:
    """The shape of an operand that is repeated along the last `axes` of `shape`."""
    return (*own[: max(len(own) - axes, 0)], *shape[-axes:])


def _repeated(graph: Graph, like: Node, value: Value, shape: Shape, axes: int) -> Value:
    """A copy of `value` that is as `shape` along the last `axes`; itself where it is so already."""
    own = value.type.shape
    if value.type.size <= 1 or _lies_along(own, shape, axes):
        return value
    view = emit(graph, like, "broadcast_to", (value,), shape=_target(own, shape, axes))
    return emit(graph, like, "copy", (view,), order="C")
