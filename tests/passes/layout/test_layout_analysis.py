"""Which values are kept with their long axes last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.interpret import record
from tests.support.arrays import normal
from tests.support.graphs import graph_of
from tracejit.ir.types import ArrayType
from tracejit.passes.layout.layout_assignment import Layouts, long_axis, loop_time

LONG = {
    (900, 3): 0,
    (5, 900, 3): 1,
    (900, 2, 3): 0,
    (64, 96, 3): 1,
    (900, 3, 1): 0,
    (900, 1): None,
    (900, 40): None,
    (12, 3): None,
    (900,): None,
    (0, 3): None,
    (60, 30): None,
}


@pytest.mark.parametrize("shape", LONG)
def test_long_axis(shape: tuple[int, ...]) -> None:
    assert long_axis(ArrayType(shape, np.dtype("f8"))) == LONG[shape]


def orders(f: Any, *args: Any) -> dict[str, tuple[int, ...]]:
    """The orders of the axes of what is not kept in C order, by the names in the program."""
    graph = graph_of(f, *args)
    layouts = Layouts(graph)
    layouts.choose()
    return {value.label: order for value, order in layouts.orders.items() if value.label}


def test_blocks_of_a_jacobian() -> None:
    def f(x: Any, a: Any) -> Any:
        u = x * a
        v = u - a
        w = v[:, :, 1]
        return np.sum(np.tanh(v) * a, axis=(1, 2)), w * 2.0

    found = orders(f, normal(2000, 2, 3), normal(2000, 1, 3))
    assert found == {"u": (1, 2, 0), "v": (1, 2, 0), "w": (1, 0)}


def test_images_go_in_whole() -> None:
    def f(x: Any, a: Any) -> Any:
        u = x * a
        v = np.max(u, axis=-1)
        return np.sum(np.tanh(u - v[..., None]), axis=-1)

    assert orders(f, normal(64, 96, 3), normal(3)) == {"u": (2, 0, 1)}


def test_stacks_of_rows() -> None:
    def f(x: Any, c: Any) -> Any:
        d = x - c[:, None]
        return np.sum(d * d * c[:, None], axis=-1)

    assert orders(f, normal(900, 3), normal(5, 3)) == {"d": (0, 2, 1)}


def test_axes_that_belong_together() -> None:
    """Differences of all pairs: both axes are those of the points."""

    def f(x: Any, box: Any) -> Any:
        d = x[:, None] - x
        d = d - box * np.rint(d / box)
        return np.sum(d * d, axis=-1)

    assert orders(f, normal(120, 3), normal(3)) == {"d": (2, 0, 1)}


def test_each_class_by_itself() -> None:
    def f(x: Any, y: Any, a: Any) -> Any:
        u = np.tanh(x * a - a) * a + a
        v = y * y
        return np.sum(u * a, axis=1), np.sum(v, axis=1)

    assert orders(f, normal(2000, 3), normal(2001, 3), normal(3)) == {"u": (1, 0)}


def test_nothing_is_copied_where_nothing_is_moved() -> None:
    def f(x: Any, w: Any, b: Any) -> Any:
        h = np.tanh(x @ w + b)
        return np.sum(h * h), h.T @ x, np.transpose(h[None], (2, 0, 1))

    graph = graph_of(f, normal(32, 16), normal(16, 8), normal(8))
    layouts = Layouts(graph)
    layouts.choose()
    assert not layouts.orders
    assert layouts.time(graph.nodes) + layouts.copying(graph.nodes) < layouts.model.moved_copy


def test_time_of_loops() -> None:
    def operands(*shapes: tuple[int, ...]) -> list[Any]:
        return record(lambda *args: args[0] * 2.0, *map(np.ones, shapes))[0].inputs

    plain, last = (0, 1, 2), (1, 2, 0)
    shape = (900, 2, 3)
    assert loop_time(shape, plain, operands(shape, shape)) == 0.0
    rows = loop_time(shape, plain, operands(shape, (900, 1, 3)))
    planes = loop_time(shape, plain, operands(shape, (900, 1, 1)))
    assert rows > planes > loop_time(shape, last, operands(shape, (900, 1, 1))) > 0.0
    assert loop_time(shape, last, operands(shape, (900, 1, 3))) < 0.02 * rows
