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
    "on_bounds": '''
def on_bounds(x, gradient, lowest, highest):
    """Return x, and -1 or 1 where its lowest or highest value holds it, else 0."""
    push, scale = gradient(x), 1.0 + np.abs(x)
    gaps = np.stack((x - lowest, highest - x))
    near = np.where(push > 0.0, *gaps) <= 1e-4 * scale
    rest = np.max(np.abs(push), where=~near, initial=0.0)
    noise = 1e-6 * (1.0 + np.max(np.abs(push))) + rest
    held = near & (np.abs(push) > noise) | (lowest == highest)
    if np.any((np.min(gaps, axis=0) <= 1e-6 * scale) & ~held):
        raise RuntimeError("The solution is at a bound with a multiplier of zero: no derivative.")
    return x, np.where(held, np.where(push > 0.0, -1, 1), 0)
''',
    "on_constraints": '''
def on_constraints(x, conditions, nnls, lows, highs):
    """Return x, multipliers of constraints, and -1 or 1 where a limit holds x or one, else 0."""
    gradient, slopes, *values = conditions(x)
    values = [x, *values]
    low = np.concatenate([np.broadcast_to(one, v.shape) for one, v in zip(lows, values)])
    high = np.concatenate([np.broadcast_to(one, v.shape) for one, v in zip(highs, values)])
    rows = np.concatenate((np.eye(x.size), slopes))
    norms = np.maximum(np.linalg.norm(rows, axis=1), np.finfo(float).tiny)
    rows /= norms[:, None]
    gaps = np.stack((np.concatenate(values) - low, high - np.concatenate(values))) / norms
    scale = 1.0 + np.max(np.abs(x))
    near = gaps <= 1e-4 * scale
    pushes = np.stack((rows, -rows))[near]
    forces = np.zeros(gaps.shape)
    if near.any():
        system = np.concatenate((pushes.T, np.diag(np.abs(gaps[near]))))
        forces[near] = nnls(system, np.concatenate((gradient, np.zeros(len(pushes)))))[0]
    largest = 1.0 + np.max(np.abs(gradient))
    rest = np.max(np.abs(gradient - forces[near] @ pushes))
    held = (np.max(forces, axis=0) > 1e-6 * largest + rest) | (low == high)
    loose = np.min(gaps, axis=0) / scale
    if np.any((loose <= 1e-6) & ~held):
        raise RuntimeError("A constraint that holds has a multiplier of zero: no derivative.")
    if np.linalg.matrix_rank(rows[held], tol=1e-8) < np.count_nonzero(held):
        raise RuntimeError("Constraints that hold depend on each other: no derivative.")
    if rest > 1e-2 * largest and np.any((loose <= 1e-2) & ~held):
        raise RuntimeError("The solution is not precise enough for a derivative: lower tol=.")
    force = (forces[0] - forces[1]) / norms
    sides = np.where(held, np.where(force < 0.0, 1, -1), 0)
    return x, np.where(held, force, 0.0)[x.size :], sides
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
    "succeeded": '''
def succeeded(result):
    """Return a result of solve_ivp; raise RuntimeError if it failed."""
    if not result.success:
        raise RuntimeError(" ".join(result.message.split()))
    return result
''',
    "event_at": '''
def event_at(result, event, number):
    """Return a time of an event, or all; raise RuntimeError if it did not take place so often."""
    times = result.t_events[event]
    if number is not ... and not -len(times) <= number < len(times):
        raise RuntimeError(f"The event took place {len(times)} times. {result.message}")
    return times[number]
''',
    "end_of": '''
def end_of(result, ending):
    """Return the last time, and which event of those that end a solution took place then, or -1."""
    last = [event for event in ending if result.t[-1] in result.t_events[event][-1:]]
    return result.t[-1], last[-1] if result.status == 1 else -1
''',
    "successful": '''
def successful(states, report):
    """Return the states of odeint; raise RuntimeError if it did not reach the end."""
    if not report["message"].startswith(("Integration successful", "Nothing was done")):
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
    "nodes_of_steps": '''
def nodes_of_steps(states, fractions, ts, ys, bars):
    """Return the times of steps; times and states at their nodes; cotangents."""
    nodes = ts[:-1, None] + np.diff(ts)[:, None] * fractions
    points = states(nodes.reshape(-1)).T
    return ts, nodes, points.reshape(*nodes.shape, -1), bars
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
    "with_nodes": '''
def with_nodes(solve, rate, place, times, fractions):
    """Return the states of odeint; and those at nodes between times, with the times of calls."""
    calls = []

    def noted(*point):
        calls.append(point[place])
        return rate(*point)

    # The first step depends on the first time that is asked for: no node is before it.
    first = max(int(np.argmax(times != times[0])), 1)
    nodes = times[first:-1, None] + np.diff(times[first:])[:, None] * fractions
    table = np.concatenate((times[:first], nodes.reshape(-1), times[-1:]))
    states, report = solve(noted, table)
    if not report["message"].startswith(("Integration successful", "Nothing was done")):
        raise RuntimeError(report["message"])
    chosen = np.concatenate((np.arange(first), np.arange(first, table.size, len(fractions))))
    return states[chosen], (states, calls, first)
''',
    "nodes_of_odeint": '''
def nodes_of_odeint(solve, fractions, times, known, bar):
    """Return the ends of steps; times and states at their nodes; cotangents at the ends."""
    states, calls, first = known
    sign = 1.0 if times[0] <= times[-1] else -1.0
    goals, calls = sign * times, sign * np.array(calls)
    # A step was accepted if no later call is before its end.
    made = calls[:-1][calls[:-1] < np.minimum.accumulate(calls[:0:-1])[::-1]]
    made = made[(goals[0] < made) & (made < goals[-1])]
    place = np.searchsorted(goals, made)
    number = np.arange(1, made.size + 1) - np.searchsorted(place, place)
    is_end = (number % 4 == 0) & (place == np.append(place[1:], 0))
    last = place[is_end].max(initial=first)
    ends = np.sort(np.concatenate((goals, made[is_end])))
    bars = np.zeros((ends.size, bar.shape[1]))
    np.add.at(bars, np.searchsorted(ends, goals), bar)
    ends *= sign
    nodes = ends[:-1, None] + np.diff(ends)[:, None] * fractions
    again = solve(nodes[: ends.size - times.size + last].reshape(-1))
    points = np.concatenate((again, states[first + (last - first) * fractions.size : -1]))
    return ends, nodes, points.reshape(*nodes.shape, -1), bars
''',
    "collocation_adjoint": '''
def collocation_adjoint(jacobians, pull, chunk, weights, ends, nodes, points, bars):
    """Return the gradients of the first state and the parameters: a step of Radau's for each."""
    stages, size = points.shape[1:]
    whole = stages * size
    starts, moves = np.tile(np.eye(size), (stages, 1)), np.zeros((chunk, size + 1, size + 1))
    moves[:, size, size] = 1.0
    back, total = np.append(bars[-1], 1.0), 0.0
    for stop in range(len(points), 0, -chunk):
        first = max(stop - chunk, 0)
        count = stop - first
        rows = np.minimum(np.arange(first, first + chunk), stop - 1)
        places = nodes[rows].reshape(-1), points[rows].reshape(-1, size)
        steps = np.diff(ends[first : stop + 1])[:, None, None]
        slopes = jacobians(*places).reshape(chunk, stages, size, size)[:count].swapaxes(2, 3)
        integrals, maps, change = steps * weights, starts, np.inf
        for _ in range(12 if size > 4 else 0):
            before, last = change, maps
            rates = (slopes @ maps.reshape(-1, stages, size, size)).reshape(count, stages, -1)
            maps = starts + (integrals @ rates).reshape(-1, whole, size)
            change = np.abs(maps - last).max()
            if change < 1e-10 or not change < before:
                break
        if not change < 1e-10:
            system = integrals[:, :, None, :, None] * slopes.swapaxes(1, 2)[:, None]
            maps = np.linalg.solve(np.eye(whole) - system.reshape(-1, whole, whole), starts)
        moves[:count, :size, :size], moves[:count, :size, size] = maps[:, :size], bars[first:stop]
        begins = [back]
        for move in moves[:count][::-1]:
            begins.append(move.dot(begins[-1]))
        back = begins.pop()
        cotangents = np.zeros((chunk, stages, size))
        found = (maps @ np.array(begins[::-1])[:, :size, None]).reshape(-1, stages, size)
        np.multiply(found, steps * weights[0][:, None], out=cotangents[:count])
        total = total + pull(*places, cotangents.reshape(-1, size))
    return np.concatenate((back[:size], total))
''',
    "implicit_adjoint": '''
def implicit_adjoint(matrix, pull, factor, solve, weights, ends, nodes, points, bars):
    """Return the gradients of the first state and the parameters: Radau's steps, by iteration."""
    stages, size = points.shape[1:]
    values, vectors = np.linalg.eig(weights)
    chosen = np.flatnonzero(values.imag >= 0.0)
    parts = [np.real_if_close(part) for part in np.linalg.inv(vectors)[chosen]]
    wholes = vectors[:, chosen] * np.where(values[chosen].imag > 0.0, 2.0, 1.0)
    factors, latest = [], len(points)
    back, total = bars[-1], 0.0
    for k in reversed(range(len(points))):
        step, cotangents, before = ends[k + 1] - ends[k], np.tile(back, (stages, 1)), np.inf
        for sweep in range(100):
            pulled = np.array([pull(*each) for each in zip(nodes[k], points[k], cotangents)])
            change = back + step * weights @ pulled[:, :size] - cotangents
            if factors:
                solved = [solve(one, part @ change, trans=1) for one, part in zip(factors, parts)]
                change = (wholes @ solved).real
            now = np.abs(change).max()
            if sweep and latest > k and not now < 0.1 * before:
                slopes = matrix(nodes[k, stages // 2], points[k, stages // 2])
                shifts = [step * np.real_if_close(value) for value in values[chosen]]
                factors = [factor(np.eye(size) - shift * slopes) for shift in shifts]
                latest, now, change = k, np.inf, back - cotangents
            cotangents, before = cotangents + change, now
            if now <= 1e-10 * np.abs(cotangents).max():
                break
        else:
            raise ArithmeticError(f"The adjoint did not converge at t = {ends[k]}: set max_step")
        total = total + step * weights[0] @ pulled[:, size:]
        back = cotangents[0] + bars[k]
    return np.concatenate((back, total))
''',
    "exponential_slope": '''
def exponential_slope(A, b, g):
    """Return the slopes of sum(g * (expm(A) @ b)) by the elements of A, by series of Taylor's."""
    terms = np.arange(24)
    factors = (1.0 / np.cumprod(np.append(1.0, np.arange(1.0, 48.0)))).astype(g.real.dtype)
    b, g = b.reshape(len(b), -1), g.reshape(len(g), -1)
    steps = max(int(np.ceil(abs(A.tocsr()).sum(axis=0).max() / 2.0)), 1)
    forward, backward = A.tocsr(), A.T.tocsr()
    def powers(matrix, x):
        found = [x]
        for _ in terms[1:]:
            found.append(matrix @ found[-1] / steps)
        return np.array(found)
    states = [b]
    for _ in range(steps - 1):
        states.append(np.tensordot(factors[terms], powers(forward, states[-1]), 1))
    weights, total = factors[terms[:, None] + terms + 1], 0.0
    for state in reversed(states):
        after = powers(backward, g)
        before = np.tensordot(weights, powers(forward, state), 1)
        total = total + np.einsum("kec,kec->e", after[:, A.row], before[:, A.col]) / steps
        g = np.tensordot(factors[terms], after, 1)
    return total
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
