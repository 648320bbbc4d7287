"""Layout assignment: arrays of many short rows are kept with their long axes last.

NumPy's loops go along the last axes of an array. Where an operand is broadcast over rows of three
elements, a thousand of them take ten times as long as three rows of a thousand. So what is computed
of arrays like (1000, 3), (1000, 2, 3) or (64, 96, 3) is computed as (3, 1000), (2, 3, 1000) or
(3, 64, 96): the long axes last, the others before them in their order. Axes that belong together,
as operations align them, go last together or not at all: each such class of axes is moved where the
loops that become longer gain more than it takes to copy what enters and what leaves. Products are
those of transposed factors in reverse, stacks of small matrices are multiplied by `einsum` along
the long axis, and a product that is read transposed only is made so, whatever its shape.

The classes are tried in turn, the largest first, each also with the axes before it.
The time that loops, products and copies take with a class last is compared to the time without,
from sizes and the figures of the cost model.

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

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import FLOATING, ArrayType, Shape
from tracejit.passes.framework.emission import emit, is_real, is_spread
from tracejit.passes.framework.rebuild import rebuild
from tracejit.passes.framework.tiled import is_tiled
from tracejit.passes.layout.axes import (
    PRODUCTS,
    REDUCTIONS,
    REVERSED_PRODUCTS,
    UPDATES,
    AxisMap,
    Moved,
    Order,
    axis_maps,
    in_order,
    is_alike,
    moved_shape,
    order_after,
    order_through,
    own_order,
    rearranged,
    swapped,
)
from tracejit.support.cost_model import CostModel, costs

READERS = (*REDUCTIONS, "expand_dims", "squeeze", "transpose", "getitem")
"""Ops that read an operand as it is kept, and make their result accordingly."""
ANY_ORDER = ("expand_dims", "transpose")
"""Those of them that can make it in any order."""
MAKERS = (*PRODUCTS, "broadcast_to", "put_slice", "take_at")
SCATTERS = ("add_at", "put_at")

Axis = tuple[Value, int]


def is_tall(type: ArrayType) -> bool:
    """Return whether an array has many short rows, or stacks of them."""
    return long_axis(type) is not None


def is_narrow(type: ArrayType) -> bool:
    """Return whether an array has many rows of one element."""
    return _kind_of(type, costs())[1]


def long_axis(type: ArrayType) -> int | None:
    """The long axis before the short rows of an array; None if it is of no short rows."""
    return _kind_of(type, costs())[0]


@lru_cache(4096)
def _kind_of(type: ArrayType, model: CostModel) -> tuple[int | None, bool]:
    """The long axis of an array of short rows, and whether it is of many rows of one element."""
    if type.sizes is not None or type.ndim < 2 or type.form != "array":
        return None, False
    if type.size < model.least_moved_elements:
        return None, False
    if type.dtype not in FLOATING and type.dtype.kind != "b":
        return None, False
    shape, first, length = type.shape, type.ndim, 1
    while first > 1 and length * shape[first - 1] <= model.short_row:
        first -= 1
        length *= shape[first]
    is_long = shape[first - 1] >= max(model.long_axis, model.longer_than_rows * length)
    is_narrow = shape[-1] == 1 and max(shape) >= model.long_axis
    return first - 1 if is_long and length > 1 else None, is_narrow


def _may_move(type: ArrayType) -> bool:
    return _kind_of(type, costs()) != (None, False)


def only_read_transposed(graph: Graph) -> list[Node]:
    """The products of matrices that nothing reads but to swap their last two axes."""
    read = set(graph.outputs)
    transposed: set[Value] = set()
    for node in graph.nodes:
        is_swap = node.op.name == "transpose"
        is_swap = is_swap and node.params["axes"] == swapped(len(node.params["axes"]))
        (transposed if is_swap else read).update(node.operands)
    return [
        node
        for node in graph.nodes
        if node.op.name in PRODUCTS
        and node.results[0] in transposed - read
        and is_real(node.results[0])
    ]


class Making(NamedTuple):
    """The way to make a node in another order of axes: of operands in these orders, as views where
    it `reads_views`, and the order that its result has then."""

    wanted: tuple[Order, ...]
    made: Order
    reads_views: bool = False


class Layouts:
    """The values that can be kept with long axes last, the classes of axes that go last together,
    and what that takes, in nanoseconds."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.model = costs()
        self.maps: dict[Node, tuple[AxisMap, ...]] = {}
        self.members: dict[Value, None] = {}
        """Values that may be kept in another order than C."""
        self.last: Collection[Axis] = ()
        self.orders: dict[Value, Order] = {}
        """Values that are kept so, each with its order."""
        elementwise = [node for node in graph.nodes if node.op.elementwise]
        self.copied = {one for node in elementwise for one in node.operands if is_tall(one.type)}
        """Operands that elementwise operations may have copied."""
        self._parents: dict[Axis, Axis] = {}
        self._classes: dict[Value, tuple[Axis, ...]] = {}
        self._nodes: dict[Axis, list[int]] = defaultdict(list)
        self._times: dict[Node, float] = {}
        for node in graph.nodes:
            self._enter(node)

    def choose(self) -> None:
        """Set the orders of values by the classes of axes that it pays to put last."""
        sizes: dict[Axis, int] = defaultdict(int)
        outer: dict[Axis, Axis] = {}
        least = self.model.least_moved_gain
        for value in self._kept_along() if self.time(self.maps) > least else ():
            axis = long_axis(value.type)
            if axis is not None:
                classes = self._classes_of(value)
                sizes[classes[axis]] += value.type.size
                several = [k for k in range(axis) if value.type.shape[k] > 1]
                if several:
                    outer[classes[axis]] = classes[several[-1]]
        if sizes:
            self._find_nodes()
        last: frozenset[Axis] = frozenset()
        for one in sorted(sizes, key=lambda each: -sizes[each])[: self.model.tried_axes]:
            tried = list(dict.fromkeys((last | {one}, last | {one, outer.get(one, one)})))
            places = sorted({k for each in tried[-1] - last for k in self._nodes[each]})
            nodes = [self.graph.nodes[place] for place in places]
            self._set_orders(last)
            best = before = self.time(nodes) + (self.copying(nodes) if last else 0.0)
            for more in tried if before > least else ():
                self._set_orders(more)
                time = self.time(nodes)
                if before - time > least:
                    time += self.copying(nodes)
                if time < best and before - time > least + self.least_of_operations:
                    last, best = more, time
        self._set_orders(last)
        for node in only_read_transposed(self.graph):
            if axis_maps(node) is not None and node.results[0] not in self.orders:
                self._enter_swapped(node.results[0], node)

    def _kept_along(self) -> Iterable[Value]:
        """The values whose long axes may go last."""
        sources = [node.operands[0] for node in self.maps if self._is_source(node)]
        return dict.fromkeys((*self.members, *sources))

    @cached_property
    def least_of_operations(self) -> float:
        """The part of the least gain that grows with the operations of the whole."""
        return self.model.moved_operation * sum(map(_operations, self.graph.nodes))

    def time(self, nodes: Collection[Node]) -> float:
        """The time of loops and products as values are kept, as far as it depends on the order of
        axes."""
        if self.last:
            return sum([_time_of(node, self) for node in nodes])
        known = self._times
        for node in nodes:
            if node not in known:
                known[node] = _time_of(node, self)
        return sum([known[node] for node in nodes])

    def copying(self, nodes: Iterable[Node]) -> float:
        """The time of the copies that are made so that values are kept as they are."""
        copied: dict[tuple[Value, Order], None] = {}
        for node in nodes:
            copied.update(dict.fromkeys(self._copies(node)))
        left = [one for one in self.graph.outputs if one in self.orders]
        copied.update(dict.fromkeys((one, own_order(one)) for one in left))
        element, copy = self.model.moved_element, self.model.moved_copy
        return 1.25 * sum(
            copy + element * value.type.size
            for value, order in copied
            if not is_alike(value.type.shape, self.order(value), order)
        )

    def order(self, value: Value) -> Order:
        """The order of axes in which a value is kept."""
        return self.orders.get(value) or own_order(value)

    def making(self, node: Node) -> Making | None:
        """The making of a node of values as they are kept; None if it is made as in the
        program."""
        if node not in self.maps:
            return None
        (result,), maps = node.results, self.maps[node]
        kept = self.order(result)
        if node.op.name in READERS:
            (value,), (own,) = node.operands, maps
            order = self.order(value) if value in self.members else self._long_last(value)
            is_free = order == own_order(value) or result in self.orders
            is_free &= node.op.name in ANY_ORDER
            return Making((order,), kept if is_free else order_after(own, order, len(kept)))
        if result not in self.members:
            return None
        is_reversed = kept == swapped(len(kept))
        wanted = tuple(
            self._long_last(value) if None in own and not is_reversed else order_through(own, kept)
            for value, own in zip(node.operands, maps, strict=True)
        )
        return Making(wanted, kept, is_reversed and node.op.name in PRODUCTS)

    def reads_view(self, node: Node, place: int) -> bool:
        """Return whether a node that is made as in the program can read an operand as a view of the
        kept one."""
        name, value = node.op.name, node.operands[place]
        if name in SCATTERS:
            return place == 0
        if name in UPDATES and len(node.operands) > 2:
            return value is node.operands[-1]
        if name not in REVERSED_PRODUCTS or self.order(value) != swapped(value.type.ndim):
            return bool(name == "cross")
        if name == "matmul" or all(one.type.ndim == 2 for one in node.operands):
            return True
        return node.operands[1 - place].type.ndim == 1

    def _copies(self, node: Node) -> Iterator[tuple[Value, Order]]:
        """The values that are copied with their axes in another order, for a node to read or as its
        result."""
        making = self.making(node)
        if making is None:
            for place, value in enumerate(node.operands):
                if value in self.orders and not self.reads_view(node, place):
                    yield value, own_order(value)
            return
        if not making.reads_views:
            yield from zip(node.operands, making.wanted, strict=True)
        yield node.results[0], making.made

    def _enter(self, node: Node) -> None:
        """Note the orders that a node can be made in, and the axes that belong together."""
        if len(node.results) != 1:
            return
        (result,) = node.results
        is_member = _may_move(result.type)
        is_read = not self.members.keys().isdisjoint(node.operands) or self._is_source(node)
        maps = axis_maps(node) if is_member or is_read else None
        if maps is None:
            return
        self.maps[node] = maps
        is_made = node.op.elementwise or node.op.name in MAKERS
        is_made |= node.op.name in ANY_ORDER and is_tall(node.operands[0].type)
        is_counted = node.op.name in REDUCTIONS and result.type.dtype not in FLOATING
        if not is_member or is_counted or not (is_made or is_read):
            return
        self.members[result] = None
        for operand, own in zip(node.operands, maps, strict=True):
            for axis, other in enumerate(own if _may_move(operand.type) else ()):
                if other is not None:
                    self._parents[self._class((operand, axis))] = self._class((result, other))

    def _is_source(self, node: Node) -> bool:
        """Return whether a node finds the largest of each row of an outer array, or adds up a value
        that elementwise operations read, too."""
        if node.op.name not in REDUCTIONS or not is_tall(node.operands[0].type):
            return False
        return node.op.name != "sum" or node.operands[0] in self.copied

    def _enter_swapped(self, value: Value, made: Node) -> None:
        """A product that is only read with its last two axes swapped is made so."""
        self.members[value] = None
        self.orders[value] = swapped(value.type.ndim)
        for node in (made, *[one for one in self.graph.nodes if value in one.operands]):
            maps = axis_maps(node)
            assert maps is not None
            self.maps[node] = maps

    def _class(self, axis: Axis) -> Axis:
        while (parent := self._parents.get(axis, axis)) != axis:
            self._parents[axis] = axis = self._parents.get(parent, parent)
        return axis

    def _classes_of(self, value: Value) -> tuple[Axis, ...]:
        """The classes of the axes of a value, once all nodes are entered."""
        found = self._classes.get(value)
        if found is None:
            classes = [self._class((value, axis)) for axis in own_order(value)]
            found = self._classes[value] = tuple(classes)
        return found

    def _find_nodes(self) -> None:
        """Find the nodes that each class of axes is of interest to."""
        for place, node in enumerate(self.graph.nodes):
            values = {*node.operands, *node.results}
            values = values if node in self.maps else values & self.members.keys()
            for one in set().union(*map(self._classes_of, values)):
                self._nodes[one].append(place)

    def _set_orders(self, last: Collection[Axis]) -> None:
        self.last = last
        self.orders = {}
        for value in self.members if last else ():
            order = self._long_last(value)
            if order != own_order(value):
                self.orders[value] = order

    def _long_last(self, value: Value) -> Order:
        """The order of axes with those last that are to be."""
        own = own_order(value)
        is_long = [one in self.last for one in self._classes_of(value)] if self.last else ()
        return tuple(sorted(own, key=is_long.__getitem__)) if True in is_long else own


def _operations(node: Node) -> int:
    """The number of operations of a node, as far as is known."""
    types = [value.type for value in node.operands]
    if any(type.sizes is not None for type in types):
        return 0
    return int(node.op.cost(*types, **node.params))


def _time_of(node: Node, layouts: Layouts) -> float:
    """The part of a node's time that depends on the order of axes, in nanoseconds, without
    copies."""
    types = [value.type for value in (*node.results, *node.operands)]
    if not node.results or any([type.sizes is not None for type in types]):
        return 0.0
    model = layouts.model
    result, first = node.results[0], node.operands[0] if node.operands else None
    if node.op.elementwise:
        order = layouts.order(result)
        time = loop_time(result.type.shape, order, node.operands)
        is_untiled = order[:1] != (0,) and is_tiled(result)
        return time + (model.untiled_element * result.type.size if is_untiled else 0.0)
    if first is None:
        return 0.0
    if node.op.name in REDUCTIONS and node in layouts.maps:
        making, axis = layouts.making(node), node.params["axis"]
        assert making is not None
        last = making.wanted[0][-1]
        if axis != (last,) or first.type.shape[last] > model.short_row:
            return 0.0
        if node.op.name != "sum":
            rows = first.type.size / first.type.shape[last]
            return model.extreme_of_row * rows + model.extreme_element * first.type.size
        made = first.node
        if made is not None and made.op.name == "multiply" and first.type.ndim > 2:
            if any(is_spread(one, first.type.shape) for one in made.operands):
                return model.summed_product_row * first.type.size / first.type.shape[-1]
        return model.summed_element * first.type.size
    if node.op.name in PRODUCTS and node in layouts.maps:
        return _product_time(node, layouts)
    return 0.0


def _product_time(node: Node, layouts: Layouts) -> float:
    """The time of a product: with short rows it is faster along long ones."""
    (result,), (first, second), model = node.results, node.operands, layouts.model
    order = layouts.order(result)
    length, shape = first.type.shape[-1], result.type.shape
    is_transposed = second.node is not None and second.node.op.name == "transpose"
    if order != own_order(result) and order != swapped(result.type.ndim):
        return model.product_along_axis * result.type.size * length + model.product_call
    if (
        result.type.ndim > 2
        and min(first.type.ndim, second.type.ndim) > 2
        and (max(shape[-2:]) <= model.small_matrix_side)
    ):
        each = model.small_transposed_matrix if is_transposed else model.small_matrix
        return each * math.prod(shape[:-2])
    if order == own_order(result) and length <= model.short_row and is_tall(result.type):
        return result.type.size / shape[-1] * (0.2 * shape[-1] + (4.0 if is_transposed else 0.0))
    return 0.0


def loop_time(shape: Shape, order: Order, operands: Iterable[Value]) -> float:
    """The overhead of the loops of an elementwise operation: it runs in rows along the last axes,
    as far as each operand has all of their elements, or one."""
    own = [_aligned(value, len(shape)) for value in operands if value.type.size > 1]
    if own.count(shape) == len(own):
        return 0.0
    length, kinds = 1, None
    for axis in reversed(order):
        if shape[axis] == 1:
            continue
        found = [one[axis] == shape[axis] for one in own]
        if kinds is not None and found != kinds:
            break
        kinds = found
        length *= shape[axis]
    rows = math.prod(shape) // length if length else 0
    if rows < 2:
        return 0.0
    model = costs()
    if length > model.short_row:
        return rows * model.loop_start
    start = model.row_start - model.row_start_element * length
    return rows * max(start, model.least_row_start)


def _aligned(value: Value, ndim: int) -> Shape:
    missing = ndim - value.type.ndim
    return (*(1,) * missing, *value.type.shape) if missing else value.type.shape


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
