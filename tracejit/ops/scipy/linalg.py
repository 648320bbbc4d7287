"""Importing this declares the operations on functions of scipy.linalg."""

from __future__ import annotations

from tracejit.ops.scipy import (
    cholesky,
    lu,
    matrix_functions,
    qr,
    riccati,
    solvers,
)

__all__ = [
    "cholesky",
    "lu",
    "matrix_functions",
    "qr",
    "riccati",
    "solvers",
]
