"""scipy.linalg: QR factors of real matrices; the order of pivoted columns is piecewise constant.

Of the whole of a tall matrix (`mode='full'`, SciPy's default) only R has a gradient: the columns
of Q beyond the matrix's own are not determined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base.op import answer
from tracejit.ops.linalg.orthogonal import factors_vjp
from tracejit.ops.scipy.base.calls import in_its_container, linalg_op, matrix
from tracejit.ops.scipy.linear_algebra.solvers import solve_triangular


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


def _qr_vjp(g: Any, y: Any, a: Any, mode: str = "full", **params: Any) -> Any:
    if len(y) > 2:
        a = np.take_along_axis(a, np.expand_dims(y[2], -2), axis=-1)
    return _unpivoted(factors_vjp(g[:2], y[:2], a, mode == "full", solve_triangular), y)


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
