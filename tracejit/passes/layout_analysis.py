"""Layout analysis: which values can be kept with their long axes last, and where that pays.

Axes that operations align belong together: they are one class, of which all go last or none. The
classes are tried one after the other, the largest first, each also with the axes before it. What
loops, products and copies take with a class last is compared to what they take without, from sizes
and the figures of the cost model.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType, Shape
from tracejit.passes.axes import (
    PRODUCTS,
    REDUCTIONS,
    REVERSED_PRODUCTS,
    UPDATES,
    Maps,
    Order,
    axis_maps,
    order_after,
    order_through,
    swapped,
)
from tracejit.passes.emission import is_real, is_spread
from tracejit.passes.lower import FLOATING, is_tiled
from tracejit.support.cost_model import costs

READERS = (*REDUCTIONS, "expand_dims", "squeeze", "transpose", "getitem")
"""What reads an operand as it is kept, and makes its result accordingly."""
ANY_ORDER = ("expand_dims", "transpose")
"""What of these can make it in any order."""
MAKERS = (*PRODUCTS, "broadcast_to", "put_slice", "take_at")
SCATTERS = ("add_at", "put_at")

Axis = tuple[Value, int]


def is_tall(type: ArrayType) -> bool:
    """Tell if an array is of many short rows, or of stacks of them."""
    return long_axis(type) is not None


def long_axis(type: ArrayType) -> int | None:
    """The long axis before the short rows of an array; None where it is of no short rows."""
    if type.sizes is not None or type.ndim < 2 or type.form != "array":
        return None
    if type.dtype not in FLOATING and type.dtype.kind != "b":
        return None
    shape, first, length, model = type.shape, type.ndim, 1, costs()
    while first > 1 and length * shape[first - 1] <= model.short_row:
        first -= 1
        length *= shape[first]
    least = max(model.long_axis, model.longer_than_rows * length)
    enough = length > 1 and shape[first - 1] >= least
    return first - 1 if enough and type.size >= model.least_moved_elements else None


def is_narrow(type: ArrayType) -> bool:
    """Tell if an array is of many rows of one element."""
    if type.sizes is not None or type.ndim < 2 or type.form != "array" or type.shape[-1] != 1:
        return False
    model = costs()
    return model.least_moved_elements <= type.size and max(type.shape) >= model.long_axis


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


class Layouts:
    """The values that can be kept with long axes last, the classes of axes that go last together,
    and what that takes, in nanoseconds."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.model = costs()
        self.maps: dict[Node, Maps] = {}
        self.members: dict[Value, None] = {}
        """What may be kept in another order than C."""
        self.last: Collection[Axis] = ()
        self.orders: dict[Value, Order] = {}
        """What is kept so, and how."""
        self.copied = {
            one
            for node in graph.nodes
            if node.op.batch == "elementwise"
            for one in node.operands
            if is_tall(one.type)
        }
        """What elementwise operations may have copied."""
        self._parents: dict[Axis, Axis] = {}
        self._nodes: dict[Axis, list[int]] = defaultdict(list)
        for node in graph.nodes:
            self._enter(node)

    def choose(self) -> None:
        """Set the orders of values by the classes of axes that it pays to put last."""
        sizes: dict[Axis, int] = defaultdict(int)
        outer: dict[Axis, Axis] = {}
        sources = [node.operands[0] for node in self.maps if self._is_source(node)]
        for value in dict.fromkeys((*self.members, *sources)):
            axis = long_axis(value.type)
            if axis is None:
                continue
            found = self._class((value, axis))
            sizes[found] += value.type.size
            before = [k for k in range(axis) if value.type.shape[k] > 1]
            if before:
                outer[found] = self._class((value, before[-1]))
        least = self.model.least_moved_gain
        if sizes:
            least += self.model.moved_operation * sum(map(_operations, self.graph.nodes))
            self._find_nodes()
        last: frozenset[Axis] = frozenset()
        for one in sorted(sizes, key=lambda each: -sizes[each])[: self.model.tried_axes]:
            tried = [last | {one}, last | {one, outer.get(one, one)}]
            nodes = [
                self.graph.nodes[place]
                for place in sorted({k for each in tried[1] - last for k in self._nodes[each]})
            ]
            times = [self.time(nodes, more) for more in tried]
            if self.time(nodes, last) - min(times) > least:
                last = tried[times.index(min(times))]
        self._set_orders(last)
        for node in only_read_transposed(self.graph):
            if axis_maps(node) is not None and node.results[0] not in self.orders:
                self._enter_swapped(node.results[0], node)

    def time(self, nodes: Iterable[Node], last: Collection[Axis]) -> float:
        """What loops, products and copies take with these classes of axes last, of what depends
        on the order of axes."""
        self._set_orders(last)
        time = 0.0
        copied: dict[tuple[Value, Order], None] = {}
        for node in nodes:
            time += _time_of(node, self)
            copied.update(dict.fromkeys(self.copies(node)))
        left = [one for one in self.graph.outputs if one in self.orders]
        copied.update(dict.fromkeys((one, own_order(one)) for one in left))
        moved = [one for one, order in copied if not is_alike(one, self.order(one), order)]
        element, copy = self.model.moved_element, self.model.moved_copy
        return time + 1.25 * sum(copy + element * value.type.size for value in moved)

    def order(self, value: Value) -> Order:
        """How a value is kept."""
        return self.orders.get(value) or own_order(value)

    def wanted(self, node: Node) -> tuple[Order, ...] | None:
        """How a node wants its operands, to be made with its result as that is kept; None where it
        is made as ever. What is read as it is kept needs no other way."""
        orders = tuple(map(self.order, node.operands))
        if node in self.maps and node.results[0] in self.members:
            result = self.order(node.results[0])
            wanted = []
            for value, own, maps in zip(node.operands, orders, self.maps[node], strict=True):
                if node.op.name in READERS and value in self.members:
                    wanted.append(own)
                elif node.op.name in READERS or (None in maps and result != swapped(len(result))):
                    wanted.append(self._long_last(value))
                else:
                    wanted.append(order_through(maps, result))
            return tuple(wanted)
        if node in self.maps and node.op.name in READERS:
            (value,) = node.operands
            return orders if value in self.members else (self._long_last(value),)
        return None

    def copies(self, node: Node) -> Iterator[tuple[Value, Order]]:
        """What is copied with its axes in another order, for a node to read or as its result."""
        wanted = self.wanted(node)
        if wanted is None:
            for place, value in enumerate(node.operands):
                if value in self.orders and not self.reads_view(node, place):
                    yield value, own_order(value)
            return
        is_view = node.op.name in PRODUCTS and self.order(node.results[0]) == swapped(
            node.results[0].type.ndim
        )
        for value, order in zip(node.operands, wanted, strict=True):
            if not is_view:
                yield value, order
        yield node.results[0], self.made_order(node)

    def made_order(self, node: Node) -> Order:
        """The order that the result of a node has as it is made."""
        (result,) = node.results
        if node.op.name not in READERS or (result in self.orders and node.op.name in ANY_ORDER):
            return self.order(result)
        wanted = self.wanted(node)
        assert wanted is not None
        return order_after(self.maps[node][0], wanted[0], result.type.ndim)

    def reads_view(self, node: Node, place: int) -> bool:
        """Tell if a node that is made as ever can read an operand as a view of how it is kept."""
        if node.op.name in SCATTERS or (node.op.name in UPDATES and len(node.operands) > 2):
            return place == (0 if node.op.name in SCATTERS else len(node.operands) - 1)
        if node.op.name not in REVERSED_PRODUCTS:
            return bool(node.op.name == "cross")
        value = node.operands[place]
        if self.order(value) != swapped(value.type.ndim):
            return False
        if node.op.name == "matmul" or all(one.type.ndim == 2 for one in node.operands):
            return True
        return node.operands[1 - place].type.ndim == 1

    def _enter(self, node: Node) -> None:
        """What a node can make with its axes in another order, and which axes belong together."""
        if len(node.results) != 1:
            return
        (result,) = node.results
        is_member = is_tall(result.type) or is_narrow(result.type)
        is_read = not self.members.keys().isdisjoint(node.operands) or self._is_source(node)
        if not (is_member or is_read):
            return
        maps = axis_maps(node)
        if maps is None:
            return
        self.maps[node] = maps
        is_maker = node.op.batch == "elementwise" or node.op.name in MAKERS
        is_maker |= node.op.name in ANY_ORDER and is_tall(node.operands[0].type)
        if not is_member or not (is_maker or is_read):
            return
        if node.op.name in REDUCTIONS and result.type.dtype not in FLOATING:
            return
        self.members[result] = None
        for operand, own in zip(node.operands, maps, strict=True):
            if is_tall(operand.type) or is_narrow(operand.type):
                for axis, other in enumerate(own):
                    if other is not None:
                        self._join((operand, axis), (result, other))

    def _is_source(self, node: Node) -> bool:
        """Tell if a node finds the largest of each row of what comes from elsewhere, or adds up
        what elementwise operations read, too."""
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
        while (parent := self._parents.get(axis, axis)) is not axis:
            self._parents[axis] = axis = self._parents.get(parent, parent)
        return axis

    def _join(self, one: Axis, other: Axis) -> None:
        first, second = self._class(one), self._class(other)
        if first != second:
            self._parents[second] = first

    def _find_nodes(self) -> None:
        """Find the nodes that each class of axes is of interest to."""
        for place, node in enumerate(self.graph.nodes):
            members = self.members.keys() & {*node.operands, *node.results}
            if node in self.maps:
                members = {*node.operands, *node.results}
            classes = {self._class((one, k)) for one in members for k in range(one.type.ndim)}
            for one in classes:
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
        axes = range(value.type.ndim)
        is_long = [self._class((value, axis)) in self.last for axis in axes]
        return tuple(sorted(axes, key=is_long.__getitem__))


def own_order(value: Value) -> Order:
    """The order of axes as the program has them."""
    return tuple(range(value.type.ndim))


def is_alike(value: Value, order: Order, other: Order) -> bool:
    """Tell if arrays with their axes in two orders have their elements in the same order."""
    return order == other or [k for k in order if value.type.shape[k] != 1] == [
        k for k in other if value.type.shape[k] != 1
    ]


def _operations(node: Node) -> int:
    """How many operations a node is, as far as is known."""
    types = [value.type for value in node.operands]
    if any(type.sizes is not None for type in types):
        return 0
    return int(node.op.cost(*types, **node.params))


def _time_of(node: Node, layouts: Layouts) -> float:
    """What a node takes that depends on the order of axes, in nanoseconds, without copies."""
    if not node.results:
        return 0.0
    model = layouts.model
    result, first = node.results[0], node.operands[0] if node.operands else None
    if node.op.batch == "elementwise":
        order = layouts.order(result)
        time = loop_time(result.type.shape, order, node.operands)
        is_untiled = order[:1] != (0,) and is_tiled(result)
        return time + (model.untiled_element * result.type.size if is_untiled else 0.0)
    if first is None:
        return 0.0
    if node.op.name in REDUCTIONS and node in layouts.maps:
        (order,), axis = layouts.wanted(node) or ((),), node.params["axis"]
        if order[-1] not in axis or first.type.shape[order[-1]] > model.short_row or len(axis) > 1:
            return 0.0
        if node.op.name != "sum":
            return model.extreme_of_row * first.type.size / first.type.shape[-1]
        made = first.node
        if made is not None and made.op.name == "multiply" and first.type.ndim > 2:
            if any(is_spread(one, first.type.shape) for one in made.operands):
                return model.summed_product_row * first.type.size / first.type.shape[-1]
        return model.summed_element * first.type.size
    if node.op.name in PRODUCTS and node in layouts.maps:
        return _product_time(node, layouts)
    return 0.0


def _product_time(node: Node, layouts: Layouts) -> float:
    """What a product takes: of rows that are short it is faster along long ones."""
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
    """What an elementwise operation takes besides its elements: it is done in rows along the last
    axes, as far as each operand has all of their elements, or one."""
    own = [_aligned(value, len(shape)) for value in operands if value.type.size > 1]
    if all(one == shape for one in own):
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
    return (*(1,) * (ndim - value.type.ndim), *value.type.shape)
