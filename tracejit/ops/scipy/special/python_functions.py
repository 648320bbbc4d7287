"""The functions of `math` whose derivatives, or batches, are SciPy's."""

from __future__ import annotations

import math

import numpy as np
import scipy.special as sp

from tracejit.ops.base.op import Op
from tracejit.ops.elementwise.python_math import of_math

_AT_ZERO = 2.0 / math.sqrt(math.pi)

SPECIAL_OPS: dict[str, Op] = {
    "erf": of_math("erf", 1, (lambda g, y, x: g * _AT_ZERO * np.exp(-x * x),), sp.erf),
    "erfc": of_math("erfc", 1, (lambda g, y, x: g * -_AT_ZERO * np.exp(-x * x),), sp.erfc),
    "gamma": of_math("gamma", 1, (lambda g, y, x: g * y * sp.digamma(x),), sp.gamma),
    "lgamma": of_math("lgamma", 1, (lambda g, y, x: g * sp.digamma(x),), sp.gammaln),
}
"""The ops by the names of their functions."""
