"""numpy.linalg: Cholesky factors, eigenvalues of symmetric matrices, singular values.

`cholesky` and `eigh` read one triangle of a matrix, and the gradient is that of what they compute:
zero in the other triangle. (G + G^T) / 2 is the symmetric form that other libraries give. The two
agree along every symmetric direction, so what the matrix was computed from has the same gradient.

A gradient through values alone (eigenvalues, singular values) is right wherever they differ.
Vectors are determined up to a sign, and complex ones up to a phase (tracejit.ops.linalg.phases).
Their gradient divides by the differences of the values: it is infinite or nan where two are equal,
unless both belong to vectors that are sliced off. Near a tie it loses as many digits as the gap has
zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.graph import Constant
from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import answer
from tracejit.ops.linalg.linalg import (
    added,
    check_matrix,
    check_square,
    identity_like,
    linalg_dtype,
    lower_inverse,
    of_matrices,
    real_dtype,
    square_type,
    times_cubic,
)
from tracejit.ops.linalg.phases import adjoint, along, turned
from tracejit.ops.linalg.products import conj
from tracejit.ops.linalg.triangles import lower_half, lower_half_product
from tracejit.support.errors import fail


def gaps_of(values: Any) -> Any:
    """The matrix of values[j] - values[i]."""
    return np.expand_dims(values, -2) - np.expand_dims(values, -1)


def inverse_gaps(values: Any) -> Any:
    """The matrix of 1 / (values[j] - values[i]), zero on the diagonal."""
    gaps = gaps_of(values)
    identity = identity_like(gaps)
    return 1.0 / (gaps + identity) - identity


def asked_of(g: Any, axis: int) -> Any:
    """Say of each vector along an axis, -1 or -2, if its cotangent `g` asks anything of it: not of
    those that are sliced off, where it is zero whatever the numbers. None if it may of all."""
    value = getattr(g, "_value", None)
    if value is None or value.node is None or not all(type(n) is int for n in value.type.shape):
        return None
    node, parts = value.node, [g._beside(one) for one in value.node.operands]
    match node.op.name:
        case "put_slice" | "put_at" if all(isinstance(x, Constant) for x in node.operands[1:]):
            places = [one.data for one in node.operands[1:]]
            placed = node.op.evaluate(np.ones(parts[0].shape, bool), *places, **node.params)
            return np.any(placed, axis=tuple(k for k in range(-placed.ndim, 0) if k != axis))
        case "negative" | "conjugate":
            return asked_of(parts[0], axis)
        case "add":
            return both_asked(*[asked_of(one, axis) for one in parts])
        case "multiply":
            known = [asked_of(one, axis) for one in parts if np.shape(one) == np.shape(g)]
            return next((one for one in known if one is not None), None)
    return None


def both_asked(one: Any, other: Any) -> Any:
    """Say the same of two cotangents together."""
    return None if one is None or other is None else one | other


def rotation(turn: Any, gaps: Any, asked: Any) -> Any:
    """(turn - turn^H) / gaps, by how much an orthonormal basis is asked to turn: zero on the
    diagonal, and for two vectors of neither of which anything is asked."""
    idle = identity_like(gaps) == 1.0
    if asked is not None:
        idle = idle | ~(asked[:, None] | asked)
    return np.where(idle, 0.0, (turn - adjoint(turn)) / np.where(idle, 1.0, gaps))


def _over_values(x: Any, values: Any, asked: Any) -> Any:
    """x / values, zero for vectors of which nothing is asked."""
    if asked is None:
        return x / values
    return np.where(asked, x / np.where(asked, values, 1.0), 0.0)


# Cholesky factors


def hermitian(x: Any) -> Any:
    """The Hermitian matrix of which `x` is the lower half; what it has above is left out."""
    half = lower_half(x)
    return half + conj(half).mT


def _cholesky_vjp(g: Any, y: Any, a: Any) -> Any:
    """Murray, Differentiation of the Cholesky decomposition (2016), for the lower triangle of a."""
    half = lower_half_product(y, g)
    inverse = lower_inverse(y)
    return lower_half_product(inverse, (half + conj(half).mT) @ conj(inverse))


cholesky = of_matrices(
    name="cholesky",
    infer=square_type,
    vjp=_cholesky_vjp,
    source="np.linalg.cholesky({0})",
)
cholesky_upper = of_matrices(
    name="cholesky_upper",
    infer=square_type,
    vjp=lambda g, y, a: adjoint(_cholesky_vjp(adjoint(g), adjoint(y), a)),
    source="np.linalg.cholesky({0}, upper=True)",
)
answer(np.linalg.cholesky, lambda a, /, *, upper=False: (cholesky_upper if upper else cholesky)(a))


# Eigenvalues


def _eigh_type(a: ArrayType, uplo: str = "L") -> tuple[ArrayType, ArrayType]:
    check_square(a)
    dtype = linalg_dtype(a)
    return ArrayType(a.shape[:-1], real_dtype(dtype)), ArrayType(a.shape, dtype)


def _triangle(x: Any, uplo: str) -> Any:
    """The lower half of a Hermitian matrix, or its upper half."""
    return lower_half(x) if uplo == "L" else conj(lower_half(conj(x).mT)).mT


def of_spectrum(g: Any, vectors: Any) -> Any:
    """The cotangent of a Hermitian matrix of which only the eigenvalues are used."""
    return (conj(vectors) * np.expand_dims(g, -2)) @ vectors.mT


def _eigh_vjp(g: Any, y: Any, a: Any, uplo: str = "L") -> Any:
    """Giles, An extended collection of matrix derivative results (2008), section 3.1."""
    (g_values, g_vectors), (values, vectors) = g, y
    change = None if g_values is None else of_spectrum(g_values, vectors)
    if g_vectors is not None:
        asked = asked_of(g_vectors, -1)
        if vectors.dtype.kind == "c":
            g_vectors = turned(g_vectors, along(g_vectors, vectors), vectors, uplo == "U")
        turn = rotation(vectors.mT @ g_vectors, gaps_of(values), asked)
        change = added(change, 0.5 * (conj(vectors) @ turn @ vectors.mT))
    return _triangle(change + adjoint(change), uplo)


def _eigh_source(function: str) -> Callable[..., str]:
    return lambda types, uplo="L": (
        f"np.linalg.{function}({{0}})" if uplo == "L" else f"np.linalg.{function}({{0}}, 'U')"
    )


def _eigh_call(a: Any, UPLO: str = "L") -> tuple[tuple[Any], dict[str, Any]]:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return (a,), {"uplo": "U"} if UPLO.upper() == "U" else {}


eigh = of_matrices(
    name="eigh",
    canonical=_eigh_call,
    infer=_eigh_type,
    vjp=_eigh_vjp,
    source=_eigh_source("eigh"),
    cost=times_cubic(9),
    axes="...__->..._,...__",
)
eigvalsh = of_matrices(
    np.linalg.eigvalsh,
    canonical=_eigh_call,
    infer=lambda a, uplo="L": _eigh_type(a)[0],
    vjp=lambda g, y, a, uplo="L": _triangle(2.0 * of_spectrum(g, np.linalg.eigh(a, uplo)[1]), uplo),
    source=_eigh_source("eigvalsh"),
    cost=times_cubic(4),
    axes="...__->..._",
)
EighResult: Any = type(np.linalg.eigh(np.eye(1)))
answer(np.linalg.eigh, lambda *args, **keywords: EighResult(*eigh.record_call(*args, **keywords)))


# Singular values


def _svd_type(a: ArrayType, full: bool) -> tuple[ArrayType, ArrayType, ArrayType]:
    check_matrix(a)
    *stack, rows, columns = a.shape
    dtype, size = linalg_dtype(a), min(rows, columns)
    left, right = (rows, columns) if full else (size, size)
    return (
        ArrayType((*stack, rows, left), dtype),
        ArrayType((*stack, size), real_dtype(dtype)),
        ArrayType((*stack, right, columns), dtype),
    )


def singular_values_vjp(g: Any, u: Any, vh: Any) -> Any:
    """The cotangent of a matrix of which only the singular values are used."""
    return (conj(u) * np.expand_dims(g, -2)) @ conj(vh)


def _has_free_vectors(a: Any, full: bool) -> bool:
    """Return whether there are vectors that belong to no value: these are an arbitrary basis,
    without a derivative."""
    return full and a.shape[-2] != a.shape[-1]


def _unturned(g_u: Any, g_v: Any, u: Any, s: Any, v: Any, asked: Any) -> tuple[Any, Any, Any]:
    """The cotangents of complex vectors before their phase was chosen, and that of the diagonal of
    u^H da v, by whose imaginary part the phases of left and right vectors come apart."""
    g_u = np.zeros_like(u) if g_u is None else g_u
    g_v = np.zeros_like(v) if g_v is None else g_v
    left, right = along(g_u, u), along(g_v, v)
    if u.shape[-2] >= v.shape[-2]:
        apart = np.imag(left)
        g_v = turned(g_v, left + right, v)
    else:
        apart = -np.imag(right)
        g_u = turned(g_u, left + right, u)
    apart = _over_values(apart, np.expand_dims(s, -2), asked)
    return g_u, g_v, identity_like(u.mT @ u) * (1j * apart)


def _svd_vjp(g: Any, y: Any, a: Any, full: bool) -> Any:
    """Townsend, Differentiating the singular value decomposition (2016)."""
    (g_u, g_s, g_vh), (u, s, vh) = g, y
    if _has_free_vectors(a, full):
        if not (g_u is None and g_vh is None):
            raise fail("no-rule", None, op="the vectors of svd with full_matrices=True")
        u, _, vh = reduced_svd(a)
    change = None if g_s is None else singular_values_vjp(g_s, u, vh)
    if g_u is None and g_vh is None:
        return change
    known = [asked_of(g, axis) for g, axis in ((g_u, -1), (g_vh, -2)) if g is not None]
    asked = both_asked(known[0], known[-1])
    if u.dtype.kind == "c":
        g_v = None if g_vh is None else adjoint(g_vh)
        g_u, g_v, apart = _unturned(g_u, g_v, u, s, adjoint(vh), asked)
        g_vh = adjoint(g_v)
        change = added(change, conj(u) @ apart @ conj(vh))
    row, column = np.expand_dims(s, -2), np.expand_dims(s, -1)
    gaps = (row - column) * (row + column)
    if g_u is not None:
        inside = u.mT @ g_u
        inner = conj(u) @ (rotation(inside, gaps, asked) * row)
        if u.shape[-2] > u.shape[-1]:
            inner = inner + _over_values(g_u - conj(u) @ inside, row, asked)
        change = added(change, inner @ conj(vh))
    if g_vh is not None:
        inside = conj(vh @ g_vh.mT)
        inner = (column * rotation(inside, gaps, asked)) @ conj(vh)
        if vh.shape[-1] > vh.shape[-2]:
            inner = inner + _over_values(
                g_vh - adjoint(inside) @ conj(vh), column, None if asked is None else asked[:, None]
            )
        change = added(change, conj(u) @ inner)
    return change


def reduced_svd(a: Any) -> Any:
    """The decomposition without the vectors that belong to no value."""
    return svd(a, full=False)


svd = of_matrices(
    name="svd",
    infer=_svd_type,
    vjp=_svd_vjp,
    source=lambda types, full: (
        "np.linalg.svd({0})" if full else "np.linalg.svd({0}, full_matrices=False)"
    ),
    cost=times_cubic(10),
    factorization="svd",
    axes="...__->...__,..._,...__",
)
svdvals = of_matrices(
    name="svdvals",
    infer=lambda a: _svd_type(a, False)[1],
    vjp=lambda g, y, a: singular_values_vjp(g, *reduced_svd(a)[::2]),
    source="np.linalg.svd({0}, compute_uv=False)",
    cost=times_cubic(4),
    factorization="svd",
    axes="...__->..._",
)
SVDResult: Any = type(np.linalg.svd(np.eye(1)))


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    """By the eigenvalues, as NumPy does it: the largest modulus first, the sign in the rows."""
    if not compute_uv:
        return np.sort(np.abs(np.linalg.eigvalsh(a)))[..., ::-1]
    values, u = np.linalg.eigh(a)
    signs, values = np.copysign(1.0, values), np.abs(values)
    order = np.argsort(values)[..., ::-1]
    signs = np.take_along_axis(signs, order, axis=-1)
    values = np.take_along_axis(values, order, axis=-1)
    u = np.take_along_axis(u, order[..., None, :], axis=-1)
    return SVDResult(u, values, np.conjugate((u * signs[..., None, :]).mT))


def _svd_call(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """The decomposition, or its values alone."""
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    return SVDResult(*svd(a, full=bool(full_matrices))) if compute_uv else svdvals(a)


answer(np.linalg.svd, _svd_call)
answer(np.linalg.svdvals, lambda x, /: svdvals(x))
