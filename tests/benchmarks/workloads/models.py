"""Statistical models: likelihoods and losses of classifiers, mixtures, filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.workloads.table import Workload

Function = Callable[..., Any]


def logreg(xp: Any) -> Function:
    """Logistic regression with a ridge."""

    def loss(w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        likelihood = xp.maximum(z, 0.0) - y * z + xp.log1p(xp.exp(-xp.abs(z)))
        return xp.mean(likelihood) + 0.01 * xp.sum(w**2)

    return loss


def logreg_inputs(rng: np.random.Generator, n: int, d: int) -> tuple[Any, ...]:
    """Weights, observations, labels of 0 and 1."""
    return rng.normal(size=d) / d**0.5, rng.normal(size=(n, d)), 1.0 * (rng.random(n) < 0.5)


def softmax_xent(xp: Any) -> Function:
    """The cross-entropy of rows of logits."""

    def loss(logits: Any, y: Any) -> Any:
        shifted = logits - xp.max(logits, axis=1, keepdims=True)
        log_total = xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))
        return -xp.mean(xp.sum(y * (shifted - log_total), axis=1))

    return loss


def softmax_xent_inputs(rng: np.random.Generator, n: int, classes: int) -> tuple[Any, ...]:
    """Logits, and the probabilities of labels."""
    y = np.eye(classes, dtype="float32")[rng.integers(0, classes, n)]
    return rng.normal(size=(n, classes)).astype("float32"), y


def mlp_softmax(xp: Any) -> Function:
    """A layer of tanh, and the cross-entropy of a softmax."""

    def loss(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        h = xp.tanh(x @ w1 + b1)
        logits = h @ w2 + b2
        shifted = logits - xp.max(logits, axis=1, keepdims=True)
        log_total = xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))
        return -xp.mean(xp.sum(y * (shifted - log_total), axis=1))

    return loss


def mlp_softmax_inputs(
    rng: np.random.Generator, batch: int, pixels: int = 784, hidden: int = 256
) -> tuple[Any, ...]:
    """Weights, a batch of images, their labels."""
    shapes = (pixels, hidden), (hidden,), (hidden, 10), (10,), (batch, pixels)
    w1, b1, w2, b2, x = (rng.normal(size=shape).astype("float32") for shape in shapes)
    y = np.eye(10, dtype="float32")[rng.integers(0, 10, batch)]
    scale = np.float32(0.05)
    return scale * w1, scale * b1, scale * w2, scale * b2, x, y


def gmm(xp: Any) -> Function:
    """The likelihood of a mixture of Gaussians with full covariances.

    A precision is the square of a lower triangular matrix with the exponentials of `scales` on its
    diagonal and `lower` below it.
    """

    def loss(weights: Any, means: Any, scales: Any, lower: Any, x: Any) -> Any:
        terms = []
        for k in range(means.shape[0]):
            centered = x - means[k]
            whitened = xp.exp(scales[k]) * centered + centered @ xp.tril(lower[k], -1).T
            terms.append(weights[k] + xp.sum(scales[k]) - 0.5 * xp.sum(whitened**2, axis=1))
        stacked = xp.stack(terms)
        top = xp.max(stacked, axis=0)
        likelihood = xp.sum(top + xp.log(xp.sum(xp.exp(stacked - top), axis=0)))
        highest = xp.max(weights)
        total = highest + xp.log(xp.sum(xp.exp(weights - highest)))
        return x.shape[0] * total - likelihood

    return loss


def gmm_inputs(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Any, ...]:
    """Parameters of the mixture; points."""
    lower = rng.normal(size=(k, d, d)) / d
    return (
        rng.normal(size=k),
        rng.normal(size=(k, d)),
        0.1 * rng.normal(size=(k, d)),
        lower,
        (rng.normal(size=(n, d))),
    )


def gp(xp: Any) -> Function:
    """The negative log-likelihood of a Gaussian process, in the logs of length and noise."""

    def loss(log_length: Any, log_noise: Any, x: Any, y: Any) -> Any:
        distance = (x[:, None] - x[None, :]) / xp.exp(log_length)
        noise = xp.exp(2.0 * log_noise) * xp.eye(x.shape[0])
        factor = xp.linalg.cholesky(xp.exp(-0.5 * distance**2) + noise)
        white = xp.linalg.solve(factor, y)
        return 0.5 * xp.sum(white**2) + xp.sum(xp.log(xp.diag(factor)))

    return loss


def gp_inputs(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    """Hyperparameters; places and values."""
    x = np.sort(rng.uniform(0.0, 10.0, n))
    return np.float64(-0.2), np.float64(-1.5), x, np.sin(x) + 0.2 * rng.normal(size=n)


def kalman(xp: Any) -> Function:
    """The likelihood of a Kalman filter, in its transitions and its noise."""

    def loss(transition: Any, log_drift: Any, log_noise: Any, sensor: Any, seen: Any) -> Any:
        drift, noise = xp.diag(xp.exp(log_drift)), xp.diag(xp.exp(log_noise))
        mean, covariance, total = xp.zeros_like(log_drift), xp.diag(xp.exp(0.0 * log_drift)), 0.0
        for t in range(seen.shape[0]):
            mean = transition @ mean
            covariance = transition @ covariance @ transition.T + drift
            surprise = seen[t] - sensor @ mean
            spread = sensor @ covariance @ sensor.T + noise
            gain = xp.linalg.solve(spread, sensor @ covariance).T
            scaled = xp.linalg.solve(spread, surprise)
            total = total + 0.5 * (surprise @ scaled + xp.linalg.slogdet(spread)[1])
            mean = mean + gain @ surprise
            covariance = covariance - gain @ sensor @ covariance
        return total

    return loss


def kalman_inputs(rng: np.random.Generator, steps: int, state: int, seen: int) -> tuple[Any, ...]:
    """Parameters; the sensor's matrix, and what it saw."""
    transition = 0.9 * np.eye(state) + 0.05 * rng.normal(size=(state, state))
    sensor = rng.normal(size=(seen, state))
    observed = rng.normal(size=(steps, seen))
    return transition, -1.0 + 0.1 * rng.normal(size=state), np.zeros(seen), sensor, observed


def kmeans(xp: Any) -> Function:
    """Soft k-means: the free energy of points and centers."""

    def loss(centers: Any, x: Any) -> Any:
        across = x @ centers.T
        squares = xp.sum(x**2, axis=1)[:, None] + xp.sum(centers**2, axis=1)[None, :]
        distance = -0.5 * (squares - 2.0 * across)
        top = xp.max(distance, axis=1, keepdims=True)
        return -xp.mean(top[:, 0] + xp.log(xp.sum(xp.exp(distance - top), axis=1)))

    return loss


def kmeans_inputs(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[Any, ...]:
    """Centers and points."""
    return rng.normal(size=(k, d)), rng.normal(size=(n, d))


MODELS = (
    Workload(
        "logreg/569x30", logreg, logreg_inputs, (0,), {"n": 569, "d": 30}, {"n": 569, "d": 30},
        published=True,
    ),
    Workload(
        "logreg/20kx100", logreg, logreg_inputs, (0,), {"n": 20_000, "d": 100},
        {"n": 20_000, "d": 20}, published=True,
    ),
    *(
        Workload(
            f"mlp_softmax/b{batch}", mlp_softmax, mlp_softmax_inputs, (0, 1, 2, 3),
            {"batch": batch}, {"batch": batch // 8, "pixels": 30, "hidden": 20}, published=True,
        )
        for batch in (32, 512)
    ),
    Workload(
        "softmax_xent/4096x1000", softmax_xent, softmax_xent_inputs, (0,),
        {"n": 4096, "classes": 1000}, {"n": 1025, "classes": 30}, published=True,
    ),
    *(
        Workload(
            f"gmm/d{d}k{k}n1k", gmm, gmm_inputs, (0, 1, 2, 3), {"n": 1000, "d": d, "k": k},
            {"n": 50, "d": d, "k": k}, published=True,
        )
        for d, k in ((10, 5), (32, 10))
    ),
    Workload("gp/n200", gp, gp_inputs, (0, 1), {"n": 200}, {"n": 40}, published=True),
    Workload(
        "kalman/t50", kalman, kalman_inputs, (0, 1, 2), {"steps": 50, "state": 4, "seen": 2},
        {"steps": 5, "state": 4, "seen": 2},
    ),
    Workload(
        "kmeans/5kx16k20", kmeans, kmeans_inputs, (0,), {"n": 5000, "d": 16, "k": 20},
        {"n": 40, "d": 3, "k": 4},
    ),
)  # fmt: skip
