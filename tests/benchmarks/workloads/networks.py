"""Blocks of neural networks without a loop over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.workloads.table import Workload

Function = Callable[..., Any]


def attention(xp: Any) -> Function:
    """Self-attention of several heads, with a residual and a normalised layer."""

    def loss(wq: Any, wk: Any, wv: Any, wo: Any, x: Any, target: Any) -> Any:
        heads, _, size = wq.shape
        queries, keys, values = x @ wq, x @ wk, x @ wv
        scores = queries @ xp.swapaxes(keys, 1, 2) / size**0.5
        weights = xp.exp(scores - xp.max(scores, axis=2, keepdims=True))
        weights = weights / xp.sum(weights, axis=2, keepdims=True)
        mixed = weights @ values
        joined = xp.concatenate([mixed[head] for head in range(heads)], axis=1)
        out = x + joined @ wo
        centered = out - xp.mean(out, axis=1, keepdims=True)
        variance = xp.mean(centered**2, axis=1, keepdims=True)
        return xp.mean((centered / xp.sqrt(variance + 1e-5) - target) ** 2)

    return loss


def attention_inputs(
    rng: np.random.Generator, words: int, width: int, heads: int
) -> tuple[Any, ...]:
    """The four matrices; embedded words, the target."""
    shapes = *((heads, width, width // heads),) * 3, (width, width)
    weights = [(rng.normal(size=shape) / width**0.5).astype("float32") for shape in shapes]
    x, target = (rng.normal(size=(words, width)).astype("float32") for _ in range(2))
    return *weights, x, target


def convolution(xp: Any) -> Function:
    """A 3 x 3 convolution as a product of patches, relu, mean over places, a linear classifier."""

    def loss(kernel: Any, bias: Any, w: Any, images: Any, y: Any) -> Any:
        height, width = images.shape[1] - 2, images.shape[2] - 2
        patches = xp.concatenate(
            [images[:, i : i + height, j : j + width, :] for i in range(3) for j in range(3)],
            axis=3,
        )
        active = xp.maximum(patches @ kernel + bias, 0.0)
        logits = xp.mean(active, axis=(1, 2)) @ w
        shifted = logits - xp.max(logits, axis=1, keepdims=True)
        log_total = xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))
        return -xp.mean(xp.sum(y * (shifted - log_total), axis=1))

    return loss


def convolution_inputs(
    rng: np.random.Generator, batch: int, size: int, channels: int, filters: int
) -> tuple[Any, ...]:
    """Weights; images, labels."""
    shapes = (9 * channels, filters), (filters,), (filters, 10), (batch, size, size, channels)
    kernel, bias, w, images = (rng.normal(size=shape).astype("float32") for shape in shapes)
    y = np.eye(10, dtype="float32")[rng.integers(0, 10, batch)]
    scale = np.float32(0.1)
    return scale * kernel, scale * bias, scale * w, images, y


def vae(xp: Any) -> Function:
    """The bound of a variational autoencoder: reconstruction by logits, and the divergence."""

    def loss(w1: Any, w_mean: Any, w_spread: Any, w2: Any, w3: Any, x: Any, noise: Any) -> Any:
        encoded = xp.tanh(x @ w1)
        mean, log_variance = encoded @ w_mean, encoded @ w_spread
        code = mean + xp.exp(0.5 * log_variance) * noise
        logits = xp.tanh(code @ w2) @ w3
        cost = xp.maximum(logits, 0.0) - x * logits + xp.log1p(xp.exp(-xp.abs(logits)))
        divergence = 0.5 * (mean**2 + xp.exp(log_variance) - 1.0 - log_variance)
        return xp.mean(xp.sum(cost, axis=1) + xp.sum(divergence, axis=1))

    return loss


def vae_inputs(
    rng: np.random.Generator, batch: int, pixels: int, hidden: int, code: int
) -> tuple[Any, ...]:
    """Weights; pixels between 0 and 1, noise."""
    shapes = (pixels, hidden), (hidden, code), (hidden, code), (code, hidden), (hidden, pixels)
    weights = [(rng.normal(size=shape) / shape[0] ** 0.5).astype("float32") for shape in shapes]
    x = rng.random((batch, pixels)).astype("float32")
    return *weights, x, rng.normal(size=(batch, code)).astype("float32")


def example_gradients(xp: Any) -> Function:
    """The loss of a perceptron for one example."""

    def loss(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        logits = xp.tanh(x @ w1 + b1) @ w2 + b2
        shifted = logits - xp.max(logits)
        return xp.log(xp.sum(xp.exp(shifted))) - xp.sum(shifted * y)

    return loss


def example_gradients_inputs(
    rng: np.random.Generator, batch: int, sizes: tuple[int, int, int]
) -> tuple[Any, ...]:
    """Weights; examples, their labels."""
    first, hidden, last = sizes
    w1, w2 = 0.1 * rng.normal(size=(first, hidden)), 0.1 * rng.normal(size=(hidden, last))
    y = np.eye(last)[rng.integers(0, last, batch)]
    return w1, np.zeros(hidden), w2, np.zeros(last), rng.normal(size=(batch, first)), y


NETWORKS = (
    Workload(
        "attention/64x128h4", attention, attention_inputs, (0, 1, 2, 3),
        {"words": 64, "width": 128, "heads": 4}, {"words": 4, "width": 6, "heads": 2},
    ),
    Workload(
        "convolution/b16s28", convolution, convolution_inputs, (0, 1, 2),
        {"batch": 16, "size": 28, "channels": 3, "filters": 16},
        {"batch": 2, "size": 5, "channels": 2, "filters": 3},
    ),
    Workload(
        "vae/b64", vae, vae_inputs, (0, 1, 2, 3, 4),
        {"batch": 64, "pixels": 784, "hidden": 128, "code": 16},
        {"batch": 3, "pixels": 12, "hidden": 5, "code": 2},
    ),
    Workload(
        "example_gradients/b128", example_gradients, example_gradients_inputs, (0, 1, 2, 3),
        {"batch": 128, "sizes": (64, 32, 10)}, {"batch": 3, "sizes": (5, 4, 3)},
        kind="vmap_grad",
    ),
)  # fmt: skip
