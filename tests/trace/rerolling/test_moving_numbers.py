"""Loops whose slices grow or shrink from step to step as one node: triangular methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.by_day import by_day
from tests.random_triangles import differs
from tests.trace.rerolling.test_rerolling import derivatives, fresh, loops_in, nodes_of
from tests.unrolled import unrolled
from tracejit.support.cost_model import assuming
from tracejit.trace.rerolling.moving_numbers import course


@pytest.fixture(autouse=True)
def small_loops() -> Iterator[None]:
    """Roll small loops, too."""
    with assuming(least_sized_nodes=20):
        yield


def cholesky(a):
    a = a.copy()
    for k in range(len(a)):
        d = np.sqrt(a[k, k] - a[k, :k] @ a[k, :k])
        a[k, k] = d
        a[k + 1 :, k] = (a[k + 1 :, k] - a[k + 1 :, :k] @ a[k, :k]) / d
    return np.sum(np.tril(a) ** 2) + np.sum(np.log(np.diagonal(a)))


def lu(a):
    a = a.copy()
    for k in range(len(a)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return np.sum(np.log(np.abs(np.diagonal(a)))) + np.sum(a[-1])


def gram_schmidt(a):
    a = a.copy()
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros_like(a, shape=(n, n))
    for k in range(n):
        r[k, k] = np.sqrt(a[:, k] @ a[:, k])
        q[:, k] = a[:, k] / r[k, k]
        r[k, k + 1 :] = q[:, k] @ a[:, k + 1 :]
        a[:, k + 1 :] -= np.outer(q[:, k], r[k, k + 1 :])
    return np.sum(np.sin(q)) + np.sum(r * r)


def correlation(data):
    m = data.shape[1]
    data = data - np.mean(data, axis=0)
    found = np.zeros_like(data, shape=(m, m))
    for i in range(m - 1):
        found[i + 1 : m, i] = found[i, i + 1 : m] = data[:, i] @ data[:, i + 1 : m]
    return np.sum(np.sin(found))


def forward_substitution(a):
    x = np.zeros_like(a[0])
    for i in range(len(a)):
        x[i] = (1.0 + i - a[i, :i] @ x[:i]) / a[i, i]
    return np.sum(x * x)


def back_substitution(a):
    x = np.zeros_like(a[0])
    for i in range(len(a) - 1, -1, -1):
        x[i] = (1.0 + i - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return np.sum(x * x)


def durbin(a):
    r = 0.3 * a[0] / np.arange(1.0, len(a) + 1)
    y = np.zeros_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y * y)


def running_means(a):
    x = np.zeros_like(a[0])
    for k in range(len(a)):
        x[k] = np.mean(a[k, : k + 1]) + np.max(a[k:, k])
    return np.sum(np.sin(x))


def cholesky_by_elements(a):
    a = a.copy()
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return np.sum(np.tril(a))


def lu_by_elements(a):
    a = a.copy()
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, len(a)):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return np.sum(a * a)


def gram_schmidt_by_columns(a):
    a = a.copy()
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros_like(a, shape=(n, n))
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return np.sum(np.sin(q)) + np.sum(r)


BY_ELEMENTS = [cholesky_by_elements, lu_by_elements, gram_schmidt_by_columns]
METHODS = [
    cholesky, lu, gram_schmidt, correlation, forward_substitution, back_substitution, durbin,
    running_means,
]  # fmt: skip
NAME = attrgetter("__name__")
each_method = pytest.mark.parametrize("method", METHODS, ids=NAME)


def matrix(n: int) -> np.ndarray:
    """A symmetric positive definite matrix."""
    half = np.random.default_rng(n).normal(size=(n, n)) * 0.1
    return half @ half.T + 2 * np.eye(n)


@each_method
def test_it_is_one_loop(method: Callable[..., Any]) -> None:
    (loop,) = loops_in(nodes_of(method, [matrix(30)]))
    assert "size" in loop.params


@each_method
def test_text_does_not_grow_with_the_steps(method: Callable[..., Any]) -> None:
    lines = []
    for n in (20, 60):
        function = tj.value_and_grad(fresh(method))
        function(matrix(n))
        lines.append(function.source.count("\n"))
    assert abs(lines[1] - lines[0]) < 30
    assert lines[1] < 300


@each_method
def test_derivatives_are_those_of_the_steps_written_out(method: Callable[..., Any]) -> None:
    args = [matrix(by_day(6, 10))]
    with unrolled():
        wanted = derivatives(method, args)
    with assuming(least_sized_nodes=20, least_rolled_steps=by_day(4, 8)):
        assert loops_in(nodes_of(method, args))
        found = derivatives(method, args)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("method", by_day(BY_ELEMENTS[:1], BY_ELEMENTS), ids=NAME)
def test_loops_of_other_lengths_in_a_loop(method: Callable[..., Any]) -> None:
    lines = []
    for n in (13, 14):
        function = tj.value_and_grad(fresh(method))
        value, gradient = function(matrix(n))
        lines.append(function.source.count("\n"))
        loops = loops_in(nodes_of(method, [matrix(n)]))
        (outer,) = [loop for loop in loops if loops_in(loop.params["body"].nodes)]
        assert outer.params["length"] >= n - 2
        assert value == pytest.approx(method(matrix(n)))
    with unrolled():
        wanted = tj.grad(fresh(method))(matrix(n))
    np.testing.assert_allclose(gradient, wanted, rtol=1e-8, atol=1e-10)
    assert abs(lines[0] - lines[1]) < 10
    assert lines[1] < 300


def test_loops_of_other_lengths_forward_and_twice() -> None:
    args = [matrix(by_day(6, 11))]
    with unrolled():
        wanted = derivatives(cholesky_by_elements, args)
    with assuming(least_sized_nodes=20, least_rolled_steps=by_day(4, 8)):
        assert loops_in(nodes_of(cholesky_by_elements, args))
        found = derivatives(cholesky_by_elements, args)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@each_method
def test_over_a_batch(method: Callable[..., Any]) -> None:
    batch = np.stack([matrix(12), matrix(12) + np.eye(12)])
    found = tj.vmap(fresh(method))(batch)
    np.testing.assert_allclose(found, [method(one.copy()) for one in batch], rtol=1e-9)


@pytest.mark.parametrize("seed", range(by_day(1, 8)))
def test_random_programs(seed: int) -> None:
    assert differs(seed, 9 + seed % 7, not seed % 5) == ""


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [*range(8, 16), *range(1000, 1200)])
def test_more_random_programs(seed: int) -> None:
    assert differs(seed, 9 + seed % 7, not seed % 5) == ""


def test_a_part_that_an_inner_loop_reads() -> None:
    """Its cotangent has the size that it has in the outer step, and adds up in the inner loop."""

    def f(a):
        w, s = tnp.array(a), a[0, 0]
        for k in range(14):
            for j in range(k, 14):
                s = 0.9 * s + 0.01 * np.sum(w[j, :k] * a[k, :k])
                w[k, j] -= 0.1 * (w[k, :j] @ w[:j, j])
        return s + np.sum(np.sin(w))

    a = matrix(14)
    value, gradient = tj.value_and_grad(f)(a)
    assert value == pytest.approx(f(a))
    with unrolled():
        np.testing.assert_allclose(gradient, tj.grad(fresh(f))(a), rtol=1e-9, atol=1e-12)


def test_the_halves_of_a_derivative() -> None:
    a = matrix(20)
    value, pullback = tj.vjp(cholesky, a)
    (found,) = pullback(1.0)
    np.testing.assert_allclose(found, tj.grad(cholesky)(a), rtol=1e-9, atol=1e-12)
    assert value == pytest.approx(cholesky(a))
    _, pushforward = tj.linearize(cholesky, a)
    along = pushforward(np.eye(20))
    assert along == pytest.approx(np.sum(np.diagonal(found)))


def test_variables_may_be_called_as_the_number_of_the_step() -> None:
    def f(a, t):
        x = np.zeros_like(t)
        for k in range(len(t)):
            u = a[k, :k]
            t = np.sin(u) * 2
            x[k] = np.sum(t) + t @ u
            t = a[k, k:]
            x[k] += np.sum(t * t)
        return np.sum(x * x)

    args = matrix(20), np.ones(20)
    value, gradient = tj.value_and_grad(f)(*args)
    assert value == pytest.approx(f(*args))
    with unrolled():
        np.testing.assert_allclose(gradient, tj.grad(fresh(f))(*args), rtol=1e-9, atol=1e-12)


def test_a_list_of_parts_is_written_out() -> None:
    def f(a):
        rows = [a[k, :k] * 2.0 for k in range(15)]
        return sum(np.sum(row) for row in rows) + np.sum(rows[3])

    a = matrix(15)
    assert not loops_in(nodes_of(f, [a]))
    assert tj.function(f)(a) == pytest.approx(f(a))


def test_what_asks_for_a_size_is_written_out() -> None:
    """Which of two parts is the longer one differs from step to step."""

    def f(a):
        x = tnp.zeros(16)
        for k in range(16):
            x[k] = np.sum(np.convolve(a[k, : k + 1], a[k, k:]))
        return np.sum(x * x)

    a = matrix(16)
    found = tj.value_and_grad(f)(a)
    with unrolled():
        wanted = tj.value_and_grad(fresh(f))(a)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-9, atol=1e-12)


def test_numbers_that_go_on() -> None:
    fits, moving = course([(0, 5), (1, 5), (2, 5), (4, 5)], 1)
    assert fits.tolist() == [True, True, True, False]
    assert moving.strides == (1, 0) and moving.size(0, 7) == 7 and moving.size(1, 7) == 5
