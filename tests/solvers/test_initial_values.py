"""Gradients of initial value problems: how close they are to those of exact solutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.integrate as si

import tracejit as tj

TOLERANCE = 1e-8


class Solved(NamedTuple):
    """A problem whose solution is known: the state is one number, for p, its start and a time."""

    rate: Callable[..., Any]
    p: float
    start: float
    times: Any
    solution: Callable[..., Any]


def relaxed(p: Any, start: Any, t: Any) -> Any:
    """The solution of y' = -p (y - cos t)."""
    first, second = p * p / (1.0 + p * p), p / (1.0 + p * p)
    return (start - first) * np.exp(-p * t) + first * np.cos(t) + second * np.sin(t)


def kinked(p: Any, start: Any, t: Any) -> Any:
    """The solution of y' = -p y + max(t - 1.3, 0)."""
    late = np.maximum(t - 1.3, 0.0)
    return start * np.exp(-p * t) + late / p - (1.0 - np.exp(-p * late)) / p**2


def relaxing(y: Any, t: Any, p: Any) -> Any:
    return -p * (y - np.cos(t))


PROBLEMS = {
    "many times": Solved(relaxing, 1.5, 0.2, np.linspace(0.0, 6.0, 40), relaxed),
    "one step of the solver or many": Solved(
        relaxing, 1.5, 0.2, np.array([0.0, 1e-3, 0.1, 0.11, 5.0, 6.0]), relaxed
    ),
    "two times": Solved(relaxing, 1.5, 0.2, np.array([0.0, 6.0]), relaxed),
    "decreasing times": Solved(relaxing, 0.5, 0.2, np.linspace(0.0, -3.0, 7), relaxed),
    "repeated times": Solved(
        relaxing, 1.5, 0.2, np.array([0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 2.0]), relaxed
    ),
    "one time": Solved(relaxing, 1.5, 0.2, np.array([0.0]), relaxed),
    "no time": Solved(relaxing, 1.5, 0.2, np.array([0.0, 0.0]), relaxed),
    "stiff": Solved(relaxing, 1e4, 0.2, np.linspace(0.0, 3.0, 10), relaxed),
    "stiff until the end": Solved(relaxing, 1e4, 0.2, np.array([0.0, 3.0]), relaxed),
    "a kink": Solved(
        lambda y, t, p: -p * y + np.maximum(t - 1.3, 0.0),
        0.8,
        1.0,
        np.linspace(0.0, 4.0, 9),
        kinked,
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_odeint_has_the_gradient_of_the_exact_solution(name: str) -> None:
    rate, p, start, times, solution = PROBLEMS[name]
    weights = np.cos(1.0 + np.arange(times.size))

    def total(p: Any, start: Any) -> Any:
        options = {"rtol": TOLERANCE, "atol": TOLERANCE}
        return weights @ si.odeint(rate, [start], times, args=(p,), **options)[:, 0]

    def exact(p: Any, start: Any) -> Any:
        return weights @ solution(p, start, times)

    value, found = tj.value_and_grad(total, (0, 1))(p, start)
    assert value == tj.function(total)(p, start)
    step = 1e-30
    expected = exact(p + step * 1j, start).imag / step, exact(p, start + step * 1j).imag / step
    np.testing.assert_allclose(found, expected, rtol=10 * TOLERANCE, atol=10 * TOLERANCE / p)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "LSODA"])
def test_the_adjoint_of_an_explicit_method_adds_little_to_its_error(method: str) -> None:
    """The state of a logistic equation grows, then saturates."""
    p, start, end, tolerance = 1.3, 0.01, 10.0, 1e-6

    def last(start: Any) -> Any:
        options = {"method": method, "rtol": tolerance, "atol": 1e-3 * tolerance}
        return si.solve_ivp(lambda t, y: p * y * (1.0 - y), (0.0, end), [start], **options).y[0, -1]

    fading = np.exp(-p * end)
    expected = fading / (start + (1.0 - start) * fading) ** 2
    np.testing.assert_allclose(tj.grad(last)(start), expected, rtol=10 * tolerance)
