"""numpy.linalg where matrices are singular or do not fit, and the types it answers in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret, record
from tests.support.running import derivative
from tracejit.support.errors import NoGradientError, ShapeError, UnsupportedError

SINGULAR = np.ones((3, 3))


@pytest.mark.parametrize("function", [np.linalg.det, lambda a: np.linalg.slogdet(a)[1]])
def test_gradients_of_determinants_raise_where_the_matrix_is_singular(function: Any) -> None:
    function(np.zeros((4, 4)))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        derivative(function, np.zeros((4, 4)))


def test_gradient_of_a_small_singular_determinant_is_the_matrix_of_cofactors() -> None:
    assert derivative(np.linalg.det, np.zeros((1, 1))).tolist() == [[1.0]]
    assert derivative(np.linalg.det, np.ones((2, 2))).tolist() == [[1.0, -1.0], [-1.0, 1.0]]
    found = derivative(np.linalg.det, np.diag([0.0, 2.0, 3.0]))
    assert np.array_equal(found, np.diag([6.0, 0.0, 0.0]))


@pytest.mark.parametrize("function", [np.linalg.inv, lambda a: np.linalg.solve(a, np.ones(3))])
def test_a_singular_matrix_raises_when_the_code_runs(function: Any) -> None:
    graph, _ = record(function, SINGULAR)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        interpret(graph, SINGULAR)


def test_sign_of_a_real_determinant_is_constant() -> None:
    a = np.diag([-1.0, 2.0])
    assert derivative(lambda a: np.linalg.slogdet(a).sign * a[0, 0], a).tolist() == [
        [-1, 0],
        [0, 0],
    ]


def test_results_have_numpys_names() -> None:
    def call(a: Any) -> Any:
        results = (np.linalg.slogdet(a), np.linalg.eigh(a), np.linalg.svd(a), np.linalg.qr(a))
        plain = (np.linalg.slogdet, np.linalg.eigh, np.linalg.svd, np.linalg.qr)
        for result, function in zip(results, plain, strict=True):
            assert type(result) is type(function(np.eye(2)))
        return results[0].logabsdet + results[1].eigenvalues + results[2].S + results[3].R

    record(call, np.eye(2))


def test_pinv_of_a_matrix_that_keeps_its_rank_has_the_gradient_of_differences() -> None:
    rng = np.random.default_rng(4)
    u, v = rng.normal(size=(4, 2)), rng.normal(size=(2, 3))
    du, dv = rng.normal(size=(4, 2)), rng.normal(size=(2, 3))

    def along(t: Any) -> Any:
        return np.sum(np.linalg.pinv((u + t * du) @ (v + t * dv), 1e-8) ** 3)

    step = 1e-5
    expected = (along(step) - along(-step)) / (2 * step)
    assert np.isclose(derivative(along, np.float64(0.0)), expected, rtol=1e-7)


def test_least_squares_of_a_deficient_matrix_have_the_gradient_of_differences() -> None:
    rng = np.random.default_rng(4)
    u, v, b = rng.normal(size=(5, 2)), rng.normal(size=(2, 3)), rng.normal(size=5)
    du, dv = rng.normal(size=(5, 2)), rng.normal(size=(2, 3))

    def along(t: Any) -> Any:
        return np.sum(np.linalg.lstsq((u + t * du) @ (v + t * dv), b + t, 1e-8)[0] ** 3)

    step = 1e-5
    expected = (along(step) - along(-step)) / (2 * step)
    assert np.isclose(tj.grad(along)(0.0), expected, rtol=1e-7)


def test_residuals_of_a_deficient_matrix_are_for_numpy() -> None:
    """NumPy answers an empty array."""
    f = tj.function(lambda a: np.linalg.lstsq(a, np.ones(3))[1] + 1.0)
    assert f(np.eye(3)[:, :2]).tolist() == [2.0]
    assert f(np.ones((3, 2))).shape == (0,)
    with pytest.raises(ValueError, match="reshape"):
        f.kernels[-1].forward(np.ones((3, 2)))


def test_eigenvectors_are_those_that_numpy_chooses_for_any_phase() -> None:
    """Of norm one, their largest element real: the gradient of its imaginary part is zero."""
    rng = np.random.default_rng(7)
    a = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))

    def tops(a: Any) -> Any:
        vectors = np.linalg.eig(a).eigenvectors
        places = np.argmax(np.abs(vectors), axis=-2, keepdims=True)
        return np.sum(np.imag(np.take_along_axis(vectors, places, axis=-2)))

    assert np.max(np.abs(derivative(tops, a))) < 1e-14
    norms = derivative(lambda a: np.sum(np.abs(np.linalg.eig(a)[1]) ** 2), a)
    assert np.max(np.abs(norms)) < 1e-12


def test_equal_eigenvalues_have_the_gradient_of_their_sum() -> None:
    a = np.diag([2.0, 2.0, 5.0]).astype(complex)
    assert np.allclose(derivative(lambda a: np.real(np.sum(np.linalg.eigvals(a))), a), np.eye(3))


def test_vectors_of_equal_eigenvalues_have_no_finite_gradient() -> None:
    a = np.diag([2.0, 2.0, 5.0]).astype(complex)
    with np.errstate(all="ignore"):
        found = derivative(lambda a: np.real(np.sum(np.linalg.eig(a)[1])), a)
    assert not np.isfinite(found).all()


def test_a_complete_basis_has_no_gradient() -> None:
    a = np.eye(3)[:, :2]
    with pytest.raises(NoGradientError, match="mode='complete'"):
        derivative(lambda a: np.sum(np.linalg.qr(a, "complete").Q), a)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda a: np.linalg.inv(a[0]), "1-dimensional array given. Array must be at least two-"),
        (lambda a: np.linalg.inv(a[:2]), "Last 2 dimensions of the array must be square"),
        (lambda a: np.linalg.det(a[:2]), "Last 2 dimensions of the array must be square"),
        (lambda a: np.linalg.slogdet(a[:2]), "Last 2 dimensions of the array must be square"),
        (lambda a: np.linalg.cholesky(a[:2]), "Last 2 dimensions of the array must be square"),
        (lambda a: np.linalg.eigh(a[:2]), "Last 2 dimensions of the array must be square"),
        (lambda a: np.linalg.matrix_power(a[:2], 2), "Last 2 dimensions of the array must be"),
        (lambda a: np.linalg.solve(a[:2], a), "Last 2 dimensions of the array must be square"),
        (lambda a: np.linalg.solve(a, np.ones(2)), "3 is not 2"),
        (lambda a: np.linalg.solve(a, np.ones((2, 3))), "3 is not 2"),
        (lambda a: np.linalg.solve(a, a[0, 0]), "no dimensions"),
        (lambda a: np.linalg.pinv(a[0]), "at least two-dimensional"),
        (lambda a: np.linalg.tensorsolve(a, a[:2]), "is not that of those it has not"),
        (lambda a: np.linalg.tensorinv(a, 0), "Invalid ind argument"),
        (lambda a: np.linalg.lstsq(a, a[:2]), "Incompatible dimensions"),
        (lambda a: np.linalg.lstsq(a[0], a), "Array must be two-dimensional"),
        (lambda a: np.linalg.cond(a[:2], 1), "must be square"),
        (lambda a: np.linalg.cond(a, 3), "Invalid norm order"),
        (lambda a: np.linalg.cond(a[:0]), "not defined on empty arrays"),
        (lambda a: np.linalg.eigvals(a[:2]), "must be square"),
    ],
)
def test_shapes_that_do_not_fit(call: Any, text: str) -> None:
    with pytest.raises(ShapeError) as caught:
        record(call, np.eye(3))
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda a: np.linalg.matrix_power(a, 2.0), "float"),
        (lambda a: np.linalg.qr(a, "raw"), "mode='raw'"),
        (lambda a: np.linalg.eig(a), "whether the eigenvalues of a real matrix are real depends"),
        (lambda a: np.linalg.eigvals(a), "a.astype(complex), or np.linalg.eigh if it is symm"),
        (lambda a: np.linalg.matrix_rank(a[0]), "a Python number, which needs the data"),
        (lambda a: np.linalg.pinv(a[None], [0.1]), "an array as rcond is not supported"),
        (lambda a: np.linalg.matrix_rank(a[None], [0.1]), "an array as tol is not supported"),
        (lambda a: np.linalg.pinv(a, a[0, 0]), "rcond, whose values are not known yet"),
        (lambda a: np.linalg.inv(a.astype(np.float16)), "float16 is unsupported in linalg"),
    ],
)
def test_calls_that_are_not_supported(call: Any, text: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        record(call, np.eye(3))
    assert text in str(caught.value)
