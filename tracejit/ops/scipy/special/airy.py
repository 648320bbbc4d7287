"""Airy, parabolic cylinder, Mathieu and spheroidal functions: solutions of equations of order two.

Each returns a function and its derivative; the equation gives the second derivative. Parameters
have no known derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ops.base.op import Op
from tracejit.ops.scipy.base.ufuncs import UNKNOWN, several, special

# Airy functions: https://dlmf.nist.gov/9.2.E1

airy = several(
    sc.airy,
    derivs=(
        (
            lambda y, z: y[1],
            lambda y, z: z * y[0],
            lambda y, z: y[3],
            lambda y, z: z * y[2],
        ),
    ),
)


def _root(z: Any) -> Any:
    """The derivative of the exponent that airye scales by: none below 0."""
    positive = z > 0
    return np.where(positive, np.sqrt(np.where(positive, z, 1.0)), 0.0)


airye = several(
    sc.airye,
    derivs=(
        (
            lambda y, z: y[1] + _root(z) * y[0],
            lambda y, z: z * y[0] + _root(z) * y[1],
            lambda y, z: y[3] - _root(z) * y[2],
            lambda y, z: z * y[2] - _root(z) * y[3],
        ),
    ),
    real=True,
)


def _solution(ufunc: np.ufunc, second: Callable[..., Any], scale: float = 1.0) -> Op:
    """The op of a function of parameters and x, and its derivative by x * scale; `second` gives the
    derivative of that by x * scale from (value, slope, *parameters, x)."""
    derivs = (
        lambda y, *operands: scale * y[1],
        lambda y, *operands: scale * second(y[0], y[1], *operands),
    )
    return several(ufunc, derivs=(*(UNKNOWN,) * (ufunc.nin - 1), derivs))


def _values(ufunc: np.ufunc) -> Op:
    """The op of a function whose second result, in SciPy, is not the slope of the first."""
    return several(ufunc, derivs=(UNKNOWN,) * ufunc.nin)


# Parabolic cylinder functions: https://dlmf.nist.gov/12.2

pbdv = _solution(sc.pbdv, lambda y, dy, v, x: (0.25 * x * x - v - 0.5) * y)
pbvv = _solution(sc.pbvv, lambda y, dy, v, x: (0.25 * x * x - v - 0.5) * y)
pbwa = _solution(sc.pbwa, lambda y, dy, a, x: (a - 0.25 * x * x) * y)


# Mathieu functions: https://dlmf.nist.gov/28.2.E1, https://dlmf.nist.gov/28.20.E1

DEGREE = math.pi / 180.0

mathieu_a = special(sc.mathieu_a)
mathieu_b = special(sc.mathieu_b)


def _angular(characteristic: Callable[..., Any]) -> Callable[..., Any]:
    """y'' where the angle is in degrees."""
    return lambda y, dy, m, q, x: (2.0 * q * np.cos(2.0 * DEGREE * x) - characteristic(m, q)) * y


def _radial(characteristic: Callable[..., Any]) -> Callable[..., Any]:
    return lambda y, dy, m, q, x: (characteristic(m, q) - 2.0 * q * np.cosh(2.0 * x)) * y


mathieu_cem = _solution(sc.mathieu_cem, _angular(sc.mathieu_a), DEGREE)
mathieu_sem = _solution(sc.mathieu_sem, _angular(sc.mathieu_b), DEGREE)
mathieu_modcem1 = _solution(sc.mathieu_modcem1, _radial(sc.mathieu_a))
mathieu_modcem2 = _solution(sc.mathieu_modcem2, _radial(sc.mathieu_a))
mathieu_modsem1 = _solution(sc.mathieu_modsem1, _radial(sc.mathieu_b))
mathieu_modsem2 = _solution(sc.mathieu_modsem2, _radial(sc.mathieu_b))


# Spheroidal wave functions: https://dlmf.nist.gov/30.2.E1, with -c ** 2 for c ** 2 where oblate

pro_cv = special(sc.pro_cv)
obl_cv = special(sc.obl_cv)


def _prolate(y: Any, dy: Any, m: Any, n: Any, c: Any, cv: Any, x: Any) -> Any:
    return _spheroidal(y, dy, m, c * c, cv, 1.0 - x * x, x)


def _oblate_angular(y: Any, dy: Any, m: Any, n: Any, c: Any, cv: Any, x: Any) -> Any:
    return _spheroidal(y, dy, m, -c * c, cv, 1.0 - x * x, x)


def _spheroidal(y: Any, dy: Any, m: Any, square: Any, cv: Any, w: Any, x: Any) -> Any:
    """y'' of (w y')' + (cv - square x ** 2 - m ** 2 / w) y = 0, w being 1 - x ** 2."""
    return (2.0 * x * dy - (cv - square * x * x - m * m / w) * y) / w


def _oblate_radial(y: Any, dy: Any, m: Any, n: Any, c: Any, cv: Any, x: Any) -> Any:
    """y'' of (w y')' - (cv - c ** 2 x ** 2 - m ** 2 / w) y = 0, w being 1 + x ** 2."""
    w = 1.0 + x * x
    return ((cv - c * c * x * x - m * m / w) * y - 2.0 * x * dy) / w


def _of_order(second: Callable[..., Any], characteristic: Callable[..., Any]) -> Callable[..., Any]:
    """`second`, the characteristic value computed."""
    return lambda y, dy, m, n, c, x: second(y, dy, m, n, c, characteristic(m, n, c), x)


pro_ang1 = _solution(sc.pro_ang1, _of_order(_prolate, sc.pro_cv))
pro_rad1 = _solution(sc.pro_rad1, _of_order(_prolate, sc.pro_cv))
pro_rad2 = _solution(sc.pro_rad2, _of_order(_prolate, sc.pro_cv))
obl_ang1 = _solution(sc.obl_ang1, _of_order(_oblate_angular, sc.obl_cv))
obl_rad1 = _solution(sc.obl_rad1, _of_order(_oblate_radial, sc.obl_cv))
obl_rad2 = _values(sc.obl_rad2)
pro_ang1_cv = _solution(sc.pro_ang1_cv, _prolate)
pro_rad1_cv = _solution(sc.pro_rad1_cv, _prolate)
pro_rad2_cv = _solution(sc.pro_rad2_cv, _prolate)
obl_ang1_cv = _solution(sc.obl_ang1_cv, _oblate_angular)
obl_rad1_cv = _solution(sc.obl_rad1_cv, _oblate_radial)
obl_rad2_cv = _values(sc.obl_rad2_cv)
