"""numpy.linalg: QR factors.

LAPACK makes the diagonal of R real, so Q and R have derivatives for complex matrices, too. Columns
of Q beyond those of the matrix (`mode="complete"`) are any that complete a basis: a gradient
through Q is refused there, one through R is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import answer
from tracejit.ops.linalg.factorizations import hermitian
from tracejit.ops.linalg.linalg import added, check_matrix, linalg_dtype, of_matrices, times_cubic
from tracejit.ops.linalg.products import conj
from tracejit.support.errors import fail

Solver = Callable[[Any, Any], Any]


def _qr_type(a: ArrayType, complete: bool = False) -> tuple[ArrayType, ArrayType]:
    check_matrix(a)
    *stack, rows, columns = a.shape
    dtype, size = linalg_dtype(a), rows if complete else min(rows, columns)
    return ArrayType((*stack, rows, size), dtype), ArrayType((*stack, size, columns), dtype)


def _tall_vjp(solve: Solver, g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    """Walter and Lehmann, Algorithmic differentiation of linear algebra functions (2018), 4.3."""
    inner = added(
        None if g_r is None else conj(r) @ conj(g_r).mT,
        None if g_q is None else -(conj(g_q).mT @ conj(q)),
    )
    total = added(g_q, conj(q) @ hermitian(inner))
    return solve(r, total.mT).mT


def factors_vjp(
    g: Any, y: Any, a: Any, complete: bool = False, solve: Solver = np.linalg.solve
) -> Any:
    """The cotangent of a matrix by those of its factors; `solve` is for systems of R."""
    (g_q, g_r), (q, r) = g, y
    *_, rows, columns = a.shape
    if complete and rows > columns:
        if g_q is not None:
            raise fail("no-rule", None, op="Q of qr with mode='complete'")
        return _tall_vjp(solve, None, g_r[..., :columns, :], q[..., :columns], r[..., :columns, :])
    if rows >= columns:
        return _tall_vjp(solve, g_q, g_r, q, r)
    rest = None
    if g_r is not None:
        rest = conj(q) @ g_r[..., rows:]
        g_q = added(g_q, conj(a[..., rows:] @ g_r[..., rows:].mT))
        g_r = g_r[..., :rows]
    square = _tall_vjp(solve, g_q, g_r, q, r[..., :rows])
    rest = np.zeros_like(a[..., rows:], dtype=q.dtype) if rest is None else rest
    return np.concatenate([square, rest], axis=-1)


qr = of_matrices(
    name="qr",
    infer=_qr_type,
    vjp=factors_vjp,
    source=lambda types, complete=False: (
        "np.linalg.qr({0}, 'complete')" if complete else "np.linalg.qr({0})"
    ),
    cost=times_cubic(2),
    axes="...__->...__,...__",
)
qr_r = of_matrices(
    name="qr_r",
    infer=lambda a: _qr_type(a)[1],
    vjp=lambda g, r, a: factors_vjp((None, g), qr(a), a),
    source="np.linalg.qr({0}, 'r')",
    cost=times_cubic(2),
)
QRResult: Any = type(np.linalg.qr(np.eye(1)))


def _qr_call(a: Any, mode: str = "reduced") -> Any:
    """The decomposition, or R alone; what LAPACK makes of the matrix is refused."""
    if mode == "r":
        return qr_r(a)
    if mode not in ("reduced", "complete"):
        raise TypeError(f"mode={mode!r} is not supported, only 'reduced', 'complete' and 'r'")
    return QRResult(*qr(a, **({"complete": True} if mode == "complete" else {})))


answer(np.linalg.qr, _qr_call)
