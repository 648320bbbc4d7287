"""scipy.linalg: polar factors of real matrices, and the rotation nearest to a map.

With p^2 = a^T a a change of u turns it by the solution of a Sylvester equation in p: the rules
divide by sums of singular values, not by their differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.linalg.linalg import added
from tracejit.ops.scipy.base.calls import linalg_op, matrix
from tracejit.ops.scipy.linear_algebra.solvers import solve_sylvester
from tracejit.support.errors import fail


def _check(a: Any) -> None:
    if a.dtype.kind == "c":
        raise fail("no-rule", None, op="scipy.linalg.polar of complex matrices")
    if a.ndim > 2:
        raise fail("no-rule", None, op="scipy.linalg.polar of stacks of matrices")


def _right_vjp(g_u: Any, g_p: Any, u: Any, p: Any) -> Any:
    """The cotangent of u @ p, of at least as many rows as columns."""
    turn = added(None if g_u is None else u.T @ g_u, None if g_p is None else -(g_p @ p))
    turned = solve_sylvester(p, p, turn)
    inner = added(g_p, turned - turned.T)
    if g_u is None:
        return u @ inner
    outside = np.linalg.solve(p, g_u.T).T
    return u @ (inner - u.T @ outside) + outside


def _refuse_wide(rows: int, columns: int) -> None:
    if rows < columns:
        raise fail("no-rule", None, op="scipy.linalg.polar where p is singular")


def _polar_vjp(g: Any, y: Any, a: Any, side: str = "right") -> Any:
    _check(a)
    (g_u, g_p), (u, p) = g, y
    if side == "right":
        _refuse_wide(*a.shape)
        return _right_vjp(g_u, g_p, u, p)
    _refuse_wide(*a.shape[::-1])
    g_u = None if g_u is None else g_u.T
    return _right_vjp(g_u, None if g_p is None else g_p.T, u.T, p).T


def _polar_shapes(a: ArrayType, side: str = "right") -> list[Shape]:
    *stack, rows, columns = matrix(a)
    size = columns if side == "right" else rows
    return [a.shape, (*stack, size, size)]


polar = linalg_op(
    sl.polar,
    keywords=("side",),
    shape=_polar_shapes,
    vjp=_polar_vjp,
    axes="...__->...__,...__",
)

# The rotation r that brings a @ r nearest to b


def _nearest_vjp(g: Any, r: Any, mapped: Any) -> Any:
    """The cotangent of a.T @ b, of which r is a polar factor and the scale the nuclear norm."""
    g_r, g_scale = g
    change = None if g_r is None else _right_vjp(g_r, None, r, r.T @ mapped)
    return added(change, None if g_scale is None else g_scale * r)


def _procrustes_shapes(a: ArrayType, b: ArrayType, **params: Any) -> list[Shape]:
    if a.ndim != 2 or a.shape != b.shape:
        raise ValueError(f"the shapes of a and b differ ({a.shape} vs {b.shape})")
    if "c" in (a.dtype.kind, b.dtype.kind):
        raise TypeError("complex matrices are not supported")
    return [(a.shape[1], a.shape[1]), ()]


orthogonal_procrustes = linalg_op(
    sl.orthogonal_procrustes,
    operands=("A", "B"),
    shape=_procrustes_shapes,
    vjp=(
        lambda g, y, a, b, **params: b @ _nearest_vjp(g, y[0], a.T @ b).T,
        lambda g, y, a, b, **params: a @ _nearest_vjp(g, y[0], a.T @ b),
    ),
)
