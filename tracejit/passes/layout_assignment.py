"""Layout assignment: arrays of many short rows are kept with their long axes last.

NumPy's loops go along the last axes of an array. Where an operand is broadcast over rows of three
elements, a thousand of them take ten times as long as three rows of a thousand. So what is computed
of arrays like (1000, 3), (1000, 2, 3) or (64, 96, 3) is computed as (3, 1000), (2, 3, 1000) or
(3, 64, 96): the long axes last, the others before them in their order. Axes that belong together,
as operations align them, go last together or not at all: each such class of axes is moved where the
loops that become longer gain more than it takes to copy what enters and what leaves. Products are
those of transposed factors in reverse, stacks of small matrices are multiplied by `einsum` along
the long axis, and a product that is read transposed only is made so, whatever its shape.

What is of free dimensions stays. Sums are added up in another order; nothing else changes.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[900,2,3], a: f8[900,1,3]) -> s: f8[900,2], t: f8[900,2]
...   c  f8[900,2,3] = subtract x a
...   e  f8[900,2,3] = multiply c a
...   s  f8[900,2]   = max e  axis=(2,)
...   t  f8[900,2]   = getitem c  index=('...', 1)
... ''', OPS)
>>> print(print_graph(drop_dead(assign_layouts(graph))), end="")
graph f(x: f8[900,2,3], a: f8[900,1,3]) -> s: f8[900,2], t: f8[900,2]
  c_1  f8[2,3,900] = transpose x  axes=(1, 2, 0)
  c_2  f8[2,3,900] = ascontiguousarray c_1
  c_3  f8[1,3,900] = transpose a  axes=(1, 2, 0)
  c_4  f8[1,3,900] = ascontiguousarray c_3
  c    f8[2,3,900] = subtract c_2 c_4
  e    f8[2,3,900] = multiply c c_4
  s_1  f8[2,900]   = max e  axis=(1,)
  s_2  f8[900,2]   = transpose s_1  axes=(1, 0)
  s    f8[900,2]   = copy s_2  order='C'
  t_1  f8[2,900]   = getitem c  index=(('slice', None, None, None), 1)
  t_2  f8[900,2]   = transpose t_1  axes=(1, 0)
  t    f8[900,2]   = copy t_2  order='C'
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.passes.axes import (
    PRODUCTS,
    REVERSED_PRODUCTS,
    Moved,
    Order,
    in_c_order,
    in_order,
    moved_shape,
    rearranged,
    swapped,
)
from tracejit.passes.emission import emit
from tracejit.passes.layout_analysis import Layouts, is_alike, is_tall, own_order
from tracejit.passes.rebuild import rebuild


def assign_layouts(graph: Graph) -> Graph:
    """`graph` with long axes last where that gains something; not where the user has something
    computed again."""
    if any(node.region for node in graph.nodes):
        return graph
    values = chain(graph.inputs, *[node.results for node in graph.nodes])
    if not any(is_tall(value.type) for value in values):
        return graph
    layouts = Layouts(graph)
    layouts.choose()
    if not (layouts.last or layouts.orders):
        return graph
    return rebuild(graph, _Assignment(layouts).rewrite)


class _Assignment:
    """The rewriting of a graph, of which each value is kept as the layouts say."""

    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts
        self.moved: dict[Value, Value] = {}
        """What is kept in another order, as it is kept."""
        self.known: dict[Value, Value] = {}
        self.read_as_they_are = set(layouts.graph.outputs)
        for node in layouts.graph.nodes:
            if layouts.wanted(node) is None:
                self.read_as_they_are.update(
                    value
                    for place, value in enumerate(node.operands)
                    if not layouts.reads_view(node, place)
                )

    def rewrite(
        self, new: Graph, node: Node, operands: tuple[Value, ...]
    ) -> Sequence[Value] | None:
        """The results of `node` computed of values as they are kept."""
        layouts = self.layouts
        self.known.update(zip(node.operands, operands, strict=True))
        wanted = layouts.wanted(node)
        if wanted is None:
            return self._of_views(new, node)
        old = node.results[0]
        if wanted == tuple(map(own_order, node.operands)) and old not in layouts.orders:
            return None
        kept, made = layouts.order(old), layouts.made_order(node)
        is_view = node.op.name in PRODUCTS and kept == swapped(old.type.ndim)
        read = tuple(
            self._in_order(new, node, value, order, is_view)
            for value, order in zip(node.operands, wanted, strict=True)
        )
        value = in_order(Moved(new, node, read, wanted, made))
        if old not in layouts.orders:
            return (_c_ordered(new, node, value, made, old),)
        if made != kept:
            value = _reordered(new, node, value, made, kept, old)
        assert value.type is ArrayType(moved_shape(old.type.shape, kept), old.type.dtype), node
        self.moved[old] = value
        if old not in self.read_as_they_are:
            return (value,)
        return (_c_ordered(new, node, value, kept, old),)

    def _in_order(self, new: Graph, node: Node, old: Value, order: Order, is_view: bool) -> Value:
        """An operand with its axes in an order: as it is kept, or a copy; a view where that does
        as well."""
        own, value = self.layouts.order(old), self.moved.get(old, self.known[old])
        if own == order:
            return value
        if is_view:
            return rearranged(new, node, value, tuple([own.index(axis) for axis in order]))
        return _reordered(new, node, value, own, order, old)

    def _of_views(self, new: Graph, node: Node) -> Sequence[Value] | None:
        """A node that is made as ever, of views where it can read these."""
        layouts = self.layouts
        places = [
            place
            for place, value in enumerate(node.operands)
            if value in self.moved and layouts.reads_view(node, place)
        ]
        if not places:
            return None
        read = [self.known[value] for value in node.operands]
        reverse = node.op.name in REVERSED_PRODUCTS and any(one.type.ndim == 1 for one in read)
        for place in places:
            old = node.operands[place]
            back = _back(layouts.order(old))
            read[place] = (
                self.moved[old] if reverse else rearranged(new, node, self.moved[old], back)
            )
        if not reverse:
            return new.take(node, tuple(read)).results
        name = REVERSED_PRODUCTS[node.op.name]
        return (emit(new, node, name, tuple(read[::-1]), **node.params),)


def _back(order: Order) -> Order:
    """The order that brings axes back to their places."""
    return tuple([order.index(axis) for axis in range(len(order))])


def _reordered(
    new: Graph, node: Node, value: Value, own: Order, order: Order, like: Value
) -> Value:
    """A value whose axes stand in its `own` order in another one: a copy if that moves anything."""
    view = rearranged(new, node, value, tuple([own.index(axis) for axis in order]))
    return view if is_alike(like, own, order) else emit(new, node, "ascontiguousarray", (view,))


def _c_ordered(new: Graph, node: Node, value: Value, order: Order, like: Value) -> Value:
    """A value whose axes stand in an order as the program has it, in C order."""
    view = rearranged(new, node, value, _back(order))
    if in_c_order(order, like.type.shape):
        return view
    return emit(new, node, "copy", (view,), order="C")
