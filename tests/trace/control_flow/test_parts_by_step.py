"""Loops of which one step is recorded, that take parts of arrays by its number: `a[k, k:]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

pytestmark = pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning")


def pivoted(a: Any, b: Any) -> Any:
    a, b, sign = a.copy(), b.copy(), 1.0
    n = len(b)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[[k, p]] = b[[p, k]]
            sign = -sign
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k:] -= f * a[k, k:]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return np.sum(x) + sign * np.prod(np.diag(a))


def by_search(a: Any, b: Any) -> Any:
    a, n = a.copy(), len(b)
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        a[[k, pivot], k:] = a[[pivot, k], k:]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] = a[i, k:] - factor * a[k, k:]
    return np.sum(np.log(np.abs(np.diag(a)))) + np.sum(a @ b)


def cholesky(a: Any, b: Any) -> Any:
    n = len(b)
    lower = np.zeros((n, n))
    s = a @ a.T + n * np.eye(n)
    for j in range(n):
        lower[j, j] = np.sqrt(s[j, j] - np.sum(lower[j, :j] ** 2))
        for i in range(j + 1, n):
            lower[i, j] = (s[i, j] - np.sum(lower[i, :j] * lower[j, :j])) / lower[j, j]
    return np.sum(np.log(np.diag(lower))) + np.sum(lower @ b)


def cholesky_by_elements(a: Any, b: Any) -> Any:
    n = len(b)
    lower = np.zeros((n, n))
    s = a @ a.T + n * np.eye(n)
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(j):
                total += lower[i, k] * lower[j, k]
            if i == j:
                lower[i, j] = np.sqrt(s[i, i] - total)
            else:
                lower[i, j] = (s[i, j] - total) / lower[j, j]
    return np.sum(lower @ b)


def gram_schmidt(a: Any, b: Any) -> Any:
    n = len(b)
    q, r = np.zeros((n, n)), np.zeros((n, n))
    for j in range(n):
        v = a[:, j].copy()
        for i in range(j):
            r[i, j] = q[:, i] @ a[:, j]
            v = v - r[i, j] * q[:, i]
        r[j, j] = np.sqrt(np.sum(v * v))
        q[:, j] = v / r[j, j]
    return np.sum(q * np.outer(b, b)) + np.sum(np.diag(r))


def crout(a: Any, b: Any) -> Any:
    n = len(b)
    lower, upper, a = np.zeros((n, n)), np.eye(n), a + 3 * n * np.eye(n)
    for j in range(n):
        for i in range(j, n):
            lower[i, j] = a[i, j] - np.dot(lower[i, :j], upper[:j, j])
        for i in range(j + 1, n):
            upper[j, i] = (a[j, i] - np.dot(lower[j, :j], upper[:j, i])) / lower[j, j]
    return np.sum(np.log(np.diag(lower))) + np.sum(upper @ b)


def jordan(a: Any, b: Any) -> Any:
    n = len(b)
    a = np.concatenate([a, b[:, None]], axis=1)
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            row = a[k].copy()
            a[k] = a[p]
            a[p] = row
        a[k] = a[k] / a[k, k]
        for i in range(n):
            if i != k:
                a[i] = a[i] - a[i, k] * a[k]
    return np.sum(a[:, -1])


def best_prefix(a: Any, b: Any) -> Any:
    n = len(b)
    best = np.zeros(n)
    best[0] = b[0]
    for j in range(1, n):
        top = b[j]
        for i in range(j):
            if best[i] + a[i, j] > top:
                top = best[i] + a[i, j]
        best[j] = top
    return best[-1] + np.sum(best)


def from_the_end(a: Any, b: Any) -> Any:
    x, n = np.zeros(len(b)), len(b)
    for t in range(n):
        for i in range(n - t):
            x[i] = x[i] * 0.5 + np.sum(a[t, : n - t] * b[t:]) * 0.1
        x[: n - t] = x[: n - t][::-1]
    return np.sum(x * b)


PROGRAMS = (
    pivoted, by_search, cholesky, cholesky_by_elements, gram_schmidt, crout, jordan, best_prefix,
    from_the_end,
)  # fmt: skip


@pytest.mark.parametrize("n", [6, 12])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(f: Callable[..., Any], n: int) -> None:
    rng = np.random.default_rng(n)
    compiled = tj.value_and_grad(f)
    for _ in range(3):
        a, b, along = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=(n, n))
        value, gradient = compiled(a, b)
        np.testing.assert_allclose(value, f(a, b), rtol=1e-9)
        step = 1e-6
        slope = (f(a + step * along, b) - f(a - step * along, b)) / (2 * step)
        scale = np.sum(np.abs(gradient * along))
        assert abs(np.sum(gradient * along) - slope) <= 1e-5 * scale + 1e-7
    assert compiled.tracing_count == 1
    assert str(compiled.source).count("\n") < 500
    assert "step by step" not in str(compiled.explain())


@pytest.mark.parametrize("f", [by_search, crout], ids=lambda f: f.__name__)
def test_a_tape_and_a_batch_around_it(f: Callable[..., Any]) -> None:
    """Sizes differ in steps after the recording, too: the last one is 1."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 6, 6)), rng.normal(size=6)
    gradient = tj.grad(f)(a[0], b)
    x = tj.constant(a[0])
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = tj.function(f)(x, b)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), gradient, rtol=1e-9)
    several = tj.vmap(f, in_axes=(0, None))(a, b)
    np.testing.assert_allclose(several, [f(one, b) for one in a], rtol=1e-9)


def test_the_slices_are_those_of_the_program() -> None:
    compiled = tj.function(pivoted)
    compiled(np.random.default_rng(0).normal(size=(12, 12)), np.ones(12))
    assert "a_1[i, t:] -= f * a_1[t, t:]" in compiled.source
    assert "a_2[[t, p]] = a_2[[p, t]]" in compiled.source


def test_a_side_may_exchange_rows() -> None:
    """It is its own adjoint, of one row as well."""

    def f(a: Any, k: Any) -> Any:
        a = a.copy()
        p = np.argmax(a[:, 0])
        if a[0, 0] < 2.0:
            a[[k, p]] = a[[p, k]]
        return np.sum(a * np.arange(12.0).reshape(4, 3))

    compiled = tj.value_and_grad(f)
    for top in (0.0, 1.0, 3.0):
        a = np.array([[top, 2.0, 3.0], [1.0, 0.5, 0.2], [1.5, 0.7, 0.1], [0.3, 0.2, 0.9]])
        value, gradient = compiled(a, np.int64(2))
        assert value == f(a, 2)
        rows = [0, 1, 2, 3]
        p = int(np.argmax(a[:, 0]))
        if top < 2.0:
            rows[2], rows[p] = rows[p], rows[2]
        np.testing.assert_array_equal(gradient[rows], np.arange(12.0).reshape(4, 3))
    assert compiled.tracing_count == 1


@pytest.mark.parametrize(
    "index",
    [lambda p: p, lambda p: int(p), lambda p: [p, 0], lambda p: (int(p), 1), lambda p: [1, int(p)]],
)
def test_an_index_computed_from_an_array_is_recorded(index: Callable[[Any], Any]) -> None:
    def f(a: Any) -> Any:
        return np.sum(a[index(np.argmax(np.abs(a[:, 0])))] ** 2)

    compiled = tj.value_and_grad(f)
    rng = np.random.default_rng(0)
    for _ in range(6):
        a = rng.normal(size=(5, 3))
        value, gradient = compiled(a)
        np.testing.assert_allclose(value, f(a), rtol=1e-12)
        np.testing.assert_allclose(np.sum(gradient * a), 2.0 * value, rtol=1e-12)
    assert compiled.tracing_count == 1


def test_a_slice_that_is_cut_off_at_some_steps_is_recorded_for_each() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for k in range(20):
            total = total + np.sum(x[k : k + 3] ** 2) * 0.5**k
        return total

    x = np.linspace(0.0, 1.0, 20)
    value, gradient = tj.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(np.sum(gradient * x), 2.0 * value, rtol=1e-12)
