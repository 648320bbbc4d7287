"""Samples of scipy.linalg: equations, factorizations, functions of matrices."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from samples_linalg import definite, regular, spread
from table import Sample, complex_normal, low, normal

from tracejit.scipy import linalg as sl

INTEGERS = np.array([[3, -1, 4], [1, -5, 9], [2, 6, -5]], np.int64)


def takes_stacks(function, *arrays):
    """Whether the SciPy that is installed takes stacks of matrices here."""
    try:
        function(*arrays)
    except Exception:
        return False
    return True


def where_stacked(op, call, *arrays, **fields):
    """A sample, unless this SciPy takes no stacks."""
    return [Sample(op, call, arrays, **fields)] if takes_stacks(call, *arrays) else []


def knows(structure):
    """Whether this SciPy's solve knows the structure."""
    return takes_stacks(lambda: scipy.linalg.solve(np.eye(2), np.ones(2), assume_a=structure))


def solve_as(structure, **keywords):
    """solve of a matrix of a known structure."""
    return lambda a, b: sl.solve(a, b, assume_a=structure, **keywords)


def triangular(*shape, matrix=normal):
    """Triangular matrices, well conditioned, with numbers on the other side too."""
    return 0.3 * matrix(*shape) + 2.0 * np.eye(shape[-1])


C = complex_normal
SOLVE = [
    Sample("scipy_solve", sl.solve, (regular(3, 3), normal(3, 2))),
    Sample("scipy_solve", sl.solve, (regular(3, 3), normal(3))),
    Sample("scipy_solve", sl.solve, (regular(3, 3, matrix=C), normal(3, 2))),
    Sample("scipy_solve", sl.solve, (regular(3, 3), complex_normal(3))),
    Sample("scipy_solve", sl.solve, (INTEGERS, normal(3, 2))),
    Sample("scipy_solve", sl.solve, (low(regular(3, 3)), low(normal(3, 2)))),
    Sample("scipy_solve", lambda a: sl.solve(a, [1.0, 2.0]), (regular(2, 2),)),
    Sample("scipy_solve", sl.solve, (np.asfortranarray(regular(6, 6))[::2, ::2], normal(3))),
    *where_stacked("scipy_solve", sl.solve, regular(2, 3, 3), normal(2, 3, 2)),
    *where_stacked("scipy_solve", sl.solve, regular(2, 3, 3), normal(3)),
    *where_stacked("scipy_solve", sl.solve, regular(3, 3), normal(2, 3, 2)),
    Sample(
        "scipy_solve",
        solve_as("gen", transposed=True),
        (regular(3, 3), normal(3, 2)),
        holomorphic=False,
    ),
    Sample("scipy_solve", solve_as("gen", check_finite=False), (regular(3, 3), normal(3, 2))),
    *[
        Sample("scipy_solve", solve_as(structure, **keywords), args, holomorphic=False)
        for structure in ("gen", "sym", "her", "pos")
        for keywords in ({}, {"lower": True})
        for args in (
            (definite(3, 3), normal(3, 2)),
            (definite(3, 3) + 0.2 * normal(3, 3), normal(3)),
            *(((definite(3, 3, matrix=C), complex_normal(3, 2)),) if structure != "sym" else ()),
        )
    ],
    Sample("scipy_solve", solve_as("sym"), (regular(3, 3, matrix=C), normal(3)), holomorphic=False),
    *[
        Sample("scipy_solve", solve_as(structure), (triangular(4, 4), normal(4)), holomorphic=False)
        for structure in ("diagonal", "tridiagonal", "upper triangular", "lower triangular")
        if knows(structure)
    ],
    *[
        Sample("scipy_solve", solve_as("banded"), (regular(3, 3), normal(3)), holomorphic=False)
        for _ in range(int(knows("banded")))
    ],
]


def solve_triangular(**keywords):
    """solve_triangular with keywords."""
    return lambda a, b: sl.solve_triangular(a, b, **keywords)


TRIANGULAR = [
    *[
        Sample("solve_triangular", solve_triangular(**keywords), args, holomorphic=False)
        for keywords in (
            {},
            {"lower": True},
            {"trans": 1},
            {"trans": "T", "lower": True},
            {"trans": 2, "unit_diagonal": True},
            {"trans": "C", "lower": True, "check_finite": False},
            {"unit_diagonal": True},
        )
        for args in (
            (triangular(3, 3), normal(3, 2)),
            (triangular(3, 3, matrix=C), complex_normal(3)),
        )
    ],
    Sample("solve_triangular", sl.solve_triangular, (triangular(3, 3), normal(3))),
    Sample("solve_triangular", sl.solve_triangular, (low(triangular(3, 3)), normal(3))),
    *where_stacked("solve_triangular", sl.solve_triangular, triangular(2, 3, 3), normal(3, 2)),
    *where_stacked("solve_triangular", sl.solve_triangular, triangular(2, 3, 3), normal(3)),
]


def riccati(function):
    """A Riccati solver on matrices made symmetric."""
    return lambda a, b, q, r: function(a, b, q @ q.T, r @ r.T)


EQUATIONS = [
    *[
        Sample("solve_sylvester", sl.solve_sylvester, args, holomorphic=False)
        for args in (
            (regular(3, 3), regular(2, 2), normal(3, 2)),
            (regular(3, 3, matrix=C), regular(2, 2, matrix=C), complex_normal(3, 2)),
        )
    ],
    *[
        Sample("solve_continuous_lyapunov", call, args, holomorphic=False)
        for call in (sl.solve_continuous_lyapunov, sl.solve_lyapunov)
        for args in (
            (regular(3, 3), normal(3, 3)),
            (regular(3, 3, matrix=C), complex_normal(3, 3)),
        )
    ],
    *[
        Sample("solve_discrete_lyapunov", call, args, holomorphic=False)
        for call in (
            sl.solve_discrete_lyapunov,
            lambda a, q: sl.solve_discrete_lyapunov(a, q, method="bilinear"),
        )
        for args in (
            (0.4 * normal(3, 3), normal(3, 3)),
            (0.3 * complex_normal(3, 3), complex_normal(3, 3)),
        )
    ],
    *[
        Sample(
            op,
            riccati(getattr(sl, op)),
            (0.4 * normal(3, 3), normal(3, 2), spread(3, 3), spread(2, 2)),
            holomorphic=False,
        )
        for op in ("solve_continuous_are", "solve_discrete_are")
    ],
]


def functions(op, base, **fields):
    """Samples of a function of matrices, real, complex, single and stacked."""
    call = getattr(sl, op)
    return [
        Sample(op, call, (base(3, 3),), holomorphic=False, **fields),
        Sample(op, call, (base(3, 3) + 0.2j * normal(3, 3),), holomorphic=False, **fields),
        Sample(op, call, (low(base(3, 3)),), holomorphic=False, **fields),
        *where_stacked(op, call, base(2, 3, 3), holomorphic=False, **fields),
    ]


def small(*shape):
    """Matrices of small norm."""
    return 0.4 * normal(*shape)


def near_one(*shape):
    """Matrices of positive eigenvalues."""
    basis = regular(*shape)
    return (basis * (1.0 + 0.5 * np.arange(shape[-1]))) @ np.linalg.inv(basis)


def frechet(**keywords):
    """expm_frechet with keywords."""
    return lambda a, e: sl.expm_frechet(a, e, **keywords)


FUNCTIONS = [
    *[
        sample
        for op in ("expm", "cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")
        for sample in functions(op, small)
    ],
    *functions("logm", near_one, float32=False),
    *functions("sqrtm", near_one),
    *[
        Sample(
            "fractional_matrix_power",
            lambda a, t=t: sl.fractional_matrix_power(a, t),
            (base,),
            holomorphic=False,
        )
        for t in (0.3, -1.7)
        for base in (near_one(3, 3), near_one(3, 3) + 0.2j * normal(3, 3))
    ],
    Sample(
        "matrix_power",
        lambda a: sl.fractional_matrix_power(a, 3),
        (normal(3, 3),),
        holomorphic=False,
    ),
    *[
        Sample("expm_frechet", frechet(compute_expm=False), args, holomorphic=False)
        for args in ((normal(3, 3), normal(3, 3)), (0.4 * C(3, 3), C(3, 3)))
    ],
    Sample("expm_beside_frechet", frechet(), (normal(3, 3), normal(3, 3)), holomorphic=False),
]


def symmetrized(call):
    """A call on a matrix made Hermitian and positive definite."""
    return lambda a: call(a @ np.conj(a).T + np.eye(a.shape[-1]))


CHOLESKY = [
    *[
        Sample("scipy_cholesky", call, (array,), holomorphic=False)
        for call in (sl.cholesky, lambda a: sl.cholesky(a, lower=True))
        for array in (definite(3, 3), definite(3, 3, matrix=C), definite(3, 3) + 0.1 * normal(3, 3))
    ],
    Sample("scipy_cholesky", symmetrized(sl.cholesky), (normal(3, 3),), holomorphic=False),
    Sample("scipy_cholesky", sl.cholesky, (low(definite(3, 3)),), holomorphic=False),
    *where_stacked("scipy_cholesky", sl.cholesky, definite(2, 3, 3), holomorphic=False),
    *[
        Sample("cho_factor", call, (array,), holomorphic=False)
        for call in (sl.cho_factor, lambda a: sl.cho_factor(a, lower=True))
        for array in (definite(3, 3), definite(3, 3, matrix=C))
    ],
    *[
        Sample(
            "cho_solve",
            lambda c, b, lower=lower: sl.cho_solve((c, lower), b),
            args,
            holomorphic=False,
        )
        for lower in (False, True)
        for args in (
            (triangular(3, 3), normal(3)),
            (triangular(3, 3), normal(3, 2)),
            (triangular(3, 3, matrix=C), complex_normal(3, 2)),
        )
    ],
    Sample(
        "cho_solve",
        lambda a, b: sl.cho_solve(sl.cho_factor(a), b),
        (definite(3, 3), normal(3)),
        holomorphic=False,
    ),
    *where_stacked(
        "cho_solve",
        lambda c, b: sl.cho_solve((c, True), b),
        triangular(2, 3, 3),
        normal(3, 2),
        holomorphic=False,
    ),
]
PIVOTS = np.array([1, 2, 2], np.int32)


def lu_solve(**keywords):
    """lu_solve with keywords."""
    return lambda a, b: sl.lu_solve((a, PIVOTS), b, **keywords)


LU = [
    *[
        Sample(op, getattr(sl, op), (array,), holomorphic=False)
        for op in ("lu", "lu_factor")
        for array in (normal(3, 3), normal(4, 2), normal(2, 4), C(3, 3), low(normal(3, 3)))
    ],
    *[
        Sample(op, getattr(sl, op), (array,), holomorphic=False)
        for op, array in (("lu", normal(2, 3, 3)), ("lu_factor", normal(2, 4, 3)))
        if takes_stacks(sl.solve_triangular, np.ones((2, 1, 1)), np.ones(1))
    ],
    Sample("lu", lambda a: sl.lu(a, p_indices=True), (normal(3, 3),), differentiable=False),
    *[
        Sample("lu_solve", lu_solve(**keywords), args, holomorphic=False)
        for keywords in ({}, {"trans": 1}, {"trans": 2, "check_finite": False})
        for args in ((triangular(3, 3), normal(3)), (triangular(3, 3), normal(3, 2)))
    ],
    Sample("lu_solve", lu_solve(trans=1), (triangular(3, 3, matrix=C), C(3, 2)), holomorphic=False),
    Sample("lu_solve", lu_solve(), (triangular(3, 3, matrix=C), C(3)), holomorphic=False),
    Sample(
        "lu_solve",
        lambda a, b: sl.lu_solve(sl.lu_factor(a), b),
        (regular(3, 3), normal(3)),
        holomorphic=False,
    ),
    *where_stacked(
        "lu_solve",
        lambda a, b: sl.lu_solve(sl.lu_factor(a), b),
        regular(2, 3, 3),
        normal(2, 3, 2),
        holomorphic=False,
    ),
]


def qr(**keywords):
    """QR factors with keywords."""
    return lambda a: sl.qr(a, **keywords)


QR = [
    *[
        Sample("scipy_qr", qr(**keywords), (array,), holomorphic=False)
        for keywords in (
            {},
            {"mode": "economic"},
            {"mode": "r"},
            {"pivoting": True},
            {"mode": "economic", "pivoting": True},
        )
        for array in (spread(3, 3), spread(2, 4), low(spread(3, 3)))
    ],
    *[
        Sample("scipy_qr", qr(mode="economic", pivoting=flag), (spread(4, 2),), holomorphic=False)
        for flag in (False, True)
    ],
    *[
        Sample("scipy_qr", qr(pivoting=flag), (array,), holomorphic=False)
        for flag in (False, True)
        for array in (C(3, 3), C(2, 4))
    ],
    Sample("scipy_qr", qr(), (normal(4, 2),), differentiable=False),
    *where_stacked("scipy_qr", qr(mode="economic"), spread(2, 4, 3), holomorphic=False),
    *where_stacked("scipy_qr", qr(pivoting=True), spread(2, 3, 3), holomorphic=False),
]


SAMPLES = SOLVE + TRIANGULAR + EQUATIONS + FUNCTIONS + CHOLESKY + LU + QR
