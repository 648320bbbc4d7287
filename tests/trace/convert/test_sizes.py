"""Sizes that depend on data: a recording for each pattern, by which calls are answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.errors import UnsupportedError
from tracejit.trace.structure.trees import flatten

PATTERNS = [np.array([1.5, 0.4, 2.25]), np.array([0.1, 0.4, 2.25]), np.array([1.1, 1.4, 0.5])]


def _places(x: Any) -> Any:
    return x[np.where(x > 1)[0]] * np.nonzero(x > 1)[0].size


def _sorted_selection(x: Any) -> Any:
    return np.sort(x[x > 1])


def _distinct(x: Any) -> Any:
    return np.unique(np.round(x), return_counts=True, return_inverse=True, return_index=True)


def _written(x: Any) -> Any:
    y = np.zeros(3)
    y[np.flatnonzero(x > 1)] = x[x > 1] ** 2
    return y


def _matched(x: Any) -> Any:
    return np.union1d(x, [1.4]), np.intersect1d(x, [0.4]), np.setdiff1d(x, [0.4])


@pytest.mark.parametrize("function", [_places, _sorted_selection, _distinct, _written, _matched])
def test_each_pattern_has_its_own_size(function: Callable[[Any], Any]) -> None:
    compiled = tj.function(function)
    for x in (*PATTERNS, *PATTERNS):
        found, expected = compiled(x), function(x)
        for one, other in (
            zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True)
            if (not isinstance(found, tuple))
            else zip(found, expected, strict=True)
        ):
            np.testing.assert_array_equal(one, other)


def test_gradients_are_those_of_the_pattern() -> None:
    slope = tj.grad(lambda x: np.sum(_places(x)))
    for x in PATTERNS:
        mask = x > 1
        np.testing.assert_array_equal(slope(x), np.where(mask, mask.sum(), 0.0))


def test_what_a_mask_allows_is_recorded_once() -> None:
    compiled = tj.function(lambda x: np.mean(x[x > 1] ** 2))
    for x in PATTERNS:
        assert compiled(x) == pytest.approx(np.mean(x[x > 1] ** 2))
    assert compiled.explain().count("Kernel ") == 1


def test_a_mask_too_long_for_a_pattern_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"np\.nonzero"):
        tj.function(lambda x: np.nonzero(x > 1)[0])(np.ones(5000))


def _named(x: Any) -> Any:
    x = np.round(x)
    values, counts = np.unique_counts(x)
    return values * counts, np.unique_inverse(x), np.unique_all(x).indices, np.unique_values(x)


def test_functions_of_the_array_api_name_what_they_find() -> None:
    compiled = tj.function(_named)
    for x in (*PATTERNS, *PATTERNS):
        found, expected = compiled(x), _named(x)
        assert type(found[1]) is type(expected[1])
        for one, other in zip(flatten(found)[0], flatten(expected)[0], strict=True):
            np.testing.assert_array_equal(one, other)
    slope = tj.grad(lambda x: np.sum(np.unique_counts(x).values * [1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(slope(PATTERNS[0]), [2.0, 1.0, 3.0])


def test_an_order_that_numpy_does_not_tell_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"np\.unique"):
        tj.function(lambda x: np.unique(x.astype(int), sorted=False))(PATTERNS[0])
