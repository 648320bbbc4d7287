"""Gradients through one triangle, through vectors known up to a sign, and at equal values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import record, run
from tests.ops.program import quiet
from tests.rows import each_row
from tests.support.differences import along
from tests.support.running import derivative
from tracejit.autodiff.forward.tangent import tangents
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.support.errors import NoGradientError, ShapeError

RNG = np.random.default_rng(6)
DEFINITE = np.cov(RNG.normal(size=(3, 20))) + np.eye(3)
WEIGHTS = RNG.normal(size=(3, 3))


def factor(a: Any) -> Any:
    """A number made of the lower Cholesky factor."""
    return np.sum(np.linalg.cholesky(a) * WEIGHTS)


def upper_factor(a: Any) -> Any:
    """A number made of the upper Cholesky factor."""
    return np.sum(np.linalg.cholesky(a, upper=True) * WEIGHTS)


def spectrum(a: Any) -> Any:
    """A number made of eigenvalues and eigenvectors."""
    values, vectors = np.linalg.eigh(a)
    return np.sum((vectors * np.sin(values)) @ vectors.T * WEIGHTS)


@pytest.mark.parametrize("function", [factor, upper_factor, spectrum])
def test_gradient_along_symmetric_directions_is_that_of_differences(function: Any) -> None:
    gradient = derivative(function, DEFINITE)
    for _ in range(3):
        direction = RNG.normal(size=(3, 3))
        direction = direction + direction.T
        expected = along(function, DEFINITE, direction)
        assert np.isclose(np.sum(gradient * direction), expected, rtol=1e-7)
        symmetric = (gradient + gradient.T) / 2
        assert np.isclose(np.sum(symmetric * direction), expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("function", "read"), [(factor, np.tril), (spectrum, np.tril), (upper_factor, np.triu)]
)
def test_gradient_is_zero_in_the_triangle_that_is_not_read(function: Any, read: Any) -> None:
    gradient = derivative(function, DEFINITE)
    assert np.array_equal(gradient, read(gradient))
    assert np.array_equal(derivative(lambda a: function(read(a)), DEFINITE), gradient)
    for i, j in np.ndindex(3, 3):
        direction = np.zeros((3, 3))
        direction[i, j] = 1.0
        assert np.isclose(gradient[i, j], along(function, DEFINITE, direction), atol=1e-8)


def test_eigenvalues_that_coincide_have_a_gradient_but_their_vectors_have_not() -> None:
    a = np.eye(3)
    assert np.allclose(derivative(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), a), 2.0 * a)
    assert np.allclose(derivative(lambda a: np.sum(np.linalg.eigh(a)[0] ** 2), a), 2.0 * a)
    with np.errstate(all="ignore"):
        found = derivative(lambda a: np.sum(np.linalg.eigh(a)[1] * WEIGHTS), a)
    assert not np.isfinite(found).all()


def test_singular_values_of_a_full_decomposition_have_a_gradient() -> None:
    def values(a: Any) -> Any:
        return np.sum(np.linalg.svd(a)[1] ** 3)

    for shape in ((2, 4), (4, 2)):
        a, direction = RNG.normal(size=shape), RNG.normal(size=shape)
        expected = along(values, a, direction)
        assert np.isclose(np.sum(derivative(values, a) * direction), expected, rtol=1e-7)


COMPLEX = DEFINITE + 0.5j * (WEIGHTS - WEIGHTS.T)
REFUSED = [
    (lambda a: np.linalg.svd(a)[0], WEIGHTS[:2], "full_matrices=True"),
    (lambda a: np.linalg.svd(a)[2], WEIGHTS[:, :2], "full_matrices=True"),
    (lambda a: np.linalg.qr(a, "complete")[0], WEIGHTS[:, :2], "qr with mode='complete'"),
]


@pytest.mark.parametrize(("call", "a", "text"), REFUSED)
def test_vectors_without_a_derivative_are_refused(call: Any, a: Any, text: str) -> None:
    for forward in (False, True):
        started = run(call, a)
        (y,), (x,) = started.tensors, started.inputs
        with pytest.raises(NoGradientError) as caught:
            if forward:
                tangents([y], [x], [started.recording.argument("v", x.type)])
            else:
                gradients([y], [x], [started.recording.argument("g", y.type)])
        assert text in str(caught.value)


def test_eigenvalues_of_complex_matrices_have_a_gradient() -> None:
    a = COMPLEX + np.conj(COMPLEX).T
    both = derivative(lambda a: np.sum(np.linalg.eigh(a)[0] ** 2), a)
    values = derivative(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), a)
    assert np.allclose(both, values)
    assert np.allclose((both + np.conj(both).T) / 2, 2.0 * a)


def test_the_name_of_a_triangle_is_checked() -> None:
    with pytest.raises(ShapeError, match="UPLO argument must be 'L' or 'U'"):
        record(lambda a: np.linalg.eigh(a, UPLO="X"), DEFINITE)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 3, 4), (2, 4, 3)])
def test_singular_values_beside_full_matrices_are_differentiated_again(shape: Any) -> None:
    x = np.random.default_rng(8).normal(size=shape)

    def values(full: bool) -> Any:
        return lambda a: np.linalg.svd(a, full_matrices=full)[1]

    def loss(full: bool) -> Any:
        return lambda a: np.sum(np.sin(values(full)(a)))

    for exact in (False, True):
        for transform in (tj.grad, tj.jacfwd, tj.hessian):
            of_full = transform(tj.function(loss(True), exact=exact))(x)
            np.testing.assert_allclose(of_full, transform(loss(False))(x), atol=1e-11)
        found = tj.jvp(tj.function(values(True), exact=exact), (x,), (x,))
        np.testing.assert_allclose(found[1], found[0], rtol=1e-12)  # it is homogeneous
    source = tj.value_and_grad(loss(True)).kernel(tj.TensorSpec(shape)).source
    code = [line for line in source.splitlines() if not line.lstrip().startswith("#")]
    assert sum("linalg.svd(" in line for line in code) == 2  # in forward, and in both at once


def test_vectors_that_belong_to_no_value_have_no_tangent() -> None:
    x = np.random.default_rng(8).normal(size=(3, 5))
    for number in (0, 2):
        with pytest.raises(LookupError, match="vectors of svd with full_matrices=True"):
            tj.jvp(lambda a, number=number: np.linalg.svd(a)[number], (x,), (x,))


# Ties


def complex_or_real(rng: Any, is_complex: bool, *shape: int) -> Any:
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if is_complex else x


@pytest.mark.parametrize("is_complex", [False, True])
@each_row("shape", [(5, 4), (4, 5), (4, 4)])
def test_a_matrix_of_low_rank_has_a_gradient_through_its_own_vectors(
    shape: tuple[int, int], is_complex: bool
) -> None:
    rng = np.random.default_rng(1)
    weights, away = (complex_or_real(rng, is_complex, *shape) for _ in range(2))
    a = np.zeros_like(weights)
    a[0, 0], a[1, 1] = 2.0, 1.0

    def approximation(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(((u[:, :2] * s[:2] @ vh[:2]) * np.conj(weights)).real)

    def projection(a: Any) -> Any:
        u = np.linalg.svd(a, full_matrices=False)[0][:, :2]
        return np.sum(((u @ np.conj(u).T) * np.conj(weights @ np.conj(weights).T)).real)

    for call in (approximation, projection):
        found = tj.grad(tj.function(call, cache=False))(a)
        moved = np.sum((np.conj(found) * away).real)
        np.testing.assert_allclose(moved, along(call, a, away), rtol=1e-6)


@each_row("kept", [slice(2, None), slice(-2, None), [2, 3]])
def test_a_tie_among_vectors_that_are_sliced_off_does_not_matter(kept: Any) -> None:
    rng = np.random.default_rng(2)
    a, weights, away = np.diag([1.0, 1.0, 2.0, 3.0]), *rng.normal(size=(2, 4, 4))
    away = away + away.T

    def projection(a: Any) -> Any:
        v = np.linalg.eigh(a)[1][:, kept]
        return np.sum(v @ v.T * weights)

    found = tj.grad(tj.function(projection, cache=False))(a)
    np.testing.assert_allclose(np.sum(found * away), along(projection, a, away), rtol=1e-6)


def test_what_cannot_be_told_at_a_tie_is_nan() -> None:
    def whole(a: Any) -> Any:
        values, vectors = np.linalg.eigh(a)
        return np.sum((vectors * values) @ vectors.T * np.arange(9.0).reshape(3, 3))

    with quiet():
        assert np.isnan(tj.grad(tj.function(whole, cache=False))(np.eye(3))).any()


@each_row(("gap", "tolerance"), [(1e-4, 1e-10), (1e-6, 1e-8), (1e-8, 1e-6), (1e-10, 1e-4)])
def test_digits_are_lost_in_proportion_to_the_gap(gap: float, tolerance: float) -> None:
    rng = np.random.default_rng(3)
    basis = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    a = basis * np.array([1.0, 2.0, 3.0, 3.0 + gap]) @ basis.T
    weights, away = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    a, away = (a + a.T) / 2, away + away.T

    def cube(a: Any) -> Any:
        values, vectors = np.linalg.eigh(a)
        return np.sum((vectors * values**3) @ vectors.T * weights)

    moved = np.sum((a @ a @ away + a @ away @ a + away @ a @ a) * weights)
    compiled = tj.function(cube, cache=False)
    np.testing.assert_allclose(np.sum(tj.grad(compiled)(a) * away), moved, rtol=tolerance)
    np.testing.assert_allclose(tj.jvp(compiled, (a,), (away,))[1], moved, rtol=tolerance)
