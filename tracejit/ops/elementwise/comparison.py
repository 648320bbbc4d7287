"""Comparisons, logic, bits, rounding and predicates: piecewise constant, so they disconnect."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base.creation import as_array, type_in_call
from tracejit.ops.base.infer import broadcast_shapes
from tracejit.ops.base.op import answer, composite, defop
from tracejit.ops.base.ufuncs import elementwise

less = elementwise(np.less, infix="<", vjp=())
less_equal = elementwise(np.less_equal, infix="<=", vjp=())
greater = elementwise(np.greater, infix=">", vjp=())
greater_equal = elementwise(np.greater_equal, infix=">=", vjp=())
equal = elementwise(np.equal, infix="==", vjp=(), commutative=True)
not_equal = elementwise(np.not_equal, infix="!=", vjp=(), commutative=True)

logical_and = elementwise(np.logical_and, vjp=(), commutative=True, test="{0} and {1}")
logical_or = elementwise(np.logical_or, vjp=(), commutative=True, test="{0} or {1}")
logical_xor = elementwise(np.logical_xor, vjp=(), commutative=True)
logical_not = elementwise(np.logical_not, vjp=(), test="not {0}")

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


def _allclose_call(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> bool:
    """Return whether isclose holds everywhere, as a Python bool."""
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


def _array_equal_call(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Return whether two arrays have one shape and the same elements, as a Python bool."""
    a1, a2 = as_array(a1), as_array(a2)
    if np.shape(a1) != np.shape(a2):
        return False
    same = a1 == a2
    if equal_nan and all(type_in_call(a).dtype.kind in "fc" for a in (a1, a2)):
        same = same | np.isnan(a1) & np.isnan(a2)
    return bool(np.all(same))


def _array_equiv_call(a1: Any, a2: Any) -> bool:
    """Return whether two arrays have the same elements once broadcast, as a Python bool."""
    a1, a2 = as_array(a1), as_array(a2)
    try:
        broadcast_shapes(np.shape(a1), np.shape(a2))
    except ValueError:
        return False
    return bool(np.all(a1 == a2))


answer(np.allclose, _allclose_call)
answer(np.array_equal, _array_equal_call)
answer(np.array_equiv, _array_equiv_call)
