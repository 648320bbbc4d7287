"""Loops over time, iterations, stencils."""

from __future__ import annotations

import numpy as np

from tests.idioms.table import idiom, normal, positive


@idiom(normal(2), np.float64(0.7))
def euler_decay(x, rate):
    for _ in range(10):
        x = x - 0.1 * rate * x
    return x


@idiom(positive(2))
def lotka_volterra_rk4(state, h=0.05):
    def slope(s):
        x, y = s
        return np.stack([1.1 * x - 0.4 * x * y, 0.1 * x * y - 0.4 * y])

    for _ in range(5):
        k1 = slope(state)
        k2 = slope(state + 0.5 * h * k1)
        k3 = slope(state + 0.5 * h * k2)
        k4 = slope(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


@idiom(normal(3), normal(3), np.float64(2.0))
def velocity_verlet(x, v, k):
    dt, a = 0.1, -k * x
    for _ in range(5):
        x = x + v * dt + 0.5 * a * dt**2
        new = -k * x
        v, a = v + 0.5 * (a + new) * dt, new
    return x, v


@idiom(normal(4, 2), positive(4))
def gravity(positions, masses):
    d = positions[None] - positions[:, None]
    r2 = np.sum(d**2, axis=-1) + 0.01
    return np.sum(masses[:, None] * d / r2[..., None] ** 1.5, axis=1)


@idiom(normal(8))
def heat_equation(u):
    for _ in range(4):
        u = u + 0.2 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return u


@idiom(normal(5, 5))
def heat_with_fixed_borders(u):
    for _ in range(3):
        inner = u[1:-1, 1:-1]
        laplacian = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner
        u = np.pad(inner + 0.1 * laplacian, 1)
    return u


@idiom(normal(7))
def wave_equation(u):
    before, now = u, u
    for _ in range(4):
        after = 2 * now - before + 0.3 * (np.roll(now, 1) - 2 * now + np.roll(now, -1))
        before, now = now, after
    return now


@idiom(np.float64(0.3), np.float64(3.2))
def logistic_map(x, r):
    for _ in range(6):
        x = r * x * (1 - x)
    return x


@idiom(positive(4))
def newton_square_root(a):
    x = np.ones_like(a)
    for _ in range(8):
        x = 0.5 * (x + a / x)
    return x


@idiom(np.float64(0.8), np.float64(0.3))
def kepler_equation(mean_anomaly, eccentricity):
    e = mean_anomaly
    for _ in range(6):
        e = e - (e - eccentricity * np.sin(e) - mean_anomaly) / (1 - eccentricity * np.cos(e))
    return e


@idiom(positive(3))
def bisection_with_where(a):
    """The square root; only its last step depends on a in a differentiable way."""
    low, high = np.zeros_like(a), np.full_like(a, 2.0)
    for _ in range(30):
        middle = (low + high) / 2
        above = middle**2 > a
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return 0.5 * (low + a / low)


@idiom(np.array([0.1 + 0.2j, -0.5 + 0.1j, 1.0 + 1.0j]))
def mandelbrot(c):
    z = np.zeros_like(c)
    for _ in range(5):
        inside = np.abs(z) < 2
        z = np.where(inside, z * z + c, z)
    return np.abs(z)


@idiom(normal(3), normal(4, 3), normal(4))
def gradient_descent(w, x, y):
    for _ in range(5):
        w = w - 0.1 * (x.T @ (x @ w - y)) / len(y)
    return w


@idiom(np.array([0.9, 0.1, 0.0]), np.float64(0.5), np.float64(0.2))
def epidemic(state, beta, gamma):
    s, i, r = state
    for _ in range(8):
        infected, recovered = 0.1 * beta * s * i, 0.1 * gamma * i
        s, i, r = s - infected, i + infected - recovered, r + recovered
    return np.stack([s, i, r])


@idiom(np.float64(0.5), np.float64(0.1))
def damped_pendulum(theta, damping):
    omega, path = 0.0, []
    for _ in range(6):
        omega = omega - 0.1 * (np.sin(theta) + damping * omega)
        theta = theta + 0.1 * omega
        path.append(theta)
    return np.stack(path)


@idiom(positive(5))
def integrate_and_fire(current):
    v, fired = np.zeros_like(current), np.zeros_like(current)
    for _ in range(6):
        v = v + 0.3 * (current - v)
        spike = v > 0.8
        v, fired = np.where(spike, 0.0, v), fired + spike
    return v + 0.1 * fired


@idiom(np.array([1.2, 0.3, 0.1]))
def pid_controller(gains):
    kp, ki, kd = gains
    x, total, last = 0.0, 0.0, 1.0
    for _ in range(8):
        error = 1.0 - x
        total = total + 0.1 * error
        x = x + 0.1 * (kp * error + ki * total + kd * (error - last))
        last = error
    return x


@idiom(normal(4))
def fixed_point(x):
    y = np.zeros_like(x)
    for _ in range(15):
        y = 0.5 * np.cos(y) + 0.1 * x
    return y


@idiom(np.array([0.5, 0.3, 0.2]), positive(3, 3))
def markov_chain(p, rates):
    transition = rates / rates.sum(axis=1, keepdims=True)
    for _ in range(4):
        p = p @ transition
    return p


@idiom(normal(3))
def convergence_while_loop(x):
    step, k = 1.0, 0
    while step > 0.1:
        x = x - step * np.tanh(x)
        step, k = step / 2, k + 1
    return x * k


@idiom(normal(6))
def simpson(y, h=0.2):
    y = np.append(y, 0.0)
    return h / 3 * (y[0] + 4 * y[1:-1:2].sum() + 2 * y[2:-2:2].sum() + y[-1])


@idiom(normal(4), np.linspace(0.0, 1.0, 5))
def fourier_series(coefficients, t):
    k = np.arange(len(coefficients))
    return np.cos(2 * np.pi * np.outer(t, k)) @ coefficients


@idiom(positive(3), np.float64(0.05))
def present_value(cash, rate):
    return np.sum(cash / (1 + rate) ** np.arange(1, len(cash) + 1))


@idiom(np.float64(1.1), np.float64(0.2))
def binomial_option(s, sigma, n=6):
    up = np.exp(sigma * np.sqrt(1 / n))
    down = 1 / up
    p = (1 - down) / (up - down)
    value = np.maximum(s * up ** np.arange(n, -n - 1, -2.0) - 1.0, 0.0)
    for _ in range(n):
        value = p * value[:-1] + (1 - p) * value[1:]
    return value[0]


@idiom(normal(3, 3))
def lennard_jones(positions):
    i, j = np.triu_indices(3, k=1)
    r2 = np.sum((positions[i] - positions[j]) ** 2, axis=1) + 0.5
    return np.sum(4 * (r2**-6 - r2**-3))
