"""Iterations until convergence: roots, minima, linear algebra, series and integrals."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.trace.control_flow.flow.program import program


@program(lambda rng: (rng.uniform(0.5, 50.0),))
def safeguarded_newton(c: Any) -> Any:
    low, high, x = 0.0, 10.0, 5.0
    for _ in range(50):
        f, slope = x**3 + x - c, 3 * x**2 + 1
        if f > 0:
            high = x
        else:
            low = x
        step = f / slope
        if abs(step) < 1e-12:
            return x**2
        if not low < x - step < high:
            x = 0.5 * (low + high)
        else:
            x = x - step
    return x**2 + c


@program(lambda rng: (rng.uniform(0.2, 3.0),))
def golden_section(c: Any) -> Any:
    def loss(x: Any) -> Any:
        return (x - c) ** 2 + 0.1 * x**4

    ratio = (np.sqrt(5.0) - 1) / 2
    a, b = -1.0, 4.0 + c
    while b - a > 1e-3:
        left, right = b - ratio * (b - a), a + ratio * (b - a)
        if loss(left) < loss(right):
            b = right
        else:
            a = left
    return loss(0.5 * (a + b))


@program(lambda rng: (rng.uniform(1.0, 30.0),))
def secant(c: Any) -> Any:
    def f(x: Any) -> Any:
        return np.exp(0.3 * x) + x - c

    a, b = 0.0, 1.0
    while abs(f(b)) > 1e-12:
        a, b = b, b - f(b) * (b - a) / (f(b) - f(a))
    return b * c


@program(lambda rng: (rng.normal(size=2) * 2, rng.uniform(0.5, 5.0)))
def trust_region(x: Any, stiffness: Any) -> Any:
    def loss(x: Any) -> Any:
        return (1 - x[0]) ** 2 + stiffness * (x[1] - x[0] ** 2) ** 2

    radius = 0.5
    for _ in range(12):
        middle = x[1] - x[0] ** 2
        g = np.array([-2 * (1 - x[0]) - 4 * stiffness * x[0] * middle, 2 * stiffness * middle])
        length = np.sqrt(np.sum(g**2))
        if length < 1e-8:
            break
        step = -g * min(1.0, radius / length)
        gain = (loss(x) - loss(x + step)) / -(g @ step)
        if gain > 0.1:
            x = x + step
        radius = radius * 0.5 if gain < 0.25 else (radius * 2 if gain > 0.75 else radius)
    return loss(x)


def two_groups(rng: np.random.Generator) -> tuple[Any, ...]:
    y = np.concatenate([rng.normal(-2.0, 1.0, 12), rng.normal(rng.uniform(1, 3), 1.0, 12)])
    return np.array([-1.0, 1.0]), y


@program(two_groups)
def expectation_maximisation(means: Any, y: Any) -> Any:
    a, b = means
    before = -np.inf
    for _ in range(100):
        left, right = np.exp(-0.5 * (y - a) ** 2), np.exp(-0.5 * (y - b) ** 2)
        weight = left / (left + right)
        a, b = np.sum(weight * y) / np.sum(weight), np.sum((1 - weight) * y) / np.sum(1 - weight)
        now = np.sum(np.log(left + right))
        if now - before < 1e-6:
            break
        before = now
    return now + a * b


@program(lambda rng: (rng.normal(size=(12, 2)) + 3.0 * rng.integers(0, 2, (12, 1)),))
def k_means(points: Any) -> Any:
    centres = points[:2]
    for _ in range(10):
        sums, counts, cost = [0.0, 0.0], [0, 0], 0.0
        for p in points:
            first, second = np.sum((p - centres[0]) ** 2), np.sum((p - centres[1]) ** 2)
            nearest = 0 if first <= second else 1
            sums[nearest] = sums[nearest] + p
            counts[nearest] += 1
            cost = cost + min(first, second)
        moved = np.array([sums[0] / counts[0], sums[1] / counts[1]])
        if np.max(np.abs(moved - centres)) < 1e-6:
            break
        centres = moved
    return cost


@program(lambda rng: (np.diag([4.0, 1.0, 0.5]) + 0.2 * rng.normal(size=(3, 3)), np.ones(3)))
def power_iteration(a: Any, v: Any) -> Any:
    value, change = 0.0, 1.0
    while change > 1e-10:
        w = a @ v
        v = w / np.linalg.norm(w)
        change = abs(v @ a @ v - value)
        value = v @ a @ v
    return value


@program(lambda rng: (rng.normal(size=(5, 5)), rng.normal(size=5)))
def conjugate_gradients(root: Any, b: Any) -> Any:
    a = root @ root.T + np.eye(5)
    x, r = np.zeros(5), b
    p, size, k = r, r @ r, 0
    while k < 20:
        step = size / (p @ a @ p)
        x, r = x + step * p, r - step * (a @ p)
        after = r @ r
        if np.sqrt(after) < 1e-6:
            break
        p, size, k = r + after / size * p, after, k + 1
    return np.sum(x) + 0.01 * k


@program(lambda rng: (rng.normal(size=(5, 4)),))
def householder(a: Any) -> Any:
    r = a.copy()
    for k in range(4):
        x = r[k:, k]
        length = np.sqrt(np.sum(x**2))
        if x[0] > 0:
            length = -length
        v = x.copy()
        v[0] -= length
        v /= np.sqrt(np.sum(v**2))
        r[k:, k:] -= 2 * np.outer(v, v @ r[k:, k:])
    return np.sum(np.triu(r) * np.arange(20.0).reshape(5, 4))


@program(lambda rng: (rng.uniform(0.1, 8.0), int(rng.integers(0, 3))))
def bessel_series(x: Any, order: int) -> Any:
    term = 1.0
    for k in range(1, order + 1):
        term = term * x / 2 / k
    total, k = term, 0
    while abs(term) > 1e-15 * abs(total):
        k += 1
        term = -term * x**2 / 4 / (k * (k + order))
        total += term
    return total


@program(lambda rng: (rng.uniform(-4.0, 4.0),), count=12)
def error_function(x: Any) -> Any:
    if x < 0:
        return -error_function(-x)
    if x < 2:
        term, total, n = x, x, 0
        while abs(term) > 1e-16:
            n += 1
            term = -term * x * x / n
            total = total + term / (2 * n + 1)
        return 2 / np.sqrt(np.pi) * total
    fraction = 0.0
    for k in range(40, 0, -1):
        fraction = k / 2 / (x + fraction)
    return 1 - np.exp(-x * x) / np.sqrt(np.pi) / (x + fraction)


@program(lambda rng: (rng.uniform(0.5, 5.0), rng.uniform(0.5, 5.0), rng.uniform(0.05, 0.5)))
def lentz_fraction(a: Any, b: Any, x: Any) -> Any:
    tiny = 1e-30
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    if abs(d) < tiny:
        d = tiny
    d = 1 / d
    h = d
    for m in range(1, 200):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 + term * d
            c = 1 + term / c
            if abs(d) < tiny:
                d = tiny
            if abs(c) < tiny:
                c = tiny
            d = 1 / d
            h = h * c * d
        if abs(c * d - 1) < 1e-14:
            break
    return h


@program(lambda rng: (rng.uniform(0.5, 6.0),))
def adaptive_simpson(w: Any) -> Any:
    def f(t: Any) -> Any:
        return np.exp(-w * t) * np.sin(w * t) + t

    def area(a: Any, b: Any, whole: Any, depth: int) -> Any:
        middle = (a + b) / 2
        left = (middle - a) / 6 * (f(a) + 4 * f((a + middle) / 2) + f(middle))
        right = (b - middle) / 6 * (f(middle) + 4 * f((middle + b) / 2) + f(b))
        if depth == 0 or abs(left + right - whole) < 1e-4:
            return left + right + (left + right - whole) / 15
        return area(a, middle, left, depth - 1) + area(middle, b, right, depth - 1)

    return area(0.0, 2.0, (f(0.0) + 4 * f(1.0) + f(2.0)) / 3, 8)


@program(lambda rng: (rng.uniform(0.01, 1e4),))
def babylonian_root(c: Any) -> Any:
    x = c if c > 1.0 else 1.0
    n = 0
    while True:
        after = 0.5 * (x + c / x)
        n = n + 1
        if abs(after - x) < 1e-10 * x or n == 60:
            return after + 0.001 * n
        x = after


@program(lambda rng: (rng.uniform(0.1, 2.0), rng.uniform(0.0, 0.9)))
def kepler_equation(mean: Any, eccentricity: Any) -> Any:
    anomaly = mean if eccentricity < 0.8 else np.pi
    change = 1.0
    while abs(change) > 1e-12:
        change = (anomaly - eccentricity * np.sin(anomaly) - mean) / (
            1 - eccentricity * np.cos(anomaly)
        )
        anomaly = anomaly - change
    return np.cos(anomaly) - eccentricity


@program(lambda rng: (rng.normal(size=(3, 3)) + 4 * np.eye(3), rng.normal(size=3)))
def gauss_seidel(a: Any, b: Any) -> Any:
    x = np.zeros(3)
    for sweep in range(100):
        largest = 0.0
        for i in range(3):
            new = (b[i] - a[i] @ x + a[i, i] * x[i]) / a[i, i]
            largest = max(largest, abs(new - x[i]))
            x[i] = new
        if largest < 1e-4 or sweep > 40:
            break
    return np.sum(x**2)


@program(lambda rng: (rng.normal(size=3) * 3, 0.5 * rng.uniform(size=3)))
def proximal_gradient(x: Any, penalty: Any) -> Any:
    def shrink(v: Any, p: Any) -> Any:
        if v > p:
            return v - p
        if v < -p:
            return v + p
        return 0.0 * v

    target = x
    for _ in range(6):
        x = x - 0.4 * (x - 0.5 * target)
        x = np.array([shrink(v, p) for v, p in zip(x, penalty, strict=True)])
    return np.sum(x**2) + np.sum(target)
