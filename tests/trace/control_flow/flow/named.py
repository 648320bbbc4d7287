"""Estimation, integration and sampling as they are written down in papers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.trace.control_flow.flow.program import program

THETA = np.array([-2.0, -2.5, -2.5, 1.5])


def garch(theta: Any, returns: Any) -> Any:
    omega, alpha, gamma = np.exp(theta[0]), np.exp(theta[1]), np.exp(theta[2])
    beta = 1 / (1 + np.exp(-theta[3]))
    h, total = 1.0, 0.0
    for r in returns:
        total = total + 0.5 * (np.log(2 * np.pi * h) + r**2 / h)
        if r < 0:
            h = omega + (alpha + gamma) * r**2 + beta * h
        else:
            h = omega + alpha * r**2 + beta * h
    return total


for steps in (50, 500):
    program(
        lambda rng, steps=steps: (THETA + 0.1 * rng.normal(size=4), rng.normal(size=steps)),
        count=40,
        name=f"garch_{steps}",
    )(garch)


def gappy(rng: np.random.Generator) -> tuple[Any, ...]:
    y = rng.normal(size=(30, 2))
    y[rng.random(30) < 0.3] = np.nan
    return np.array([-0.5, -1.0]) + 0.1 * rng.normal(size=2), y


@program(gappy, count=20)
def kalman_with_gaps(theta: Any, y: Any) -> Any:
    a = np.array([[0.9, 0.1], [0.0, 0.8]])
    c = np.array([[1.0, 0.0], [1.0, 1.0]])
    q, r = np.exp(theta[0]) * np.eye(2), np.exp(theta[1]) * np.eye(2)
    m, p, total = np.zeros(2), np.eye(2), 0.0
    for k in range(len(y)):
        m, p = a @ m, a @ p @ a.T + q
        if np.any(np.isnan(y[k])):
            continue
        s, e = c @ p @ c.T + r, y[k] - c @ m
        gain = np.linalg.solve(s, c @ p).T
        m, p = m + gain @ e, p - gain @ c @ p
        total = total + 0.5 * (np.linalg.slogdet(s)[1] + e @ np.linalg.solve(s, e))
    return total


def rates(rng: np.random.Generator) -> tuple[Any, ...]:
    return np.array([rng.uniform(0.2, 6.0), 0.5]), np.array([1.0, rng.uniform(0.2, 2.0)])


@program(rates, count=20)
def adaptive_runge_kutta(p: Any, y: Any) -> Any:
    t, h, end = 0.0, 0.1, 2.0
    while t < end:
        if t + h > end:
            h = end - t
        k1 = -p[0] * y + p[1] * np.sin(3 * t)
        k2 = -p[0] * (y + h * k1) + p[1] * np.sin(3 * (t + h))
        error = np.max(np.abs(0.5 * h * (k2 - k1)))
        if error < 1e-3:
            t = t + h
            y = y + 0.5 * h * (k1 + k2)
        h = 0.9 * h * min(5.0, max(0.2, np.sqrt(1e-3 / (error + 1e-12))))
    return np.sum(y**2)


@program(lambda rng: (rng.uniform(0.1, 100.0),), count=20, on_a_tape=True)
def bisection(c: Any) -> Any:
    low, high = 0.0 * c, c + 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if high - low < 1e-8:
            break
        if middle**3 + middle < c:
            low = middle
        else:
            high = middle
    root = 0.5 * (low + high)
    return root * c


def proposals(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.normal(size=2), np.zeros(2), 1.5 * rng.normal(size=(15, 2)), rng.random(15)


@program(proposals, count=20)
def hamiltonian_monte_carlo(theta: Any, q: Any, noise: Any, uniform: Any) -> Any:
    def energy(q: Any) -> Any:
        return 0.5 * np.sum((q - theta) ** 2) + np.sum(q**4) * 0.1

    def slope(q: Any) -> Any:
        return (q - theta) + 0.4 * q**3

    total = 0.0
    for p, u in zip(noise, uniform, strict=True):
        before = energy(q) + 0.5 * np.sum(p * p)
        z = q
        for _ in range(5):
            p = p - 0.15 * slope(z)
            z = z + 0.3 * p
            p = p - 0.15 * slope(z)
        after = energy(z) + 0.5 * np.sum(p * p)
        if np.log(u) < before - after:
            q = z
        total = total + np.sum(q * q)
    return total


@program(lambda rng: (rng.normal(size=3), rng.uniform(0.5, 20.0, 3)), count=20)
def backtracking_line_search(x: Any, scale: Any) -> Any:
    def loss(x: Any) -> Any:
        return np.sum(scale * x**2) + 0.1 * np.sum(x**4)

    for _ in range(5):
        g = 2 * scale * x + 0.4 * x**3
        t, now = 1.0, loss(x)
        while loss(x - t * g) > now - 0.3 * t * np.sum(g * g):
            t = t * 0.5
            if t < 1e-6:
                break
        x = x - t * g
    return loss(x) + np.sum(x)


@program(lambda rng: (rng.normal(size=(6, 6)), rng.normal(size=6)), count=20)
def lu_with_pivoting(a: Any, b: Any) -> Any:
    a, b = a.copy(), b.copy()
    n, sign = len(b), 1.0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            b[[k, pivot]] = b[[pivot, k]]
            sign = -sign
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] = a[i, k:] - factor * a[k, k:]
            b[i] = b[i] - factor * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - np.sum(a[i, i + 1 :] * x[i + 1 :])) / a[i, i]
    return np.sum(x) + sign * np.prod(np.diag(a))


@program(lambda rng: (rng.normal(size=(6, 6)), rng.uniform(0.3, 0.9)), count=20)
def relaxation_in_place(edge: Any, omega: Any) -> Any:
    u = edge.copy()
    change = 1.0
    while change > 1e-3:
        before = u.copy()
        u[1:-1, 1:-1] = (1 - omega) * u[1:-1, 1:-1] + omega * 0.25 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        )
        change = np.max(np.abs(u - before))
    return np.sum(u**2)


@program(lambda rng: (rng.normal(size=2), rng.normal(size=(30, 2)), rng.random(30)), count=20)
def metropolis_chain(mean: Any, noise: Any, uniform: Any) -> Any:
    def log_density(x: Any) -> Any:
        return -0.5 * np.sum((x - mean) ** 2) - 0.1 * np.sum(mean**2)

    x, accepted, total = np.zeros(2), 0, 0.0
    for k in range(len(noise)):
        candidate = x + 0.8 * noise[k]
        if np.log(uniform[k]) < log_density(candidate) - log_density(x):
            x = candidate
            accepted += 1
        total += log_density(x)
    return total / len(noise) + 0.01 * accepted


def regression(rng: np.random.Generator) -> tuple[Any, ...]:
    x = rng.normal(size=(30, 3))
    y = x @ rng.normal(size=3) + rng.uniform(0.1, 2.0) * rng.normal(size=30)
    return rng.normal(size=3), x[:20], y[:20], x[20:], y[20:]


@program(regression, count=20)
def early_stopping(w: Any, x: Any, y: Any, x_test: Any, y_test: Any) -> Any:
    best, best_w, patience = np.inf, w, 0
    for _ in range(60):
        w = w - 0.02 * x.T @ (x @ w - y) / len(y)
        loss = np.mean((x_test @ w - y_test) ** 2)
        if loss < best - 1e-4:
            best, best_w, patience = loss, w, 0
        else:
            patience += 1
            if patience >= 3:
                break
    return best + 0.1 * np.sum(best_w**2)


@program(lambda rng: (rng.normal(size=(3, 3)), rng.normal(size=(10, 3))), count=20)
def viterbi(transition: Any, emission: Any) -> Any:
    score = emission[0]
    for t in range(1, len(emission)):
        after = []
        for j in range(3):
            best = score[0] + transition[0, j]
            for i in range(1, 3):
                candidate = score[i] + transition[i, j]
                if candidate > best:
                    best = candidate
            after.append(best + emission[t, j])
        score = np.array(after)
    return max(score)


@program(
    lambda rng: (np.array([0.8, 1.2]), rng.normal(size=int(rng.integers(8, 40))) * 2), count=20
)
def clipped_filter(p: Any, signal: Any) -> Any:
    level, total = 0.0, 0.0
    for s in signal:
        level = p[0] * level + (1 - p[0]) * s
        if level > p[1]:
            level = p[1]
        elif level < -p[1] / 2:
            level = -p[1] / 2
        total = total + (s - level) ** 2
    return total / len(signal)
