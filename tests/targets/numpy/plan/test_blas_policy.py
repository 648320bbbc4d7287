"""Which kernels ask for one thread of the BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ops.base.op import OPS


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


def one_factor(x: Any) -> Any:
    return np.linalg.cholesky(x)


def values(x: Any) -> Any:
    return np.linalg.svd(x, compute_uv=False)


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
        (small_products, (250, 250), True),
        (large_products, (110, 110), True),
        (large_products, (200, 200), True),  # a quarter of a millisecond
        (large_products, (400, 400), False),
        (one_factor, (32, 32), False),
        (one_factor, (80, 80), True),
        (one_factor, (500, 500), True),  # it hands over for each of its blocks
        (one_factor, (1000, 1000), False),
        (values, (32, 32), False),
        (values, (48, 48), True),
        (small_factor, (200, 200), True),
        (vector_products, (300, 300), False),
        (vector_products, (1000, 1000), True),
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


def test_a_product_of_float32_repays_two_threads_from_twice_as_many_numbers_on() -> None:
    for rows, dtype, expected in ((300, "f8", False), (300, "f4", True), (400, "f4", False)):
        x = np.ones((rows, rows), dtype)
        source = tj.function(large_products, cache=False).kernel(x).source
        assert ("BLAS_THREADS = 1" in source) == expected


def test_each_product_of_a_stack_is_by_itself() -> None:
    """OpenBLAS is asked for one after the other."""
    x = np.ones((40, 110, 110))
    assert "BLAS_THREADS = 1" in tj.function(large_products, cache=False).kernel(x).source


def test_every_factorization_of_numpy_is_known() -> None:
    ops = [op for op in OPS.values() if op.library == "np"]  # SciPy brings a BLAS of its own
    spelled = {op.name for op in ops if "linalg" in f"{op.source}{op.statements}"}
    assert len(spelled) > 10
    assert spelled <= {name for name, op in OPS.items() if op.factorization is not None}
