"""Reductions at zeros and ties, where rules are easily wrong; their bits; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.interpret import interpret, record, run
from tests.rows import each_row
from tests.support.running import derivative
from tracejit.support.errors import ShapeError, UnsupportedError

TIED = np.array([[2.0, 1.0, 2.0], [3.0, 3.0, 3.0]])
ZEROS = np.array([2.0, 0.0, -1.5, 0.0, 0.0, 0.7])


def test_prod_has_the_product_of_the_others_as_derivative() -> None:
    one = np.array([2.0, 0.0, 3.0])
    two = np.array([2.0, 0.0, 3.0, 0.0])
    assert derivative(np.prod, one).tolist() == [0.0, 6.0, 0.0]
    assert derivative(np.prod, two).tolist() == [0.0, 0.0, 0.0, 0.0]
    assert derivative(np.prod, two, np.array([0.0, 1.0, 0.0, 0.0])).tolist() == [0.0, 0.0, 0.0, 6.0]


def test_prod_of_three_zeros_is_right_to_third_order() -> None:
    x = np.array([[0.0, 2.0], [0.0, 0.0], [5.0, 1.0]])
    first = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    second = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    expected = np.array([[0.0, 0.0], [0.0, 10.0], [0.0, 0.0]])
    assert np.array_equal(derivative(np.prod, x, first, second), expected)


@pytest.mark.parametrize("length", range(10))
def test_cumprod_has_the_derivative_of_its_definition(length: int) -> None:
    x = np.resize(ZEROS, length)
    weights = np.linspace(1.0, 2.0, length)
    expected = [
        sum(weights[j] * np.prod(np.delete(x[: j + 1], k)) for j in range(k, length))
        for k in range(length)
    ]
    found = derivative(lambda x: np.sum(weights * np.cumprod(x)), x)
    assert np.allclose(found, expected, rtol=1e-14, atol=0.0)


def test_cumprod_of_two_zeros_is_right_to_second_order() -> None:
    x = np.array([0.0, 3.0, 0.0, 5.0])
    found = derivative(lambda x: np.sum(np.cumprod(x)), x, np.array([1.0, 0.0, 0.0, 0.0]))
    assert found.tolist() == [0.0, 1.0, 18.0, 0.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_ties_share_equally(dtype: Any) -> None:
    x = TIED.astype(dtype)
    for call in (lambda x: np.sum(np.max(x, axis=1)), lambda x: -np.sum(np.min(-x, axis=1))):
        found = derivative(call, x)
        assert found.dtype == dtype
        assert np.allclose(found, [[0.5, 0.0, 0.5], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-3)
    assert np.allclose(derivative(np.max, x), [[0.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-3)


def test_ties_share_the_second_derivative() -> None:
    found = derivative(lambda x: np.max(x) * np.max(x), TIED, np.ones_like(TIED))
    assert np.allclose(found, [[0.0, 0.0, 0.0], [2 / 3, 2 / 3, 2 / 3]])


@each_row("dtype", [np.float64, np.float32, np.float16, np.complex64, np.int8, bool])
@each_row("shape", [(9001,), (130, 77), (5, 40, 30)])
@each_row("layout", ["C", "F", "strided", "reversed"])
def test_large_arrays_have_numpys_bits(dtype: Any, shape: tuple[int, ...], layout: str) -> None:
    """Pairwise summation depends on the order in memory."""
    x = (np.random.default_rng(3).normal(size=shape) * 3 + 1).astype(dtype)
    if layout == "F":
        x = np.asfortranarray(x)
    elif layout == "strided":
        x = np.repeat(x, 2, axis=-1)[..., ::2]
    elif layout == "reversed":
        x = x[::-1]
    functions = [np.sum, np.mean, np.var, np.std, np.prod, np.cumsum]
    for function in functions:
        for axis in (None, 0, -1, *([(0, 1)] if x.ndim > 1 and function is not np.cumsum else [])):
            with np.errstate(all="ignore"):
                expected = function(x, axis=axis)
                graph, _ = record(lambda x, f=function, k=axis: f(x, axis=k), x)
                found = interpret(graph, x)[0]
            assert type(found) is type(expected)
            assert found.dtype == expected.dtype
            assert found.tobytes() == expected.tobytes(), (function, axis)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: np.sum(x, dtype=object), UnsupportedError, "dtype object"),
        (lambda x: np.max(x, axis=2), ShapeError, "axis 2 is out of bounds"),
        (lambda x: np.prod(x, axis=(0, 0)), ShapeError, "duplicate value in 'axis'"),
        (lambda x: np.max(x[:0]), ShapeError, "zero-size array to reduction operation maximum"),
        (lambda x: np.argmin(x[:0]), ShapeError, "argmin of an empty sequence"),
        (lambda x: np.add.accumulate(np.sum(x)), UnsupportedError, "accumulate on a scalar"),
        (lambda x: np.diff(x, -1), ShapeError, "order must be non-negative"),
    ],
)
def test_what_numpy_or_tracejit_refuses(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run(call, np.ones((2, 2)))


def test_a_count_that_numpy_answers_as_a_python_int_is_refused() -> None:
    x = np.array([0.0, 2.0, 3.0])
    if type(np.count_nonzero(x)) is int:
        with pytest.raises(UnsupportedError, match="sum a != 0"):
            record(np.count_nonzero, x)
    else:
        assert interpret(record(np.count_nonzero, x)[0], x) == [2]
