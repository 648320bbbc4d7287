"""Losses of classifiers: logistic, softmax, a perceptron."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import (
    absolute,
    add,
    divide,
    empty,
    exp,
    log,
    log1p,
    matmul,
    maximum,
    multiply,
    negative,
    ones,
    subtract,
    tanh,
)

from tests.benchmarks.by_hand.machine import TILE, WORKER, constant, halves, refuse

highest = maximum.reduce


def logreg(w: Any, x: Any, y: Any) -> Callable[..., Any]:
    """In one go, or in tiles of rows on two threads, each row read from memory once."""
    n, d = x.shape
    double, w_shape, x_shape, y_shape = w.dtype, w.shape, x.shape, y.shape
    large = x.nbytes > 2**21
    size = n if not large else max(TILE // x[0].nbytes, 1)
    parts = [[(0, n)], []] if not large else list(halves(n, size))
    spaces = [[empty(size) for _ in range(3)] for part in parts if part]
    ones_, zero, half = ones(size), constant(0.0), constant(0.5)
    share, half_share = constant(1.0 / n), constant(0.5 / n)

    def tile(w: Any, x: Any, y: Any, one: Any, z: Any, t: Any, r: Any) -> tuple[Any, Any]:
        x.dot(w, z)
        maximum(z, zero, out=t)
        total = t.dot(one) - y.dot(z)
        absolute(z, t)
        negative(t, t)
        exp(t, t)
        log1p(t, t)
        total += t.dot(one)
        multiply(z, half, z)
        tanh(z, z)
        multiply(z, half_share, z)
        subtract(half, y, r)
        multiply(r, share, r)
        add(z, r, z)
        return total, z.dot(x)

    def run(number: int, w: Any, x: Any, y: Any, found: list[Any]) -> None:
        space, total, w_bar = spaces[number], 0.0, np.zeros(d)
        for start, stop in parts[number]:
            m = stop - start
            kept = (ones_, *space) if m == size else (one[:m] for one in (ones_, *space))
            value, slope = tile(w, x[start:stop], y[start:stop], *kept)
            total += value
            add(w_bar, slope, w_bar)
        found[number] = total, w_bar

    ridge = constant(0.02)

    def value_and_grad(w: Any, x: Any, y: Any) -> Any:
        if w.shape != w_shape or x.shape != x_shape or y.shape != y_shape:
            refuse(w, x, y)
        if w.dtype is not double or x.dtype is not double or y.dtype is not double:
            refuse(w, x, y)
        if not large:
            total, w_bar = tile(w, x, y, ones_, *spaces[0])
        else:
            found: list[Any] = [None, None]
            WORKER.both(lambda: run(0, w, x, y, found), lambda: run(1, w, x, y, found))
            total, w_bar = found[0][0] + found[1][0], add(found[0][1], found[1][1])
        add(w_bar, multiply(w, ridge), w_bar)
        return total / n + 0.01 * w.dot(w), w_bar

    return value_and_grad


def cross_entropy(dtype: Any, n: int, classes: int) -> Callable[..., Any]:
    """The loss of rows of logits, times n, and its gradient into `l_bar`. The arrays besides are
    of one column per class, and of one number per row."""
    ones_, share = ones(classes, dtype), constant(1.0 / n, dtype)

    def tile(logits: Any, y: Any, l_bar: Any, e: Any, top: Any, total: Any, weight: Any) -> Any:
        highest(logits, 1, None, top, True)
        subtract(logits, top, e)
        value = -e.ravel().dot(y.ravel())
        exp(e, e)
        e.dot(ones_, total)
        y.dot(ones_, weight)
        flat = top[:, 0]
        log(total, flat)
        value += weight.dot(flat)
        divide(weight, total, flat)
        multiply(flat, share, flat)
        multiply(e, top, e)
        multiply(y, share, l_bar)
        subtract(e, l_bar, l_bar)
        return value

    return tile


def entropy_space(dtype: Any, rows: int, classes: int) -> list[Any]:
    """The workspace of `cross_entropy`."""
    columns = empty((rows, classes), dtype), empty((rows, 1), dtype)
    return [*columns, empty(rows, dtype), empty(rows, dtype)]


def softmax_xent(logits: Any, y: Any) -> Callable[..., Any]:
    """In tiles of rows on two threads."""
    (n, classes), shape, dtype = logits.shape, logits.shape, logits.dtype
    size = min(TILE // logits[0].nbytes, n)
    parts = halves(n, size)
    spaces = [entropy_space(dtype, size, classes) for _ in parts]
    tile = cross_entropy(dtype, n, classes)

    def half(number: int, logits: Any, y: Any, l_bar: Any, sums: list[float]) -> None:
        space, total = spaces[number], 0.0
        for start, stop in parts[number]:
            kept = space if stop - start == size else [one[: stop - start] for one in space]
            total += float(tile(logits[start:stop], y[start:stop], l_bar[start:stop], *kept))
        sums[number] = total

    def value_and_grad(logits: Any, y: Any) -> Any:
        if logits.shape != shape or y.shape != shape:
            refuse(logits, y)
        if logits.dtype is not dtype or y.dtype is not dtype:
            refuse(logits, y)
        l_bar, sums = empty(shape, dtype), [0.0, 0.0]
        WORKER.both(
            lambda: half(0, logits, y, l_bar, sums), lambda: half(1, logits, y, l_bar, sums)
        )
        return dtype.type((sums[0] + sums[1]) / n), l_bar

    return value_and_grad


def mlp_softmax(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Callable[..., Any]:
    """Products are left to BLAS and its threads."""
    dtype, shapes = x.dtype, [one.shape for one in (w1, b1, w2, b2, x, y)]
    (n, _), (hidden, classes) = x.shape, w2.shape
    h, h_bar = empty((n, hidden), dtype), empty((n, hidden), dtype)
    logits, l_bar = empty((n, classes), dtype), empty((n, classes), dtype)
    space, ones_ = entropy_space(dtype, n, classes), ones(n, dtype)
    one, entropy = constant(1.0, dtype), cross_entropy(dtype, n, classes)

    def value_and_grad(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        given = w1, b1, w2, b2, x, y
        for value, shape in zip(given, shapes, strict=True):
            if value.shape != shape or value.dtype is not dtype:
                refuse(*given)
        matmul(x, w1, h)
        add(h, b1, h)
        tanh(h, h)
        h.dot(w2, logits)
        add(logits, b2, logits)
        loss = entropy(logits, y, l_bar, *space) / n
        w2_bar, b2_bar = h.T.dot(l_bar), ones_.dot(l_bar)
        matmul(l_bar, w2.T, h_bar)
        multiply(h, h, h)
        subtract(one, h, h)
        multiply(h_bar, h, h_bar)
        return loss, (matmul(x.T, h_bar), ones_.dot(h_bar), w2_bar, b2_bar)

    return value_and_grad
