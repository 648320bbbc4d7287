"""Systems of Cholesky factors by substitution, and the gradients of factors taken apart."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import assert_close_to_exact, code
from tests.by_day import by_day, some_by_day

cholesky, solve = np.linalg.cholesky, np.linalg.solve
N = 130


def places(n: int = N, dtype: Any = "f8") -> list[Any]:
    rng = np.random.default_rng(n)
    x = np.sort(rng.uniform(0.0, 10.0, n))
    return [np.float64(0.8), x.astype(dtype), (np.sin(x) + 0.2 * rng.normal(size=n)).astype(dtype)]


def spread(length: Any, x: Any) -> Any:
    eye = 0.05 * np.eye(x.shape[0], dtype=x.dtype)
    return np.exp(-0.5 * ((x[:, None] - x) / length.astype(x.dtype)) ** 2) + eye


def likelihood(length: Any, x: Any, y: Any) -> Any:
    factor = cholesky(spread(length, x))
    return 0.5 * np.sum(solve(factor, y) ** 2) + np.sum(np.log(np.diag(factor)))


def by_weights(length: Any, x: Any, y: Any) -> Any:
    factor = cholesky(spread(length, x))
    weights = solve(factor.T, solve(factor, y))
    return 0.5 * y @ weights + np.sum(np.log(np.diag(factor)))


def upper(length: Any, x: Any, y: Any) -> Any:
    factor = cholesky(spread(length, x), upper=True)
    white = solve(factor.T, y)
    return 0.5 * white @ white + np.sum(np.log(np.diagonal(factor)))


def columns(length: Any, x: Any, y: Any) -> Any:
    factor = cholesky(spread(length, x))
    white = solve(factor, np.stack([y, y * y, np.cos(y)], axis=1))
    return np.sum(white**2) + 3.0 * np.sum(np.log(np.diag(factor)))


def column(length: Any, x: Any, y: Any) -> Any:
    factor = cholesky(spread(length, x))
    return -np.sum(solve(factor, y[:, None]) ** 2)


def determinant(length: Any, x: Any, y: Any) -> Any:
    return 2.0 * np.sum(np.log(np.diag(cholesky(spread(length, x))))) + y[0]


def robust(length: Any, x: Any, y: Any) -> Any:
    factor = cholesky(spread(length, x))
    return np.sum(np.log1p(solve(factor, y) ** 2)) + np.sum(np.log(np.diag(factor)))


def whole(length: Any, x: Any, y: Any) -> Any:
    factor = cholesky(spread(length, x))
    return np.sum(factor * factor[::-1]) + np.sum(solve(factor, y) ** 2)


def shifted(length: Any, x: Any, y: Any) -> Any:
    """The cotangent of the solution is the solution, and one more."""
    factor = cholesky(spread(length, x))
    return np.sum((solve(factor, y) + 1.0) ** 2)


APART = (likelihood, by_weights, upper, columns, column, determinant)
TOGETHER = (robust, whole, shifted)


@pytest.mark.parametrize("n", by_day([2, 96], [1, 2, 40, 95, 96, 130]))
@pytest.mark.parametrize("f", (*APART, *TOGETHER))
def test_close_to_exact(f: Any, n: int) -> None:
    assert_close_to_exact(f, places(n), 3)


@pytest.mark.parametrize("f", some_by_day((*APART, *TOGETHER), 2))
def test_float32(f: Any) -> None:
    found = tj.value_and_grad(tj.function(f, cache=False), (1, 2))
    args = places(N, "f4")
    value, gradients = found(*args)
    expected, others = tj.value_and_grad(tj.function(f, cache=False, exact=True), (1, 2))(*args)
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, expected, rtol=2e-5)
    for one, other in zip(gradients, others, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-3 * np.max(np.abs(other)))


@pytest.mark.parametrize("f", (*APART, *TOGETHER))
def test_no_product_of_matrices_where_it_is_taken_apart(f: Any) -> None:
    both = tj.value_and_grad(tj.function(f, cache=False))
    both(*places())
    symmetric = [line for line in code(both).splitlines() if line.endswith(".T") and "+=" in line]
    assert bool(symmetric) == (f in TOGETHER)


def test_a_log_determinant_is_not_divided_by_the_diagonal_and_multiplied_by_it() -> None:
    """Its cotangent 1 / diag(L) meets diag(L) in the gradient of the factor."""

    def likelihood(a: Any, y: Any, scales: Any) -> Any:
        factor = cholesky(a)
        white = solve(factor, y)
        return 0.5 * white @ white + scales @ np.log(np.diag(factor))

    both = tj.value_and_grad(tj.function(likelihood, cache=False))
    exact = tj.value_and_grad(tj.function(likelihood, cache=False, exact=True))
    a, y = definite(6), np.arange(6.0)
    for scales in (np.ones(6), np.arange(1.0, 7.0)):
        np.testing.assert_allclose(both(a, y, scales)[1], exact(a, y, scales)[1], atol=1e-14)
    text = both.kernel(a, y, np.ones(6)).source
    assert "/" not in text.partition("def backward")[2]


def solved(f: Any, *args: Any) -> list[str]:
    """The systems that a kernel solves, blocks left out."""
    compiled = tj.function(f, cache=False)
    compiled(*args)
    lines = compiled.kernels[0].source.splitlines()
    return [line.strip() for line in lines if "linalg.solve(" in line]


def definite(n: int, dtype: Any = "f8") -> Any:
    a = np.random.default_rng(n).normal(size=(n, n))
    return (a @ a.T + n * np.eye(n)).astype(dtype)


STAYS: dict[str, tuple[Any, Any, Any]] = {
    "few rows": (lambda a, b: solve(cholesky(a), b), definite(95), np.ones(95)),
    "float32": (lambda a, b: solve(cholesky(a), b), definite(N, "f4"), np.ones(N, "f4")),
    "complex": (lambda a, b: solve(cholesky(a), b), definite(N, "c16"), np.ones(N)),
    "a complex side": (lambda a, b: solve(cholesky(a), b), definite(N), np.ones(N, "c16")),
    "a stack": (lambda a, b: solve(cholesky(a[None]), b), definite(N), np.ones((N, 1))),
    "many sides": (lambda a, b: solve(cholesky(a), b), definite(N), np.ones((2, N, 1))),
    "no columns": (lambda a, b: solve(cholesky(a), b), definite(N), np.ones((N, 0))),
    "no factor": (lambda a, b: solve(a, b), definite(N), np.ones(N)),
    "a multiple": (lambda a, b: solve(2.0 * cholesky(a), b), definite(N), np.ones(N)),
    "a triangle": (lambda a, b: solve(np.tril(a), b), definite(N), np.ones(N)),
}  # fmt: skip


@pytest.mark.parametrize(("f", "a", "b"), STAYS.values(), ids=STAYS)
def test_what_numpy_solves_as_before(f: Any, a: Any, b: Any) -> None:
    assert len(solved(f, a, b)) == 1
    found, expected = tj.function(f, cache=False)(a, b), f(a, b)
    np.testing.assert_allclose(found, expected, rtol=1e-4 if a.dtype == "f4" else 1e-11)


SUBSTITUTED: dict[str, Any] = {
    "lower": lambda a, b: solve(cholesky(a), b),
    "transposed": lambda a, b: solve(cholesky(a).T, b),
    "upper": lambda a, b: solve(cholesky(a, upper=True), b),
    "upper transposed": lambda a, b: solve(cholesky(a, upper=True).T, b),
    "columns": lambda a, b: solve(cholesky(a), b[:, None] * b),
    "both": lambda a, b: solve(cholesky(a).T, solve(cholesky(a), b)),
}


@pytest.mark.parametrize("f", SUBSTITUTED.values(), ids=SUBSTITUTED)
def test_substitution(f: Any) -> None:
    args = definite(N), np.linspace(0.0, 1.0, N)
    assert any("[rows, rows]" in line for line in solved(f, *args))
    assert_close_to_exact(f, args)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e308])
@pytest.mark.parametrize("f", [likelihood, upper, columns])
def test_infinities_of_the_value_are_those_of_numpy(f: Any, value: float) -> None:
    for place in by_day((50,), (0, 50, N - 1)):
        args = places()
        args[2][place] = value
        with np.errstate(all="ignore"):
            found, expected = tj.function(f, cache=False)(*args), f(*args)
        assert np.isnan(found) == np.isnan(expected)
        assert np.isinf(found) == np.isinf(expected)


def test_an_infinite_side_makes_no_more_warnings_than_numpy() -> None:
    def f(a: Any, b: Any) -> Any:
        return solve(cholesky(a), b)

    a, b = definite(N), np.ones(N)
    b[3] = np.inf
    compiled = tj.function(f, cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, expected = compiled(a, b), f(a, b)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))


def test_an_indefinite_matrix_is_still_an_error() -> None:
    both = tj.value_and_grad(tj.function(lambda a, b: np.sum(solve(cholesky(a), b)), cache=False))
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        both(definite(N) - 400.0 * np.eye(N), np.ones(N))


def test_names_of_the_user_are_not_those_of_the_loop() -> None:
    def f(a: Any, b: Any) -> Any:
        rows, left, start, stop = 2.0 * b, b - 1.0, 3.0 * a, np.sin(b)
        factor = cholesky(start)
        return solve(factor.T, rows) * left + stop, rows, left, start

    args = definite(N), np.linspace(0.0, 1.0, N)
    for found, expected in zip(tj.function(f, cache=False)(*args), f(*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


SIDES: dict[str, Any] = {
    "every second": lambda b: np.repeat(b, 2)[::2],
    "backwards": lambda b: b[::-1],
    "spread": lambda b: np.broadcast_to(b[:, None], (N, 4)),
    "turned": lambda b: np.stack([b, b * b]).T,
    "integers": lambda b: np.arange(N),
}


@pytest.mark.parametrize("side", SIDES.values(), ids=SIDES)
def test_views_as_right_sides(side: Any) -> None:
    args = definite(N), np.linspace(0.5, 1.0, N)
    assert_close_to_exact(lambda a, b: np.sum(solve(cholesky(a), side(b)) * b[0]), args, 2)


def test_where_ways_part() -> None:
    def f(a: Any, b: Any) -> Any:
        factor = cholesky(a)
        if np.sum(solve(factor, b)) > 0.0:
            return np.sum(solve(factor, b) ** 2) + np.sum(np.log(np.diag(factor)))
        return np.sum(solve(factor.T, b) ** 2)

    both = tj.value_and_grad(tj.function(f, cache=False), (0, 1))
    exact = tj.value_and_grad(tj.function(f, cache=False, exact=True), (0, 1))
    for b in (np.ones(N), -np.ones(N), np.linspace(1.0, 2.0, N)):
        found, expected = both(definite(N), b), exact(definite(N), b)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        for one, other in zip(found[1], expected[1], strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.max(np.abs(other)))
    assert len(both.kernels) == 1


def test_free_sizes() -> None:
    def f(a: Any, b: Any) -> Any:
        factor = cholesky(a @ a.T + 200.0 * np.diag(np.ones_like(b)))
        return 0.5 * np.sum(solve(factor, b) ** 2) + np.sum(np.log(np.diagonal(factor)))

    compiled = tj.function(f, cache=False)
    for n in (100, 120, 140, 97, 5):
        a = np.random.default_rng(n).normal(size=(n, n))
        np.testing.assert_allclose(compiled(a, a[0]), f(a, a[0]), rtol=1e-12)
    assert len(compiled.kernels) == 2


def test_no_rows() -> None:
    def f(a: Any, b: Any) -> Any:
        factor = cholesky(a)
        return np.sum(solve(factor, b) ** 2) + np.sum(np.log(np.diag(factor)))

    assert_close_to_exact(f, [np.zeros((0, 0)), np.zeros(0)], 2)


def test_the_right_side_is_computed_once() -> None:
    compiled = tj.function(lambda a, b: solve(cholesky(a), np.sin(b) - 1.0), cache=False)
    args = definite(N), np.linspace(0.5, 1.0, N)
    np.testing.assert_allclose(
        compiled(*args), solve(cholesky(args[0]), np.sin(args[1]) - 1.0), rtol=1e-11
    )
    loop = compiled.kernels[0].source.partition("errstate(all")[2].partition("if not")[0]
    assert "sin" not in loop
