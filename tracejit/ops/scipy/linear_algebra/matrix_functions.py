"""scipy.linalg: functions of square matrices, and the exponential's Frechet derivative.

The derivative of such a function f along e stands in the corner of f([[a, e], [0, a]]): Mathias, A
chain rule for matrix functions and applications (1996). Of real matrices `logm`, `sqrtm` and
`fractional_matrix_power` may be complex, by their eigenvalues: such a result is refused when the
code runs, and a call that is not differentiated is then SciPy's own; pass a complex matrix instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base.op import Op, answer, literal
from tracejit.ops.scipy.base.calls import answer_types, linalg_op, square
from tracejit.ops.scipy.linear_algebra.solvers import solve_sylvester


def with_corner(a: Any, e: Any) -> Any:
    """The matrix [[a, e], [0, a]]."""
    above = np.concatenate([a, e], axis=-1)
    below = np.concatenate([np.zeros_like(a), a], axis=-1)
    return np.concatenate([above, below], axis=-2)


def corner(function: Callable[..., Any], a: Any, e: Any, **params: Any) -> Any:
    """The derivative of `function` at `a` along `e`, linear in `e`."""
    size = a.shape[-1]
    return function(with_corner(a, e), **params)[..., :size, size:]


def _kept_real(function: Any) -> Callable[..., str]:
    """The text after a call that must be real where its operand is: TypeError for another
    operand."""

    def suffix(types: Sequence[ArrayType], **params: Any) -> str:
        dtype = answer_types(function, types, params)[0].dtype
        if dtype.kind == "c":
            return ""
        return f".astype({literal(dtype)}, casting='same_kind', copy=False)"

    return suffix


def _refusing_complex(op: Op) -> Callable[..., Any]:
    """The handler that records `op`, and says what to do where its result is complex."""

    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return op.record_call(*args, **keywords)
        except TypeError as error:
            if "Cannot cast" not in str(error):
                raise
            problem = "the result is complex for this real matrix"
            raise TypeError(f"{problem}; pass a.astype(complex)") from None

    return call


def _function(function: Any, handles: bool = True, **fields: Any) -> Op:
    """The op of a function of matrices, differentiated by its value at larger ones.

    These have double eigenvalues, which rounding may make a complex pair: where the function could
    then be complex, they are complex.
    """

    def derivative(a: Any, e: Any, **params: Any) -> Any:
        if a.dtype.kind == "c" or "suffix" not in fields:
            return corner(op, a, e, **params)
        return np.real(corner(op, a.astype(np.complex128), e, **params))

    op: Op = linalg_op(
        function,
        operands=[next(iter(inspect.signature(function).parameters))],
        shape=square,
        vjp=lambda g, y, a, **params: derivative(a.mT, g, **params),
        jvp=lambda v, y, a, **params: derivative(a, v, **params),
        cost=lambda a, **params: 20 * a.size * max(a.shape[-1:], default=1),
        handles=handles,
        **fields,
    )
    return op


expm = _function(sl.expm)
logm = _function(sl.logm, handles=False, suffix=_kept_real(sl.logm))
answer(sl.logm, _refusing_complex(logm))
cosm = _function(sl.cosm)
sinm = _function(sl.sinm)
tanm = _function(sl.tanm)
coshm = _function(sl.coshm)
sinhm = _function(sl.sinhm)
tanhm = _function(sl.tanhm)

fractional_matrix_power = _function(
    sl.fractional_matrix_power,
    handles=False,
    keywords=("t",),
    suffix=_kept_real(sl.fractional_matrix_power),
)


def _fractional_matrix_power_call(A: Any, t: Any) -> Any:
    """The power; a product of matrices where the exponent is an integer."""
    if type(t) is int or (isinstance(t, float) and t.is_integer()):
        return np.linalg.matrix_power(A, int(t))
    return _refusing_complex(fractional_matrix_power)(A, t)


answer(sl.fractional_matrix_power, _fractional_matrix_power_call)


def _root_vjp(g: Any, y: Any, a: Any) -> Any:
    if a.ndim > 2:
        return corner(sqrtm, a.mT, g)
    return solve_sylvester(y.T, y.T, g)


def _root_jvp(v: Any, y: Any, a: Any) -> Any:
    if a.ndim > 2:
        return corner(sqrtm, a, v)
    return solve_sylvester(y, y, v.astype(y.dtype))


sqrtm: Op = linalg_op(
    sl.sqrtm,
    operands=("A",),
    shape=square,
    vjp=_root_vjp,
    jvp=_root_jvp,
    suffix=_kept_real(sl.sqrtm),
    handles=False,
)
answer(sl.sqrtm, _refusing_complex(sqrtm))

# The exponential's derivative


def _pair_shape(a: ArrayType, e: ArrayType, **params: Any) -> Shape:
    if a.ndim != 2 or e.shape != square(a):
        raise ValueError(f"expected square matrices of one size, got {a.shape} and {e.shape}")
    return a.shape


def _second(a: Any, e: Any, f: Any) -> Any:
    """The second derivative of expm at `a` along `e` and `f`."""
    size = a.shape[-1]
    zero = np.zeros_like(f)
    moved = np.concatenate(
        [np.concatenate([f, zero], axis=-1), np.concatenate([zero, f], axis=-1)], axis=-2
    )
    return expm_frechet(with_corner(a, e), moved)[:size, size:]


expm_frechet: Op = linalg_op(
    sl.expm_frechet,
    operands=("A", "E"),
    shape=_pair_shape,
    vjp=(
        lambda g, y, a, e: _second(a.T, e.T, g),
        lambda g, y, a, e: expm_frechet(a.T, g),
    ),
    linear_in=(1,),
    probe=lambda a, e: sl.expm_frechet(a, e, compute_expm=False),
    suffix=lambda types: "[1]",
    handles=False,
)
_expm_beside: Op = linalg_op(
    sl.expm_frechet,
    name="expm_beside_frechet",
    operands=("A", "E"),
    shape=_pair_shape,
    vjp=(lambda g, y, a, e: expm_frechet(a.T, g), lambda g, y, a, e: np.zeros_like(e)),
    suffix=lambda types: "[0]",
    handles=False,
)


def _expm_frechet_call(
    A: Any, E: Any, method: None = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """The derivative of expm at `A` along `E`, after expm(A) by default."""
    if method is not None:
        raise TypeError("unexpected keyword argument 'method'")
    operands = expm_frechet.canonical(A, E)[0]
    derivative = expm_frechet(*operands)
    return (_expm_beside(*operands), derivative) if compute_expm else derivative


answer(sl.expm_frechet, _expm_frechet_call)
