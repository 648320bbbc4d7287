"""scipy.linalg: eigenvalues and singular values.

`eigh` reads one triangle, and only that triangle has a gradient. A gradient through values is right
wherever they differ; of vectors see tracejit.ops.linalg.factorizations. Of `eig` only the values
are differentiated, and its vectors only exist for complex matrices: those of real ones are real or
complex by their numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import answer, literal
from tracejit.ops.linalg.factorizations import (
    asked_of,
    gaps_of,
    inverse_gaps,
    of_spectrum,
    rotation,
)
from tracejit.ops.linalg.factorizations import eigh as numpy_eigh
from tracejit.ops.linalg.factorizations import svd as numpy_svd
from tracejit.ops.linalg.factorizations import svdvals as numpy_svdvals
from tracejit.ops.linalg.linalg import added, identity_like
from tracejit.ops.scipy.base.calls import answer_types, in_its_container, linalg_op, matrix, square
from tracejit.ops.scipy.linear_algebra.solvers import fold_part
from tracejit.support.errors import fail

# Hermitian matrices

_eigh_vjp: Any = numpy_eigh.vjp
_DRIVER = ("lower", "driver")


_SUBSETS = ("subset_by_index", "subset_by_value", "select", "select_range")


def _of_all(keywords: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a call for all eigenvalues; TypeError if it asks for a part of them."""
    for word in _SUBSETS:
        if keywords.pop(word, None) not in (None, "a"):
            raise TypeError(
                f"{word} asks for a part of the eigenvalues; leave it out, and slice the result: "
                "w[:k], v[:, :k]"
            )
    return keywords


def _uplo(lower: bool) -> str:
    return "L" if lower else "U"


def _values_of(a: ArrayType, *rest: ArrayType, **params: Any) -> Shape:
    return square(a)[:-1]


def _pair_of(a: ArrayType, *rest: ArrayType, **params: Any) -> list[Shape]:
    return [square(a)[:-1], a.shape]


eigh = linalg_op(
    sl.eigh,
    keywords=_DRIVER,
    shape=_pair_of,
    vjp=lambda g, y, a, lower=True, **params: _eigh_vjp(g, y, a, _uplo(lower)),
    handles=False,
    axes="...__->..._,...__",
)


def _eigvalsh_vjp(g: Any, y: Any, a: Any, lower: bool = True, **params: Any) -> Any:
    vectors = eigh(a, **({} if lower else {"lower": False}))[1]
    return fold_part(of_spectrum(g, vectors), "her", lower)


eigvalsh = linalg_op(
    sl.eigvalsh,
    keywords=_DRIVER,
    shape=_values_of,
    vjp=_eigvalsh_vjp,
    handles=False,
    axes="...__->..._",
)

# Pairs of real symmetric matrices, the second positive definite: a v = w b v, v^T b v = 1


def _check_real(a: Any, b: Any) -> None:
    if "c" in (a.dtype.kind, b.dtype.kind):
        raise fail("no-rule", None, op="scipy.linalg.eigh of pairs of complex matrices")


def _rows(values: Any) -> Any:
    return np.expand_dims(values, -2)


def _spectrum_vjp(g: Any, y: Any) -> Any:
    """The cotangent of a real matrix by its eigenvalues and vectors, as one without symmetry."""
    (g_values, g_vectors), (values, vectors) = g, y
    terms = [None, None]
    if g_values is not None:
        terms[0] = (vectors * _rows(g_values)) @ vectors.mT
    if g_vectors is not None:
        turn = rotation(vectors.mT @ g_vectors, gaps_of(values), asked_of(g_vectors, -1))
        terms[1] = 0.5 * (vectors @ turn @ vectors.mT)
    return added(*terms)


def _pair_vjp_a(g: Any, y: Any, a: Any, b: Any, lower: bool = True, **params: Any) -> Any:
    _check_real(a, b)
    return fold_part(_spectrum_vjp(g, y), "sym", lower)


def _pair_vjp_b(g: Any, y: Any, a: Any, b: Any, lower: bool = True, **params: Any) -> Any:
    _check_real(a, b)
    (g_values, g_vectors), (values, vectors) = g, y
    terms = [None, None]
    if g_values is not None:
        terms[0] = -((vectors * _rows(g_values * values)) @ vectors.mT)
    if g_vectors is not None:
        turn = vectors.mT @ g_vectors
        inner = inverse_gaps(values) * turn * _rows(values) + 0.5 * identity_like(turn) * turn
        terms[1] = -(vectors @ inner @ vectors.mT)
    return fold_part(added(*terms), "sym", lower)


eigh_pair = linalg_op(
    sl.eigh,
    name="eigh_pair",
    operands=("a", "b"),
    keywords=_DRIVER,
    shape=_pair_of,
    vjp=(_pair_vjp_a, _pair_vjp_b),
    handles=False,
)

eigvalsh_pair = linalg_op(
    sl.eigvalsh,
    name="eigvalsh_pair",
    operands=("a", "b"),
    keywords=_DRIVER,
    shape=_values_of,
    vjp=(
        lambda g, y, a, b, **params: _pair_vjp_a((g, None), _pair(a, b, **params), a, b, **params),
        lambda g, y, a, b, **params: _pair_vjp_b((g, None), _pair(a, b, **params), a, b, **params),
    ),
    handles=False,
)


def _pair(a: Any, b: Any, lower: bool = True, **params: Any) -> Any:
    return eigh_pair(a, b, **({} if lower else {"lower": False}))


def _eigh_call(
    a: Any, b: Any = None, *, eigvals_only: bool = False, type: int = 1, **keywords: Any
) -> Any:
    """Values and vectors, or values alone, of a matrix or of a pair."""
    if type != 1:
        raise TypeError("unexpected keyword argument 'type'")
    (a,), params = eigh.canonical(a, **_of_all(keywords))
    if b is None:
        if eigvals_only:
            return eigvalsh(a, **params)
        return in_its_container(sl.eigh, (a,), eigh(a, **params))
    if eigvals_only:
        return eigvalsh_pair(a, as_array(b), **params)
    return in_its_container(sl.eigh, (a,), eigh_pair(a, as_array(b), **params))


def _eigvalsh_call(a: Any, b: Any = None, **keywords: Any) -> Any:
    return _eigh_call(a, b, eigvals_only=True, **keywords)


answer(sl.eigh, _eigh_call)
answer(sl.eigvalsh, _eigvalsh_call)

# Matrices of no symmetry


def eigvals_dtype(a: ArrayType) -> np.dtype[Any]:
    """The dtype of the eigenvalues, complex."""
    return answer_types(sl.eigvals, (a,), {})[0].dtype


def _basis_slopes(basis: Any, a: Any) -> Any:
    quotient = np.linalg.solve(basis, a @ basis)
    return inverse_gaps(np.diagonal(quotient, 0, -2, -1))


def _basis_vjp(g: Any, basis: Any, a: Any) -> Any:
    inner = _basis_slopes(basis, a) * (basis.mT @ g)
    return np.linalg.solve(basis.mT, inner @ basis.mT)


# Eigenvectors of any length and phase: for rules in which these do not matter.
eigenbasis = linalg_op(
    sl.eig,
    name="eigenbasis",
    shape=square,
    vjp=_basis_vjp,
    probe=lambda a: sl.eig(a.astype(np.result_type(a.dtype, np.complex64)))[1],
    source=lambda types: (
        f"scipy.linalg.eig({{0}})[1].astype({literal(eigvals_dtype(types[0]))}, copy=False)"
    ),
    handles=False,
)


def _basis(values: Any, a: Any) -> Any:
    """The eigenvectors in the order of `values`."""
    basis = eigenbasis(a)
    own = np.diagonal(np.linalg.solve(basis, a @ basis), 0, -2, -1)
    distances = np.abs(np.expand_dims(values, -1) - np.expand_dims(own, -2))
    order = np.expand_dims(np.argmin(distances, axis=-1), -2)
    return np.take_along_axis(basis, order, axis=-1)


def _eigvals_vjp(g: Any, y: Any, a: Any, **params: Any) -> Any:
    basis = _basis(y, a)
    return np.linalg.solve(basis.mT, np.expand_dims(g, -1) * basis.mT)


eigvals = linalg_op(
    sl.eigvals,
    shape=_values_of,
    vjp=_eigvals_vjp,
    axes="...__->..._",
)


def _refuse_vectors(*args: Any, **params: Any) -> Any:
    raise fail("no-rule", None, op="the vectors of scipy.linalg.eig")


def _eig_vjp(g: Any, y: Any, a: Any, **params: Any) -> Any:
    if g[1] is not None:
        _refuse_vectors()
    return None if g[0] is None else _eigvals_vjp(g[0], y[0], a)


eig = linalg_op(
    sl.eig,
    shape=_pair_of,
    vjp=_eig_vjp,
    handles=False,
    axes="...__->..._,...__",
)


def _eig_call(*args: Any, right: bool = True, **keywords: Any) -> Any:
    """Values and vectors of a complex matrix, or the values of any."""
    operands, params = eig.canonical(*args, **keywords)
    if not right:
        return eigvals(*operands, **params)
    if operands[0].dtype.kind != "c":
        raise TypeError(
            "the numbers of a real matrix decide if its eigenvectors are real: use eigvals, or "
            "cast the matrix to complex"
        )
    return in_its_container(sl.eig, operands, eig(*operands, **params))


answer(sl.eig, _eig_call)

# Singular values

_svd_vjp: Any = numpy_svd.vjp
_svdvals_vjp: Any = numpy_svdvals.vjp


def _svd_shapes(a: ArrayType, full_matrices: bool = True, **params: Any) -> list[Shape]:
    *stack, rows, columns = matrix(a)
    size = min(rows, columns)
    left, right = (rows, columns) if full_matrices else (size, size)
    return [(*stack, rows, left), (*stack, size), (*stack, right, columns)]


svd = linalg_op(
    sl.svd,
    keywords=("full_matrices", "lapack_driver"),
    shape=_svd_shapes,
    vjp=lambda g, y, a, full_matrices=True, **params: _svd_vjp(g, y, a, full_matrices),
    handles=False,
    axes="...__->...__,..._,...__",
)
svdvals = linalg_op(
    sl.svdvals,
    shape=lambda a, **params: (*matrix(a)[:-2], min(a.shape[-2:])),
    vjp=lambda g, y, a, **params: _svdvals_vjp(g, y, a),
    axes="...__->..._",
)


def _svd_call(a: Any, full_matrices: bool = True, compute_uv: bool = True, **keywords: Any) -> Any:
    """The decomposition, or its values alone."""
    if not compute_uv:
        return svdvals.record_call(a, **keywords)
    operands, params = svd.canonical(a, full_matrices=bool(full_matrices), **keywords)
    return in_its_container(sl.svd, operands, svd(*operands, **params))


answer(sl.svd, _svd_call)

# Tridiagonal symmetric matrices


def _tridiagonal_shapes(d: ArrayType, e: ArrayType, **params: Any) -> list[Shape]:
    if d.ndim != 1 or e.shape != (d.shape[0] - 1,):
        raise ValueError(f"the diagonals have the shapes {d.shape} and {e.shape}")
    return [d.shape, d.shape * 2]


def _beside(change: Any) -> Any:
    return np.diagonal(change, 1) + np.diagonal(change, -1)


eigh_tridiagonal = linalg_op(
    sl.eigh_tridiagonal,
    operands=("d", "e"),
    shape=_tridiagonal_shapes,
    probe=lambda d, e, **params: sl.eigh_tridiagonal(d, e[:1]),
    vjp=(
        lambda g, y, d, e, **params: np.diagonal(_spectrum_vjp(g, y)),
        lambda g, y, d, e, **params: _beside(_spectrum_vjp(g, y)),
    ),
    handles=False,
)
eigvalsh_tridiagonal = linalg_op(
    sl.eigvalsh_tridiagonal,
    operands=("d", "e"),
    shape=lambda d, e, **params: _tridiagonal_shapes(d, e)[0],
    probe=lambda d, e, **params: sl.eigvalsh_tridiagonal(d, e[:1]),
    vjp=(
        lambda g, y, d, e, **params: np.square(eigh_tridiagonal(d, e)[1]) @ g,
        lambda g, y, d, e, **params: _beside(of_spectrum(g, eigh_tridiagonal(d, e)[1])),
    ),
    jvp=(
        lambda v, y, d, e, **params: v @ np.square(eigh_tridiagonal(d, e)[1]),
        lambda v, y, d, e, **params: (
            2.0 * (v @ (lambda x: x[:-1] * x[1:])(eigh_tridiagonal(d, e)[1]))
        ),
    ),
    handles=False,
)


def _eigh_tridiagonal_call(*args: Any, eigvals_only: bool = False, **keywords: Any) -> Any:
    keywords = _of_all(keywords)
    if eigvals_only:
        return eigvalsh_tridiagonal.record_call(*args, **keywords)
    operands, params = eigh_tridiagonal.canonical(*args, **keywords)
    return eigh_tridiagonal(*operands, **params)


def _eigvalsh_tridiagonal_call(*args: Any, **keywords: Any) -> Any:
    return _eigh_tridiagonal_call(*args, eigvals_only=True, **keywords)


answer(sl.eigh_tridiagonal, _eigh_tridiagonal_call)
answer(sl.eigvalsh_tridiagonal, _eigvalsh_tridiagonal_call)
