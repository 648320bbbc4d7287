"""Helpers of generated modules: small functions for what NumPy has no name for.

A template of an op spells one `helpers.NAME(...)`; a module that uses it has the text of the
function at its head. The docstring is one line that says what it computes. A helper knows `np` and
its parameters.

>>> HELPERS.kept_where(np.array([True, False]), np.array([2.5, np.nan]), np.int64)
array([2.5, 0. ])
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

TEXTS = {
    "kept_where": '''
def kept_where(condition, x, bits):
    """Return x where the condition is true, 0.0 elsewhere: all bits of x, or none."""
    return (x.view(bits) & -condition.view(np.int8)).view(x.dtype)
''',
    "kept_unless": '''
def kept_unless(condition, x, bits):
    """Return x where the condition is false, 0.0 elsewhere: all bits of x, or none."""
    return (x.view(bits) & condition.view(np.int8) - 1).view(x.dtype)
''',
    "within": '''
def within(x, low, high, problem):
    """Return x, none of which may be below low or above high."""
    if np.any(x < low) or np.any(x > high):
        raise ValueError(problem)
    return x
''',
    "fill_gaps": '''
def fill_gaps(rows, size, used, length, number):
    """Put a number that changes no sum between rows that lie in one array, behind what is used."""
    rows[:size].reshape(size // length, length)[:, used:] = number
''',
    "solved": '''
def solved(result):
    """Return the solution in a result of SciPy's; raise RuntimeError if it was not found."""
    if not result.success:
        raise RuntimeError(" ".join(result.message.split()))
    return result.x
''',
    "root_of": '''
def root_of(result):
    """Return the root in a result of SciPy's; raise RuntimeError if it was not found."""
    if not result.converged:
        raise RuntimeError(result.flag)
    return result.root
''',
    "integrated": '''
def integrated(result):
    """Return the states in a result of solve_ivp; raise RuntimeError if it failed."""
    if not result.success:
        raise RuntimeError(" ".join(result.message.split()))
    return result.y
''',
    "with_last": '''
def with_last(result):
    """Return the last state in a result of solve_ivp, and the result; or raise RuntimeError."""
    if not result.success:
        raise RuntimeError(" ".join(result.message.split()))
    return result.y[:, -1], result
''',
    "with_states": '''
def with_states(result):
    """Return the states in a result of solve_ivp, and the result; or raise RuntimeError."""
    if not result.success:
        raise RuntimeError(" ".join(result.message.split()))
    return result.y, result
''',
    "marked": '''
def marked(event, terminal, direction):
    """Return the event with the attributes that solve_ivp reads."""
    event.terminal, event.direction = terminal, direction
    return event
''',
    "first_event": '''
def first_event(result, number):
    """Return the first time of an event; raise RuntimeError if it did not take place."""
    if not result.success or not len(result.t_events[number]):
        raise RuntimeError(f"The event did not take place. {result.message}")
    return result.t_events[number][0]
''',
    "successful": '''
def successful(states, report):
    """Return the states of odeint; raise RuntimeError if it did not reach the end."""
    if report["message"] != "Integration successful.":
        raise RuntimeError(report["message"])
    return states
''',
    "steps_to": '''
def steps_to(result, bar, times=None):
    """Return the times of the steps of solve_ivp, the states and the cotangents there."""
    if times is None:
        bars = np.zeros(result.y.T.shape)
        bars[-1] = bar
        return result.t, result.y.T, bars
    ts = np.union1d(result.sol.ts, times)
    ts = ts if result.sol.ts[0] <= result.sol.ts[-1] else ts[::-1]
    bars = np.zeros((ts.size, bar.shape[0]))
    np.add.at(bars, [np.flatnonzero(ts == t)[0] for t in times], bar.T)
    return ts, result.sol(ts).T, bars
''',
    "explicit_adjoint": '''
def explicit_adjoint(rate, pull, method, ts, ys, bars):
    """Return the gradients of the first state and the parameters: Runge-Kutta steps, reversed."""
    stages, size = method.B.size, ys.shape[1]
    weights = np.zeros((stages, stages))
    weights[:, : method.A.shape[1]] = method.A
    rates, slopes = np.empty((stages, size)), np.empty((stages, size))
    back, total = bars[-1], 0.0
    for k in reversed(range(ts.size - 1)):
        h = ts[k + 1] - ts[k]
        points = []
        for i in range(stages):
            points.append((ts[k] + h * method.C[i], ys[k] + h * (weights[i, :i] @ rates[:i])))
            rates[i] = rate(*points[i])
        for i in reversed(range(stages)):
            later = weights[i + 1 :, i] @ slopes[i + 1 :]
            found = pull(*points[i], h * (method.B[i] * back + later))
            slopes[i] = found[:size]
            total = total + found[size:]
        back = back + slopes.sum(axis=0) + bars[k]
    return np.concatenate((back, total))
''',
    "with_report": '''
def with_report(states, report):
    """Return the states of odeint, and its report; raise RuntimeError if it failed."""
    if report["message"] != "Integration successful.":
        raise RuntimeError(report["message"])
    return states, report
''',
    "steps_of_odeint": '''
def steps_of_odeint(solve, nodes, times, report, bar):
    """Return the states as a function of time, and times, states, cotangents at steps of odeint."""
    counts = np.maximum(np.diff(report["nst"], prepend=0), 1)
    parts = [np.linspace(*ends, count + 1)[1:] for *ends, count in zip(times, times[1:], counts)]
    ts = np.concatenate((times[:1], *parts))
    inner = ts[1:, None] - np.diff(ts)[:, None] * nodes
    sign = 1.0 if times[0] <= times[-1] else -1.0
    table = sign * np.union1d(sign * ts, sign * inner)
    columns = solve(table).T
    bars = np.zeros((ts.size, bar.shape[1]))
    bars[np.cumsum([0, *counts])] = bar
    states = lambda t: np.stack([np.interp(sign * t, sign * table, each) for each in columns])
    return states, ts, states(ts).T, bars
''',
    "collocation_adjoint": '''
def collocation_adjoint(jacobians, pull, chunk, nodes, weights, states, ts, ys, bars):
    """Return the gradients of the first state and the parameters: a step of Radau's for each."""
    stages, (count, size) = nodes.size, ys.shape
    back, total = bars[-1], 0.0
    for stop in range(count - 1, 0, -chunk):
        first = max(stop - chunk, 0)
        steps = np.zeros(chunk)
        ends = np.full(chunk, ts[first])
        steps[: stop - first] = ts[first + 1 : stop + 1] - ts[first:stop]
        ends[: stop - first] = ts[first + 1 : stop + 1]
        times = (ends[:, None] - steps[:, None] * nodes).reshape(-1)
        points = states(times).T
        slopes = jacobians(times, points).reshape(chunk, stages, size, size)
        system = np.einsum("k,ij,kjba->kiajb", -steps, weights, slopes)
        system = system.reshape(chunk, stages * size, stages * size) + np.eye(stages * size)
        maps = np.linalg.solve(system, np.tile(np.eye(size), (chunk, stages, 1)))
        begins = np.zeros((chunk, size, 1))
        for k in reversed(range(stop - first)):
            begins[k, :, 0] = back
            back = maps[k, -size:] @ back + bars[first + k]
        cotangents = (maps @ begins).reshape(chunk, stages, size)
        cotangents *= (steps[:, None] * weights[-1])[:, :, None]
        total = total + pull(times, points, cotangents.reshape(-1, size))
    return np.concatenate((back, total))
''',
    "converged": '''
def converged(solver, before, x, info):
    """Return the solution of an iterative solver, if this one and the one before are solutions."""
    if before or info:
        raise ArithmeticError(f"{solver} did not converge: its derivative is not known")
    return x
''',
}
"""The functions, by name."""


def _functions() -> SimpleNamespace:
    space: dict[str, Any] = {"np": np}
    for name, text in TEXTS.items():
        exec(compile(text, f"<helper {name}>", "exec"), space)
    return SimpleNamespace(**{name: space[name] for name in TEXTS})


HELPERS = _functions()
