"""The error functions and the normal distribution, their inverses and scaled forms.

Far out, where 2 x y and a constant cancel in the derivatives of the scaled forms, the difference is
taken from the asymptotic series, https://dlmf.nist.gov/7.12.E1, differentiated term by term.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ops.scipy.base.ufuncs import is_complex, special

SQRT_PI = math.sqrt(math.pi)
SQRT_2 = math.sqrt(2.0)
SQRT_2PI = math.sqrt(2.0 * math.pi)
FAR = 12.0


def _series(t: Any) -> Any:
    """The sum of (2 m + 1)!! t ** m."""
    total: Any = 1.0
    for odd in range(19, 1, -2):
        total = 1.0 + odd * t * total
    return total


def _scaled_slope(near: Any, x: Any, far: Any, sign: float, scale: float) -> Any:
    """`near`, and where it is `far`, scale / x ** 2 times the series in sign / (2 x ** 2)."""
    square = np.where(far, x * x, 1.0)
    return np.where(far, scale / square * _series(sign / (2.0 * square)), near)


def _erfcx_slope(y: Any, x: Any) -> Any:
    far = (np.absolute(x) > FAR) & (np.real(x) > 0)
    return _scaled_slope(2.0 * x * y - 2.0 / SQRT_PI, x, far, -1.0, -1.0 / SQRT_PI)


def _dawsn_slope(y: Any, x: Any) -> Any:
    far = np.absolute(x) > FAR
    if is_complex(x):
        far = far & (np.absolute(np.imag(x)) < 0.5 * np.absolute(np.real(x)))
    return _scaled_slope(1.0 - 2.0 * x * y, x, far, 1.0, -0.5)


def _wofz_slope(y: Any, x: Any) -> Any:
    far = (np.absolute(x) > FAR) & (np.imag(x) >= 0)
    near = 2j / SQRT_PI - 2.0 * x * y
    square = np.where(far, x * x, 1.0)
    return np.where(far, -1j / SQRT_PI / square * _series(1.0 / (2.0 * square)), near)


erf = special(
    sc.erf,
    vjp=(lambda g, y, x: 2.0 / SQRT_PI * g * np.exp(-x * x),),
    cost=40,
    sign="kept",
    bound=1.0,
)
erfc = special(
    sc.erfc,
    vjp=(lambda g, y, x: -2.0 / SQRT_PI * g * np.exp(-x * x),),
    cost=40,
    sign="nonnegative",
    bound=2.0,
)
erfi = special(sc.erfi, deriv=lambda y, x: 2.0 / SQRT_PI * np.exp(x * x))
erfcx = special(sc.erfcx, deriv=_erfcx_slope, cost=40)
dawsn = special(sc.dawsn, deriv=_dawsn_slope)
wofz = special(sc.wofz, deriv=_wofz_slope)
erfinv = special(sc.erfinv, deriv=lambda y, x: 0.5 * SQRT_PI * np.exp(y * y), cost=40)
erfcinv = special(sc.erfcinv, deriv=lambda y, x: -0.5 * SQRT_PI * np.exp(y * y), cost=40)


# The normal distribution


def _density(x: Any) -> Any:
    return np.exp(-0.5 * x * x) / SQRT_2PI


def _hazard(y: Any, x: Any) -> Any:
    """density(x) / exp(y), y being log_ndtr(x): from erfcx where it cannot overflow."""
    left = np.real(x) < 0
    below = math.sqrt(2.0 / math.pi) / sc.erfcx(np.where(left, x, 0.0) / -SQRT_2)
    above = np.exp(np.where(left, 0.0, -0.5 * x * x - y)) / SQRT_2PI
    return np.where(left, below, above)


ndtr = special(sc.ndtr, deriv=lambda y, x: _density(x), cost=40, sign="nonnegative", bound=1.0)
log_ndtr = special(sc.log_ndtr, deriv=_hazard)
ndtri = special(sc.ndtri, deriv=lambda y, p: SQRT_2PI * np.exp(0.5 * y * y), cost=40)
ndtri_exp = special(sc.ndtri_exp, deriv=lambda y, p: 1.0 / _hazard(p, y))
owens_t = special(
    sc.owens_t,
    deriv=(
        lambda y, h, a: -0.5 * _density(h) * sc.erf(a * h / SQRT_2),
        lambda y, h, a: np.exp(-0.5 * h * h * (1.0 + a * a)) / (2.0 * math.pi * (1.0 + a * a)),
    ),
)
nrdtrimn = special(
    sc.nrdtrimn,
    deriv=(
        lambda y, p, std, x: -std * SQRT_2PI * np.exp(0.5 * sc.ndtri(p) ** 2),
        lambda y, p, std, x: (y - x) / std,
        lambda y, p, std, x: np.ones_like(y),
    ),
)
nrdtrisd = special(
    sc.nrdtrisd,
    deriv=(
        lambda y, mean, p, x: -1.0 / sc.ndtri(p),
        lambda y, mean, p, x: -y / sc.ndtri(p) * SQRT_2PI * np.exp(0.5 * sc.ndtri(p) ** 2),
        lambda y, mean, p, x: 1.0 / sc.ndtri(p),
    ),
)


# The Voigt profile: Re(w) / (sigma sqrt(2 pi)) at (x + i gamma) / (sigma sqrt(2))


def _voigt_slope(x: Any, sigma: Any, gamma: Any) -> Any:
    """The derivative by x + i gamma, of which the profile is the real part; that of the Lorentz
    profile where sigma is 0."""
    wide = sigma != 0
    width = np.where(wide, sigma, 1.0) * SQRT_2
    place = (x + 1j * gamma) / width
    slope = _wofz_slope(sc.wofz(place), place) / (SQRT_PI * width * width)
    square = np.where(wide, 1.0, x + 1j * gamma) ** 2
    narrow = -1j / (math.pi * square) * (1.0 + 3.0 * sigma * sigma / square)
    return np.where(wide, slope, narrow)


def _voigt_by_sigma(y: Any, x: Any, sigma: Any, gamma: Any) -> Any:
    """sigma times the second derivative by x: the profile is heat that spreads for sigma ** 2 / 2.

    By y and the first derivatives, -(y + x dy/dx + gamma dy/dgamma) / sigma: of degree -1.
    """
    slope = _voigt_slope(x, sigma, gamma)
    wide = sigma != 0
    total = y + x * np.real(slope) - gamma * np.imag(slope)
    center = np.where(wide, 1.0, x + 1j * gamma)
    narrow = sigma * np.real(2j / (math.pi * center**3))
    return np.where(wide, -total / np.where(wide, sigma, 1.0), narrow)


voigt_profile = special(
    sc.voigt_profile,
    deriv=(
        lambda y, x, sigma, gamma: np.real(_voigt_slope(x, sigma, gamma)),
        _voigt_by_sigma,
        lambda y, x, sigma, gamma: -np.imag(_voigt_slope(x, sigma, gamma)),
    ),
    cost=200,
)
