"""Phase of complex vectors: its part in the derivatives of eigenvectors and singular vectors.

A complex eigenvector or singular vector of norm one is any number of modulus one times another.
LAPACK leaves one of its elements real: the first, of `eigh` with the upper triangle the last, of
`svd` the first of each right vector, or of each left one where there are more columns than rows.
That is the phase here, so that a gradient is one of the numbers that come out; what does not depend
on the phase has the same gradient with any. Where the real element is next to nothing the phase
turns without bound: it is held there, which is right for what does not depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ops.linalg.products import conj


def _element(vectors: Any, last: bool) -> Any:
    """The first or the last element of each vector, as a row; none of no vectors."""
    return vectors[..., -1:, :] if last else vectors[..., :1, :]


def _real_element(vectors: Any, last: bool) -> Any:
    """The element of each vector that is real, infinite where it is next to nothing."""
    element = np.real(_element(vectors, last))
    held = np.abs(element) < np.finfo(element.dtype).eps ** (1 / 3)
    return np.where(held, np.inf, element)


def turned(g: Any, along: Any, vectors: Any, last: bool = False) -> Any:
    """The cotangent of vectors before they were turned, of `g` after it; `along` is the sum of the
    products of all that turns with them."""
    size = vectors.shape[-2]
    place = size - 1 if last else 0
    share = 1j * (np.imag(along) / _real_element(vectors, last))
    return g - np.where(np.arange(size)[:, None] == place, share, 0.0)


def along(g: Any, vectors: Any) -> Any:
    """The sum of the products of each vector with its cotangent."""
    return np.sum(g * vectors, axis=-2, keepdims=True)


def adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return conj(x).mT
