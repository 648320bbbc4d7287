"""Importing this declares the operations on functions of scipy.linalg."""

from __future__ import annotations

from tracejit.ops.scipy import (
    cholesky,
    inverses,
    lu,
    matrix_functions,
    polar,
    qr,
    riccati,
    solvers,
    spectra,
)

__all__ = [
    "cholesky",
    "inverses",
    "lu",
    "matrix_functions",
    "polar",
    "qr",
    "riccati",
    "solvers",
    "spectra",
]
