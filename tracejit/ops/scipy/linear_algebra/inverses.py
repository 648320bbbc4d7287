"""scipy.linalg: inverses, determinants, least squares and norms.

`lstsq` and `pinv` have a derivative where the rank is the same all around the matrix. How many
residuals `lstsq` gives depends on the rank: they are there for tall matrices, and where one turns
out to be of a lower rank the code that uses them raises. `norm` is a np.float64 where SciPy answers
a Python float.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ir.types import ArrayType, Shape, type_of
from tracejit.ops.base import axes
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import Op, answer
from tracejit.ops.elementwise.lengths import along_length
from tracejit.ops.linalg.factorizations import svdvals
from tracejit.ops.linalg.least_squares import pinv as numpy_pinv
from tracejit.ops.linalg.linalg import each
from tracejit.ops.linalg.products import check_sizes, conj
from tracejit.ops.scipy.base.calls import checked, linalg_op, matrix, sample, square
from tracejit.ops.scipy.linear_algebra.solvers import fold_part, outer, read_part, times

inv = linalg_op(
    sl.inv,
    shape=square,
    vjp=lambda g, y, a, **params: -(y.mT @ g @ y.mT),
)
det = linalg_op(
    sl.det,
    shape=lambda a, **params: square(a)[:-2],
    vjp=lambda g, y, a, **params: each(g * y) * np.linalg.inv(a).mT,
    axes="...__->...",
)

# Pseudo-inverses

_pinv_vjp: Any = numpy_pinv.vjp
_pinv_jvp: Any = numpy_pinv.jvp


def _turned(a: ArrayType, **params: Any) -> Shape:
    *stack, rows, columns = matrix(a)
    return (*stack, columns, rows)


pinv = linalg_op(
    sl.pinv,
    keywords=("atol", "rtol"),
    shape=_turned,
    vjp=lambda g, y, a, **params: _pinv_vjp(g, y, a),
    jvp=lambda v, y, a, **params: _pinv_jvp(v, y, a),
    axes="...__->...__",
)


pinvh = linalg_op(
    sl.pinvh,
    keywords=("atol", "rtol", "lower"),
    shape=square,
    vjp=lambda g, y, a, lower=True, **params: fold_part(
        _pinv_vjp(g, y, read_part(a, "her", lower)), "her", lower
    ),
    jvp=lambda v, y, a, lower=True, **params: _pinv_jvp(
        read_part(v, "her", lower), y, read_part(a, "her", lower)
    ),
)

# Least squares


_svdvals_vjp: Any = svdvals.vjp


def _values_vjp(g: Any, y: Any, a: Any, b: Any, **params: Any) -> Any:
    return _svdvals_vjp(g, y, a)


def _lstsq_shape(a: ArrayType, b: ArrayType, **params: Any) -> Shape:
    rows, columns = matrix(a)[-2:]
    check_sizes(a, b, rows, b.shape[0])
    return (*a.shape[:-2], columns, *b.shape[-1:]) if b.ndim > 1 else (*a.shape[:-2], columns)


def _inverse(a: Any, cond: float | None = None, **rest: Any) -> Any:
    limit = np.finfo(a.dtype).eps if cond is None else cond
    return np.linalg.pinv(a, limit)


def _lstsq_vjp_a(g: Any, x: Any, a: Any, b: Any, **params: Any) -> Any:
    return _pinv_vjp(outer(g, b, b), _inverse(a, **params), a)


def _lstsq_vjp_b(g: Any, x: Any, a: Any, b: Any, **params: Any) -> Any:
    return times(_inverse(a, **params).mT, g, b)


def _result(number: int, name: str, **fields: Any) -> Op:
    """The op of one of the results."""
    fields.setdefault("suffix", lambda types, **params: f"[{number}]")
    return linalg_op(
        sl.lstsq,
        name=name,
        operands=("a", "b"),
        keywords=("cond", "lapack_driver"),
        probe=lambda a, b, **params: _tall_answer(a, b, number),
        handles=False,
        **fields,
    )


def _tall_answer(a: Any, b: Any, number: int) -> Any:
    """A result for a tall matrix of these dtypes."""
    tall = np.concatenate([a, a[..., :1, :]], axis=-2)
    rows = np.ones((3,) if b.ndim == 1 else (3, 2), b.dtype)
    return sl.lstsq(tall, rows)[number]


lstsq = _result(
    0,
    "scipy_lstsq",
    shape=_lstsq_shape,
    vjp=(_lstsq_vjp_a, _lstsq_vjp_b),
    linear_in=(1,),
    axes=axes.sides,
)


def _off(a: Any, b: Any, **params: Any) -> Any:
    """The residual of the best solution."""
    return times(a, lstsq(a, b, **params), b) - b


def _residuals_vjp_a(g: Any, y: Any, a: Any, b: Any, **params: Any) -> Any:
    g = np.real(g)  # some versions answer a complex number
    return 2.0 * outer(g * conj(_off(a, b, **params)), lstsq(a, b, **params), b)


def _reshaped(types: Sequence[ArrayType], **params: Any) -> str:
    """The residuals in the shape they have where the rank is full: an error where it is not."""
    if types[1].ndim > 1:
        return f"[1].reshape({types[1].shape[1]})"
    a, b = (sample(type.ndim, type.dtype) for type in types)
    kind = type_of(_tall_answer(a, b, 1))
    return "[1].reshape(())" + ("" if kind is None or kind.form == "array" else "[()]")


def _residual_axes(types: Sequence[ArrayType], **params: Any) -> str:
    columns = axes.letters_of(types[1])[1:]
    return axes.text_of(["_" * types[0].ndim, ["_", *columns]], columns)


residuals = _result(
    1,
    "lstsq_residuals",
    shape=lambda a, b, **params: b.shape[1:],
    suffix=_reshaped,
    assumes_shape=True,
    vjp=(
        _residuals_vjp_a,
        lambda g, y, a, b, **params: -2.0 * np.real(g) * conj(_off(a, b, **params)),
    ),
    axes=_residual_axes,
)
rank = _result(2, "lstsq_rank", shape=lambda a, b, **params: (), vjp=())
singular_values = _result(
    3,
    "lstsq_values",
    shape=lambda a, b, **params: (min(a.shape),),
    vjp=(_values_vjp, lambda g, y, a, b, **params: np.zeros_like(b)),
)


def _lstsq_call(*args: Any, **keywords: Any) -> tuple[Any, ...]:
    """The solution, the residuals, the rank and the singular values."""
    operands, params = lstsq.canonical(*args, **keywords)
    a, b = operands
    if np.ndim(a) > 2:
        raise TypeError("stacks of matrices are not supported")
    solution = lstsq(a, b, **params)
    none = np.zeros(0, solution.dtype)
    if params.get("lapack_driver") == "gelsy":
        return solution, none, rank(a, b, **params), None
    off = residuals(a, b, **params) if np.shape(a)[0] > np.shape(a)[1] else none
    return solution, off, rank(a, b, **params), singular_values(a, b, **params)


answer(sl.lstsq, _lstsq_call)

# Norms: Python floats where SciPy takes BLAS or LAPACK, which could carry no gradient


def _number(ord: str) -> dict[str, Any]:
    """The parameter that spells a norm as a NumPy scalar."""

    def source(types: Sequence[ArrayType], check_finite: bool = True, **params: Any) -> str:
        finite = "" if check_finite else ", check_finite=False"
        return f"np.float64(scipy.linalg.norm({{0}}{ord.format(**params)}{finite}))"

    return {"source": source, "shape": lambda a, **params: (), "handles": False}


vector_norm = linalg_op(
    sl.norm,
    name="scipy_norm",
    vjp=lambda g, y, a, **params: along_length(g, y, conj(a), tuple(range(-a.ndim, 0))),
    probe=lambda a, **params: np.float64(1),
    cost=lambda a, **params: 2 * a.size,
    **_number(""),
)


def _slopes(a: Any, ord: str) -> Any:
    """The derivative of a norm by each element: of the largest sums, equal shares."""
    modulus = np.abs(a)
    sums = np.sum(modulus, axis=0 if ord == "1" else 1, keepdims=True)
    largest = (sums == np.max(sums)).astype(sums.dtype)
    return largest / np.sum(largest) * conj(a) / np.where(modulus == 0, 1, modulus)


matrix_norm = linalg_op(
    sl.norm,
    name="scipy_matrix_norm",
    vjp=lambda g, y, a, ord, **params: g * _slopes(a, ord),
    probe=lambda a, **params: np.float64(1),
    cost=lambda a, **params: 2 * a.size,
    axes=lambda types, ord, **params: ("_a" if ord == "1" else "a_") + "-> by maximum",
    **_number(", {ord}"),
)


def _norm_call(
    a: Any, ord: Any = None, axis: Any = None, keepdims: Any = False, check_finite: bool = True
) -> Any:
    """The norm by BLAS and LAPACK where SciPy takes these, else NumPy's, which lets nan pass."""
    a = as_array(a)
    if not np.size(a) or a.dtype.char not in "fdFD" or axis is not None or keepdims:
        return np.linalg.norm(a, ord=ord, axis=axis, keepdims=keepdims)
    euclidean = np.ndim(a) == 1 and (ord is None or ord == 2)
    if not euclidean and (np.ndim(a) != 2 or ord not in (1, np.inf)):
        return np.linalg.norm(a, ord=ord, axis=axis, keepdims=keepdims)
    if a.dtype.char in "fF":
        raise TypeError("SciPy returns a Python number for single precision: use np.linalg.norm")
    params = checked(check_finite)
    if euclidean:
        return vector_norm(a, **params)
    return matrix_norm(a, ord="1" if ord == 1 else "np.inf", **params)


answer(sl.norm, _norm_call)
