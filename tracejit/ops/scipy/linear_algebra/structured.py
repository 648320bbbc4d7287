"""scipy.linalg: matrices built of vectors, and products of blocks. Of vectors, not of stacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import answer, composite
from tracejit.ops.linalg.products import conj


def _vector(x: Any, name: str) -> Any:
    x = as_array(x)
    if np.ndim(x) != 1:
        raise TypeError(f"{name} of {np.ndim(x)} dimensions is not supported, only vectors")
    return x


def _shifts(rows: int, columns: int) -> Any:
    """i - j for each element."""
    return np.arange(rows)[:, None] - np.arange(columns)


@composite(sl.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with one number along each diagonal, `c` its first column and `r` its row."""
    c = _vector(c, "c")
    r = conj(c) if r is None else _vector(r, "r")
    rows, columns = np.shape(c)[0], np.shape(r)[0]
    values = np.concatenate([r[:0:-1], c])
    return values[_shifts(rows, columns) + columns - 1]


@composite(sl.circulant)
def circulant(c: Any) -> Any:
    """The matrix whose columns are `c`, each rolled one further."""
    c = _vector(c, "c")
    size = np.shape(c)[0]
    return c[_shifts(size, size) % size]


@composite(sl.hankel)
def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with one number along each anti-diagonal."""
    c = _vector(c, "c")
    r = np.zeros_like(c) if r is None else _vector(r, "r")
    rows, columns = np.shape(c)[0], np.shape(r)[0]
    values = np.concatenate([c, r[1:]])
    return values[np.arange(rows)[:, None] + np.arange(columns)]


@composite(sl.companion)
def companion(a: Any) -> Any:
    """The matrix whose eigenvalues are the roots of a polynomial."""
    a = _vector(a, "a")
    size = np.shape(a)[0]
    if size < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    first = -a[1:] / (1.0 * a[0])
    below = np.eye(size - 1, dtype=first.dtype)[: size - 2]
    return np.concatenate([np.expand_dims(first, 0), below])


@composite(sl.convolution_matrix)
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix that convolves a vector of length n with `a`."""
    a = _vector(a, "a")
    size = np.shape(a)[0]
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    if not size:
        raise ValueError("len(a) must be at least 1.")
    if mode not in ("full", "valid", "same"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    zeros = np.zeros_like(a, shape=(n - 1,))
    whole = toeplitz(np.concatenate([a, zeros]), np.concatenate([a[:1], zeros]))
    if mode == "full":
        return whole
    if mode == "same":
        trim = min(n, size) - 1
        first = trim // 2
        return whole[first : np.shape(whole)[0] - (trim - first)]
    first = min(n, size) - 1
    return whole[first : np.shape(whole)[0] - first]


@composite(sl.block_diag)
def block_diag(*arrs: Any) -> Any:
    """Matrices along the diagonal of one."""
    blocks = [as_array(block) for block in arrs]
    if any(np.ndim(block) > 2 for block in blocks):
        raise TypeError("stacks of matrices are not supported")
    blocks = [np.reshape(block, (1, -1)) if np.ndim(block) < 2 else block for block in blocks]
    dtype = np.result_type(*[block.dtype for block in blocks])
    width = sum(np.shape(block)[1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        count, columns = np.shape(block)
        left = np.zeros((count, before), dtype)
        right = np.zeros((count, width - before - columns), dtype)
        parts = [part for part in (left, block, right) if np.shape(part)[1] or part is block]
        rows.append(np.concatenate(parts, axis=1) if len(parts) > 1 else block.astype(dtype))
        before += columns
    return np.concatenate(rows, axis=0)


@composite(sl.khatri_rao)
def khatri_rao(a: Any, b: Any) -> Any:
    """Kronecker products column by column."""
    a, b = as_array(a), as_array(b)
    if np.ndim(a) != 2 or np.ndim(b) != 2:
        raise TypeError("khatri_rao needs two matrices")
    if np.shape(a)[1] != np.shape(b)[1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    products = np.expand_dims(a, 1) * np.expand_dims(b, 0)
    return np.reshape(products, (-1, np.shape(a)[1]))


@composite(sl.leslie)
def leslie(f: Any, s: Any) -> Any:
    """The matrix of a population: fecundities in its first row, survivals below the diagonal."""
    f, s = _vector(f, "f"), _vector(s, "s")
    size = np.shape(f)[0]
    if size != np.shape(s)[0] + 1:
        raise ValueError("The length of s must be one less than the length of f.")
    below = np.concatenate([np.diag(s), np.zeros_like(s, shape=(size - 1, 1))], axis=1)
    return np.concatenate([np.expand_dims(f, 0), below])


@composite(sl.fiedler)
def fiedler(a: Any) -> Any:
    """Distances between all pairs of numbers."""
    a = _vector(a, "a")
    return np.abs(np.expand_dims(a, 1) - a)


if hasattr(sl, "kron"):  # removed in SciPy 1.17
    answer(sl.kron, lambda a, b: np.kron(a, b))
