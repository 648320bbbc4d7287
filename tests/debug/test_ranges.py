"""Ranges of operands in words, and what counts as an event."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.debug.ranges import has_nan, is_event, is_finite, numbers_in, premise, range_of

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([1.0, -2.5]), "x f8[2] from -2.5 to 1"),
        (np.array([[1.0, NAN], [INF, -INF]], np.float32), "x f4[2,2] 1, 1 nan and 2 inf"),
        (np.full(3, NAN), "x f8[3] 3 nan"),
        (np.array([3 + 4j, 0.0]), "x c16[2] from 0 to 5"),
        (np.float64(2.0), "x f8 2"),
        (0.25, "x float 0.25"),
        (np.arange(3), "x i8[3] from 0 to 2"),
        (np.array([True]), "x b1[1]"),
        (np.zeros((0, 2)), "x f8[0,2]"),
    ],
)
def test_a_range_in_words(value: Any, text: str) -> None:
    assert str(range_of("x", value)) == text


@pytest.mark.parametrize(
    ("value", "finite"),
    [
        (1.0, True), (INF, False), (np.float32(NAN), False), (np.array([1.0, INF]), False),
        (np.array([1]), True), ([1.0, (2.0, NAN)], False), ("nan", True), (None, True),
        (complex(0, INF), False), (np.array([]), True), (np.array(["a"]), True), (3, True),
    ],
)  # fmt: skip
def test_finite(value: Any, finite: bool) -> None:
    assert is_finite(value) is finite


def test_an_event_is_made_of_finite_operands_or_of_operands_without_nan() -> None:
    assert is_event((0.0, 1.0), INF)
    assert is_event((INF, INF), NAN)
    assert not is_event((INF, 1.0), INF)
    assert not is_event((NAN, INF), NAN)
    assert not is_event((NAN,), 1.0)
    assert premise((1.0,)) != premise((INF,))


def test_numbers_are_found_in_tuples() -> None:
    assert list(numbers_in((1.0, [np.float64(2.0), 3], "text"))) == [1.0, 2.0]
    assert has_nan((1.0, [NAN])) and not has_nan((1.0, "nan"))
