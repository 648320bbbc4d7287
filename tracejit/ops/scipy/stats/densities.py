"""scipy.stats: densities estimated by kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from tracejit.ops.base.op import composite
from tracejit.ops.base.twins import Twin, as_doubles, twin


@twin(stats.gaussian_kde)
@dataclass
class KernelDensity(Twin):
    """Points, with the covariance of a normal distribution around each, and their weights."""

    dataset: Any
    covariance: Any
    weights: Any

    @classmethod
    def attributes(cls, made: Any) -> list[str]:
        """The attributes of an object of SciPy's."""
        return ["dataset", "covariance", "weights"]

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at the points in columns."""
        x = np.atleast_2d(as_doubles(x))
        size = np.shape(self.dataset)[0]
        if np.shape(x)[0] != size:
            if np.shape(x) != (1, size):
                raise ValueError(f"points have dimension {np.shape(x)[0]}, dataset has {size}")
            x = np.reshape(x, (size, 1))
        root = np.linalg.cholesky(self.covariance)
        centers, points = (np.linalg.solve(root, one) for one in (self.dataset, x))
        energy = np.sum((centers[:, :, None] - points[:, None, :]) ** 2, axis=0) / 2
        terms = np.log(self.weights)[:, None] - energy
        top = np.max(terms, axis=0)
        total = top + np.log(np.sum(np.exp(terms - top), axis=0))
        scale = np.sum(np.log(np.diagonal(root))) + size / 2 * math.log(2 * math.pi)
        return total - scale

    def evaluate(self, points: Any) -> Any:
        """The density at the points in columns."""
        return np.exp(self.logpdf(points))

    __call__ = pdf = evaluate


@composite(stats.gaussian_kde)
def gaussian_kde(dataset: Any, bw_method: Any = None, weights: Any = None) -> Any:
    """A density by normal distributions around points."""
    dataset = np.atleast_2d(as_doubles(dataset))
    size, count = np.shape(dataset)
    if count < 2:
        raise ValueError("`dataset` input should have multiple elements.")
    if weights is None:
        weights, effective = np.full(count, 1.0 / count), float(count)
    else:
        weights = as_doubles(weights)
        weights = weights / np.sum(weights)
        effective = 1 / np.sum(weights**2)
    if callable(bw_method):
        raise TypeError("a function as bw_method is not supported; pass the number that it returns")
    if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
        factor = effective ** (-1.0 / (size + 4))
    elif isinstance(bw_method, str) and bw_method == "silverman":
        factor = (effective * (size + 2.0) / 4.0) ** (-1.0 / (size + 4))
    elif isinstance(bw_method, str):
        raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar or a callable.")
    else:
        factor = as_doubles(bw_method)
    centered = dataset - np.sum(weights * dataset, axis=1, keepdims=True)
    spread = (weights * centered) @ centered.T / (1 - np.sum(weights**2))
    return KernelDensity(dataset, spread * factor**2, weights)
