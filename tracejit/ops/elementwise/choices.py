"""Elementwise choices between values: `where`, maximum and minimum, clip.

The adjoint of a choice is a choice: `np.where(chosen, g, 0.0)`, never a product with a mask, so
that an infinite or undefined cotangent stays where it belongs. Equal operands of maximum and
minimum share the cotangent equally.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, aligned, in_front, size_of
from tracejit.ops.base.creation import as_array, followed, type_in_call
from tracejit.ops.base.forms import as_array as number_as_array
from tracejit.ops.base.infer import broadcast_shapes, promote
from tracejit.ops.base.op import Op, Rule, answer, composite, defop
from tracejit.ops.base.ufuncs import elementwise

# where


def _where_type(condition: ArrayType, x: ArrayType, y: ArrayType) -> ArrayType:
    return ArrayType(broadcast_shapes(condition.shape, x.shape, y.shape), promote(x, y))


_WHERE: tuple[Rule | None, ...] = (
    None,
    lambda g, z, condition, x, y: np.where(condition, g, 0.0),
    lambda g, z, condition, x, y: np.where(condition, 0.0, g),
)
where = defop(
    name="where",
    infer=_where_type,
    vjp=_WHERE,
    batch="elementwise",
    source="np.where({0}, {1}, {2})",
    linear_in="jointly",
    uniform=True,
)


def _where_call(condition: Any, *choices: Any) -> Any:
    if not choices:
        mask = followed(condition if condition.dtype.kind == "b" else condition != 0)
        if mask is not None:
            return np.nonzero(mask)
    if len(choices) != 2:
        raise TypeError(
            "the number of places that it finds is not known while the condition is being "
            "recorded; index "
            "with the condition, x[condition], or choose with np.where(condition, x, y)"
        )
    return where(*map(as_array, (condition, *choices)))


answer(np.where, _where_call)


def _or_zero_type(condition: ArrayType, x: ArrayType, chosen: bool) -> ArrayType:
    return ArrayType(broadcast_shapes(condition.shape, x.shape), x.dtype)


def _or_zero_source(types: Sequence[ArrayType], chosen: bool) -> str:
    if not all(type.shape for type in types):  # numbers have no views
        return "np.where({0}, {1}, 0.0)" if chosen else "np.where({0}, 0.0, {1})"
    bits = f"np.int{8 * types[1].dtype.itemsize}"
    return f"helpers.kept_{'where' if chosen else 'unless'}({{0}}, {{1}}, {bits})"


def _or_zero_rule(g: Any, z: Any, condition: Any, x: Any, chosen: bool) -> Any:
    return np.where(condition, g, 0.0) if chosen else np.where(condition, 0.0, g)


or_zero = defop(
    name="or_zero",
    infer=_or_zero_type,
    vjp=(None, _or_zero_rule),
    batch="elementwise",
    source=_or_zero_source,
    linear_in="jointly",
)
"""x where the condition is true, or where it is not, if not `chosen`; elsewhere 0.0. By the bits of
both, without a branch for each element: the condition has to be an array that is made by comparing.
"""


# Maximum and minimum


def _share(g: Any, z: Any, x: Any, y: Any) -> Any:
    """All of g for an operand that is chosen alone, half of it where both are."""
    return np.where(x == y, 0.5 * g, g)


_LARGER: tuple[Rule, ...] = (
    lambda g, z, x, y: np.where(x >= y, _share(g, z, x, y), 0.0),
    lambda g, z, x, y: np.where(y >= x, _share(g, z, x, y), 0.0),
)
_SMALLER: tuple[Rule, ...] = (
    lambda g, z, x, y: np.where(x <= y, _share(g, z, x, y), 0.0),
    lambda g, z, x, y: np.where(y <= x, _share(g, z, x, y), 0.0),
)
_CHOSEN: tuple[Rule, ...] = (
    lambda g, z, x, y: np.where(x == z, _share(g, z, x, y), 0.0),
    lambda g, z, x, y: np.where(y == z, _share(g, z, x, y), 0.0),
)
maximum = elementwise(np.maximum, vjp=_LARGER, out="out={out}", cost=3, sign="kept")
minimum = elementwise(np.minimum, vjp=_SMALLER, out="out={out}", cost=3, sign="kept")
fmax = elementwise(np.fmax, vjp=_CHOSEN, cost=3, sign="kept")
fmin = elementwise(np.fmin, vjp=_CHOSEN, cost=3, sign="kept")
heaviside = elementwise(
    np.heaviside, vjp=(None, lambda g, z, x, y: np.where(x == 0, g, 0.0)), cost=3
)


# clip: between bounds, and at them, the cotangent is the operand's own


def _bounded_type(*types: ArrayType) -> ArrayType:
    shape = broadcast_shapes(*[type.shape for type in types])
    return ArrayType(shape, promote(*types), "array" if shape else "scalar")


def _cost(*types: ArrayType, **params: Any) -> int:
    return 3 * max(type.size for type in types)


def _bound_source(call: str, other: str) -> Any:
    """One bound: `call` for floating numbers; `other` takes bounds that an integer cannot hold."""
    return lambda types: call if types[0].dtype.kind in "fc" else other


_BETWEEN: tuple[Rule, ...] = (
    lambda g, z, a, low, high: np.where((low <= a) & (a <= high), g, 0.0),
    lambda g, z, a, low, high: np.where((a < low) & (low <= high), g, 0.0),
    lambda g, z, a, low, high: np.where((a > high) | (low > high), g, 0.0),
)
_ABOVE: tuple[Rule, ...] = (
    lambda g, z, a, low: np.where(a >= low, g, 0.0),
    lambda g, z, a, low: np.where(a < low, g, 0.0),
)
_BELOW: tuple[Rule, ...] = (
    lambda g, z, a, high: np.where(a <= high, g, 0.0),
    lambda g, z, a, high: np.where(a > high, g, 0.0),
)
_clip = partial(defop, infer=_bounded_type, batch="elementwise", cost=_cost, uniform=True)
clip = _clip(
    name="clip",
    vjp=_BETWEEN,
    source="np.clip({0}, {1}, {2})",
)
clip_min = _clip(
    name="clip_min",
    vjp=_ABOVE,
    source=_bound_source("np.maximum({0}, {1})", "np.clip({0}, {1}, None)"),
)
clip_max = _clip(
    name="clip_max",
    vjp=_BELOW,
    source=_bound_source("np.minimum({0}, {1})", "np.clip({0}, None, {1})"),
)


def _clip_call(
    a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    bounds = [bound for bound in (a_min, a_max, min, max) if bound is not None]
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if len(bounds) > (low is not None) + (high is not None):
        raise ValueError("a bound is given twice, as a_min or a_max and as min or max")
    if low is None and high is None:
        return np.positive(a)
    kind, kinds = type_in_call(a), [type_in_call(bound) for bound in bounds]
    if kind.form == "weak" and promote(kind, *kinds) != promote(kind.with_form("array"), *kinds):
        a = number_as_array(a)  # as np.clip does
    if high is None:
        return clip_min(a, as_array(low))
    return clip_max(a, as_array(high)) if low is None else clip(a, as_array(low), as_array(high))


answer(np.clip, _clip_call)


# nan_to_num


def _finite(v: Any, y: Any, x: Any, *numbers: Any) -> Any:
    """The parts of `v` where the same part of x is finite; it is the VJP and the JVP."""
    real = np.where(np.isfinite(np.real(x)), np.real(v), 0.0)
    return real + 1j * np.where(np.isfinite(np.imag(x)), np.imag(v), 0.0)


def _nan_to_num_batch(moved: Moved, *operands: Any) -> Any:
    x, *numbers = aligned(moved, operands)
    return complex_nan_to_num(in_front(x, moved[0], size_of(moved, operands)), *numbers)


complex_nan_to_num: Op = defop(
    name="complex_nan_to_num",
    infer=lambda x, nan, posinf, neginf: x.with_form("array" if x.shape else "scalar"),
    vjp=(_finite, None, None, None),
    jvp=(_finite, None, None, None),
    batch=_nan_to_num_batch,
    source="np.nan_to_num({0}, True, {1}, {2}, {3})",
    axes=axes.broadcasting,
)


@composite(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """x with numbers in place of nan and the infinities."""
    if not copy:
        raise TypeError("copy=False would write in place, which is not supported")
    if x.dtype.kind not in "fc":
        return np.bitwise_or(x, x)  # a copy, a NumPy scalar where x is 0-d
    limit = float(np.finfo(x.dtype).max)
    posinf, neginf = limit if posinf is None else posinf, -limit if neginf is None else neginf
    if x.dtype.kind == "c":
        return complex_nan_to_num(x, nan, posinf, neginf)
    y = np.where(np.isposinf(x), posinf, np.where(np.isneginf(x), neginf, x))
    y = np.where(np.isnan(x), nan, y)
    y = y if y.dtype == x.dtype else y.astype(x.dtype)
    return y if x.shape else y[()]
