"""A mixture of Gaussians and a Gaussian process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import add, divide, empty, exp, log, matmul, maximum, multiply, ones, subtract

from tests.benchmarks.by_hand.machine import (
    THREADS,
    TILE,
    WORKER,
    constant,
    halves,
    refuse,
    set_threads,
)

cholesky, inverse = np.linalg.cholesky, np.linalg.inv


def gmm(weights: Any, means: Any, scales: Any, lower: Any, x: Any) -> Callable[..., Any]:
    """Points last, all components at once. With F the factor of a precision, c = x - mean and r
    the share of each component in each point, the gradient by F is -F sum(r c c^T) and by the mean
    F^T F sum(r c), so that nothing of the size of the points goes back through F."""
    shapes = [one.shape for one in (weights, means, scales, lower, x)]
    double, (k, d), n = x.dtype, means.shape, x.shape[0]
    large = k * d * n > 100_000
    size = min(n, max(TILE // (8 * k * d), 1)) if large else n
    parts = halves(n, size) if large else ([(0, n)], [])
    tiles = [[GaussianTile(k, d, stop - start) for start, stop in part] for part in parts]
    factor, below = empty((k, d, d)), np.tril(ones((d, d)), -1)
    transposed, diagonal = factor.transpose(0, 2, 1), np.arange(d)

    def run(number: int, means: Any, offset: Any, x: Any) -> None:
        for (start, stop), tile in zip(parts[number], tiles[number], strict=True):
            tile.run(factor, means, offset, x[start:stop])

    def value_and_grad(weights: Any, means: Any, scales: Any, lower: Any, x: Any) -> Any:
        given = weights, means, scales, lower, x
        for value, shape in zip(given, shapes, strict=True):
            if value.shape != shape or value.dtype is not double:
                refuse(*given)
        stretch = exp(scales)
        multiply(lower, below, factor)
        factor[:, diagonal, diagonal] = stretch
        columns, offset = means[:, :, None], (weights + add.reduce(scales, 1))[:, None]
        if large:
            WORKER.both(lambda: run(0, columns, offset, x), lambda: run(1, columns, offset, x))
        else:
            run(0, columns, offset, x)
        every = [*tiles[0], *tiles[1]]
        likelihood, count = (
            sum(tile.likelihood for tile in every),
            sum(tile.count for tile in every),
        )
        first, moment = sum(tile.first for tile in every), sum(tile.moment for tile in every)
        top = maximum.reduce(weights)
        prior = exp(weights - top)
        mass = add.reduce(prior)
        value = n * (top + log(mass)) - likelihood
        lower_bar = matmul(factor, moment)
        means_bar = matmul(transposed, matmul(factor, first[:, :, None]))[:, :, 0]
        scales_bar = lower_bar[:, diagonal, diagonal] * stretch - count[:, None]
        multiply(lower_bar, below, lower_bar)
        return value, (prior * (n / mass) - count, -means_bar, scales_bar, lower_bar)

    return value_and_grad


class GaussianTile:
    """The sums over some of the points: of the likelihood, and of r, r c, r c c^T."""

    def __init__(self, k: int, d: int, n: int) -> None:
        self.across, self.centered, self.white = empty((d, n)), empty((k, d, n)), empty((k, d, n))
        self.likely, self.top, self.total = empty((k, 1, n)), empty(n), empty(n)
        self.flat, self.turned = self.likely[:, 0], self.centered.transpose(0, 2, 1)
        self.ones_d, self.ones_k, self.ones_n = ones((1, d)), ones(k), ones(n)
        self.minus_half = constant(-0.5)
        self.count, self.first, self.moment = empty(k), empty((k, d)), empty((k, d, d))
        self.likelihood = 0.0

    def run(self, factor: Any, means: Any, offset: Any, x: Any) -> None:
        """Sum over these points."""
        centered, white, flat = self.centered, self.white, self.flat
        top, total, ones_n = self.top, self.total, self.ones_n
        np.copyto(self.across, x.T)
        subtract(self.across, means, centered)
        matmul(factor, centered, white)
        multiply(white, white, white)
        matmul(self.ones_d, white, self.likely)
        multiply(flat, self.minus_half, flat)
        add(flat, offset, flat)
        maximum.reduce(flat, 0, None, top)
        subtract(flat, top, flat)
        exp(flat, flat)
        self.ones_k.dot(flat, total)
        divide(flat, total, flat)
        log(total, total)
        self.likelihood = float(top.dot(ones_n) + total.dot(ones_n))
        flat.dot(ones_n, self.count)
        multiply(centered, self.likely, white)
        white.dot(ones_n, self.first)
        matmul(white, self.turned, self.moment)


def gp(log_length: Any, log_noise: Any, x: Any, y: Any) -> Callable[..., Any]:
    """With C the inverse of the Cholesky factor and a = K^-1 y, the gradient of the loss by K is
    (C^T C - a a^T) / 2. Factors of this size are faster on one thread of BLAS."""
    shape, double, n = x.shape, x.dtype, x.size
    squares, kernel, product = empty((n, n)), empty((n, n)), empty((n, n))
    invert = triangular_inverse(n)
    flat_product, step = product.reshape(-1), n + 1

    def value_and_grad(log_length: Any, log_noise: Any, x: Any, y: Any) -> Any:
        if x.shape != shape or y.shape != shape or x.dtype is not double or y.dtype is not double:
            refuse(x, y)
        set_threads(1)
        try:
            subtract(x[:, None], x, squares)
            multiply(squares, squares, squares)
            multiply(squares, np.array(-0.5 * np.exp(-2.0 * log_length)), squares)
            exp(squares, kernel)
            noise = float(np.exp(2.0 * log_noise))
            multiply(kernel, squares, product)
            np.add(kernel.reshape(-1)[::step], noise, out=kernel.reshape(-1)[::step])
            factor = cholesky(kernel)
            c = invert(factor)
            white = c.dot(y)
            value = 0.5 * white.dot(white) + add.reduce(log(factor.reshape(-1)[::step]))
            a = white.dot(c)
            precision = c.T.dot(c)
            slope = precision.reshape(-1).dot(flat_product) - a.dot(product.dot(a))
            trace = add.reduce(precision.reshape(-1)[::step]) - a.dot(a)
        finally:
            set_threads(THREADS)
        return value, (np.float64(-slope), np.float64(noise * trace))

    return value_and_grad


def triangular_inverse(n: int) -> Callable[[Any], Any]:
    """The inverse of lower triangular matrices of n rows: blocks of the diagonal in one batch,
    then twice their size, and so on."""
    leaf = n
    while leaf % 2 == 0 and leaf > 32:
        leaf //= 2
    c = np.zeros((n, n))
    count = n // leaf

    def blocks(matrix: Any, size: int, down: int) -> Any:
        """Every block of the diagonal, or the one below every other one."""
        row, column = matrix.strides
        steps = size * (1 + down)
        return np.lib.stride_tricks.as_strided(
            matrix[down * size :], (n // steps, size, size), (steps * (row + column), row, column)
        )

    def invert(factor: Any) -> Any:
        blocks(c, leaf, 0)[...] = inverse(blocks(factor, leaf, 0))
        size = leaf
        while size < n:
            for start in range(0, n, 2 * size):
                middle, stop = start + size, start + 2 * size
                first, last = c[start:middle, start:middle], c[middle:stop, middle:stop]
                below = last.dot(factor[middle:stop, start:middle]).dot(first)
                subtract(0.0, below, c[middle:stop, start:middle])
            size *= 2
        return c

    return invert if count * leaf == n else inverse
