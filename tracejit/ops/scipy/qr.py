"""scipy.linalg: QR factors of real matrices; the order of pivoted columns is piecewise constant.

Of the whole of a tall matrix (`mode='full'`, SciPy's default) only R has a gradient: the columns
of Q beyond the matrix's own are not determined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.factorizations import hermitian
from tracejit.ops.op import answer
from tracejit.ops.scipy.calls import in_its_container, linalg_op, matrix
from tracejit.ops.scipy.lu import right_quotient
from tracejit.support.errors import fail


def added(*terms: Any) -> Any:
    """The sum of the terms that are not None; None without."""
    known = [term for term in terms if term is not None]
    return sum(known[1:], known[0]) if known else None


def _qr_shapes(a: ArrayType, mode: str = "full", **params: Any) -> list[Shape]:
    *stack, rows, columns = matrix(a)
    size = rows if mode == "full" else min(rows, columns)
    order = [(*stack, columns)] if params.get("pivoting") else []
    return [(*stack, rows, size), (*stack, size, columns), *order]


def _unpivoted(x: Any, y: Any) -> Any:
    """The columns of `x` where they were before pivoting."""
    if len(y) == 2:
        return x
    order = np.argsort(y[2], axis=-1)
    return np.take_along_axis(x, np.expand_dims(order, -2), axis=-1)


def _check_real(a: Any) -> None:
    if a.dtype.kind == "c":
        raise fail("no-rule", None, op="scipy.linalg.qr of complex matrices")


def _qr_vjp(g: Any, y: Any, a: Any, mode: str = "full", **params: Any) -> Any:
    """Walter and Lehmann, Algorithmic differentiation of linear algebra functions (2018), 4.3."""
    _check_real(a)
    rows, columns = a.shape[-2:]
    (g_q, g_r), (q, r) = g[:2], y[:2]
    if g_q is None and g_r is None:
        return None
    if mode == "full" and rows > columns:
        if g_q is not None:
            raise fail("no-rule", None, op="q of qr with mode='full' of tall matrices")
        q, r, g_r = q[..., :columns], r[..., :columns, :], g_r[..., :columns, :]
    beside = None
    if columns > rows:
        if g_r is not None:
            beside = q @ g_r[..., rows:]
            moved = q @ r[..., rows:] @ g_r[..., rows:].mT
            g_q, g_r = added(g_q, moved), g_r[..., :rows]
        r = r[..., :rows]
    inner = added(None if g_r is None else r @ g_r.mT, None if g_q is None else -(g_q.mT @ q))
    total = right_quotient(added(g_q, q @ hermitian(inner)), r, transposed=True)
    if columns > rows:
        beside = np.zeros_like(a[..., rows:]) if beside is None else beside
        total = np.concatenate([total, beside], axis=-1)
    return _unpivoted(total, y)


qr = linalg_op(
    sl.qr,
    keywords=("mode", "pivoting"),
    shape=_qr_shapes,
    vjp=_qr_vjp,
    handles=False,
)


def _qr_call(*args: Any, **keywords: Any) -> Any:
    """The factors; R alone with mode='r'."""
    operands, params = qr.canonical(*args, **keywords)
    mode = params.get("mode", "full")
    if mode not in ("full", "r", "economic"):
        raise TypeError(f"mode={mode!r} is not supported, only 'full', 'r' and 'economic'")
    if mode == "r":
        del params["mode"]
        return qr(*operands, **params)[1:]
    return in_its_container(sl.qr, operands, qr(*operands, **params))


answer(sl.qr, _qr_call)
