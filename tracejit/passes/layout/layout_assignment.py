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
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
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
from tracejit.ir.types import ArrayType, Shape
from tracejit.passes.framework.emission import emit
from tracejit.passes.framework.rebuild import rebuild
from tracejit.passes.layout.axes import (
    REVERSED_PRODUCTS,
    Moved,
    Order,
    in_order,
    is_alike,
    moved_shape,
    own_order,
    rearranged,
)
from tracejit.passes.layout.layout_analysis import Layouts, is_tall


def assign_layouts(graph: Graph) -> Graph:
    """`graph` with long axes last where that gains something; not where the user has something
    computed again."""
    if any(node.region for node in graph.nodes):
        return graph
    values = chain(graph.inputs, *[node.results for node in graph.nodes])
    if not any([is_tall(type) for type in {value.type for value in values}]):
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
        """Values in another order, as they are kept."""
        self.known: dict[Value, Value] = {}
        self.read_as_they_are = set(layouts.graph.outputs)
        for node in layouts.graph.nodes:
            if layouts.making(node) is None:
                places = [k for k in range(len(node.operands)) if not layouts.reads_view(node, k)]
                self.read_as_they_are.update([node.operands[place] for place in places])

    def rewrite(
        self, new: Graph, node: Node, operands: tuple[Value, ...]
    ) -> Sequence[Value] | None:
        """The results of `node` computed of values as they are kept."""
        self.known.update(zip(node.operands, operands, strict=True))
        making = self.layouts.making(node)
        if making is None:
            return self._of_views(new, node)
        old = node.results[0]
        if old not in self.layouts.orders and making.wanted == tuple(map(own_order, node.operands)):
            return None
        shape, kept, made = old.type.shape, self.layouts.order(old), making.made
        read = tuple(
            self._read(new, node, value, order, making.reads_views)
            for value, order in zip(node.operands, making.wanted, strict=True)
        )
        value = in_order(Moved(new, node, read, making.wanted, made))
        if old in self.layouts.orders:
            if made != kept:
                value = _reordered(new, node, value, made, kept, shape)
            assert value.type is ArrayType(moved_shape(shape, kept), old.type.dtype), node
            self.moved[old], made = value, kept
            if old not in self.read_as_they_are:
                return (value,)
        view = rearranged(new, node, value, made, own_order(old))
        if is_alike(shape, made, own_order(old)):
            return (view,)
        return (emit(new, node, "copy", (view,), order="C"),)

    def _read(self, new: Graph, node: Node, old: Value, order: Order, as_view: bool) -> Value:
        """An operand with its axes in an order: as it is kept, a view, or a copy."""
        own, value = self.layouts.order(old), self.moved.get(old, self.known[old])
        if own == order:
            return value
        if as_view:
            return rearranged(new, node, value, own, order)
        return _reordered(new, node, value, own, order, old.type.shape)

    def _of_views(self, new: Graph, node: Node) -> Sequence[Value] | None:
        """A node that is made as ever, of views where it can read these."""
        moved = [place for place, value in enumerate(node.operands) if value in self.moved]
        places = [place for place in moved if self.layouts.reads_view(node, place)]
        if not places:
            return None
        read = [self.known[value] for value in node.operands]
        if node.op.name in REVERSED_PRODUCTS and any(one.type.ndim == 1 for one in read):
            factors = [self.moved.get(old, self.known[old]) for old in node.operands[::-1]]
            name = REVERSED_PRODUCTS[node.op.name]
            return (emit(new, node, name, tuple(factors), **node.params),)
        for place in places:
            read[place] = self._read(new, node, node.operands[place], own_order(read[place]), True)
        return new.take(node, tuple(read)).results


def _reordered(
    new: Graph, node: Node, value: Value, own: Order, order: Order, shape: Shape
) -> Value:
    """An array of a shape whose axes stand in its `own` order in another one: a copy if that moves
    anything."""
    view = rearranged(new, node, value, own, order)
    return view if is_alike(shape, own, order) else emit(new, node, "ascontiguousarray", (view,))
