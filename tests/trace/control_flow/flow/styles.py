"""State in objects, dicts and strings, lists that grow, states that are indices, searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.trace.control_flow.flow.program import program


class Thermostat:
    """A heater with a memory."""

    def __init__(self, gain: Any, start: float) -> None:
        self.gain, self.temperature, self.is_on, self.energy = gain, start, False, 0.0

    def step(self, outside: Any) -> None:
        if self.temperature < 19.0:
            self.is_on = True
        elif self.temperature > 21.0:
            self.is_on = False
        if self.is_on:
            self.energy = self.energy + self.gain
        heat = self.gain if self.is_on else 0.0
        self.temperature = self.temperature + 0.1 * (outside - self.temperature) + heat


@program(lambda rng: (rng.uniform(1.8, 3.0), rng.uniform(-2.0, 8.0, 25)))
def thermostat(gain: Any, outside: Any) -> Any:
    heater = Thermostat(gain, 20.0)
    for t in outside:
        heater.step(t)
    return heater.energy + heater.temperature**2


@program(
    lambda rng: (
        {"rate": np.array([0.5, 0.2]), "limit": rng.uniform(0.5, 1.5)},
        rng.normal(size=20),
    )
)
def dict_of_parameters(p: Any, x: Any) -> Any:
    state = {"level": 0.0, "count": 0}
    for v in x:
        rate = p["rate"][0] if v > state["level"] else p["rate"][1]
        state["level"] = state["level"] + rate * (v - state["level"])
        if state["level"] > p["limit"]:
            state["level"] = p["limit"]
            state["count"] += 1
    return state["level"] ** 2 + 0.1 * state["count"]


@program(lambda rng: (rng.uniform(0.2, 1.0, (3, 3)), rng.normal(size=3), rng.random(15)))
def markov_chain(weights: Any, values: Any, draws: Any) -> Any:
    state, total = 0, 0.0
    for u in draws:
        row = weights[state] / np.sum(weights[state])
        total = total + np.log(row[state]) * values[state]
        cumulative = 0.0
        for j in range(3):
            cumulative = cumulative + row[j]
            if u < cumulative:
                state = j
                break
    return total


@program(lambda rng: (rng.uniform(0.5, 2.0, 2), rng.exponential(1.0, 40), rng.random(40)))
def birth_and_death(rates: Any, waits: Any, draws: Any) -> Any:
    time, n, area = 0.0, 5, 0.0
    for wait, u in zip(waits, draws, strict=True):
        if n == 0:
            break
        total = rates[0] * n + rates[1] * n
        step = wait / total
        if time + step > 3.0:
            area = area + n * (3.0 - time)
            break
        area = area + n * step
        time = time + step
        n = n + 1 if u < rates[0] * n / total else n - 1
    return area


@program(lambda rng: (rng.uniform(0.5, 3.0, 7),))
def shortest_paths(lengths: Any) -> Any:
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
    distance = [0.0] + [np.inf] * 4
    for _ in range(4):
        changed = False
        for k, (start, end) in enumerate(edges):
            if distance[start] + lengths[k] < distance[end]:
                distance[end] = distance[start] + lengths[k]
                changed = True
        if not changed:
            break
    return distance[4] + 0.1 * sum(distance)


@program(lambda rng: (rng.uniform(1.0, 9.0, 5), rng.integers(1, 5, 5)))
def knapsack(values: Any, sizes: Any) -> Any:
    best = np.zeros(9)
    for value, size in zip(values, sizes, strict=True):
        for room in range(8, size - 1, -1):
            if best[room - size] + value > best[room]:
                best[room] = best[room - size] + value
    return best[8]


@program(lambda rng: (np.array([1.0, 0.3]), np.linspace(0, 2, 8), rng.normal(size=8) * 0.1))
def levenberg_marquardt(p: Any, t: Any, noise: Any) -> Any:
    y = 2.0 * np.exp(-0.8 * t) + noise
    damping = 1e-2
    cost = np.sum((y - p[0] * np.exp(-p[1] * t)) ** 2)
    for _ in range(6):
        e = np.exp(-p[1] * t)
        jacobian = np.stack([e, -p[0] * t * e], axis=1)
        normal = jacobian.T @ jacobian
        step = np.linalg.solve(
            normal + damping * np.diag(np.diag(normal)), jacobian.T @ (y - p[0] * e)
        )
        candidate = p + step
        after = np.sum((y - candidate[0] * np.exp(-candidate[1] * t)) ** 2)
        if after < cost:
            p, cost, damping = candidate, after, damping / 3
        else:
            damping = damping * 2
        if np.max(np.abs(step)) < 1e-4:
            break
    return cost + np.sum(p**2)


@program(lambda rng: (rng.uniform(0.3, 3.0),))
def ridders_root(c: Any) -> Any:
    def f(x: Any) -> Any:
        return np.exp(x) - 1 - c

    a, b = -1.0, 2.0
    fa, fb = f(a), f(b)
    before = None
    for _ in range(30):
        m = 0.5 * (a + b)
        fm = f(m)
        s = np.sqrt(fm**2 - fa * fb)
        if s == 0:
            return m
        x = m + (m - a) * (1 if fa >= fb else -1) * fm / s
        fx = f(x)
        if before is not None and abs(x - before) < 1e-9:
            break
        before = x
        if fm * fx < 0:
            a, fa, b, fb = m, fm, x, fx
        elif fa * fx < 0:
            b, fb = x, fx
        else:
            a, fa = x, fx
    return x * c


@program(lambda rng: (rng.uniform(0.5, 4.0),))
def romberg(w: Any) -> Any:
    def f(x: Any) -> Any:
        return np.sin(w * x) + x**2

    rows = [[0.5 * (f(0.0) + f(1.0))]]
    for k in range(1, 10):
        n = 2**k
        inner = sum([f((2 * i + 1) / n) for i in range(n // 2)])
        row = [0.5 * rows[-1][0] + inner / n]
        for j in range(1, k + 1):
            row.append(row[-1] + (row[-1] - rows[-1][j - 1]) / (4**j - 1))
        rows.append(row)
        if abs(row[-1] - rows[-2][-1]) < 1e-6:
            break
    return rows[-1][-1]


@program(lambda rng: (rng.uniform(1.0, 3.0), rng.normal(size=30) + 0.3))
def battery_by_mode(capacity: Any, power: Any) -> Any:
    mode, charge, cost = "idle", 0.5 * capacity, 0.0
    for p in power:
        if mode == "idle":
            if p > 0.8:
                mode = "charge"
            elif p < -0.5:
                mode = "discharge"
        elif mode == "charge":
            charge = charge + 0.3 * p
            if charge > capacity:
                charge, mode = capacity, "idle"
        else:
            charge = charge - 0.2
            if charge < 0:
                charge, mode = 0.0, "idle"
        cost = cost + (charge - 0.5 * capacity) ** 2
    return cost


@program(lambda rng: (rng.normal(size=6), rng.normal(size=(6, 5))))
def greedy_selection(y: Any, atoms: Any) -> Any:
    residual, chosen = y, []
    for _ in range(4):
        scores = np.abs(atoms.T @ residual)
        best = int(np.argmax(scores))
        if best in chosen or scores[best] < 0.5:
            break
        chosen.append(best)
        atom = atoms[:, best]
        residual = residual - atom * (atom @ residual) / (atom @ atom)
    return np.sum(residual**2) + 0.1 * len(chosen)


def nearly_dependent(rng: np.random.Generator) -> tuple[Any, ...]:
    columns = rng.normal(size=(4, 5))
    columns[:, 2] = columns[:, 0] * rng.choice([0.0, 1.0]) + rng.choice([0.0, 1.0]) * columns[:, 1]
    return columns, rng.normal(size=4)


@program(nearly_dependent)
def gram_schmidt(columns: Any, y: Any) -> Any:
    basis: list[Any] = []
    for k in range(columns.shape[1]):
        v = columns[:, k]
        for q in basis:
            v = v - (q @ v) * q
        length = np.sqrt(v @ v)
        if length > 0.3:
            basis.append(v / length)
    return sum((q @ y) ** 2 for q in basis)


@program(lambda rng: (rng.uniform(-1.5, 1.5, (4, 2)),))
def clipped_polygon(corners: Any) -> Any:
    points = list(corners)
    for axis, sign in ((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)):
        kept = []
        for k in range(len(points)):
            p, q = points[k - 1], points[k]
            inside_p, inside_q = sign * p[axis] <= 1.0, sign * q[axis] <= 1.0
            if inside_p != inside_q:
                part = (sign - p[axis]) / (q[axis] - p[axis])
                kept.append(p + part * (q - p))
            if inside_q:
                kept.append(q)
        points = kept
        if not points:
            return 0.0 * corners[0, 0]
    area = 0.0
    for k in range(len(points)):
        area = area + points[k - 1][0] * points[k][1] - points[k - 1][1] * points[k][0]
    return 0.5 * area


@program(lambda rng: (rng.normal(size=12), rng.normal(size=12)))
def best_split(x: Any, y: Any) -> Any:
    order = np.argsort(x)
    y = y[order]
    best = np.sum((y - np.mean(y)) ** 2)
    for k in range(2, len(y) - 1):
        left, right = y[:k], y[k:]
        cost = np.sum((left - np.mean(left)) ** 2) + np.sum((right - np.mean(right)) ** 2)
        if cost < best:
            best = cost
    return best + 0.1 * np.sum(x)


@program(lambda rng: (rng.uniform(-0.9, 0.9, 2), rng.normal(size=2) * 3, 0.05))
def reflected_particle(x: Any, v: Any, dt: Any) -> Any:
    x, v = x.copy(), v.copy()
    for _ in range(30):
        x += dt * v
        for k in range(2):
            if x[k] > 1.0:
                x[k] = 2.0 - x[k]
                v[k] = -0.9 * v[k]
            elif x[k] < -1.0:
                x[k] = -2.0 - x[k]
                v[k] = -0.9 * v[k]
    return np.sum(x**2) + np.sum(v * x)


@program(lambda rng: (np.array([rng.uniform(0.4, 1.2), 0.0]), rng.uniform(0.1, 0.9)))
def pendulum_until_event(start: Any, level: Any) -> Any:
    y, t, h = start, 0.0, 0.05

    def rate(y: Any) -> Any:
        return np.array([y[1], -9.81 * np.sin(y[0])])

    def step(y: Any, h: Any) -> Any:
        k1 = rate(y)
        k2 = rate(y + h * k1)
        return y + 0.5 * h * (k1 + k2)

    while t < 1.0:
        after = step(y, h)
        if after[0] < level * start[0] <= y[0]:
            low, high = 0.0, h
            for _ in range(3):
                middle = 0.5 * (low + high)
                if step(y, middle)[0] < level * start[0]:
                    high = middle
                else:
                    low = middle
            slope = (after[0] - y[0]) / h
            return t + low + (level * start[0] - step(y, low)[0]) / slope
        y, t = after, t + h
    return t + y[0]


@program(lambda rng: (rng.normal(size=9), 4))
def selection_by_pivots(x: Any, k: int) -> Any:
    items, total = list(x), 0.0
    while True:
        pivot = items[0]
        below = [v for v in items[1:] if v < pivot]
        above = [v for v in items[1:] if not v < pivot]
        total = total + 0.1 * pivot
        if k < len(below):
            items = below
        elif k == len(below):
            return pivot**2 + total
        else:
            k, items = k - len(below) - 1, above


@program(lambda rng: (rng.normal(size=3), rng.normal(size=(12, 3)), np.sign(rng.normal(size=12))))
def perceptron(w: Any, x: Any, labels: Any) -> Any:
    for _ in range(3):
        mistakes = 0
        for row, label in zip(x, labels, strict=True):
            if label * (w @ row) <= 0:
                w = w + 0.3 * label * row
                mistakes += 1
            elif label * (w @ row) < 0.5:
                w = w * 0.99
        if mistakes == 0:
            break
    return np.sum(w**2)


@program(lambda rng: (rng.uniform(0.0, 3.0), rng.uniform(0.2, 0.8)))
def nested_quadrants(x: Any, y: Any) -> Any:
    if x < 1.0:
        if y < 0.5:
            value = x * y
        elif x > y:
            value = x - y**2
        else:
            value = y - x**2
    elif x < 2.0 and not y > 0.6:
        value = np.sin(x) * y
    else:
        value = 1.0 if x > 2.8 else x / 2
    if 0.2 < value < 0.8:
        return value**2
    return value * 0.5 + 0.1 * x
