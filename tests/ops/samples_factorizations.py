"""Samples of least squares, pseudo-inverses, condition numbers, eigenvalues and QR factors."""

from __future__ import annotations

import math

import numpy as np
from samples_linalg import EMPTY, INTEGERS, NONE, definite, each, regular, spread, symmetric
from table import Sample, complex_normal, low, normal

TALL = (np.zeros((3, 0)), np.zeros(3))
# NumPy before 2.3 has no maximum of no singular values.
RANK_OF_NOTHING = np.lib.NumpyVersion(np.__version__) >= "2.3.0"
LEAST_SQUARES = [
    Sample("lstsq", lambda a, b: np.linalg.lstsq(a, b), (a, b), holomorphic=False)
    for a, b in (
        (normal(5, 2), normal(5)),
        (normal(5, 2), normal(5, 3)),
        (normal(2, 4), normal(2)),
        (normal(2, 4), normal(2, 3)),
        (regular(3, 3), normal(3, 2)),
        (normal(5, 2)[::-1], normal(10)[::2]),
    )
]
LEAST_SQUARES += [
    Sample("lstsq", lambda a, b: np.linalg.lstsq(a, b)[:2], (a, b), holomorphic=False)
    for a, b in (
        (complex_normal(4, 2), complex_normal(4)),
        (complex_normal(2, 3), normal(2)),
        (normal(4, 2), complex_normal(4, 2)),
    )
]
LEAST_SQUARES += [
    Sample("lstsq", lambda a, b: np.linalg.lstsq(a, b, 1e-10)[0], (normal(4, 2), normal(4))),
    Sample("lstsq", lambda a, b: np.linalg.lstsq(a, b, rcond=-1)[0], (normal(4, 2), normal(4))),
    Sample("lstsq", lambda a, b: np.linalg.lstsq(a, b)[0], (INTEGERS[:, :2], np.arange(3))),
    Sample("lstsq", lambda a: np.linalg.lstsq(a, [1.0, 2, 4])[0], (low(normal(3, 2)),), order=1),
    Sample("lstsq", lambda b: np.linalg.lstsq([[1.0, 2], [1, 3], [1, 7]], b), (normal(3),)),
    Sample("lstsq", lambda a: np.linalg.lstsq(a, np.ones(4))[3], (spread(4, 2),)),
    Sample("lstsq", lambda a: np.linalg.lstsq(a, np.ones(4))[2], (spread(4, 2),)),
    Sample(
        "residuals_of_full_rank",
        lambda a, b: np.linalg.lstsq(a, b)[1],
        (normal(5, 2), normal(5, 3)),
        holomorphic=False,
    ),
    Sample("lstsq", np.linalg.lstsq, (INTEGERS, np.arange(3)), zero_size=TALL),
]
LEAST_SQUARES = [
    Sample(
        s.op, s.call, s.args, order=s.order, holomorphic=False, zero_size=s.zero_size, float32=False
    )
    for s in LEAST_SQUARES
]
PINV = [
    *each("pinv", lambda a: np.linalg.pinv(a, rtol=None), normal(3, 2), low(normal(2, 3))),
    *each("pinv", lambda a: np.linalg.pinv(a, hermitian=True), symmetric(3, 3)),
    *each("pinv", lambda a: np.linalg.pinv(a, 1e-9, True), symmetric(2, 3, 3)),
    *each(
        "pinv", lambda a: np.linalg.pinv(a, hermitian=True), definite(3, 3, matrix=complex_normal)
    ),
    *each("pinv", lambda a: np.linalg.pinv(a, hermitian=True), regular(3, 3)),
]
PINV = [Sample(s.op, s.call, s.args, holomorphic=False) for s in PINV]
RANK = [
    Sample("matrix_rank", lambda a: np.linalg.matrix_rank(A=a), (INTEGERS,)),
    Sample("inv", lambda a: np.linalg.inv(a=a), (regular(3, 3),)),
    Sample("det", lambda a: np.linalg.det(a=a), (regular(3, 3),)),
    Sample("eigvals", lambda a: np.linalg.eigvals(a=a), (INTEGERS + 0j,), order=0),
    *each("matrix_rank", np.linalg.matrix_rank, normal(3, 2), normal(2, 3, 3), INTEGERS),
    *each("matrix_rank", lambda a: np.linalg.matrix_rank(a, 0.5), spread(3, 2) * 0.3),
    *each("matrix_rank", lambda a: np.linalg.matrix_rank(a, hermitian=True), symmetric(3, 3)),
    *each("matrix_rank", lambda a: np.linalg.matrix_rank(a, rtol=0.4), complex_normal(2, 3, 3)),
    *each(
        "matrix_rank",
        np.linalg.matrix_rank,
        normal(2, 2),
        zero_size=(EMPTY,) if RANK_OF_NOTHING else None,
    ),
]
COND = [
    Sample("cond", lambda a, p=p: np.linalg.cond(a, p), (array,), holomorphic=False)
    for p in (None, 2, -2, "fro", "nuc", 1, -1, math.inf, -math.inf)
    for array in (
        spread(3, 3) + 0.1 * normal(3, 3),
        spread(2, 3, 3) + 0.1 * normal(2, 3, 3),
        spread(3, 3, matrix=complex_normal),
    )
]
COND += [
    *each("cond", np.linalg.cond, spread(4, 2), spread(2, 2, 3), holomorphic=False),
    *each("cond", np.linalg.cond, normal(1, 1), normal(1, 3), holomorphic=False),
    *each("cond", np.linalg.cond, INTEGERS, np.ones((2, 2), int), low(spread(3, 3)), order=1),
    *each("cond", lambda a: np.linalg.cond(a, 1), np.ones((2, 2)), differentiable=False),
    *each("cond", np.linalg.cond, np.zeros((2, 2)), differentiable=False),
    *each("cond", lambda a: np.linalg.cond(a, 1), np.full((2, 2), np.nan), differentiable=False),
]
COND = [Sample(s.op, s.call, s.args, s.differentiable, s.order, False) for s in COND]


def complexes(*shape):
    """Complex matrices whose eigenvalues are apart."""
    vectors = complex_normal(*shape) + 2.0 * np.eye(shape[-1])
    return vectors @ (np.linalg.inv(vectors) * (1.0 + np.arange(shape[-1]))[:, None])


def sines(a):
    """A function of the eigenvalues in any order: LAPACK's may jump."""
    return np.sum(np.sin(np.linalg.eigvals(a)), axis=-1)


APART = np.diag([1.0, 2.0j, -3.0]) + 0.1 * complex_normal(3, 3)
EIGENVALUES = [
    *each("eig", np.linalg.eig, complexes(3, 3), complexes(2, 3, 3), complexes(4, 4).T),
    *each("eig", lambda a: np.linalg.eig(a).eigenvalues, complexes(3, 3), zero_size=(EMPTY + 0j,)),
    *each("eig", lambda a: np.linalg.eig(a)[1], complexes(3, 3), zero_size=(NONE + 0j,)),
    *each("eig", lambda a: np.linalg.eig(a.astype(complex)), regular(3, 3) @ np.diag([1.0, 3, 7])),
    *each("eigvals", np.linalg.eigvals, APART, zero_size=(NONE + 0j,)),
    *each("eigvals", sines, complexes(2, 3, 3), complexes(4, 4), low(complexes(3, 3))),
    *each("eigvals", lambda a: sines(a * (1 + 0j)), normal(3, 3), spread(4, 4)),
    *each("eig", np.linalg.eig, INTEGERS + 0j, order=1),
    *each("eig", np.linalg.eig, low(complexes(3, 3)), differentiable=False),
    *each("eigvals", np.linalg.eigvals, INTEGERS + 0j, low(complexes(3, 3)), order=0),
]
EIGENVALUES = [
    Sample(s.op, s.call, s.args, s.differentiable, s.order, False, s.zero_size) for s in EIGENVALUES
]
HERMITIAN = [
    *each("svd", lambda a: np.linalg.svd(a, hermitian=True), spread(3, 3), holomorphic=False),
    *each(
        "svd",
        lambda a: np.linalg.svd(a, hermitian=True).S,
        symmetric(2, 3, 3) - 2.4 * np.eye(3),
        holomorphic=False,
    ),
    *each(
        "svdvals",
        lambda a: np.linalg.svd(a, True, False, True),
        symmetric(3, 3) - 2.4 * np.eye(3),
        holomorphic=False,
    ),
]
HERMITIAN = [
    Sample("eigh" if s.op == "svd" else "eigvalsh", s.call, s.args, holomorphic=False)
    for s in HERMITIAN
]
QR = [
    *each("qr", np.linalg.qr, normal(2, 4), normal(3, 2, 3), complex_normal(3, 3)),
    *each("qr", np.linalg.qr, complex_normal(4, 2), complex_normal(2, 3, 2), complex_normal(2, 4)),
    *each("qr", lambda a: np.linalg.qr(a).Q, normal(2, 4), complex_normal(3, 2)),
    *each("qr", lambda a: np.linalg.qr(a).R, normal(2, 4), complex_normal(3, 2)),
    *each("qr", lambda a: np.linalg.qr(a, "complete"), normal(2, 4), normal(3, 3)),
    *each("qr", lambda a: np.linalg.qr(a, mode="complete"), normal(4, 2), differentiable=False),
    *each("qr_r", lambda a: np.linalg.qr(a, "r"), normal(4, 2), normal(2, 3, 2), normal(2, 3)),
    *each("qr_r", lambda a: np.linalg.qr(a, mode="r"), complex_normal(3, 3), INTEGERS),
]
QR = [Sample(s.op, s.call, s.args, s.differentiable, holomorphic=False) for s in QR]


SAMPLES = [*LEAST_SQUARES, *PINV, *RANK, *COND, *EIGENVALUES, *HERMITIAN, *QR]
