"""Comparisons, logic, bits, rounding and predicates: piecewise constant, so they disconnect."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.creation import as_array, cast, type_in_call
from tracejit.ops.infer import broadcast_shapes
from tracejit.ops.op import answer, composite, defop
from tracejit.ops.ufuncs import elementwise

less = elementwise(np.less, infix="<", vjp=())
less_equal = elementwise(np.less_equal, infix="<=", vjp=())
greater = elementwise(np.greater, infix=">", vjp=())
greater_equal = elementwise(np.greater_equal, infix=">=", vjp=())
equal = elementwise(np.equal, infix="==", vjp=(), commutative=True)
not_equal = elementwise(np.not_equal, infix="!=", vjp=(), commutative=True)

logical_and = elementwise(np.logical_and, vjp=(), commutative=True)
logical_or = elementwise(np.logical_or, vjp=(), commutative=True)
logical_xor = elementwise(np.logical_xor, vjp=(), commutative=True)
logical_not = elementwise(np.logical_not, vjp=())

bitwise_and = elementwise(np.bitwise_and, infix="&", vjp=(), commutative=True)
bitwise_or = elementwise(np.bitwise_or, infix="|", vjp=(), commutative=True)
bitwise_xor = elementwise(np.bitwise_xor, infix="^", vjp=(), commutative=True)
invert = elementwise(np.invert, source="~{0}", vjp=())
left_shift = elementwise(np.left_shift, infix="<<", vjp=())
right_shift = elementwise(np.right_shift, infix=">>", vjp=())
bitwise_count = elementwise(np.bitwise_count, vjp=())
gcd = elementwise(np.gcd, vjp=(), cost=20, commutative=True)
lcm = elementwise(np.lcm, vjp=(), cost=20, commutative=True)


# Rounding

floor = elementwise(np.floor, vjp=(), sign="kept")
ceil = elementwise(np.ceil, vjp=(), sign="kept")
trunc = elementwise(np.trunc, vjp=(), sign="kept")
rint = elementwise(np.rint, vjp=(), sign="kept")


@composite(np.fix)
def fix(x: Any) -> Any:
    """The nearest integer towards zero."""
    return np.trunc(x)


def _rounded_type(x: ArrayType, decimals: int) -> ArrayType:
    if x.dtype.kind == "b":
        raise TypeError("booleans cannot be rounded")
    return ArrayType(x.shape, x.dtype, "array" if x.shape else "scalar")


round = defop(
    name="round",
    infer=_rounded_type,
    vjp=(),
    batch="elementwise",
    source="np.round({0}, {decimals})",
    cost=lambda x, decimals: 6 * x.size,
)


def _round_call(a: Any, decimals: Any = 0) -> Any:
    """np.round; to whole numbers it is np.rint, and integers need none."""
    decimals = operator.index(decimals)
    if decimals == 0 and a.dtype.kind in "fc":
        return np.rint(a)
    if decimals >= 0 and a.dtype.kind in "iu":
        return np.positive(a)
    return round(a, decimals=decimals)


answer(np.round, _round_call)
answer(np.around, _round_call)


# Predicates

isfinite = elementwise(np.isfinite, vjp=())
isnan = elementwise(np.isnan, vjp=())
isinf = elementwise(np.isinf, vjp=())
signbit = elementwise(np.signbit, vjp=())


def _isnat_call(x: Any, /, **keywords: Any) -> NoReturn:
    raise TypeError(f"it is only defined for dates and times, not for {x.dtype}")


answer(np.isnat, _isnat_call)
answer(np.iscomplexobj, lambda x: x.dtype.kind == "c")
answer(np.isrealobj, lambda x: x.dtype.kind != "c")


@composite(np.isposinf)
def isposinf(x: Any) -> Any:
    """Where x is infinite and positive."""
    return np.logical_and(np.isinf(x), ~np.signbit(x))


@composite(np.isneginf)
def isneginf(x: Any) -> Any:
    """Where x is infinite and negative."""
    return np.logical_and(np.isinf(x), np.signbit(x))


@composite(np.isreal)
def isreal(x: Any) -> Any:
    """Where the imaginary part is zero."""
    return np.imag(x) == 0


@composite(np.iscomplex)
def iscomplex(x: Any) -> Any:
    """Where the imaginary part is not zero."""
    return np.imag(x) != 0


@composite(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Where |a - b| is at most atol + rtol * |b|."""
    a, b = as_array(a), as_array(b)
    kind = type_in_call(b)
    if not kind.is_inexact:
        b = float(b) if kind.form == "weak" else cast(b, np.result_type(kind.dtype, 1.0))
    close = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | (a == b)
    return close | np.isnan(a) & np.isnan(b) if equal_nan else close


def _allclose_call(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> bool:
    """Tell if isclose holds everywhere, as Python reads it."""
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


def _array_equal_call(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Tell if two arrays have one shape and the same elements, as Python reads it."""
    a1, a2 = as_array(a1), as_array(a2)
    if np.shape(a1) != np.shape(a2):
        return False
    same = a1 == a2
    if equal_nan and all(type_in_call(a).dtype.kind in "fc" for a in (a1, a2)):
        same = same | np.isnan(a1) & np.isnan(a2)
    return bool(np.all(same))


def _array_equiv_call(a1: Any, a2: Any) -> bool:
    """Tell if two arrays have the same elements once broadcast, as Python reads it."""
    a1, a2 = as_array(a1), as_array(a2)
    try:
        broadcast_shapes(np.shape(a1), np.shape(a2))
    except ValueError:
        return False
    return bool(np.all(a1 == a2))


answer(np.allclose, _allclose_call)
answer(np.array_equal, _array_equal_call)
answer(np.array_equiv, _array_equiv_call)
