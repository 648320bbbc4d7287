"""Materialised broadcasts: an operand that is broadcast over short rows is repeated beforehand.

NumPy's loops go along the last axes, as far as all operands lie there as one. A bias of 16 channels
over a stack of images makes a loop of 16 elements for each of thousands of pixels, which takes
three times as long as long loops. Repeated for the pixels of a line, or of an image, it makes one
for each line. Small arrays take twice as long where an operand is broadcast, as NumPy sets up an
iterator: what is broadcast over several of them, as masses or a bias in every step of a loop, is
copied in their shape once. A copy is made where it takes less time than all that read it save, and
is small next to what they compute. Not a bit changes. What tiles go through is left to them.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[9,32,32,8], b: f8[8]) -> h: f8[9,32,32,8]
...   h  f8[9,32,32,8] = add x b
... ''', OPS)
>>> print(print_graph(drop_dead(materialise_broadcasts(graph))), end="")
graph f(x: f8[9,32,32,8], b: f8[8]) -> h: f8[9,32,32,8]
  h_1  f8[32,8]      = broadcast_to b  shape=(32, 8)
  h_2  f8[32,8]      = copy h_1  order='C'
  h    f8[9,32,32,8] = add x h_2
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import Shape
from tracejit.passes.emission import emit, is_spread, made_by
from tracejit.passes.layout_analysis import loop_time
from tracejit.passes.lower import is_tiled
from tracejit.passes.rebuild import rebuild
from tracejit.support.cost_model import costs


def materialise_broadcasts(graph: Graph) -> Graph:
    """`graph` with operands repeated where they are broadcast over short rows, or often."""
    elementwise = [node for node in graph.nodes if node.op.elementwise and len(node.operands) > 1]
    axes = {node: count for node in elementwise if (count := _axes(node))}
    if not axes:
        return graph
    saved: dict[tuple[Value, Shape], float] = defaultdict(float)
    for node, count in axes.items():
        shape = node.results[0].type.shape
        broadcast = [one for one in node.operands if _is_short(one, shape, count)]
        for value in broadcast:
            time = loop_time(shape, tuple(range(len(shape))), node.operands)
            time += costs().broadcast_set_up
            saved[value, _target(value, shape, count)] += time / len(broadcast)
    chosen = {key for key, time in saved.items() if time > _copy_time(*key)}
    if not chosen:
        return graph

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node not in axes:
            return None
        shape = node.results[0].type.shape
        targets = [_target(old, shape, axes[node]) for old in node.operands]
        if chosen.isdisjoint(zip(node.operands, targets, strict=True)):
            return None
        read = [
            _repeated(new, node, value, target) if (old, target) in chosen else value
            for old, value, target in zip(node.operands, operands, targets, strict=True)
        ]
        return new.take(node, tuple(read)).results

    return rebuild(graph, rewrite)


def _axes(node: Node) -> int:
    """Along how many of the last axes operands are to be repeated; 0 where it is not worth it."""
    if len(node.results) != 1:
        return 0
    type = node.results[0].type
    shape = type.shape
    if type.sizes is not None or any(one.type.sizes is not None for one in node.operands):
        return 0
    if all([one.type.shape == shape for one in node.operands]):
        return 0
    model = costs()
    if not any(is_spread(value, shape) for value in node.operands):
        return 0
    if not type.size or is_tiled(node.results[0]):
        return 0
    if type.size <= model.broadcast_whole:
        return len(shape) if any(one.type.shape == shape for one in node.operands) else 0
    arrays = [value for value in node.operands if value.type.size > 1]
    alike = 0
    while alike < len(shape) and not any(_is_short(one, shape, alike + 1) for one in arrays):
        alike += 1
    length = math.prod(shape[len(shape) - alike :])
    if type.size < model.broadcast_rows or not 1 < length < model.repeated_row:
        return 0
    axes = alike + 1
    while math.prod(shape[-axes:]) < model.repeated_row and axes < len(shape) - 1:
        axes += 1
    short = [one for one in arrays if _is_short(one, shape, axes)]
    largest = max(math.prod(_target(one, shape, axes)) for one in short)
    return axes if axes < len(shape) and largest * model.repeated_share <= type.size else 0


def _is_short(value: Value, shape: Shape, axes: int) -> bool:
    """Return whether an operand has not the last `axes` of `shape` itself."""
    return value.type.size > 1 and value.type.shape[-axes:] != shape[-axes:]


def _target(value: Value, shape: Shape, axes: int) -> Shape:
    """The shape of an operand that is repeated along the last `axes` of `shape`."""
    own = value.type.shape
    return (*own[: max(len(own) - axes, 0)], *shape[-axes:])


def _copy_time(value: Value, target: Shape) -> float:
    model, order = costs(), tuple(range(len(target)))
    time = model.broadcast_copy + model.broadcast_element * math.prod(target)
    return time + loop_time(target, order, (value,))


def _repeated(graph: Graph, like: Node, value: Value, target: Shape) -> Value:
    """A copy of `value` in the shape that it is broadcast to."""
    made = made_by(value, "expand_dims")
    if made is not None and made.params["axis"] == tuple(range(len(made.params["axis"]))):
        value = made.operands[0]
    view = emit(graph, like, "broadcast_to", (value,), shape=target)
    return emit(graph, like, "copy", (view,), order="C")
