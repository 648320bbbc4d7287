"""scipy.linalg: systems whose matrix is banded, Toeplitz or circulant.

Numbers that SciPy reads have a gradient; corners of a band that it does not read have none. One
system of one matrix, not stacks of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import Op, answer
from tracejit.ops.linalg.products import check_sizes, conj
from tracejit.ops.scipy.base.calls import checked, linalg_op
from tracejit.ops.scipy.linear_algebra.structured import circulant

_RAISED = np.array([[0], [1], [0]], np.int8)
_FIRST = np.array([1, 0], np.int8)


def _solved(size: int, b: ArrayType) -> Shape:
    if b.ndim not in (1, 2):
        raise TypeError("stacks of matrices are not supported")
    check_sizes(b, b, b.shape[0], size)
    return b.shape


def _columns(x: Any) -> Any:
    return np.expand_dims(x, -1) if x.ndim == 1 else x


def _outer(g: Any, x: Any) -> Any:
    """g x^T, summed over columns."""
    return _columns(g) @ _columns(x).T


# Banded matrices: a[i, j] stands at ab[upper + i - j, j]


def _band(rows: int, size: int, upper: int) -> tuple[Any, Any, Any]:
    """Row and column of each place of a band, and whether it is one of the matrix."""
    columns = np.broadcast_to(np.arange(size), (rows, size))
    places = columns + np.arange(rows)[:, None] - upper
    inside = (places >= 0) & (places < size)
    return np.clip(places, 0, size - 1), columns, inside


def _transposed(ab: Any, lower: int) -> Any:
    """The band of the transposed matrix, whose upper diagonals are `lower` ones of the matrix."""
    row, _, inside = _band(ab.shape[0], ab.shape[1], lower)
    return np.where(inside, np.take_along_axis(ab[::-1], row, axis=1), 0)


def _outer_band(g: Any, x: Any, rows: int, upper: int) -> Any:
    """The band of g x^T, summed over columns."""
    row, _, inside = _band(rows, x.shape[0], upper)
    products = g[row] * x
    total = products if x.ndim == 1 else np.sum(products, axis=-1)
    return np.where(inside, total, 0)


def _product(ab: Any, x: Any, lower: int) -> Any:
    """The product of the matrix with vectors."""
    row, _, _ = _band(ab.shape[0], ab.shape[1], lower)
    band = _transposed(ab, lower)
    return np.sum((band if x.ndim == 1 else band[..., None]) * x[row], axis=0)


def _banded_shape(ab: ArrayType, b: ArrayType, lower: int, upper: int, **rest: Any) -> Shape:
    if ab.ndim != 2 or lower + upper + 1 != ab.shape[0]:
        raise ValueError(
            f"l + u + 1 is {lower + upper + 1}, and ab has {ab.shape[0]} rows; the two must be "
            f"equal"
        )
    return _solved(ab.shape[-1], b)


def _banded_adjoint(g: Any, ab: Any, lower: int, upper: int) -> Any:
    """The solution of the transposed system, whose band is the other way round."""
    return solve_banded(_transposed(ab, lower), g, lower=upper, upper=lower)


def _columns_of_all(moved: Moved, ab: Any, b: Any, **params: Any) -> Any:
    """Right sides of a batch as columns of one system."""
    if moved[0] or not b.size:
        return NotImplemented
    columns = np.moveaxis(b, 0, -1)
    flat = np.reshape(columns, (columns.shape[0], -1))
    return np.moveaxis(np.reshape(solve_banded(ab, flat, **params), columns.shape), -1, 0)


solve_banded: Op = linalg_op(
    sl.solve_banded,
    operands=("ab", "b"),
    places="({lower}, {upper}), {0}, {1}",
    shape=_banded_shape,
    vjp=(
        lambda g, x, ab, b, lower, upper, **rest: (
            -_outer_band(_banded_adjoint(g, ab, lower, upper), x, ab.shape[0], upper)
        ),
        lambda g, x, ab, b, lower, upper, **rest: _banded_adjoint(g, ab, lower, upper),
    ),
    jvp=(
        lambda v, x, ab, b, lower, upper, **rest: (
            -solve_banded(ab, _product(v, x, lower), lower=lower, upper=upper)
        ),
        None,
    ),
    linear_in=(1,),
    batch=_columns_of_all,
    probe=lambda ab, b, **params: sl.solve_banded((1, 1), np.ones((3, 2), ab.dtype) + _RAISED, b),
    handles=False,
    axes=axes.sides,
)


def _solve_banded_call(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    params = checked(check_finite, overwrite_ab=overwrite_ab, overwrite_b=overwrite_b)
    lower, upper = map(int, l_and_u)
    return solve_banded(as_array(ab), as_array(b), lower=lower, upper=upper, **params)


answer(sl.solve_banded, _solve_banded_call)


def _half_band(g: Any, x: Any, rows: int, lower: bool) -> Any:
    """Half the band of the cotangent g x^T of the symmetric matrix that the half band stands
    for."""
    upper = 0 if lower else rows - 1
    both = _outer_band(g, x, rows, upper) + _outer_band(x, g, rows, upper)
    return both * np.where(np.arange(rows)[:, None] == upper, 0.5, 1.0).astype(both.dtype)


def _real_band(ab: ArrayType, b: ArrayType, lower: bool = False, **rest: Any) -> Shape:
    if "c" in (ab.dtype.kind, b.dtype.kind):
        raise TypeError("complex matrices are not supported")
    return _solved(ab.shape[-1], b)


solveh_banded: Op = linalg_op(
    sl.solveh_banded,
    operands=("ab", "b"),
    keywords=("lower",),
    shape=_real_band,
    vjp=(
        lambda g, x, ab, b, lower=False, **rest: (
            -_half_band(solveh_banded(ab, g, lower=lower), x, ab.shape[0], lower)
        ),
        lambda g, x, ab, b, lower=False, **rest: solveh_banded(ab, g, lower=lower),
    ),
    linear_in=(1,),
    probe=lambda ab, b, **params: sl.solveh_banded(np.ones((1, 2), ab.dtype), b),
    axes=axes.sides,
)

# Toeplitz matrices


def _diagonals(matrix: Any) -> Any:
    """The sums along the diagonals of a square matrix, from the upper right to the lower left."""
    size = matrix.shape[0]
    padded = np.concatenate([matrix[:, ::-1], np.zeros_like(matrix)], axis=1)
    return np.sum(np.reshape(np.ravel(padded)[:-size], (size, 2 * size - 1)), axis=0)


def _toeplitz_shape(c: ArrayType, r: ArrayType, b: ArrayType, **rest: Any) -> Shape:
    if c.ndim != 1 or r.shape != c.shape:
        raise TypeError(f"c and r of shapes {c.shape} and {r.shape} are not supported")
    return _solved(c.shape[0], b)


def _toeplitz_adjoint(g: Any, c: Any, r: Any) -> Any:
    """The solution of the transposed system; the corner is in c."""
    return solve_toeplitz(np.concatenate([c[:1], r[1:]]), c, g)


def _toeplitz_sums(g: Any, x: Any, c: Any, r: Any) -> Any:
    return -_diagonals(_outer(_toeplitz_adjoint(g, c, r), x))


def _without_corner(sums: Any) -> Any:
    size = sums.shape[0]
    return np.concatenate([np.zeros_like(sums[:1]), sums[: size // 2][::-1]])


solve_toeplitz: Op = linalg_op(
    sl.solve_toeplitz,
    operands=("c_or_cr", "b"),
    places="({0}, {1}), {2}",
    shape=_toeplitz_shape,
    vjp=(
        lambda g, x, c, r, b, **rest: _toeplitz_sums(g, x, c, r)[c.shape[0] - 1 :],
        lambda g, x, c, r, b, **rest: _without_corner(_toeplitz_sums(g, x, c, r)),
        lambda g, x, c, r, b, **rest: _toeplitz_adjoint(g, c, r),
    ),
    linear_in=(2,),
    probe=lambda c, r, b, **params: sl.solve_toeplitz((c + _FIRST, r), b),
    handles=False,
    axes=axes.sides,
)


def _solve_toeplitz_call(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    pair = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    c = as_array(pair[0])
    r = conj(c) if pair[1] is None else as_array(pair[1])
    return solve_toeplitz(c, r, as_array(b), **checked(check_finite))


answer(sl.solve_toeplitz, _solve_toeplitz_call)

# Circulant matrices


def _circulant_shape(c: ArrayType, b: ArrayType) -> Shape:
    if c.ndim != 1:
        raise TypeError("stacks of matrices are not supported")
    return _solved(c.shape[0], b)


def _turned(c: Any) -> Any:
    """The column of the transposed matrix."""
    return np.concatenate([c[:1], c[:0:-1]])


def _circulant_vjp(g: Any, x: Any, c: Any, b: Any) -> Any:
    size = c.shape[0]
    change = _outer(solve_circulant(_turned(c), g), x)
    row = np.arange(size)
    return -np.sum(change[(row[:, None] + row) % size, row], axis=1)


solve_circulant: Op = linalg_op(
    sl.solve_circulant,
    operands=("c", "b"),
    shape=_circulant_shape,
    vjp=(
        _circulant_vjp,
        lambda g, x, c, b: solve_circulant(_turned(c), g),
    ),
    jvp=(lambda v, x, c, b: -solve_circulant(c, circulant(v) @ x), None),
    linear_in=(1,),
    probe=lambda c, b: sl.solve_circulant(c + _FIRST, b),
    axes=axes.sides,
)
