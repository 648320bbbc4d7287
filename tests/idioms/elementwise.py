"""Formulas applied to each element."""

from __future__ import annotations

import numpy as np

from tests.idioms.table import complex_normal, idiom, normal, positive


@idiom(normal(5))
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@idiom(normal(5))
def stable_sigmoid(x):
    z = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + z), z / (1 + z))


@idiom(normal(5))
def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


@idiom(normal(5))
def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@idiom(normal(5))
def swish(x):
    return x / (1.0 + np.exp(-x))


@idiom(normal(3, 4))
def leaky_relu(x, slope=0.01):
    return np.where(x > 0, x, slope * x)


@idiom(normal(5))
def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


@idiom(2 * normal(6))
def huber(r, delta=1.0):
    small = np.abs(r) <= delta
    return np.where(small, 0.5 * r**2, delta * (np.abs(r) - 0.5 * delta))


@idiom(normal(6))
def log_cosh(x):
    return np.logaddexp(x, -x) - np.log(2.0)


@idiom(normal(6))
def soft_threshold(x, t=0.3):
    return np.sign(x) * np.maximum(np.abs(x) - t, 0.0)


@idiom(normal(6), np.array([1, -1, 1, 1, -1, -1]))
def hinge(score, y):
    return np.maximum(0, 1 - y * score)


@idiom(normal(5), np.float64(0.3), np.float64(0.7))
def gaussian_bump(x, mu, sigma):
    z = (x - mu) / sigma
    return np.exp(-0.5 * z * z) / (sigma * np.sqrt(2 * np.pi))


@idiom(positive(4) / 3)
def logit(p):
    return np.log(p) - np.log1p(-p)


@idiom(4 * normal(5))
def wrap_angle(theta):
    """To the interval [-pi, pi)."""
    return (theta + np.pi) % (2 * np.pi) - np.pi


@idiom(positive(4), normal(4))
def polar_to_cartesian(r, theta):
    return r * np.cos(theta), r * np.sin(theta)


@idiom(normal(4), normal(4))
def cartesian_to_polar(x, y):
    return np.hypot(x, y), np.arctan2(y, x)


@idiom(normal(3), normal(3), np.float64(0.25))
def lerp(a, b, t):
    return a + t * (b - a)


@idiom(positive(5) / 2.5)
def smoothstep(x):
    t = np.clip((x - 0.2) / 0.6, 0.0, 1.0)
    return t * t * (3 - 2 * t)


@idiom(normal(5))
def triangle_wave(t):
    return 2 * np.abs(2 * (t - np.floor(t + 0.5))) - 1


@idiom(normal(5))
def horner(x):
    coefficients = [2.0, -1.0, 0.5, 3.0]
    y = np.zeros_like(x)
    for c in coefficients:
        y = y * x + c
    return y


@idiom(positive(2), normal(2) / 3, normal(2) / 3)
def haversine(radius, latitude, longitude):
    """The distance from (0, 0) on a sphere."""
    a = np.sin(latitude / 2) ** 2 + np.cos(latitude) * np.sin(longitude / 2) ** 2
    return 2 * radius * np.arcsin(np.sqrt(a))


@idiom(30 * normal(4))
def degrees_round_trip(angle):
    return np.rad2deg(np.sin(np.deg2rad(angle)))


@idiom(positive(3), 4)
def compound_interest(rate, years):
    return 1000.0 * (1 + rate / 12) ** (12 * years)


@idiom(complex_normal(4))
def magnitude_and_phase(z):
    return np.abs(z), np.angle(z)


@idiom(complex_normal(4))
def complex_power_loss(z):
    return (z * z.conj()).real


@idiom(positive(3), positive(3))
def parallel_impedance(r, c):
    z = 1 / (1j * 2.0 * c)
    total = 1 / (1 / r + 1 / z)
    return np.abs(total)


@idiom(normal(6))
def nan_safe_log(x):
    """Logarithms of what is positive, zero elsewhere."""
    good = x > 0
    return np.where(good, np.log(np.where(good, x, 1.0)), 0.0)


@idiom(normal(6))
def piecewise_by_select(x):
    return np.select([x < -0.5, x > 0.5], [-x, x**2], default=0.25)


@idiom(normal(6))
def piecewise_by_piecewise(x):
    return np.piecewise(x, [x < 0, x >= 0], [lambda t: -t, lambda t: t**2])


@idiom(normal(4))
def vectorized_scalar_function(x):
    step = np.vectorize(lambda v: v * v if v > 0 else -v)
    return step(x)


@idiom(np.array([0.5, np.nan, 2.0]))
def fill_missing(x):
    return np.nan_to_num(x, nan=1.0) ** 2


@idiom(normal(5))
def methods_of_arrays(x):
    return x.clip(-1, 1).cumsum().reshape(1, -1).T


@idiom(positive(5), normal(5))
def power_with_exponent(x, y):
    return x**y


@idiom(positive(4))
def by_way_of_complex_numbers(x):
    return np.sqrt(x.astype(complex) - 1.0).imag + x
