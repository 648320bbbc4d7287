"""Samples of scipy.linalg: inverses, least squares, norms, eigenvalues, singular values."""

from __future__ import annotations

import numpy as np
from samples_linalg import definite, regular, spread, symmetric
from samples_scipy_linalg import where_stacked
from table import Sample, complex_normal, distinct, low, normal

from tracejit.scipy import linalg as sl

C = complex_normal


def each(op, call, *arrays, **fields):
    """A sample for every array."""
    return [Sample(op, call, (array,), holomorphic=False, **fields) for array in arrays]


INVERSES = [
    *each("scipy_inv", sl.inv, regular(3, 3), regular(3, 3, matrix=C), low(regular(3, 3))),
    *each("scipy_inv", lambda a: sl.inv(a, check_finite=False), regular(2, 2)),
    *where_stacked("scipy_inv", sl.inv, regular(2, 3, 3), holomorphic=False),
    *each("scipy_det", sl.det, regular(3, 3), regular(3, 3, matrix=C), low(regular(3, 3))),
    *where_stacked("scipy_det", sl.det, regular(2, 3, 3), holomorphic=False),
    *each("scipy_pinv", sl.pinv, spread(3, 2), spread(2, 3), spread(3, 2, matrix=C)),
    *each("scipy_pinv", lambda a: sl.pinv(a, rtol=1e-3), spread(3, 3)),
    *each("pinvh", sl.pinvh, symmetric(3, 3), symmetric(3, 3, matrix=C)),
    *each("pinvh", lambda a: sl.pinvh(a, lower=False), symmetric(3, 3) + 0.1 * normal(3, 3)),
]
LSTSQ = [
    Sample(op, lambda a, b, part=part: sl.lstsq(a, b)[part], args, holomorphic=False, **fields)
    for op, part, fields in (
        ("scipy_lstsq", 0, {}),
        ("lstsq_residuals", 1, {}),
        ("lstsq_rank", 2, {"differentiable": False}),
        ("lstsq_values", 3, {}),
    )
    for args in (
        (spread(4, 2), normal(4)),
        (spread(4, 2), normal(4, 3)),
        (low(spread(4, 2)), low(normal(4))),
    )
]
LSTSQ += [
    *[
        Sample(
            op,
            lambda a, b, part=part: sl.lstsq(a, b)[part],
            (spread(4, 2, matrix=C), C(4)),
            holomorphic=False,
            order=order,
        )
        for op, part, order in (
            ("scipy_lstsq", 0, 2),
            ("lstsq_residuals", 1, 2),
            ("lstsq_values", 3, 1),
        )
    ],
    Sample(
        "scipy_lstsq", lambda a, b: sl.lstsq(a, b)[0], (spread(2, 4), normal(2)), holomorphic=False
    ),
    Sample(
        "scipy_lstsq",
        lambda a, b: sl.lstsq(a, b, lapack_driver="gelsy", cond=1e-6)[0],
        (spread(4, 2), normal(4)),
        holomorphic=False,
    ),
]
NORMS = [
    *each("scipy_norm", lambda a: a * sl.norm(a), normal(4), C(4), float32=False),
    *each("scipy_norm", lambda a: a * sl.norm(a, 2, check_finite=False), normal(4), float32=False),
    *[
        sample
        for ord in (1, np.inf)
        for sample in each(
            "scipy_matrix_norm",
            lambda a, ord=ord: a * sl.norm(a, ord),
            distinct(3, 4),
            C(3, 3),
            float32=False,
        )
    ],
    *each("norm", lambda a: sl.norm(a), normal(3, 3)),
    *each("norm", lambda a: sl.norm(a, axis=0), normal(3, 3)),
    *each("norm", lambda a: sl.norm(a, 3), normal(3)),
]


def eigh(**keywords):
    """eigh with keywords."""
    return lambda *arrays: sl.eigh(*arrays, **keywords)


def squared(call):
    """A call with the last result squared: vectors without their signs."""

    def signless(*arrays):
        *values, vectors = call(*arrays)
        return *values, vectors**2

    return signless


SPECTRA = [
    *[
        sample
        for keywords in ({}, {"lower": False}, {"driver": "ev"})
        for sample in each(
            "scipy_eigh",
            squared(eigh(**keywords)),
            symmetric(3, 3),
            symmetric(3, 3) + 0.1 * normal(3, 3),
            low(symmetric(3, 3)),
        )
    ],
    *each("scipy_eigh", squared(sl.eigh), symmetric(3, 3, matrix=C)),
    *each("scipy_eigh", sl.eigh, symmetric(3, 3), differentiable=False),
    *where_stacked("scipy_eigh", squared(sl.eigh), symmetric(2, 3, 3), holomorphic=False),
    *[
        sample
        for call in (sl.eigvalsh, lambda a: sl.eigvalsh(a, lower=False), eigh(eigvals_only=True))
        for sample in each("scipy_eigvalsh", call, symmetric(3, 3), symmetric(3, 3) + normal(3, 3))
    ],
    *each("scipy_eigvalsh", sl.eigvalsh, symmetric(3, 3, matrix=C)),
    *[
        Sample("eigh_pair", call, (symmetric(3, 3), definite(3, 3)), holomorphic=False)
        for call in (squared(sl.eigh), squared(eigh(lower=False)))
    ],
    *[
        Sample("eigvalsh_pair", call, (symmetric(3, 3), definite(3, 3)), holomorphic=False)
        for call in (sl.eigvalsh, eigh(eigvals_only=True, lower=False))
    ],
    *each("scipy_eigvals", sl.eigvals, spread(3, 3), spread(4, 4, matrix=C), low(spread(3, 3))),
    *each("scipy_eigvals", lambda a: sl.eig(a, right=False), np.array([[1.0, 3.0], [-1.0, 2.0]])),
    *where_stacked("scipy_eigvals", sl.eigvals, spread(2, 3, 3), holomorphic=False),
    *each("eigenbasis", sl.eigvals, spread(3, 3)),
    *each("scipy_eig", lambda a: sl.eig(a)[0] * 2.0, spread(3, 3, matrix=C), differentiable=False),
    *[
        sample
        for call in (sl.svd, lambda a: sl.svd(a, lapack_driver="gesvd"))
        for sample in each("scipy_svd", call, spread(3, 3), low(spread(3, 3)), float32=False)
    ],
    *each(
        "scipy_svd", lambda a: sl.svd(a, full_matrices=False), spread(3, 2), spread(2, 3), order=1
    ),
    *each("scipy_svdvals", sl.svdvals, spread(3, 2), spread(2, 3)),
    *each("scipy_svdvals", sl.svdvals, spread(3, 3, matrix=C)),
    *each("scipy_svdvals", lambda a: sl.svd(a, compute_uv=False), spread(3, 2)),
    *where_stacked("scipy_svd", sl.svd, spread(2, 3, 3), holomorphic=False),
    Sample(
        "eigh_tridiagonal",
        squared(sl.eigh_tridiagonal),
        (distinct(4), normal(3)),
        holomorphic=False,
    ),
    *[
        Sample("eigvalsh_tridiagonal", call, (distinct(4), normal(3)), holomorphic=False)
        for call in (
            sl.eigvalsh_tridiagonal,
            lambda d, e: sl.eigh_tridiagonal(d, e, eigvals_only=True),
        )
    ],
    *each("polar", sl.polar, regular(3, 3), spread(4, 2), low(regular(3, 3))),
    *each("polar", lambda a: sl.polar(a, side="left"), regular(3, 3), spread(2, 4)),
    Sample("orthogonal_procrustes", sl.orthogonal_procrustes, (normal(5, 3), normal(5, 3))),
]

SAMPLES = INVERSES + LSTSQ + NORMS + SPECTRA
