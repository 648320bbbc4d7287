"""Medians, quantiles and weighted statistics where they are singular or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.polynomial import chebyshev

import tracejit as tj
from tests.interpret import record
from tests.rows import each_row
from tests.support.compare import same_for_each
from tests.support.running import derivative
from tracejit.support.errors import ShapeError, TracejitError, UnsupportedError
from tracejit.trace.tensor.namespaces import recordable

NAN = np.nan


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("function", [np.nanmedian, lambda x, axis: np.nanquantile(x, 0.3, axis)])
def test_a_row_of_nothing_but_nan_has_gradient_zero(function: Any) -> None:
    x = np.array([[NAN, NAN, NAN], [1.0, NAN, 3.0]])
    found = derivative(lambda x: np.sum(function(x, axis=1)), x)
    assert found[0].tolist() == [0.0, 0.0, 0.0]
    assert np.sum(found[1]) == pytest.approx(1.0)


@pytest.mark.parametrize("function", [np.nanmedian, lambda x: np.nanpercentile(x, 50)])
def test_elements_that_are_nan_have_gradient_zero(function: Any) -> None:
    x = np.array([4.0, NAN, 1.0, 2.0, NAN, 8.0])
    assert derivative(function, x).tolist() == [0.5, 0.0, 0.0, 0.5, 0.0, 0.0]


def test_quantiles_of_many_elements_in_single_precision() -> None:
    x = np.random.default_rng(2).permutation(100_001).astype(np.float32)
    found = derivative(lambda x: np.nanquantile(x, 0.300003), x)
    assert found.dtype == np.float32
    places = np.flatnonzero(found)
    assert sorted(x[places]) == [30000.0, 30001.0]
    assert found[places] @ (x[places] - 30000.0) == pytest.approx(0.3, abs=1e-4)


def test_weights_of_a_quantile_pick_an_element() -> None:
    x, w = np.array([3.0, 1.0, 2.0]), np.array([5.0, 1.0, 1.0])

    def picked(x: Any, w: Any) -> Any:
        return np.quantile(x, 0.5, weights=w, method="inverted_cdf")

    assert derivative(lambda x: picked(x, w), x).tolist() == [1.0, 0.0, 0.0]
    assert derivative(lambda w: picked(x, w) + np.sum(w), w).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"])
def test_emath_of_complex_numbers_is_numpys(name: str) -> None:
    x = np.array([-2.0 + 0j, 0.3 - 1j])
    function = getattr(np.emath, name)
    assert np.array_equal(tj.function(lambda x: function(x))(x), function(x))


@pytest.mark.parametrize(
    "call", [lambda x: np.emath.logn(x, 2 * x), lambda x: np.emath.power(x, 0.3)]
)
def test_emath_of_two_complex_numbers_is_numpys(call: Any) -> None:
    x = np.array([-2.0 + 0j, 0.3 - 1j])
    assert np.array_equal(tj.function(call)(x), call(x))


@pytest.mark.parametrize("function", [lambda p: np.polymul(p, p), np.roots])
def test_a_leading_coefficient_that_is_zero_is_for_numpy(function: Any) -> None:
    """The kernel, which is for arrays of one shape, refuses it."""
    f = tj.function(function)
    p = np.array([0j, 2.0, 1.0])
    assert f(np.array([1.0 + 0j, 2.0, 1.0])).size > 1
    assert np.array_equal(f(p), function(p))
    with pytest.raises(ValueError, match="reshape"):
        f.kernels[-1].forward(p)


def test_series_whose_highest_coefficient_vanishes_are_for_numpy() -> None:
    f = tj.function(lambda a, b: recordable(chebyshev.chebsub)(a, b))
    assert f(np.array([1.0, 2.0]), np.array([0.5, 0.25])).tolist() == [0.5, 1.75]
    one, other = np.array([1.0, 2.0]), np.array([0.5, 2.0])
    assert np.array_equal(f(one, other), chebyshev.chebsub(one, other))
    with pytest.raises(ValueError, match="reshape"):
        f.kernels[-1].forward(one, other)


def test_series_in_generated_code_are_numpys_calls() -> None:
    f = tj.function(lambda x, c: recordable(chebyshev.chebval)(x, c))
    assert "polynomial.chebyshev.chebval(x, c)" in f.kernel(np.ones(2), np.ones(3)).source


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("chebint", ([2.0],), "depends on which coefficients are zero"),
        ("chebint", ([2.0, 1.0], 1, [1, 2]), "Too many integration constants"),
        ("chebder", ([2.0, 1.0], -1), "must be non-negative"),
        ("chebadd", ([[2.0, 1.0]], [1.0]), "not 1-d"),
        ("chebroots", ([2.0, 1.0],), "not recorded"),
        ("chebvander", ([2.0, 1.0], -1), "deg must be non-negative"),
        ("chebfit", ([2.0, 1.0], [1.0], 1), "same length"),
    ],
)
def test_series_that_are_refused(name: str, args: Any, text: str) -> None:
    first, *rest = args
    with pytest.raises(TracejitError, match=text):
        record(lambda c: recordable(getattr(chebyshev, name))(c, *rest), np.array(first))


@each_row(
    ("call", "error", "text"),
    [
        (lambda x: np.quantile(x, 0.5, weights=x), ShapeError, "Only method 'inverted_cdf'"),
        (
            lambda x: np.nanquantile(np.stack((x, x)), [[0.5]], axis=0, keepdims=True),
            UnsupportedError,
            "a two-dimensional q",
        ),
        (lambda x: np.nanmean(x, dtype=int), UnsupportedError, "dtype must be inexact"),
        (lambda x: np.nanmedian(x[:0]), ShapeError, "no elements"),
        (lambda x: np.nanargmax(x[:0]), ShapeError, "empty sequence"),
        (lambda x: np.cov(x, fweights=x), UnsupportedError, "fweights must be integer"),
        (lambda x: np.cov(x, fweights=[1, 0.5]), UnsupportedError, "fweights must be integer"),
        (lambda x: np.cov(x, aweights=[1, -1]), ShapeError, "aweights cannot be negative"),
        (lambda x: np.cov(x, aweights=[1]), ShapeError, "incompatible numbers"),
        (lambda x: np.cov(x, aweights=x[None]), ShapeError, "multidimensional aweights"),
        (lambda x: np.emath.sqrt(x), UnsupportedError, "whether the result is complex depends"),
        (lambda x: np.emath.logn(2, x), UnsupportedError, r"np.log\(x\) / np.log\(n\)"),
        (lambda x: np.emath.power(x, 0.5), UnsupportedError, "call np.power, which stays real"),
        (lambda x: np.emath.power(x + 0j, 2), UnsupportedError, "integer exponent"),
        (lambda x: np.gradient(x[:1], x[:1]), ShapeError, "too small to calculate"),
        (lambda x: np.geomspace(x, 1.0, -1), ShapeError, "must be non-negative"),
        (lambda x: np.interp(x, x, x, period=0), ShapeError, "must be a non-zero value"),
        (lambda x: np.polydiv(x, x), UnsupportedError, "its shape depends on the data"),
        (lambda x: np.roots(x), UnsupportedError, r"pass p.astype\(complex\)"),
        (lambda x: np.poly(x * 1j), UnsupportedError, "coefficients of complex roots"),
        (lambda x: np.poly(x[:, None]), UnsupportedError, "characteristic polynomial"),
        (lambda x: np.polyfit(x, x, -1), ShapeError, "expected deg >= 0"),
        (lambda x: np.polyfit(x, x[:1], 1), UnsupportedError, "to have same length"),
        (lambda x: np.vander(x[:, None]), ShapeError, "one-dimensional"),
    ],
)
def test_calls_that_are_refused(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        record(call, np.array([1.0, 2.0]))


@pytest.mark.usefixtures("as_written")
def test_a_polynomial_is_refused_as_written() -> None:
    with pytest.raises(UnsupportedError, match=r"np\.trim_zeros"):
        record(lambda x: np.polyadd(x, np.poly1d([1.0])), np.array([1.0, 2.0]))


def test_a_polynomial_holds_what_is_recorded() -> None:
    same_for_each(
        lambda x: np.polyadd(x, np.poly1d([1.0]))(x[0]), np.array([1.0, 2.0]), np.array([0.5, 3.0])
    )


@pytest.mark.parametrize("points", [1, 2, 5, 8])
def test_kaiser_windows_of_a_recorded_shape(points: int) -> None:
    window = recordable(np.kaiser)
    for beta in (np.float64(3.3), np.float32(2.1), np.array(8.6)):
        found = tj.function(lambda beta: window(points, beta))(beta)
        assert np.array_equal(found, np.kaiser(points, beta))
    slope = (np.sum(np.kaiser(points, 3.3 + 1e-5)) - np.sum(np.kaiser(points, 3.3 - 1e-5))) / 2e-5
    found = tj.grad(lambda beta: np.sum(window(points, beta)) + 0.0 * beta)(3.3)
    assert found == pytest.approx(slope, abs=1e-8)
