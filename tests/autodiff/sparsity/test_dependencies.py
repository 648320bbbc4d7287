"""Patterns through conditions and loops, whichever way they are followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.cost_model import assuming

N = 9
X = np.linspace(0.5, 1.5, N)


def smoothed(x: Any, rounds: int) -> Any:
    """Neighbours flow together in each round of a loop that stays one."""
    return tj.fori_loop(0, rounds, lambda t, y: 0.5 * y + 0.25 * (np.roll(y, 1) * y), x)


def shifted(x: Any) -> Any:
    """Each step reads one element by its number, and stacks it."""
    step = lambda carry, t: (carry, x[t] * x[(t + 2) % N])  # noqa: E731
    return tj.scan(step, 0.0, np.arange(N))[1]


def until(x: Any) -> Any:
    """A loop on a condition."""
    return tj.while_loop(lambda y: np.sum(y) < 40.0, lambda y: y * 1.1 + 0.1 * np.roll(y, 1), x)


def chosen(x: Any) -> Any:
    """The two sides read different elements."""
    return tj.cond(x[0] > 0.0, lambda: x * x[::-1], lambda: np.roll(x, 1) ** 2)


def running(x: Any) -> Any:
    """The carried number has read all that came before."""
    return tj.scan(lambda total, one: (total + one**2, total * one), 0.0, x)


PROGRAMS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "one round": (lambda x: smoothed(x, 1), 2 * N),
    "three rounds": (lambda x: smoothed(x, 3), 4 * N),
    "many rounds": (lambda x: smoothed(x, 40), N * N),
    "elements by number": (shifted, 2 * N),
    "a condition": (chosen, 25),
    "until": (until, N * N),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_patterns_of_control_flow(name: str) -> None:
    f, entries = PROGRAMS[name]
    found, expected = tj.jacobian(f, sparse=True)(X), tj.jacobian(f)(X)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12)
    assert found.nnz == entries


def test_what_is_carried_and_what_is_stacked() -> None:
    last, rows = tj.jacobian(running, sparse=True)(X)
    wanted = tj.jacobian(running)(X)
    np.testing.assert_allclose(last.toarray()[0], wanted[0], rtol=1e-12)
    np.testing.assert_allclose(rows.toarray(), wanted[1], rtol=1e-12)
    assert rows.nnz == N * (N + 1) // 2


@pytest.mark.parametrize("rounds", [1, 24])
def test_long_loops_are_followed_until_nothing_is_new(rounds: int) -> None:
    for f, _ in PROGRAMS.values():
        with assuming(followed_nodes=0, pattern_rounds=rounds):
            found = tj.jacobian(f, sparse=True)(X)
        np.testing.assert_allclose(found.toarray(), tj.jacobian(f)(X), rtol=1e-12)


def test_a_large_dense_jacobian_is_refused() -> None:
    with pytest.raises(tj.TracejitError, match=r"more than 134,217,728 elements"):
        tj.jacobian(lambda x: x / np.sum(x), sparse=True)(np.ones(20_000))
