"""Which kernels ask for one thread of the BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj


def elementwise(x: Any) -> Any:
    return np.sum(np.tanh(x) * np.exp(-x) + np.sin(x) * np.sqrt(np.abs(x)))


def small_products(x: Any) -> Any:
    for _ in range(10):
        x = np.tanh(x @ x)
    return np.sum(x)


def large_products(x: Any) -> Any:
    return np.sum(np.tanh(x @ x) @ x)


def small_factor(x: Any) -> Any:
    return np.sum(np.linalg.cholesky(x @ x.T + np.eye(x.shape[0])))


def vector_products(x: Any) -> Any:
    return np.sum(np.tanh(x @ x[0]))


def loops(x: Any) -> Any:
    whole = x.astype(int)
    return np.einsum("ij,jk->ki", whole, whole), np.einsum("ij->i", whole)


def products_in_tiles(x: Any) -> Any:
    return np.sum(np.tanh(np.tanh(x @ x[:10]) * 0.5 + x))


@pytest.mark.parametrize(
    ("function", "shape", "expected"),
    [
        (elementwise, (400_000,), True),  # tiles
        (products_in_tiles, (200_000, 10), True),
        (elementwise, (1000,), False),  # nothing that the BLAS does
        (small_products, (8, 8), False),  # the BLAS uses one anyway
        (small_products, (80, 80), True),  # it would use two, and lose
        (large_products, (400, 400), False),
        (small_factor, (200, 200), True),
        (vector_products, (2000, 2000), False),
        (loops, (80, 80), False),  # einsum's, which are not the BLAS's
    ],
)
def test_the_regime(function: Any, shape: tuple[int, ...], expected: bool) -> None:
    x = np.ones(shape)
    made = tj.function(function, cache=False).kernel(x)
    assert ("BLAS_THREADS = 1" in made.source) == expected
    exact = tj.function(function, cache=False, exact=True).kernel(x)
    assert "BLAS_THREADS" not in exact.source
