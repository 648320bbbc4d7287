"""Figures: what vmap, Jacobians, Hessians and pullbacks cost.

    OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.transforms

Ratios of medians, of calls that take turns.

- The Hessian of a logistic loss of 500 observations in 100 dimensions, against NumPy vectorised by
  hand: at most 3 times; its product with a vector against the gradient: at most 3 times.
- Gradients of each of 128 examples by two networks, by vmap(grad), against a loop over grad: at
  most a twentieth. With TRACEJIT_JAX_PYTHON, a Python that has JAX, against what that takes for the
  same, compiled, in double precision and on one thread: at most twice.
- A pullback of vjp against the gradient by the same function, which computes the value as well.
- Bundle adjustment: all Jacobian blocks of 10,000 observations, each of 11 camera parameters, a
  point and a weight, with a rotation by Rodrigues' formula and radial distortion: at most 0.5 s.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj

RNG = np.random.default_rng(0)


def seconds(*calls: Callable[[], Any], repeat: int = 60) -> list[float]:
    """The median time of each call; the calls take turns."""
    times: list[list[float]] = [[] for _ in calls]
    for round_number in range(repeat + 3):
        for call, taken in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            if round_number >= 3:
                taken.append(time.perf_counter() - start)
    return [float(np.median(taken)) for taken in times]


def line(words: str, ours: float, theirs: float, most: float) -> None:
    """One figure: a ratio and its bound."""
    ratio = ours / theirs
    verdict = "" if ratio <= most else "  MISSED"
    print(f"{words:56s} {ours * 1e3:9.3f} ms {ratio:8.3f} (at most {most:g}){verdict}")


# The Hessian of a logistic loss


def logistic(w: Any, x: Any, y: Any) -> Any:
    """The loss at weights w, of labels of -1 and 1."""
    return np.sum(np.logaddexp(0.0, -y * (x @ w))) + 0.5 * np.sum(w * w)


def logistic_by_hand(w: Any, x: Any, y: Any) -> Any:
    """Its Hessian."""
    share = 1.0 / (1.0 + np.exp(y * (x @ w)))
    return (x.T * (share * (1.0 - share))) @ x + np.eye(len(w))


def hessians() -> None:
    """Hessian and product with the Hessian."""
    x, w, v = RNG.normal(size=(500, 100)), 0.1 * RNG.normal(size=100), RNG.normal(size=100)
    y = np.where(RNG.random(500) < 0.5, 1.0, -1.0)
    curvature, slope = tj.hessian(logistic), tj.grad(logistic)
    expected = logistic_by_hand(w, x, y)
    np.testing.assert_allclose(curvature(w, x, y), expected, rtol=1e-9, atol=1e-9)
    calls = (lambda: curvature(w, x, y), lambda: logistic_by_hand(w, x, y))
    line("hessian / by hand", *seconds(*calls), 3.0)

    def loss(w: Any) -> Any:
        return logistic(w, x, y)

    slope = tj.grad(loss)
    np.testing.assert_allclose(tj.hvp(loss, w, v), expected @ v, rtol=1e-9, atol=1e-9)
    line("hvp / grad", *seconds(lambda: tj.hvp(loss, w, v), lambda: slope(w)), 3.0)


# Gradients of each example


def network(p: Any, x: Any, target: Any) -> Any:
    """The loss of one example."""
    h = np.tanh(x @ p["w1"] + p["b1"])
    out = h @ p["w2"] + p["b2"]
    out = out - np.max(out)
    return np.log(np.sum(np.exp(out))) - out @ target


def by_jax(*arrays: Any) -> float:
    """What JAX takes for the gradients of each example."""
    words = [os.environ["TRACEJIT_JAX_PYTHON"], str(Path(__file__).with_name("jax_driver.py"))]
    done = subprocess.run(words, input=pickle.dumps(arrays), check=True, stdout=subprocess.PIPE)
    return float(done.stdout)


def examples(sizes: tuple[int, int, int]) -> None:
    """Gradients of each example, by a network of these sizes."""
    first, hidden, last = sizes
    p = {
        "w1": 0.1 * RNG.normal(size=(first, hidden)),
        "b1": np.zeros(hidden),
        "w2": 0.1 * RNG.normal(size=(hidden, last)),
        "b2": np.zeros(last),
    }
    x, targets = RNG.normal(size=(128, first)), np.eye(last)[RNG.integers(0, last, 128)]
    slope = tj.grad(network)
    each = tj.vmap(slope, in_axes=(None, 0, 0))

    def loop() -> dict[str, Any]:
        found = [slope(p, *example) for example in zip(x, targets, strict=True)]
        return {name: np.stack([one[name] for one in found]) for name in p}

    expected = loop()
    for name, found in each(p, x, targets).items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-9, atol=1e-12)
    words = "-".join(map(str, sizes))
    ours, theirs = seconds(lambda: each(p, x, targets), loop)
    line(f"vmap(grad) / loop, {words}", ours, theirs, 0.05)
    if "TRACEJIT_JAX_PYTHON" in os.environ:
        line(f"vmap(grad) / JAX, {words}", ours, by_jax(p, x, targets), 2.0)


# Pullbacks


def layer(x: Any, w: Any, b: Any) -> Any:
    """A layer of a network."""
    return np.tanh(x @ w + b)


def pullbacks() -> None:
    """The pullback alone, and with the result."""
    args = RNG.normal(size=(200, 100)), 0.1 * RNG.normal(size=(100, 80)), RNG.normal(size=80)
    seed = np.ones((200, 80))
    both = tj.value_and_grad(lambda *args: np.sum(layer(*args)), (0, 1, 2))
    pullback = tj.vjp(layer, *args)[1]
    for one, other in zip(pullback(seed), both(*args)[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    alone, whole, fused = seconds(
        lambda: pullback(seed), lambda: tj.vjp(layer, *args)[1](seed), lambda: both(*args)
    )
    line("pullback / value_and_grad", alone, fused, 1.0)
    line("vjp and pullback / value_and_grad", whole, fused, 2.5)


# Bundle adjustment


def rotated(r: Any, point: Any) -> Any:
    """A point turned by the rotation vector r."""
    square = np.sum(r * r)
    small = square < 1e-12
    safe = np.where(small, 1.0, square)
    angle = np.sqrt(safe)
    first = np.where(small, 1.0 - square / 6.0, np.sin(angle) / angle)
    second = np.where(small, 0.5 - square / 24.0, (1.0 - np.cos(angle)) / safe)
    turned = np.cross(r, point)
    return point + first * turned + second * np.cross(r, turned)


def reprojection(camera: Any, point: Any, weight: Any, seen: Any) -> Any:
    """The error of one observation: rotation, centre, focal length, principal point, distortion."""
    local = rotated(camera[:3], point - camera[3:6])
    flat = local[:2] / local[2]
    square = np.sum(flat * flat)
    distortion = 1.0 + camera[9] * square + camera[10] * square * square
    return weight * (camera[7:9] + camera[6] * distortion * flat - seen)


def blocks() -> None:
    """Jacobian blocks of all observations."""
    count = 10_000
    camera = 0.1 * RNG.normal(size=(count, 11))
    camera[:, 6] += 1.0
    camera[::100, :3] = 0.0  # the branch of small angles
    point = 0.2 * RNG.normal(size=(count, 3)) + np.array([0.0, 0.0, 3.0])
    weight, seen = np.ones(count), RNG.normal(size=(count, 2))
    one = tj.jacobian(reprojection, argnums=(0, 1, 2))
    every = tj.vmap(one)
    found = every(camera, point, weight, seen)
    for k in (0, 1, 100, 9999):
        expected = one(camera[k], point[k], weight[k], seen[k])
        for block, part in zip(found, expected, strict=True):
            np.testing.assert_allclose(block[k], part, rtol=1e-10, atol=1e-12)
    (spent,) = seconds(lambda: every(camera, point, weight, seen), repeat=15)
    line("bundle adjustment, 10,000 observations / 1 s", spent, 1.0, 0.5)


def main() -> None:
    """Every figure."""
    hessians()
    examples((64, 32, 10))
    examples((16, 8, 4))
    pullbacks()
    blocks()


if __name__ == "__main__":
    main()
