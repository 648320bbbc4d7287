"""Substitution and half products of triangular matrices, of any number of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.by_day import by_day
from tests.rows import each_row
from tracejit.ops.base.op import OPS
from tracejit.ops.linalg.triangles import pays_in_blocks
from tracejit.support.cost_model import costs

substitute = OPS["substitute"]


def triangle(n: int, upper: bool) -> Any:
    a = np.random.default_rng(n).normal(size=(n, n)) / n + 2.0 * np.eye(n)
    return np.triu(a) if upper else np.tril(a)


@each_row("turned", [False, True])
@each_row("upper", [False, True])
@each_row("n", by_day([1, 32, 33, 97], [1, 2, 31, 32, 33, 64, 97, 200]))
def test_every_triangle_and_its_transpose(n: int, upper: bool, turned: bool) -> None:
    a = triangle(n, upper)
    whole = a.T if turned else a
    for shape in ((n,), (n, 1), (n, 3)):
        b = np.random.default_rng(1).normal(size=shape)
        found = substitute(a, b, upper=upper, turned=turned)
        np.testing.assert_allclose(found, np.linalg.solve(whole, b), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("order", ["C", "F"])
def test_orders_in_memory(order: Any) -> None:
    a = np.asarray(triangle(70, False), order=order)
    b = np.asarray(np.ones((70, 4)), order=order)[:, ::2]
    found = substitute(a, b, upper=False, turned=False)
    np.testing.assert_allclose(a @ found, b, rtol=1e-12)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_left_to_numpy(value: float) -> None:
    a, b = triangle(100, False), np.ones(100)
    b[40] = value
    found = substitute(a, b, upper=False, turned=False)
    np.testing.assert_array_equal(found, np.linalg.solve(a, b))


def test_least_size() -> None:
    least = costs().least_triangle_blocks * costs().triangle_rows
    assert pays_in_blocks(least)
    assert not pays_in_blocks(least - 1)


def test_half_product_has_nothing_above() -> None:
    a, b = triangle(100, False), np.random.default_rng(0).normal(size=(100, 100))
    expected = np.tril(a.T @ b)
    expected[np.diag_indices(100)] *= 0.5
    found = OPS["lower_half_product"](a, b)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert not np.triu(found, 1).any()


def reference(factor: Any, b: Any) -> Any:
    """The solution for a lower triangle, in extended precision."""
    factor, b = factor.astype(np.longdouble), b.astype(np.longdouble)
    x = np.zeros_like(b)
    for row in range(len(b)):
        x[row] = (b[row] - factor[row, :row] @ x[:row]) / factor[row, row]
    return x


@pytest.mark.parametrize("noise", [1e-2, 1e-6, 1e-10, 1e-13])
@pytest.mark.parametrize("n", by_day([100], [100, 200]))
def test_as_accurate_as_numpy_where_the_factor_is_nearly_singular(n: int, noise: float) -> None:
    rng = np.random.default_rng(n)
    x = np.sort(rng.uniform(0.0, 10.0, n))
    factor = np.linalg.cholesky(np.exp(-0.5 * (x[:, None] - x) ** 2) + noise * np.eye(n))
    white = rng.normal(size=n)
    for turned in (False, True):
        matrix = factor.T if turned else factor
        b = (matrix.astype(np.longdouble) @ white).astype("f8")
        exact = reference(matrix[::-1, ::-1], b[::-1])[::-1] if turned else reference(factor, b)
        found = substitute(factor, b, upper=False, turned=turned), np.linalg.solve(matrix, b)
        error, allowed = (np.linalg.norm(each - exact) for each in found)
        assert error <= 4.0 * allowed, turned
