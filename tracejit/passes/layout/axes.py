"""Axes: which axis of each operand becomes which axis of the result, and operations in other orders
of axes.

An array can be kept with its axes in another order than the program has them. `axis_maps` says of a
node which axes belong together, `in_order` makes its result of operands whose axes stand in other
orders. An order is a tuple: the axis that stands at each place. What can be made so stands in
`RULES`, with the parameters that name axes.

>>> moved_shape((900, 2, 3), (1, 2, 0))
(2, 3, 900)
"""

from __future__ import annotations

import string
from collections.abc import Callable, Container, Sequence
from functools import cache
from typing import Any, NamedTuple

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import Shape
from tracejit.ops.indexing.indexing import FULL
from tracejit.passes.framework.emission import emit, made_by

Order = tuple[int, ...]
AxisMap = tuple[int | None, ...]
"""The axis of the result that each axis of an operand becomes; None if it ends."""
REDUCTIONS = ("sum", "max", "min")
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
"""Products by those of transposed factors in reverse."""


class Moved(NamedTuple):
    """A node to be made of `operands`, whose axes stand in `orders`, with its own in `order`."""

    graph: Graph
    node: Node
    operands: tuple[Value, ...]
    orders: tuple[Order, ...]
    order: Order


class AxisRule(NamedTuple):
    """The axes of an operation: the map of each operand, which parameters name axes of the first
    operand and which of the result, and how it is made where that is not all."""

    maps: Callable[[Node], tuple[AxisMap, ...] | None]
    of_operand: tuple[str, ...] = ()
    of_result: tuple[str, ...] = ()
    make: Callable[[Moved], Value] | None = None


def axis_maps(node: Node) -> tuple[AxisMap, ...] | None:
    """The axes that belong together in a node; None if it cannot be made in another order."""
    rule = _rule(node)
    return None if rule is None else rule.maps(node)


def in_order(moved: Moved) -> Value:
    """The result of a node, with its axes in the order that is asked for."""
    node, rule = moved.node, _rule(moved.node)
    assert rule is not None
    if rule.make is not None:
        return rule.make(moved)
    params = dict(node.params)
    for names, order in ((rule.of_operand, moved.orders[0]), (rule.of_result, moved.order)):
        for name in params.keys() & set(names):
            params[name] = PARAMETERS[name](params[name], order)
    operands = moved.operands
    if rule.maps is _aligned_maps:
        operands = tuple([_aligned(moved, place) for place in range(len(operands))])
    return emit(moved.graph, node, node.op, operands, **params)


def _rule(node: Node) -> AxisRule | None:
    if node.op.elementwise and len(node.results) == 1:
        return ELEMENTWISE
    return RULES.get(node.op.name)


# Orders


def moved_shape(shape: Shape, order: Order) -> Shape:
    """The shape of an array with its axes in another order."""
    return tuple([shape[axis] for axis in order])


def own_order(value: Value) -> Order:
    """The order of axes as the program has them."""
    return _first_axes(value.type.ndim)


@cache
def _first_axes(count: int) -> Order:
    return tuple(range(count))


def is_alike(shape: Shape, order: Order, other: Order) -> bool:
    """Return whether arrays with their axes in two orders have their elements in the same order: no
    axes of several elements change places.

    >>> is_alike((5, 1), (0, 1), (1, 0)), is_alike((5, 2), (0, 1), (1, 0))
    (True, False)
    """
    several = [axis for axis in order if shape[axis] != 1]
    return order == other or several == [axis for axis in other if shape[axis] != 1]


def swapped(ndim: int) -> Order:
    """The order in which the last two axes are swapped."""
    return (*range(ndim - 2), ndim - 1, ndim - 2)


def order_through(own: AxisMap, order: Order) -> Order:
    """The order of an operand whose axes become `own` axes of a result in `order`; axes that end
    come last."""
    places: dict[int | None, int] = {axis: place for place, axis in enumerate(order)}
    return tuple(sorted(range(len(own)), key=lambda axis: places.get(own[axis], len(order))))


def order_after(own: AxisMap, order: Order, ndim: int) -> Order:
    """The order of a result of `ndim` axes, made of an operand in `order` whose axes become
    `own`; axes that are new come first."""
    kept = [result for axis in order if (result := own[axis]) is not None]
    return (*[axis for axis in range(ndim) if axis not in kept], *kept)


def rearranged(graph: Graph, like: Node, value: Value, own: Order, order: Order) -> Value:
    """`value`, whose axes stand in its `own` order, with them in another, as a view."""
    return _transposed(graph, like, value, tuple([own.index(axis) for axis in order]))


def transposed(graph: Graph, like: Node, value: Value) -> Value:
    """`value` with the last two axes swapped, as a view."""
    return _transposed(graph, like, value, swapped(value.type.ndim))


def _transposed(graph: Graph, like: Node, value: Value, order: Order) -> Value:
    """A transposed value; of what is a view already, one view of what that is one of."""
    made = value.node
    if order == own_order(value):
        return value
    if made is not None and made.op.name == "transpose":
        axes = made.params["axes"]
        return _transposed(graph, like, made.operands[0], tuple([axes[axis] for axis in order]))
    if made is not None and made.op.name == "expand_dims":
        new = made.params["axis"]
        kept = [axis for axis in order if axis not in new]
        if kept == sorted(kept):
            places = tuple([place for place, axis in enumerate(order) if axis in new])
            return emit(graph, like, "expand_dims", made.operands, axis=places)
    if made is not None and made.op.name == "negative" and made_by(made.operands[0], "expand_dims"):
        moved = _transposed(graph, like, made.operands[0], order)
        return emit(graph, like, "negative", (moved,))
    return emit(graph, like, "transpose", (value,), axes=order)


# Parameters that name axes


def _moved_axis(axis: int | Sequence[int], order: Order) -> int | tuple[int, ...]:
    if isinstance(axis, int):
        return order.index(axis)
    return tuple(sorted(map(order.index, axis)))


def _moved_index(index: Sequence[Any], order: Order) -> tuple[Any, ...]:
    entries = _entries(index, len(order))
    assert entries is not None
    moved = [entries[axis] for axis in order]
    while len(moved) > 1 and moved[-1] == FULL:
        moved.pop()
    return tuple(moved)


def _entries(index: Sequence[Any], ndim: int) -> list[Any] | None:
    """The entry of a basic index for each axis; None for an index of other things than numbers and
    slices."""
    entries = list(index)
    if "..." in entries:
        place = entries.index("...")
        entries[place : place + 1] = [FULL] * (ndim - len(entries) + 1)
    entries += [FULL] * (ndim - len(entries))
    return entries if all(type(one) in (int, tuple) for one in entries) else None


PARAMETERS: dict[str, Callable[[Any, Order], Any]] = {
    "axis": _moved_axis,
    "index": _moved_index,
    "shape": moved_shape,
}


# Maps


def _aligned_maps(node: Node) -> tuple[AxisMap, ...]:
    ndim = node.results[0].type.ndim
    return tuple([tuple(range(ndim - one.type.ndim, ndim)) for one in node.operands])


def _without(ndim: int, gone: Container[int]) -> AxisMap:
    """Axes in their order, without those that are gone."""
    left = [axis for axis in range(ndim) if axis not in gone]
    return tuple([left.index(axis) if axis in left else None for axis in range(ndim)])


def _among(ndim: int, new: Container[int]) -> AxisMap:
    """Axes in their order, between those that are new."""
    return tuple([axis for axis in range(ndim) if axis not in new])


def _transpose_maps(node: Node) -> tuple[AxisMap, ...]:
    axes = node.params["axes"]
    return (tuple([axes.index(axis) for axis in range(len(axes))]),)


def _part_maps(node: Node) -> tuple[AxisMap, ...] | None:
    ndim = node.operands[0].type.ndim
    entries = _entries(node.params["index"], ndim)
    if len(node.operands) > 1 or entries is None or node.results[0].type.form != "array":
        return None
    return (_without(ndim, [axis for axis in range(ndim) if type(entries[axis]) is int]),)


def _update_maps(node: Node) -> tuple[AxisMap, ...] | None:
    """A part that is put into zeros or into an array, and the array."""
    ndim, value = node.results[0].type.ndim, node.operands[-1].type
    entries = _entries(node.params["index"], ndim)
    if len(node.operands) != (1 if node.op.name == "put_slice" else 2) or entries is None:
        return None
    placed = _among(ndim, [axis for axis in range(ndim) if type(entries[axis]) is int])
    if value.ndim not in (0, len(placed)):
        return None
    return (*[tuple(range(ndim))] * (len(node.operands) - 1), placed[: value.ndim])


def _rows_maps(node: Node) -> tuple[AxisMap, ...] | None:
    """The axis maps of a gather along the first axis at one array of places, whose axis stands for
    it."""
    x, places = node.operands[0].type, node.operands[-1].type
    if node.params["index"] != ("{1}",) or places.ndim != 1:
        return None
    return tuple(range(x.ndim)), (0,)


def _reduction_maps(node: Node) -> tuple[AxisMap, ...] | None:
    if not node.params["axis"] or not node.params.keys() <= {"axis", "dtype", "keepdims"}:
        return None
    if node.params.get("keepdims"):
        return _aligned_maps(node)
    return (_without(node.operands[0].type.ndim, node.params["axis"]),)


def _product_maps(node: Node) -> tuple[AxisMap, ...] | None:
    first, second = (one.type.ndim for one in node.operands)
    ndim = node.results[0].type.ndim
    if min(first, second) < 2 or (node.op.name == "dot_matrix" and max(first, second) > 2):
        return None
    return (
        (*range(ndim - first, ndim - 2), ndim - 2, None),
        (*range(ndim - second, ndim - 2), None, ndim - 1),
    )


# What is made otherwise


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


def _transpose(moved: Moved) -> Value:
    axes = moved.node.params["axes"]
    order = tuple([axes[axis] for axis in moved.order])
    return rearranged(moved.graph, moved.node, moved.operands[0], moved.orders[0], order)


def _rows(moved: Moved) -> Value:
    place, unique = moved.order.index(0), moved.node.params["unique"]
    graph, node = moved.graph, moved.node
    if not place:
        return emit(graph, node, "take_at", moved.operands, **node.params)
    return emit(graph, node, "take", moved.operands, axis=place, unique=unique)


def _product(moved: Moved) -> Value:
    """A product of transposed factors in reverse, or else by `einsum`."""
    graph, node, ndim = moved.graph, moved.node, len(moved.order)
    if moved.order == swapped(ndim):
        factors = [
            rearranged(graph, node, one, own, swapped(len(own)))
            for one, own in zip(moved.operands, moved.orders, strict=True)
        ]
        return emit(graph, node, node.op, tuple(factors[::-1]))
    letters = string.ascii_lowercase[: ndim + 1]
    stack, row, column, summed = letters[:-3], letters[-3], letters[-2], letters[-1]
    first, second, result = (
        "".join([named[axis - len(order)] for axis in order])
        for named, order in (
            (stack + row + summed, moved.orders[0]),
            (stack + summed + column, moved.orders[1]),
            (stack + row + column, moved.order),
        )
    )
    subscripts = f"{first},{second}->{result}"
    return emit(graph, node, "einsum", moved.operands, subscripts=subscripts)


ELEMENTWISE = AxisRule(_aligned_maps)
RULES: dict[str, AxisRule] = {
    "copy": AxisRule(lambda node: _aligned_maps(node) if node.params["order"] == "C" else None),
    "broadcast_to": AxisRule(_aligned_maps, of_result=("shape",)),
    "expand_dims": AxisRule(
        lambda node: (_among(node.results[0].type.ndim, node.params["axis"]),),
        of_result=("axis",),
    ),
    "squeeze": AxisRule(
        lambda node: (_without(node.operands[0].type.ndim, node.params["axis"]),),
        of_operand=("axis",),
    ),
    "transpose": AxisRule(_transpose_maps, make=_transpose),
    "getitem": AxisRule(_part_maps, of_operand=("index",)),
    "take_at": AxisRule(_rows_maps, make=_rows),
    "put_slice": AxisRule(_update_maps, of_result=("index", "shape")),
    **dict.fromkeys(UPDATES, AxisRule(_update_maps, of_result=("index",))),
    "roll": AxisRule(
        lambda node: _aligned_maps(node) if type(node.params["axis"]) is int else None,
        of_result=("axis",),
    ),
    "concatenate": AxisRule(_aligned_maps, of_result=("axis",)),
    "stack": AxisRule(
        lambda node: (
            (_among(node.results[0].type.ndim, {node.params["axis"]}),) * len(node.operands)
        ),
        of_result=("axis",),
    ),
    **dict.fromkeys(REDUCTIONS, AxisRule(_reduction_maps, of_operand=("axis",))),
    **dict.fromkeys(PRODUCTS, AxisRule(_product_maps, make=_product)),
}
