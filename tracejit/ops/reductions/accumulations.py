"""ufunc.accumulate: running folds along one axis.

The derivatives of y[k] = f(y[k - 1], x[k]) obey a linear recurrence in the derivatives of f. An
element of a running extremum has its share in all results for which it is the extremum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import along_axis
from tracejit.ops.base.creation import as_array, cast, with_room
from tracejit.ops.base.infer import strict_axis
from tracejit.ops.base.op import defop, literal
from tracejit.ops.reductions.folds import (
    EXTREMA,
    after_one,
    is_discrete,
    loop_dtype,
    result_dtype,
    steps,
)
from tracejit.ops.reductions.reductions import along, recurrence


def _accumulate_type(x: ArrayType, ufunc: str, axis: int, dtype: Any = None) -> ArrayType:
    words = (("axis", axis), ("dtype", dtype))
    return ArrayType(x.shape, result_dtype(ufunc, "accumulate", ((x.dtype, x.ndim),), words))


def _accumulate_source(types: Any, ufunc: str, axis: int, dtype: Any = None) -> str:
    keywords = "" if dtype is None else f", dtype={literal(dtype)}"
    return f"np.{ufunc}.accumulate({{0}}, {axis}{keywords})"


def _forward(a: Any, s: Any, axis: int) -> Any:
    """The solution of t[k] = s[k] + a[k - 1] * t[k - 1]."""
    return np.flip(recurrence(np.flip(a, axis), np.flip(s, axis), axis), axis)


def _runs(x: Any, y: Any, axis: int) -> tuple[Any, Any, Any]:
    """Of a running extremum, as numbers: where x is the extremum, where it stays what it was, and
    how many elements have been equal to it by then."""
    dtype = with_room(y).dtype
    chosen = cast(x == y, dtype)
    same = cast(y[along(axis, slice(1, None))] == y[along(axis, slice(-1))], dtype)
    return chosen, same, _forward(same, chosen, axis)


def _accumulate_vjp(g: Any, y: Any, x: Any, ufunc: str, axis: int, dtype: Any = None) -> Any:
    x = x if x.dtype == y.dtype else cast(x, y.dtype)
    if ufunc in EXTREMA:
        chosen, same, ties = _runs(x, y, axis)
        return chosen * recurrence(same, g / ties, axis)
    x, y = with_room(x), with_room(y)
    before, here = steps(ufunc, x, y, axis)
    return recurrence(before, g, axis) * after_one(here, y, axis)


def _accumulate_jvp(v: Any, y: Any, x: Any, ufunc: str, axis: int, dtype: Any = None) -> Any:
    x = x if x.dtype == y.dtype else cast(x, y.dtype)
    if ufunc in EXTREMA:
        chosen, same, ties = _runs(x, y, axis)
        return _forward(same, chosen * v, axis) / ties
    x, y = with_room(x), with_room(y)
    before, here = steps(ufunc, x, y, axis)
    return _forward(before, after_one(here, y, axis) * v, axis)


_ACCUMULATE: dict[str, Any] = {"infer": _accumulate_type, "source": _accumulate_source}
accumulate = defop(
    name="accumulate",
    vjp=_accumulate_vjp,
    jvp=_accumulate_jvp,
    batch=along_axis("accumulate"),
    **_ACCUMULATE,
    axes=axes.along,
)
accumulate_discrete = defop(
    name="accumulate_discrete",
    vjp=(),
    batch=along_axis("accumulate_discrete"),
    **_ACCUMULATE,
    axes=axes.along,
)


def one_axis(x: Any, axis: Any, method: str) -> int:
    """The axis of a method that takes one alone."""
    if np.ndim(x) == 0:
        raise TypeError(f"cannot {method} on a scalar")
    axes = tuple(range(np.ndim(x))) if axis is None else axis
    axes = axes if isinstance(axes, tuple) else (axes,)
    if len(axes) != 1:
        raise ValueError(f"{method} does not allow multiple axes")
    return strict_axis(axes[0], np.ndim(x))


def accumulate_call(ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """ufunc.accumulate; by the op made for it where there is one."""
    name = ufunc.__name__
    x = as_array(array)
    k = one_axis(x, axis, "accumulate")
    if name in ("add", "multiply"):
        return (np.cumsum if name == "add" else np.cumprod)(x, axis=k, dtype=dtype)
    params = {"ufunc": name, "axis": k} | loop_dtype(name, "accumulate", x, dtype)
    return (accumulate_discrete if is_discrete(name) else accumulate)(x, **params)
