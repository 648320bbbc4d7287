"""Exponentials and logarithms."""

from __future__ import annotations

import math

import numpy as np

from tracejit.ops.ufuncs import elementwise

LN2 = math.log(2.0)
LN10 = math.log(10.0)

exp = elementwise(np.exp, deriv=lambda y, x: y, cost=20)
exp2 = elementwise(np.exp2, deriv=lambda y, x: LN2 * y, cost=20)
expm1 = elementwise(np.expm1, deriv=lambda y, x: y + 1.0, cost=20)
log = elementwise(np.log, vjp=(lambda g, y, x: g / x,), cost=20)
log2 = elementwise(np.log2, vjp=(lambda g, y, x: g / (LN2 * x),), cost=20)
log10 = elementwise(np.log10, vjp=(lambda g, y, x: g / (LN10 * x),), cost=20)
log1p = elementwise(np.log1p, vjp=(lambda g, y, x: g / (x + 1.0),), cost=20)
logaddexp = elementwise(
    np.logaddexp,
    deriv=(lambda z, x, y: np.exp(x - z), lambda z, x, y: np.exp(y - z)),
    cost=60,
)
logaddexp2 = elementwise(
    np.logaddexp2,
    deriv=(lambda z, x, y: np.exp2(x - z), lambda z, x, y: np.exp2(y - z)),
    cost=60,
)
