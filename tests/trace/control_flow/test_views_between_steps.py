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


def path(d: Any, A: Any) -> Any:
    B, t = np.zeros((N + 1, 4)), 0.0
    B[0] = A[0]
    x = B[0]
    for k in range(N):
        B[k + 1] = 0.9 * x + d[k] * A[1]
        t = t + x[1] * np.sum(B[k + 1])
        x = B[k + 1]
    return t


def columns(d: Any, A: Any) -> Any:
    B, t = A.copy(), 0.0
    x = B[:, 0]
    for k in range(N):
        B[1] = B[1] * 0.5 + d[k]
        t = t + x[1] * x[2]
        x = B[:, k % 3]
    return t + np.sum(x)


def backwards(d: Any, A: Any) -> Any:
    B, t = A.copy(), 0.0
    x = B[0]
    for k in range(N):
        B[1] = B[1] * 0.5 + d[k] * x
        t = t + x[1] + x[0] ** 2
        x = B[1].reshape(2, 2).T.T.reshape(4)[::-1]
    return t + np.sum(x)


def of_two_arrays(d: Any, A: Any) -> Any:
    B, C, t = A.copy(), A * 2.0, 0.0
    x = B[0]
    for k in range(N):
        B[0] = B[0] * 0.5 + d[k]
        C[1] = C[1] * 0.1 + x
        t = t + x[1]
        x = C[1]
    return t


def written_after(d: Any, A: Any) -> Any:
    B, t = A.copy(), 0.0
    x = B[0]
    for k in range(N):
        B[1] = B[1] * 0.5 + d[k] * x
        t = t + x[1]
        x = B[1]
    B[1] = 0.0
    return t + np.sum(x)


def written_through(d: Any, A: Any) -> Any:
    B = A.copy()
    x = B[0]
    for k in range(N):
        B[1] = B[1] * 0.5 + d[k] * x
        x[0] = 0.1 * d[k]
        x = B[1]
    return np.sum(B)


ONE_NODE = (
    read_after, read_on_a_side, part_read_after, handed_on, read_in_a_while, read_before,
    read_in_an_inner_loop, read_before_on_each_side, path, columns, backwards,
)  # fmt: skip
OTHERS = (made_on_a_side, of_two_arrays, written_after, written_through)


@pytest.mark.parametrize("f", [*ONE_NODE, *OTHERS], ids=lambda f: f.__name__)
def test_values_and_gradients(f: Callable[..., Any]) -> None:
    value, gradient = tj.value_and_grad(tj.function(f), argnums=1)(D, A)
    np.testing.assert_allclose(value, f(D, A), rtol=1e-12)
    step = 1e-6
    slope = (f(D, A + step * DIRECTION) - f(D, A - step * DIRECTION)) / (2 * step)
    np.testing.assert_allclose(np.sum(gradient * DIRECTION), slope, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("f", ONE_NODE, ids=lambda f: f.__name__)
def test_a_view_of_one_array_is_carried_by_its_places(f: Callable[..., Any]) -> None:
    compiled = tj.function(f)
    compiled(D, A)
    assert "in range(40):" in str(compiled.source) or "while" in str(compiled.source)
    assert str(compiled.source).count("\n") < 120
    assert "step by step" not in str(compiled.explain())
