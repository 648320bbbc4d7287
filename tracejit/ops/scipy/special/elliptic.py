"""Elliptic integrals and functions.

Derivatives are Carlson's integrals, https://dlmf.nist.gov/19.18 and https://dlmf.nist.gov/19.25,
in which nothing cancels where the parameter is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ops.scipy.base.ufuncs import several, special

NEAR = 1e-3


# Carlson's integrals


def _divided(x: Any, y: Any, z: Any) -> Any:
    """(R_D(x, y, z) - R_D(z, y, x)) / (z - x), and where x and z are close, what the even function
    of z - x is between two values of it."""
    middle, half = 0.5 * (x + z), 0.5 * (z - x)
    near = np.absolute(half) < NEAR * np.absolute(middle)
    step = NEAR * np.where(near, middle, 0.0)

    def quotient(step: Any) -> Any:
        low, high = np.where(near, middle - step, x), np.where(near, middle + step, z)
        return (sc.elliprd(low, y, high) - sc.elliprd(high, y, low)) / (high - low)

    first = quotient(step)
    share = np.where(near, half * half, 0.0) / np.where(near, step * step, 1.0)
    return first + np.where(near, (quotient(2.0 * step) - first) * (share - 1.0) / 3.0, 0.0)


def _rd_by_x(x: Any, y: Any, z: Any) -> Any:
    """(R_D(x, y, z) - R_D(y, z, x)) / (2 (z - x))."""
    return 0.5 * _divided(x, y, z)


def _times(x: Any, slope: Callable[[Any], Any]) -> Any:
    """x * slope(x), which is 0 where x is, though the slope is infinite there."""
    return x * slope(np.where(x == 0, 1.0, x))


def _rd_by_z(d: Any, x: Any, y: Any, z: Any) -> Any:
    """By its degree, which is -3/2."""
    moved = _times(x, lambda x: _rd_by_x(x, y, z)) + _times(y, lambda y: _rd_by_x(y, x, z))
    return -(1.5 * d + moved) / z


def _rc_by_x(f: Any, x: Any, y: Any) -> Any:
    """-R_D(y, y, x) / 6, and where y is negative (f - 1 / sqrt(x)) / (2 (y - x))."""
    beyond = np.real(y) < 0
    y_in, x_out = np.where(beyond, 1.0, y), np.where(beyond, x, 1.0)
    outside = (f - 1.0 / np.sqrt(x_out)) / (2.0 * np.where(beyond, y - x, 1.0))
    return np.where(beyond, outside, -sc.elliprd(y_in, y_in, x) / 6.0)


def _rc_by_y(f: Any, x: Any, y: Any) -> Any:
    """-R_D(x, y, y) / 3, and where y is negative by its degree."""
    beyond = np.real(y) < 0
    y_in = np.where(beyond, 1.0, y)
    y_out = np.where(beyond, y, 1.0)
    outside = -(0.5 * f + x * _rc_by_x(f, x, y)) / y_out
    return np.where(beyond, outside, -sc.elliprd(x, y_in, y_in) / 3.0)


def _rj_slope(j: Any, x: Any, y: Any, z: Any, p: Any) -> Any:
    return 0.5 * (j - sc.elliprd(y, z, x)) / (p - x)


def _rj_by_p(j: Any, x: Any, y: Any, z: Any, p: Any) -> Any:
    """By its degree, which is -3/2."""
    moved = (
        _times(x, lambda x: _rj_slope(j, x, y, z, p))
        + _times(y, lambda y: _rj_slope(j, y, x, z, p))
        + _times(z, lambda z: _rj_slope(j, z, x, y, p))
    )
    return -(1.5 * j + moved) / p


def _rg_slope(x: Any, y: Any, z: Any) -> Any:
    return 0.25 * sc.elliprf(x, y, z) - _times(x, lambda x: sc.elliprd(y, z, x)) / 12.0


elliprc = special(sc.elliprc, deriv=(_rc_by_x, _rc_by_y))
elliprd = special(
    sc.elliprd,
    deriv=(
        lambda d, x, y, z: _rd_by_x(x, y, z),
        lambda d, x, y, z: _rd_by_x(y, x, z),
        _rd_by_z,
    ),
)
elliprf = special(
    sc.elliprf,
    deriv=(
        lambda f, x, y, z: -sc.elliprd(y, z, x) / 6.0,
        lambda f, x, y, z: -sc.elliprd(x, z, y) / 6.0,
        lambda f, x, y, z: -sc.elliprd(x, y, z) / 6.0,
    ),
)
elliprg = special(
    sc.elliprg,
    deriv=(
        lambda g, x, y, z: _rg_slope(x, y, z),
        lambda g, x, y, z: _rg_slope(y, x, z),
        lambda g, x, y, z: _rg_slope(z, x, y),
    ),
)
elliprj = special(
    sc.elliprj,
    deriv=(
        lambda j, x, y, z, p: _rj_slope(j, x, y, z, p),
        lambda j, x, y, z, p: _rj_slope(j, y, x, z, p),
        lambda j, x, y, z, p: _rj_slope(j, z, x, y, p),
        _rj_by_p,
    ),
    cost=100,
)


# Legendre's integrals, in the parameter m


def _first_by_m(m: Any) -> Any:
    return sc.elliprd(0.0, 1.0, 1.0 - m) / 6.0


def _second_by_m(m: Any) -> Any:
    return -sc.elliprd(0.0, 1.0 - m, 1.0) / 6.0


def _reduced(phi: Any) -> tuple[Any, Any]:
    """The nearest multiple of pi, and sine and cosine squared of what is left."""
    turns = np.rint(phi / math.pi)
    rest = phi - math.pi * turns
    return turns, rest


def _turned(turns: Any, complete: Any) -> Any:
    """Twice a complete integral for each turn; none where there is none, though it be infinite."""
    return np.where(turns == 0, 0.0, 2.0 * turns * complete)


def _ellipkinc_by_m(phi: Any, m: Any) -> Any:
    turns, rest = _reduced(phi)
    sine, cosine = np.sin(rest), np.cos(rest)
    part = sc.elliprd(cosine * cosine, 1.0, 1.0 - m * sine * sine)
    return sine**3 * part / 6.0 + _turned(turns, _first_by_m(m))


def _ellipeinc_by_m(phi: Any, m: Any) -> Any:
    turns, rest = _reduced(phi)
    sine, cosine = np.sin(rest), np.cos(rest)
    part = sc.elliprd(cosine * cosine, 1.0 - m * sine * sine, 1.0)
    return -(sine**3) * part / 6.0 + _turned(turns, _second_by_m(m))


def _delta(phi: Any, m: Any) -> Any:
    sine = np.sin(phi)
    return np.sqrt(1.0 - m * sine * sine)


ellipk = special(sc.ellipk, deriv=lambda y, m: _first_by_m(m), cost=40)
ellipkm1 = special(sc.ellipkm1, deriv=lambda y, p: -sc.elliprd(0.0, 1.0, p) / 6.0, cost=40)
ellipe = special(sc.ellipe, deriv=lambda y, m: _second_by_m(m), cost=40)
ellipkinc = special(
    sc.ellipkinc,
    deriv=(
        lambda y, phi, m: 1.0 / _delta(phi, m),
        lambda y, phi, m: _ellipkinc_by_m(phi, m),
    ),
)
ellipeinc = special(
    sc.ellipeinc,
    deriv=(lambda y, phi, m: _delta(phi, m), lambda y, phi, m: _ellipeinc_by_m(phi, m)),
)
agm = special(
    sc.agm,
    deriv=(lambda z, a, b: _agm_slope(z, a, b), lambda z, a, b: _agm_slope(z, b, a)),
)


def _agm_slope(z: Any, a: Any, b: Any) -> Any:
    """The mean is pi / (2 R_F(0, a ** 2, b ** 2)): https://dlmf.nist.gov/19.8.E4."""
    return 2.0 / (3.0 * math.pi) * z * z * np.absolute(a) * sc.elliprd(0.0, b * b, a * a)


# Jacobi's functions: u = ellipkinc(ph, m) holds while m moves


def _amplitude_by_m(y: Any, u: Any, m: Any) -> Any:
    return -y[2] * _ellipkinc_by_m(y[3], m)


ellipj = several(
    sc.ellipj,
    derivs=(
        (
            lambda y, u, m: y[1] * y[2],
            lambda y, u, m: -y[0] * y[2],
            lambda y, u, m: -m * y[0] * y[1],
            lambda y, u, m: y[2],
        ),
        (
            lambda y, u, m: y[1] * _amplitude_by_m(y, u, m),
            lambda y, u, m: -y[0] * _amplitude_by_m(y, u, m),
            lambda y, u, m: -y[0] * (0.5 * y[0] + m * y[1] * _amplitude_by_m(y, u, m)) / y[2],
            lambda y, u, m: _amplitude_by_m(y, u, m),
        ),
    ),
)
