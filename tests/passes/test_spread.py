"""Operands that are spread once: where they are, and that not a bit changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret, record
from tests.passes.test_lower import normal, ops_of
from tracejit.ir.graph import Graph
from tracejit.ir.verify import verify
from tracejit.passes.dce import drop_dead
from tracejit.passes.simplify import simplify
from tracejit.passes.spread import spread_once


def steps(count: int = 5, axis: Any = None) -> Callable[[Any, Any], Any]:
    """So many steps that each spread `b` over `x`, some as the other operand."""

    def f(x: Any, b: Any) -> Any:
        if axis is not None:
            b = np.expand_dims(b, axis)
        for k in range(count):
            x = np.sin(x + b if k % 2 else b - x)
        return x

    return f


def graph_of(f: Any, *args: Any) -> Graph:
    """The graph of a call, as it comes to the pass."""
    return drop_dead(simplify(record(f, *args)[0]))


SPREAD = {
    "rows": (steps(), (4, 3), (3,), 0),
    "columns": (steps(), (4, 3), (4, 1), 0),
    "columns of a vector": (steps(axis=1), (4, 3), (4,), 1),
    "rows of a vector": (steps(axis=0), (4, 3), (3,), 0),
    "stacks": (steps(), (2, 4, 3), (4, 3), 0),
    "readers just enough": (steps(4), (4, 3), (3,), 0),
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8"])
@pytest.mark.parametrize(("f", "shape", "other", "views"), SPREAD.values(), ids=SPREAD)
def test_what_is_spread(f: Any, shape: Any, other: Any, views: int, dtype: str) -> None:
    x, b = (normal(*one).astype(dtype) for one in (shape, other))
    graph = graph_of(f, x, b)
    spread = drop_dead(spread_once(graph))
    verify(spread)
    ops = ops_of(spread)
    assert (ops.count("broadcast_to"), ops.count("copy")) == (1, 1)
    assert ops.count("expand_dims") == views
    (expected,), (found,) = interpret(graph, x, b), interpret(spread, x, b)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


STAYS = {
    "few readers": (steps(3), (4, 3), (3,)),
    "large arrays": (steps(), (400, 300), (300,)),
    "one shape": (steps(), (4, 3), (4, 3)),
    "a number": (steps(), (4, 3), ()),
    "one element": (steps(), (4, 3), (1, 1)),
    "each over the other": (steps(1), (4, 1), (3,)),
    "nothing": (steps(), (0, 3), (3,)),
}


@pytest.mark.parametrize(("f", "shape", "other"), STAYS.values(), ids=STAYS)
def test_what_stays(f: Any, shape: Any, other: Any) -> None:
    graph = graph_of(f, normal(*shape), normal(*other))
    assert "copy" not in ops_of(drop_dead(spread_once(graph)))


def test_both_shapes_are_counted_apart() -> None:
    """Over arrays of one shape it is spread often enough, over those of another not."""

    def f(x: Any, y: Any, b: Any) -> Any:
        return steps(5)(x, b), np.sin(y + b)

    graph = graph_of(f, normal(4, 3), normal(2, 3), normal(3))
    assert ops_of(drop_dead(spread_once(graph))).count("copy") == 1


def test_kernels_and_gradients() -> None:
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


def test_the_argument_is_not_written_to() -> None:
    x, b = normal(4, 3), normal(3)
    before = x.copy(), b.copy()
    tj.function(steps(6), cache=False)(x, b)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(b, before[1])
