"""scipy.linalg: Cholesky factors, of which one triangle is read, and solving with them.

Some versions' `cho_factor` leaves in its result what it does not read: there is a gradient, too.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ops.base import axes
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import Op, answer
from tracejit.ops.linalg.factorizations import cholesky as numpy_cholesky
from tracejit.ops.linalg.phases import adjoint
from tracejit.ops.linalg.products import conj
from tracejit.ops.scipy.base.calls import checked, linalg_op, square
from tracejit.ops.scipy.linear_algebra.solvers import in_columns, outer, solved_shape

_lower_vjp: Any = numpy_cholesky.vjp


def _cholesky_vjp(g: Any, y: Any, a: Any, lower: bool = False, **rest: Any) -> Any:
    if lower:
        return _lower_vjp(g, y, a)
    return adjoint(_lower_vjp(adjoint(g), adjoint(y), a))


cholesky = linalg_op(
    sl.cholesky,
    keywords=("lower",),
    shape=square,
    vjp=_cholesky_vjp,
)


def _half(x: Any, lower: bool) -> Any:
    return np.tril(x) if lower else np.triu(x)


@cache
def _leaves_the_rest() -> bool:
    """Return whether this SciPy leaves in the result the elements that it does not read, instead of
    zeros."""
    return bool(sl.cho_factor(np.array([[4.0, 1.0], [1.0, 4.0]]))[0][1, 0] != 0)


def _rest(x: Any, lower: bool) -> Any:
    """The elements that are not read, as far as they stand in the result."""
    if not _leaves_the_rest():
        return 0.0
    return np.triu(x, 1) if lower else np.tril(x, -1)


def _cho_factor_vjp(g: Any, y: Any, a: Any, lower: bool = False, **rest: Any) -> Any:
    return _cholesky_vjp(_half(g, lower), _half(y, lower), a, lower) + _rest(g, lower)


cho_factor = linalg_op(
    sl.cho_factor,
    keywords=("lower",),
    shape=square,
    vjp=_cho_factor_vjp,
    suffix=lambda types, **params: "[0]",
    handles=False,
)


def _cho_factor_call(*args: Any, **keywords: Any) -> tuple[Any, Any]:
    """The factor, and which triangle it is in: a number or an array, as SciPy has it."""
    operands, params = cho_factor.canonical(*args, **keywords)
    if np.ndim(operands[0]) > 2:
        raise TypeError("stacks of matrices are not supported")
    lower = bool(params.get("lower", False))
    plain = isinstance(sl.cho_factor(np.eye(2))[1], bool)
    return cho_factor(*operands, **params), lower if plain else np.array(lower)


answer(sl.cho_factor, _cho_factor_call)


def _cho_moved(g: Any, c: Any, b: Any, lower: bool) -> Any:
    """The solution of the transposed system, whose matrix is the conjugate one."""
    return conj(in_columns(cho_solve, c, conj(g), b, lower=lower))


def _cho_solve_vjp(g: Any, x: Any, c: Any, b: Any, lower: bool, **rest: Any) -> Any:
    change = -outer(_cho_moved(g, c, b, lower), x, b)
    half = _half(c, lower)
    if lower:
        return np.tril(change @ conj(half) + conj(change.mT @ half))
    return np.triu(conj(half) @ change + conj(half @ change.mT))


cho_solve: Op = linalg_op(
    sl.cho_solve,
    operands=("c_and_lower", "b"),
    places="({0}, {lower}), {1}",
    shape=solved_shape,
    vjp=(_cho_solve_vjp, lambda g, x, c, b, lower, **rest: _cho_moved(g, c, b, lower)),
    linear_in=(1,),
    probe=lambda c, b, lower, **rest: sl.cho_solve((c, lower), b),
    handles=False,
    axes=axes.sides,
)


def _cho_solve_call(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    c, lower = c_and_lower
    params = checked(check_finite, overwrite_b=overwrite_b)
    return cho_solve(as_array(c), as_array(b), lower=bool(lower), **params)


answer(sl.cho_solve, _cho_solve_call)
