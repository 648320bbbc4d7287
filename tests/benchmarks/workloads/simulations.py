"""Recurrences: physics and recurrent networks, written as Python loops over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.workloads.table import Workload

Function = Callable[..., Any]


def rnn(xp: Any) -> Function:
    """A recurrent network, and the distance of its last state from a target."""

    def loss(wh: Any, wx: Any, b: Any, h: Any, x: Any, target: Any) -> Any:
        for t in range(x.shape[0]):
            h = xp.tanh(h @ wh + x[t] @ wx + b)
        return xp.mean((h - target) ** 2)

    return loss


def rnn_inputs(
    rng: np.random.Generator, steps: int, batch: int, hidden: int, seen: int = 8
) -> tuple[Any, ...]:
    """Weights; the first state, what is seen, the target."""
    wh = rng.normal(size=(hidden, hidden)) / hidden**0.5
    wx, b = 0.3 * rng.normal(size=(seen, hidden)), 0.1 * rng.normal(size=hidden)
    h, target = np.zeros((batch, hidden)), rng.uniform(-1.0, 1.0, (batch, hidden))
    return wh, wx, b, h, rng.normal(size=(steps, batch, seen)), target


def stencil(xp: Any) -> Function:
    """Heat flow on a square with a coefficient for each inner place; the boundary stays."""

    def step(u: Any, c: Any) -> Any:
        inner = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        inner = inner + c * (around - 4.0 * inner)
        rows = xp.concatenate([u[1:-1, :1], inner, u[1:-1, -1:]], axis=1)
        return xp.concatenate([u[:1], rows, u[-1:]], axis=0)

    def loss(u: Any, c: Any) -> Any:
        for _ in range(30):
            u = step(u, c)
        return xp.mean(u**2)

    return loss


def stencil_inputs(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    """The first state and the coefficient."""
    return rng.normal(size=(n, n)), rng.uniform(0.05, 0.2, (n - 2, n - 2))


def nbody(xp: Any) -> Function:
    """Leapfrog steps of bodies with softened gravity."""

    def acceleration(places: Any, masses: Any) -> Any:
        apart = places[None, :, :] - places[:, None, :]
        squared = xp.sum(apart**2, axis=2) + 0.01
        return xp.sum((masses[None, :] * squared**-1.5)[:, :, None] * apart, axis=1)

    def loss(places: Any, speeds: Any, masses: Any) -> Any:
        step = 0.01
        pull = acceleration(places, masses)
        for _ in range(20):
            speeds = speeds + 0.5 * step * pull
            places = places + step * speeds
            pull = acceleration(places, masses)
            speeds = speeds + 0.5 * step * pull
        return xp.sum(places**2) + xp.sum(speeds**2)

    return loss


def nbody_inputs(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    """Places, speeds, masses."""
    return rng.normal(size=(n, 3)), 0.3 * rng.normal(size=(n, 3)), rng.uniform(0.5, 1.5, n)


def lstm(xp: Any) -> Function:
    """A network with long short-term memory; all four gates in one product."""

    def sigmoid(x: Any) -> Any:
        return 1.0 / (1.0 + xp.exp(-x))

    def loss(w: Any, u: Any, b: Any, h: Any, x: Any, target: Any) -> Any:
        cell, size = xp.zeros_like(h), h.shape[1]
        for t in range(x.shape[0]):
            gates = x[t] @ w + h @ u + b
            keep = sigmoid(gates[:, :size])
            enter = sigmoid(gates[:, size : 2 * size])
            leave = sigmoid(gates[:, 2 * size : 3 * size])
            cell = keep * cell + enter * xp.tanh(gates[:, 3 * size :])
            h = leave * xp.tanh(cell)
        return xp.mean((h - target) ** 2)

    return loss


def lstm_inputs(
    rng: np.random.Generator, steps: int, batch: int, hidden: int, seen: int
) -> tuple[Any, ...]:
    """Weights; the first state, what is seen, the target."""
    w, u = rng.normal(size=(seen, 4 * hidden)), rng.normal(size=(hidden, 4 * hidden))
    h, target = np.zeros((batch, hidden)), rng.uniform(-1.0, 1.0, (batch, hidden))
    x = rng.normal(size=(steps, batch, seen))
    return 0.3 * w, u / hidden**0.5, 0.1 * rng.normal(size=4 * hidden), h, x, target


SIMULATIONS = (
    Workload(
        "rnn/t50b16h64", rnn, rnn_inputs, (0, 1, 2), {"steps": 50, "batch": 16, "hidden": 64},
        {"steps": 5, "batch": 3, "hidden": 4}, published=True,
    ),
    *(
        Workload(
            f"stencil/{n}x{n}x30", stencil, stencil_inputs, (0, 1), {"n": n}, {"n": small},
            published=True,
        )
        for n, small in ((128, 20), (512, 200))
    ),
    Workload("nbody/n8t20", nbody, nbody_inputs, (0, 1), {"n": 8}, {"n": 8}, published=True),
    Workload(
        "lstm/t20b16h32", lstm, lstm_inputs, (0, 1, 2),
        {"steps": 20, "batch": 16, "hidden": 32, "seen": 16},
        {"steps": 4, "batch": 2, "hidden": 3, "seen": 2},
    ),
)  # fmt: skip
