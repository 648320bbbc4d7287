"""Integrals: exponential, sine and cosine, Fresnel, the dilogarithm, and those of Bessel functions.

Their derivatives are their integrands, at most.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ops.scipy.base.ufuncs import UNKNOWN, is_complex, number, several, special


def _expn_slope(y: Any, n: Any, x: Any) -> Any:
    """-expn(n - 1, x), https://dlmf.nist.gov/8.19.E13, by exponentials where n is 0."""
    lowest = n == 0
    below = sc.expn(n - 1.0 + lowest, x)
    return -np.where(lowest, y * (1.0 + 1.0 / x), below)


def _spence_slope(y: Any, x: Any) -> Any:
    """log(x) / (1 - x), which is -1 at 1: https://dlmf.nist.gov/15.4.E1."""
    one = number(1.0, x)
    near = np.absolute(x - 1.0) < 0.5
    slope = -sc.hyp2f1(one, one, one + one, np.where(near, 1.0 - x, 0.0))
    return np.where(near, slope, np.log(x) / np.where(near, 1.0, 1.0 - x))


def _sinhc(x: Any) -> Any:
    """sinh(x) / x."""
    if is_complex(x):
        return np.sinc(x * (1j / math.pi))
    return 0.5 * (sc.exprel(x) + sc.exprel(-x))


exp1 = special(sc.exp1, vjp=(lambda g, y, x: -g * np.exp(-x) / x,))
expi = special(sc.expi, vjp=(lambda g, y, x: g * np.exp(x) / x,))
expn = special(sc.expn, deriv=(UNKNOWN, _expn_slope))
spence = special(sc.spence, deriv=_spence_slope)
sici = several(
    sc.sici,
    derivs=((lambda y, x: np.sinc(x / math.pi), lambda y, x: np.cos(x) / x),),
)
shichi = several(sc.shichi, derivs=((lambda y, x: _sinhc(x), lambda y, x: np.cosh(x) / x),))
fresnel = several(
    sc.fresnel,
    derivs=(
        (
            lambda y, z: np.sin(0.5 * math.pi * z * z),
            lambda y, z: np.cos(0.5 * math.pi * z * z),
        ),
    ),
)


def _modified_fresnel(ufunc: np.ufunc, sign: complex) -> Any:
    """F, the integral of exp(s t ** 2) from x on, and K = exp(-s (x ** 2 + pi / 4)) F / sqrt(pi).

    https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.modfresnelm.html
    """
    corner = cmath.exp(-sign * math.pi / 4.0) / math.sqrt(math.pi)
    return several(
        ufunc,
        derivs=(
            (
                lambda y, x: -np.exp(sign * (x * x)),
                lambda y, x: -2.0 * sign * (x * y[1]) - corner,
            ),
        ),
    )


modfresnelp = _modified_fresnel(sc.modfresnelp, 1j)
modfresnelm = _modified_fresnel(sc.modfresnelm, -1j)

itairy = several(
    sc.itairy,
    derivs=(
        (
            lambda y, x: sc.airy(x)[0],
            lambda y, x: sc.airy(x)[2],
            lambda y, x: sc.airy(-x)[0],
            lambda y, x: sc.airy(-x)[2],
        ),
    ),
)
itj0y0 = several(sc.itj0y0, derivs=((lambda y, x: sc.j0(x), lambda y, x: sc.y0(x)),))
iti0k0 = several(sc.iti0k0, derivs=((lambda y, x: sc.i0(x), lambda y, x: sc.k0(x)),))
it2j0y0 = several(
    sc.it2j0y0, derivs=((lambda y, x: (1.0 - sc.j0(x)) / x, lambda y, x: -sc.y0(x) / x),)
)
it2i0k0 = several(
    sc.it2i0k0, derivs=((lambda y, x: (sc.i0(x) - 1.0) / x, lambda y, x: -sc.k0(x) / x),)
)
itstruve0 = special(sc.itstruve0, deriv=lambda y, x: sc.struve(number(0.0, x), x))
itmodstruve0 = special(sc.itmodstruve0, deriv=lambda y, x: sc.modstruve(number(0.0, x), x))
it2struve0 = special(sc.it2struve0, deriv=lambda y, x: -sc.struve(number(0.0, x), x) / x)
