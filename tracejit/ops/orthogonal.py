"""numpy.linalg: QR factors.

LAPACK makes the diagonal of R real, so Q and R have derivatives for complex matrices, too. Columns
of Q beyond those of the matrix (`mode="complete"`) are any that complete a basis: a gradient
through Q is refused there, one through R is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.factorizations import hermitian
from tracejit.ops.linalg import check_matrix, cubic, linalg_dtype
from tracejit.ops.op import answer, defop
from tracejit.ops.products import conj
from tracejit.support.errors import fail


def _costs(*types: ArrayType, **params: Any) -> int:
    return 2 * cubic(*types)


def _qr_type(a: ArrayType, complete: bool = False) -> tuple[ArrayType, ArrayType]:
    check_matrix(a)
    *stack, rows, columns = a.shape
    dtype, size = linalg_dtype(a), rows if complete else min(rows, columns)
    return ArrayType((*stack, rows, size), dtype), ArrayType((*stack, size, columns), dtype)


def _sum(first: Any, second: Any) -> Any:
    """The sum of two terms, either of which may be missing."""
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _tall_vjp(g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    """Walter and Lehmann, Algorithmic differentiation of linear algebra functions (2018), 4.3."""
    inner = None if g_r is None else conj(r) @ conj(g_r).mT
    if g_q is not None:
        inner = _sum(inner, -(conj(g_q).mT @ conj(q)))
    total = _sum(g_q, conj(q) @ hermitian(inner))
    return np.linalg.solve(r, total.mT).mT


def _qr_vjp(g: Any, y: Any, a: Any, complete: bool = False) -> Any:
    (g_q, g_r), (q, r) = g, y
    *_, rows, columns = a.shape
    if complete and rows > columns:
        if g_q is not None:
            raise fail("no-rule", None, op="Q of qr with mode='complete'")
        return _tall_vjp(None, g_r[..., :columns, :], q[..., :columns], r[..., :columns, :])
    if rows >= columns:
        return _tall_vjp(g_q, g_r, q, r)
    rest = None
    if g_r is not None:
        rest = conj(q) @ g_r[..., rows:]
        g_q = _sum(g_q, conj(a[..., rows:] @ g_r[..., rows:].mT))
        g_r = g_r[..., :rows]
    square = _tall_vjp(g_q, g_r, q, r[..., :rows])
    rest = np.zeros_like(a[..., rows:], dtype=q.dtype) if rest is None else rest
    return np.concatenate([square, rest], axis=-1)


qr = defop(
    name="qr",
    infer=_qr_type,
    vjp=_qr_vjp,
    batch="leading",
    source=lambda types, complete=False: (
        "np.linalg.qr({0}, 'complete')" if complete else "np.linalg.qr({0})"
    ),
    cost=_costs,
    factorization="blocked",
)
qr_r = defop(
    name="qr_r",
    infer=lambda a: _qr_type(a)[1],
    vjp=lambda g, r, a: _qr_vjp((None, g), qr(a), a),
    batch="leading",
    source="np.linalg.qr({0}, 'r')",
    cost=_costs,
    factorization="blocked",
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
