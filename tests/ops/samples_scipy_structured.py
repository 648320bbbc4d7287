"""Samples of scipy.linalg: matrices built of vectors, and systems of such matrices."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from table import Sample, complex_normal, distinct, low, normal

from tracejit.scipy import linalg as sl

C = complex_normal
BUILT = [
    Sample("toeplitz", sl.toeplitz, (normal(4),), holomorphic=False),
    Sample("toeplitz", sl.toeplitz, (C(3), C(4))),
    Sample("toeplitz", sl.toeplitz, (C(3),)),
    Sample("toeplitz", sl.toeplitz, (normal(4), normal(2))),
    Sample("toeplitz", lambda c: sl.toeplitz(c, [1, 2, 3]), (normal(4),)),
    Sample("circulant", sl.circulant, (normal(4),)),
    Sample("hankel", sl.hankel, (normal(4),)),
    Sample("hankel", sl.hankel, (normal(4), normal(3))),
    Sample("companion", sl.companion, (normal(4),)),
    Sample("companion", sl.companion, (np.array([2, 3, 4]),)),
    *[
        Sample(
            "convolution_matrix", lambda a, n=n, m=m: sl.convolution_matrix(a, n, m), (normal(3),)
        )
        for n in (2, 5)
        for m in ("full", "same", "valid")
    ],
    Sample("block_diag", sl.block_diag, (normal(2, 2), normal(1, 3), normal(2))),
    Sample("block_diag", sl.block_diag, (low(normal(2, 2)), np.array([[1, 2]]))),
    Sample("khatri_rao", sl.khatri_rao, (normal(2, 3), normal(4, 3))),
    Sample("leslie", sl.leslie, (normal(4), normal(3))),
    Sample("fiedler", sl.fiedler, (distinct(4),), holomorphic=False),
    *[
        Sample("kron", sl.kron, (normal(2, 3), normal(3, 2)))
        for _ in range(hasattr(scipy.linalg, "kron"))
    ],
]


def raised(array, row=0):
    """The array with one row far from zero."""
    raised = array.copy()
    raised[row] += 5.0
    return raised


def banded(lower, upper, **keywords):
    """solve_banded with keywords."""
    return lambda ab, b: sl.solve_banded((lower, upper), ab, b, **keywords)


SOLVED = [
    *[
        Sample("solve_banded", banded(lower, upper), args, holomorphic=False)
        for lower, upper in ((1, 1), (2, 1), (0, 2), (0, 0))
        for args in (
            (raised(normal(lower + upper + 1, 5), upper), normal(5)),
            (raised(normal(lower + upper + 1, 5), upper), normal(5, 2)),
        )
    ],
    Sample("solve_banded", banded(1, 2), (raised(C(4, 5), 2), C(5)), holomorphic=False),
    Sample("solve_banded", banded(1, 1, check_finite=False), (raised(normal(3, 5), 1), normal(5))),
    *[
        Sample(
            "solveh_banded",
            lambda ab, b, lower=lower: sl.solveh_banded(ab, b, lower=lower),
            (raised(normal(rows, 5), 0 if lower else rows - 1), b),
            holomorphic=False,
        )
        for lower in (False, True)
        for rows in (2, 3)
        for b in (normal(5), normal(5, 2))
    ],
    *[
        Sample("solve_toeplitz", lambda c, r, b: sl.solve_toeplitz((c, r), b), args)
        for args in (
            (raised(normal(4)), normal(4), normal(4)),
            (raised(normal(4)), normal(4), normal(4, 2)),
            (raised(C(4)), C(4), C(4)),
        )
    ],
    Sample("solve_toeplitz", sl.solve_toeplitz, (raised(normal(4)), normal(4)), holomorphic=False),
    Sample("solve_toeplitz", sl.solve_toeplitz, (raised(C(4)), C(4)), holomorphic=False),
    *[
        Sample("solve_circulant", sl.solve_circulant, args, holomorphic=False)
        for args in (
            (raised(normal(4)), normal(4)),
            (raised(normal(5)), normal(5, 2)),
            (raised(C(4)), C(4)),
        )
    ],
]

SAMPLES = BUILT + SOLVED
