"""The same elements in another shape, order or dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.infer import normalize_axes
from tracejit.ops.op import answer, defop


answer(np.ndim, lambda a: len(a.shape))
answer(np.shape, lambda a: a.shape)
answer(np.size, lambda a, axis=None: math.prod(a.shape) if axis is None else a.shape[axis])


def _reshape_call(
    a: Any, shape: Any, order: str = "C", *, copy: Any = None
) -> tuple[tuple[Any], dict[str, Any]]:
    if order != "C":
        raise TypeError(f"order={order!r} is not supported")
    target = [int(size) for size in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    if target.count(-1) == 1:
        rest = -math.prod(target)
        target[target.index(-1)] = np.size(a) // rest if rest else 0
    if math.prod(target) != np.size(a):
        raise ValueError(f"cannot reshape array of size {np.size(a)} into shape {tuple(target)}")
    return (a,), {"shape": tuple(target)}


reshape = defop(
    np.reshape,
    canonical=_reshape_call,
    infer=lambda x, shape: ArrayType(shape, x.dtype),
    vjp=lambda g, y, x, shape: np.reshape(g, x.shape),
    jvp="linear",
    source="{0}.reshape({shape})",
    alias=0,
)
broadcast_to = defop(
    np.broadcast_to,
    canonical=lambda array, shape: ((array,), {"shape": tuple(shape)}),
    infer=lambda x, shape: ArrayType(shape, x.dtype),
    vjp=lambda g, y, x, shape: g,
    jvp="linear",
    source="np.broadcast_to({0}, {shape})",
    alias=0,
)
expand_dims = defop(
    np.expand_dims,
    canonical=lambda a, axis: (
        (a,),
        {"axis": normalize_axes(axis, np.ndim(a) + (len(axis) if isinstance(axis, tuple) else 1))},
    ),
    infer=lambda x, axis: ArrayType(_with_ones(x.shape, axis), x.dtype),
    vjp=lambda g, y, x, axis: np.squeeze(g, axis),
    jvp="linear",
    source="np.expand_dims({0}, {axis})",
    alias=0,
)
squeeze = defop(
    np.squeeze,
    canonical=lambda a, axis=None: ((a,), {"axis": _unit_axes(a, axis)}),
    infer=lambda x, axis: ArrayType(
        tuple(n for k, n in enumerate(x.shape) if k not in axis), x.dtype
    ),
    vjp=lambda g, y, x, axis: np.expand_dims(g, axis),
    jvp="linear",
    source="np.squeeze({0}, {axis})",
    alias=0,
)
astype = defop(
    np.astype,
    canonical=lambda x, dtype: ((x,), {"dtype": np.dtype(dtype)}),
    infer=lambda x, dtype: ArrayType(x.shape, dtype, "scalar" if x.form == "scalar" else "array"),
    vjp=lambda g, y, x, dtype: g,
    jvp="linear",
    source="{0}.astype({dtype})",
)


def _with_ones(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    sizes = iter(shape)
    return tuple(1 if k in axes else next(sizes) for k in range(len(shape) + len(axes)))


def _unit_axes(a: Any, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(k for k, size in enumerate(np.shape(a)) if size == 1)
    axes = normalize_axes(axis, np.ndim(a))
    if any(np.shape(a)[k] != 1 for k in axes):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one"
        )
    return axes
