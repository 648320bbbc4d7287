"""A new op is one record: what it declares, every stage goes by. Nothing else knows of these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import record
from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import OPS, Op, defop
from tracejit.passes.algebra.ranges import is_nonnegative
from tracejit.targets.numpy.plan.tile_axes import TileAxes

X = np.linspace(-2.0, 2.0, 900)


def slope(g: Any, y: Any, x: Any) -> Any:
    """The derivative of softsign."""
    return g / (1.0 + np.abs(x)) ** 2


@pytest.fixture
def new() -> Iterator[dict[str, Op]]:
    """Three new ops."""
    before = dict(OPS)
    yield {
        "softsign": defop(
            name="softsign",
            infer=lambda x: x,
            vjp=slope,
            jvp=slope,
            batch="elementwise",
            source="{0} / (1.0 + np.absolute({0}))",
            sign="kept",
            bound=1.0,
        ),
        "backwards": defop(
            name="backwards",
            infer=lambda x: x,
            vjp=lambda g, y, x: g[..., ::-1],
            jvp="linear",
            batch="leading",
            source="{0}[..., ::-1]",
            view_of=0,
            view="always",
            elements="permuted",
        ),
        "total": defop(
            name="total",
            infer=lambda x, axis: ArrayType((), x.dtype, "scalar"),
            vjp=lambda g, y, x, axis: np.broadcast_to(g, x.shape),
            jvp="linear",
            source="np.add.reduce({0}, {axis})",
            reduces="add",
            sign="kept",
        ),
    }
    OPS.clear()
    OPS.update(before)


def test_it_is_computed_and_differentiated(new: dict[str, Op]) -> None:
    softsign = new["softsign"]
    f = tj.function(lambda x: np.sum(softsign(x) ** 2), cache=False)
    y = X / (1.0 + np.abs(X))
    assert f(X) == pytest.approx(np.sum(y * y))
    assert np.allclose(tj.grad(f)(X), 2 * y / (1.0 + np.abs(X)) ** 2)
    assert np.allclose(tj.vmap(softsign)(X.reshape(9, 100)), y.reshape(9, 100))
    assert np.allclose(tj.jvp(softsign, (X,), (X,))[1], X / (1.0 + np.abs(X)) ** 2)


def test_its_sign_is_known(new: dict[str, Op]) -> None:
    graph, _ = record(lambda x: new["backwards"](new["softsign"](np.exp(x))), X)
    assert is_nonnegative(graph.outputs[0])
    graph, _ = record(lambda x: new["backwards"](new["softsign"](x)), X)
    assert not is_nonnegative(graph.outputs[0])


def test_it_is_a_view_that_is_written_through(new: dict[str, Op]) -> None:
    @tj.function(cache=False)
    def f(x: Any) -> Any:
        copy = x.copy()
        new["backwards"](copy)[0] = 7.0
        return copy * 2.0

    expected = X * 2.0
    expected[-1] = 14.0
    assert np.array_equal(f(X), expected)


def test_it_is_linear(new: dict[str, Op]) -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 1.0, lambda upstream: new["backwards"](upstream)

    assert np.array_equal(tj.jvp(f, (X,), (X,))[1], X[::-1])


def test_it_is_gone_through_in_tiles(new: dict[str, Op]) -> None:
    graph, _ = record(lambda x: new["total"](new["softsign"](x), axis=(0,)), X)
    axes = TileAxes(len(X))
    kinds = [axes.of(node) for node in graph.nodes]
    assert [kind and kind.makes_rows for kind in kinds] == [True, False]
