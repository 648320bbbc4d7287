"""Diagonals and triangles of matrices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import filled
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import Op, answer, composite, defop


def _diagonal_call(
    a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1
) -> tuple[tuple[Any], dict[str, Any]]:
    if np.ndim(a) < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    axes = normalize_axis(axis1, np.ndim(a)), normalize_axis(axis2, np.ndim(a))
    if axes[0] == axes[1]:
        raise ValueError("axis1 and axis2 cannot be the same")
    return (a,), {"offset": operator.index(offset), "axis1": axes[0], "axis2": axes[1]}


def _diagonal_size(shape: Shape, offset: int, axis1: int, axis2: int) -> int:
    return max(0, min(shape[axis1] + min(offset, 0), shape[axis2] - max(offset, 0)))


def _diagonal_type(x: ArrayType, offset: int, axis1: int, axis2: int) -> ArrayType:
    others = tuple(size for axis, size in enumerate(x.shape) if axis not in (axis1, axis2))
    return ArrayType((*others, _diagonal_size(x.shape, offset, axis1, axis2)), x.dtype)


def _diagonal_source(types: Sequence[ArrayType], offset: int, axis1: int, axis2: int) -> str:
    if (axis1, axis2) != (0, 1):
        return "{0}.diagonal({offset}, {axis1}, {axis2})"
    return "{0}.diagonal({offset})" if offset else "{0}.diagonal()"


def _on_diagonal(
    types: Sequence[ArrayType], shape: Shape, offset: int, axis1: int, axis2: int
) -> tuple[str, str]:
    count = _diagonal_size(shape, offset, axis1, axis2)
    starts = max(-offset, 0), max(offset, 0)
    rows, columns = (f"np.arange({s}, {s + count})" if s else f"np.arange({count})" for s in starts)
    last = (axis1, axis2) == (len(shape) - 2, len(shape) - 1)
    view = "{out}" if last else f"np.moveaxis({{out}}, {(axis1, axis2)}, (-2, -1))"
    leading = "" if len(shape) == 2 else "..., "
    zeros = filled(shape, 0, types[0].dtype)
    return f"{{out}} = {zeros}", f"{view}[{leading}{rows}, {columns}] = {{0}}"


def _diagonal_batch(moved: Moved, x: Any, offset: int, axis1: int, axis2: int) -> Any:
    return diagonal(x, offset=offset, axis1=axis1 + 1, axis2=axis2 + 1)


def _put_batch(moved: Moved, v: Any, shape: Shape, offset: int, axis1: int, axis2: int) -> Any:
    whole = (v.shape[0], *shape)
    return put_diagonal(v, shape=whole, offset=offset, axis1=axis1 + 1, axis2=axis2 + 1)


def _diag_batch(moved: Moved, v: Any, k: int) -> Any:
    side = v.shape[1] + abs(k)
    return put_diagonal(v, shape=(v.shape[0], side, side), offset=k, axis1=1, axis2=2)


def _diagonal_axes(types: Sequence[ArrayType], offset: int, axis1: int, axis2: int) -> str:
    letters = axes.mixed(axes.letters_of(types[0]), (axis1, axis2))
    others = [letter for k, letter in enumerate(letters) if k not in (axis1, axis2)]
    return axes.text_of([letters], [*others, "_"])


def _put_axes(types: Sequence[ArrayType], shape: Shape, offset: int, axis1: int, axis2: int) -> str:
    letters = axes.mixed(axes.letters_of(ArrayType(tuple(shape), types[0].dtype)), (axis1, axis2))
    others = [letter for k, letter in enumerate(letters) if k not in (axis1, axis2)]
    return axes.text_of([[*others, "_"]], letters)


diagonal: Op = defop(
    np.diagonal,
    canonical=_diagonal_call,
    infer=_diagonal_type,
    vjp=lambda g, y, x, **axes: put_diagonal(g, shape=x.shape, **axes),
    jvp="linear",
    batch=_diagonal_batch,
    source=_diagonal_source,
    view_of=0,
    elements="taken",
    view="read-only",
    axes=_diagonal_axes,
)
put_diagonal: Op = defop(
    name="put_diagonal",
    infer=lambda g, shape, **axes: ArrayType(shape, g.dtype),
    vjp=lambda g, y, v, shape, **axes: diagonal(g, **axes),
    jvp="linear",
    batch=_put_batch,
    statements=_on_diagonal,
    update="put",
    axes=_put_axes,
)
diag = defop(
    name="diag",
    infer=lambda v, k: ArrayType((v.size + abs(k),) * 2, v.dtype),
    vjp=lambda g, y, v, k: np.diagonal(g, k),
    jvp="linear",
    batch=_diag_batch,
    source=lambda types, k: "np.diag({0}, {k})" if k else "np.diag({0})",
    moves=True,
    axes="_->__",
)


def _diag_call(v: Any, k: Any = 0) -> Any:
    if np.ndim(v) == 2:
        return np.diagonal(v, k)
    if np.ndim(v) != 1:
        raise ValueError("Input must be 1- or 2-d.")
    return diag(v, k=operator.index(k))


@composite(np.diagflat)
def diagflat(v: Any, k: Any = 0) -> Any:
    """A matrix with the flattened `v` on its diagonal."""
    return np.diag(np.reshape(v, -1), k)


def _matrix(a: Any) -> tuple[int, int]:
    if np.ndim(a) != 2:
        raise ValueError("input array must be 2-d")
    rows, columns = a.shape
    return rows, columns


def _side(a: Any) -> int:
    if np.ndim(a) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(a.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return int(a.shape[0])


def _triangle_type(m: ArrayType, k: int) -> ArrayType:
    if not m.ndim:
        raise TypeError("an array without axes has no triangle")
    return ArrayType(m.shape if m.ndim > 1 else m.shape * 2, m.dtype)


def _triangle(function: Any) -> Op:
    """The op of np.tril or np.triu."""

    def batch(moved: Moved, m: Any, k: int) -> Any:
        """Of one axis, rows that are all the same."""
        size = m.shape[-1]
        square = np.broadcast_to(m[:, None], (m.shape[0], size, size)) if m.ndim == 2 else m
        return function(square, k)

    call = f"np.{function.__name__}"
    return defop(
        function,
        canonical=lambda m, k=0: ((m,), {"k": operator.index(k)}),
        infer=_triangle_type,
        vjp=lambda g, y, m, k: function(g, k),
        jvp="linear",
        batch=batch,
        source=lambda types, k: call + ("({0}, {k})" if k else "({0})"),
        moves=True,
        axes=lambda types, k: "...__->...__" if types[0].ndim > 1 else "_->__",
    )


tril = _triangle(np.tril)
triu = _triangle(np.triu)
answer(np.diag, _diag_call)
answer(np.linalg.diagonal, lambda x, /, *, offset=0: np.diagonal(x, offset, -2, -1))
answer(np.diag_indices_from, lambda arr: np.diag_indices(_side(arr), np.ndim(arr)))
answer(np.tril_indices_from, lambda arr, k=0: np.tril_indices(_matrix(arr)[0], k, _matrix(arr)[1]))
answer(np.triu_indices_from, lambda arr, k=0: np.triu_indices(_matrix(arr)[0], k, _matrix(arr)[1]))
