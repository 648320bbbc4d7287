"""Formulas of a few lines, from two numbers to ten million elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.workloads.table import Workload

Function = Callable[..., Any]


def rosenbrock(xp: Any) -> Function:
    """Rosenbrock's valley in many dimensions."""

    def loss(x: Any) -> Any:
        return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return loss


def rosenbrock_inputs(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    """A point."""
    return (rng.normal(size=n),)


def scalar(xp: Any) -> Function:
    """Eight rounds over two numbers."""

    def loss(a: Any, b: Any) -> Any:
        x = a
        for _ in range(8):
            x = xp.sin(x) * b + xp.exp(-(x**2)) / (1.0 + b**2)
        return x

    return loss


def scalar_inputs(rng: np.random.Generator) -> tuple[Any, ...]:
    """Two numbers."""
    return np.float64(rng.uniform(0.5, 1.0)), np.float64(rng.uniform(0.5, 1.0))


def elementwise(xp: Any) -> Function:
    """A chain of elementwise functions, and a mean."""

    def loss(w: Any, x: Any) -> Any:
        sigmoid = 1.0 / (1.0 + xp.exp(-x))
        return xp.mean((xp.tanh(w * x) - sigmoid) ** 2 * xp.exp(-(x**2)))

    return loss


def elementwise_inputs(rng: np.random.Generator, n: int, dtype: str) -> tuple[Any, ...]:
    """Weights and places."""
    return rng.normal(size=n).astype(dtype), rng.normal(size=n).astype(dtype)


def black_scholes(xp: Any) -> Function:
    """The mean price of call options, the normal distribution function by a tanh."""

    def normal(x: Any) -> Any:
        return 0.5 * (1.0 + xp.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))

    def price(spot: Any, volatility: Any, strike: Any, maturity: Any, rate: Any) -> Any:
        spread = volatility * xp.sqrt(maturity)
        drift = (rate + 0.5 * volatility**2) * maturity
        d1 = (xp.log(spot / strike) + drift) / spread
        d2 = d1 - spread
        discounted = strike * xp.exp(-rate * maturity)
        return xp.mean(spot * normal(d1) - discounted * normal(d2))

    return price


def black_scholes_inputs(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    """Options near the money."""
    spot, strike = rng.uniform(80.0, 120.0, n), rng.uniform(80.0, 120.0, n)
    return spot, rng.uniform(0.1, 0.5, n), strike, rng.uniform(0.2, 2.0, n), np.float64(0.03)


def logistic_growth(xp: Any) -> Function:
    """Growth to a capacity by the classical Runge-Kutta method, fitted to what was observed."""

    def slope(population: Any, rate: Any, capacity: Any) -> Any:
        return rate * population * (1.0 - population / capacity)

    def loss(start: Any, rate: Any, capacity: Any, observed: Any) -> Any:
        population, step, total = start, 0.1, 0.0
        for number in range(40):
            k1 = slope(population, rate, capacity)
            k2 = slope(population + 0.5 * step * k1, rate, capacity)
            k3 = slope(population + 0.5 * step * k2, rate, capacity)
            k4 = slope(population + step * k3, rate, capacity)
            population = population + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            total = total + xp.mean((population - observed[number]) ** 2)
        return total

    return loss


def logistic_growth_inputs(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    """n populations."""
    start, rate = rng.uniform(0.1, 0.3, n), rng.uniform(0.5, 1.5, n)
    return start, rate, rng.uniform(0.8, 1.2, n), rng.uniform(0.2, 1.0, (40, n))


def hessian_product(xp: Any) -> Function:
    """A logistic loss, whose Hessian is multiplied by a vector."""

    def loss(w: Any, x: Any, y: Any) -> Any:
        margin = y * (x @ w)
        return xp.mean(xp.log1p(xp.exp(-margin))) + 0.05 * xp.sum(w**2)

    return loss


def hessian_product_inputs(rng: np.random.Generator, n: int, d: int) -> tuple[Any, ...]:
    """Weights, observations, labels; the vector."""
    x, y = rng.normal(size=(n, d)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return rng.normal(size=d) / d**0.5, x, y, rng.normal(size=d)


def graph_energy(xp: Any) -> Function:
    """A nonlinear spring along each edge of a sparse graph: gathers, whose gradients scatter."""

    def loss(places: Any, stiffness: Any, tails: Any, heads: Any) -> Any:
        stretch = places[tails] - places[heads]
        squared = xp.sum(stretch**2, axis=1)
        return xp.sum(stiffness * xp.sqrt(1.0 + squared)) + 0.5 * xp.mean(places**2)

    return loss


def graph_energy_inputs(rng: np.random.Generator, nodes: int, edges: int) -> tuple[Any, ...]:
    """Places in space, and random edges."""
    ends = rng.integers(0, nodes, (2, edges))
    return rng.normal(size=(nodes, 3)), rng.uniform(0.5, 1.5, edges), ends[0], ends[1]


NUMERICS = (
    *(
        Workload(
            f"rosenbrock/{name}", rosenbrock, rosenbrock_inputs, (0,), {"n": n}, small,
            published=True,
        )
        for name, n, small in (
            ("n10", 10, {"n": 10}), ("n1k", 1000, {"n": 1000}), ("n1M", 1_000_000, {"n": 300_001}),
        )
    ),
    Workload("scalar/f64", scalar, scalar_inputs, (0, 1), {}, {}, published=True),
    *(
        Workload(
            f"elementwise/{dtype}-{name}", elementwise, elementwise_inputs, (0, 1),
            {"n": n, "dtype": dtype.replace("f", "float")},
            {"n": small, "dtype": dtype.replace("f", "float")}, published=True,
        )
        for dtype, name, n, small in (
            ("f64", "1k", 1000, 1000), ("f64", "1M", 1_000_000, 300_001),
            ("f32", "1M", 1_000_000, 300_001), ("f64", "10M", 10_000_000, 300_001),
        )
    ),
    Workload(
        "black_scholes/1M", black_scholes, black_scholes_inputs, (0, 1), {"n": 1_000_000},
        {"n": 200_001}, published=True,
    ),
    Workload(
        "logistic_growth/n1k", logistic_growth, logistic_growth_inputs, (0, 1, 2), {"n": 1000},
        {"n": 20},
    ),
    Workload(
        "hessian_product/500x100", hessian_product, hessian_product_inputs, (0,),
        {"n": 500, "d": 100}, {"n": 40, "d": 6}, kind="hvp",
    ),
    Workload(
        "graph_energy/10k-50k", graph_energy, graph_energy_inputs, (0, 1),
        {"nodes": 10_000, "edges": 50_000}, {"nodes": 20, "edges": 60},
    ),
)  # fmt: skip
