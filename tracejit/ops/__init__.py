"""Every operation, declared once: what it answers for, infer, vjp, jvp, batch, source.

Importing this package fills the tables of `tracejit.ops.op`.
"""

from tracejit.ops import (
    arithmetic,
    choices,
    comparison,
    complex,
    creation,
    diagonals,
    einsum,
    exponential,
    factorizations,
    indexing,
    joining,
    linalg,
    markers,
    norms,
    products,
    rearranging,
    reductions,
    selection,
    shapes,
    statistics,
    trigonometric,
    weak,
)

__all__ = [
    "arithmetic",
    "choices",
    "comparison",
    "complex",
    "creation",
    "diagonals",
    "einsum",
    "exponential",
    "factorizations",
    "indexing",
    "joining",
    "linalg",
    "markers",
    "norms",
    "products",
    "rearranging",
    "reductions",
    "selection",
    "shapes",
    "statistics",
    "trigonometric",
    "weak",
]
