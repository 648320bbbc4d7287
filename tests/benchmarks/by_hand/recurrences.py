"""A recurrent network, heat flow, and gravity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import add, empty, multiply, ones, power, sqrt, subtract, tanh, zeros

from tests.benchmarks.by_hand.machine import THREADS, WORKER, alone, constant, refuse, set_threads


def rnn(wh: Any, wx: Any, b: Any, h: Any, x: Any, target: Any) -> Callable[..., Any]:
    """Products with what is seen before the loop; gradients of weights after it."""
    shapes, double = [one.shape for one in (wh, wx, b, h, x, target)], wh.dtype
    steps, batch, seen = x.shape
    hidden, rows = wh.shape[0], steps * batch
    into, states = empty((steps, batch, hidden)), empty((steps + 1, batch, hidden))
    slopes, bars = empty((steps, batch, hidden)), empty((steps, batch, hidden))
    flat_into, flat_bars = into.reshape(rows, hidden), bars.reshape(rows, hidden)
    before = states[:-1].reshape(rows, hidden)
    forward = list(zip(list(states[:-1]), list(into), list(states[1:]), strict=True))
    backward = list(zip(list(bars[:0:-1]), list(bars[-2::-1]), list(slopes[-2::-1]), strict=True))
    t, across = empty((batch, hidden)), empty((hidden, hidden))
    one, scale, ones_ = constant(1.0), constant(2.0 / (batch * hidden)), ones(rows)
    count = batch * hidden

    def value_and_grad(wh: Any, wx: Any, b: Any, h: Any, x: Any, target: Any) -> Any:
        given = wh, wx, b, h, x, target
        for value, shape in zip(given, shapes, strict=True):
            if value.shape != shape or value.dtype is not double:
                refuse(*given)
        x = x.reshape(rows, seen)
        set_threads(1)
        try:
            x.dot(wx, flat_into)
            add(flat_into, b, flat_into)
            states[0] = h
            for state, entering, after in forward:
                state.dot(wh, t)
                add(t, entering, t)
                tanh(t, after)
            last = states[-1]
            subtract(last, target, t)
            flat = t.reshape(-1)
            value = flat.dot(flat) / count
            multiply(states[1:], states[1:], slopes)
            subtract(one, slopes, slopes)
            np.copyto(across, wh.T)
            multiply(t, scale, t)
            multiply(t, slopes[-1], bars[-1])
            for bar, earlier, slope in backward:
                bar.dot(across, t)
                multiply(t, slope, earlier)
            wh_bar = before.T.dot(flat_bars)
            wx_bar, b_bar = x.T.dot(flat_bars), ones_.dot(flat_bars)
        finally:
            set_threads(THREADS)
        return value, (wh_bar, wx_bar, b_bar)

    return value_and_grad


def stencil(u: Any, c: Any) -> Callable[..., Any]:
    """In one go, or two halves with a margin of a row per step, which meet once."""
    n, shape, inner, double = u.shape[0], u.shape, c.shape, u.dtype
    steps = 30
    threaded = n >= 4 * steps + 8 and n > 160
    middle = n // 2
    # Rows held, and of these the rows that are this half's to give.
    spans = (
        [((0, middle + steps + 1), (0, middle)), ((middle - steps - 1, n), (middle, n))]
        if threaded
        else [((0, n), (0, n))]
    )
    parts = [HeatFlow(n, steps, *span) for span in spans]

    def value_and_grad(u: Any, c: Any) -> Any:
        if u.shape != shape or c.shape != inner or u.dtype is not double or c.dtype is not double:
            refuse(u, c)
        u_bar, c_bar = empty(shape), empty(inner)
        if threaded:
            WORKER.both(
                lambda: parts[0].run(u, c, u_bar, c_bar), lambda: parts[1].run(u, c, u_bar, c_bar)
            )
        else:
            alone(lambda: parts[0].run(u, c, u_bar, c_bar))
        return sum(part.total for part in parts) / (n * n), (u_bar, c_bar)

    return value_and_grad


class HeatFlow:
    """Rows `start` to `stop` of the square as one row after the other, the coefficient 0 on the
    boundary: u += c L(u), where L takes neighbours in the flat array. L is symmetric, so that the
    gradient flows as g += L(c g), and the coefficient's sums g L(u)."""

    def __init__(self, n: int, steps: int, span: tuple[int, int], own: tuple[int, int]) -> None:
        (self.start, self.stop), self.own, self.n = span, own, n
        rows = self.stop - self.start
        size = rows * n
        self.inside = slice(n, size - n)  # neighbours above and below are there
        self.state, self.heat = zeros(size), zeros((rows, n))
        self.kept = [empty(size - 2 * n) for _ in range(steps)]
        self.t, self.flow, self.sums = empty(size - 2 * n), zeros(size), empty(size - 2 * n)
        self.rows, self.scale, self.rest = rows, constant(2.0 / n**2), empty(size - 2 * n)
        self.one, self.four = constant(1.0), constant(4.0)
        self.total = 0.0

    def views(self, flat: Any) -> tuple[Any, ...]:
        """Of a flat array the inside, and its neighbours above, below, left, right."""
        n, size = self.n, flat.size
        return (
            flat[n : size - n],
            flat[: size - 2 * n],
            flat[2 * n :],
            flat[n - 1 : size - n - 1],
            flat[n + 1 : size - n + 1],
        )

    def run(self, u: Any, c: Any, u_bar: Any, c_bar: Any) -> None:
        """Write this part of the gradients; `total` is its sum of squares."""
        n, t, four, heat = self.n, self.t, self.four, self.heat
        first, last = max(self.start, 1), min(self.stop, n - 1)
        heat[first - self.start : last - self.start, 1:-1] = c[first - 1 : last - 1]
        c_flat = heat.reshape(-1)[self.inside]
        state = self.state
        state.reshape(self.rows, n)[...] = u[self.start : self.stop]
        mid, up, down, left, right = self.views(state)
        for kept in self.kept:
            add(up, down, kept)
            add(kept, left, kept)
            add(kept, right, kept)
            multiply(mid, four, t)
            subtract(kept, t, kept)
            multiply(kept, c_flat, t)
            add(mid, t, mid)
        begin, end = self.own[0] - self.start, self.own[1] - self.start
        owned = state[begin * n : end * n]
        self.total = owned.dot(owned)
        multiply(state, self.scale, state)  # from here on it is the gradient
        flow, sums, rest = self.flow, self.sums, self.rest
        at, up, down, left, right = self.views(flow)
        multiply(c_flat, four, rest)
        subtract(self.one, rest, rest)
        sums.fill(0.0)
        for kept in reversed(self.kept):
            multiply(kept, mid, kept)
            add(sums, kept, sums)
            multiply(mid, c_flat, at)
            multiply(mid, rest, mid)
            add(up, down, t)
            add(t, left, t)
            add(t, right, t)
            add(mid, t, mid)
            self.edges(flow, state)
        u_bar[self.own[0] : self.own[1]] = state.reshape(self.rows, n)[begin:end]
        first, last = max(self.own[0], 1), min(self.own[1], n - 1)
        whole = sums.reshape(self.rows - 2, n)
        c_bar[first - 1 : last - 1] = whole[first - self.start - 1 : last - self.start - 1, 1:-1]

    def edges(self, flow: Any, state: Any) -> None:
        """The first and the last row, which have one neighbour each."""
        n = self.n
        for row, beside in ((state[:n], flow[n : 2 * n]), (state[-n:], flow[-2 * n : -n])):
            add(row, beside, row)


def nbody(places: Any, speeds: Any, masses: Any) -> Callable[..., Any]:
    """Places q, speeds w half a step earlier and the force f of each pair are the rows of one
    matrix, so that one product does all that is linear in a step; with d the differences of places
    it gives d in the place of f, and f = d r^-3/2, r = d d + 0.01."""
    n, shape, double = places.shape[0], places.shape, places.dtype
    steps, dt = 20, 0.01
    first, second = np.triu_indices(n, 1)
    pairs, size = first.size, 2 * n + first.size
    apart = zeros((pairs, n))
    apart[np.arange(pairs), first], apart[np.arange(pairs), second] = -1.0, 1.0
    onto_first, onto_second = (apart < 0.0).T * 1.0, (apart > 0.0).T * 1.0
    step, eye = zeros((size, size)), np.eye(n)
    step[:n, :n] = step[n : 2 * n, n : 2 * n] = eye
    step[:n, n : 2 * n] = dt * eye
    step[2 * n :, :n], step[2 * n :, n : 2 * n] = apart, dt * apart
    step_back, apart_back = step.T, apart.T
    chain, bars = empty((steps + 1, size, 3)), empty((2, size, 3))
    radii, cubes, ends = (empty((steps + 1, pairs, 3)) for _ in range(3))
    forces, t, s = chain[:, 2 * n :], empty((pairs, 3)), empty((pairs, 3))
    gather, moved, pulled = (empty((n, pairs)) for _ in range(3))
    columns, soft, power_ = ones((3, 3)), constant(0.01), constant(-1.5)
    full_dt, half_dt, minus_three = constant(dt), constant(0.5 * dt), constant(-3.0)
    forward = list(zip(chain[:-1], chain[1:], forces[1:], radii[1:], cubes[1:], strict=True))
    turns = [(bars[k % 2], bars[1 - k % 2]) for k in range(steps)]
    backward = [
        (here, here[2 * n :], *kept, there)
        for (here, there), *kept in zip(
            turns, list(forces[:0:-1]), list(cubes[:0:-1]), list(ends[:0:-1]), strict=True
        )
    ]
    last_bar, first_bar = bars[0], bars[steps % 2]

    def value_and_grad(places: Any, speeds: Any, masses: Any) -> Any:
        if places.shape != shape or speeds.shape != shape or masses.shape != (n,):
            refuse(places, speeds, masses)
        if places.dtype is not double or speeds.dtype is not double or masses.dtype is not double:
            refuse(places, speeds, masses)
        multiply(onto_first, masses[second], gather)
        multiply(onto_second, masses[first], moved)
        subtract(gather, moved, gather)
        multiply(gather, full_dt, moved)
        step[n : 2 * n, 2 * n :] = moved
        multiply(moved, full_dt, pulled)
        step[:n, 2 * n :] = pulled
        step[2 * n :, 2 * n :] = apart.dot(pulled)
        multiply(gather, half_dt, moved)

        start, force = chain[0], forces[0]
        apart.dot(places, force)
        multiply(force, force, t)
        t.dot(columns, radii[0])
        add(radii[0], soft, radii[0])
        power(radii[0], power_, cubes[0])
        multiply(force, cubes[0], force)
        start[:n] = places
        subtract(speeds, moved.dot(force), start[n : 2 * n])
        for before, after, force, radius, cube in forward:
            step.dot(before, after)
            multiply(force, force, t)
            t.dot(columns, radius)
            add(radius, soft, radius)
            power(radius, power_, cube)
            multiply(force, cube, force)
        end, force = chain[-1], forces[-1]
        q, w = end[:n].reshape(-1), end[n : 2 * n] + moved.dot(force)
        flat = w.reshape(-1)
        value = q.dot(q) + flat.dot(flat)

        sqrt(radii, radii)
        multiply(forces, radii, ends)
        multiply(ends, minus_three, ends)
        add(end[:n], end[:n], last_bar[:n])
        add(w, w, last_bar[n : 2 * n])
        moved_back = moved.T
        moved_back.dot(last_bar[n : 2 * n], last_bar[2 * n :])
        for here, f_bar, f, cube, far, earlier in backward:
            multiply(f_bar, f, t)
            t.dot(columns, s)
            multiply(s, far, s)
            multiply(f_bar, cube, f_bar)
            add(f_bar, s, f_bar)
            step_back.dot(here, earlier)
        speeds_bar, f_bar = first_bar[n : 2 * n].copy(), first_bar[2 * n :]
        subtract(f_bar, moved_back.dot(speeds_bar), f_bar)
        multiply(f_bar, forces[0], t)
        t.dot(columns, s)
        multiply(s, ends[0], s)
        multiply(f_bar, cubes[0], f_bar)
        add(f_bar, s, f_bar)
        return value, (first_bar[:n] + apart_back.dot(f_bar), speeds_bar)

    return value_and_grad
