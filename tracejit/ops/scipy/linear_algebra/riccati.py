"""scipy.linalg: algebraic Riccati equations of real matrices, without `e` and `s`.

Kao and Hennequin, Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati
equations (2020). SciPy takes symmetric q and r only, so gradients are meant along these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base.op import Op
from tracejit.ops.scipy.base.calls import linalg_op, square
from tracejit.ops.scipy.linear_algebra.solvers import (
    solve_continuous_lyapunov,
    solve_discrete_lyapunov,
)

Parts = tuple[Any, Any, Any]


def _shape(a: ArrayType, b: ArrayType, q: ArrayType, r: ArrayType, **params: Any) -> Shape:
    if any(type.dtype.kind == "c" for type in (a, b, q, r)):
        raise TypeError("complex matrices are not supported")
    return square(a)


def _symmetric(x: Any) -> Any:
    return 0.5 * (x + x.T)


def _riccati(function: Any, parts: Callable[..., Parts], settled: Callable[[Any, Any], Any]) -> Op:
    """The op of one equation.

    `parts` gives the closed loop, the gain, and what stands left of a change of `a`, transposed;
    `settled` solves the Lyapunov equation of the closed loop.
    """

    def moved(g: Any, x: Any, a: Any, b: Any, r: Any) -> Parts:
        closed, gain, left = parts(x, a, b, r)
        return settled(closed, _symmetric(g)), gain, left

    def vjp_a(g: Any, x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
        change, _, left = moved(g, x, a, b, r)
        return 2.0 * (left @ change)

    def vjp_b(g: Any, x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
        change, gain, left = moved(g, x, a, b, r)
        return -2.0 * (left @ change @ gain.T)

    def vjp_q(g: Any, x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
        return moved(g, x, a, b, r)[0]

    def vjp_r(g: Any, x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
        change, gain, _ = moved(g, x, a, b, r)
        return gain @ change @ gain.T

    return linalg_op(
        function,
        operands=("a", "b", "q", "r"),
        shape=_shape,
        vjp=(vjp_a, vjp_b, vjp_q, vjp_r),
    )


def _continuous_parts(x: Any, a: Any, b: Any, r: Any) -> Parts:
    gain = np.linalg.solve(r, b.T @ x)
    return a - b @ gain, gain, x


def _discrete_parts(x: Any, a: Any, b: Any, r: Any) -> Parts:
    gain = np.linalg.solve(r + b.T @ x @ b, b.T @ x @ a)
    closed = a - b @ gain
    return closed, gain, x @ closed


solve_continuous_are = _riccati(
    sl.solve_continuous_are,
    _continuous_parts,
    lambda closed, g: -solve_continuous_lyapunov(closed, g),
)
solve_discrete_are = _riccati(
    sl.solve_discrete_are,
    _discrete_parts,
    lambda closed, g: solve_discrete_lyapunov(closed, g),
)
