"""Filters, regimes, controllers and events along a series."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.trace.control_flow.flow.program import program


@program(lambda rng: (np.array([0.6, -0.3, 0.1]), rng.normal(size=25)))
def threshold_autoregression(p: Any, y: Any) -> Any:
    total = 0.0
    for t in range(1, len(y)):
        mean = p[0] * y[t - 1] if y[t - 1] <= p[2] else p[1] * y[t - 1]
        total += (y[t] - mean) ** 2
    return total


@program(lambda rng: (np.array([1.0, 2.0]), rng.normal(size=25)))
def regime_switching(scales: Any, y: Any) -> Any:
    regime, total = 0, 0.0
    for v in y:
        scale = scales[regime]
        total = total + np.log(scale) + 0.5 * (v / scale) ** 2
        if regime == 0 and abs(v) > 1.5:
            regime = 1
        elif regime == 1 and abs(v) < 0.5:
            regime = 0
    return total


@program(lambda rng: (np.array([2.0, 0.9]), rng.uniform(0.0, 1.5, 40)))
def spiking_neuron(p: Any, current: Any) -> Any:
    v, spikes, trace = 0.0, 0, 0.0
    for i in current:
        v = p[1] * v + i / p[0]
        if v >= 1.0:
            spikes += 1
            trace = trace + v
            v = 0.0
        trace = 0.9 * trace
    return trace + 0.1 * spikes + v


@program(lambda rng: (np.array([2.0, 0.5, 0.1]), rng.uniform(-3.0, 3.0)))
def saturated_controller(gains: Any, target: Any) -> Any:
    x, speed, integral, cost = 0.0, 0.0, 0.0, 0.0
    before = target
    for _ in range(30):
        error = target - x
        force = gains[0] * error + gains[1] * integral + gains[2] * (error - before) / 0.1
        if force > 2.0:
            force = 2.0
        elif force < -2.0:
            force = -2.0
        else:
            integral = integral + 0.1 * error
        before = error
        speed = speed + 0.1 * (force - speed)
        x = x + 0.1 * speed
        cost = cost + error**2
    return cost


@program(lambda rng: (np.array([1.0, 0.4, 0.3]), np.array([rng.uniform(0.5, 3), 1.0])))
def predators_with_harvest(p: Any, start: Any) -> Any:
    prey, predators = start
    harvested = 0.0
    for _ in range(40):
        prey = prey + 0.1 * prey * (p[0] - p[1] * predators)
        predators = predators + 0.1 * predators * (p[2] * prey - 0.5)
        if predators > 2.0:
            harvested = harvested + 0.5 * predators
            predators = 0.5 * predators
        if prey < 0.05:
            return harvested
    return harvested + prey


@program(lambda rng: (rng.uniform(2.0, 9.0), 9.81))
def bouncing_ball(height: Any, gravity: Any) -> Any:
    y, v, dt, bounces = height, 0.0, 0.02, 0
    for _ in range(100):
        next_y, next_v = y + dt * v, v - dt * gravity
        if y > 0 and next_y <= 0:
            part = y / (y - next_y)
            next_y = 0.0 * y
            next_v = -0.8 * (v - part * dt * gravity)
            bounces += 1
        if bounces == 3:
            break
        y, v = next_y, next_v
    return y + 0.1 * v


@program(lambda rng: (rng.normal(size=20) * 0.3 + 0.1, 1.0))
def cusum(x: Any, limit: Any) -> Any:
    up, down = 0.0, 0.0
    for t in range(len(x)):
        up = max(0.0, up + x[t])
        down = min(0.0, down + x[t])
        if up > limit or -down > limit:
            return up - down + 0.01 * t
    return up - down


@program(lambda rng: (rng.normal(size=30) * 0.05,))
def worst_drawdown(returns: Any) -> Any:
    wealth, peak, worst = 1.0, 1.0, 0.0
    for r in returns:
        wealth = wealth * (1 + r)
        if wealth > peak:
            peak = wealth
        elif (drop := 1 - wealth / peak) > worst:
            worst = drop
    return worst + 0.1 * wealth


@program(lambda rng: (rng.normal(size=25), np.array([-0.4, 0.6])))
def schmitt_trigger(signal: Any, levels: Any) -> Any:
    on, total = False, 0.0
    for s in signal:
        if not on and s > levels[1]:
            on = True
        elif on and s < levels[0]:
            on = False
        total = total + (s**2 if on else 0.1 * s)
    return total


@program(lambda rng: (rng.normal(size=25) * 2, 0.5))
def backlash(x: Any, width: Any) -> Any:
    y, total = 0.0, 0.0
    for v in x:
        if v - width > y:
            y = v - width
        elif v + width < y:
            y = v + width
        total += y * y
    return total


@program(lambda rng: (rng.exponential(1.0, 20), rng.exponential(1.1, 20)))
def waiting_times(service: Any, gaps: Any) -> Any:
    wait, total, busy = 0.0, 0.0, 0
    for s, g in zip(service, gaps, strict=True):
        wait = wait + s - g
        if wait < 0:
            wait = 0.0
        else:
            busy += 1
        total = total + wait
    return total / (1 + busy)


@program(lambda rng: (np.array([3.0, 9.0]), rng.exponential(2.0, 25)))
def inventory_policy(levels: Any, demand: Any) -> Any:
    stock, cost = levels[1], 0.0
    for d in demand:
        stock = stock - d
        if stock < 0:
            cost = cost - 5.0 * stock
            stock = 0.0
        if stock < levels[0]:
            cost += 2.0 + 0.5 * (levels[1] - stock)
            stock = levels[1]
        cost += 0.1 * stock
    return cost


@program(lambda rng: (rng.normal(size=20), 0.3))
def outlier_robust_mean(x: Any, rate: Any) -> Any:
    mean, spread, kept = x[0], 1.0, 1
    for v in x[1:]:
        r = v - mean
        if abs(r) > 2.5 * spread:
            continue
        mean = mean + rate * r
        spread = 0.9 * spread + 0.1 * abs(r)
        kept += 1
    return mean + 0.01 * kept * spread


@program(lambda rng: (rng.normal(size=15).cumsum(), 0.5))
def first_crossing(path: Any, level: Any) -> Any:
    for t in range(1, len(path)):
        if (path[t - 1] - level) * (path[t] - level) < 0:
            part = (level - path[t - 1]) / (path[t] - path[t - 1])
            return t - 1 + part
    return path[-1] * 0.1


@program(lambda rng: (rng.normal(size=14), rng.uniform(0.0, 1.0, 14)))
def run_lengths(x: Any, weights: Any) -> Any:
    total, run = 0.0, 1
    for k in range(1, len(x)):
        if (x[k] > 0) == (x[k - 1] > 0):
            run += 1
        else:
            total = total + run * weights[k] * x[k]
            run = 1
    return total + run * x[-1]


@program(lambda rng: (np.array([0.5, 2.0]), rng.normal(size=(12, 3)), rng.random((12, 3)) < 0.7))
def masked_average(p: Any, x: Any, seen: Any) -> Any:
    state = np.zeros(3)
    for row, mask in zip(x, seen, strict=True):
        if not mask.any():
            state = state * p[0]
        elif mask.all() and np.max(row) > 0.5:
            state = p[0] * state + (1 - p[0]) * row
        else:
            for j in range(3):
                if mask[j]:
                    state[j] = p[0] * state[j] + p[1] * row[j]
    return np.sum(state**2)
