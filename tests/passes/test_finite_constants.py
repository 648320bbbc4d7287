"""No pass merges constants to what is no number of the dtype: overflow, underflow, inf and nan are
where NumPy has them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.rewrites import graph_of, operations
from tracejit.passes.algebra.factoring import factor_sums
from tracejit.passes.framework.dce import drop_dead
from tracejit.passes.framework.emission import OutOfRange, check_merged

LIMITS = {"f4": np.finfo("f4"), "f8": np.finfo("f8")}

# Every way in which two constants, p and q, may meet in an expression of x and y.
SHAPES: dict[str, Callable[..., Any]] = {
    "added": lambda x, y, p, q: (x + p) + q,
    "subtracted": lambda x, y, p, q: (x - p) - q,
    "added twice": lambda x, y, p, q: ((x + p) + p) + q,
    "added before": lambda x, y, p, q: (p + x) + (q + y),
    "multiplied": lambda x, y, p, q: (x * p) * q,
    "divided": lambda x, y, p, q: (x / p) / q,
    "scaled": lambda x, y, p, q: (x * p) / q,
    "over": lambda x, y, p, q: p / (q * (2.0 + y * y)),
    "terms": lambda x, y, p, q: np.tanh(y) * p + np.tanh(y) * q + x,
    "shared": lambda x, y, p, q: np.tanh(y) * p + x * np.tanh(y) + q * np.tanh(y),
    "nested": lambda x, y, p, q: np.tanh(y) * p * q + x * np.tanh(y),
    "chosen": lambda x, y, p, q: q * np.where(y > 0.0, p, 0.5 * x),
    "chosen small": lambda x, y, p, q: 0.01 * np.where(y > 0.0, p, 1e-7 * np.tanh(y)) + x,
    "chosen large": lambda x, y, p, q: 100.0 * np.where(y > 0.0, q, 1e6 * np.tanh(y)) + x,
    "summed": lambda x, y, p, q: np.sum(p * np.tanh(y)) + np.sum(q * np.tanh(y)) + x,
    "negated": lambda x, y, p, q: -(p - x) + q,
    "array": lambda x, y, p, q: (x + np.full(3, p, x.dtype)) + np.full(3, q, x.dtype),
    "power": lambda x, y, p, q: (p * np.tanh(y)) ** 2 + q,
}


SUMS = ("added", "subtracted", "added twice", "added before", "negated", "array")


def extremes(dtype: str) -> list[float]:
    """Constants that two of leave the finite numbers, and those that are none."""
    limits = LIMITS[dtype]
    large, small = float(limits.max) / 1.7, float(limits.smallest_normal) * 1.3
    return [large, -large, small, float(limits.smallest_subnormal) * 5.0, np.inf, np.nan, 0.0, 2.0]


def closed(shape: Callable[..., Any], p: Any, q: Any) -> Callable[[Any, Any], Any]:
    """An expression with its constants."""
    return lambda x, y: shape(x, y, p, q)


def kinds_of(value: Any) -> Any:
    """Which elements are nan, infinite with which sign, or finite."""
    return np.where(np.isnan(value), 9.0, np.where(np.isinf(value), np.sign(value), 0.0))


def pairs_of(dtype: str) -> list[tuple[float, float]]:
    """Every two of the extremes, in both orders."""
    return list(itertools.product(extremes(dtype), repeat=2))


@pytest.mark.parametrize("weak", [True, False])
@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("name", some_by_day(SHAPES, 3))
def test_merged_constants_are_those_of_numpy(name: str, dtype: str, weak: bool) -> None:
    """A quarter of the pairs for each: every pair is met once."""
    quarter = 2 * weak + (dtype == "f4")
    check_merged_constants(name, dtype, weak, pairs_of(dtype)[quarter::4])


@pytest.mark.nightly
@pytest.mark.parametrize("weak", [True, False])
@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("name", SHAPES)
def test_nightly_merged_constants(name: str, dtype: str, weak: bool) -> None:
    check_merged_constants(name, dtype, weak, pairs_of(dtype))


def check_merged_constants(
    name: str, dtype: str, weak: bool, pairs: list[tuple[float, float]]
) -> None:
    """The constants of each pair, in an expression, are where NumPy has them."""
    large = float(LIMITS[dtype].max) * 0.9
    # A factor may move where what it scales lies two dozen powers of two below the largest number.
    large = large if name in SUMS else large / 2.0**48
    x = np.array([-large, 0.25, large]).astype(dtype)
    y = np.array([0.5, -0.75, 0.125]).astype(dtype)
    shape = SHAPES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first, second in pairs:
            p, q = (one if weak else np.dtype(dtype).type(one) for one in (first, second))
            found = tj.function(closed(shape, p, q))(x, y)
            expected = shape(x, y, p, q)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(kinds_of(found), kinds_of(expected), str((p, q)))
            there = np.isfinite(expected)
            largest = np.abs(x) + sum(abs(one) for one in (first, second) if np.isfinite(one)) / 2.0
            bound = (
                16.0 * LIMITS[dtype].eps * np.fmin(largest, LIMITS[dtype].max) + LIMITS[dtype].tiny
            )
            error = np.abs(found[there] / 2.0 - expected[there] / 2.0)
            assert np.all(error <= bound[there]), (p, q, found, expected)


@pytest.mark.parametrize(
    ("parts", "merged"),
    [((2.0, 1e308), np.inf), ((1e-200, 1e-200), 0.0), ((1e-200, 1e-110), 1e-310)],
)
def test_what_leaves_the_normal_numbers_is_not_merged(parts: Any, merged: float) -> None:
    with pytest.raises(OutOfRange):
        check_merged(parts, merged, np.dtype("f8"))
    with pytest.raises(OutOfRange):
        check_merged((1.0, 1e30), 1e39, np.dtype("f4"))


def test_what_is_no_number_already_may_be_merged() -> None:
    check_merged((2.0, np.inf), np.inf, np.dtype("f8"))
    check_merged((np.inf, -np.inf), np.nan, np.dtype("f8"))
    check_merged((2.0, 0.0), 0.0, np.dtype("f8"))


def test_two_large_addends_stay_two() -> None:
    graph = graph_of("x: f8[900]", "a f8[900] = add x 1e308; y f8[900] = add a 1e308")
    for value in graph.values():
        value.label = ""
    assert operations(drop_dead(factor_sums(graph))) == operations(graph)
    graph = graph_of("x: f8[900]", "a f8[900] = add x 1e30; y f8[900] = add a 1e30")
    for value in graph.values():
        value.label = ""
    assert operations(drop_dead(factor_sums(graph))) == ["add x 2e+30"]


def test_large_multiples_of_a_factor_stay_apart() -> None:
    text = (
        "a f8[9] = tanh x; b f8[9] = multiply 1e308 a; c f8[9] = multiply {} a;"
        "d f8[9] = multiply a z; e f8[9] = add b c; y f8[9] = add e d"
    )
    for number, count in (("9e307", 6), ("-1e308", 2)):
        graph = graph_of("x: f8[9], z: f8[9]", text.format(number))
        for value in graph.values():
            value.label = ""
        assert len(operations(drop_dead(factor_sums(graph)))) == count
