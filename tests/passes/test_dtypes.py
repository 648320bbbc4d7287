"""Every pass keeps what NumPy computes for every dtype: booleans, small and unsigned integers,
float16, complex64, scalars, empty arrays and arrays that tiles go through."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day

DTYPES = ("?", "i1", "u8", "i4", "f2", "f4", "f8", "c8", "c16")
SHAPES: dict[str, tuple[Any, Any]] = {
    "scalar": ((), ()),
    "vector": ((5,), (5,)),
    "one element": ((1,), (1,)),
    "empty": ((0,), (0,)),
    "matrix": ((4, 3), (4, 3)),
    "spread": ((4, 3), (3,)),
    "crossed": ((4, 1), (1, 3)),
    "no rows": ((0, 3), (3,)),
    "no columns": ((3, 0), (3, 0)),
    "stack": ((2, 3, 4), (2, 3, 4)),
    "many rows": ((600, 20), (600, 20)),
    "long": ((9000,), (9000,)),
    "wide": ((40, 300), (40, 300)),
}
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "sum of products": lambda x, y: np.sum(x * y),
    "mean of products": lambda x, y: np.mean(x * y),
    "sum of rows": lambda x, y: np.sum(x * y, axis=0),
    "mean of columns": lambda x, y: np.mean(x * y, axis=-1, keepdims=True),
    "sum over the last axis but one": lambda x, y: np.sum(x * y, axis=-2),
    "mean of comparisons": lambda x, y: np.mean((x > 0) * (y > 0)),
    "mean of rows of comparisons": lambda x, y: np.mean((x > 0) * (y > 0), axis=0),
    "sum of comparisons": lambda x, y: np.sum((x > 0) * (y > 0), axis=-1),
    "squares of comparisons": lambda x, y: np.mean(np.square(x > 0)) + np.mean((y > 0) ** 2),
    "sum in float64": lambda x, y: np.sum(x * y, dtype="f8"),
    "mean in float32": lambda x, y: np.mean((x > 0) * (y > 0), dtype="f4"),
    "weighted by a comparison": lambda x, y: np.sum((x > 0) * x) + np.sum((x > 0) * 1.0 * (y > 0)),
    "cast comparison": lambda x, y: np.sum((x > 0).astype("f4") * (y > 0)),
    "twice": lambda x, y: (x + x) + (x > 0) + (x > 0),
    "like terms": lambda x, y: x * y + x * y * 2 + y * x,
    "common factor": lambda x, y: np.tanh(x) * y + np.tanh(x) * x,
    "factors": lambda x, y: 2 * x * 3 - y * 0.5,
    "variance": lambda x, y: np.var(x) + np.std(y),
    "choice": lambda x, y: np.where(x > 0, x, y) * 2,
    "product with itself": lambda x, y: x.T @ x,
    "triangles": lambda x, y: np.tril(np.atleast_2d(x)) + np.triu(np.atleast_2d(x)),
    "einsum": lambda x, y: np.einsum("...i,...i->...", x, np.broadcast_to(y, x.shape)),
    "stacked": lambda x, y: np.sum(np.stack([x, x]), axis=0),
    "norm": lambda x, y: np.linalg.norm(x),
}


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    """0, 1 and 2 in an array of that shape, or a NumPy scalar."""
    drawn = np.random.default_rng(seed).integers(0, 3, size=shape)
    return np.asarray(drawn, dtype=dtype)[()] if not shape else drawn.astype(dtype)


def tolerance(*dtypes: np.dtype[Any]) -> float:
    """How far the sums of many numbers of the least precise of these may differ."""
    floating = [dtype for dtype in dtypes if dtype.kind in "fc"]
    return max([1e-12, *(64.0 * float(np.finfo(dtype).eps) for dtype in floating)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", some_by_day(PROGRAMS, 5))
def test_a_program_computes_what_numpy_does(name: str, dtype: str) -> None:
    """On half of the shapes for each dtype: every program meets every shape."""
    half = (list(PROGRAMS).index(name) + DTYPES.index(dtype)) % 2
    check_program(name, dtype, list(SHAPES)[half::2])


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_nightly_programs_on_all_shapes(name: str, dtype: str) -> None:
    check_program(name, dtype, list(SHAPES))


def check_program(name: str, dtype: str, labels: list[str]) -> None:
    """A program computes what NumPy does, on arguments of these shapes."""
    program = PROGRAMS[name]
    recorded = tj.function(program)
    count = 0
    for label in labels:
        x, y = (numbers(dtype, shape, seed) for seed, shape in enumerate(SHAPES[label]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = program(x, y)
            except (TypeError, ValueError):
                continue
            found = recorded(x, y)
        count += 1
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), label
        bound = tolerance(np.dtype(dtype), expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=bound, atol=bound, err_msg=label)
    assert count or dtype == "?"


@pytest.mark.parametrize("dtype", ["?", "u8", "f2", "f4"])
def test_products_that_tiles_go_through(dtype: str) -> None:
    x, y = (numbers(dtype, (1000, 900), seed) for seed in (0, 1))
    for name in ("mean of comparisons", "mean of rows of comparisons", "mean in float32"):
        found, expected = tj.function(PROGRAMS[name])(x, y), PROGRAMS[name](x, y)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5)
