"""Gradients of initial value problems: how close they are to those of exact solutions."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.integrate as si
from scipy.linalg import lu_factor, lu_solve

import tracejit as tj
from tracejit.ops.base.helpers import HELPERS
from tracejit.solvers.initial_values import radau

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


CELLS = 34


def cooling(t: Any, u: Any, p: Any) -> Any:
    """The heat equation on cells between two cold walls."""
    inner = u[:-2] - 2.0 * u[1:-1] + u[2:]
    ends = u[1] - 2.0 * u[0], u[-2] - 2.0 * u[-1]
    return p * (u.shape[0] + 1) ** 2 * np.concatenate((ends[:1], inner, ends[1:]))


def cooled(p: Any, start: Any, t: Any) -> Any:
    """The solution: each wave of the start fades at a rate of its own."""
    cells = start.shape[0]
    number = np.arange(1, cells + 1)
    waves = np.sqrt(2.0 / (cells + 1)) * np.sin(np.pi * np.outer(number, number) / (cells + 1))
    rates = 4.0 * (cells + 1) ** 2 * np.sin(np.pi * number / (2 * (cells + 1))) ** 2
    return waves @ (np.exp(-p * rates * t) * (waves @ start))


def last_heat(method: str, p: Any, start: Any) -> Any:
    options = {"rtol": TOLERANCE, "atol": TOLERANCE, "args": (p,)}
    if method == "odeint":
        return si.odeint(cooling, start, np.array([0.0, 0.3, 1.0]), tfirst=True, **options)[-1]
    return si.solve_ivp(cooling, (0.0, 1.0), start, method=method, **options).y[:, -1]


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA", "odeint"])
def test_a_large_stiff_state(method: str) -> None:
    p, start = 0.1, 1.0 + np.linspace(0.0, 1.0, CELLS)
    weights = np.cos(np.arange(CELLS))
    slope = tj.grad(lambda p, start: weights @ last_heat(method, p, start), (0, 1))
    by_p, by_start = slope(p, start)
    expected = weights @ cooled(p + 1e-30j, start, 1.0).imag / 1e-30
    np.testing.assert_allclose(by_p, expected, rtol=30 * TOLERANCE)
    np.testing.assert_allclose(by_start, cooled(p, weights, 1.0), atol=30 * TOLERANCE)


def test_the_adjoint_of_a_large_stiff_state_holds_a_few_of_its_matrices() -> None:
    """The state is y' = p A y. Its matrix is factored once, as a real one and a complex one."""
    size, steps, p = 150, 3, 2.0
    a = -np.diag(np.logspace(-2.0, 6.0, size)) + 0.1 * np.sin(np.arange(size * size)).reshape(
        size, size
    )
    nodes, weights = radau(3)
    ends = np.arange(steps + 1.0)
    times = ends[:-1, None] + nodes
    points = np.cos(np.arange(steps * 3 * size)).reshape(steps, 3, size)
    bars = np.sin(np.arange((steps + 1) * size)).reshape(steps + 1, size)

    def pull(t: Any, y: Any, bar: Any) -> Any:
        return np.append(p * bar @ a, bar @ a @ y)

    tracemalloc.start()
    found = HELPERS.implicit_adjoint(
        lambda t, y: p * a, pull, lu_factor, lu_solve, weights, ends, times, points, bars
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 8 * size**2
    system = np.eye(3 * size) - np.kron(weights, p * a.T)
    back, total = bars[-1], 0.0
    for k in reversed(range(steps)):
        stages = np.linalg.solve(system, np.tile(back, 3)).reshape(3, size)
        total += np.sum(weights[0][:, None] * stages * (points[k] @ a.T))
        back = stages[0] + bars[k]
    np.testing.assert_allclose(found, np.append(back, total), rtol=1e-7, atol=1e-9)


def test_what_the_jacobian_alone_reads_is_no_parameter() -> None:
    size = 8
    weights = np.random.default_rng(0).normal(size=(size, size)) * 0.1 - np.eye(size)

    def f(p: Any) -> Any:
        def rate(t: Any, y: Any) -> Any:
            return np.tanh(weights @ y) * p[0] - p[1] * y

        start = np.linspace(1.0, 2.0, size)
        return np.sum(si.solve_ivp(rate, (0.0, 0.1), start, method="LSODA", rtol=1e-6).y[:, -1])

    p, step = np.array([0.5, 0.2]), np.array([1e-4, 0.0])
    gradient, hessian = tj.grad(f), tj.hessian(f)
    wanted = (gradient(p + step) - gradient(p - step)) / 2e-4
    np.testing.assert_allclose(hessian(p)[0], wanted, rtol=1e-3)
    assert "reshape((10, 8))" in hessian.source  # sensitivities by the start and by p
