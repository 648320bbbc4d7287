"""Derivatives by differences and by complex step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.api.differences import Settings, Slopes

X = np.array([0.5, -1.0, 2.0])
USUAL = Settings(None, None, None, 8)


def wrong(function: Any, slope: Any, x: Any = X, plain: bool = True, **settings: Any) -> list[Any]:
    """The entries where the sum of function(x) has not this derivative."""
    seeds = [np.ones_like(np.asarray(function(x)))]
    slopes = Slopes(lambda xs: [function(xs[0])], [x], seeds, USUAL._replace(**settings), plain)
    indices = [(k,) for k in range(len(x))]
    return slopes.wrong(0, indices, [complex(g) for g in slope])


@pytest.mark.parametrize("plain", [True, False])
def test_right_and_wrong_derivatives_are_told_apart(plain: bool) -> None:
    assert not wrong(np.sin, np.cos(X), plain=plain)
    assert len(wrong(np.sin, np.cos(X) * (1.0 + 1e-4), plain=plain)) == 3
    (entry,) = wrong(np.sin, np.cos(X) + np.array([0.0, 1e-3, 0.0]), plain=plain)
    assert entry.at == (1,)
    assert entry.by == ("by complex step" if plain else "by differences")
    assert abs(entry.numeric - np.cos(-1.0)) < 1e-9


def test_the_complex_step_sees_what_differences_do_not() -> None:
    off = np.cos(X) * (1.0 + 1e-8)
    assert len(wrong(np.sin, off)) == 3
    assert not wrong(np.sin, off, plain=False)


def test_functions_that_are_not_analytic_go_by_differences() -> None:
    (entry, *_) = wrong(lambda x: np.abs(x) ** 2, 3.0 * X)
    assert entry.by == "by differences"
    assert not wrong(lambda x: np.abs(x) ** 2, 2.0 * X)
    assert not wrong(lambda x: np.real(x) * np.imag(1j * x), 2.0 * X)


def test_steps_get_shorter_near_a_pole() -> None:
    x = np.array([1e-4, 1e-2, 1.0])
    with np.errstate(invalid="ignore", divide="ignore"):
        assert not wrong(np.log, 1.0 / x, x, plain=False)


def test_tolerances() -> None:
    assert not wrong(np.sin, np.cos(X) * 1.01, rtol=0.1)
    assert not wrong(np.sin, np.cos(X) + 0.01, atol=0.1)
    assert not wrong(np.sin, np.cos(X), eps=1e-2)
    assert len(wrong(np.sin, np.full(3, np.nan))) == 3
