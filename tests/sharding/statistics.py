"""Statistics of data in rows, added to the table of functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.sharding.driver import Rows
from tests.sharding.functions import on, regression, table


def data(pick: np.random.Generator, rows: int) -> tuple[Any, ...]:
    """Rows alone."""
    return (table(pick, rows, 3),)


def weighted(pick: np.random.Generator, rows: int) -> tuple[Any, ...]:
    """Rows, and a weight of each."""
    return table(pick, rows, 3), Rows(pick.random(rows) + 0.1)


@on(data, 0)
def moments(X):
    z = X - np.mean(X, axis=0)
    variance = np.mean(z**2, axis=0)
    skewness = np.mean(z**3, axis=0) / variance**1.5
    return np.sum(np.sin(skewness)) + np.sum(np.mean(z**4, axis=0) / variance**2)


@on(data, 0)
def standard_deviations(X):
    return np.sum(np.std(X, axis=0, ddof=1)) + np.var(X) + np.sum(X.std(axis=1))


@on(data, 0)
def covariance(X):
    return np.sum(np.sin(np.cov(X, rowvar=False)))


@on(data, 0)
def correlation(X):
    z = X - X.mean(axis=0)
    C = z.T @ z / (X.shape[0] - 1)
    d = np.sqrt(np.diagonal(C))
    return np.sum(np.tril(C / np.outer(d, d), -1) ** 2)


@on(data, 0)
def correlation_by_numpy(X):
    return np.sum(np.corrcoef(X, rowvar=False) ** 3)


@on(weighted, 0, 1)
def weighted_means(X, weights):
    mean = np.average(X, axis=0, weights=weights)
    return np.sum(np.average((X - mean) ** 2, axis=0, weights=weights))


@on(weighted, 1)
def geometric_mean(X, weights):
    return np.exp(np.mean(np.log(weights))) + 1.0 / np.mean(1.0 / weights)


@on(weighted, 0, 1)
def extremes(X, weights):
    return np.sum(np.ptp(X, axis=0)) + np.max(weights) * X.min() + np.sum(np.amax(X, axis=0) ** 2)


@on(lambda pick, rows: (Rows(pick.integers(4, size=(rows, 2)).astype(float)),), 0)
def extremes_with_ties(x):
    return np.sum(np.max(x, axis=0) ** 2) + np.min(x)


@on(data)
def questions(X):
    mask = X > 1.0
    return (
        np.any(mask, axis=0),
        np.all(X > -9.0),
        np.count_nonzero(mask, axis=0),
        np.sum(mask, axis=0),
        mask,
    )


@on(data, 0)
def norms_over_rows(X):
    return (
        np.linalg.norm(X) + np.sum(np.linalg.norm(X, axis=0)) + np.mean(np.linalg.norm(X, axis=1))
    )


@on(weighted)
def product_of_rows(X, weights):
    return np.prod(0.5 + weights)


@on(data, 0)
def sum_of_all_elements(X):
    return np.sum(X) / X.size + np.mean(X) + (X**2).mean(axis=(0, 1))


@on(data, 0)
def gram_and_cholesky(X):
    G = X.T @ X / X.shape[0] + 0.1 * np.eye(3)
    L = np.linalg.cholesky(G)
    return np.sum(L**3) + np.linalg.slogdet(G)[1] + np.trace(np.linalg.inv(G))


@on(data, 0)
def whitening(X):
    z = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(z.T @ z / z.shape[0] + np.diag([0.0, 1.0, 2.0]))
    W = vectors @ np.diag(values**-0.5) @ vectors.T
    return np.mean(np.tanh(z @ W) ** 2)


@on(data)
def histogram(X):
    return np.histogram(X[:, 0], bins=np.linspace(-2.0, 2.0, 9))


@on(data)
def histogram_by_search(X):
    places = np.searchsorted(np.linspace(-2.0, 2.0, 9), X[:, 1])
    return np.sum(places[:, None] == np.arange(10), axis=0), np.digitize(X[:, 0], [-1.0, 0.0, 1.0])


@on(data, 0)
def missing_values(X):
    holes = np.where(X > 1.5, np.nan, X)
    return np.sum(np.nanmean(holes, axis=0)) + np.nansum(holes**2) + np.nanmax(holes)


@on(regression)
def results_of_all_kinds(w, X, y):
    return {
        "w": w,
        "X": X,
        "scores": X @ w,
        "mean": y.mean(),
        "rows": y.shape[0],
        "two": [2 * w, y],
    }


@on(lambda pick, rows: (table(pick, rows, 2, 3),), 0)
def axes_moved(X):
    Y = np.moveaxis(X, 0, -1).reshape(6, X.shape[0])
    centred = Y - Y.mean(axis=1, keepdims=True)
    return np.mean(np.tanh(centred)) + np.sum(np.sin(centred @ Y.T / Y.shape[1]))


@on(lambda pick, rows: (table(pick, rows, 2, 3),), 0)
def rows_flattened(X):
    flat = X.reshape(X.shape[0], -1)
    return np.sum(np.tanh(flat).mean(axis=0)) + np.sum(X.ravel() ** 2) + np.vdot(flat, flat)


@on(lambda pick, rows: (Rows(pick.integers(9, size=rows)), Rows(pick.integers(9, size=rows))))
def integers(x, y):
    return x.sum(), x.mean(), (x * y).max(), x @ y, x // 2, np.bitwise_or(x, y), x.sum() % 7
