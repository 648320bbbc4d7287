"""Means and deviations at their singular points, and where a count does not fit the dtype."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.interpret import interpret, record, run
from tests.support.graphs import ops_of
from tests.support.running import derivative
from tracejit.support.errors import ShapeError, UnsupportedError


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_std_of_equal_elements_has_gradient_zero(dtype: Any) -> None:
    x = np.full((2, 3), 2.0, dtype)
    with np.errstate(all="raise"):
        assert np.array_equal(derivative(np.std, x), np.zeros_like(x))
        assert np.isnan(derivative(np.std, x, np.ones_like(x))).all()


def test_std_is_singular_only_where_it_is_zero() -> None:
    x = np.array([[1.0, 1.0], [1.0, 2.0]])
    found = derivative(lambda x: np.sum(np.std(x, axis=1)), x)
    assert found.tolist() == [[0.0, 0.0], [-0.5, 0.5]]


@pytest.mark.parametrize("shape", by_day([(2**24 + 3,)], [(2**24 + 3,), (2**24 + 1, 2)]))
def test_mean_of_more_elements_than_single_precision_counts(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).random(shape, np.float32)
    graph, _ = record(lambda x: np.mean(x, axis=0), x)
    assert np.array_equal(interpret(graph, x)[0], np.mean(x, axis=0))


def test_mean_of_few_elements_stays_in_single_precision() -> None:
    graph, _ = record(lambda x: np.mean(x, axis=0), np.ones((4, 3), np.float32))
    assert ops_of(graph) == ["sum", "divide"]


def test_weights_are_checked() -> None:
    x, w = np.ones((2, 3)), np.ones(3)
    with pytest.raises(UnsupportedError, match="Axis must be specified"):
        run(lambda x, w: np.average(x, weights=w), x, w)
    with pytest.raises(ShapeError, match="Shape of weights must be consistent"):
        run(lambda x, w: np.average(x, axis=0, weights=w), x, w)


def test_ddof_has_two_names_but_one_value() -> None:
    with pytest.raises(ShapeError, match="ddof and correction"):
        run(lambda x: np.var(x, ddof=1, correction=1), np.ones(3))


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda x: np.nanstd(x), ()),
        (lambda x: np.nanstd(x, axis=1), (0, 3)),
        (lambda x: np.nanstd(x, axis=0), (0, 3)),
        (lambda x: np.nanstd(x, axis=1, keepdims=True), (2, 3, 4)),
        (lambda x: np.std(x, axis=(), where=x > 0.5), (2, 3)),
        (lambda x: np.std(x, axis=(2, 0), where=x > 0.5, ddof=1), (2, 3, 4)),
    ],
)
def test_roots_of_variances_of_any_shape(call: Any, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).uniform(size=shape)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        found, expected = tj.function(call, exact=True, cache=False)(x), call(x)
        slopes = tj.grad(lambda x: np.sum(call(x)), argnums=0)(x)
    np.testing.assert_array_equal(found, expected)
    assert np.shape(slopes) == shape
