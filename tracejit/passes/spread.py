"""Spread once: what many small operations spread over arrays of one shape is spread for them once.

NumPy takes twice as long for a small array and an operand that has to be spread over it as for two
small arrays of one shape: it leaves its plain loop and sets up an iterator. In a loop over steps
the masses of bodies or a bias are spread anew in every step. The operand is copied in the shape
that it is spread to where READERS or more operations read it so; not a bit changes.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[4,3], b: f8[3]) -> h: f8[4,3]
...   h  f8[4,3] = add x b
...   h  f8[4,3] = sin h
...   h  f8[4,3] = add h b
...   h  f8[4,3] = tanh h
...   h  f8[4,3] = multiply h b
...   h  f8[4,3] = sinh h
...   h  f8[4,3] = add h b
... ''', OPS)
>>> print(print_graph(drop_dead(spread_once(graph))), end="")
graph f(x: f8[4,3], b: f8[3]) -> h: f8[4,3]
  h_1  f8[4,3] = broadcast_to b  shape=(4, 3)
  h_2  f8[4,3] = copy h_1  order='C'
  h    f8[4,3] = add x h_2
  h    f8[4,3] = sin h
  h    f8[4,3] = add h h_2
  h    f8[4,3] = tanh h
  h    f8[4,3] = multiply h h_2
  h    f8[4,3] = sinh h
  h    f8[4,3] = add h h_2
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import Shape
from tracejit.passes.emission import emit, for_decisions, is_spread, made_by
from tracejit.passes.rebuild import rebuild

READERS = 4
"""The copy takes as long as so many operations are faster for it."""
MOST_ELEMENTS = 2048
"""Above that it is the elements that take their time."""


def spread_once(graph: Graph) -> Graph:
    """`graph` with operands that are often spread over small arrays in that shape."""
    kept = for_decisions(graph)
    readers = Counter(
        (value, shape)
        for node in graph.nodes
        if node not in kept and (shape := _small_shape(node)) is not None
        for value in node.operands
        if is_spread(value, shape)
    )
    if max(readers.values(), default=0) < READERS:
        return graph

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        shape = None if node in kept else _small_shape(node)
        if shape is None or all(readers[old, shape] < READERS for old in node.operands):
            return None
        changed = tuple(
            value if readers[old, shape] < READERS else _spread(new, node, value, shape)
            for old, value in zip(node.operands, operands, strict=True)
        )
        return new.take(node, changed).results

    return rebuild(graph, rewrite)


def _small_shape(node: Node) -> Shape | None:
    """The shape of a small array that an elementwise operation makes."""
    if node.op.batch != "elementwise" or len(node.results) != 1 or len(node.operands) < 2:
        return None
    type = node.results[0].type
    if type.sizes is not None or not 0 < type.size <= MOST_ELEMENTS:
        return None
    return type.shape if any(value.type.shape == type.shape for value in node.operands) else None


def _spread(graph: Graph, like: Node, value: Value, shape: Shape) -> Value:
    """A copy of `value` in a shape."""
    made = made_by(value, "expand_dims")
    if made is not None and made.params["axis"] == tuple(range(len(made.params["axis"]))):
        value = made.operands[0]
    view = emit(graph, like, "broadcast_to", (value,), shape=shape)
    return emit(graph, like, "copy", (view,), order="C")
