"""tracejit.scipy.linalg: what is refused, and that kernels call SciPy's own functions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import tracejit as tj
from tracejit.scipy import linalg

A = np.array([[2.0, 0.3], [0.1, 1.5]])
B = np.array([1.0, -2.0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: linalg.solve(a, B, overwrite_a=True), "overwrite_a"),
        (lambda a: linalg.solve_triangular(a, B, overwrite_b=True), "overwrite_b"),
        (lambda a: linalg.eigh(a, subset_by_index=(0, 0)), r"subset_by_index asks [\s\S]*w\[:k\]"),
        (lambda a: linalg.eigvalsh(a, subset_by_value=(0, 1)), "subset_by_value asks for a part"),
        (lambda a: linalg.eigh_tridiagonal(a[0], a[1, :1], select="v"), "select asks for a part"),
        (
            lambda a: linalg.eigvalsh_tridiagonal(a[0], a[1, :1], select="i", select_range=(0, 0)),
            "select asks for a part",
        ),
        (lambda a: linalg.eigh(a, a, type=2), "type"),
        (lambda a: linalg.pinv(a, return_rank=True), "return_rank"),
        (lambda a: linalg.lu(a, permute_l=True), "permute_l"),
        (lambda a: linalg.qr(a, mode="raw"), "mode='raw'"),
        (lambda a: linalg.eig(a), "real or complex by its numbers"),
        (lambda a: linalg.null_space(a), "null_space is not recorded"),
        (lambda a: linalg.orth(a), "orth is not recorded"),
        (lambda a: linalg.solve_sylvester(a, a, a * 1j), "real and complex"),
        (lambda a: linalg.solve_sylvester(a, a, np.ones(3)), "q has the shape"),
        (lambda a: linalg.solve(a, np.ones(3)), "do not fit"),
        (lambda a: linalg.inv(a[0]), "expected square matrices"),
        (lambda a: linalg.norm(a[0].astype(np.float32)), "use np.linalg.norm"),
        (lambda a: linalg.solve_continuous_are(a, a, a * 1j, a), "complex matrices"),
    ],
)
def test_refused_by_name(call, words) -> None:
    with pytest.raises(tj.TracejitError, match=words):
        tj.function(call)(A)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: linalg.qr(np.concatenate([a, a]))[0], "mode='full' of tall"),
        (lambda a: np.abs(linalg.eig(a + 0j)[1]), "vectors of scipy.linalg.eig"),
        (lambda a: np.abs(linalg.polar(a + 1j)[0]), "polar of complex"),
        (lambda a: linalg.polar(a[:1])[0], "p is singular"),
    ],
)
def test_gradients_refused_by_name(call, words) -> None:
    with pytest.raises(tj.TracejitError, match=words):
        tj.grad(lambda a: np.sum(call(a)))(A)


def test_all_eigenvalues_may_be_asked_for_by_name() -> None:
    a = A + A.T
    for call in (
        lambda d: linalg.eigh_tridiagonal(d, d[1:], select="a")[0],
        lambda d: linalg.eigvalsh_tridiagonal(d, d[1:], select="a", select_range=None),
        lambda d: linalg.eigvalsh(d * a, subset_by_index=None),
    ):
        assert np.array_equal(tj.function(call, exact=True)(B), call(B))


def test_overwriting_may_be_declined() -> None:
    found = tj.function(lambda a: linalg.solve(a, B, overwrite_a=False, check_finite=True))(A)
    assert np.array_equal(found, scipy.linalg.solve(A, B))


def test_kernels_call_scipy() -> None:
    f = tj.value_and_grad(lambda a: np.sum(linalg.solve(a, B, assume_a="sym", lower=True)))
    value, grad = f(A)
    assert value == np.sum(scipy.linalg.solve(A, B, assume_a="sym", lower=True))
    assert grad[0, 1] == 0.0
    assert 'solve(a, B, lower=True, assume_a="sym")' in f.source
    assert "from scipy.linalg import solve" in f.source


def test_complex_values_of_real_matrices_are_for_scipy() -> None:
    root = tj.function(lambda a: linalg.sqrtm(a))
    assert np.array_equal(root(A), scipy.linalg.sqrtm(A))
    assert np.array_equal(root(-A), scipy.linalg.sqrtm(-A))
    with pytest.raises((tj.TracejitError, TypeError), match="complex128"):
        root.kernels[0].forward(-A)
    assert np.array_equal(root(-A + 0j), scipy.linalg.sqrtm(-A + 0j))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("sqrtm", linalg.sqrtm),
        ("logm", linalg.logm),
        ("fractional_matrix_power", lambda a: linalg.fractional_matrix_power(a, 0.5)),
    ],
)
def test_complex_values_of_real_matrices_are_refused_by_name(name, function) -> None:
    """Where they are differentiated, at the user's line; of complex matrices they are taken."""
    plain = tj.function(lambda a: np.sum(np.abs(function(a))))
    assert plain(-A) == np.sum(np.abs(function(-A)))
    for transform in (tj.grad, tj.jacobian, lambda f: lambda a: tj.jvp(f, (a,), (a,))):
        with pytest.raises(tj.TracejitError, match=r"is complex for this real matrix") as caught:
            transform(lambda a: np.sum(np.abs(function(a))))(-A)
        assert name in str(caught.value) and "a.astype(complex)" in str(caught.value)
        assert "test_linalg.py" in str(caught.value)
    of_complex = tj.grad(lambda a: np.sum(np.abs(function(a.astype(complex)))))(-A)
    assert np.all(np.isfinite(of_complex))


def test_residuals_of_a_lower_rank_are_for_scipy() -> None:
    off = tj.function(lambda a: linalg.lstsq(a, np.arange(3.0))[1])
    tall = np.array([[1.0, 2.0], [0.5, 1.5], [1.0, 0.0]])
    assert off(tall) == scipy.linalg.lstsq(tall, np.arange(3.0))[1]
    flat = np.ones((3, 2))
    if np.size(scipy.linalg.lstsq(flat, np.arange(3.0))[1]) == 1:
        assert np.isnan(off(flat))
    else:
        assert off(flat).shape == (0,)
        with pytest.raises((tj.TracejitError, ValueError), match="reshape"):
            off.kernels[-1].forward(flat)
