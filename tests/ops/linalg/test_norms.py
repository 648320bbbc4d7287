"""Norms of zero, and orders that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.interpret import record
from tests.rows import each_row
from tests.support.running import derivative
from tracejit.support.errors import ShapeError, UnsupportedError


@each_row("dtype", [np.float64, np.float32, np.complex128])
@each_row(
    "keywords",
    [
        {},
        {"axis": 0},
        {"axis": 1, "keepdims": True},
        {"ord": "fro"},
        {"axis": (0, 1)},
        {"ord": 3, "axis": 0},
        {"ord": 1.5, "axis": 1},
        {"ord": 1, "axis": 0},
    ],
)
def test_norm_of_zero_has_gradient_zero(keywords: dict[str, Any], dtype: Any) -> None:
    x = np.zeros((2, 3), dtype)
    with np.errstate(all="raise"):
        found = derivative(lambda x: np.sum(np.linalg.norm(x, **keywords)), x)
    assert np.array_equal(found, x)


def test_norm_is_singular_only_where_it_is_zero() -> None:
    x = np.array([[0.0, 0.0], [3.0, 4.0]])
    found = derivative(lambda x: np.sum(np.linalg.norm(x, axis=1)), x)
    assert np.allclose(found, [[0.0, 0.0], [0.6, 0.8]])


@pytest.mark.parametrize("ord", [3, 1.5])
def test_zeros_in_a_vector_add_nothing_to_the_gradient_of_a_power(ord: float) -> None:
    x = np.array([0.0, 2.0, -0.0, 0.0])
    found = derivative(lambda x: np.linalg.norm(x, ord), x)
    assert np.allclose(found, [0.0, 1.0, 0.0, 0.0])


def test_nan_stays_nan() -> None:
    assert np.isnan(derivative(np.linalg.norm, np.array([1.0, np.nan]))).all()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: np.linalg.norm(x, 3), ShapeError, "Invalid norm order for matrices"),
        (lambda x: np.linalg.norm(x, 0), ShapeError, "Invalid norm order for matrices"),
        (lambda x: np.linalg.norm(x[0], "fro"), ShapeError, "Invalid norm order 'fro' for vec"),
        (lambda x: np.linalg.norm(x[None], 2), ShapeError, "Improper number of dimensions"),
        (lambda x: np.linalg.norm(x, axis=(0, -2)), ShapeError, "Duplicate axes given"),
        (lambda x: np.linalg.norm(x, axis=2), ShapeError, "axis 2 is out of bounds"),
        (lambda x: np.linalg.matrix_norm(x[0]), ShapeError, "out of bounds"),
        (lambda x: np.linalg.norm(x, np.float64(3.0), axis=0), UnsupportedError, "only numbers"),
        (lambda x: np.linalg.norm(x, x[0, 0], axis=0), UnsupportedError, "only numbers"),
    ],
)
def test_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        record(call, np.ones((2, 3)))
    assert text in str(caught.value)
