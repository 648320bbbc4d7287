"""Hypergeometric functions, by their argument, and the functions that W exp(W) = z defines.

Parameters have no known derivative. https://dlmf.nist.gov/15.5.E1, https://dlmf.nist.gov/13.3.E15
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ops.base.creation import as_array, known
from tracejit.ops.base.op import Op
from tracejit.ops.scipy.base.ufuncs import UNKNOWN, function, special

hyp0f1 = special(sc.hyp0f1, deriv=(UNKNOWN, lambda y, b, z: sc.hyp0f1(b + 1.0, z) / b))
hyp1f1 = special(
    sc.hyp1f1,
    deriv=(UNKNOWN, UNKNOWN, lambda y, a, b, z: a / b * sc.hyp1f1(a + 1.0, b + 1.0, z)),
)
hyp2f1 = special(
    sc.hyp2f1,
    deriv=(
        *(UNKNOWN,) * 3,
        lambda y, a, b, c, z: a * b / c * sc.hyp2f1(a + 1.0, b + 1.0, c + 1.0, z),
    ),
    cost=100,
)
hyperu = special(
    sc.hyperu, deriv=(UNKNOWN, UNKNOWN, lambda y, a, b, z: -a * sc.hyperu(a + 1.0, b + 1.0, z))
)
wright_bessel = special(
    sc.wright_bessel, deriv=(UNKNOWN, UNKNOWN, lambda y, a, b, x: sc.wright_bessel(a, a + b, x))
)
if hasattr(sc, "log_wright_bessel"):
    log_wright_bessel = special(
        sc.log_wright_bessel,
        deriv=(UNKNOWN, UNKNOWN, lambda y, a, b, x: np.exp(sc.log_wright_bessel(a, a + b, x) - y)),
    )


# W exp(W) = z, and W + log W = z: https://dlmf.nist.gov/4.13.E4


def _lambertw_call(z: Any, k: Any = 0, tol: float = 1e-8) -> tuple[tuple[Any], dict[str, Any]]:
    return (as_array(z),), {"k": operator.index(known(k, "k")), "tol": float(tol)}


def _lambertw_source(types: Any, k: int, tol: float) -> str:
    if tol != 1e-8:
        return "scipy.special.lambertw({0}, {k}, {tol})"
    return "scipy.special.lambertw({0}, {k})" if k else "scipy.special.lambertw({0})"


lambertw: Op = function(
    sc.lambertw,
    source=_lambertw_source,
    deriv=lambda y, z, k, tol: 1.0 / (np.exp(y) + z),
    canonical=_lambertw_call,
)
wrightomega = special(sc.wrightomega, deriv=lambda y, z: y / (1.0 + y))
