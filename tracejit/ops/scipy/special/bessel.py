"""Bessel, Hankel, Kelvin and Struve functions, by their argument: not by their order.

Derivatives are by recurrence, https://dlmf.nist.gov/10.6.E1 and https://dlmf.nist.gov/10.29.E1,
with both neighbours where the argument may be 0. Far out the terms of those of a scaled function
cancel: there its logarithmic derivative is taken, of the series https://dlmf.nist.gov/10.40.E1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import Op, Rule
from tracejit.ops.scipy.base.ufuncs import UNKNOWN, function, is_complex, several, special

TERMS = 8


def _between(f: Callable[..., Any], sign: float) -> Rule:
    """(f(v - 1) + sign f(v + 1)) / 2."""
    return lambda y, v, x: 0.5 * (f(v - 1.0, x) + sign * f(v + 1.0, x))


def _decay(v: Any, x: Any, sign: float) -> Any:
    """The logarithmic derivative of exp(-x) I_v(x), or with sign 1 of exp(x) K_v(x), for large x:
    sums of sign ** k a_k(v) / x ** k, and of its derivative."""
    weights: list[Any] = [1.0]
    for k in range(1, TERMS):
        weights.append(weights[-1] * (4.0 * v * v - (2 * k - 1) ** 2) * (sign / (8 * k)))
    value: Any = weights[-1]
    slope: Any = (TERMS - 0.5) * weights[-1]
    for k in reversed(range(TERMS - 1)):
        value = weights[k] + value / x
        slope = (k + 0.5) * weights[k] + slope / x
    return -slope / (x * value)


def _scaled(near: Any, y: Any, v: Any, x: Any, sign: float) -> Any:
    """`near`, and y times its logarithmic derivative where x is far beyond the order."""
    if is_complex(x):
        return near
    size = np.absolute(x)
    far = size > 50.0 * (2.0 + v * v)
    place = np.where(far, size, np.inf)
    return np.where(far, y * _decay(v, place, sign) * np.sign(x), near)


def _by_argument(f: Callable[..., Any], sign: float) -> tuple[Rule, Rule]:
    return UNKNOWN, _between(f, sign)


jv = special(sc.jv, deriv=_by_argument(sc.jv, -1.0))
yv = special(sc.yv, deriv=_by_argument(sc.yv, -1.0))
yn = special(sc.yn, deriv=_by_argument(sc.yv, -1.0))
iv = special(sc.iv, deriv=_by_argument(sc.iv, 1.0))
kv = special(sc.kv, deriv=(UNKNOWN, lambda y, v, x: -_between(sc.kv, 1.0)(y, v, x)))
kn = special(sc.kn, deriv=(UNKNOWN, lambda y, n, x: -_between(sc.kv, 1.0)(y, n, x)))
hankel1 = special(sc.hankel1, deriv=_by_argument(sc.hankel1, -1.0))
hankel2 = special(sc.hankel2, deriv=_by_argument(sc.hankel2, -1.0))

j0 = special(sc.j0, deriv=lambda y, x: -sc.j1(x), cost=40)
j1 = special(sc.j1, deriv=lambda y, x: 0.5 * (sc.j0(x) - sc.jv(2.0, x)), cost=40)
y0 = special(sc.y0, deriv=lambda y, x: -sc.y1(x), cost=40)
y1 = special(sc.y1, deriv=lambda y, x: sc.y0(x) - y / x, cost=40)
i0 = special(sc.i0, deriv=lambda y, x: sc.i1(x), cost=40)
i1 = special(sc.i1, deriv=lambda y, x: 0.5 * (sc.i0(x) + sc.iv(2.0, x)), cost=40)
k0 = special(sc.k0, deriv=lambda y, x: -sc.k1(x), cost=40)
k1 = special(sc.k1, deriv=lambda y, x: -sc.k0(x) - y / x, cost=40)


# Scaled by an exponential

jve = special(sc.jve, deriv=_by_argument(sc.jve, -1.0), real=True)
yve = special(sc.yve, deriv=_by_argument(sc.yve, -1.0), real=True)
ive = special(
    sc.ive,
    deriv=(
        UNKNOWN,
        lambda y, v, x: _scaled(_between(sc.ive, 1.0)(y, v, x) - np.sign(x) * y, y, v, x, -1.0),
    ),
    real=True,
)
kve = special(
    sc.kve,
    deriv=(
        UNKNOWN,
        lambda y, v, x: _scaled(y - _between(sc.kve, 1.0)(y, v, x), y, v, x, 1.0),
    ),
)
hankel1e = special(
    sc.hankel1e,
    deriv=(UNKNOWN, lambda y, v, x: _between(sc.hankel1e, -1.0)(y, v, x) - 1j * y),
)
hankel2e = special(
    sc.hankel2e,
    deriv=(UNKNOWN, lambda y, v, x: _between(sc.hankel2e, -1.0)(y, v, x) + 1j * y),
)


def _i1e_slope(y: Any, x: Any) -> Any:
    near = 0.5 * (sc.i0e(x) + sc.ive(2.0, x)) - np.sign(x) * y
    return _scaled(near, y, 1.0, x, -1.0)


i0e = special(
    sc.i0e,
    deriv=lambda y, x: _scaled(sc.i1e(x) - np.sign(x) * y, y, 0.0, x, -1.0),
    cost=40,
)
i1e = special(sc.i1e, deriv=_i1e_slope, cost=40)
k0e = special(sc.k0e, deriv=lambda y, x: _scaled(y - sc.k1e(x), y, 0.0, x, 1.0), cost=40)
k1e = special(
    sc.k1e,
    deriv=lambda y, x: _scaled(y - sc.k0e(x) - y / x, y, 1.0, x, 1.0),
    cost=40,
)


# Derivatives of any order, by name


def _derivatives(called: Callable[..., Any]) -> Op:
    """The op of SciPy's n-th derivative of a function of order v."""
    made: Op = function(
        called,
        source=f"scipy.special.{called.__name__}({{0}}, {{1}}, {{n}})",
        deriv=(UNKNOWN, lambda y, v, z, n: made(v, z, n=n + 1)),
        canonical=lambda v, z, n=1: ((as_array(v), as_array(z)), {"n": n}),
    )
    return made


jvp = _derivatives(sc.jvp)
yvp = _derivatives(sc.yvp)
ivp = _derivatives(sc.ivp)
kvp = _derivatives(sc.kvp)
h1vp = _derivatives(sc.h1vp)
h2vp = _derivatives(sc.h2vp)


# Spherical, https://dlmf.nist.gov/10.51


def _spherical(called: Callable[..., Any], lower: float, upper: float) -> Op:
    """The op of a spherical function and of its derivative, which is
    (lower n f(n - 1) + upper (n + 1) f(n + 1)) / (2 n + 1), and so on."""

    def slope(y: Any, n: Any, z: Any, derivative: bool) -> Any:
        if not derivative:
            return made(n, z, derivative=True)
        n = n + 0
        below = made(np.absolute(n - 1), z, derivative=True)
        above = made(n + 1, z, derivative=True)
        return (lower * n * below + upper * (n + 1) * above) / (2 * n + 1)

    made: Op = function(
        called,
        source=lambda types, derivative: (
            f"scipy.special.{called.__name__}({{0}}, {{1}}" + (", True)" if derivative else ")")
        ),
        deriv=(None, slope),
        canonical=lambda n, z, derivative=False: (
            (as_array(n), as_array(z)),
            {"derivative": bool(derivative)},
        ),
    )
    return made


spherical_jn = _spherical(sc.spherical_jn, 1.0, -1.0)
spherical_yn = _spherical(sc.spherical_yn, 1.0, -1.0)
spherical_in = _spherical(sc.spherical_in, 1.0, 1.0)
spherical_kn = _spherical(sc.spherical_kn, -1.0, -1.0)


# Kelvin functions: https://dlmf.nist.gov/10.61.E3


def _over(slope: Any, x: Any, at_zero: Any) -> Any:
    """slope / x, and its series at 0: https://dlmf.nist.gov/10.65.E1."""
    return np.where(x == 0, at_zero, slope / np.where(x == 0, 1.0, x))


ber = special(sc.ber, deriv=lambda y, x: sc.berp(x))
bei = special(sc.bei, deriv=lambda y, x: sc.beip(x))
ker = special(sc.ker, deriv=lambda y, x: sc.kerp(x))
kei = special(sc.kei, deriv=lambda y, x: sc.keip(x))
berp = special(sc.berp, deriv=lambda y, x: -sc.bei(x) - _over(y, x, -0.0625 * x * x))
beip = special(sc.beip, deriv=lambda y, x: sc.ber(x) - _over(y, x, 0.5))
kerp = special(sc.kerp, deriv=lambda y, x: -sc.kei(x) - y / x)
keip = special(sc.keip, deriv=lambda y, x: sc.ker(x) - y / x)
kelvin = several(
    sc.kelvin,
    derivs=(
        (
            lambda y, x: y[2],
            lambda y, x: y[3],
            lambda y, x: 1j * y[0] - _over(y[2], x, 0.5j - 0.0625 * x * x),
            lambda y, x: 1j * y[1] - y[3] / x,
        ),
    ),
)


# Struve functions: https://dlmf.nist.gov/11.4.E27


def _struve_term(v: Any, x: Any) -> Any:
    return np.power(0.5 * x, v) * sc.rgamma(v + 1.5) / math.sqrt(math.pi)


struve = special(
    sc.struve,
    deriv=(
        UNKNOWN,
        lambda y, v, x: _between(sc.struve, -1.0)(y, v, x) + 0.5 * _struve_term(v, x),
    ),
)
modstruve = special(
    sc.modstruve,
    deriv=(
        UNKNOWN,
        lambda y, v, x: _between(sc.modstruve, 1.0)(y, v, x) + 0.5 * _struve_term(v, x),
    ),
)
besselpoly = special(sc.besselpoly)
