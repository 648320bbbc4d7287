"""Operations on arrays whose axes stand in other orders, against those on arrays as they are."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from tests.interpret import interpret, record
from tests.support.arrays import normal
from tracejit.ir.graph import Graph, Node
from tracejit.passes.framework.emission import emit
from tracejit.passes.layout.axes import (
    RULES,
    Moved,
    Order,
    axis_maps,
    in_order,
    is_alike,
    moved_shape,
    order_after,
    order_through,
    rearranged,
)

X, Y, ROW, MATRIX = normal(4, 2, 3), normal(4, 2, 3), normal(3), normal(4, 3, 2)
MADE = {
    "elementwise": (lambda x, y: np.arctan2(x, y), (X, Y)),
    "a row": (lambda x, b: x * b, (X, ROW)),
    "rows of planes": (lambda x, b: np.maximum(b, x), (X, normal(2, 1))),
    "a choice": (lambda m, x, b: np.where(m, x, b), (X > 0.0, X, ROW)),
    "a number": (lambda x, b: x - b, (X, np.float64(2.0))),
    "broadcast": (lambda b: np.broadcast_to(b, (4, 2, 3)), (normal(2, 3),)),
    "part": (lambda x, v: _placed(x, v), (X, normal(4, 2))),
    "a part in zeros": (lambda v: _placed(np.zeros_like(v[..., None] * ROW), v), (normal(4, 2),)),
    "joined": (lambda x, y: np.concatenate([x, y], axis=1), (X, Y)),
    "stacked": (lambda x, y: np.stack([x, y], axis=1), (normal(4, 3), normal(4, 3))),
    "rows by number": (lambda x, i: x[i], (X, np.array([3, 0, -1, 1, 1]))),
    "rolled": (lambda x: np.roll(x, 1, axis=1), (X,)),
    "products": (lambda x, y: x @ y, (X, MATRIX)),
    "a product with one matrix": (lambda x, y: x @ y, (X, normal(3, 5))),
    "a product of one matrix": (lambda x, y: x @ y, (normal(5, 2), X)),
}
READ = {
    "part of each": (lambda x: x[:, 1:, ::-1], (X,)),
    "one of each": (lambda x: x[..., 1], (X,)),
    "new axes": (lambda x: np.expand_dims(x, (0, 2)), (X,)),
    "an axis less": (lambda x: np.squeeze(x, 1), (normal(4, 1, 3),)),
    "other axes": (lambda x: np.transpose(x, (1, 2, 0)), (X,)),
    "sum": (lambda x: np.sum(x, axis=1), (X,)),
    "sum of two axes": (lambda x: np.sum(x, axis=(0, 2)), (X,)),
    "largest, the axis kept": (lambda x: np.max(x, axis=2, keepdims=True), (X,)),
    "smallest": (lambda x: np.min(x, axis=0), (X,)),
}


def _placed(x: Any, v: Any) -> Any:
    x = x.copy()
    x[:, :, 1] = v
    return x


def evaluated(node: Node, args: tuple[Any, ...], orders: tuple[Order, ...], order: Order) -> Any:
    """The result of a node in an order, made of arrays that are given in orders."""
    new = Graph("moved")
    inputs = []
    for number, (value, own) in enumerate(zip(node.operands, orders, strict=True)):
        type = value.type
        moved = type if not own else type.__class__(moved_shape(type.shape, own), type.dtype)
        inputs.append(new.add_input(f"x_{number}", moved))
    new.outputs = [in_order(Moved(new, node, tuple(inputs), orders, order))]
    given = [np.transpose(x, own) if own else x for x, own in zip(args, orders, strict=True)]
    (found,) = interpret(new, *[x if np.ndim(x) == 0 else np.ascontiguousarray(x) for x in given])
    return found


def last_node(f: Any, args: tuple[Any, ...]) -> tuple[Node, tuple[Any, ...]]:
    """The node that a call ends in, and what it reads."""
    graph = record(f, *args)[0]
    node = graph.outputs[0].node
    assert node is not None
    graph.outputs = list(node.operands)
    return node, tuple(interpret(graph, *args))


@pytest.mark.parametrize(("f", "args"), MADE.values(), ids=MADE)
def test_made_in_any_order(f: Any, args: Any) -> None:
    node, read = last_node(f, args)
    maps = axis_maps(node)
    assert maps is not None
    for order in permutations(range(node.results[0].type.ndim)):
        orders = tuple(order_through(own, order) for own in maps)
        found = evaluated(node, read, orders, order)
        np.testing.assert_allclose(found, np.transpose(f(*args), order), rtol=1e-13)


@pytest.mark.parametrize(("f", "args"), READ.values(), ids=READ)
def test_read_in_any_order(f: Any, args: Any) -> None:
    node, read = last_node(f, args)
    maps = axis_maps(node)
    assert maps is not None
    for own in permutations(range(args[0].ndim)):
        order = order_after(maps[0], own, node.results[0].type.ndim)
        found = evaluated(node, read, (own,), order)
        np.testing.assert_allclose(found, np.transpose(f(*args), order), rtol=1e-13)


def test_every_rule_is_tried() -> None:
    tried = {last_node(f, args)[0].op.name for f, args in (*MADE.values(), *READ.values())}
    alike = {"add_slice", "add_item", "subtract_item", "dot_matrix", "put_slice", "copy"}
    assert RULES.keys() - tried <= alike


NOT = {
    "elements": lambda x: x[[0, 1], 1],
    "rows by many numbers": lambda x: x[np.array([[0, 1]])],
    "cross products": lambda x: np.cross(x, x),
    "a new axis and a part": lambda x: x[:, None, 1:],
    "a cumulative sum": lambda x: np.cumsum(x, axis=0),
    "another shape": lambda x: np.reshape(x, (4, 6)),
    "rolled along all": lambda x: np.roll(x, 1),
}


@pytest.mark.parametrize("f", NOT.values(), ids=NOT)
def test_what_is_made_as_ever(f: Any) -> None:
    node = record(f, X)[0].outputs[0].node
    assert node is not None
    assert axis_maps(node) is None


def test_c_order() -> None:
    assert is_alike((5, 1), (0, 1), (1, 0))
    assert is_alike((1, 4, 5), (1, 2, 0), (1, 0, 2))
    assert not is_alike((5, 2), (0, 1), (1, 0))


def test_views_of_views() -> None:
    """They become one view, of what there is."""
    graph = record(lambda x: np.transpose(x, (2, 0, 1)), X)[0]
    (value,), (x,) = graph.outputs, graph.inputs
    like = value.node
    assert like is not None
    assert rearranged(graph, like, value, (0, 1, 2), (1, 2, 0)) is x
    again = rearranged(graph, like, value, (0, 1, 2), (2, 1, 0)).node
    assert again is not None
    assert (again.operands, again.params["axes"]) == ((x,), (1, 0, 2))
    expanded = emit(graph, like, "expand_dims", (x,), axis=(1,))
    moved = rearranged(graph, like, expanded, (0, 1, 2, 3), (0, 2, 1, 3)).node
    assert moved is not None
    assert (moved.op.name, moved.params["axis"]) == ("expand_dims", (2,))
