"""Orthogonal polynomials and Legendre functions, by their argument, for whole or other degrees.

https://dlmf.nist.gov/18.9.iii, https://dlmf.nist.gov/14.10
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import Op, Rule, composite
from tracejit.ops.scipy.base.ufuncs import UNKNOWN, function, number, special


def _below(n: Any) -> Any:
    """n - 1, and 0 in place of -1: there the factor is 0."""
    return n - (n != 0)


def _by_argument(number: int, slope: Rule) -> tuple[Rule, ...]:
    """The derivative by the last of `number` arguments."""
    return (*(UNKNOWN,) * (number - 1), slope)


def _some(n: Any) -> Any:
    """1, and 0 for degree 0."""
    return n != 0


def _jacobi_slope(n: Any, alpha: Any, beta: Any, x: Any) -> Any:
    scale = 0.5 * (n + alpha + beta + 1.0) * _some(n)
    return scale * sc.eval_jacobi(_below(n), alpha + 1.0, beta + 1.0, x)


def _gegenbauer_slope(n: Any, alpha: Any, x: Any) -> Any:
    return 2.0 * alpha * _some(n) * sc.eval_gegenbauer(_below(n), alpha + 1.0, x)


def _chebyu_slope(n: Any, x: Any) -> Any:
    return 2.0 * (_some(n) * sc.eval_gegenbauer(_below(n), number(2.0, x), x))


eval_jacobi = special(
    sc.eval_jacobi, deriv=_by_argument(4, lambda y, n, a, b, x: _jacobi_slope(n, a, b, x))
)
eval_sh_jacobi = special(
    sc.eval_sh_jacobi,
    deriv=_by_argument(
        4, lambda y, n, p, q, x: n * sc.eval_sh_jacobi(_below(n), p + 2.0, q + 1.0, x)
    ),
)
eval_gegenbauer = special(
    sc.eval_gegenbauer, deriv=_by_argument(3, lambda y, n, a, x: _gegenbauer_slope(n, a, x))
)
eval_legendre = special(
    sc.eval_legendre, deriv=_by_argument(2, lambda y, n, x: _jacobi_slope(n, 0.0, 0.0, x))
)
eval_sh_legendre = special(
    sc.eval_sh_legendre,
    deriv=_by_argument(2, lambda y, n, x: 2.0 * _jacobi_slope(n, 0.0, 0.0, 2.0 * x - 1.0)),
)
eval_chebyt = special(
    sc.eval_chebyt, deriv=_by_argument(2, lambda y, n, x: n * sc.eval_chebyu(_below(n), x))
)
eval_chebyu = special(sc.eval_chebyu, deriv=_by_argument(2, lambda y, n, x: _chebyu_slope(n, x)))
eval_chebyc = special(
    sc.eval_chebyc, deriv=_by_argument(2, lambda y, n, x: n * sc.eval_chebys(_below(n), x))
)
eval_chebys = special(
    sc.eval_chebys, deriv=_by_argument(2, lambda y, n, x: 0.5 * _chebyu_slope(n, 0.5 * x))
)
eval_sh_chebyt = special(
    sc.eval_sh_chebyt,
    deriv=_by_argument(2, lambda y, n, x: 2.0 * n * sc.eval_sh_chebyu(_below(n), x)),
)
eval_sh_chebyu = special(
    sc.eval_sh_chebyu,
    deriv=_by_argument(2, lambda y, n, x: 2.0 * _chebyu_slope(n, 2.0 * x - 1.0)),
)
eval_genlaguerre = special(
    sc.eval_genlaguerre,
    deriv=_by_argument(
        3, lambda y, n, a, x: -(_some(n) * sc.eval_genlaguerre(_below(n), a + 1.0, x))
    ),
)
eval_laguerre = special(
    sc.eval_laguerre,
    deriv=_by_argument(
        2, lambda y, n, x: -(_some(n) * sc.eval_genlaguerre(_below(n), number(1.0, x), x))
    ),
)
eval_hermite = special(
    sc.eval_hermite, deriv=_by_argument(2, lambda y, n, x: 2.0 * n * sc.eval_hermite(_below(n), x))
)
eval_hermitenorm = special(
    sc.eval_hermitenorm,
    deriv=_by_argument(2, lambda y, n, x: n * sc.eval_hermitenorm(_below(n), x)),
)


@composite(sc.assoc_laguerre)
def assoc_laguerre(x: Any, n: Any, k: Any = 0.0) -> Any:
    """The generalized Laguerre polynomial, its arguments in another order."""
    return sc.eval_genlaguerre(n, k, x)


lpmv = special(
    sc.lpmv,
    deriv=_by_argument(
        3,
        lambda y, m, v, x: (v * x * y - (v + m) * sc.lpmv(m, v - 1.0, x)) / ((x - 1.0) * (x + 1.0)),
    ),
)


def _diric_slope(y: Any, x: Any, n: Any) -> Any:
    """Of a Chebyshev polynomial of cos(x / 2)."""
    return -np.sin(0.5 * x) * (1.0 / n) * _chebyu_slope(n - 1, np.cos(0.5 * x)) * 0.5


diric: Op = function(
    sc.diric,
    source="scipy.special.diric({0}, {1})",
    deriv=(_diric_slope, UNKNOWN),
    canonical=lambda x, n: ((as_array(x), as_array(n)), {}),
)
