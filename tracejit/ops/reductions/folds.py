"""ufunc.reduce of any binary ufunc: with a mask, with an initial value, and in general.

Plain sums, products, extrema, any and all are ops of their own (see `reductions`). All else is
the op `reduce`: its parameter `ufunc` says of which, and its line is NumPy's own call. Its
operands are the array, the mask or True, and the first value. Ufuncs that are piecewise constant
have `reduce_discrete`, which disconnects.

The derivatives of a fold y[k] = f(y[k - 1], x[k]) are products of those of f, by f's own rules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, behind, in_front, size_of, spread
from tracejit.ops.base.creation import as_array, cast, type_in_call, with_room
from tracejit.ops.base.infer import broadcast_shapes, promotion_key, reduced_shape
from tracejit.ops.base.op import HANDLERS, OPS, Op, defop, literal
from tracejit.ops.elementwise.lengths import radial
from tracejit.ops.reductions.reductions import (
    PLAIN,
    Axes,
    accumulator,
    along,
    axis_text,
    expand,
    factors_beside,
    kept,
    reduced_axes,
)

EXTREMA = ("maximum", "minimum", "fmax", "fmin")
# NumPy's own results are wrong on processors with AVX-512, where three or more are contiguous.
_WRONG_IN_NUMPY = ("power", "arctan2")
_CLOSED = ("add", "multiply", "hypot", "logaddexp", "logaddexp2")

# The e of f(y, e) = y: what a masked element is taken for in a derivative.
_NEUTRAL: dict[str, Any] = {
    "add": 0.0,
    "subtract": 0.0,
    "hypot": 0.0,
    "multiply": 1.0,
    "divide": 1.0,
    "power": 1.0,
    "float_power": 1.0,
    "logaddexp": -math.inf,
    "logaddexp2": -math.inf,
}


# Derivatives of a reduction by its elements and by its first value; y has all axes


def slopes_of(ufunc: str, x: Any, y: Any, axis: Axes, mask: Any = None, start: Any = None) -> Any:
    """The derivatives of the reduction y by x, and by the first value where there is one."""
    if ufunc in EXTREMA:
        return _shares(x, y, axis, mask, start)
    if ufunc == "add":
        return np.ones_like(x), np.ones_like(y)
    if mask is not None:
        x = np.where(mask, x, _NEUTRAL[ufunc])
    if ufunc == "multiply":
        others = factors_beside(x, axis)
        if start is None:
            return others, None
        return others * start, np.prod(x, axis=axis, keepdims=True)
    if ufunc in _CLOSED:
        return _part(ufunc, x, y), None if start is None else _part(ufunc, start, y)
    return _fold_slopes(ufunc, x, axis, start)


def _part(ufunc: str, x: Any, y: Any) -> Any:
    """The derivative of a length, or of the logarithm of a sum of exponentials, by one of them."""
    if ufunc == "hypot":
        return radial(np.ones_like(y), y, x)
    power = np.exp if ufunc == "logaddexp" else np.exp2
    return power(x - np.where(y == -math.inf, 0.0, y))


def _shares(x: Any, y: Any, axis: Axes, mask: Any, start: Any) -> Any:
    """Equal shares for all that is the extremum y, be it an element or the first value."""
    chosen = x == y if mask is None else (x == y) & mask
    ties = np.sum(chosen, axis=axis, dtype=with_room(y).dtype, keepdims=True)
    if start is None:
        return chosen / ties, None
    first = cast(y == start, y.dtype)
    ties = ties + first
    return chosen / ties, first / ties


def _fold_slopes(ufunc: str, x: Any, axis: Axes, start: Any) -> Any:
    """The derivatives of a fold from left to right along one axis."""
    if not axis:
        return np.ones_like(x), None
    (k,) = axis
    if start is not None:
        x = np.concatenate((np.full_like(x[along(k, slice(1))], start), x), k)
    y = HANDLERS[getattr(np, ufunc), "accumulate"](x, k)
    before, here = steps(ufunc, x, y, k)
    later = np.flip(np.cumprod(after_one(np.flip(before, k), y, k), k), k)
    slopes = later * after_one(here, y, k)
    if start is None:
        return slopes, None
    return slopes[along(k, slice(1, None))], slopes[along(k, slice(1))]


def steps(ufunc: str, x: Any, y: Any, axis: int) -> tuple[Any, Any]:
    """The derivatives of y[k] = f(y[k - 1], x[k]), k > 0, by y[k - 1] and by x[k]."""
    left, right = y[along(axis, slice(-1))], x[along(axis, slice(1, None))]
    out = y[along(axis, slice(1, None))]
    rules = [OPS[ufunc].vjp_rule(number) for number in (0, 1)]
    before, here = [
        np.zeros_like(out) if rule is None else rule(np.ones_like(out), out, left, right)
        for rule in rules
    ]
    return before, here


def after_one(steps: Any, y: Any, axis: int) -> Any:
    """A one for the first element of y, and then the steps to the others."""
    return np.concatenate((np.ones_like(y[along(axis, slice(1))]), steps), axis)


# reduce


@cache
def result_dtype(ufunc: str, method: str, types: tuple[Any, ...], keywords: Any) -> np.dtype[Any]:
    """The dtype of a method's result on ones of these types; raises what NumPy raises."""
    arrays = [key(1) if dims is None else np.ones((1,) * dims, key) for key, dims in types]
    words = dict(keywords)
    if method == "reduce":
        words |= dict(zip(("where", "initial"), arrays[1:], strict=False))
        arrays = arrays[:1]
    with np.errstate(all="ignore"):
        result: np.dtype[Any] = getattr(getattr(np, ufunc), method)(*arrays, **words).dtype
    return result


def _sampled(type: ArrayType) -> tuple[Any, int | None]:
    """The properties of an operand by which NumPy chooses its loop."""
    key = promotion_key(type)
    return (key, type.ndim) if isinstance(key, np.dtype) else (key, None)


def _reduce_type(
    x: ArrayType,
    *others: ArrayType,
    ufunc: str,
    axis: Axes,
    dtype: Any = None,
    keepdims: bool = False,
    **initial: None,
) -> ArrayType:
    if others and broadcast_shapes(x.shape, others[0].shape) != x.shape:
        raise ValueError(f"where {others[0].shape} does not broadcast to {x.shape}")
    if len(others) > 1 and others[1].shape:
        raise ValueError("initial must be a number")
    words = (("axis", axis), ("dtype", dtype), *initial.items())
    types = ((x.dtype, x.ndim), *map(_sampled, others))
    found = result_dtype(ufunc, "reduce", types, words)
    shape = reduced_shape(x.shape, axis, keepdims)
    result = ArrayType(shape, found, "array" if shape else "scalar")
    has_first = len(others) > 1 or (getattr(np, ufunc).identity is not None and not initial)
    if not has_first and not x.size and result.size:
        raise ValueError(f"zero-size array to reduction operation {ufunc} which has no identity")
    return result


def _reduce_source(
    types: Any,
    ufunc: str,
    axis: Axes,
    dtype: Any = None,
    keepdims: bool = False,
    **initial: None,
) -> str:
    words = [f"axis={axis_text(axis, types[0].ndim)}"]
    words += [f"dtype={literal(dtype)}"] if dtype is not None else []
    words += ["keepdims=True"] if keepdims else []
    words += ["initial=None"] if initial else []
    words += ["initial={2}"] if len(types) > 2 else []
    words += ["where={1}"] if _is_masked(types[1:]) else []
    return f"np.{ufunc}.reduce({{0}}, {', '.join(words)})"


def _is_masked(types: Any) -> bool:
    return bool(types) and types[0].form != "weak"


def _parts(y: Any, x: Any, others: Any, axis: Axes, keepdims: bool, ufunc: str) -> Any:
    """The mask, and the derivatives by x and by the first value."""
    mask = others[0] if _is_masked([type_in_call(other) for other in others]) else None
    start = cast(others[1], y.dtype) if len(others) > 1 else None
    x = x if x.dtype == y.dtype else cast(x, y.dtype)
    return mask, *slopes_of(ufunc, x, expand(y, axis, keepdims), axis, mask, start)


def _reduce_vjp(
    g: Any, y: Any, x: Any, *others: Any, ufunc: str, axis: Axes, keepdims: bool = False, **_: Any
) -> Any:
    mask, slopes, _start = _parts(y, x, others, axis, keepdims, ufunc)
    product = expand(g, axis, keepdims)
    product = product if ufunc == "add" else product * slopes
    product = product if mask is None else np.where(mask, product, 0.0)
    return np.broadcast_to(product, x.shape) if ufunc == "add" else product


def _reduce_jvp(
    v: Any,
    y: Any,
    x: Any,
    *others: Any,
    ufunc: str,
    axis: Axes,
    keepdims: bool = False,
    **words: Any,
) -> Any:
    if ufunc == "add" and len(others) == 1:
        return reduce(v, *others, ufunc=ufunc, axis=axis, **kept(keepdims), **words)
    mask, slopes, _start = _parts(y, x, others, axis, keepdims, ufunc)
    product = v * slopes
    product = product if mask is None else np.where(mask, product, 0.0)
    return np.sum(product, axis=axis, keepdims=keepdims)


def _start_rule(
    g: Any, y: Any, x: Any, *others: Any, ufunc: str, axis: Axes, keepdims: bool = False, **_: Any
) -> Any:
    """The cotangent of the first value, or the tangent that it gives."""
    _mask, _slopes, slope = _parts(y, x, others, axis, keepdims, ufunc)
    return g * np.reshape(slope, y.shape)


def _reduce_batch(op: str) -> Any:
    """The batching rule of the op: a first value of each element's own is not covered."""

    def rule(moved: Moved, x: Any, *others: Any, axis: Axes, **params: Any) -> Any:
        if any(moved[2:]):
            return NotImplemented
        rank = x.ndim - moved[0]
        whole = in_front(x, moved[0], size_of(moved, (x, *others)))
        masks = [spread(mask, moved[1], rank) for mask in others[:1]]
        return OPS[op](whole, *masks, *others[1:], axis=behind(axis), **params)

    return rule


_REDUCE: dict[str, Any] = {"infer": _reduce_type, "source": _reduce_source}


def _reduce_axes(
    types: Sequence[ArrayType], ufunc: str, axis: Axes, keepdims: bool = False, **params: Any
) -> str:
    """Blocks are combined by the ufunc itself; a first value must not count twice, unless it is an
    extremum or a truth."""
    x, *others = types
    letters = axes.letters_of(x)
    is_idempotent = ufunc in EXTREMA or ufunc in ("logical_or", "logical_and")
    if not is_idempotent and (len(others) > 1 or ufunc not in axes.COMBINATIONS):
        letters = axes.mixed(letters, axis)
    operands = [letters, *[axes.named(letters, other.shape) for other in others]]
    result = axes.without(letters, axis, keepdims)
    return axes.text_of(operands, result) + (f" by {ufunc}" if ufunc in axes.COMBINATIONS else "")


def _reduce_formula(
    x: Any, *others: Any, ufunc: str, axis: Axes, keepdims: bool = False, **params: Any
) -> Any:
    """A sum or a product with a first value, which counts once; NotImplemented for others."""
    if ufunc not in ("add", "multiply") or len(others) < 2:
        return NotImplemented
    mask, first = others
    total, plain = getattr(np, ufunc), PLAIN[getattr(np, ufunc)]
    chosen = np.where(mask, x, x.dtype.type(total.identity))
    return total(plain(chosen, axis=axis, **kept(keepdims), **params), first)


reduce: Op = defop(
    name="reduce",
    vjp=(_reduce_vjp, None, _start_rule),
    jvp=(_reduce_jvp, None, _start_rule),
    batch=_reduce_batch("reduce"),
    **_REDUCE,
    axes=_reduce_axes,
    formula=_reduce_formula,
)
reduce_discrete = defop(
    name="reduce_discrete",
    vjp=(),
    batch=_reduce_batch("reduce_discrete"),
    **_REDUCE,
    axes=_reduce_axes,
)

_NOTHING: Any = object()


def reduce_call(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    *,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = _NOTHING,
    where: Any = True,
) -> Any:
    """ufunc.reduce; by the op made for it where there is one."""
    name = ufunc.__name__
    if initial is None and ufunc.identity is None:
        initial = _NOTHING
    takes_dtype = dtype is None or name in ("add", "multiply")
    if ufunc in PLAIN and takes_dtype and initial is _NOTHING and where is True:
        words = {} if dtype is None else {"dtype": dtype}
        return PLAIN[ufunc].record_call(array, axis, keepdims=keepdims, **words)
    x = as_array(array)
    params: dict[str, Any] = {"ufunc": name, "axis": reduced_axes(x, axis)} | kept(keepdims)
    params |= loop_dtype(name, "reduce", x, dtype)
    if initial is None:
        params["initial"] = None
    others: list[Any] = [] if where is True else [np.False_ if where is False else as_array(where)]
    if initial is not _NOTHING and initial is not None:
        others = [*(others or [True]), as_array(initial)]
    refuse_wrong(name, x, params.get("dtype"))
    if is_discrete(name):
        return reduce_discrete(x, *others, **params)
    if others and others[0] is not True and name not in (*_NEUTRAL, *EXTREMA):
        raise TypeError("where= is not supported for it")
    if len(others) > 1 and not params["axis"] and name not in (*_CLOSED, *EXTREMA):
        raise TypeError("initial= without an axis to reduce is not supported for it")
    return reduce(x, *others, **params)


def is_discrete(name: str) -> bool:
    """Return whether no derivative comes through: the first element of a floor_divide may be all of
    it."""
    return OPS[name].vjp == () and name != "floor_divide"


def refuse_wrong(name: str, x: Any, dtype: Any) -> None:
    """Raise TypeError for the folds that NumPy itself computes wrongly."""
    if name in _WRONG_IN_NUMPY and (dtype or x.dtype).kind == "f":
        raise TypeError(
            f"NumPy's own results are wrong on some processors; use the last element of "
            f"np.{name}.accumulate"
        )


def loop_dtype(name: str, method: str, x: Any, dtype: Any) -> dict[str, Any]:
    """The parameter for the user's `dtype`: none where NumPy computes in it anyway."""
    if dtype is None:
        return {}
    if x.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        raise TypeError(f"dtype={np.dtype(dtype)} for {x.dtype} is not supported")
    try:
        indices = ([0],) if method == "reduceat" else ()
        array = np.ones(1, x.dtype)
        with np.errstate(all="ignore"):
            default = getattr(getattr(np, name), method)(array, *indices).dtype
    except TypeError:
        default = np.dtype(object)
    return accumulator(dtype, default)
