"""Losses by cases, pay-offs, tables, games of numbers and geometry."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.trace.control_flow.flow.program import program


def clipped_slope(x: Any, most: Any) -> Any:
    return np.where(x > 0, 1.0, 0.0) * np.where(x > most, 0.0, 1.0)


@program(lambda rng: (np.round(rng.normal(size=8) * 2) / 2, 1.0), slope=clipped_slope)
def clipped_relu(x: Any, most: Any) -> Any:
    total = 0.0
    for v in x:
        if v > most:
            total += 1.0
        elif v > 0:
            total += v
    return total


def huber_slope(r: Any, width: Any) -> Any:
    return np.where(np.abs(r) < width, r, width * np.where(r > 0, 1.0, -1.0))


@program(lambda rng: (np.round(rng.normal(size=8) * 4) / 2, 1.0), slope=huber_slope)
def huber_loss(r: Any, width: Any) -> Any:
    total = 0.0
    for v in r:
        if abs(v) < width:
            total = total + 0.5 * v**2
        elif v > 0:
            total = total + width * (v - 0.5 * width)
        else:
            total = total - width * (v + 0.5 * width)
    return total


def largest_slope(x: Any) -> Any:
    return np.eye(len(x))[int(np.argmax(x))] + np.eye(len(x))[len(x) - 1 - int(np.argmin(x[::-1]))]


@program(lambda rng: (np.round(rng.normal(size=6) * 2),), slope=largest_slope)
def range_by_hand(x: Any) -> Any:
    largest = smallest = x[0]
    for v in x[1:]:
        if v > largest:
            largest = v
        if v <= smallest:
            smallest = v
    return largest + smallest


@program(lambda rng: (np.array([3.0, 1.0]), rng.uniform(0.0, 3.0)))
def piecewise_yield(p: Any, strain: Any) -> Any:
    stress, energy, steps = 0.0, 0.0, 25
    for _ in range(steps):
        trial = stress + p[0] * strain / steps
        if trial > p[1]:
            trial = p[1] + 0.1 * (trial - p[1])
        energy = energy + 0.5 * (stress + trial) * strain / steps
        stress = trial
    return energy


@program(lambda rng: (np.array([100.0, 0.2]), rng.normal(size=(6, 12))))
def barrier_option(p: Any, shocks: Any) -> Any:
    total = 0.0
    for path in shocks:
        price, is_alive = p[0], True
        for z in path:
            price = price * np.exp(-0.5 * p[1] ** 2 / 12 + p[1] / np.sqrt(12) * z)
            if price > 120.0:
                is_alive = False
                break
        if is_alive and price > 95.0:
            total = total + price - 95.0
    return total / len(shocks)


@program(lambda rng: (np.array([rng.uniform(80.0, 120.0), rng.uniform(0.1, 0.5)]),))
def american_put(p: Any) -> Any:
    n, strike, rate = 8, 100.0, 0.05
    up = np.exp(p[1] * np.sqrt(1 / n))
    weight = (np.exp(rate / n) - 1 / up) / (up - 1 / up)
    values = [max(strike - p[0] * up ** (2 * j - n), 0.0) for j in range(n + 1)]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            held = np.exp(-rate / n) * (weight * values[j + 1] + (1 - weight) * values[j])
            now = strike - p[0] * up ** (2 * j - i)
            values[j] = now if now > held else held
    return values[0]


@program(lambda rng: (rng.normal(size=5) * 3, 1.0))
def clipped_by_norm(g: Any, most: Any) -> Any:
    length = np.sqrt(np.sum(g**2))
    if length > most:
        g = g * (most / length)
    return np.sum(g**3)


@program(lambda rng: (np.sort(rng.uniform(0.0, 10.0, 8)), rng.uniform(0.0, 10.0)))
def table_search(knots: Any, x: Any) -> Any:
    if x <= knots[0]:
        return knots[0] ** 2
    if x >= knots[-1]:
        return knots[-1] ** 2
    low, high = 0, len(knots) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if knots[middle] <= x:
            low = middle
        else:
            high = middle
    part = (x - knots[low]) / (knots[high] - knots[low])
    return (1 - part) * knots[low] ** 2 + part * knots[high] ** 2


@program(lambda rng: (rng.uniform(1.0, 50.0),))
def collatz_like(x: Any) -> Any:
    n = 0
    while x > 1.0 and n < 60:
        if np.floor(x) % 2 == 0:
            x = x / 2
        else:
            x = (3 * x + 1) / 4
        n += 1
    return x + 0.01 * n


@program(lambda rng: (rng.normal(size=4) * 0.6,))
def simplex_projection(v: Any) -> Any:
    ordered = np.sort(v)[::-1]
    total, shift = 0.0, 0.0
    for k in range(len(v)):
        total = total + ordered[k]
        candidate = (total - 1) / (k + 1)
        if ordered[k] - candidate <= 0:
            break
        shift = candidate
    return np.sum(np.maximum(v - shift, 0.0) ** 2)


@program(lambda rng: (rng.uniform(0.1, 3.0, 5), 2.0), on_a_tape=True)
def water_filling(noise: Any, power: Any) -> Any:
    low, high = np.min(noise), np.max(noise) + power
    for _ in range(40):
        level = 0.5 * (low + high)
        used = 0.0
        for n in noise:
            if level > n:
                used = used + level - n
        if used > power:
            high = level
        else:
            low = level
    return sum(np.log(level / n) for n in noise if level > n)


@program(lambda rng: (rng.uniform(-2.0, 2.0, 4),))
def line_clipping(ends: Any) -> Any:
    x, y, dx, dy = ends[0], ends[1], ends[2] - ends[0], ends[3] - ends[1]
    enter, leave = 0.0, 1.0
    for p, q in ((-dx, x + 1), (dx, 1 - x), (-dy, y + 1), (dy, 1 - y)):
        if p < 0:
            enter = max(enter, q / p)
        elif p > 0:
            leave = min(leave, q / p)
        elif q < 0:
            return 0.0 * x
    if enter > leave:
        return 0.0 * x
    return (leave - enter) * np.sqrt(dx**2 + dy**2)


@program(lambda rng: (np.array([0.3, 0.2, 1.0]), rng.normal(size=2) * 0.15))
def ray_marching(sphere: Any, aim: Any) -> Any:
    direction = np.array([aim[0], aim[1], 1.0]) / np.sqrt(1 + np.sum(aim**2))
    t = 0.0
    for step in range(60):
        gap = np.sqrt(np.sum((t * direction - np.array([sphere[0], 0.0, 4.0])) ** 2)) - sphere[2]
        if gap < 1e-4:
            return t + 0.001 * step
        if t > 10.0:
            return 10.0 + 0.0 * gap
        t = t + gap
    return t


@program(lambda rng: (rng.uniform(-2.0, 1.0, 2),), count=12)
def escape_time(c: Any) -> Any:
    x, y = 0.0, 0.0
    for n in range(40):
        x, y = x * x - y * y + c[0], 2 * x * y + c[1]
        if x * x + y * y > 4.0:
            return n + 1 - np.log(np.log(x * x + y * y)) / np.log(2.0)
    return 0.01 * c[0]


@program(lambda rng: (rng.normal(size=6),))
def sorting_network(x: Any) -> Any:
    v = x.copy()
    for end in range(len(v) - 1, 0, -1):
        for k in range(end):
            if v[k] > v[k + 1]:
                v[k], v[k + 1] = v[k + 1], v[k]
    return np.sum(v * np.arange(1.0, 7.0) ** 2)


@program(lambda rng: (rng.normal(size=8) + 0.1 * np.arange(8),))
def pool_adjacent_violators(y: Any) -> Any:
    means: list[Any] = []
    sizes: list[int] = []
    for v in y:
        means.append(v)
        sizes.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            n = sizes[-1] + sizes[-2]
            means[-2] = (means[-1] * sizes[-1] + means[-2] * sizes[-2]) / n
            sizes[-2] = n
            means.pop()
            sizes.pop()
    return sum(n * m**2 for m, n in zip(means, sizes, strict=True))


@program(lambda rng: (rng.normal(size=7), rng.normal(size=8)))
def time_warping(x: Any, y: Any) -> Any:
    n, m = len(x), len(y)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            near = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = (x[i - 1] - y[j - 1]) ** 2 + near
    return cost[n, m]


@program(lambda rng: (np.array([2.0, 1.1, 0.7]), rng.integers(0, 3, 7), rng.integers(0, 3, 7)))
def local_alignment(p: Any, a: Any, b: Any) -> Any:
    score = np.zeros((8, 8))
    best = 0.0
    for i in range(1, 8):
        for j in range(1, 8):
            step = p[0] if a[i - 1] == b[j - 1] else -p[1]
            value = score[i - 1, j - 1] + step
            for other in (score[i - 1, j] - p[2], score[i, j - 1] - p[2]):
                if other > value:
                    value = other
            if value > 0:
                score[i, j] = value
            if value > best:
                best = value
    return best + 0.1 * np.sum(score)


@program(lambda rng: (rng.uniform(0.5, 2.0, 3), rng.integers(0, 4, 6), rng.integers(0, 4, 5)))
def edit_distance(costs: Any, a: Any, b: Any) -> Any:
    row = [costs[1] * j for j in range(len(b) + 1)]
    for i in range(len(a)):
        corner, row[0] = row[0], costs[0] * (i + 1)
        for j in range(len(b)):
            change = corner + (0.0 if a[i] == b[j] else costs[2])
            corner = row[j + 1]
            row[j + 1] = min(change, row[j] + costs[1], corner + costs[0])
    return row[-1]


@program(lambda rng: (rng.normal(size=2), rng.uniform(-1.5, 1.5, (20, 2))))
def rejection_until_full(scale: Any, draws: Any) -> Any:
    kept, total = 0, 0.0
    for d in draws:
        if np.sum(d * d) > 1.0:
            continue
        total = total + np.sum(np.sin(scale * d))
        kept += 1
        if kept == 5:
            break
    return total / max(kept, 1)


def lift(angle: Any, stall: Any) -> Any:
    if angle < -stall:
        return -0.4 * stall
    if angle < stall:
        return angle
    if angle < 2 * stall:
        return stall - 0.5 * (angle - stall)
    return 0.5 * stall


@program(lambda rng: (rng.uniform(0.1, 0.4), rng.uniform(-0.6, 0.9, 10)))
def lift_by_cases(stall: Any, angles: Any) -> Any:
    return sum([lift(a, stall) for a in angles])


@program(lambda rng: (rng.uniform(5e3, 2e5), np.array([1e4, 4e4, 9e4]), np.array([0.1, 0.3, 0.5])))
def progressive_tax(income: Any, bounds: Any, rates: Any) -> Any:
    tax = 0.0
    for k, (bound, rate) in enumerate(zip(bounds, rates, strict=True)):
        if income <= bound:
            break
        above = bounds[k + 1] if k + 1 < len(bounds) else income
        tax += rate * (min(income, above) - bound)
    return tax * income * 1e-6


@program(lambda rng: (rng.normal(size=3) * 2, rng.normal(size=3) * 2))
def smooth_or_sharp_contact(a: Any, b: Any) -> Any:
    gap = np.sqrt(np.sum((a - b) ** 2)) - 2.0
    touching = gap < 0
    near = gap < 1.0 and not touching
    force = -10.0 * gap if touching else ((1.0 - gap) ** 2 if near else 0.0)
    return force * np.sum(a * a) + np.sum(b)


@program(lambda rng: (np.array([1.5, -0.5]), rng.normal(size=(4, 3)), int(rng.integers(1, 9))))
def steps_by_argument(p: Any, rows: Any, n: int) -> Any:
    total = 0.0
    for k in range(n):
        row = rows[k % 4]
        if np.any(row > 1.0):
            total = total + p[0] * np.max(row)
        elif all(row > -1.0):
            total = total * 0.9 + p[1] * row[0]
    return total + 0.01 * p[0]
