"""Python numbers made of what is recorded: their types, derivatives, and readers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.trace.convert.numbers import COMPENSATES

X = np.array([1.5, 0.4, 2.25])


def test_a_float_is_weak_beside_single_precision() -> None:
    def scaled(x: Any) -> Any:
        return x * float(x[0])

    found = tj.function(scaled)(X.astype(np.float32))
    assert found.dtype == np.float32
    slope = tj.grad(lambda x: np.sum(scaled(x)))(X.astype(np.float32))
    np.testing.assert_allclose(slope, [2 * 1.5 + 0.4 + 2.25, 1.5, 1.5], rtol=1e-6)


def test_a_float_that_is_differentiated_is_one_for_isinstance_and_type() -> None:
    def chosen(x: Any) -> Any:
        return 2.0 * x if type(x) is float and not isinstance(x, np.floating) else x

    assert tj.grad(chosen)(1.3) == 2.0


def test_functions_of_math_raise_as_in_python() -> None:
    def logarithm(x: Any) -> Any:
        return math.log(x[0])

    compiled = tj.function(logarithm)
    assert compiled(X) == math.log(1.5)
    with pytest.raises(ValueError, match="domain"):
        compiled(-X)


SUMS: list[Callable[[Any], Any]] = [
    lambda x: sum(x.tolist()),
    lambda x: sum(float(v) for v in x),
    lambda x: sum(x.tolist(), 0.25),
    lambda x: sum(x.tolist(), True),
    lambda x: sum([1e16, 1, float(x[0]), 2, 1j, -1e16]),
    lambda x: sum([float(x[1]), 0.1, np.float64(0.1), *x.tolist()]),
    lambda x: sum([float(v) if v > 0.2 else v for v in x]),
    lambda x: sum(x),
    lambda x: statistics.fmean(x.tolist(), [3.0, 1.0, 0.1, 2.0]),
    lambda x: math.sumprod(x.tolist(), x.tolist()) if hasattr(math, "sumprod") else 0.0,
    lambda x: math.sumprod([*x.tolist(), x[0]], [*x.tolist(), 0.1]) if COMPENSATES else 0.0,
]


@pytest.mark.parametrize("number", range(len(SUMS)))
def test_sums_round_as_in_python(number: int) -> None:
    """From Python 3.12 on, `sum` keeps what rounding loses of floats, and of those alone."""
    added = SUMS[number]
    compiled = tj.function(added)
    for x in (np.array([0.1, 1e16, 1.0, -1e16]), np.array([0.1, 0.2, 0.3, 0.7])):
        found, expected = compiled(x), added(x)
        assert (type(found), str(found)) == (type(expected), str(expected))


def test_division_of_floats_by_zero_raises_as_in_python() -> None:
    compiled = tj.function(lambda x: float(x[0]) / float(x[1]))
    assert compiled(X) == 1.5 / 0.4
    with pytest.raises(ZeroDivisionError):
        compiled(np.zeros(2))


def test_an_int_is_recorded_until_python_goes_by_it() -> None:
    def scaled(x: Any) -> Any:
        return x * int(np.sum(x))

    compiled = tj.function(scaled)
    for shift in (0.0, 3.0):
        np.testing.assert_array_equal(compiled(X + shift), scaled(X + shift))
    assert compiled.explain().count("Kernel ") == 1


def test_an_int_is_a_key_and_a_size_on_a_path_of_its_own() -> None:
    names = {1: "one", 4: "four"}

    def named(x: Any) -> Any:
        return names[int(x[0])], f"{int(x[0])}", [*range(int(x[0]))]

    compiled = tj.function(named)
    for first in (1.5, 4.5, 1.2):
        assert compiled(X + (first - 1.5)) == named(X + (first - 1.5))


def test_more_elements_than_one_are_no_float() -> None:
    with pytest.raises(TypeError):
        tj.function(lambda x: float(x))(X)


@pytest.mark.parametrize(
    "function",
    [
        statistics.mean, statistics.fmean, statistics.pstdev, statistics.stdev,
        statistics.variance, statistics.pvariance, statistics.median,
        statistics.geometric_mean, statistics.harmonic_mean,
    ],
)  # fmt: skip
def test_statistics_are_pythons(function: Any) -> None:
    def sample(x: Any) -> Any:
        return function(v * 2.0 for v in x)

    found, expected = tj.function(sample)(X), sample(X)
    assert type(found) is type(expected)
    assert found == pytest.approx(expected, rel=1e-13)
    with pytest.raises(statistics.StatisticsError):
        tj.function(lambda x: function(x[:0]))(X)


VARIABLE = {
    "float": float,
    "complex": complex,
    "item": lambda v: v.item(),
    "tolist": lambda v: v.tolist(),
    "math": math.sqrt,
    "round": lambda v: round(v, 1),
}


@pytest.mark.parametrize("name", VARIABLE)
def test_a_variable_is_read_at_each_call(name: str) -> None:
    convert, v = VARIABLE[name], tj.Variable(2.25)
    compiled = tj.function(lambda x: x * convert(v))
    for number in (2.25, 4.5):
        v.assign(number)
        np.testing.assert_array_equal(compiled(X), X * convert(np.float64(number)))
    assert len(compiled.kernels) == 1
