"""Axes: which axis of each operand becomes which axis of the result, and operations in other orders
of axes.

An array can be kept with its axes in another order than the program has them. `axis_maps` says of a
node which axes belong together, `in_order` makes its result of operands whose axes stand in other
orders. An order is a tuple: the axis that stands at each place.

>>> moved_shape((900, 2, 3), (1, 2, 0))
(2, 3, 900)
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import Shape
from tracejit.ops.indexing import FULL
from tracejit.passes.emission import emit, made_by

Order = tuple[int, ...]
Maps = tuple[tuple[int | None, ...], ...]
"""For each operand the axis of the result that each of its axes becomes; None where it ends."""
REDUCTIONS = ("sum", "max", "min")
JOINS = ("concatenate", "stack")
UPDATES = ("add_slice", "set_item", "add_item", "subtract_item")
PRODUCTS = ("matmul", "dot_matrix")
REVERSED_PRODUCTS = {
    "matmul": "matmul",
    "dot_matrix": "dot_matrix",
    "matmul_vector": "vector_matmul",
    "vector_matmul": "matmul_vector",
    "dot_vector": "vector_dot",
    "vector_dot": "dot_vector",
}
"""What a product is of transposed factors in reverse."""


class Moved(NamedTuple):
    """A node to be made of `operands`, whose axes stand in `orders`, with its own in `order`."""

    graph: Graph
    node: Node
    operands: tuple[Value, ...]
    orders: tuple[Order, ...]
    order: Order

    def emit(self, *operands: Value, **params: Any) -> Value:
        """The node's operation, with some of its parameters changed."""
        changed = {**self.node.params, **params}
        return emit(self.graph, self.node, self.node.op.name, operands, **changed)


class AxisRule(NamedTuple):
    """The axes of an operation, and how it is made in another order."""

    maps: Callable[[Node], Maps | None]
    make: Callable[[Moved], Value]


def axis_maps(node: Node) -> Maps | None:
    """Which axes belong together; None where a node cannot be made in another order."""
    rule = _rule(node)
    return None if rule is None else rule.maps(node)


def in_order(moved: Moved) -> Value:
    """The result of a node, with its axes in the order that is asked for."""
    rule = _rule(moved.node)
    assert rule is not None
    return rule.make(moved)


def _rule(node: Node) -> AxisRule | None:
    if node.op.batch == "elementwise" and len(node.results) == 1:
        return ELEMENTWISE
    return RULES.get(node.op.name)


def moved_shape(shape: Shape, order: Order) -> Shape:
    """The shape of an array with its axes in another order."""
    return tuple([shape[axis] for axis in order])


def in_c_order(order: Order, shape: Shape) -> bool:
    """Tell if the elements of an array lie in memory as without another order: no axes of several
    elements change places."""
    several = [axis for axis in order if shape[axis] != 1]
    return several == sorted(several)


def swapped(ndim: int) -> Order:
    """The order in which the last two axes are swapped."""
    return (*range(ndim - 2), ndim - 1, ndim - 2)


def order_through(own: Sequence[int | None], order: Order) -> Order:
    """The order of an operand whose axes become `own` axes of a result in `order`; axes that end
    come last."""
    places = {axis: place for place, axis in enumerate(order)}
    ends = len(order)
    return tuple(
        sorted(range(len(own)), key=lambda axis: places.get(own[axis], ends))  # type: ignore[arg-type]
    )


def order_after(own: Sequence[int | None], order: Order, ndim: int) -> Order:
    """The order of a result of `ndim` axes, made of an operand in `order` whose axes become
    `own`; axes that are new come first."""
    kept = [result for axis in order if (result := own[axis]) is not None]
    return (*[axis for axis in range(ndim) if axis not in kept], *kept)


def rearranged(graph: Graph, like: Node, value: Value, order: Order) -> Value:
    """`value` with its axes in an order, as a view."""
    ndim = value.type.ndim
    if order == tuple(range(ndim)):
        return value
    made = value.node
    if made is not None and made.op.name == "transpose":
        order = tuple([made.params["axes"][axis] for axis in order])
        return rearranged(graph, like, made.operands[0], order)
    if made is not None and made.op.name == "expand_dims":
        new = made.params["axis"]
        kept = [axis for axis in order if axis not in new]
        if kept == sorted(kept):
            places = tuple([place for place, axis in enumerate(order) if axis in new])
            return emit(graph, like, "expand_dims", made.operands, axis=places)
    if made is not None and made.op.name == "negative" and value.type.size != 1:
        inner = made_by(made.operands[0], "expand_dims")
        if inner is not None:
            moved = rearranged(graph, like, made.operands[0], order)
            return emit(graph, like, "negative", (moved,))
    return emit(graph, like, "transpose", (value,), axes=order)


def transposed(graph: Graph, like: Node, value: Value) -> Value:
    """`value` with the last two axes swapped, as a view."""
    return rearranged(graph, like, value, swapped(value.type.ndim))


def untransposed(value: Value) -> Value:
    """What `value` is of which the last two axes are swapped; itself where it is no such view."""
    made = made_by(value, "transpose")
    if made is None or made.params["axes"] != swapped(value.type.ndim):
        return value
    return made.operands[0]


# Elementwise operations


def _aligned_maps(node: Node) -> Maps:
    ndim = node.results[0].type.ndim
    return tuple([tuple(range(ndim - one.type.ndim, ndim)) for one in node.operands])


def _aligned(moved: Moved, place: int) -> Value:
    """An operand with axes of one element for those that it does not have; none in front."""
    value, own = moved.operands[place], moved.orders[place]
    missing = len(moved.order) - len(own)
    if not own or not missing:
        return value
    absent = [axis < missing for axis in moved.order]
    first = absent.index(False)
    new = tuple([k for k, is_absent in enumerate(absent[first:]) if is_absent])
    return emit(moved.graph, moved.node, "expand_dims", (value,), axis=new) if new else value


def _elementwise(moved: Moved) -> Value:
    return moved.emit(*[_aligned(moved, place) for place in range(len(moved.operands))])


def _broadcast(moved: Moved) -> Value:
    shape = moved_shape(moved.node.params["shape"], moved.order)
    return moved.emit(_aligned(moved, 0), shape=shape)


# Views


def _expand_maps(node: Node) -> Maps:
    new = node.params["axis"]
    return (tuple([axis for axis in range(node.results[0].type.ndim) if axis not in new]),)


def _expand(moved: Moved) -> Value:
    new = moved.node.params["axis"]
    places = tuple([place for place, axis in enumerate(moved.order) if axis in new])
    return moved.emit(*moved.operands, axis=places)


def _squeeze_maps(node: Node) -> Maps:
    return _numbered(node, node.params["axis"])


def _squeeze(moved: Moved) -> Value:
    return moved.emit(*moved.operands, axis=_places(moved, moved.node.params["axis"]))


def _transpose_maps(node: Node) -> Maps:
    axes = node.params["axes"]
    return (tuple([axes.index(axis) for axis in range(len(axes))]),)


def _transpose(moved: Moved) -> Value:
    axes, own = moved.node.params["axes"], moved.orders[0]
    order = tuple([own.index(axes[axis]) for axis in moved.order])
    return rearranged(moved.graph, moved.node, moved.operands[0], order)


def _copy_maps(node: Node) -> Maps | None:
    return _aligned_maps(node) if node.params.get("order", "C") == "C" else None


# Parts


def _entries(index: Sequence[Any], ndim: int) -> list[Any] | None:
    """What a basic index says of each axis; None for an index of other things than numbers and
    slices."""
    entries = list(index)
    if "..." in entries:
        place = entries.index("...")
        entries[place : place + 1] = [FULL] * (ndim - len(entries) + 1)
    entries += [FULL] * (ndim - len(entries))
    return entries if all(type(one) in (int, tuple) for one in entries) else None


def _index(entries: Sequence[Any], order: Order) -> tuple[Any, ...]:
    """The index of an array with its axes in another order."""
    index = [entries[axis] for axis in order]
    while len(index) > 1 and index[-1] == FULL:
        index.pop()
    return tuple(index)


def _sliced(entries: Sequence[Any]) -> list[int]:
    return [axis for axis, entry in enumerate(entries) if type(entry) is tuple]


def _part_maps(node: Node) -> Maps | None:
    if len(node.operands) > 1:
        return None
    entries = _entries(node.params["index"], node.operands[0].type.ndim)
    if entries is None or node.results[0].type.form != "array":
        return None
    left = _sliced(entries)
    return (tuple([left.index(axis) if axis in left else None for axis in range(len(entries))]),)


def _part(moved: Moved) -> Value:
    entries = _entries(moved.node.params["index"], len(moved.orders[0]))
    assert entries is not None
    return moved.emit(*moved.operands, index=_index(entries, moved.orders[0]))


def _update_maps(node: Node) -> Maps | None:
    """A part that is put into zeros or into an array, and the array."""
    result, value = node.results[0].type, node.operands[-1].type
    entries = _entries(node.params["index"], result.ndim)
    if len(node.operands) != (1 if node.op.name == "put_slice" else 2) or entries is None:
        return None
    placed = _sliced(entries)
    if value.ndim and value.ndim != len(placed):
        return None
    return (*[tuple(range(result.ndim))] * (len(node.operands) - 1), tuple(placed[: value.ndim]))


def _update(moved: Moved) -> Value:
    params = moved.node.params
    entries = _entries(params["index"], len(moved.order))
    assert entries is not None
    changed = {"index": _index(entries, moved.order)}
    if "shape" in params:
        changed["shape"] = moved_shape(params["shape"], moved.order)
    return moved.emit(*moved.operands, **changed)


def _join_maps(node: Node) -> Maps:
    ndim, axis = node.results[0].type.ndim, node.params["axis"]
    own = [one for one in range(ndim) if node.op.name != "stack" or one != axis]
    return (tuple(own),) * len(node.operands)


def _along(moved: Moved) -> Value:
    return moved.emit(*moved.operands, axis=moved.order.index(moved.node.params["axis"]))


def _roll_maps(node: Node) -> Maps | None:
    return _aligned_maps(node) if type(node.params["axis"]) is int else None


def _rows_maps(node: Node) -> Maps | None:
    """What is gathered along the first axis at one array of places, whose axis stands for it."""
    x, places = node.operands[0].type, node.operands[-1].type
    if node.params["index"] != ("{1}",) or places.ndim != 1:
        return None
    return tuple(range(x.ndim)), (0,)


def _rows(moved: Moved) -> Value:
    place = moved.order.index(0)
    if not place:
        return moved.emit(*moved.operands)
    params = {"axis": place, "unique": moved.node.params["unique"]}
    return emit(moved.graph, moved.node, "take", moved.operands, **params)


# Reductions


def _numbered(node: Node, gone: Sequence[int]) -> Maps:
    """Axes in their order, without those that are gone."""
    left = [axis for axis in range(node.operands[0].type.ndim) if axis not in gone]
    ndim = node.operands[0].type.ndim
    return (tuple([left.index(axis) if axis in left else None for axis in range(ndim)]),)


def _reduction_maps(node: Node) -> Maps | None:
    if not node.params["axis"] or not node.params.keys() <= {"axis", "dtype", "keepdims"}:
        return None
    if node.params.get("keepdims"):
        return _aligned_maps(node)
    return _numbered(node, node.params["axis"])


def _reduction(moved: Moved) -> Value:
    return moved.emit(*moved.operands, axis=_places(moved, moved.node.params["axis"]))


def _places(moved: Moved, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted([moved.orders[0].index(axis) for axis in axes]))


# Products


def _product_maps(node: Node) -> Maps | None:
    first, second = (one.type.ndim for one in node.operands)
    ndim = node.results[0].type.ndim
    if min(first, second) < 2 or (node.op.name == "dot_matrix" and max(first, second) > 2):
        return None
    return (
        (*range(ndim - first, ndim - 2), ndim - 2, None),
        (*range(ndim - second, ndim - 2), None, ndim - 1),
    )


def is_reversed(moved: Moved) -> bool:
    """Tell if a product is that of transposed factors in reverse."""
    return moved.order == swapped(len(moved.order))


def _product(moved: Moved) -> Value:
    graph, node, (first, second) = moved.graph, moved.node, moved.operands
    if is_reversed(moved):
        back = [
            rearranged(graph, node, one, tuple([own.index(k) for k in swapped(len(own))]))
            for one, own in zip(moved.operands, moved.orders, strict=True)
        ]
        return moved.emit(*back[::-1])
    letters = string.ascii_lowercase[: len(moved.order) + 1]
    stack, (rows, columns, summed) = letters[:-3], list(letters[-3:])
    named = (
        stack[len(stack) + 2 - len(moved.orders[0]) :] + rows + summed,
        stack[len(stack) + 2 - len(moved.orders[1]) :] + summed + columns,
        stack + rows + columns,
    )
    orders = (*moved.orders, moved.order)
    inputs_and_result = [
        "".join(one[axis] for axis in order) for one, order in zip(named, orders, strict=True)
    ]
    subscripts = f"{inputs_and_result[0]},{inputs_and_result[1]}->{inputs_and_result[2]}"
    return emit(graph, node, "einsum", (first, second), subscripts=subscripts)


ELEMENTWISE = AxisRule(_aligned_maps, _elementwise)
RULES: dict[str, AxisRule] = {
    "broadcast_to": AxisRule(_aligned_maps, _broadcast),
    "copy": AxisRule(_copy_maps, _elementwise),
    "expand_dims": AxisRule(_expand_maps, _expand),
    "squeeze": AxisRule(_squeeze_maps, _squeeze),
    "transpose": AxisRule(_transpose_maps, _transpose),
    "getitem": AxisRule(_part_maps, _part),
    "put_slice": AxisRule(_update_maps, _update),
    "take_at": AxisRule(_rows_maps, _rows),
    "roll": AxisRule(_roll_maps, _along),
    **dict.fromkeys(UPDATES, AxisRule(_update_maps, _update)),
    **dict.fromkeys(JOINS, AxisRule(_join_maps, _along)),
    **dict.fromkeys(REDUCTIONS, AxisRule(_reduction_maps, _reduction)),
    **dict.fromkeys(PRODUCTS, AxisRule(_product_maps, _product)),
}
