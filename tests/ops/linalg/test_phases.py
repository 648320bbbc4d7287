"""Which phase LAPACK gives complex vectors, and gradients of what depends on none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

RNG = np.random.default_rng(8)


def complex_normal(*shape: int) -> Any:
    """Complex values around zero."""
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


WEIGHTS = complex_normal(3, 3)


def by_eigenvectors(a: Any) -> Any:
    """The sine of a Hermitian matrix, weighted."""
    values, vectors = np.linalg.eigh(a)
    return np.real(np.sum((vectors * np.sin(values)) @ np.conj(vectors).T * WEIGHTS))


def by_singular_vectors(a: Any) -> Any:
    """The same matrix with the sines of its singular values, weighted."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.real(np.sum((u * np.sin(s)) @ vh * WEIGHTS))


@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_one_element_of_every_complex_vector_is_real(size: int) -> None:
    square, wide = complex_normal(size, size), complex_normal(size, size + 3)
    real = [
        np.linalg.eigh(square)[1][0],
        np.linalg.eigh(square, "U")[1][-1],
        np.linalg.svd(square)[2][:, 0],
        np.linalg.svd(wide.T, full_matrices=False)[2][:, 0],
        np.linalg.svd(wide, full_matrices=False)[0][0],
    ]
    for elements in real:
        assert np.max(np.abs(np.imag(elements))) < 1e-14


def test_a_gradient_by_vectors_is_that_of_the_phase_they_come_with() -> None:
    tj.check_grads(lambda a: np.linalg.eigh(a)[1][1], complex_normal(3, 3))
    tj.check_grads(lambda a: np.linalg.svd(a)[0][1], complex_normal(3, 3))


@pytest.mark.parametrize(
    "a",
    [
        np.array([[0.3, 1.0, 1.0], [1.0, 0.1, 0.2], [1.0, 0.2, 0.1]], complex),
        np.diag([1.0 + 0j, 2.0, 4.0]),
    ],
)
def test_what_depends_on_no_phase_has_a_gradient_where_none_can_be_told(a: Any) -> None:
    assert np.min(np.abs(np.linalg.eigh(a)[1][0])) < 1e-12
    tj.check_grads(by_eigenvectors, a)
    tj.check_grads(by_singular_vectors, a @ np.diag([1.0, 1j, -1.0]))
