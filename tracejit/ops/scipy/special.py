"""Special functions: the error functions and the gamma function's family."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as sc

from tracejit.ops.infer import ufunc_type
from tracejit.ops.op import Op, defop
from tracejit.ops.scipy.ufuncs import special

erf = special(sc.erf, vjp=(lambda g, y, x: 2 / math.sqrt(math.pi) * g * np.exp(-x * x),), cost=40)
gammaln = special(sc.gammaln, deriv=lambda y, x: sc.psi(x), cost=60)
psi = special(sc.psi, deriv=lambda y, x: zeta(2.0, x), cost=60)


def _zeta_slope(g: Any, y: Any, s: Any, q: Any) -> Any:
    return -g * s * zeta(s + 1.0, q)


# The derivative by the first argument is no function of SciPy's.
zeta: Op = defop(
    sc.zeta,
    infer=ufunc_type(sc._ufuncs._zeta),
    vjp=(None, _zeta_slope),
    jvp=(None, _zeta_slope),
    batch="elementwise",
    source="scipy.special.zeta({0}, {1})",
)
