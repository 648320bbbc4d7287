"""Samples of numpy.linalg: equations, determinants, factorizations and norms."""

from __future__ import annotations

import math

import numpy as np
from table import Sample, complex_normal, distinct, low, normal, positive

from tracejit.ops.base.op import OPS

INTEGERS = np.array([[3, -1, 4], [1, -5, 9], [2, 6, -5]], np.int16)
EMPTY = np.zeros((0, 0))
NONE = np.zeros((0, 2, 2))


def regular(*shape, matrix=normal):
    """Square matrices far from singular."""
    return matrix(*shape) + 3.0 * np.eye(shape[-1])


def definite(*shape, matrix=normal):
    """Hermitian positive definite matrices."""
    a = matrix(*shape)
    return a @ np.conj(a).mT + np.eye(shape[-2])


def spread(*shape, matrix=normal):
    """Matrices whose singular values, or eigenvalues, are well apart."""
    u, _, vh = np.linalg.svd(matrix(*shape), full_matrices=False)
    return (u * (1.0 + np.arange(min(shape[-2:])))) @ vh


def symmetric(*shape, matrix=normal):
    """Hermitian matrices of eigenvalues 1, 2, 3, ..."""
    q = np.linalg.qr(matrix(*shape))[0]
    return (q * (1.0 + np.arange(shape[-1]))) @ np.conj(q).mT


def complexes(*shape):
    """Complex values of modulus 0.5 to 1."""
    rng = np.random.default_rng(sum(shape))
    return rng.uniform(0.5, 1.0, shape) * np.exp(1j * rng.uniform(0.0, 6.0, shape))


def staggered(*shape):
    """Values that grow along every axis, so that no two sums along one are close."""
    return normal(*shape) * math.prod(np.ogrid[tuple(slice(1, 1 + size) for size in shape)])


def signed(*shape):
    """Values of both signs, of modulus 0.3 to 2."""
    return positive(*shape) * np.where(normal(*shape) > 0, 1.0, -1.0)


def each(op, call, *arrays, **fields):
    """A sample for every array."""
    return [Sample(op, call, (array,), **fields) for array in arrays]


SOLVE = [
    Sample("solve", np.linalg.solve, (regular(3, 3), normal(3, 2)), zero_size=(EMPTY, EMPTY)),
    Sample("solve", np.linalg.solve, (regular(2, 3, 3), normal(2, 3, 2))),
    Sample("solve", np.linalg.solve, (regular(2, 3, 3), normal(3, 2)), zero_size=(NONE, np.eye(2))),
    Sample("solve", np.linalg.solve, (regular(3, 3), normal(2, 3, 2))),
    Sample("solve", np.linalg.solve, (regular(2, 3, 3), normal(3))),
    Sample("solve", np.linalg.solve, (regular(3, 3, matrix=complex_normal), normal(3, 2))),
    Sample("solve", np.linalg.solve, (regular(3, 3), complex_normal(3, 2))),
    Sample("solve", np.linalg.solve, (INTEGERS, normal(3, 2))),
    Sample("solve", np.linalg.solve, (low(regular(3, 3)), normal(3, 2))),
    Sample("solve", np.linalg.solve, (low(regular(3, 3)), INTEGERS)),
    Sample("solve", lambda a: np.linalg.solve(a, [[1.0], [2.0]]), (regular(2, 2),)),
    Sample(
        "solve_vector", np.linalg.solve, (regular(3, 3), normal(3)), zero_size=(EMPTY, np.zeros(0))
    ),
    Sample("solve_vector", np.linalg.solve, (regular(3, 3), complex_normal(3))),
    Sample("solve_vector", np.linalg.solve, (low(regular(3, 3)), low(normal(3)))),
    Sample("solve_vector", np.linalg.solve, (INTEGERS, np.arange(3))),
    Sample(
        "solve_vector", lambda a: np.linalg.solve(a.T @ a, a.T @ np.arange(3.0)), (regular(3, 3),)
    ),
    *each("inv", np.linalg.inv, regular(3, 3), zero_size=(EMPTY,)),
    *each("inv", np.linalg.inv, regular(2, 3, 3), zero_size=(NONE,)),
    *each("inv", np.linalg.inv, regular(3, 3, matrix=complex_normal), regular(3, 3).T),
    *each("inv", np.linalg.inv, INTEGERS, low(regular(2, 2))),
    Sample("tensorsolve", np.linalg.tensorsolve, (regular(6, 6).reshape(2, 3, 6), normal(2, 3))),
    Sample(
        "tensorsolve",
        lambda a, b: np.linalg.tensorsolve(a, b, axes=(0,)),
        (regular(6, 6).reshape(6, 2, 3).transpose(0, 1, 2), normal(2, 3)),
    ),
    *each("tensorinv", np.linalg.tensorinv, regular(6, 6).reshape(2, 3, 6)),
    *each("tensorinv", lambda a: np.linalg.tensorinv(a, ind=1), regular(6, 6).reshape(6, 2, 3)),
    *(
        Sample("matrix_power", lambda a, n=n: np.linalg.matrix_power(a, n), (regular(2, 2),))
        for n in (0, 1, 2, 3, 4, 5, 6, 7, -1, -2, -3)
    ),
    *each("matrix_power", lambda a: np.linalg.matrix_power(a, 2), INTEGERS, low(normal(2, 2))),
    *each("matrix_power", lambda a: np.linalg.matrix_power(a, 0), INTEGERS, INTEGERS > 0),
    *each(
        "matrix_power", lambda a: np.linalg.matrix_power(a, 3), normal(2, 2, 2), zero_size=(EMPTY,)
    ),
    *each("matrix_transpose", np.linalg.matrix_transpose, normal(2, 3), normal(2, 3, 4)),
]
PINV = [
    *each("pinv", np.linalg.pinv, normal(3, 2), normal(2, 3), holomorphic=False),
    *each("pinv", np.linalg.pinv, regular(3, 3), normal(2, 3, 2), holomorphic=False),
    *each("pinv", np.linalg.pinv, complex_normal(3, 2), complex_normal(2, 3), holomorphic=False),
    *each("pinv", np.linalg.pinv, low(normal(3, 2)), INTEGERS),
    *each("pinv", lambda a: np.linalg.pinv(a, 1e-10), normal(3, 2), holomorphic=False),
    *each("pinv", lambda a: np.linalg.pinv(a, rtol=0.1), spread(3, 2), holomorphic=False),
    Sample(
        "pinv",
        lambda a, b: np.linalg.pinv(np.outer(a, b), 1e-10),
        (normal(3), normal(2)),
        holomorphic=False,
        float32=False,
    ),
    *each("pinv", np.linalg.pinv, normal(3, 2), zero_size=(np.zeros((0, 2)),), holomorphic=False),
]
DETERMINANT = [
    *each("det", np.linalg.det, regular(3, 3), zero_size=(EMPTY,)),
    *each("det", np.linalg.det, regular(2, 3, 3), zero_size=(NONE,)),
    *each("det", np.linalg.det, regular(4, 4), regular(1, 1), regular(2, 2, 2)),
    *each("det", np.linalg.det, normal(2, 2), regular(3, 3, matrix=complex_normal)),
    *each("det", np.linalg.det, INTEGERS, low(regular(2, 2))),
    *each("slogdet", np.linalg.slogdet, regular(3, 3), zero_size=(EMPTY,), holomorphic=False),
    *each("slogdet", np.linalg.slogdet, regular(2, 3, 3), zero_size=(NONE,), holomorphic=False),
    *each("slogdet", np.linalg.slogdet, -regular(3, 3), holomorphic=False),
    *each("slogdet", np.linalg.slogdet, regular(3, 3, matrix=complex_normal), holomorphic=False),
    *each("slogdet", np.linalg.slogdet, regular(2, 2, 2, matrix=complex_normal), holomorphic=False),
    *each("slogdet", np.linalg.slogdet, INTEGERS, low(regular(2, 2))),
    *each("slogdet", lambda a: np.linalg.slogdet(a)[1], regular(3, 3), holomorphic=False),
    *each("slogdet", lambda a: np.linalg.slogdet(a).logabsdet, regular(3, 3), holomorphic=False),
    *each(
        "slogdet",
        lambda a: np.linalg.slogdet(a).sign,
        regular(3, 3, matrix=complex_normal),
        holomorphic=False,
    ),
    *each("trace", lambda a: np.linalg.trace(a), normal(3, 3), normal(2, 3, 4)),
    *each("trace", lambda a: np.linalg.trace(a, offset=1), normal(2, 3, 4)),
]
INVERSE_OF_LOWER = [
    *each("lower_inverse", lambda a: OPS["lower_inverse"](np.tril(a)), regular(3, 3)),
    *each("lower_inverse", lambda a: OPS["lower_inverse"](np.tril(a)), regular(2, 3, 3)),
    *each(
        "lower_inverse",
        lambda a: OPS["lower_inverse"](np.tril(a)),
        0.1 * normal(35, 35) + np.eye(35),
        0.1 * normal(2, 33, 33) + np.eye(33),
        order=1,
    ),
    *each("lower_half", OPS["lower_half"], normal(3, 3), normal(2, 3, 3)),
]


MASK = np.tri(3, 4, dtype=bool)


def masked_product(a, b):
    """a @ b, of which the lower triangle of `a` counts."""
    return OPS["masked_product"](a, MASK, b)


def lower_half_product(a, b):
    """The lower half of a.mT @ b, `a` being taken for lower triangular."""
    return OPS["lower_half_product"](np.tril(a), b)


LOWER_HALF_PRODUCT = [
    Sample("lower_half_product", lower_half_product, arrays, **fields)
    for arrays, fields in (
        ((normal(3, 3), normal(3, 3)), {}),
        ((normal(2, 3, 3), normal(3, 3)), {}),
        ((normal(100, 100), normal(100, 100)), {"order": 1}),
        ((normal(2, 97, 97), normal(2, 97, 97)), {"order": 1}),
        ((normal(97, 97), normal(2, 97, 97)), {"order": 1}),
    )
]
LOWER_HALF_PRODUCT.append(
    Sample("masked_product", masked_product, (normal(3, 4), normal(4, 2)), zero_size=())
)
CHOLESKY = [
    *each("cholesky", np.linalg.cholesky, definite(3, 3), zero_size=(EMPTY,), holomorphic=False),
    *each("cholesky", np.linalg.cholesky, definite(2, 3, 3), zero_size=(NONE,), holomorphic=False),
    *each("cholesky", np.linalg.cholesky, definite(3, 3, matrix=complex_normal), holomorphic=False),
    *each("cholesky", np.linalg.cholesky, np.tril(definite(3, 3)), holomorphic=False),
    *each(
        "cholesky",
        lambda a: np.linalg.cholesky(a @ a.T + np.eye(3)),
        normal(3, 2),
        holomorphic=False,
    ),
    *each(
        "cholesky",
        np.linalg.cholesky,
        np.array([[4, 0], [2, 3]]),
        low(definite(2, 2)),
        holomorphic=False,
    ),
    *(
        Sample(
            "cholesky_upper", lambda a: np.linalg.cholesky(a, upper=True), (a,), holomorphic=False
        )
        for a in (definite(3, 3), definite(2, 2, 2), definite(2, 2, matrix=complex_normal))
    ),
]
EIGEN = [
    *each("eigh", np.linalg.eigh, symmetric(3, 3), zero_size=(EMPTY,), holomorphic=False),
    *each("eigh", np.linalg.eigh, symmetric(2, 3, 3), holomorphic=False),
    *each("eigh", lambda a: np.linalg.eigh(a, UPLO="U"), symmetric(3, 3), holomorphic=False),
    *each("eigh", lambda a: np.linalg.eigh(a)[0], symmetric(3, 3), holomorphic=False),
    *each("eigh", lambda a: np.linalg.eigh(a).eigenvectors, symmetric(3, 3), holomorphic=False),
    *each(
        "eigh",
        lambda a: np.linalg.eigh(a, "u"),
        symmetric(2, 2, matrix=complex_normal),
        symmetric(2, 3, 3, matrix=complexes),
        holomorphic=False,
    ),
    *each("eigh", np.linalg.eigh, symmetric(3, 3, matrix=complexes), holomorphic=False),
    *each("eigh", np.linalg.eigh, INTEGERS, low(symmetric(3, 3)), holomorphic=False, order=1),
    *each("eigvalsh", np.linalg.eigvalsh, symmetric(3, 3), zero_size=(EMPTY,), holomorphic=False),
    *each("eigvalsh", np.linalg.eigvalsh, symmetric(2, 3, 3), holomorphic=False),
    *each("eigvalsh", lambda a: np.linalg.eigvalsh(a, "U"), symmetric(3, 3), holomorphic=False),
    *each(
        "eigvalsh",
        np.linalg.eigvalsh,
        symmetric(3, 3, matrix=complex_normal),
        holomorphic=False,
    ),
    *each(
        "eigvalsh",
        lambda a: np.linalg.eigvalsh(a, "U"),
        symmetric(3, 3, matrix=complex_normal),
        holomorphic=False,
    ),
    *each("eigvalsh", np.linalg.eigvalsh, INTEGERS, low(symmetric(3, 3)), order=1),
]
SINGULAR = [
    *(
        Sample(
            "svd",
            lambda a: np.linalg.svd(a, full_matrices=False),
            (spread(*shape),),
            holomorphic=False,
        )
        for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2))
    ),
    *each("svd", np.linalg.svd, spread(3, 3), holomorphic=False),
    *each("svd", np.linalg.svd, spread(4, 2), differentiable=False),
    *each(
        "svd",
        lambda a: np.linalg.svd(a, full_matrices=False),
        spread(2, 2, matrix=complex_normal),
        spread(3, 2, matrix=complexes),
        spread(2, 2, 3, matrix=complexes),
        holomorphic=False,
    ),
    *each(
        "svd", lambda a: np.linalg.svd(a, full_matrices=False).U, spread(3, 2), holomorphic=False
    ),
    *each(
        "svd", lambda a: np.linalg.svd(a, full_matrices=False).Vh, spread(2, 3), holomorphic=False
    ),
    *each("svdvals", lambda a: np.linalg.svd(a, compute_uv=False), spread(3, 2), holomorphic=False),
    *each("svdvals", np.linalg.svdvals, spread(2, 3), spread(2, 3, 3), holomorphic=False),
    *each(
        "svdvals",
        np.linalg.svdvals,
        spread(3, 2, matrix=complex_normal),
        holomorphic=False,
    ),
    *each(
        "svdvals",
        np.linalg.svdvals,
        INTEGERS,
        low(spread(3, 2)),
        zero_size=(np.zeros((0, 2)),),
        order=1,
    ),
    *each("qr", np.linalg.qr, regular(3, 3), normal(4, 2), normal(2, 3, 2), holomorphic=False),
    *each("qr", np.linalg.qr, INTEGERS),
    *each("qr", lambda a: np.linalg.qr(a).R, regular(3, 3), holomorphic=False),
    *each("qr", lambda a: np.linalg.qr(a)[0], normal(4, 2), holomorphic=False),
]


def norm(*arrays, order=2, **keywords):
    """Samples of np.linalg.norm with these keywords."""
    return each(
        "norm", lambda x: np.linalg.norm(x, **keywords), *arrays, holomorphic=False, order=order
    )


EUCLIDEAN = [
    *norm(normal(4), normal(2, 3), normal(2, 3, 2), np.array(-1.3), np.float64(1.7)),
    *each("norm", np.linalg.norm, normal(3), zero_size=(np.zeros(0),), holomorphic=False),
    *norm(complex_normal(4), complex_normal(2, 3)),
    *norm(INTEGERS, low(normal(3)), np.array([True, False])),
    *norm(normal(4), ord=2),
    *norm(normal(2, 3), ord="fro"),
    *norm(normal(2, 3), ord="f", keepdims=True),
    *norm(normal(2, 3), keepdims=True),
    *norm(normal(4), normal(2, 4), axis=-1),
    *norm(normal(2, 4), complex_normal(2, 4), low(normal(2, 4)), INTEGERS, axis=0),
    *norm(normal(2, 4), axis=1, keepdims=True),
    *norm(normal(2, 4), ord=2, axis=(1,)),
    *norm(normal(2, 3, 4), complex_normal(2, 3, 4), axis=(0, 2)),
    *norm(normal(2, 3, 4), axis=(-1, 0), keepdims=True),
    *norm(normal(2, 3), ord="fro", axis=(0, 1)),
]
POWERS = [
    *norm(signed(4), complex_normal(4), INTEGERS[0], ord=3),
    *norm(signed(2, 4), ord=3, axis=0),
    *norm(signed(2, 4), ord=2.5, axis=-1, keepdims=True),
    *norm(signed(4), low(signed(4)), ord=1.5),
    *norm(signed(4), ord=0.5),
    *norm(signed(4), ord=-1),
    *norm(signed(2, 4), ord=-2, axis=1),
]
LARGEST = [
    *norm(signed(4), complex_normal(4), low(signed(4)), INTEGERS[0], ord=1),
    *norm(signed(2, 4), ord=1, axis=0),
    *norm(10 * distinct(4), low(10 * distinct(4)), INTEGERS[0], ord=np.inf),
    *norm(10 * distinct(2, 4), ord=-np.inf, axis=1, keepdims=True),
    *norm(10 * distinct(2, 4), ord=np.inf, axis=0),
    *norm(signed(4), np.array([0.0, 1.0]), low(signed(4)), INTEGERS[0], ord=0),
    *norm(staggered(3, 2), staggered(2, 3), complex_normal(2, 2), INTEGERS, ord=1),
    *norm(staggered(3, 2), staggered(2, 3), ord=-1),
    *norm(staggered(3, 2), staggered(2, 3), INTEGERS, ord=np.inf),
    *norm(staggered(3, 2), ord=-np.inf, keepdims=True),
    *norm(staggered(2, 3, 4), ord=1, axis=(2, 0)),
    *norm(staggered(2, 3, 4), ord=np.inf, axis=(0, 2), keepdims=True),
    *norm(spread(3, 2), low(spread(3, 2)), INTEGERS, ord=2),
    *norm(spread(3, 2), ord=-2, keepdims=True),
    *norm(spread(2, 3), ord="nuc"),
    *norm(spread(2, 3, 2), ord="nuc", axis=(1, 2)),
    *norm(spread(3, 2, 2).transpose(1, 0, 2), ord=2, axis=(0, 2)),
]


def of_vector(*arrays, **keywords):
    """Samples of np.linalg.vector_norm with these keywords."""
    call = lambda x: np.linalg.vector_norm(x, **keywords)  # noqa: E731
    return each("vector_norm", call, *arrays, holomorphic=False)


def of_matrix(*arrays, **keywords):
    """Samples of np.linalg.matrix_norm with these keywords."""
    call = lambda x: np.linalg.matrix_norm(x, **keywords)  # noqa: E731
    return each("matrix_norm", call, *arrays, holomorphic=False)


ARRAY_API = [
    *of_vector(normal(4), normal(2, 3), np.array(1.3), normal(4, 6)[::2, ::-2], INTEGERS),
    *of_vector(normal(2, 3), keepdims=True),
    *of_vector(normal(2, 3), axis=0, keepdims=True),
    *of_vector(normal(2, 3, 4), axis=(0, 2)),
    *of_vector(normal(2, 3, 4), axis=(-1, 0), keepdims=True, ord=3),
    *of_vector(normal(2, 3), ord=1),
    *of_vector(distinct(2, 3), ord=np.inf, axis=1),
    *of_matrix(normal(2, 3), normal(2, 3, 4), complex_normal(2, 2)),
    *of_matrix(normal(2, 3), keepdims=True),
    *of_matrix(staggered(2, 3, 4), ord=1),
    *of_matrix(spread(2, 3, 3), ord=2),
]

SAMPLES = [
    *SOLVE,
    *PINV,
    *DETERMINANT,
    *CHOLESKY,
    *INVERSE_OF_LOWER,
    *LOWER_HALF_PRODUCT,
    *EIGEN,
    *SINGULAR,
    *EUCLIDEAN,
    *POWERS,
    *LARGEST,
    *ARRAY_API,
]
