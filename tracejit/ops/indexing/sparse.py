"""Products with sparse matrices of SciPy's: `S @ x`, `x @ S`, and with `S.T`.

The matrix is the first operand, a handle: an argument of the kernel that is SciPy's object, not an
array. Its numbers are read at each call. It has no derivative; the product is linear in the other
operand, and its adjoint is the product with the transpose.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.ir.types import WEAK_TYPES, ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.op import Op, defop


@lru_cache(256)
def product_dtype(matrix: str, x: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a product, as SciPy has it."""
    sparse = sys.modules["scipy.sparse"]
    dtype: np.dtype[Any] = (sparse.csr_array((1, 1), dtype=matrix) @ np.zeros(1, x)).dtype
    return dtype


def _product_type(
    handle: ArrayType, x: ArrayType, left: bool, transposed: bool, shape: Shape, dtype: str
) -> ArrayType:
    rows, columns = shape[::-1] if transposed else shape
    if x.ndim not in (1, 2):
        raise ValueError(
            f"a sparse matrix multiplies vectors and matrices, not {x.ndim} dimensions"
        )
    inner, outer = (columns, rows) if left else (rows, columns)
    if x.shape[0 if left else -1] != inner:
        pair = (shape[::-1] if transposed else shape), x.shape
        raise ValueError(f"matmul: dimension mismatch of {pair[not left]} and {pair[left]}")
    kind = product_dtype(dtype, x.dtype)
    return ArrayType((outer, *x.shape[1:]) if left else (*x.shape[:-1], outer), kind)


def _source(types: Sequence[ArrayType], left: bool, transposed: bool, **params: Any) -> str:
    matrix = "{0}.T" if transposed else "{0}"
    return f"{matrix} @ {{1}}" if left else f"{{1}} @ {matrix}"


def _rule(g: Any, y: Any, handle: Any, x: Any, transposed: bool, **params: Any) -> Any:
    return sparse_product(handle, g, transposed=not transposed, **params)


def _batched(moved: Moved, handle: Any, x: Any, left: bool, transposed: bool, **params: Any) -> Any:
    if moved[0] or not x.size:
        return NotImplemented
    if x.ndim == 2 and left:
        left, transposed = False, not transposed
    if x.ndim == 2:
        return sparse_product(handle, x, left=left, transposed=transposed, **params)
    size, rows, columns = x.shape
    if left:
        joined = np.reshape(np.moveaxis(x, 0, 1), (rows, size * columns))
        found = sparse_product(handle, joined, left=left, transposed=transposed, **params)
        return np.moveaxis(np.reshape(found, (found.shape[0], size, columns)), 1, 0)
    joined = np.reshape(x, (size * rows, columns))
    found = sparse_product(handle, joined, left=left, transposed=transposed, **params)
    return np.reshape(found, (size, rows, found.shape[1]))


def _product_axes(types: Sequence[ArrayType], left: bool, **params: Any) -> str:
    """The axis of a matrix that the sparse one does not mix."""
    letters = axes.mixed(axes.letters_of(types[1]), 0 if left else -1)
    return axes.text_of(["", letters], letters)


sparse_product: Op = defop(
    name="sparse_product",
    infer=_product_type,
    vjp=(None, _rule),
    jvp="linear",
    batch=_batched,
    source=_source,
    cost=lambda handle, x, **params: 16 * x.estimated_size,
    axes=_product_axes,
)
matrix_part: Op = defop(
    name="matrix_part",
    infer=lambda handle, name, size, dtype: ArrayType((size,), np.dtype(dtype)),
    vjp=(),
    source=lambda types, name, size, dtype: f"{{0}}.{name}",
)
"""A part of a sparse matrix, such as its indices, of a size that is asked for before."""
matrix_size: Op = defop(
    name="matrix_size",
    infer=lambda handle, name: WEAK_TYPES[int],
    vjp=(),
    source=lambda types, name: f"{{0}}.{name}.size",
)
"""The number of numbers that a sparse matrix keeps as its data, of that name."""
matrix_view: Op = defop(
    name="matrix_view",
    infer=lambda part: part,
    vjp=lambda g, y, part: g,
    jvp="linear",
    batch=lambda moved, part: part,
    source="{0}",
    view_of=0,
    cost=lambda part: 0,
    elements="same",
    order="kept",
)
"""A part of a sparse matrix as the user sees it, who may not write to it."""
