"""scipy.linalg: LU factors and solving with them; pivots are piecewise constant.

The packed factors of `lu_factor` are differentiated as one matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import Op, answer
from tracejit.ops.linalg.linalg import identity_like
from tracejit.ops.scipy.base.calls import checked, linalg_op, matrix
from tracejit.ops.scipy.linear_algebra.solvers import in_columns, solve_triangular, solved_shape
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


def _lu_vjp(g: Any, y: Any, a: Any, **params: Any) -> Any:
    (_, g_l, g_u), (p, l, u) = g, y  # noqa: E741
    if params.get("p_indices"):
        raise fail("no-rule", None, op="lu with p_indices=True")
    return None if g_l is None and g_u is None else p @ _lu_cotangent(g_l, g_u, l, u)


lu = linalg_op(
    sl.lu,
    keywords=("p_indices",),
    shape=_lu_shapes,
    vjp=_lu_vjp,
    axes=lambda types, p_indices=False, **params: (
        f"...__->...{'_' if p_indices else '__'},...__,...__"
    ),
)


def _lu_factor_vjp(g: Any, y: Any, a: Any, **params: Any) -> Any:
    if g[0] is None:
        return None
    p, l, u = lu(a)  # noqa: E741
    size = l.shape[-1]
    g_l, g_u = np.tril(g[0], -1)[..., :size], np.triu(g[0])[..., :size, :]
    return p @ _lu_cotangent(g_l, g_u, l, u)


lu_factor = linalg_op(
    sl.lu_factor,
    shape=lambda a, **params: [matrix(a), (*a.shape[:-2], min(a.shape[-2:]))],
    vjp=_lu_factor_vjp,
    axes="...__->...__,..._",
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
    linear_in=(2,),
    probe=lambda a, piv, b, **params: sl.lu_solve((a, 0 * piv), b),
    handles=False,
    axes=axes.sides,
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
