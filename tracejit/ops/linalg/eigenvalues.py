"""numpy.linalg: eigenvalues of matrices that need not be symmetric.

Those of a complex matrix are complex. Those of a real one are real or complex as the numbers turn
out, and so is NumPy's dtype: they are refused, and `a.astype(complex)` has them all. Each vector is
as LAPACK leaves it, of norm one and with a real largest element, so gradients through vectors are
right where the values differ; where two are equal, they are infinite or nan. A gradient through
values alone is right for every matrix that has as many vectors as rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import answer
from tracejit.ops.linalg.factorizations import inverse_gaps
from tracejit.ops.linalg.linalg import (
    check_square,
    identity_like,
    linalg_dtype,
    of_matrices,
    times_cubic,
)


def _check(a: ArrayType) -> np.dtype[Any]:
    check_square(a)
    dtype = linalg_dtype(a)
    if dtype.kind != "c":
        raise TypeError(
            "the numbers of a real matrix decide if its eigenvalues are real; pass "
            "a.astype(complex), or use np.linalg.eigh if it is symmetric"
        )
    return dtype


def _eig_type(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    dtype = _check(a)
    return ArrayType(a.shape[:-1], dtype), ArrayType(a.shape, dtype)


def _largest(vectors: Any) -> Any:
    """The number of the largest element of each vector, the one that is real."""
    sizes = np.real(vectors) ** 2 + np.imag(vectors) ** 2
    return np.argmax(sizes, axis=-2, keepdims=True)


def _normal_cotangent(g: Any, vectors: Any) -> Any:
    """The cotangent of vectors whose norm and phase are free."""
    places = _largest(vectors)
    tops = np.real(np.take_along_axis(vectors, places, axis=-2))
    along = np.sum(g * vectors, axis=-2, keepdims=True)
    rows = np.arange(vectors.shape[-1])[:, None]
    turned = np.where(rows == places, 1j * np.imag(along) / tops, 0.0)
    return g - np.real(along) * np.conj(vectors) - turned


def _eig_vjp(g: Any, y: Any, a: Any) -> Any:
    (g_values, g_vectors), (values, vectors) = g, y
    inner = None
    if g_values is not None:
        inner = identity_like(vectors) * np.expand_dims(g_values, -2)
    if g_vectors is not None:
        turn = inverse_gaps(values) * (vectors.mT @ _normal_cotangent(g_vectors, vectors))
        inner = turn if inner is None else inner + turn
    return np.linalg.solve(vectors.mT, inner @ vectors.mT)


eig = of_matrices(
    name="eig",
    infer=_eig_type,
    vjp=_eig_vjp,
    source="np.linalg.eig({0})",
    cost=times_cubic(25),
    axes="...__->..._,...__",
)


def _order(values: Any, found: Any) -> Any:
    """The permutation matrix from eigenvalues as `eig` finds them to those of `eigvals`, which
    LAPACK need not give in the same order; nan where it cannot be told."""
    distances = np.abs(np.expand_dims(values, -1) - np.expand_dims(found, -2))
    identity = identity_like(distances)
    near = 1e-6 * np.max(np.abs(found), axis=-1, keepdims=True)
    places = np.argmin(distances + np.expand_dims(near, -1) * (1.0 - identity), axis=-1)
    numbers = np.arange(found.shape[-1])
    order = (np.expand_dims(places, -1) == numbers).astype(values.dtype)
    return order / (np.sum(order, axis=-2, keepdims=True) == 1.0)


def _eigvals_vjp(g: Any, y: Any, a: Any) -> Any:
    values, vectors = eig(a)
    moved = np.expand_dims(g, -2) @ _order(y, values)
    return np.linalg.solve(vectors.mT, (identity_like(vectors) * moved) @ vectors.mT)


eigvals = of_matrices(
    np.linalg.eigvals,
    canonical=lambda a: ((a,), {}),
    infer=lambda a: ArrayType(a.shape[:-1], _check(a)),
    vjp=_eigvals_vjp,
    source="np.linalg.eigvals({0})",
    cost=times_cubic(25),
    axes="...__->..._",
)
EigResult: Any = type(np.linalg.eig(np.eye(1)))
answer(np.linalg.eig, lambda a: EigResult(*eig(a)))
