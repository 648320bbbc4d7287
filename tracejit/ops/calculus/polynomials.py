"""Polynomials by their coefficients, the highest first.

NumPy leaves out leading coefficients that are zero where it multiplies and where it looks for
roots, so the shape of its result depends on the data. Here it does not: a zero that turns up there
raises when the code runs. The warning of `polyfit` about its rank is not given.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import as_array, cast, is_recorded, size_of
from tracejit.ops.base.op import Op, answer, composite, defop
from tracejit.ops.shapes.joining import at_least

# Values and their matrix


def _vander_call(
    x: Any, N: int | None = None, increasing: bool = False
) -> tuple[tuple[Any], dict[str, Any]]:
    if np.ndim(x) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = np.shape(x)[0] if N is None else size_of(N)
    if columns < 0:
        raise ValueError("negative dimensions are not allowed")
    return (x,), {"columns": columns} | ({"increasing": True} if increasing else {})


def _vander_type(x: ArrayType, columns: int, increasing: bool = False) -> ArrayType:
    return ArrayType((x.shape[0], columns), np.promote_types(x.dtype, int))


def _vander_slopes(y: Any, increasing: bool) -> Any:
    """The derivative of each power by x, but for that of the constant ones."""
    columns = y.shape[1]
    powers = np.arange(1, columns) if increasing else np.arange(columns - 1, 0, -1)
    return powers.astype(y.dtype) * (y[:, :-1] if increasing else y[:, 1:])


def _without_ones(v: Any, increasing: bool) -> Any:
    return v[:, 1:] if increasing else v[:, :-1]


def _batched_vander(moved: Moved, x: Any, columns: int, increasing: bool = False) -> Any:
    """The places of all elements in one matrix."""
    powers = vander(np.reshape(x, x.size), columns=columns, increasing=increasing)
    return np.reshape(powers, (*x.shape, columns))


vander: Op = defop(
    np.vander,
    canonical=_vander_call,
    infer=_vander_type,
    vjp=lambda g, y, x, columns, increasing=False: np.sum(
        _without_ones(g, increasing) * _vander_slopes(y, increasing), axis=1
    ),
    batch=_batched_vander,
    source=lambda types, columns, increasing=False: (
        f"np.vander({{0}}, {columns}{', increasing=True' if increasing else ''})"
    ),
    cost=lambda x, columns, increasing=False: 2 * x.size * columns,
    axes="a->a_",
)


# Arithmetic


def _vector(p: Any) -> Any:
    if type(p) is np.poly1d:
        raise TypeError("an np.poly1d together with recorded coefficients is not supported")
    p = at_least(1, as_array(p))
    return p if is_recorded(p) else np.asarray(p)


without_leading_zeros = defop(
    name="without_leading_zeros",
    infer=lambda p: p,
    vjp=lambda g, y, p: g,
    linear_in=(0,),
    source=lambda types: f"np.reshape(np.trim_zeros({{0}}, 'f'), {types[0].size})",
    view_of=0,
    assumes_shape=True,
)


def _trimmed(p: Any) -> Any:
    """A polynomial as np.poly1d has it."""
    p = _vector(p)
    if np.ndim(p) != 1:
        raise ValueError("Polynomial must be 1d only.")
    if is_recorded(p):
        return without_leading_zeros(p) if p.shape[0] > 1 else p
    trimmed = np.trim_zeros(p, trim="f")
    return trimmed if len(trimmed) else np.zeros(1, p.dtype)


@composite(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials."""
    return np.convolve(_trimmed(a1), _trimmed(a2))


def _refuse_division(u: Any, v: Any) -> NoReturn:
    raise TypeError(
        "NumPy leaves out leading coefficients of the remainder that are nearly zero, so its shape "
        "depends on the data"
    )


answer(np.polydiv, _refuse_division)


# Calculus


# Roots


def _roots_type(p: ArrayType) -> ArrayType:
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if p.dtype.kind != "c":
        raise TypeError(
            "the values of real coefficients decide if the roots are real; pass p.astype(complex)"
        )
    size = max(p.size - 1, 0)
    return ArrayType((size,), p.dtype if size else np.dtype(np.float64))


def _shares(r: Any, p: Any) -> Any:
    """The derivative of each root by each coefficient."""
    count = p.shape[0]
    powers = np.vander(r, count)
    slopes = np.polyval(np.polyder(p), r)
    return -(powers / slopes[:, None])


roots = defop(
    np.roots,
    canonical=lambda p: ((p,), {}),
    infer=_roots_type,
    vjp=lambda g, r, p: g @ _shares(r, p),
    source=lambda types: f"np.reshape(np.roots({{0}}), {max(types[0].size - 1, 0)})",
    assumes_shape=True,
    cost=lambda p: 25 * p.size**3,
)


@composite(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The polynomial of real roots."""
    zeros = _vector(seq_of_zeros)
    if np.ndim(zeros) != 1:
        raise TypeError(
            "the characteristic polynomial is made from eigenvalues, and the data decide if those "
            "are real"
        )
    if zeros.dtype.kind == "c":
        raise TypeError("the data decide if the coefficients of complex roots are real")
    dtype = np.dtype(np.mintypecode(zeros.dtype.char))
    zeros = zeros if zeros.dtype == dtype else cast(zeros, dtype)
    product = np.ones(1, dtype)
    factors = np.stack((np.ones_like(zeros), -zeros), axis=1)
    for k in range(np.shape(zeros)[0]):
        product = np.convolve(product, factors[k])
    return product if np.shape(zeros)[0] else 1.0


# Fitting


@composite(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False
) -> Any:
    """The polynomial of degree `deg` that comes nearest to the points in the least-squares
    sense."""
    order = int(deg) + 1
    x, y = as_array(x) + 0.0, as_array(y) + 0.0
    if order < 1:
        raise ValueError("expected deg >= 0")
    if np.ndim(x) != 1:
        raise TypeError("expected 1D vector for x")
    if not np.size(x):
        raise TypeError("expected non-empty vector for x")
    if not 1 <= np.ndim(y) <= 2:
        raise TypeError("expected 1D or 2D array for y")
    if np.shape(x)[0] != np.shape(y)[0]:
        raise TypeError("expected x and y to have same length")
    limit = np.shape(x)[0] * np.finfo(x.dtype).eps if rcond is None else rcond
    lhs, rhs = np.vander(x, order), y
    if w is not None:
        w = as_array(w) + 0.0
        if np.ndim(w) != 1:
            raise TypeError("expected a 1-d array for weights")
        if np.shape(w)[0] != np.shape(y)[0]:
            raise TypeError("expected w and y to have the same length")
        lhs = _in_place(lhs, lhs * w[:, None])
        rhs = _in_place(rhs, rhs * (w[:, None] if np.ndim(rhs) == 2 else w))
    scale = np.sqrt(np.sum(lhs * lhs, axis=0))
    lhs = lhs / scale
    c, residuals, rank, values = np.linalg.lstsq(lhs, rhs, limit)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, values, limit
    if not cov:
        return c
    base = np.linalg.inv(np.dot(lhs.T, lhs)) / np.outer(scale, scale)
    if cov == "unscaled":
        factor: Any = 1
    elif np.shape(x)[0] <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance")
    else:
        factor = residuals / (np.shape(x)[0] - order)
    return c, (base if np.ndim(y) == 1 else base[:, :, None]) * factor


def _in_place(before: Any, after: Any) -> Any:
    """The result that NumPy would write over the array `before`."""
    return after if after.dtype == before.dtype else cast(after, before.dtype)
