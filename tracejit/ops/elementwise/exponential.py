"""Exponentials and logarithms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import defop, literal
from tracejit.ops.base.ufuncs import elementwise

LN2 = math.log(2.0)
LN10 = math.log(10.0)

exp = elementwise(np.exp, deriv=lambda y, x: y, cost=20, sign="nonnegative")
exp2 = elementwise(np.exp2, deriv=lambda y, x: LN2 * y, cost=20, sign="nonnegative")
expm1 = elementwise(np.expm1, deriv=lambda y, x: y + 1.0, cost=20, sign="kept")
log = elementwise(np.log, vjp=(lambda g, y, x: g / x,), cost=20)
log2 = elementwise(np.log2, vjp=(lambda g, y, x: g / (LN2 * x),), cost=20)
log10 = elementwise(np.log10, vjp=(lambda g, y, x: g / (LN10 * x),), cost=20)
log1p = elementwise(np.log1p, vjp=(lambda g, y, x: g / (x + 1.0),), cost=20, sign="kept")


# The share of x in the sum whose logarithm is z is exp(x - z). Where the sum is zero, the lowest
# number stands for z: x less it is -inf, not nan, and the share is zero. So is the derivative of
# the share there, whatever that of z.
above_minus_infinity = defop(
    name="above_minus_infinity",
    infer=lambda z: z if z.shape else z.with_form("scalar"),
    vjp=lambda g, y, z: g,
    batch="elementwise",
    source=lambda types: f"np.maximum({{0}}, np.finfo({literal(types[0].dtype)}).min)",
)

logaddexp = elementwise(
    np.logaddexp,
    deriv=(
        lambda z, x, y: np.exp(x - above_minus_infinity(z)),
        lambda z, x, y: np.exp(y - above_minus_infinity(z)),
    ),
    cost=60,
    commutative=True,
)
logaddexp2 = elementwise(
    np.logaddexp2,
    deriv=(
        lambda z, x, y: np.exp2(x - above_minus_infinity(z)),
        lambda z, x, y: np.exp2(y - above_minus_infinity(z)),
    ),
    cost=60,
    commutative=True,
)


# The modified Bessel function of order zero. NumPy has none of order one, so its derivative is the
# integral (Abramowitz and Stegun 9.6.19)
#
#     i1(x) = 2 / pi * integral of sinh(x * cos(t)) * cos(t) for t from 0 to pi / 2
#
# by the midpoint rule, whose error falls faster than any power for a periodic function: with 64
# points it is below rounding up to x = 709, where np.i0 overflows. It can be differentiated again.
_POINTS = 64


def _i1(x: Any) -> Any:
    """The modified Bessel function of order one."""
    dtype = np.float32 if x.dtype.itemsize < 8 else np.float64
    cosines = np.cos((np.arange(_POINTS) + 0.5) * (np.pi / (2 * _POINTS))).astype(dtype)
    return np.sinh(x[..., None] * cosines) @ (cosines / _POINTS)


def _i0_type(x: ArrayType) -> ArrayType:
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    return ArrayType(x.shape, x.dtype if x.dtype.kind == "f" else np.dtype(np.float64))


i0 = defop(
    np.i0,
    canonical=lambda x: ((x,), {}),
    infer=_i0_type,
    vjp=lambda g, y, x: g * _i1(x),
    batch="elementwise",
    source="np.i0({0})",
    cost=lambda x: 60 * x.size,
    sign="nonnegative",
)
