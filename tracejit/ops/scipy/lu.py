"""scipy.linalg: LU factors and solving with them; pivots are piecewise constant.

The gradient of the packed factors of `lu_factor` is that of all that stands in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.creation import as_array
from tracejit.ops.linalg import identity_like
from tracejit.ops.op import Op, answer
from tracejit.ops.scipy.calls import checked, linalg_op, matrix
from tracejit.ops.scipy.solvers import in_columns, solve_triangular, solved_shape
from tracejit.support.errors import fail


def _lu_shapes(a: ArrayType, **params: Any) -> list[Shape]:
    *stack, rows, columns = matrix(a)
    size = min(rows, columns)
    order = (*stack, rows) if params.get("p_indices") else (*stack, rows, rows)
    return [order, (*stack, rows, size), (*stack, size, columns)]


def right_quotient(x: Any, u: Any, transposed: bool) -> Any:
    """x u^-1, or x u^-T, of an upper triangular u."""
    return solve_triangular(u, x.mT, trans=0 if transposed else 1).mT


def _lu_cotangent(g_l: Any, g_u: Any, l: Any, u: Any) -> Any:  # noqa: E741
    """The cotangent of l @ u.

    Of a tall matrix the rows below the square ones, of a wide one the columns beside them, are
    what the square factors make of them.
    """
    rows, size, columns = l.shape[-2], l.shape[-1], u.shape[-1]
    g_l = np.zeros_like(l) if g_l is None else g_l
    g_u = np.zeros_like(u) if g_u is None else g_u
    square_l, square_u = l[..., :size, :], u[..., :size]
    below = beside = None
    inner_l, inner_u = g_l[..., :size, :], g_u[..., :size]
    if rows > size:
        below = right_quotient(g_l[..., size:, :], square_u, transposed=True)
        inner_u = inner_u - l[..., size:, :].mT @ below
    if columns > size:
        beside = solve_triangular(
            square_l, g_u[..., size:], trans=1, lower=True, unit_diagonal=True
        )
        inner_l = inner_l - beside @ u[..., size:].mT
    inner = np.tril(square_l.mT @ inner_l, -1) + np.triu(inner_u @ square_u.mT)
    inner = solve_triangular(square_l, inner, trans=1, lower=True, unit_diagonal=True)
    total = right_quotient(inner, square_u, transposed=True)
    if below is not None:
        return np.concatenate([total, below], axis=-2)
    return total if beside is None else np.concatenate([total, beside], axis=-1)


def _lu_tangents(v: Any, l: Any, u: Any) -> tuple[Any, Any]:  # noqa: E741
    """The tangents of the factors for a tangent of l @ u."""
    rows, size, columns = l.shape[-2], l.shape[-1], u.shape[-1]
    square_l, square_u = l[..., :size, :], u[..., :size]
    inner = solve_triangular(square_l, v[..., :size, :size], lower=True, unit_diagonal=True)
    inner = right_quotient(inner, square_u, transposed=False)
    l_dot, u_dot = square_l @ np.tril(inner, -1), np.triu(inner) @ square_u
    if rows > size:
        below = right_quotient(v[..., size:, :] - l[..., size:, :] @ u_dot, square_u, False)
        return np.concatenate([l_dot, below], axis=-2), u_dot
    if columns > size:
        rest = v[..., size:] - l_dot @ u[..., size:]
        beside = solve_triangular(square_l, rest, lower=True, unit_diagonal=True)
        return l_dot, np.concatenate([u_dot, beside], axis=-1)
    return l_dot, u_dot


def _lu_vjp(g: Any, y: Any, a: Any, **params: Any) -> Any:
    (_, g_l, g_u), (p, l, u) = g, y  # noqa: E741
    if params.get("p_indices"):
        raise fail("no-rule", None, op="lu with p_indices=True")
    return None if g_l is None and g_u is None else p @ _lu_cotangent(g_l, g_u, l, u)


def _lu_jvp(v: Any, y: Any, a: Any, **params: Any) -> tuple[Any, Any, Any]:
    p, l, u = y  # noqa: E741
    return (np.zeros_like(p), *_lu_tangents(p.mT @ v, l, u))


lu = linalg_op(
    sl.lu,
    keywords=("p_indices",),
    shape=_lu_shapes,
    vjp=_lu_vjp,
    jvp=_lu_jvp,
)


def _packed(l: Any, u: Any, rows: int, columns: int) -> Any:  # noqa: E741
    """Both factors in one matrix."""
    size = min(rows, columns)
    below = np.tril(l, -1)
    if columns > size:
        wide = np.zeros_like(u[..., size:])
        return np.concatenate([below, wide], axis=-1) + u
    if rows > size:
        tall = np.zeros_like(l[..., size:, :])
        return below + np.concatenate([u, tall], axis=-2)
    return below + u


def _lu_factor_vjp(g: Any, y: Any, a: Any, **params: Any) -> Any:
    if g[0] is None:
        return None
    p, l, u = lu(a)  # noqa: E741
    size = l.shape[-1]
    g_l, g_u = np.tril(g[0], -1)[..., :size], np.triu(g[0])[..., :size, :]
    return p @ _lu_cotangent(g_l, g_u, l, u)


def _lu_factor_jvp(v: Any, y: Any, a: Any, **params: Any) -> tuple[Any, Any]:
    p, l, u = lu(a)  # noqa: E741
    tangents = _lu_tangents(p.mT @ v, l, u)
    return _packed(*tangents, *a.shape[-2:]), np.zeros_like(y[1])


lu_factor = linalg_op(
    sl.lu_factor,
    shape=lambda a, **params: [matrix(a), (*a.shape[:-2], min(a.shape[-2:]))],
    vjp=_lu_factor_vjp,
    jvp=_lu_factor_jvp,
)


def _both_triangles(left: Any, right: Any, packed: Any) -> Any:
    """The cotangent of the packed factors, that of the permuted matrix being -left right^T."""
    lower = np.tril(packed, -1) + identity_like(packed)
    return -np.tril(left @ (np.triu(packed) @ right).mT, -1) - np.triu(lower.mT @ left @ right.mT)


def _lu_solve_moved(g: Any, packed: Any, piv: Any, b: Any, trans: int) -> Any:
    return in_columns(lambda a, rhs: lu_solve(a, piv, rhs, trans=0 if trans else 1), packed, g, b)


def _permuted(packed: Any, x: Any) -> Any:
    """The right factor of the permutation in the solution of the transposed system."""
    inner = solve_triangular(packed, x, trans=1)
    return solve_triangular(packed, inner, trans=1, lower=True, unit_diagonal=True)


def _in_matrix(x: Any, b: Any) -> Any:
    return np.expand_dims(x, -1) if b.ndim == 1 else x


def _lu_solve_vjp(
    g: Any, x: Any, packed: Any, piv: Any, b: Any, trans: int = 0, **rest: Any
) -> Any:
    if trans:
        left = _permuted(packed, _in_matrix(b, b))
        right = _in_matrix(_lu_solve_moved(g, packed, piv, b, trans), b)
    else:
        left, right = _permuted(packed, _in_matrix(g, b)), _in_matrix(x, b)
    return _both_triangles(left, right, packed)


def _lu_solve_jvp(
    v: Any, x: Any, packed: Any, piv: Any, b: Any, trans: int = 0, **rest: Any
) -> Any:
    lower, upper = np.tril(packed, -1) + identity_like(packed), np.triu(packed)
    change = np.tril(v, -1) @ upper + lower @ np.triu(v)  # of the permuted matrix
    if not trans:
        moved = change @ _in_matrix(x, b)
        inner = solve_triangular(packed, moved, lower=True, unit_diagonal=True)
        dot = -solve_triangular(packed, inner)
        return np.squeeze(dot, -1) if b.ndim == 1 else dot
    moved = change.mT @ _permuted(packed, _in_matrix(b, b))
    dot = -lu_solve(packed, piv, moved, trans=1)
    return np.squeeze(dot, -1) if b.ndim == 1 else dot


lu_solve: Op = linalg_op(
    sl.lu_solve,
    operands=("lu_and_piv", "b"),
    places="({0}, {1}), {2}",
    shape=lambda a, piv, b, **params: solved_shape(a, b),
    vjp=(
        _lu_solve_vjp,
        None,
        lambda g, x, a, piv, b, trans=0, **rest: _lu_solve_moved(g, a, piv, b, trans),
    ),
    jvp=(
        _lu_solve_jvp,
        None,
        lambda v, x, a, piv, b, trans=0, **rest: in_columns(
            lambda matrix, rhs: lu_solve(matrix, piv, rhs, trans=trans), a, v, b
        ),
    ),
    probe=lambda a, piv, b, **params: sl.lu_solve((a, 0 * piv), b),
    handles=False,
)


def _lu_solve_call(
    lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    packed, piv = lu_and_piv
    packed, b = as_array(packed), as_array(b)
    params = checked(check_finite, overwrite_b=overwrite_b)
    if trans not in (0, 1, 2):
        raise ValueError("trans has to be 0, 1 or 2")
    if trans == 2 and "c" in (packed.dtype.kind, b.dtype.kind):
        raise TypeError("trans=2 of complex matrices is not supported")
    return lu_solve(packed, as_array(piv), b, **({"trans": trans} if trans else {}), **params)


answer(sl.lu_solve, _lu_solve_call)
