"""Reductions and scans along axes.

The parameters of a reduction are canonical: `axis` a sorted tuple of numbers from 0 on,
`keepdims` there only when True, `dtype` only when it is not the one NumPy accumulates in anyway.
A scan has one axis; a scan of a flattened array is one of the raveled array. Ties of max and min
share the cotangent equally. The rules of prod and cumprod multiply the other factors and never
divide, so they are right where factors are zero, to any order.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import along_axis, rows
from tracejit.ops.base.creation import as_array, cast, is_recorded, type_in_call, with_room
from tracejit.ops.base.infer import (
    reduced_shape,
    reduction_type,
    strict_axes,
    strict_axis,
)
from tracejit.ops.base.op import HANDLERS, Op, answer, composite, defop, literal

Axes = tuple[int, ...]
Call = tuple[tuple[Any], dict[str, Any]]

# The arguments of np.sum and its like, by position.
_AFTER_DTYPE = ("out", "keepdims", "initial", "where")

# The op of ufunc.reduce without a mask and a first value, for those that have one.
PLAIN: dict[np.ufunc, Op] = {}


def reduced_axes(a: Any, axis: Any) -> Axes:
    """The axes a reduction of `a` over `axis` means; a 0-d array has an axis 0 too, as in NumPy."""
    if np.ndim(a) == 0 and type(axis) is int and axis in (0, -1):
        return ()
    return strict_axes(axis, np.ndim(a))


def accumulator(dtype: Any, default: np.dtype[Any]) -> dict[str, Any]:
    """The parameter for the user's `dtype`: none where NumPy accumulates in it anyway."""
    if dtype is None or np.dtype(dtype) == default:
        return {}
    if np.dtype(dtype).kind not in "biufc":
        raise TypeError(f"dtype {np.dtype(dtype)} is not supported")
    return {"dtype": np.dtype(dtype)}


def kept(keepdims: Any) -> dict[str, Any]:
    """The parameter for the user's `keepdims`."""
    return {"keepdims": True} if operator.index(keepdims) else {}


def expand(v: Any, axis: Axes, keepdims: bool) -> Any:
    """A result of reducing `axis`, its axes put back unless broadcasting finds them anyway."""
    return v if keepdims or axis == tuple(range(len(axis))) else np.expand_dims(v, axis)


def _reduction(ufunc: np.ufunc, *numpy: Any, **fields: Any) -> Op:
    """The op of ufunc.reduce, answering for the functions `numpy`; with a mask or a first value
    they are reductions of the general form."""
    infer_default = reduction_type(ufunc)
    name = f"np.{ufunc.__name__}.reduce"

    def canonical(a: Any, axis: Any = None, *, keepdims: Any = False) -> Call:
        a = as_array(a)
        return (a,), {"axis": reduced_axes(a, axis)} | kept(keepdims)

    def canonical_with_dtype(
        a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False
    ) -> Call:
        operands, params = canonical(a, axis, keepdims=keepdims)
        default = infer_default(ArrayType((), type_in_call(operands[0]).dtype), ()).dtype
        return operands, params | accumulator(dtype, default)

    def infer(x: ArrayType, axis: Axes, dtype: Any = None, keepdims: bool = False) -> ArrayType:
        result = infer_default(x, axis, keepdims)
        if ufunc.identity is None and not x.size and result.size:
            raise ValueError(
                f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
            )
        return result if dtype is None else result.with_dtype(dtype)

    def source(types: Any, axis: Axes, dtype: Any = None, keepdims: bool = False) -> str:
        keywords = [f"axis={axis_text(axis, types[0].ndim)}"]
        keywords += [f"dtype={literal(dtype)}"] if dtype is not None else []
        keywords += ["keepdims=True"] if keepdims else []
        return f"{name}({{0}}, {', '.join(keywords)})"

    takes_dtype = ufunc in (np.add, np.multiply)
    op = defop(
        name=numpy[0].__name__,
        canonical=canonical_with_dtype if takes_dtype else canonical,
        infer=infer,
        batch=along_axis(numpy[0].__name__),
        source=source,
        reduces=ufunc.__name__,
        **fields,
    )

    places = ("dtype", *_AFTER_DTYPE) if takes_dtype else _AFTER_DTYPE

    def handler(a: Any, axis: Any = None, *args: Any, **keywords: Any) -> Any:
        if not (args or keywords):
            return op.record_call(a, axis)
        words = dict(zip(places, args, strict=False)) | keywords
        if words.pop("out", None) is not None:
            raise TypeError("out= is not supported")
        if words.keys() <= {"dtype", "keepdims"}:
            return op.record_call(a, axis, **words)
        return HANDLERS[ufunc, "reduce"](a, axis, **words)

    for function in numpy:
        answer(function, handler)
    PLAIN[ufunc] = op
    return op


def axis_text(axis: Axes, ndim: int) -> str:
    """The axes of a reduction as they are written: None for all, a number for one."""
    if len(axis) == ndim:
        return "None"
    return str(axis[0] if len(axis) == 1 else axis)


def _share(g: Any, y: Any, x: Any, axis: Axes, keepdims: bool = False) -> Any:
    """g shared equally by the elements of x that are the extremum y."""
    chosen = x == expand(y, axis, keepdims)
    ties = np.sum(chosen, axis=axis, dtype=with_room(x).dtype, keepdims=keepdims)
    return chosen * expand(g / ties, axis, keepdims)


def along(axis: int, part: slice) -> tuple[slice, ...]:
    """The index that takes `part` of one axis."""
    return (slice(None),) * axis + (part,)


def _after_one(x: Any, axis: int, part: slice) -> Any:
    """A one, and then `part` of an axis of x."""
    ones = np.ones_like(x[along(axis, slice(1))])
    return np.concatenate((ones, x[along(axis, part)]), axis)


def _other_factors(x: Any, axis: int) -> Any:
    """For each element the product of the others along an axis."""
    before = np.cumprod(_after_one(x, axis, slice(-1)), axis)
    after = np.cumprod(_after_one(x, axis, slice(None, 0, -1)), axis)
    return before * np.flip(after, axis)


def _partials(x: Any, axis: Axes, dtype: Any) -> list[Any]:
    """Factors whose product is d prod(x, axis) / dx, one for each axis, smallest array first."""
    x = with_room(x if dtype is None else x.astype(dtype))
    factors = []
    for k in axis:
        factors.append(_other_factors(x, k))
        if k != axis[-1]:
            x = np.prod(x, axis=k, keepdims=True)
    return factors[::-1]


def factors_beside(x: Any, axis: Axes) -> Any:
    """For each element the product of all others that are reduced with it."""
    return math.prod(_partials(x, axis, None))


def _prod_vjp(g: Any, y: Any, x: Any, axis: Axes, dtype: Any = None, keepdims: bool = False) -> Any:
    return math.prod(_partials(x, axis, dtype), start=expand(g, axis, keepdims))


sum = _reduction(
    np.add,
    np.sum,
    vjp=lambda g, y, x, axis, dtype=None, keepdims=False: np.broadcast_to(
        expand(g, axis, keepdims), x.shape
    ),
    jvp="linear",
    sign="kept",
)
_EXTREMUM: dict[str, Any] = {
    "vjp": _share,
    "sign": "kept",
    "elements": "taken",
}
prod = _reduction(np.multiply, np.prod, vjp=_prod_vjp, sign="kept")
max = _reduction(np.maximum, np.max, np.amax, **_EXTREMUM)
min = _reduction(np.minimum, np.min, np.amin, **_EXTREMUM)
nanmax = _reduction(np.fmax, np.nanmax, **_EXTREMUM)
nanmin = _reduction(np.fmin, np.nanmin, **_EXTREMUM)
any = _reduction(np.logical_or, np.any, vjp=())
all = _reduction(np.logical_and, np.all, vjp=())


_COUNTS_ARE_PYTHON_NUMBERS = type(np.count_nonzero(np.ones(1))) is int


def _count_call(a: Any, axis: Any = None, *, keepdims: Any = False) -> Call:
    if axis is None and not keepdims and _COUNTS_ARE_PYTHON_NUMBERS:
        raise TypeError(
            "this NumPy counts in a Python int, which needs the data; write np.sum(a != 0)"
        )
    return (a,), {"axis": reduced_axes(a, axis)} | kept(keepdims)


def _count_type(x: ArrayType, axis: Axes, keepdims: bool = False) -> ArrayType:
    shape = reduced_shape(x.shape, axis, keepdims)
    return ArrayType(shape, np.dtype(np.intp), "array" if shape else "scalar")


# The axes are always written: without them NumPy before 2.3 answers with a Python int.
count_nonzero = defop(
    np.count_nonzero,
    canonical=_count_call,
    infer=_count_type,
    vjp=(),
    batch=along_axis("count_nonzero"),
    source=lambda types, axis, keepdims=False: (
        f"np.count_nonzero({{0}}, axis={axis}{', keepdims=True' if keepdims else ''})"
    ),
    axes=axes.reduced,
)


def _arg(function: Callable[..., Any]) -> Op:
    """The op of argmax, argmin or their kin: `axis` a number, or None for the flattened array."""
    name = function.__name__

    def canonical(a: Any, axis: Any = None, *, keepdims: Any = False) -> Call:
        flat = axis is None or (np.ndim(a) == 0 and type(axis) is int and axis in (0, -1))
        number = None if flat else strict_axis(axis, np.ndim(a))
        return (a,), {"axis": number} | kept(keepdims)

    def infer(x: ArrayType, axis: int | None, keepdims: bool = False) -> ArrayType:
        if not (x.size if axis is None else x.shape[axis]):
            raise ValueError(f"attempt to get {name} of an empty sequence")
        axes = tuple(range(x.ndim)) if axis is None else (axis,)
        return _count_type(x, axes, keepdims)

    def source(types: Any, axis: int | None, keepdims: bool = False) -> str:
        plain = types[0].form == "weak" or not hasattr(np.ndarray, name)
        arguments = ["{0}"] if plain else []
        arguments += [] if axis is None else [str(axis)]
        arguments += ["keepdims=True"] if keepdims else []
        owner = "np" if plain else "{0}"
        return f"{owner}.{name}({', '.join(arguments)})"

    def batch(moved: Any, x: Any, axis: int | None, keepdims: bool = False) -> Any:
        if axis is not None:
            return op(x, axis=axis + 1, **kept(keepdims))
        places = op(rows(x), axis=1)
        return np.reshape(places, (-1, *(1,) * (x.ndim - 1))) if keepdims else places

    op = defop(
        function,
        canonical=canonical,
        infer=infer,
        vjp=(),
        batch=batch,
        source=source,
        axes=axes.over,
    )
    return op


argmax = _arg(np.argmax)
argmin = _arg(np.argmin)
nanargmax = _arg(np.nanargmax)
nanargmin = _arg(np.nanargmin)


def _scan(ufunc: np.ufunc, function: Any, **fields: Any) -> Op:
    """The op of ufunc.accumulate along one axis, answering for `function`."""
    infer_default = reduction_type(ufunc)

    def canonical(a: Any, axis: Any = None, dtype: Any = None) -> Call:
        if np.ndim(a) == 0 or (axis is None and np.ndim(a) > 1):
            a = np.ravel(a)
        default = infer_default(ArrayType((), a.dtype), ()).dtype
        params = {"axis": strict_axis(0 if axis is None else axis, np.ndim(a))}
        return (a,), params | accumulator(dtype, default)

    def infer(x: ArrayType, axis: int, dtype: Any = None) -> ArrayType:
        return ArrayType(x.shape, dtype or infer_default(x, ()).dtype)

    def source(types: Any, axis: int, dtype: Any = None) -> str:
        keywords = "" if dtype is None else f", dtype={literal(dtype)}"
        return f"np.{ufunc.__name__}.accumulate({{0}}, {axis}{keywords})"

    return defop(
        function,
        canonical=canonical,
        infer=infer,
        batch=along_axis(function.__name__),
        source=source,
        **fields,
        axes=axes.along,
    )


def recurrence(a: Any, s: Any, axis: int) -> Any:
    """The solution of t[k] = s[k] + a[k] * t[k + 1], in steps that double the distance."""
    distance = 1
    while distance < s.shape[axis]:
        head, later = along(axis, slice(-distance)), along(axis, slice(distance, None))
        tail = along(axis, slice(-distance, None))
        s = np.concatenate((s[head] + a * s[later], s[tail]), axis)
        a = a[head] * a[later]
        distance *= 2
    return s


def _cumprod_vjp(g: Any, y: Any, x: Any, axis: int, dtype: Any = None) -> Any:
    x, y = with_room(x), with_room(y)
    later = x[along(axis, slice(1, None))]
    return _after_one(y, axis, slice(-1)) * recurrence(later, g, axis)


cumsum = _scan(
    np.add,
    np.cumsum,
    vjp=lambda g, y, x, axis, dtype=None: np.flip(
        np.cumsum(np.flip(with_room(g), axis), axis), axis
    ),
    jvp="linear",
    sign="kept",
)
cumprod = _scan(np.multiply, np.cumprod, vjp=_cumprod_vjp, sign="kept")


@composite(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum along a diagonal."""
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def _cumulative(total: Any, start: int) -> Callable[..., Any]:
    """The composite of np.cumulative_sum and np.cumulative_prod."""

    def formula(
        x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        x = np.atleast_1d(x)
        if axis is None and np.ndim(x) > 1:
            raise ValueError("arrays of more than one dimension need an axis")
        k = strict_axis(0 if axis is None else axis, np.ndim(x))
        sums = total(x, axis=k, dtype=dtype)
        if not include_initial:
            return sums
        edge = tuple(1 if k == axis else size for axis, size in enumerate(np.shape(x)))
        first = np.full_like(sums, start, shape=edge)
        return np.concatenate((first, sums), k)

    return formula


if hasattr(np, "cumulative_sum"):  # NumPy 2.1
    composite(np.cumulative_sum)(_cumulative(np.cumsum, 0))
    composite(np.cumulative_prod)(_cumulative(np.cumprod, 1))


@composite(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * math.pi) -> Any:
    """Jumps of more than half a period made up for by whole periods."""
    if is_recorded(period) or is_recorded(discont):
        raise TypeError("a recorded period or discont is not supported")
    p = as_array(p)
    jumps = np.diff(p, axis=axis)
    axis = strict_axis(axis, np.ndim(p))
    dtype = np.result_type(jumps.dtype, period)
    half, odd = builtins.divmod(period, 2) if dtype.kind in "iu" else (period / 2, 0)
    wrapped = np.mod(jumps + half, period) - half
    if not odd:
        wrapped = np.where((wrapped == -half) & (jumps > 0), half, wrapped)
    corrections = wrapped - jumps
    small = np.abs(jumps) < (period / 2 if discont is None else discont)
    shifts = np.cumsum(np.where(small, 0, corrections), axis)
    first, later = p[along(axis, slice(1))], p[along(axis, slice(1, None))] + shifts
    return np.concatenate([_cast(part, dtype) for part in (first, later)], axis)


def _cast(a: Any, dtype: np.dtype[Any]) -> Any:
    return a if a.dtype == dtype else cast(a, dtype)
