# ruff: noqa: E501  tables of one-line texts
"""Functions of data in rows, as users write them, with data: losses of models and statistics.

`FUNCTIONS` has each by its name, with a maker of its arguments for so many rows, and the arguments
that it is differentiated by, none where its results are no floating point scalar.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
import tracejit.numpy as tnp
from tests.sharding.driver import Rows

Maker = Callable[[np.random.Generator, int], tuple[Any, ...]]


class Case(NamedTuple):
    """A function, its arguments, and those it is differentiated by."""

    function: Callable[..., Any]
    maker: Maker
    argnums: tuple[int, ...]

    def arguments(self, rows: int) -> tuple[Any, ...]:
        """The arguments, of so many rows."""
        return self.maker(np.random.default_rng(1), rows)

    def differentiated(self) -> Any:
        """What is compared: value and gradient, or results alone."""
        return tj.value_and_grad(self.function, self.argnums) if self.argnums else self.function


FUNCTIONS: dict[str, Case] = {}


def on(maker: Maker, *argnums: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function into the table."""

    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS[function.__name__] = Case(function, maker, argnums)
        return function

    return put


def table(pick: np.random.Generator, rows: int, *sizes: int) -> Rows:
    """Rows of normal numbers."""
    return Rows(pick.normal(size=(rows, *sizes)))


# Regressions


def regression(pick: np.random.Generator, rows: int) -> tuple[Any, ...]:
    """Coefficients, features, and targets."""
    return pick.normal(size=5), table(pick, rows, 5), table(pick, rows)


def counts(pick: np.random.Generator, rows: int) -> tuple[Any, ...]:
    """Coefficients, features, and counts as targets."""
    return 0.3 * pick.normal(size=5), table(pick, rows, 5), Rows(pick.poisson(2.0, rows))


def classes(pick: np.random.Generator, rows: int) -> tuple[Any, ...]:
    """A matrix of coefficients, features, and the numbers of classes."""
    return pick.normal(size=(5, 3)), table(pick, rows, 5), Rows(pick.integers(3, size=rows))


@on(regression, 0, 1, 2)
def linear_regression(w, X, y):
    return np.mean((X @ w - y) ** 2)


@on(
    lambda pick, rows: (
        {"w": pick.normal(size=5), "b": 0.3},
        table(pick, rows, 5),
        table(pick, rows),
    ),
    0,
)
def ridge_of_a_dict(p, X, y):
    residuals = y - X @ p["w"] - p["b"]
    return 0.5 * np.sum(residuals**2) / y.size + 0.1 * np.linalg.norm(p["w"]) ** 2


@on(regression, 0, 1)
def logistic_regression(w, X, y):
    return np.mean(np.logaddexp(0.0, -np.sign(y) * (X @ w)))


@on(counts, 0, 1)
def poisson_regression(w, X, y):
    eta = X @ w
    return np.sum(np.exp(eta) - y * eta) / X.shape[0]


@on(regression, 0, 1, 2)
def huber_regression(w, X, y):
    r = y - X @ w
    return np.mean(np.where(np.abs(r) < 1.0, 0.5 * r**2, np.abs(r) - 0.5))


@on(regression, 0, 2)
def smooth_quantile_regression(w, X, y, tau=0.3, width=0.1):
    r = y - X @ w
    return np.sum(tau * r + width * np.log1p(np.exp(-r / width)))


@on(classes, 0, 1)
def multinomial_regression(W, X, y):
    scores = X @ W
    top = np.max(scores, axis=1, keepdims=True)
    log_norm = top[:, 0] + np.log(np.sum(np.exp(scores - top), axis=1))
    return np.mean(log_norm - scores[tnp.arange(y.shape[0]), y])


@on(classes, 0)
def multinomial_with_one_hot(W, X, y):
    scores = X @ W
    one_hot = (y[:, None] == np.arange(3)).astype(float)
    return -np.sum(one_hot * (scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))))


@on(regression, 0, 1)
def standardised_logistic_regression(w, X, y):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.mean(np.log1p(np.exp(-np.sign(y) * (Z @ w))))


@on(regression, 0)
def polynomial_features(w, X, y):
    x = np.tanh(X[:, 0])
    return np.mean((np.stack([x**k for k in range(5)], axis=1) @ w - y) ** 2)


@on(regression, 0, 1)
def spline_features(w, X, y):
    knots = np.linspace(-1.0, 1.0, 5)
    basis = np.maximum(X[:, :1] - knots, 0.0) ** 3
    return np.mean((basis @ w - y) ** 2)


@on(regression, 0, 1)
def vandermonde(w, X, y):
    return np.sum((np.vander(X[:, 1], 5) @ w - y) ** 2)


@on(regression, 2)
def normal_equations(w, X, y):
    return np.sum(np.sin(np.linalg.solve(X.T @ X + 0.1 * np.eye(5), X.T @ y)))


# Mixtures and kernels


@on(
    lambda pick, rows: (pick.normal(size=3), pick.normal(size=(3, 2)), pick.normal(size=(3, 2)), table(pick, rows, 2)),
    0, 1, 2, 3,
)  # fmt: skip
def gaussian_mixture(logits, means, log_scales, X):
    z = (X[:, None, :] - means) / np.exp(log_scales)
    terms = -0.5 * np.sum(z**2, axis=2) - np.sum(log_scales, axis=1)
    terms = terms + logits - np.log(np.sum(np.exp(logits)))
    top = np.max(terms, axis=1)
    return -np.mean(top + np.log(np.sum(np.exp(terms - top[:, None]), axis=1)))


@on(lambda pick, rows: (pick.normal(size=(4, 2)), table(pick, rows, 2)), 0, 1)
def soft_k_means(centres, X):
    distances = np.sum((X[:, None] - centres[None]) ** 2, axis=-1)
    weights = np.exp(-distances)
    weights = weights / np.sum(weights, axis=1, keepdims=True)
    moved = weights.T @ X / np.sum(weights, axis=0)[:, None]
    return np.sum((moved - centres) ** 2)


@on(lambda pick, rows: (pick.normal(size=(4, 2)), table(pick, rows, 2)), 0, 1)
def k_means(centres, X):
    distances = np.sum((X[:, None] - centres[None]) ** 2, axis=-1)
    return np.mean(np.min(distances, axis=1))


@on(lambda pick, rows: (pick.normal(size=(4, 2)), table(pick, rows, 2)), 0, 1)
def log_sum_exp_over_rows(points, X):
    logits = -np.sum((points[:, None] - X[None]) ** 2, axis=-1)
    top = np.max(logits, axis=1)
    return np.sum(top + np.log(np.sum(np.exp(logits - top[:, None]), axis=1)))


@on(lambda pick, rows: (pick.normal(size=(4, 2)), table(pick, rows, 2), table(pick, rows)), 0, 1, 2)
def kernel_smoother(points, X, y):
    weights = np.exp(-np.sum((points[:, None] - X) ** 2, axis=-1))
    return np.sum(np.tanh(weights @ y / weights.sum(1)))


@on(regression, 0, 1)
def softmax_over_rows(w, X, y):
    scores = X @ w
    e = np.exp(scores - np.max(scores))
    attention = e / np.sum(e)
    return np.sum(np.sin(attention @ X)) + attention @ y


@on(
    lambda pick, rows: (pick.normal(size=(2, 3)), pick.normal(size=(6, 3)), table(pick, rows, 2)),
    0,
    2,
)
def contrast_with_fixed_points(W, points, X):
    Z = X @ W
    Z = Z / np.sqrt(np.sum(Z**2, axis=1, keepdims=True))
    similar = Z @ points.T
    return np.mean(np.log(np.sum(np.exp(similar), axis=1)) - similar[:, 0])


# Neural networks


def network(pick: np.random.Generator, rows: int) -> tuple[Any, ...]:
    """Layers, features and targets."""
    layers = [(0.5 * pick.normal(size=s), pick.normal(size=s[1])) for s in ((4, 6), (6, 3))]
    return layers, table(pick, rows, 4), table(pick, rows, 3)


@on(network, 0, 1)
def perceptron(layers, X, y):
    for W, b in layers[:-1]:
        X = np.tanh(X @ W + b)
    W, b = layers[-1]
    return np.mean((X @ W + b - y) ** 2)


@on(network, 0, 1)
def layer_norm(layers, X, y):
    for W, b in layers:
        X = X @ W + b
        X = (X - X.mean(axis=-1, keepdims=True)) / np.sqrt(X.var(axis=-1, keepdims=True) + 1e-3)
    return np.sum((X - y) ** 2)


@on(network, 0, 1)
def batch_norm(layers, X, y):
    for W, b in layers:
        X = X @ W
        X = np.maximum(b + (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0) + 1e-3), 0.01 * X)
    return np.mean((X - y) ** 2)


@on(lambda pick, rows: (*network(pick, rows), Rows(pick.random((rows, 6)) < 0.7)), 0)
def dropout(layers, X, y, mask):
    (W, b), (V, c) = layers
    hidden = np.where(mask, np.maximum(X @ W + b, 0.0) / 0.7, 0.0)
    return np.mean((hidden @ V + c - y) ** 2)


@on(
    lambda pick, rows: (0.5 * pick.normal(size=(3, 3)), pick.normal(size=(2, 3)), table(pick, rows, 7, 2)), 0, 1, 2
)  # fmt: skip
def recurrent_network(U, W, X):
    h = tnp.zeros((X.shape[0], 3))
    for t in range(X.shape[1]):
        h = np.tanh(h @ U + X[:, t] @ W)
    return np.mean(h**2)


@on(lambda pick, rows: (pick.normal(size=3), table(pick, rows, 12)), 0, 1)
def convolution_over_features(w, X):
    windows = sum(w[k] * X[:, k : 10 + k] for k in range(3))
    return np.mean(np.max(np.maximum(windows, 0.0).reshape(-1, 5, 2), axis=2) ** 2)


@on(lambda pick, rows: (pick.normal(size=(8, 8)), table(pick, rows, 5, 8)), 0, 1)
def attention_within_rows(W, X):
    scores = (X @ W) @ np.swapaxes(X, 1, 2)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return np.mean((scores / scores.sum(-1, keepdims=True) @ X) ** 2)


# Rows that select


def ratings(pick: np.random.Generator, rows: int) -> tuple[Any, ...]:
    """Factors of users and of things, their numbers in each row, and ratings."""
    i, j = pick.integers(7, size=rows), pick.integers(5, size=rows)
    return pick.normal(size=(7, 2)), pick.normal(size=(5, 2)), Rows(i), Rows(j), table(pick, rows)


@on(ratings, 0, 1, 4)
def factorisation(U, V, i, j, r):
    return np.mean((np.sum(U[i] * V[j], axis=1) - r) ** 2) + 0.1 * np.sum(U**2)


@on(ratings, 0, 4)
def means_of_groups(U, V, i, j, r):
    sums, numbers = tnp.zeros(7), tnp.ones(7)
    np.add.at(sums, i, r)
    np.add.at(numbers, i, 1.0)
    return np.sum(U[:, 0] * sums / numbers)


@on(lambda pick, rows: (0.8, table(pick, rows, 3), Rows(pick.random(rows) < 0.5)), 0, 1)
def masked_mean(c, X, mask):
    return np.sum(np.where(mask[:, None], np.sin(c * X), 0.0)) / np.sum(mask)


@on(lambda pick, rows: (0.8, table(pick, rows, 3)), 0, 1)
def update_of_rows_by_a_mask(c, X):
    Y = c * X
    Y[X > 0.5] = 0.25 * c
    Y[:, 1] = X[:, 0] ** 2
    return np.mean(Y**2)


@on(lambda pick, rows: (pick.normal(size=2), table(pick, rows)), 0, 1)
def numbers_of_rows(w, y):
    t = tnp.arange(y.shape[0]) / y.shape[0]
    return np.mean((y - w[0] - w[1] * np.sin(t)) ** 2)


@on(lambda pick, rows: (0.3, table(pick, rows)), 0, 1)
def decay_over_rows(rate, y):
    return np.sum(np.exp(-rate * tnp.arange(y.shape[0])) * y)


# Other data


@on(
    lambda pick, rows: (
        np.array([0.2, 0.1]),
        Rows(pick.weibull(1.5, rows)),
        Rows(pick.random(rows) < 0.7),
    ),
    0,
    1,
)
def weibull_with_censoring(p, t, seen):
    k, scale = np.exp(p)
    log_hazard = np.log(k / scale) + (k - 1.0) * np.log(t / scale)
    return -np.sum(np.where(seen, log_hazard, 0.0) - (t / scale) ** k)


@on(lambda pick, rows: (np.array([0.5, 0.2]), Rows(1.0 + pick.random((rows, 2)))), 0, 1)
def oscillator_of_each_row(p, state):
    x, v = state[:, 0], state[:, 1]
    for _ in range(20):
        v = v - 0.1 * (p[0] * x + p[1] * v)
        x = x + 0.1 * v
    return np.mean(x**2 + v**2)


@on(
    lambda pick, rows: (pick.normal(size=3), table(pick, rows, 3, 3), table(pick, rows, 3)), 0, 1, 2
)
def solve_in_each_row(w, A, b):
    return np.mean(np.sin(np.linalg.solve(A + 9.0 * np.eye(3), b[..., None])[..., 0] @ w))


@on(lambda pick, rows: (pick.normal(size=3), table(pick, rows, 4, 3)), 0, 1)
def determinant_of_each_row(w, A):
    G = np.swapaxes(A, 1, 2) @ A + np.eye(3)
    return np.sum(np.linalg.slogdet(G)[1]) + np.sum(np.linalg.inv(G) @ w)


@on(
    lambda pick, rows: (pick.normal(size=(3, 4)), table(pick, rows, 3), table(pick, rows, 4)),
    0,
    1,
    2,
)
def einsum_forms(W, X, Y):
    bilinear = np.einsum("ni,ij,nj->n", X, W, Y)
    moments = np.einsum("ni,nj->ij", X, Y)
    return np.mean(np.tanh(bilinear)) + np.sum(np.sin(moments))


@on(lambda pick, rows: (pick.normal(size=8) + 0j, table(pick, rows, 8)), 0, 1)
def filter_of_signals(w, X):
    spectrum = np.fft.fft(X, axis=1) * w
    return np.mean(np.abs(np.fft.ifft(spectrum, axis=1)) ** 2)


@on(
    lambda pick, rows: (
        pick.normal(size=5).astype("f4"),
        Rows(pick.normal(size=(rows, 5)).astype("f4")),
    ),
    0,
    1,
)
def float32(w, X):
    return np.mean(np.log1p(np.exp(X @ w)))


@on(
    lambda pick, rows: (
        pick.normal(size=4),
        Rows(pick.normal(size=(4, rows)), 1),
        table(pick, rows),
    ),
    0,
    1,
    2,
)
def transposed_data(w, X, y):
    Z = (X - X.mean(axis=1)[:, None]) / X.std(axis=1, keepdims=True)
    return np.mean((w @ Z - y) ** 2)


@dataclasses.dataclass
class Model:
    """Parameters of a straight line."""

    slope: Any
    offset: Any


@on(
    lambda pick, rows: (
        Model(pick.normal(size=3), 0.5),
        {"x": table(pick, rows, 3), "y": table(pick, rows)},
    ),
    0,
    1,
)
def dataclass_and_dict(model, data):
    return np.mean((data["x"] @ model.slope + model.offset - data["y"]) ** 2)


# Derivatives and markers inside


def loss_of(X, y):
    return lambda w: np.mean(np.logaddexp(0.0, -y * (X @ w)))


@on(regression, 0)
def hessian_vector_product_inside(w, X, y):
    return np.sum(np.sin(tj.hvp(loss_of(X, y), w, np.ones(5))))


@on(regression, 0)
def tangent_inside(w, X, y):
    return tj.jvp(loss_of(X, y), (w,), (np.ones(5),))[1]


@on(regression, 0, 1)
def two_steps_of_descent(w, X, y):
    for _ in range(2):
        w = w - 0.1 * tj.grad(loss_of(X, y))(w)
    return loss_of(X, y)(w)


@on(regression, 0, 1)
def gradient_that_stops(w, X, y):
    targets = tj.stop_gradient(np.tanh(X @ w))
    return np.mean((X @ w - targets) ** 2)


@tj.custom_gradient
def clipped(x):
    return np.clip(x, -1.0, 1.0), lambda g: g * np.exp(-(x**2))


@on(regression, 0, 1)
def gradient_of_the_users_own(w, X, y):
    return np.mean(clipped(X @ w) * y)


@on(regression, 0, 1)
def recomputed_gradient(w, X, y):
    layer = tj.recompute_grad(lambda w: np.tanh(X @ w) * y)
    return np.sum(layer(w) ** 2)
