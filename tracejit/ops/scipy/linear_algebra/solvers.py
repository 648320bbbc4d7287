"""scipy.linalg: systems of equations, general, triangular, banded, Toeplitz, and matrix equations.

A solver that is told of a structure reads only a part of its matrix, and the gradient is that of
what it computes: zero in the other part. Where the structure is found out from the numbers
(`assume_a=None`, 'banded') the whole matrix counts. Warnings of ill conditioning are SciPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.infer import broadcast_shapes
from tracejit.ops.base.op import Op
from tracejit.ops.linalg.products import check_sizes, conj
from tracejit.ops.scipy.base.calls import linalg_op, square


def solved_shape(a: ArrayType, b: ArrayType, **params: Any) -> Shape:
    """The shape of the solution of a x = b: b is a vector where it has one axis, else matrices."""
    shape = square(a)
    if not b.ndim:
        raise ValueError("the right side has no dimensions")
    check_sizes(a, b, shape[-1], b.shape[max(b.ndim - 2, 0)])
    if b.ndim > 1:
        return (*broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    return (*a.shape[:-2], *b.shape)


def outer(g: Any, x: Any, b: Any) -> Any:
    """g x^T of vectors, or of matrices, summed over their columns; `b` is the right side."""
    if b.ndim > 1:
        return g @ x.mT
    return np.expand_dims(g, -1) * np.expand_dims(x, -2)


def times(a: Any, x: Any, b: Any) -> Any:
    """a x for a solution x; `b` is the right side."""
    if b.ndim > 1 or (a.ndim == 2 and x.ndim == 1):
        return a @ x
    return np.squeeze(a @ np.expand_dims(x, -1), -1)


def in_columns(solver: Any, a: Any, g: Any, b: Any, **params: Any) -> Any:
    """solver(a, g), of stacks of vectors too where the right side `b` was one vector."""
    if b.ndim == 1 and g.ndim > 1:
        return np.squeeze(solver(a, np.expand_dims(g, -1), **params), -1)
    return solver(a, g, **params)


# General matrices and those of a known structure

_WHOLE = ("gen", "general", "banded", None)
_SYMMETRIC = ("sym", "symmetric")
_HERMITIAN = ("her", "hermitian", "pos", "positive definite")


def _both(x: Any, hermitian: bool) -> Any:
    """The lower triangle and its mirror image."""
    below = np.tril(x, -1)
    if not hermitian or x.dtype.kind != "c":
        return np.tril(x) + below.mT
    diagonal = np.tril(np.triu(x))
    return below + conj(below).mT + 0.5 * (diagonal + conj(diagonal))


def _folded(g: Any, hermitian: bool) -> Any:
    """The transpose of `_both`: what is above the diagonal added below."""
    above = np.triu(g, 1).mT
    if not hermitian or g.dtype.kind != "c":
        return np.tril(g) + above
    diagonal = np.tril(np.triu(g))
    return np.tril(g, -1) + conj(above) + 0.5 * (diagonal + conj(diagonal))


def _band(x: Any) -> Any:
    return np.triu(np.tril(x, 1), -1)


def read_part(x: Any, assume_a: str | None, lower: bool) -> Any:
    """The matrix that a solver makes of what it reads."""
    if assume_a in _WHOLE:
        return x
    if assume_a in ("upper triangular", "lower triangular"):
        return np.triu(x) if assume_a[0] == "u" else np.tril(x)
    if assume_a in ("diagonal", "tridiagonal"):
        return np.tril(np.triu(x)) if assume_a[0] == "d" else _band(x)
    hermitian = assume_a in _HERMITIAN
    return _both(x, hermitian) if lower else _both(x.mT, hermitian).mT


def fold_part(g: Any, assume_a: str | None, lower: bool) -> Any:
    """The transpose of `read_part`."""
    if assume_a not in _SYMMETRIC + _HERMITIAN:
        return read_part(g, assume_a, lower)
    hermitian = assume_a in _HERMITIAN
    return _folded(g, hermitian) if lower else _folded(g.mT, hermitian).mT


def _system(
    a: Any, lower: bool = False, assume_a: str | None = None, transposed: bool = False, **rest: Any
) -> Any:
    """The matrix of the system that is solved."""
    matrix = read_part(a, assume_a, lower)
    return matrix.mT if transposed else matrix


def _solve_vjp_a(
    g: Any,
    x: Any,
    a: Any,
    b: Any,
    lower: bool = False,
    assume_a: str | None = None,
    transposed: bool = False,
    **rest: Any,
) -> Any:
    moved = in_columns(np.linalg.solve, _system(a, lower, assume_a, transposed).mT, g, b)
    change = -outer(moved, x, b)
    return fold_part(change.mT if transposed else change, assume_a, lower)


solve = linalg_op(
    sl.solve,
    name="scipy_solve",
    operands=("a", "b"),
    keywords=("lower", "assume_a", "transposed"),
    shape=solved_shape,
    vjp=(
        _solve_vjp_a,
        lambda g, x, a, b, **params: in_columns(np.linalg.solve, _system(a, **params).mT, g, b),
    ),
    linear_in=(1,),
    axes=axes.sides,
)

# Triangular matrices

_TRANS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def _triangle(x: Any, lower: bool, unit_diagonal: bool) -> Any:
    return np.tril(x, -int(unit_diagonal)) if lower else np.triu(x, int(unit_diagonal))


def _turned(x: Any, trans: Any) -> Any:
    """The matrix of the system: `x`, its transpose, or its conjugate transpose."""
    turn = _TRANS[trans]
    return x if turn == 0 else x.mT if turn == 1 else conj(x).mT


def _triangular_adjoint(g: Any, a: Any, b: Any, trans: Any = 0, **rest: Any) -> Any:
    """The solution of the transposed system."""
    turn = _TRANS[trans]
    if turn == 2 and a.dtype.kind == "c":
        return conj(in_columns(solve_triangular, a, conj(g), b, **rest))
    rest |= {} if turn else {"trans": 1}
    return in_columns(solve_triangular, a, g, b, **rest)


def _triangular_vjp_a(
    g: Any,
    x: Any,
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    **rest: Any,
) -> Any:
    keywords = {"lower": True} if lower else {}
    keywords |= {"unit_diagonal": True} if unit_diagonal else {}
    change = -outer(_triangular_adjoint(g, a, b, trans, **keywords), x, b)
    return _triangle(_turned(change, trans), lower, unit_diagonal)


solve_triangular: Op = linalg_op(
    sl.solve_triangular,
    operands=("a", "b"),
    keywords=("trans", "lower", "unit_diagonal"),
    shape=solved_shape,
    vjp=(
        _triangular_vjp_a,
        lambda g, x, a, b, **params: _triangular_adjoint(g, a, b, **params),
    ),
    linear_in=(1,),
    cost=lambda a, b, **params: a.size * max(b.size, 1) // max(a.shape[-1:], default=1) or 1,
    axes=axes.sides,
)

# Matrix equations


def _sylvester_shape(a: ArrayType, b: ArrayType, q: ArrayType) -> Shape:
    if q.ndim != 2 or q.shape != (*square(a)[:1], *square(b)[:1]):
        raise ValueError(f"q has the shape {q.shape}, a and b {a.shape} and {b.shape}")
    if len({type.dtype.kind == "c" for type in (a, b, q)}) > 1:
        raise TypeError("SciPy does not solve equations of real and complex matrices together")
    return q.shape


solve_sylvester: Op = linalg_op(
    sl.solve_sylvester,
    operands=("a", "b", "q"),
    shape=_sylvester_shape,
    vjp=(
        lambda g, x, a, b, q: -(solve_sylvester(a.T, b.T, g) @ x.T),
        lambda g, x, a, b, q: -(x.T @ solve_sylvester(a.T, b.T, g)),
        lambda g, x, a, b, q: solve_sylvester(a.T, b.T, g),
    ),
    linear_in=(2,),
)


def _lyapunov_shape(a: ArrayType, q: ArrayType, **params: Any) -> Shape:
    if a.ndim != 2 or q.shape != square(a):
        raise ValueError(f"expected square matrices of one size, got {a.shape} and {q.shape}")
    return q.shape


def _continuous_vjp_a(g: Any, x: Any, a: Any, q: Any) -> Any:
    moved = solve_continuous_lyapunov(a.T, g)
    return -(moved @ x.T) - conj(moved.T @ x)


def _discrete_vjp_a(g: Any, x: Any, a: Any, q: Any, **params: Any) -> Any:
    moved = solve_discrete_lyapunov(a.T, g, **params)
    return moved @ conj(a) @ x.T + conj(moved.T @ a @ x)


solve_continuous_lyapunov: Op = linalg_op(
    sl.solve_continuous_lyapunov,
    operands=("a", "q"),
    shape=_lyapunov_shape,
    vjp=(_continuous_vjp_a, lambda g, x, a, q: solve_continuous_lyapunov(a.T, g)),
    linear_in=(1,),
)
solve_discrete_lyapunov: Op = linalg_op(
    sl.solve_discrete_lyapunov,
    operands=("a", "q"),
    keywords=("method",),
    shape=_lyapunov_shape,
    vjp=(
        _discrete_vjp_a,
        lambda g, x, a, q, **params: solve_discrete_lyapunov(a.T, g, **params),
    ),
    linear_in=(1,),
)
