"""Arrays that loops stack: shifted stacks are shared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.cost_model import assuming


@pytest.fixture(autouse=True)
def python_loops_stay_as_they_are() -> Iterator[None]:
    """Let no loop of Python become one of the graph: they are what loops are compared with."""
    with assuming(least_rolled_steps=1000):
        yield


XS = np.random.default_rng(1).normal(size=(6, 4))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("first", [0.5, np.linspace(0, 1, 4)], ids=["number", "row"])
def test_the_beginnings_of_steps_are_their_ends_shifted(reverse: bool, first: Any) -> None:
    xs = XS if np.ndim(first) else XS[:, 0].copy()

    def loss(k: Any, first: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = np.exp(k * h) * x
            return h, h

        return np.sum(tj.scan(step, first, xs, reverse=reverse)[1] ** 2)

    def unrolled(k: Any, first: Any, xs: Any) -> Any:
        h, total = first, 0.0
        for x in xs[::-1] if reverse else xs:
            h = np.exp(k * h) * x
            total = total + np.sum(h**2)
        return total

    derivative = tj.value_and_grad(loss, argnums=(0, 1, 2))
    value, bars = derivative(0.1, first, xs)
    expected, others = tj.value_and_grad(unrolled, argnums=(0, 1, 2))(0.1, first, xs)
    assert value == pytest.approx(expected)
    for bar, other in zip(bars, others, strict=True):
        np.testing.assert_allclose(bar, other, rtol=1e-11)
    text = derivative.source.split("def value_and_grad")[1]
    assert text.count("[t] = h\n") == 1
    assert "concatenate" in text


def test_a_number_before_a_stack_is_an_array_of_one() -> None:
    def loss(w: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = h * h * x - 0.5
            return h, h

        return np.sum(tj.scan(step, w[0], xs)[1] ** 2)

    text = tj.value_and_grad(loss).kernel(np.array([0.5]), XS[:, 0]).source
    assert "broadcast_to(" not in text
    assert "concatenate((array((" in text
