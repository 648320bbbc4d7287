"""Arrays that are made of nothing: constants of the graph unless somebody writes to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same

X = np.array([0.5, -1.0, 2.0])


def scanned(x: Any) -> Any:
    """A loop that begins with zeros."""
    return tj.scan(lambda h, v: (np.tanh(h + v), h), np.zeros(3), np.stack([x, x]))[0]


def filled(x: Any) -> Any:
    """Zeros that are written to."""
    y = np.zeros(3)
    y[0] = x[1]
    return y * x


def filled_by_a_view(x: Any) -> Any:
    """Zeros that are written to through a view of a view."""
    y = np.zeros((3, 3))
    y.T[1][:2] = x[:2]
    return y @ x


def read_before_it_is_written(x: Any) -> Any:
    """Ones that one statement reads, and a later one writes to."""
    y = np.ones(3)
    before = y * x
    y += x
    return before + y


FUNCTIONS = (scanned, filled, filled_by_a_view, read_before_it_is_written)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_slopes_are_numpys(f: Any) -> None:
    compiled = tj.function(f)
    slopes = tj.grad(lambda x: np.sum(f(x) * np.arange(1.0, 4.0)))
    for x in (X, 2.0 * X, X):
        if f is not scanned:
            assert_same(compiled(x), f(x))
        steps = 1e-6 * np.eye(3)
        weights = np.arange(1.0, 4.0)
        found = [np.sum((compiled(x + h) - compiled(x - h)) * weights) / 2e-6 for h in steps]
        np.testing.assert_allclose(slopes(x), found, rtol=1e-6, atol=1e-8)


def test_what_nobody_writes_to_is_a_constant() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.cumsum(np.eye(3), axis=0) @ np.tanh(x))

    slope = tj.value_and_grad(f)
    slope(X)
    assert [node.op.name for node in slope.kernels[0].graph.nodes if not node.operands] == []


def test_a_result_is_the_callers_own() -> None:
    f = tj.function(lambda x: (np.zeros(3), np.sum(x)))
    first = f(X)[0]
    first += 1.0
    assert_same(f(X)[0], np.zeros(3))
