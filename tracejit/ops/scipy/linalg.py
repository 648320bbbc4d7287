"""Importing this declares the operations on functions of scipy.linalg."""

from __future__ import annotations

from tracejit.ops.scipy import (
    banded,
    cholesky,
    inverses,
    lu,
    matrix_functions,
    polar,
    qr,
    riccati,
    solvers,
    spectra,
    structured,
)

__all__ = [
    "banded",
    "cholesky",
    "inverses",
    "lu",
    "matrix_functions",
    "polar",
    "qr",
    "riccati",
    "solvers",
    "spectra",
    "structured",
]
