"""Batching of products: of vectors and matrices, of stacks, and of filters with signals.

A matrix that is the same for all elements stays one matrix: a batch of vectors and a matrix are one
product of two matrices. The rules are plain NumPy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.ops.base.batching import Moved, aligned, element_ndim, rows, spread
from tracejit.ops.base.forms import as_array


def _conj(x: Any) -> Any:
    return np.conjugate(x) if x.dtype.kind == "c" else x


def matrix_vector(moved: Moved, a: Any, x: Any) -> Any:
    """A matrix, or a stack, and a vector."""
    if not moved[1]:
        return a @ x
    if not moved[0] and a.ndim == 2:
        return x @ a.mT
    rank = element_ndim(a, moved[0])
    return np.squeeze(a @ np.expand_dims(x, (*range(1, rank - 1), rank)), -1)


def vector_matrix(moved: Moved, x: Any, b: Any) -> Any:
    """A vector and a matrix, or a stack."""
    if not moved[0] or (not moved[1] and b.ndim == 2):
        return x @ b
    rank = element_ndim(b, moved[1])
    return np.squeeze(np.expand_dims(x, tuple(range(1, rank))) @ b, -2)


def vectors(moved: Moved, x: Any, y: Any) -> Any:
    """Two vectors."""
    if moved[0] and moved[1]:
        return np.vecdot(_conj(x), y)
    return x @ y if moved[0] else y @ x


def dot_matrix(moved: Moved, a: Any, b: Any) -> Any:
    """np.dot of an array of two dimensions or more and a matrix."""
    return np.matmul(*aligned(moved, (a, b))) if moved[1] else np.dot(a, b)


def dot_stacks(moved: Moved, a: Any, b: Any) -> Any:
    """np.dot of arrays of two dimensions or more: each row with each column."""
    if not moved[1]:
        return np.dot(a, b)
    if not moved[0]:
        return np.moveaxis(np.dot(a, b), a.ndim - 1, 0)
    columns = np.moveaxis(b, -2, 1)
    left = np.reshape(a, (a.shape[0], math.prod(a.shape[1:-1]), a.shape[-1]))
    right = np.reshape(columns, (*columns.shape[:2], math.prod(columns.shape[2:])))
    return np.reshape(left @ right, (*a.shape[:-1], *columns.shape[2:]))


def dot_number(moved: Moved, a: Any, b: Any) -> Any:
    """np.dot with a number, which counts as an array."""
    return np.multiply(*[as_array(x) if not x.ndim else x for x in aligned(moved, (a, b))])


def vdot(moved: Moved, a: Any, b: Any) -> Any:
    """The elements of two arrays, those of the first conjugated."""
    flat = [rows(x) if there else np.reshape(x, -1) for x, there in zip((a, b), moved, strict=True)]
    return vectors(moved, _conj(flat[0]), flat[1])


def outer(moved: Moved, a: Any, b: Any) -> Any:
    """All products of two vectors: by einsum, in half the time of broadcasting."""
    first, second = ("ai" if moved[0] else "i"), ("aj" if moved[1] else "j")
    return np.einsum(f"{first},{second}->aij", a, b)


def matvec(moved: Moved, a: Any, x: Any) -> Any:
    """Stacks of matrices and of vectors."""
    rank = max(element_ndim(a, moved[0]), element_ndim(x, moved[1]) + 1)
    return np.matvec(spread(a, moved[0], rank), spread(x, moved[1], rank - 1))


def vecmat(moved: Moved, x: Any, a: Any) -> Any:
    """Stacks of vectors and of matrices."""
    rank = max(element_ndim(a, moved[1]), element_ndim(x, moved[0]) + 1)
    return np.vecmat(spread(x, moved[0], rank - 1), spread(a, moved[1], rank))


# Filters


def _filtered(moved: Moved, a: Any, v: Any, mode: str, from_end: bool) -> Any:
    """The convolution of two vectors: the shorter, reversed, with each window of the longer.
    `from_end`: where one element lies beside the middle of "same", it is left out at the start."""
    if a.shape[-1] < v.shape[-1]:
        moved, a, v = moved[::-1], v, a
    rest = v.shape[-1] - 1
    margins = {"full": (0, 0), "same": (rest // 2, rest - rest // 2), "valid": (rest, rest)}[mode]
    before, after = (rest - margin for margin in (margins[::-1] if from_end else margins))
    if rest:
        a = np.pad(a, [*[(0, 0)] * (a.ndim - 1), (before, after)])
    windows = np.lib.stride_tricks.sliding_window_view(a, rest + 1, axis=-1)
    return matrix_vector(moved, windows, np.flip(v, -1))


def convolve(moved: Moved, a: Any, v: Any, mode: str) -> Any:
    """The rule of np.convolve."""
    return _filtered(moved, a, v, mode, False)


def correlate(moved: Moved, a: Any, v: Any, mode: str) -> Any:
    """The rule of np.correlate: the convolution with the second, reversed and conjugated."""
    return _filtered(moved, a, np.flip(_conj(v), -1), mode, a.shape[-1] < v.shape[-1])
