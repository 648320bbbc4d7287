"""Elementwise arithmetic: sums, products, quotients and their remainders, powers, roots.

`x ** y` and `np.power(x, y)` differ in their last bits, so they are two ops with the same rules. A
Python number as exponent or base is a parameter of an op of its own, whose rule can be simple:
`pow_to` for x ** 3, `pow_of` for 2.0 ** x.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tracejit.ir.types import PYTHON_TYPES, WEAK_DTYPES, ArrayType, type_of
from tracejit.ops.base.creation import cast
from tracejit.ops.base.infer import ufunc_dtype, ufunc_type
from tracejit.ops.base.loops import with_keywords
from tracejit.ops.base.op import Op, answer, composite, defop
from tracejit.ops.base.ufuncs import elementwise, operands_of
from tracejit.ops.elementwise.lengths import along_length

add = elementwise(
    np.add,
    infix="+",
    vjp=(lambda g, z, x, y: g, lambda g, z, x, y: g),
    linear_in="jointly",
    commutative=True,
    sign="kept",
)
subtract = elementwise(
    np.subtract, infix="-", vjp=(lambda g, z, x, y: g, lambda g, z, x, y: -g), linear_in="jointly"
)
multiply = elementwise(
    np.multiply,
    infix="*",
    deriv=(lambda z, x, y: y, lambda z, x, y: x),
    linear_in="each",
    commutative=True,
    sign="kept",
)
divide = elementwise(
    np.divide,
    infix="/",
    vjp=(lambda g, z, x, y: g / y, lambda g, z, x, y: -g * z / y),
    cost=4,
    linear_in=(0,),
    sign="kept",
)
negative = elementwise(np.negative, source="-{0}", vjp=(lambda g, y, x: -g,), linear_in="jointly")
positive = elementwise(
    np.positive, source="+{0}", vjp=(lambda g, y, x: g,), linear_in="jointly", sign="kept"
)
reciprocal = elementwise(np.reciprocal, vjp=(lambda g, y, x: -g * y * y,), cost=4, sign="kept")


# Quotients and remainders

floor_divide = elementwise(np.floor_divide, infix="//", vjp=(), cost=10)
remainder = elementwise(
    np.remainder,
    infix="%",
    vjp=(lambda g, z, x, y: g, lambda g, z, x, y: -g * np.floor_divide(x, y)),
    cost=10,
)
fmod = elementwise(
    np.fmod, vjp=(lambda g, z, x, y: g, lambda g, z, x, y: -g * np.rint((x - z) / y)), cost=10
)


@composite(np.divmod)
def divmod(*operands: Any, **keywords: Any) -> tuple[Any, Any]:
    """The floor of the quotient, and the remainder."""
    x1, x2 = with_keywords(np.divmod, operands, keywords)
    return np.floor_divide(x1, x2), np.remainder(x1, x2)


def _parts_type(ufunc: np.ufunc) -> Callable[[ArrayType], tuple[ArrayType, ArrayType]]:
    """The infer of a ufunc of one operand with two results."""

    def infer(x: ArrayType) -> tuple[ArrayType, ArrayType]:
        first = ArrayType(x.shape, ufunc_dtype(ufunc, x), "array" if x.shape else "scalar")
        return first, first.with_dtype(ufunc(np.ones(1, first.dtype))[1].dtype)

    return infer


modf = defop(
    np.modf,
    canonical=operands_of(np.modf),
    infer=_parts_type(np.modf),
    vjp=lambda g, y, x: g[0],
    batch="elementwise",
    source="np.modf({0})",
)
frexp = defop(
    np.frexp,
    canonical=operands_of(np.frexp),
    infer=_parts_type(np.frexp),
    vjp=lambda g, y, x: np.ldexp(g[0], -y[1]),
    batch="elementwise",
    source="np.frexp({0})",
)
ldexp = elementwise(np.ldexp, vjp=(lambda g, z, x, n: np.ldexp(g, n), None), cost=4, linear_in=(0,))
nextafter = elementwise(np.nextafter, vjp=(lambda g, z, x, y: g, None), cost=4)
spacing = elementwise(np.spacing, vjp=(), cost=4)


# Roots, squares and lengths

square = elementwise(np.square, deriv=lambda y, x: 2.0 * x, sign="nonnegative")
sqrt = elementwise(np.sqrt, vjp=(lambda g, y, x: 0.5 * g / y,), cost=6, sign="kept")
cbrt = elementwise(np.cbrt, vjp=(lambda g, y, x: g / (3.0 * y * y),), cost=20, sign="kept")


hypot = elementwise(
    np.hypot,
    vjp=(lambda g, z, x, y: along_length(g, z, x), lambda g, z, x, y: along_length(g, z, y)),
    cost=20,
    sign="nonnegative",
    commutative=True,
)
copysign = elementwise(np.copysign, deriv=(lambda z, x, y: np.sign(x) * np.sign(z), None), cost=2)


# Powers


def _like(value: Any, z: Any) -> Any:
    """An operand in the dtype of the result."""
    return value if value.dtype == z.dtype else cast(value, z.dtype)


def slope_in_base(g: Any, z: Any, x: Any, y: Any) -> Any:
    """g * y * x ** (y - 1), which is 0 where y is 0, at x = 0 too."""
    base, exponent = _like(x + ((x == 0) & (y == 0)), z), _like(y, z)
    return g * exponent * base ** (exponent - 1.0)


def slope_in_exponent(g: Any, z: Any, x: Any, y: Any) -> Any:
    """g * z * log(x), which is 0 where x is 0."""
    return g * z * np.log(_like(x + (x == 0), z))


def _samples(kind: ArrayType, values: Iterable[Any]) -> list[Any]:
    """Values of a type, arrays having one element."""
    if kind.form == "weak":
        return [PYTHON_TYPES[kind.dtype.kind](value) for value in values]
    if kind.form == "scalar":
        return [kind.dtype.type(value) for value in values]
    return [np.full((1,) * bool(kind.shape), value, kind.dtype) for value in values]


def _sampled_type(function: Callable[..., Any], x: ArrayType, exponents: list[Any]) -> ArrayType:
    """The type of `x` raised to any of `exponents`; NumPy's `**` treats some numbers apart."""
    with np.errstate(all="ignore"):
        kinds = {type_of(function(_samples(x, [1])[0], number)) for number in exponents}
    if len(kinds) > 1:
        raise TypeError("the type depends on the value of the exponent; write np.power instead")
    kind: Any = kinds.pop()
    return ArrayType(x.shape, kind.dtype, kind.form)


_EXPONENTS: dict[str, tuple[Any, ...]] = {
    "b": (False, True),
    "u": (0, 1, 2, 3),
    "i": (0, 1, 2, 3),
    "f": (0.0, 0.5, 1.0, 2.0, 3.0, -1.0),
    "c": (0j, 1j, 1.0 + 0j, 2.0 + 0j),
}


def _pow_type(x: ArrayType, y: ArrayType) -> ArrayType:
    if x.form == "weak" or y.shape:
        return ufunc_type(np.power)(x, y)
    return _sampled_type(operator.pow, x, _samples(y, _EXPONENTS[y.dtype.kind]))


def _cost(*types: ArrayType, **params: Any) -> int:
    return 40 * max(type.size for type in types)


_power = partial(defop, batch="elementwise", cost=_cost)
power = _power(
    name="power",
    infer=ufunc_type(np.power),
    vjp=(slope_in_base, slope_in_exponent),
    source="np.power({0}, {1})",
    inplace="np.power({0}, {1}, {out})",
)
pow = _power(
    name="pow",
    infer=_pow_type,
    vjp=(slope_in_base, slope_in_exponent),
    source="{0} ** {1}",
)
float_power = elementwise(np.float_power, vjp=(slope_in_base, slope_in_exponent), cost=40)

# d(x ** n)/dx for the exponents whose general form is costly, or wrong at 0.
_SLOPES: dict[Any, Callable[[Any, Any], Any]] = {
    0: lambda z, x: np.zeros_like(x),
    2: lambda z, x: 2.0 * x,
    0.5: lambda z, x: 0.5 / z,
    -1: lambda z, x: -z * z,
}


def slope_of_power(g: Any, z: Any, x: Any, exponent: Any) -> Any:
    """g * n * x ** (n - 1)."""
    if exponent == 1:
        return g
    if exponent in _SLOPES:
        return g * _SLOPES[exponent](z, x)
    return g * (exponent * x ** (exponent - 1))


def _of_number(g: Any, z: Any, x: Any, base: Any) -> Any:
    """g * z * log(base), which is 0 where base is 0."""
    if base == 0:
        return 0.0 * g * z
    if z.dtype.kind == "c":
        return g * (z * cmath.log(base))
    return g * (z * (math.log(base) if base > 0 else math.nan))


def _of_source(types: Sequence[ArrayType], base: Any) -> str:
    """base ** x, the base as a NumPy scalar where Python would take the power itself."""
    if type(base) is complex and types[0].form == "scalar":
        return "np.complex128({base}) ** {0}" if types[0].dtype == float else "{base} ** {0}"
    return "({base}) ** {0}" if repr(base)[0] == "-" else "{base} ** {0}"


power_to = _power(
    name="power_to",
    infer=lambda x, exponent: _sampled_type(np.power, x, [exponent]),
    vjp=slope_of_power,
    source="np.power({0}, {exponent})",
)
pow_to = _power(
    name="pow_to",
    infer=lambda x, exponent: _sampled_type(operator.pow, x, [exponent]),
    vjp=slope_of_power,
    source="{0} ** {exponent}",
    cost=lambda x, exponent: x.size if exponent == 2 else _cost(x),
)
power_of = _power(
    name="power_of",
    infer=lambda x, base: ufunc_type(np.power)(_weak(base), x),
    vjp=_of_number,
    source="np.power({base}, {0})",
)
pow_of = _power(
    name="pow_of",
    infer=lambda x, base: ufunc_type(np.power)(_weak(base), x),
    vjp=_of_number,
    source=_of_source,
)


def _weak(number: Any) -> ArrayType:
    return ArrayType((), WEAK_DTYPES[type(number)], "weak")


def _is_number(value: Any) -> bool:
    """Return whether a value is a finite Python number."""
    return type(value) in WEAK_DTYPES and abs(value) < math.inf


def _powers(general: Op, to_number: Op, of_number: Op) -> Callable[[Any, Any], Any]:
    """The handler that takes a power to the op made for its operands."""

    def handler(*operands: Any, **keywords: Any) -> Any:
        x1, x2 = with_keywords(np.power, operands, keywords)
        if _is_number(x2):
            return to_number(x1, exponent=x2)
        if _is_number(x1):
            return of_number(x2, base=x1)
        return general(x1, x2)

    return handler


answer(np.power, _powers(power, power_to, power_of))
answer(operator.pow, _powers(pow, pow_to, pow_of))
