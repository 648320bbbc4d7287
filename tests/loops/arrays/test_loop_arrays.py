"""Loops over parts of arrays as operations on whole arrays, against plain NumPy, against loops that
go step by step, and against differences."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.against_exact import code
from tests.by_day import by_day
from tests.triangular_programs import ROLLED, SIZE, arguments, difference, text
from tracejit.compiler import pipeline
from tracejit.support.cost_model import assuming

N = SIZE


def gram(np: Any, a: Any, b: Any, x: Any) -> Any:
    c = np.eye(N)
    for i in range(N - 1):
        c[i + 1 :, i] = c[i, i + 1 :] = a[:, i] @ a[:, i + 1 :]
    return np.sum(c * b)


def lower_products(np: Any, a: Any, b: Any, x: Any) -> Any:
    c = b.copy()
    for i in range(N):
        c[i, : i + 1] *= 1.5
        for k in range(N - 1):
            c[i, : i + 1] += 2.0 * a[i, k] * a[: i + 1, k]
    return np.sum(np.sin(c))


def symmetric_product(np: Any, a: Any, b: Any, x: Any) -> Any:
    c = np.zeros((N, N))
    row = np.empty(N)
    for i in range(N):
        for j in range(N):
            c[:i, j] += b[i, j] * a[i, :i]
            row[j] = b[:i, j] @ a[i, :i]
        c[i, :] += b[i, :] * a[i, i] + row
    return np.sum(np.cos(c))


def rows_not_yet_written(np: Any, a: Any, b: Any, x: Any) -> Any:
    c = b.copy()
    for i in range(N):
        for j in range(N):
            c[i, j] += a[i + 1 :, i] @ c[i + 1 :, j]
    return np.sum(np.cos(c))


def prefix_products(np: Any, a: Any, b: Any, x: Any) -> Any:
    s = np.zeros(N)
    for i in range(N):
        s[i] = np.tanh(x[i]) * (a[i, : i + 1] @ x[: i + 1]) + np.sum(x[i:])
    return np.sum(s * s)


def counted_prefixes(np: Any, a: Any, b: Any, x: Any) -> Any:
    c = a.copy()
    for i in range(N):
        c[:i, :] += np.outer(x[:i], x)
    return np.sum(np.cos(c))


def scaled_rows(np: Any, a: Any, b: Any, x: Any) -> Any:
    c = a.copy()
    for i in range(N):
        c[i, i:] *= np.tanh(x[i] * b[i:, i])
    return np.sum(c * c)


def convolution(np: Any, a: Any, b: Any, x: Any) -> Any:
    weights = np.reshape(x, (2, 3, 2))
    out = np.empty((N - 1, N - 2, 2))
    for i in range(N - 1):
        for j in range(N - 2):
            out[i, j, :] = np.sum(a[i : i + 2, j : j + 3, None] * weights, axis=(0, 1))
    return np.sum(np.cos(out))


def largest_of_windows(np: Any, a: Any, b: Any, x: Any) -> Any:
    out = np.empty((N // 2, N // 2))
    for i in range(N // 2):
        for j in range(N // 2):
            out[i, j] = np.max(a[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] * x[1], axis=(0, 1))
    return np.sum(np.cos(out))


def forward_substitution(np: Any, a: Any, b: Any, x: Any) -> Any:
    y = x.copy()
    for i in range(N):
        y[i] = (y[i] - a[i, :i] @ y[:i]) / (2.0 + a[i, i])
    return np.sum(y * y)


def rows_of_before(np: Any, a: Any, b: Any, x: Any) -> Any:
    c = a.copy()
    for i in range(1, N):
        c[i, :i] = np.tanh(c[i - 1, :i]) * b[i, :i]
    return np.sum(c)


def overwritten(np: Any, a: Any, b: Any, x: Any) -> Any:
    c = a.copy()
    for i in range(N):
        c[: i + 1, 0] = b[i, : i + 1] * x[i]
    return np.sum(c * b)


AT_ONCE = (
    gram,
    lower_products,
    symmetric_product,
    rows_not_yet_written,
    prefix_products,
    counted_prefixes,
    scaled_rows,
    convolution,
    largest_of_windows,
)
IN_STEPS = (forward_substitution, rows_of_before, overwritten)


def made(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of three arrays that is recorded."""

    def loss(a: Any, b: Any, x: Any) -> Any:
        return f(tnp, a, b, x)

    return loss


def answers(f: Callable[..., Any], given: Any) -> tuple[str, Any, Any]:
    """The code, value and gradients of the kernel."""
    with assuming(**ROLLED):
        step = tj.value_and_grad(tj.function(f, cache=False), (0, 1, 2))
        value, gradients = step(*given)
    return code(step), value, gradients


@pytest.mark.parametrize("f", [*AT_ONCE, *IN_STEPS], ids=lambda f: f.__name__)
def test_values_and_gradients(f: Callable[..., Any]) -> None:
    given = arguments(0)
    source, value, gradients = answers(made(f), given)
    assert ("for t in" not in source) == (f in AT_ONCE)
    with assuming(compared_steps=0):
        steps, _, expected = answers(made(f), given)
    assert "for t in" in steps
    np.testing.assert_allclose(value, f(np, *given), rtol=1e-12)
    for found, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("f", AT_ONCE, ids=lambda f: f.__name__)
def test_against_differences(f: Callable[..., Any]) -> None:
    given, by = arguments(1), [1e-6 * one for one in arguments(7)]
    gradients = answers(made(f), given)[2]
    there, back = ([x + s * d for x, d in zip(given, by, strict=True)] for s in (1.0, -1.0))
    slope = (f(np, *there) - f(np, *back)) / 2.0
    found = sum(np.sum(g * d) for g, d in zip(gradients, by, strict=True))
    np.testing.assert_allclose(found, slope, rtol=1e-6)


@pytest.mark.parametrize("f", AT_ONCE, ids=lambda f: f.__name__)
def test_value_alone(f: Callable[..., Any]) -> None:
    with assuming(**ROLLED):
        compiled = tj.function(made(f), cache=False)
        value = compiled(*arguments(0))
    assert "for t in" not in code(compiled)
    np.testing.assert_allclose(value, f(np, *arguments(0)), rtol=1e-12)


@pytest.mark.parametrize("special", [np.inf, np.nan])
@pytest.mark.parametrize("f", AT_ONCE, ids=lambda f: f.__name__)
def test_what_no_step_reads_does_not_matter(f: Callable[..., Any], special: float) -> None:
    a, b, x = arguments(2)
    if f in (symmetric_product, prefix_products):
        a[np.triu_indices(N, 1)] = special
    elif f is rows_not_yet_written:
        a[np.tril_indices(N)] = np.inf
        a[np.triu_indices(N)] = special
        a[np.tril_indices(N, -1)] = 0.5
    expected = f(np, a, b, x)
    with assuming(**ROLLED), np.errstate(all="ignore"):
        np.testing.assert_allclose(tj.function(made(f), cache=False)(a, b, x), expected, rtol=1e-12)


def test_infinite_rows_reach_the_steps_that_read_them() -> None:
    def f(np: Any, a: Any, b: Any) -> Any:
        c = np.zeros((N, N))
        for i in range(N):
            c[i, :] = a[i, :i] @ b[:i, :]
        return c

    a, b, _ = arguments(3)
    b[4, 2] = np.inf
    b[7, 5] = np.nan
    with assuming(**ROLLED):
        compiled = tj.function(lambda a, b: f(tnp, a, b), cache=False)
        found = compiled(a, b)
    assert "for t in" not in code(compiled)
    np.testing.assert_allclose(found, f(np, a, b), rtol=1e-12)
    assert np.isfinite(found[:5]).all()
    assert not np.isfinite(found[5:]).all(axis=1).any()


def test_large_arrays_go_step_by_step() -> None:
    with assuming(loop_bytes=N * N * 8 - 1):
        assert "for t in" in answers(made(gram), arguments(0))[0]
    with assuming(cached_steps=0, step_bytes=N * 8 - 1):
        assert "for t in" in answers(made(scaled_rows), arguments(0))[0]


def test_one_array_on_both_sides() -> None:
    def f(np: Any, a: Any) -> Any:
        c = np.zeros((N, N))
        for i in range(N):
            c[i, :] += np.outer(a[i], a[i])[:, 0] + (a @ a)[i]
            c[:i, :] += np.outer(a[i, :i], a[i])
        return np.sum(np.cos(c))

    (a, _, _), (text, value, _) = arguments(4), answers(lambda a, b, x: f(tnp, a), arguments(4))
    assert "for t in" not in text
    np.testing.assert_allclose(value, f(np, a), rtol=1e-12)


def test_one_column_for_all_steps() -> None:
    def f(np: Any, x: Any) -> Any:
        d, c = np.eye(N), np.ones((N, N))
        for i in range(N):
            d[:, i] = x[:]
            c[i, :] += x[0]
        return d + c

    x = arguments(5)[2]
    for steps in (0, 4096):
        with assuming(**ROLLED, compared_steps=steps):
            found = tj.function(lambda x: f(tnp, x), cache=False)(x)
        np.testing.assert_array_equal(found, f(np, x))


def test_exact_kernels_keep_their_order() -> None:
    compiled = tj.function(made(gram), cache=False, exact=True)
    value = compiled(*arguments(0))
    assert value == gram(np, *arguments(0))


@pytest.mark.parametrize("seed", range(by_day(3, 12)))
def test_random_programs(seed: int) -> None:
    assert difference(text(random.Random(seed)), arguments(seed)) < 1e-8


@pytest.mark.parametrize("f", [gram, prefix_products, scaled_rows], ids=lambda f: f.__name__)
def test_loops_that_are_not_taken_at_once_are_right(
    f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = arguments(0)
    _, expected, slopes = answers(made(f), given)
    monkeypatch.setattr(pipeline, "whole_loops", lambda graph: graph)
    source, found, others = answers(made(f), given)
    assert "for t in" in source
    for one, other in zip((found, *others), (expected, *slopes), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
