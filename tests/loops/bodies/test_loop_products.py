"""Loops: products before them and sums after them, against kernels that do as the user wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.against_exact import assert_close_to_exact, code, with_special
from tests.by_day import by_day

FEW = settings(
    max_examples=by_day(4, 8),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def source(f: Callable[..., Any], *arguments: Any, argnums: tuple[int, ...]) -> str:
    """The statements of value_and_grad."""
    compiled = tj.value_and_grad(tj.function(f, cache=False), argnums)
    compiled(*arguments)
    return code(compiled)


def batches(w: Any, u: Any, b: Any, x: Any) -> Any:
    """A recurrence over the first axis of x, with a batch."""
    h = np.zeros((x.shape[1], w.shape[0]), x.dtype)
    for t in range(x.shape[0]):
        h = np.tanh(h @ w + x[t] @ u + b)
    return np.mean(h * h)


def second_axis(w: Any, u: Any, b: Any, x: Any) -> Any:
    """A recurrence over the second axis of x."""
    h = np.zeros((x.shape[0], w.shape[0]), x.dtype)
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] @ u + np.dot(h, w)) + b
    return np.sum(h * h)


def vectors(w: Any, u: Any, b: Any, x: Any) -> Any:
    """A recurrence without a batch, the matrices on the left for the state."""
    x = x[:, 0]
    h = np.zeros(w.shape[0], x.dtype)
    for t in range(x.shape[0]):
        h = np.tanh(w @ h + x[t] @ u + b)
    return np.sum(h)


def backwards(w: Any, u: Any, b: Any, x: Any) -> Any:
    """A recurrence from the last step, which skips the first."""
    h = np.zeros((x.shape[1], w.shape[0]), x.dtype)
    total = 0.0
    for t in range(1, x.shape[0]):
        h = np.tanh(h @ w + x[-t] @ u + b)
        total = total + np.sum(h)
    return total


def covariances(w: Any, u: Any, b: Any, x: Any) -> Any:
    """A recurrence of matrices with one matrix on both sides."""
    h = np.eye(w.shape[0], dtype=x.dtype)
    for t in range(x.shape[0]):
        h = np.tanh(w @ h @ w.T + u.T @ (x[t].T @ x[t]) @ u + b)
    return np.sum(h)


@pytest.mark.parametrize("loop", [batches, second_axis, vectors, backwards, covariances])
@FEW
@given(
    steps=st.integers(1, 9),
    sizes=st.tuples(*[st.integers(1, 5)] * 3),
    dtype=st.sampled_from([np.float64, np.float32]),
    special=st.integers(0, 2),
    seed=st.integers(0, 1000),
)
def test_recurrences(
    loop: Callable[..., Any],
    steps: int,
    sizes: tuple[int, int, int],
    dtype: Any,
    special: int,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    rows, size, width = sizes
    shapes = (width, width), (size, width), (width,), (steps, rows, size)
    w, u, b, x = (rng.normal(size=shape).astype(dtype) for shape in shapes)
    if special:
        u = with_special(rng, u, special)
        x = with_special(rng, x, special)
    assert_close_to_exact(loop, (w, u, b, x), grad=4)


def test_products_of_inputs_are_made_before_the_loop() -> None:
    rng = np.random.default_rng(0)
    w, u, b, x = (rng.normal(size=s) for s in ((8, 8), (3, 8), (8,), (20, 4, 3)))
    text = source(batches, w, u, b, x, argnums=(0, 1, 2))
    assert text.count(".dot(u)") == 1
    assert text.count(".T") == 3  # of w, of the inputs, of the states
    assert text.count("concatenate") == 1  # of what the loop begins with and its states


def turned_often(w: Any, h: Any) -> Any:
    """A recurrence with the matrix on the left."""
    for _ in range(12):
        h = np.tanh(w @ h)
    return np.sum(h)


def test_products_are_added_up_side_by_side() -> None:
    """`g @ h.T` of every step in one product."""
    rng = np.random.default_rng(0)
    text = source(turned_often, rng.normal(size=(4, 4)), rng.normal(size=(4, 6)), argnums=(0,))
    assert text.count("w.dot(") == 12
    assert text.count("h_bar_2.dot(") == 11
    assert text.count("w_bar_1.dot(") == 1
    assert text.count("concatenate") == 2


def test_wide_products_are_added_up_one_by_one() -> None:
    """To put them side by side would copy more than it saves."""
    rng = np.random.default_rng(0)
    text = source(turned_often, rng.normal(size=(4, 4)), rng.normal(size=(4, 40)), argnums=(0,))
    assert "concatenate" not in text


def test_few_steps_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    w, u, b, x = (rng.normal(size=s) for s in ((8, 8), (3, 8), (8,), (3, 4, 3)))
    text = source(batches, w, u, b, x, argnums=(0, 1, 2))
    assert text.count(".dot(u)") == 3
    assert "concatenate" not in text


def test_large_products_stay_as_they_are() -> None:
    """One of 2 * 64 * 400 * 400 operations is no small one."""

    def loss(u: Any, x: Any) -> Any:
        return sum(np.sum(np.tanh(x[t] @ u)) for t in range(5))

    rng = np.random.default_rng(0)
    u, x = rng.normal(size=(400, 400)), rng.normal(size=(5, 64, 400))
    assert source(loss, u, x, argnums=(0,)).count("@ u") == 5


def test_a_sum_that_something_else_reads_is_kept() -> None:
    def f(x: Any, y: Any) -> Any:
        total = x[0].T @ y[0]
        for t in range(1, 8):
            total = total + x[t].T @ y[t]
            if t == 3:
                half = total
        return total, half

    rng = np.random.default_rng(0)
    assert_close_to_exact(f, (rng.normal(size=(8, 4, 3)), rng.normal(size=(8, 4, 2))))


def test_a_decision_sees_the_products_that_numpy_makes() -> None:
    """What decides is close to what it is in Python, on either side of the decision."""

    def f(u: Any, x: Any) -> Any:
        total = 0.0
        for t in range(6):
            y = x[t] @ u
            if y[0] > 0:
                total = total + np.sum(y * y)
        return total

    rng = np.random.default_rng(0)
    compiled = tj.value_and_grad(tj.function(f, cache=False, max_paths=64))
    exact = tj.value_and_grad(tj.function(f, cache=False, exact=True, max_paths=64))
    for _ in range(4):
        u, x = rng.normal(size=(4, 3)), rng.normal(size=(6, 4))
        for one, other in zip(compiled(u, x), exact(u, x), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)


def test_steps_inside_a_recompute_region() -> None:
    def f(w: Any, u: Any, b: Any, x: Any) -> Any:
        return tj.recompute_grad(batches)(w, u, b, x)

    rng = np.random.default_rng(0)
    arguments = [rng.normal(size=s) for s in ((8, 8), (3, 8), (8,), (6, 4, 3))]
    assert_close_to_exact(f, arguments, grad=4)
