"""Rosenbrock's function, eight rounds over two numbers, the elementwise chain, Black-Scholes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import add, divide, empty, exp, log, multiply, negative, sqrt, subtract, tanh

from tests.benchmarks.by_hand.machine import TILE, WORKER, constant, halves, refuse

LARGE = 60_000  # elements from which two threads pay


def rosenbrock(x: Any) -> Callable[..., Any]:
    """In one go, or on two threads."""
    return rosenbrock_tiled(x) if x.size > LARGE else rosenbrock_small(x)


def rosenbrock_small(x: Any) -> Callable[..., Any]:
    """d = x1 - x0^2, r = x0 - 1; half of the gradient is r - 200 d x0 at x0 and 100 d at x1."""
    shape, double, n = x.shape, x.dtype, x.size
    d, r, t = empty(n - 1), empty(n - 1), empty(n - 1)
    one, hundred = constant(1.0), constant(100.0)

    def value_and_grad(x: Any) -> Any:
        if x.shape != shape or x.dtype is not double:
            refuse(x)
        x0 = x[:-1]
        multiply(x0, x0, t)
        subtract(x[1:], t, d)
        subtract(x0, one, r)
        value = 100.0 * d.dot(d) + r.dot(r)
        multiply(d, hundred, d)
        multiply(d, x0, t)
        add(t, t, t)
        x_bar = empty(n)
        subtract(r, t, x_bar[:-1])
        x_bar[-1] = 0.0
        later = x_bar[1:]
        add(later, d, later)
        add(x_bar, x_bar, x_bar)
        return value, x_bar

    return value_and_grad


def rosenbrock_tiled(x: Any) -> Callable[..., Any]:
    """The gradient at k from the terms k - 1 and k, so that each tile is written once."""
    shape, double, n = x.shape, x.dtype, x.size
    size = TILE // 8
    one, minus400, two, two_hundred = map(constant, (1.0, -400.0, 2.0, 200.0))
    parts = halves(n - 1, size)
    spaces = [[empty(size + 1) for _ in range(3)] for _ in parts]

    def half(number: int, x: Any, x_bar: Any, sums: list[float]) -> None:
        d_, r_, t_ = spaces[number]
        total = 0.0
        for start, stop in parts[number]:
            before = 1 if start else 0
            m = stop - start
            x0, d, t = x[start - before : stop], d_[: m + before], t_[: m + before]
            multiply(x0, x0, t)
            subtract(x[start - before + 1 : stop + 1], t, d)
            x0, own, r, t = x[start:stop], d[before:], r_[:m], t_[:m]
            subtract(x0, one, r)
            total += 100.0 * own.dot(own) + r.dot(r)
            here = x_bar[start:stop]
            multiply(own, minus400, t)
            multiply(t, x0, t)
            multiply(r, two, r)
            if before:
                add(r, t, t)
                multiply(d[:-1], two_hundred, r)
                add(r, t, here)
            else:
                add(r, t, here)
                multiply(d[:-1], two_hundred, r[:-1])
                add(here[1:], r[:-1], here[1:])
            if stop == n - 1:
                x_bar[stop] = 200.0 * own[-1]
        sums[number] = total

    def value_and_grad(x: Any) -> Any:
        if x.shape != shape or x.dtype is not double:
            refuse(x)
        x_bar, sums = empty(n), [0.0, 0.0]
        WORKER.both(lambda: half(0, x, x_bar, sums), lambda: half(1, x, x_bar, sums))
        return sums[0] + sums[1], x_bar

    return value_and_grad


def scalar(a: Any, b: Any) -> Callable[..., Any]:
    """Python's floats."""
    sin, cos, e = math.sin, math.cos, math.exp

    def value_and_grad(a: Any, b: Any) -> Any:
        x, b = float(a), float(b)
        share = 1.0 / (1.0 + b * b)
        kept = []
        for _ in range(8):
            s, g = sin(x), e(-x * x) * share
            kept.append((x, s, g))
            x = s * b + g
        x_bar, b_bar, g_sum = 1.0, 0.0, 0.0
        for before, s, g in reversed(kept):
            b_bar += x_bar * s
            g_sum += x_bar * g
            x_bar *= cos(before) * b - 2.0 * before * g
        return x, (np.float64(x_bar), np.float64(b_bar - 2.0 * b * share * g_sum))

    return value_and_grad


def elementwise(w: Any, x: Any) -> Callable[..., Any]:
    """In one go, or in tiles on two threads."""
    n, dtype, shape = x.size, x.dtype, x.shape
    size = n if n <= LARGE else TILE // dtype.itemsize
    parts = [[(0, n)], []] if n <= LARGE else list(halves(n, size))
    spaces = [[empty(size, dtype) for _ in range(5)] for part in parts if part]
    tile = elementwise_tile(dtype, n)

    def half(number: int, w: Any, x: Any, w_bar: Any, x_bar: Any, sums: list[Any]) -> None:
        space, total = spaces[number], 0.0
        for start, stop in parts[number]:
            own = slice(start, stop)
            parted = space if stop - start == size else [kept[: stop - start] for kept in space]
            total += float(tile(w[own], x[own], w_bar[own], x_bar[own], *parted))
        sums[number] = total

    def value_and_grad(w: Any, x: Any) -> Any:
        if w.shape != shape or x.shape != shape or w.dtype is not dtype or x.dtype is not dtype:
            refuse(w, x)
        w_bar, x_bar = empty(n, dtype), empty(n, dtype)
        if n <= LARGE:
            return tile(w, x, w_bar, x_bar, *spaces[0]) / n, (w_bar, x_bar)
        sums = [0.0, 0.0]
        WORKER.both(
            lambda: half(0, w, x, w_bar, x_bar, sums), lambda: half(1, w, x, w_bar, x_bar, sums)
        )
        return dtype.type((sums[0] + sums[1]) / n), (w_bar, x_bar)

    return value_and_grad


def elementwise_tile(dtype: Any, n: int) -> Callable[..., Any]:
    """With s the sigmoid, t the tanh, d = t - s and q = 2 d exp(-x^2) / n: the gradient by w is
    p x and by x is p w - q (s (1 - s) + x d), where p = q (1 - t^2)."""
    one, half, scale = constant(1.0, dtype), constant(0.5, dtype), constant(2.0 / n, dtype)
    by_tanh = dtype == np.float32

    def tile(w: Any, x: Any, w_bar: Any, x_bar: Any, s: Any, t: Any, d: Any, q: Any, p: Any) -> Any:
        negative(x, p)
        multiply(x, p, q)
        exp(q, q)
        if by_tanh:
            multiply(x, half, s)
            tanh(s, s)
            multiply(s, half, s)
            add(s, half, s)
        else:
            exp(p, s)
            add(s, one, s)
            divide(one, s, s)
        multiply(w, x, t)
        tanh(t, t)
        subtract(t, s, d)
        multiply(q, d, q)
        total = q.dot(d)
        multiply(q, scale, q)
        multiply(t, t, t)
        subtract(one, t, t)
        multiply(t, q, p)
        multiply(p, x, w_bar)
        multiply(p, w, x_bar)
        subtract(one, s, t)
        multiply(t, s, t)
        multiply(x, d, d)
        add(t, d, t)
        multiply(t, q, t)
        subtract(x_bar, t, x_bar)
        return total

    return tile


def black_scholes(
    spot: Any, volatility: Any, strike: Any, maturity: Any, rate: Any
) -> Callable[..., Any]:
    """In tiles on two threads; forward and backward of a tile in one go."""
    n, shape, double = spot.size, spot.shape, spot.dtype
    size = min(TILE // 8, max(n // 2, 1))
    parts = halves(n, size)
    spaces = [[empty(size) for _ in range(10)] for _ in parts]
    tile = black_scholes_tile(n)

    def half(number: int, given: Any, rate: Any, bars: Any, sums: list[float]) -> None:
        space, total = spaces[number], 0.0
        for start, stop in parts[number]:
            own = slice(start, stop)
            kept = space if stop - start == size else [one[: stop - start] for one in space]
            total += tile(*(one[own] for one in (*given, *bars)), rate, -rate, *kept)
        sums[number] = total

    def value_and_grad(spot: Any, volatility: Any, strike: Any, maturity: Any, rate: Any) -> Any:
        given = spot, volatility, strike, maturity
        for one in given:
            if one.shape != shape or one.dtype is not double:
                refuse(*given)
        rate = np.array(rate, float)
        bars, sums = (empty(n), empty(n)), [0.0, 0.0]
        WORKER.both(
            lambda: half(0, given, rate, bars, sums), lambda: half(1, given, rate, bars, sums)
        )
        return sums[0] + sums[1], bars

    return value_and_grad


def black_scholes_tile(n: int) -> Callable[..., Any]:
    """The price is S' (1 + t1) - K' (1 + t2), with half of the mean's 1/n in S' and K', and
    t = tanh(u), u = c d + c a d^3. With the slopes D1, D2 of the price by d1, d2, D = D1 + D2, the
    gradient by the spread v = volatility sqrt(T) is -D2 - D d2 / v, and by the spot
    (1 + t1) / 2n + D / (S v)."""
    c, c_a = 0.7978845608028654, 0.7978845608028654 * 0.044715
    c0, c3, three, one, half = map(constant, (c, c_a, 3.0, 1.0, 0.5))
    share = constant(0.5 / n)

    def tile(
        spot: Any, volatility: Any, strike: Any, maturity: Any, spot_bar: Any, volatility_bar: Any,
        rate: Any, minus_rate: Any,
        root: Any, v: Any, d1: Any, d2: Any, t1: Any, t2: Any, p1: Any, p2: Any, s: Any, k: Any,
    ) -> float:  # fmt: skip
        sqrt(maturity, root)
        multiply(volatility, root, v)
        divide(spot, strike, d1)
        log(d1, d1)
        multiply(maturity, rate, s)
        add(d1, s, d1)
        divide(d1, v, d1)
        multiply(v, half, s)
        add(d1, s, d1)
        subtract(d1, v, d2)
        multiply(maturity, minus_rate, k)
        exp(k, k)
        multiply(k, strike, k)
        multiply(k, share, k)
        multiply(spot, share, s)
        for d, t, p in ((d1, t1, p1), (d2, t2, p2)):
            multiply(d, d, p)
            multiply(p, c3, p)
            add(p, c0, t)
            multiply(t, d, t)
            tanh(t, t)
            multiply(p, three, p)
            add(p, c0, p)
        multiply(t1, t1, spot_bar)
        subtract(one, spot_bar, spot_bar)
        multiply(p1, spot_bar, p1)
        multiply(p1, s, p1)
        multiply(t2, t2, spot_bar)
        subtract(one, spot_bar, spot_bar)
        multiply(p2, spot_bar, p2)
        multiply(p2, k, p2)
        subtract(p1, p2, p1)
        add(t1, one, t1)
        add(t2, one, t2)
        total = s.dot(t1) - k.dot(t2)
        divide(p1, v, p1)
        divide(p1, spot, spot_bar)
        multiply(t1, share, t1)
        add(spot_bar, t1, spot_bar)
        multiply(p1, d2, p1)
        subtract(p2, p1, p2)
        multiply(p2, root, volatility_bar)
        return float(total)

    return tile
