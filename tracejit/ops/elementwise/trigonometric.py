"""Trigonometric and hyperbolic functions, their inverses, and angles.

Where a derivative is a quotient by a difference that cancels (1 - x * x near 1), the difference is
written as a product. Products of square roots have the branch cuts that NumPy's complex functions
have, which the root of a product has not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base.creation import cast
from tracejit.ops.base.infer import promote
from tracejit.ops.base.op import defop
from tracejit.ops.base.ufuncs import elementwise
from tracejit.ops.elementwise.lengths import length_to_divide_by

sin = elementwise(np.sin, deriv=lambda y, x: np.cos(x), cost=20, bound=1.0)
cos = elementwise(np.cos, vjp=(lambda g, y, x: -g * np.sin(x),), cost=20, bound=1.0)
tan = elementwise(np.tan, deriv=lambda y, x: 1.0 + y * y, cost=20)
arcsin = elementwise(
    np.arcsin,
    vjp=(lambda g, y, x: g / np.sqrt((1.0 - x) * (1.0 + x)),),
    cost=20,
    bound=np.pi / 2,
    sign="kept",
)
arccos = elementwise(
    np.arccos,
    vjp=(lambda g, y, x: -g / np.sqrt((1.0 - x) * (1.0 + x)),),
    cost=20,
    bound=np.pi,
    sign="nonnegative",
)
arctan = elementwise(
    np.arctan, vjp=(lambda g, y, x: g / (1.0 + x * x),), cost=20, bound=np.pi / 2, sign="kept"
)

sinh = elementwise(np.sinh, deriv=lambda y, x: np.cosh(x), cost=20, sign="kept")
cosh = elementwise(np.cosh, deriv=lambda y, x: np.sinh(x), cost=20, sign="nonnegative")
tanh = elementwise(np.tanh, deriv=lambda y, x: 1.0 - y * y, cost=20, bound=1.0, sign="kept")
arcsinh = elementwise(
    np.arcsinh, vjp=(lambda g, y, x: g / np.sqrt(1.0 + x * x),), cost=20, sign="kept"
)
arccosh = elementwise(
    np.arccosh,
    vjp=(lambda g, y, x: g / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0)),),
    cost=20,
    sign="nonnegative",
)
arctanh = elementwise(
    np.arctanh, vjp=(lambda g, y, x: g / ((1.0 - x) * (1.0 + x)),), cost=20, sign="kept"
)

deg2rad = elementwise(np.deg2rad, vjp=(lambda g, y, x: np.deg2rad(g),), linear_in="jointly")
radians = elementwise(np.radians, vjp=(lambda g, y, x: np.radians(g),), linear_in="jointly")
rad2deg = elementwise(np.rad2deg, vjp=(lambda g, y, x: np.rad2deg(g),), linear_in="jointly")
degrees = elementwise(np.degrees, vjp=(lambda g, y, x: np.degrees(g),), linear_in="jointly")


def _over_radius(z: Any, y: Any, x: Any) -> tuple[Any, Any, Any]:
    """y and x over their distance from zero, and that: infinite in place of zero, where the
    derivatives are zero. Their squares would overflow, or vanish."""
    y, x = (value if value.dtype == z.dtype else cast(value, z.dtype) for value in (y, x))
    radius = length_to_divide_by(np.hypot(y, x))
    return y / radius, x / radius, radius


def _arctan2_by_y(g: Any, z: Any, y: Any, x: Any) -> Any:
    _, cosine, radius = _over_radius(z, y, x)
    return g * cosine / radius


def _arctan2_by_x(g: Any, z: Any, y: Any, x: Any) -> Any:
    sine, _, radius = _over_radius(z, y, x)
    return -g * sine / radius


arctan2 = elementwise(np.arctan2, vjp=(_arctan2_by_y, _arctan2_by_x), cost=40, bound=np.pi)


def _sinc_slope(y: Any, x: Any) -> Any:
    """(cos(pi x) - sinc(x)) / x; near 0, where the difference cancels, its first terms in x.

    It is -pi times the spherical Bessel function j1 at pi x, https://dlmf.nist.gov/10.53.E1.
    """
    angle = np.pi * x
    near = np.abs(angle) < 0.1
    small = np.where(near, angle, 0.0)
    square = small * small
    series = small * (1 / 3 - square * (1 / 30 - square * (1 / 840 - square / 45360)))
    return np.where(near, -np.pi * series, (np.cos(angle) - y) / np.where(near, 1.0, x))


def _sinc_type(x: ArrayType) -> ArrayType:
    dtype = promote(x, ArrayType((), np.dtype(float), "weak"))
    return ArrayType(x.shape, dtype, "array" if x.shape else "scalar")


sinc = defop(
    np.sinc,
    canonical=lambda x: ((x,), {}),
    infer=_sinc_type,
    vjp=lambda g, y, x: g * _sinc_slope(y, x),
    batch="elementwise",
    source="np.sinc({0})",
    cost=lambda x: 30 * x.size,
    bound=1.0,
)
