"""Programs with loops of Python's, for tests of re-rolling: each takes the number of steps.

A row of `LOOPS` is a program and its arguments for a number of steps. The first argument is
differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit.numpy as tnp

Program = Callable[..., Any]
Arguments = Callable[[int], tuple[Any, ...]]
LOOPS: dict[str, tuple[Program, Arguments]] = {}


def normal(*shape: int) -> np.ndarray:
    """Small numbers, the same for the same shape."""
    return np.random.default_rng(sum(shape)).normal(size=shape) * 0.4


def program(arguments: Arguments) -> Callable[[Program], Program]:
    """Add a program to the table."""

    def add(f: Program) -> Program:
        LOOPS[f.__name__] = f, arguments
        return f

    return add


@program(lambda n: (normal(4, 4), normal(4, 3), normal(n, 3)))
def recurrence(w, u, xs):
    h = np.zeros(4)
    for x in xs:
        h = np.tanh(w @ h + u @ x)
    return np.sum(h**2)


@program(lambda n: (normal(4, 4), normal(4, 3), normal(n, 3)))
def recurrence_by_index(w, u, xs):
    h = np.zeros(4)
    total = 0.0
    for t in range(len(xs)):
        h = np.tanh(h @ w.T + u @ xs[t])
        total = total + np.sum(h * h)
    return total


@program(
    lambda n: ({k: normal(3, 5) for k in "ifoc"}, {k: normal(5, 5) for k in "ifoc"}, normal(n, 3))
)
def lstm(w, u, xs):
    h, c = np.zeros(5), np.zeros(5)

    def gate(k, x, h):
        return x @ w[k] + h @ u[k]

    for x in xs:
        i = 1 / (1 + np.exp(-gate("i", x, h)))
        f = 1 / (1 + np.exp(-gate("f", x, h)))
        o = 1 / (1 + np.exp(-gate("o", x, h)))
        c = f * c + i * np.tanh(gate("c", x, h))
        h = o * np.tanh(c)
    return np.sum(h**2)


@program(lambda n: (normal(4), normal(4, 4), n))
def runge_kutta(y, a, n):
    dt = 0.01

    def f(t, y):
        return np.sin(t) * y + a @ y

    for i in range(n):
        t = dt * i
        k1 = f(t, y)
        k2 = f(t + dt / 2, y + dt / 2 * k1)
        k3 = f(t + dt / 2, y + dt / 2 * k2)
        k4 = f(t + dt, y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.sum(y)


@program(lambda n: (normal(3), normal(3), normal(3), n))
def leapfrog(x, v, k, n):
    dt = 0.1

    def force(x):
        return -k * np.sin(x)

    for _ in range(n):
        v = v + 0.5 * dt * force(x)
        x = x + dt * v
        v = v + 0.5 * dt * force(x)
    return np.sum(x * x) + np.sum(v * v)


@program(lambda n: (np.float64(0.9), np.float64(0.1), np.float64(0.2), normal(n)))
def kalman_scalar(a, q, r, ys):
    m, p = np.float64(0.0), np.float64(1.0)
    terms = []
    for y in ys:
        m, p = a * m, a * a * p + q
        s, e = p + r, y - m
        k = p / s
        terms.append(-0.5 * (np.log(2 * np.pi * s) + e * e / s))
        m, p = m + k * e, (1 - k) * p
    return sum(terms)


@program(lambda n: (np.eye(3) * 0.9, normal(2, 3), np.eye(3) * 0.1, np.eye(2) * 0.2, normal(n, 2)))
def kalman_matrix(a, h, q, r, ys):
    m, p = np.ones(3), np.eye(3)
    terms = []
    for t in range(len(ys)):
        m, p = a @ m, a @ p @ a.T + q
        s = h @ p @ h.T + r
        e = ys[t] - h @ m
        k = p @ h.T @ np.linalg.inv(s)
        terms.append(-0.5 * (np.log(np.linalg.det(2 * np.pi * s)) + e @ np.linalg.solve(s, e)))
        m, p = m + k @ e, p - k @ s @ k.T
    return sum(terms)


@program(
    lambda n: (np.abs(normal(4, 4)) + 0.1, np.abs(normal(4)) + 0.1, np.abs(normal(n, 4)) + 0.1)
)
def hidden_markov(a, pi, b):
    alpha = pi * b[0]
    total = np.log(np.sum(alpha))
    alpha = alpha / np.sum(alpha)
    for t in range(1, len(b)):
        alpha = (alpha @ a) * b[t]
        c = np.sum(alpha)
        total = total + np.log(c)
        alpha = alpha / c
    return total


@program(lambda n: (normal(30), np.float64(0.1), n))
def heat(u, a, n):
    for _ in range(n):
        v = u.copy()
        v[1:-1] = u[1:-1] + a * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = v
    return np.sum(u**2)


@program(lambda n: (normal(30), np.float64(0.1), n))
def heat_in_place(u0, a, n):
    u = tnp.array(u0)
    for _ in range(n):
        u[1:-1] = u[1:-1] + a * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


@program(lambda n: (np.float64(0.3), np.float64(3.1), n))
def logistic(x, r, n):
    for _ in range(n):
        x = r * x * (1 - x)
    return x


@program(lambda n: (np.eye(5) + normal(5, 5), np.ones(5), n))
def power_iteration(a, v, n):
    for _ in range(n):
        v = a @ v
        v = v / np.sqrt(np.sum(v * v))
    return v @ a @ v


@program(lambda n: (normal(3), normal(6, 3), normal(6), n))
def momentum(w, x, y, n):
    v = np.zeros_like(w)
    for _ in range(n):
        g = x.T @ (x @ w - y) / len(y)
        v = 0.9 * v - 0.1 * g
        w = w + v
    return np.sum((x @ w - y) ** 2)


@program(lambda n: (normal(4, 4), normal(4, 4), normal(n, 4)))
def bidirectional(w, u, xs):
    forward, backward = [], []
    h = np.zeros(4)
    for x in xs:
        h = np.tanh(w @ h + x)
        forward.append(h)
    h = np.zeros(4)
    for x in xs[::-1]:
        h = np.tanh(u @ h + x)
        backward.append(h)
    return np.sum(np.stack(forward) * np.stack(backward[::-1]))


@program(lambda n: (normal(3, 4, 4), normal(4), n))
def every_third(a, h, n):
    for t in range(n):
        h = np.tanh(a[t % 3] @ h + 0.1)
    return np.sum(h)


@program(lambda n: (normal(4), normal(4), n))
def two_loops(x, y, n):
    for _ in range(n):
        x = np.sin(x) * y + 0.1
    for _ in range(n):
        y = np.cos(y) * x - 0.1 * y
    return np.sum(x * y)


@program(lambda n: (normal(5, 5), normal(5), normal(n, 5)))
def nested(a, h, xs):
    for x in xs:
        u = x
        for _ in range(9):
            u = np.tanh(a @ u + h)
        h = h + 0.1 * u
    return np.sum(h)


@program(lambda n: (normal(4, 4), normal(4), n))
def twice_a_step(w, h, n):
    def cell(h):
        return np.tanh(w @ h + 0.1)

    for _ in range(n):
        h = cell(cell(h))
    return np.sum(h)


@program(lambda n: (normal(4), n))
def recursion(x, n):
    def go(x, k):
        return x if k == 0 else np.sin(go(x, k - 1)) + 0.1 * x

    return np.sum(go(x, min(n, 100)))


@program(lambda n: (normal(n, 3),))
def sum_of_list(x):
    return np.sum(sum([np.sin(row) * row for row in x]))


@program(lambda n: (normal(5, 5), normal(5), normal(n, 5)))
def stacked(u, h, xs):
    hs = [h]
    for x in xs:
        h = np.tanh(h @ u + x)
        hs.append(h)
    return np.sum(np.stack(hs) ** 2)


@program(lambda n: (normal(5), normal(5), np.float64(0.3), n))
def swapped(a, b, c, n):
    for _ in range(n):
        a, b = b, np.sin(c * a) + b * 0.5
    return np.sum(a * b)


@program(lambda n: (normal(20), normal(20), np.float64(0.1), n))
def wave(u, before, c, n):
    for _ in range(n):
        u, before = 2 * u - before + c * (np.roll(u, 1) - 2 * u + np.roll(u, -1)), u
    return np.sum(u**2)


@program(lambda n: (normal(n), normal(7)))
def horner(c, x):
    y = np.zeros_like(x)
    for k in range(len(c) - 1, -1, -1):
        y = y * x + c[k]
    return np.sum(y)


@program(lambda n: (normal(n, 3), normal(n, 3), normal(3)))
def zipped(a, b, s):
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        s = np.sin(s) + x * y * (k + 1)
    return np.sum(s)


@program(lambda n: (normal(4, n), normal(4)))
def columns(a, s):
    for t in range(a.shape[1]):
        s = np.cos(s) * a[:, t] + a[0, t]
    return np.sum(s)


@program(lambda n: (normal(n + 1), np.float64(0.2)))
def neighbours(x, s):
    total = s
    for t in range(1, len(x)):
        total = total * 0.9 + np.sin(x[t] - x[t - 1])
    return total


@program(lambda n: (normal(3), normal(3), n))
def filled(x, w, n):
    out = tnp.zeros((n, 3))
    for t in range(n):
        x = np.sin(x) * w
        out[t] = x
    return np.sum(out**2)


@program(lambda n: (normal(3), [0.5 + 0.01 * (k * k % 7) for k in range(n)]))
def table(x, factors):
    for factor in factors:
        x = np.sin(x) * factor + 0.1
    return np.sum(x)


@program(lambda n: (normal(4), n))
def fibonacci(x, n):
    a, b, c = x, 2 * x, np.cos(x)
    for k in range(n):
        a, b, c = b, c, 0.3 * np.sin(a) + 0.1 * b * c + 0.01 * k
    return np.sum(a + b * c)


@program(lambda n: (normal(n), normal(n)))
def dynamic(x, y):
    z = tnp.array(x)
    for t in range(1, len(x)):
        z[t] = np.sin(z[t - 1]) * y[t]
    return np.sum(z * z)


class Cell:
    def __init__(self, w):
        self.w = w

    def step(self, h, x):
        if x.ndim == 1:
            h = np.tanh(self.w @ h)
        return h + x


@program(lambda n: (normal(4, 4), normal(n, 4)))
def methods(w, xs):
    cell = Cell(w)
    h = np.ones(4)
    for x in xs:
        h = cell.step(h, x)
    return np.sum(h**2)


@program(lambda n: (normal(3), n))
def every_tenth(x, n):
    kept = []
    for t in range(n):
        x = np.sin(x) + 0.1
        if t % 10 == 0:
            kept.append(x)
    return sum([np.sum(one) for one in kept])
