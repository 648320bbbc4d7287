"""Every operation, declared once: what it answers for, infer, vjp, jvp, batch, source.

Importing this package fills the tables of `tracejit.ops.op`.
"""

from tracejit.ops import (
    arithmetic,
    creation,
    diagonals,
    indexing,
    joining,
    markers,
    rearranging,
    reductions,
    selection,
    shapes,
    statistics,
    weak,
)

__all__ = [
    "arithmetic",
    "creation",
    "diagonals",
    "indexing",
    "joining",
    "markers",
    "rearranging",
    "reductions",
    "selection",
    "shapes",
    "statistics",
    "weak",
]
