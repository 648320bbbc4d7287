"""A mixture of Gaussians and a Gaussian process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import add, divide, empty, exp, log, matmul, maximum, multiply, ones, subtract

from tests.benchmarks.by_hand.machine import THREADS, constant, refuse, set_threads

cholesky, inverse = np.linalg.cholesky, np.linalg.inv


def gmm(weights: Any, means: Any, scales: Any, lower: Any, x: Any) -> Callable[..., Any]:
    """All components at once, points last: with F the factor of a precision, c = x - mean and
    r the share of each component in each point, the gradient by F is -F sum(r c c^T) and by the
    mean F^T F sum(r c), so that nothing of the size of the points goes back through F."""
    shapes = [one.shape for one in (weights, means, scales, lower, x)]
    double, (k, d), n = x.dtype, means.shape, x.shape[0]
    across, factor = empty((d, n)), empty((k, d, d))
    centered, white, likely, share = (
        empty((k, d, n)),
        empty((k, d, n)),
        empty((k, n)),
        empty((k, n)),
    )
    top, total, row, weighted = empty(n), empty(n), empty((k, 1, n)), empty((k, d, n))
    flat_share, below = row.reshape(k, n), np.tril(ones((d, d)), -1)
    diagonal = np.arange(d)
    minus_half, ones_n, ones_k = constant(-0.5), ones(n), ones(k)
    minus_one = constant(-1.0)

    def value_and_grad(weights: Any, means: Any, scales: Any, lower: Any, x: Any) -> Any:
        given = weights, means, scales, lower, x
        for value, shape in zip(given, shapes, strict=True):
            if value.shape != shape or value.dtype is not double:
                refuse(*given)
        np.copyto(across, x.T)
        stretch = exp(scales)
        multiply(lower, below, factor)
        factor[:, diagonal, diagonal] = stretch
        subtract(across, means[:, :, None], centered)
        matmul(factor, centered, white)
        multiply(white, white, white)
        add.reduce(white, 1, None, likely)
        multiply(likely, minus_half, likely)
        add(likely, (weights + add.reduce(scales, 1))[:, None], likely)
        maximum.reduce(likely, 0, None, top)
        subtract(likely, top, likely)
        exp(likely, share)
        ones_k.dot(share, total)
        divide(share, total, flat_share)
        log(total, total)
        likelihood = top.dot(ones_n) + total.dot(ones_n)
        count = flat_share.dot(ones_n)
        prior = exp(weights - maximum.reduce(weights))
        mass = add.reduce(prior)
        value = n * (maximum.reduce(weights) + log(mass)) - likelihood
        multiply(centered, row, weighted)
        moment = matmul(weighted, centered.transpose(0, 2, 1))
        factor_bar = matmul(factor, moment)
        first = matmul(factor, weighted.dot(ones_n)[:, :, None])
        means_bar = matmul(factor.transpose(0, 2, 1), first)[:, :, 0]
        scales_bar = factor_bar[:, diagonal, diagonal] * stretch - count[:, None]
        multiply(factor_bar, below, factor_bar)
        multiply(means_bar, minus_one, means_bar)
        return value, (prior * (n / mass) - count, means_bar, scales_bar, factor_bar)

    return value_and_grad


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
