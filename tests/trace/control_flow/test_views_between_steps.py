"""Views that one step of a loop makes and a later one reads, after their array was written to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

pytestmark = pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning")

N = 40
RNG = np.random.default_rng(0)
D, A, DIRECTION = RNG.normal(size=N), RNG.normal(size=(4, 4)), RNG.normal(size=(4, 4))


def read_after(d: Any, A: Any) -> Any:
    B, t = A.copy(), 0.0
    z = B[0]
    for i in range(N):
        B[1] = d[i] * A[2]
        t = t + np.sum(z * z)
        z = B.T[1]
    return t


def read_on_a_side(d: Any, A: Any) -> Any:
    B, t = A.copy(), 0.0
    z = B[0]
    for i in range(N):
        if d[i] > 0.0:
            B[1] = d[i] * A[2]
            t = t + np.sum(z * z)
        z = B.T[1]
    return t


def made_on_a_side(d: Any, A: Any) -> Any:
    B, t = A.copy(), 0.0
    z = B[0]
    for i in range(N):
        B[1] = d[i] * A[2]
        t = t + np.sum(z * z)
        if d[i] > 0.0:
            z = B.T[1]
    return t


def part_read_after(d: Any, A: Any) -> Any:
    B, t = A.copy(), 0.0
    z = B[0]
    for i in range(N):
        y = z[1:]
        B[1] = d[i] * A[2]
        t = t + np.sum(y * y)
        z = B.T[1]
    return t


def handed_on(d: Any, A: Any) -> Any:
    B, t = A.copy(), 0.0
    y = z = B[0]
    for i in range(N):
        B[1] = d[i] * A[2]
        t = t + y[1] * y[0]
        y = z
        z = B.T[1]
    return t + np.sum(y)


def read_in_a_while(d: Any, A: Any) -> Any:
    B, t, i = A.copy(), 0.0, 0
    z = B[0]
    while t < 90.0 and i < N:
        B[1] = d[i] * A[2]
        t = t + np.sum(z * z)
        z = B.T[1]
        i = i + 1
    return t


def read_in_an_inner_loop(d: Any, A: Any) -> Any:
    B, t = A.copy(), 0.0
    z = B[0]
    for i in range(N):
        for k in range(4):
            B[k] = d[i] * A[2] + k
            t = t + np.sum(z * z)
        z = B.T[1]
    return t


def read_before(d: Any, A: Any) -> Any:
    B, z = np.zeros((N, 4)), A[0]
    for i in range(N):
        B[i] = z * d[i]
        z = B[i]
    return np.sum(B)


def read_before_on_each_side(d: Any, A: Any) -> Any:
    B, z = np.zeros((N, 4)), A[0]
    for i in range(N):
        if d[i] > 0.0:
            B[i] = z * d[i]
        else:
            B[i] = z * 0.5
        z = B[i]
    return np.sum(B)


@pytest.mark.parametrize(
    "f",
    [
        read_after,
        read_on_a_side,
        made_on_a_side,
        part_read_after,
        handed_on,
        read_in_a_while,
        read_in_an_inner_loop,
        read_before,
        read_before_on_each_side,
    ],
    ids=lambda f: f.__name__,
)
def test_values_and_gradients(f: Callable[..., Any]) -> None:
    value, gradient = tj.value_and_grad(tj.function(f), argnums=1)(D, A)
    np.testing.assert_allclose(value, f(D, A), rtol=1e-12)
    step = 1e-6
    slope = (f(D, A + step * DIRECTION) - f(D, A - step * DIRECTION)) / (2 * step)
    np.testing.assert_allclose(np.sum(gradient * DIRECTION), slope, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("f", [read_before, read_before_on_each_side], ids=lambda f: f.__name__)
def test_a_view_that_is_read_before_the_write_is_carried(f: Callable[..., Any]) -> None:
    compiled = tj.function(f)
    compiled(D, A)
    assert "in range(40):" in str(compiled.source)
