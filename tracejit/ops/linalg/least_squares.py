"""numpy.linalg: least squares, pseudo-inverses, ranks and condition numbers.

`pinv` and `lstsq` have a derivative where the rank is the same all around the matrix, and there it
is right. The residuals of `lstsq` are an empty array where the rank is deficient, which only the
data can tell: their use raises there, when the code runs.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tracejit.ir.types import ArrayType, type_of
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import as_array, known
from tracejit.ops.base.infer import answered
from tracejit.ops.base.op import Op, answer, defop
from tracejit.ops.linalg.factorizations import hermitian as hermitian_of
from tracejit.ops.linalg.factorizations import reduced_svd, singular_values_vjp
from tracejit.ops.linalg.linalg import (
    check_matrix,
    check_square,
    each,
    linalg_dtype,
    of_matrices,
    real_dtype,
    times_cubic,
)
from tracejit.ops.linalg.products import array_or_scalar, conj
from tracejit.ops.linalg.triangles import lower_half

Call = tuple[tuple[Any, ...], dict[str, Any]]


def _number(limit: Any, name: str) -> float:
    limit = np.asarray(known(limit, name))
    if limit.ndim:
        raise TypeError(f"an array as {name} is not supported")
    return float(limit)


# Pseudo-inverse


NO_VALUE: Any = inspect.signature(np.linalg.pinv).parameters["rtol"].default


def _pinv_call(
    a: Any, rcond: float | None = None, hermitian: bool = False, *, rtol: Any = NO_VALUE
) -> Call:
    """pinv by singular values; `rtol` is another name of `rcond`, but None means another limit."""
    if rcond is not None and rtol is not NO_VALUE:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    limit = rcond if rtol is NO_VALUE else rtol
    if rtol is None:
        limit = max(np.shape(a)[-2:]) * float(np.finfo(a.dtype).eps)
    params = {} if limit is None else {"rcond": _number(limit, "rcond")}
    return (a,), params | ({"hermitian": True} if hermitian else {})


def _pinv_type(a: ArrayType, rcond: float | None = None, hermitian: bool = False) -> ArrayType:
    check_matrix(a)
    dtype = linalg_dtype(a) if 0 not in a.shape[-2:] else a.dtype
    return ArrayType((*a.shape[:-2], a.shape[-1], a.shape[-2]), dtype)


def _pinv_vjp(g: Any, p: Any, a: Any, rcond: float | None = None, hermitian: bool = False) -> Any:
    """Golub and Pereyra, The differentiation of pseudo-inverses (1973), (4.12), transposed."""
    if hermitian:
        change = _pinv_vjp(g, p, hermitian_of(a))
        return lower_half(change + conj(change).mT)
    adjoint = conj(p).mT
    left = g.mT @ p @ adjoint
    right = adjoint @ p @ g.mT
    left = left - a @ (p @ left)
    right = right - (right @ p) @ a
    return conj(left + right - adjoint @ conj(g) @ adjoint)


def _pinv_jvp(v: Any, p: Any, a: Any, rcond: float | None = None, hermitian: bool = False) -> Any:
    if hermitian:
        return _pinv_jvp(hermitian_of(v), p, hermitian_of(a))
    adjoint = conj(p).mT
    left = p @ adjoint @ conj(v).mT
    right = conj(v).mT @ adjoint @ p
    left = left - (left @ a) @ p
    right = right - p @ (a @ right)
    return left + right - p @ v @ p


def _pinv_source(types: Any, rcond: float | None = None, hermitian: bool = False) -> str:
    arguments = ["{0}"] + ["{rcond}"] * (rcond is not None) + ["hermitian=True"] * hermitian
    return f"np.linalg.pinv({', '.join(arguments)})"


pinv = of_matrices(
    np.linalg.pinv,
    canonical=_pinv_call,
    infer=_pinv_type,
    vjp=_pinv_vjp,
    jvp=_pinv_jvp,
    source=_pinv_source,
    cost=times_cubic(10),
    factorization="svd",
)


# Least squares


def _lstsq_type(a: ArrayType, b: ArrayType, rcond: float | None) -> tuple[ArrayType, ...]:
    for array in (a, ArrayType((*b.shape, 1), b.dtype) if b.ndim == 1 else b):
        if array.ndim != 2:
            raise LinAlgError(
                f"{array.ndim}-dimensional array given. Array must be two-dimensional"
            )
    rows, columns = a.shape
    if b.shape[0] != rows:
        raise LinAlgError("Incompatible dimensions")
    dtype = linalg_dtype(a, b)
    count = math.prod(b.shape[1:]) if rows > columns else 0
    return (
        ArrayType((columns, *b.shape[1:]), dtype),
        ArrayType((count,), real_dtype(dtype)),
        _RANK,
        ArrayType((min(rows, columns),), real_dtype(dtype)),
    )


_RANK: Any = type_of(np.linalg.lstsq(np.eye(1), np.ones(1))[2])


def _limit(a: Any, rcond: float | None) -> float:
    """The number that NumPy makes of rcond."""
    if rcond is None:
        return float(np.finfo(np.float64).eps) * int(max(a.shape))
    return rcond if rcond >= 0 else 2.0**-53


def _columns(x: Any) -> Any:
    """A vector as a matrix of one column."""
    return np.expand_dims(x, -1) if x.ndim == 1 else x


def _lstsq_vjp(wanted: int, g: Any, y: Any, a: Any, b: Any, rcond: float | None) -> Any:
    """The cotangent of the matrix (0) or of the right side (1)."""
    g_x, g_residuals, _, g_values = g
    parts = []
    if g_x is not None:
        p = np.linalg.pinv(a, _limit(a, rcond))
        if wanted:
            parts.append(p.mT @ g_x)
        else:
            parts.append(_pinv_vjp(_columns(g_x) @ _columns(b).mT, p, a))
    if g_residuals is not None and y[1].size:
        slope = 2.0 * g_residuals * conj(_columns(b - a @ y[0]))
        if wanted:
            parts.append(np.reshape(slope, b.shape))
        else:
            parts.append(-(slope @ _columns(y[0]).mT))
    if g_values is not None and not wanted:
        parts.append(singular_values_vjp(g_values, *reduced_svd(a)[::2]))
    return sum(parts[1:], start=parts[0]) if parts else None


def _batched_lstsq(moved: Moved, a: Any, b: Any, rcond: float | None) -> Any:
    """With one matrix, all right sides at once."""
    if moved[0]:
        return NotImplemented
    size, rows, *columns = b.shape
    sides = np.reshape(np.moveaxis(b, 0, 1), (rows, math.prod((size, *columns))))
    x, residuals, rank, values = lstsq(a, sides, rcond=rcond)
    count = math.prod(columns) if rows > a.shape[1] else 0
    return (
        np.moveaxis(np.reshape(x, (a.shape[1], size, *columns)), 1, 0),
        np.reshape(residuals, (size, count)),
        np.broadcast_to(rank, (size,)),
        np.broadcast_to(values, (size, *values.shape)),
    )


lstsq: Op = defop(
    name="lstsq",
    infer=_lstsq_type,
    vjp=(
        lambda g, y, a, b, rcond: _lstsq_vjp(0, g, y, a, b, rcond),
        lambda g, y, a, b, rcond: _lstsq_vjp(1, g, y, a, b, rcond),
    ),
    linear_in=(1,),
    batch=_batched_lstsq,
    source=lambda types, rcond: (
        "np.linalg.lstsq({0}, {1})" if rcond is None else "np.linalg.lstsq({0}, {1}, {rcond})"
    ),
    cost=times_cubic(10),
    factorization="svd",
    axes=lambda types, rcond: f"__,{'_' * types[1].ndim}->{'_' * types[1].ndim},_,,_",
)
of_full_rank = defop(
    name="residuals_of_full_rank",
    infer=lambda residuals: residuals,
    vjp=lambda g, y, residuals: g,
    linear_in=(0,),
    source=lambda types: f"np.reshape({{0}}, {types[0].size})",
    view_of=0,
    assumes_shape=True,
    axes="...->...",
)


def _lstsq_call(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    limit = None if rcond is None else _number(rcond, "rcond")
    x, residuals, rank, values = lstsq(as_array(a), as_array(b), rcond=limit)
    return x, of_full_rank(residuals) if residuals.size else residuals, rank, values


answer(np.linalg.lstsq, _lstsq_call)


# Ranks


def _rank_call(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Call:
    if np.ndim(A) < 2:
        raise TypeError("the rank of a vector is a Python number, which needs the data")
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    params: dict[str, Any] = {"hermitian": True} if hermitian else {}
    for name, limit in (("tol", tol), ("rtol", rtol)):
        if limit is not None:
            params[name] = _number(limit, name)
    return (A,), params


def _rank_type(a: ArrayType, **params: Any) -> ArrayType:
    linalg_dtype(a)
    return array_or_scalar(a.shape[:-2], np.dtype(np.intp))


def _rank_source(types: Any, **params: Any) -> str:
    return f"np.linalg.matrix_rank({', '.join(['{0}', *(f'{k}={{{k}}}' for k in params)])})"


matrix_rank = of_matrices(
    np.linalg.matrix_rank,
    canonical=_rank_call,
    infer=_rank_type,
    vjp=(),
    source=_rank_source,
    cost=times_cubic(10),
    factorization="svd",
    axes="...__->...",
)


# Condition numbers


_ORDERS = (None, 2, -2, "fro", "nuc", 1, -1, math.inf, -math.inf)


def _cond_call(x: Any, p: Any = None) -> Call:
    if p not in _ORDERS:
        raise ValueError("Invalid norm order for matrices.")
    return (x,), {} if p is None or p == 2 else {"p": p if isinstance(p, str) else float(p)}


def _cond_type(x: ArrayType, p: Any = 2) -> ArrayType:
    if not x.size and not math.prod(x.shape[-2:]):
        raise LinAlgError("cond is not defined on empty arrays")
    (check_matrix if p in (2, -2) else check_square)(x)
    one = ArrayType((1, 1), linalg_dtype(x))
    return array_or_scalar(x.shape[:-2], answered(np.linalg.cond, one, p=p).dtype)


def _norm_slope(x: Any, p: Any) -> tuple[Any, Any]:
    """A norm of matrices, and its derivative."""
    if p == "nuc":
        u, s, vh = reduced_svd(x)
        return np.sum(s, axis=-1), conj(u @ vh)
    if p == "fro":
        total = np.linalg.norm(x, axis=(-2, -1))
        return total, conj(x) / each(total)
    sums = np.sum(np.abs(x), axis=-2 if abs(p) == 1 else -1, keepdims=True)
    total = (np.max if p > 0 else np.min)(sums, axis=(-2, -1), keepdims=True)
    chosen = sums == total
    ties = np.sum(chosen, axis=(-2, -1), dtype=sums.dtype, keepdims=True)
    return np.squeeze(total, (-2, -1)), np.sign(conj(x)) * (chosen / ties)


def _cond_slope(y: Any, x: Any, p: Any) -> Any:
    """The derivative by the elements of x."""
    x = x if x.dtype.kind in "fc" else x.astype(y.dtype)
    if p in (2, -2):
        u, s, vh = reduced_svd(x)
        first = np.ones_like(s[..., :1]) / s[..., :1]
        last = np.ones_like(s[..., :1]) / s[..., -1:]
        zeros = [np.zeros_like(s[..., 2:])] if s.shape[-1] > 2 else []
        if s.shape[-1] == 1:
            return np.zeros_like(x)
        weights = np.concatenate([first, *zeros, -last], axis=-1)
        weights = weights * (np.expand_dims(y, -1) if y.ndim else y)
        return singular_values_vjp(weights if p == 2 else -weights, u, vh)
    inverse = np.linalg.inv(x)
    total, slope = _norm_slope(x, p)
    other, inverse_slope = _norm_slope(inverse, p)
    return each(other) * slope - each(total) * (inverse.mT @ inverse_slope @ inverse.mT)


cond = of_matrices(
    np.linalg.cond,
    canonical=_cond_call,
    infer=_cond_type,
    vjp=lambda g, y, x, p=2: each(np.real(g) if g.dtype.kind == "c" else g) * _cond_slope(y, x, p),
    source=lambda types, p=2: (
        "np.linalg.cond({0})" if p == 2 else f"np.linalg.cond({{0}}, {_order_text(p)})"
    ),
    cost=times_cubic(10),
    factorization="svd",
    axes="...__->...",
)


def _order_text(p: Any) -> str:
    if isinstance(p, str):
        return repr(p)
    return f"{'-' * (p < 0)}np.inf" if math.isinf(p) else str(int(p))
