"""Derivatives of log1p(exp(-v)) by the logarithm: the same numbers, and where they stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.against_exact import assert_close_to_exact
from tests.interpret import interpret, record
from tests.support.arrays import normal
from tests.support.graphs import ops_of
from tracejit.ir.verify import verify
from tracejit.passes.algebra.rewrites import reduce_strength
from tracejit.passes.framework.dce import drop_dead
from tracejit.support.cost_model import costs

SOFTPLUS_ELEMENTS = costs().most_softplus_elements
EDGES = [0.0, -0.0, 1e-300, -1e-30, 1e-8, 40.0, -700.0, 750.0, 1e300, np.inf, -np.inf, np.nan]
E = "np.exp(-np.abs(x))"
FOUND = {
    "of an absolute": ("g / (e + 1.0) * e", E, (9,), ()),
    "of a square": ("g / (e + 1.0) * e", "np.exp(-(x * x))", (9,), ()),
    "one first": ("g / (1 + e) * e", E, (9,), ()),
    "turned": ("e * (g / (e + 1.0))", E, (9,), ()),
    "by an array": ("g / (e + 1.0) * e", E, (9,), (9,)),
    "by a row": ("g / (e + 1.0) * e", E, (4, 3), (3,)),
    "of the most elements": ("g / (e + 1.0) * e", E, (SOFTPLUS_ELEMENTS,), ()),
    "of nothing": ("g / (e + 1.0) * e", E, (0,), ()),
}
STAYS = {
    "of what may be above one": ("g / (e + 1.0) * e", "np.exp(-np.sin(x))", (9,), ()),
    "of what grows": ("g / (e + 1.0) * e", "np.exp(np.abs(x))", (9,), ()),
    "with another number": ("g / (e + 2.0) * e", E, (9,), ()),
    "with another array": ("g / (e + x) * e", E, (9,), ()),
    "of another array": ("g / (e + 1.0) * x + e", E, (9,), ()),
    "of many elements": ("g / (e + 1.0) * e", E, (SOFTPLUS_ELEMENTS + 1,), ()),
    "of a number": ("g / (e + 1.0) * e", E, (), ()),
    "read besides": ("g / (e + 1.0) * e + np.sin(e)", E, (9,), ()),
    "a quotient read besides": ("(q := g / (e + 1.0)) * e + q", E, (9,), ()),
    "of more elements": ("g / (e + 1.0) * e", E, (3,), (4, 3)),
}


def program(case: tuple[Any, ...]) -> Any:
    """log1p(e), and what is computed from e and g."""
    text, e, *_ = case
    space: dict[str, Any] = {"np": np}
    exec(f"def f(x, g):\n    e = {e}\n    return np.log1p(e), {text}", space)
    return space["f"]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("case", FOUND.values(), ids=FOUND)
@settings(max_examples=30, deadline=None)
@given(special=st.lists(st.sampled_from(EDGES), max_size=4), number=st.sampled_from(EDGES))
def test_numbers(case: Any, dtype: str, special: list[float], number: float) -> None:
    *_, shape, of_g = case
    with np.errstate(all="ignore"):
        x, g = 3.0 * normal(*shape, dtype=dtype), np.array(normal(*of_g, dtype=dtype))
        x.reshape(-1)[: len(special)] = special[: x.size]
        g.reshape(-1)[:1] = number
        g = g[()]
        graph = record(program(case), x, g)[0]
        found = drop_dead(reduce_strength(graph))
        verify(found)
        assert "expm1" in ops_of(found)
        assert "divide" not in ops_of(found)
        for one, other in zip(interpret(found, x, g), interpret(graph, x, g), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            limits = np.finfo(one.dtype)
            np.testing.assert_allclose(one, other, rtol=4 * limits.eps, atol=4 * limits.tiny)
            zero = other == 0
            np.testing.assert_array_equal(np.signbit(one[zero]), np.signbit(other[zero]))


@pytest.mark.parametrize("case", STAYS.values(), ids=STAYS)
def test_what_stays(case: Any) -> None:
    *_, shape, of_g = case
    graph = record(program(case), np.asarray(normal(*shape))[()], np.asarray(normal(*of_g))[()])[0]
    assert "expm1" not in ops_of(drop_dead(reduce_strength(graph)))


def logistic(w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return np.mean(np.maximum(z, 0.0) - y * z + np.log1p(np.exp(-np.abs(z)))) + 0.01 * np.sum(w**2)


@pytest.mark.parametrize("rows", [0, 1, 40, 569, 3000])
def test_logistic_loss(rows: int) -> None:
    y = (normal(rows) > 0).astype(float)
    arguments = normal(5), normal(rows, 5), y
    if rows:
        assert_close_to_exact(logistic, arguments, grad=1)
    gradient = tj.value_and_grad(tj.function(logistic, cache=False))
    with np.errstate(all="ignore"):
        gradient(*arguments)
    text = gradient.source.partition("def value_and_grad")[2]
    assert ("tanh(" in text) == (rows > 0)
    backward = gradient.source.partition("def backward")[2].partition("def value_and_grad")[0]
    assert ("expm1" in backward) == (rows <= SOFTPLUS_ELEMENTS)


def test_second_derivatives() -> None:
    def curved(x: Any) -> Any:
        return tj.grad(lambda x: np.sum(np.log1p(np.exp(-np.abs(x))) * x))(x)

    assert_close_to_exact(lambda x: np.sum(curved(x) ** 2), (normal(30),), grad=1)
