"""Operands that are repeated before they are broadcast: where, and that not a bit changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret, record
from tests.passes.test_lower import normal, ops_of
from tests.rows import each_row
from tracejit.ir.graph import Graph
from tracejit.ir.verify import verify
from tracejit.passes.broadcasts import materialise_broadcasts
from tracejit.passes.dce import drop_dead
from tracejit.passes.simplify import simplify


def graph_of(f: Any, *args: Any) -> Graph:
    """The graph of a call, as it comes to the pass."""
    return drop_dead(simplify(record(f, *args)[0]))


def shift(x: Any, b: Any) -> Any:
    """`b` spread over `x`."""
    return x * 2.0 - b


LONGER = {
    "a bias of channels": ((4, 20, 30, 8), (8,), (30, 8)),
    "as many axes as it takes": ((80, 6, 5, 4), (4,), (6, 5, 4)),
    "for each image": ((4, 26, 26, 16), (4, 1, 1, 16), (4, 1, 26, 16)),
    "for each line": ((9, 13, 13, 16), (13, 1, 16), (13, 13, 16)),
    "with empty axes before": ((50, 30, 8), (1, 1, 8), (1, 30, 8)),
    "two axes alike": ((30, 20, 3, 5), (3, 5), (20, 3, 5)),
}


@each_row("dtype", ["f4", "f8", "c16", "i8"])
@each_row(("shape", "other", "longer"), LONGER.values())
def test_what_is_longer(shape: Any, other: Any, longer: Any, dtype: str) -> None:
    x, b = (normal(*one).astype(dtype) for one in (shape, other))
    graph = graph_of(shift, x, b)
    repeated = drop_dead(materialise_broadcasts(graph))
    verify(repeated)
    (copy,) = [node for node in repeated.nodes if node.op.name == "copy"]
    assert copy.results[0].type.shape == longer
    (expected,), (found,) = interpret(graph, x, b), interpret(repeated, x, b)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


STAYS = {
    "few elements": ((9, 10, 8), (8,)),
    "long rows": ((9, 10, 128), (128,)),
    "a matrix": ((5000, 8), (8,)),
    "one number in each row": ((50, 30, 8), (50, 30, 1)),
    "one shape": ((50, 30, 8), (50, 30, 8)),
    "a number": ((50, 30, 8), ()),
    "one element": ((50, 30, 8), (1, 1, 1)),
    "a large part of the result": ((4, 600, 8), (8,)),
    "nothing": ((0, 30, 8), (8,)),
    "what tiles go through": ((20, 30, 40, 8), (8,)),
}


@pytest.mark.parametrize(("shape", "other"), STAYS.values(), ids=STAYS)
def test_what_stays(shape: Any, other: Any) -> None:
    graph = graph_of(shift, normal(*shape), normal(*other))
    assert materialise_broadcasts(graph).nodes == graph.nodes or "copy" not in ops_of(
        drop_dead(materialise_broadcasts(graph))
    )


def test_choices_and_operations_of_several_operands() -> None:
    def choose(x: Any, g: Any) -> Any:
        return np.where(x == 0.0, 0.5 * g, g)

    x, g = normal(4, 26, 26, 16), normal(4, 1, 1, 16)
    graph = graph_of(choose, x, g)
    repeated = drop_dead(materialise_broadcasts(graph))
    assert ops_of(repeated).count("copy") == 2
    np.testing.assert_array_equal(interpret(repeated, x, g)[0], choose(x, g))


def test_kernels_and_gradients() -> None:
    def loss(x: Any, b: Any) -> Any:
        return np.sum(np.tanh(x + b) ** 2)

    x, b = normal(10, 30, 40, 8), normal(8)
    both = tj.value_and_grad(tj.function(loss, cache=False), argnums=(0, 1))
    exact = tj.value_and_grad(tj.function(loss, cache=False, exact=True), argnums=(0, 1))
    (value, found), (number, expected) = both(x, b), exact(x, b)
    assert "broadcast_to(b, (40, 8)).copy()" in both.kernels[-1].source
    np.testing.assert_allclose(value, number, rtol=1e-13)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_the_argument_is_not_written_to() -> None:
    x, b = normal(20, 30, 8), normal(8)
    before = x.copy(), b.copy()
    result = tj.function(shift, cache=False)(x, b)
    result[...] = 0.0
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(b, before[1])


def steps(count: int = 5, axis: Any = None) -> Callable[[Any, Any], Any]:
    """So many steps that each spread `b` over `x`, some as the other operand."""

    def f(x: Any, b: Any) -> Any:
        if axis is not None:
            b = np.expand_dims(b, axis)
        for k in range(count):
            x = np.sin(x + b if k % 2 else b - x)
        return x

    return f


SPREAD = {
    "rows": (steps(), (4, 3), (3,), 0),
    "columns": (steps(), (4, 3), (4, 1), 0),
    "columns of a vector": (steps(axis=1), (4, 3), (4,), 1),
    "rows of a vector": (steps(axis=0), (4, 3), (3,), 0),
    "stacks": (steps(), (2, 4, 3), (4, 3), 0),
    "readers just enough": (steps(4), (4, 3), (3,), 0),
}


@each_row("dtype", ["f4", "f8", "c16", "i8"])
@each_row(("f", "shape", "other", "views"), SPREAD.values())
def test_what_is_spread(f: Any, shape: Any, other: Any, views: int, dtype: str) -> None:
    x, b = (normal(*one).astype(dtype) for one in (shape, other))
    graph = graph_of(f, x, b)
    spread = drop_dead(materialise_broadcasts(graph))
    verify(spread)
    ops = ops_of(spread)
    assert (ops.count("broadcast_to"), ops.count("copy")) == (1, 1)
    assert ops.count("expand_dims") == views
    (expected,), (found,) = interpret(graph, x, b), interpret(spread, x, b)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


NOT_SPREAD = {
    "few readers": (steps(3), (4, 3), (3,)),
    "large arrays": (steps(), (400, 300), (300,)),
    "one shape": (steps(), (4, 3), (4, 3)),
    "a number": (steps(), (4, 3), ()),
    "one element": (steps(), (4, 3), (1, 1)),
    "each over the other": (steps(1), (4, 1), (3,)),
    "nothing": (steps(), (0, 3), (3,)),
}


@pytest.mark.parametrize(("f", "shape", "other"), NOT_SPREAD.values(), ids=NOT_SPREAD)
def test_what_is_not_spread(f: Any, shape: Any, other: Any) -> None:
    graph = graph_of(f, normal(*shape), normal(*other))
    assert "copy" not in ops_of(drop_dead(materialise_broadcasts(graph)))


def test_both_shapes_are_counted_apart() -> None:
    """Over arrays of one shape it is spread often enough, over those of another not."""

    def f(x: Any, y: Any, b: Any) -> Any:
        return steps(5)(x, b), np.sin(y + b)

    graph = graph_of(f, normal(4, 3), normal(2, 3), normal(3))
    assert ops_of(drop_dead(materialise_broadcasts(graph))).count("copy") == 1


def test_kernels_and_gradients_of_steps() -> None:
    def loss(x: Any, b: Any) -> Any:
        return np.sum(steps(6)(x, b) ** 2)

    x, b = normal(4, 3), normal(3)
    both = tj.value_and_grad(tj.function(loss, cache=False), argnums=(0, 1))
    exact = tj.value_and_grad(tj.function(loss, cache=False, exact=True), argnums=(0, 1))
    (value, found), (number, expected) = both(x, b), exact(x, b)
    assert "broadcast_to(b, (4, 3)).copy()" in both.kernels[-1].source
    np.testing.assert_allclose(value, number, rtol=1e-13)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


def test_the_argument_of_steps_is_not_written_to() -> None:
    x, b = normal(4, 3), normal(3)
    before = x.copy(), b.copy()
    tj.function(steps(6), cache=False)(x, b)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(b, before[1])
