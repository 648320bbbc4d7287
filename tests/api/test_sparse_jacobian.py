"""Sparse Jacobians and Hessians against dense ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import tracejit as tj

pytestmark = pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning")

RNG = np.random.default_rng(1)
N = 12
X = RNG.random(N) + 0.5
PLACES = np.array([3, 1, 4, 1, 5])
BAND = np.triu(np.tril(RNG.random((N, N)) + 0.1, 1), -1)
MATRIX = sparse.random_array((N, N), density=0.2, random_state=RNG, format="csr")
MASK = np.arange(N) % 3 == 0
POINTS = np.linspace(0.0, 1.0, N)


def stencil(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(1, N - 1):
        y[i] = x[i - 1] * x[i + 1]
    return y


def boundaries(x: Any) -> Any:
    y = np.zeros(N)
    y[1:-1] = x[2:] * x[:-2]
    y[0] = x[0]
    y[PLACES] += x[PLACES]
    y[3] = 2.0
    return y


@tj.custom_gradient
def square(x: Any) -> Any:
    return x**2, lambda g: 2.0 * g * x


PROGRAMS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "elementwise": (lambda x: np.sin(x) * x, N),
    "differences": (lambda x: np.diff(x) ** 2, 22),
    "roll": (lambda x: np.roll(x, 2) * x, 24),
    "pad": (lambda x: np.pad(x**2, 2, mode="wrap"), 16),
    "zeros around": (lambda x: np.pad(x**2, 1), 12),
    "by places": (lambda x: x[PLACES] * x[0], 10),
    "a band times": (lambda x: (BAND @ x) ** 2, 34),
    "times a band": (lambda x: x @ BAND, 34),
    "columns": (lambda x: BAND @ x.reshape(N, 1) @ np.ones((1, 2)), 68),
    "a sparse matrix times": (lambda x: (MATRIX @ x) ** 2, MATRIX.nnz),
    "times a sparse matrix": (lambda x: (x @ MATRIX) ** 2, MATRIX.nnz),
    "sparse and columns": (lambda x: MATRIX @ np.stack([x, x], 1), 2 * MATRIX.nnz),
    "rows and sparse": (lambda x: np.stack([x, x]) @ MATRIX.T, 2 * MATRIX.nnz),
    "cumsum": (lambda x: np.cumsum(x**2), N * N),
    "sort": (np.sort, N * N),
    "mask": (lambda x: x[MASK] ** 2, 4),
    "where": (lambda x: np.where(MASK, x**2, 0.0), N),
    "a loop": (stencil, 20),
    "writes": (boundaries, 22),
    "reshaped": (lambda x: (x.reshape(3, 4) ** 2).T.ravel(), N),
    "sums": (lambda x: np.sum(x.reshape(3, 4) ** 2, axis=1), N),
    "largest": (lambda x: np.max(x.reshape(3, 4), axis=0), N),
    "convolve": (lambda x: np.convolve(x**2, [1.0, 2.0, 1.0], "same"), 34),
    "convolve, turned": (lambda x: np.convolve([1.0, 2.0, 1.5, 1.0], x, "valid"), 36),
    "correlate": (lambda x: np.correlate(x, [1.0, 2.0, 1.0], "full"), 36),
    "outer": (lambda x: np.outer(x[:3], x[3:6]), 18),
    "einsum": (lambda x: np.einsum("ij,j->i", x.reshape(3, 4), x[:4]), 20),
    "one number": (np.sum, N),
    "repeat": (lambda x: np.repeat(x, 2) ** 2, 24),
    "stack": (lambda x: np.stack([x, x**2], 1), 24),
    "windows": (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).sum(-1), 30),
    "interp": (lambda x: np.interp(np.linspace(0, 1, 5), POINTS, x), 10),
    "diagonal": (lambda x: x.reshape(3, 4)[:, ::-1].diagonal() ** 2, 3),
    "diag": (lambda x: np.diag(x**2), N),
    "stop_gradient": (lambda x: tj.stop_gradient(x)[::-1] * x, N),
    "custom gradient": (lambda x: square(x) * np.roll(x, 1), 24),
    "by order": (lambda x: x[np.argsort(x)], N * N),
    "solve": (lambda x: np.linalg.solve(np.diag(x) + 1.0, x), N * N),
    "fft": (lambda x: np.real(np.fft.fft(x)), N * N),
    "none": (lambda x: x[:0], 0),
    "constant": (lambda x: np.zeros(3), 0),
    "zero": (lambda x: x * 0.0, N),
}


def check(found: Any, expected: Any) -> None:
    """The array that is expected, in two dimensions, as a csr_array in order."""
    wanted = np.asarray(expected)
    assert type(found) is sparse.csr_array
    assert (found.dtype, found.indices.dtype) == (wanted.dtype, np.int32)
    assert found.has_canonical_format
    wanted = wanted.reshape(found.shape)
    np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
def test_sparse_is_dense(name: str, mode: Any) -> None:
    f, entries = PROGRAMS[name]
    found = tj.jacobian(f, mode=mode, sparse=True)(X)
    check(found, tj.jacobian(f)(X))
    assert found.nnz == entries


@pytest.mark.parametrize("name", PROGRAMS)
def test_hessians(name: str) -> None:
    f, _ = PROGRAMS[name]
    loss = lambda x: np.sum(np.sin(f(x)))  # noqa: E731
    check(tj.hessian(loss, sparse=True)(X), tj.hessian(loss)(X))


def test_a_band_takes_as_many_directions_as_it_is_wide() -> None:
    x = np.linspace(0.0, 1.0, 1000)
    f = tj.jacobian(lambda x: x[2:] * x[1:-1] - x[:-2], sparse=True)
    found = f(x)
    rows = np.arange(998)
    np.testing.assert_array_equal(found[rows, rows], -np.ones(998))
    np.testing.assert_array_equal(found[rows, rows + 1], x[2:])
    np.testing.assert_array_equal(found[rows, rows + 2], x[1:-1])
    assert "(3, 998)" in f.source or "reshape(2994)" in f.source


def test_rows_are_taken_where_columns_need_more() -> None:
    f = tj.jacobian(lambda x: np.concatenate([[np.sum(x**2)], x[:3] * x[3]]), sparse=True)
    wide = tj.jacobian(lambda x: np.sum(x.reshape(2, 6) ** 2, axis=1), sparse=True)
    check(f(X), tj.jacobian(lambda x: np.concatenate([[np.sum(x**2)], x[:3] * x[3]]))(X))
    check(wide(X), tj.jacobian(lambda x: np.sum(x.reshape(2, 6) ** 2, axis=1))(X))
    assert "(6, 2, 6)" not in wide.source


def test_an_arrow_has_a_hessian_of_two_directions() -> None:
    f = lambda x: np.sum(x[0] * np.sin(x[1:] * x[0])) + np.sum(x**4)  # noqa: E731
    hessian = tj.hessian(f, sparse=True)
    check(hessian(X), tj.hessian(f)(X))
    assert "reshape(24)" in hessian.source


def test_a_hessian_of_a_marker_is_not_taken_for_symmetric() -> None:
    f = lambda x: np.sum(tj.stop_gradient(x)[1:] * x[:-1] ** 2)  # noqa: E731
    g = lambda x: np.sum(square(x)[1:] * x[:-1])  # noqa: E731
    for loss in (f, g):
        check(tj.hessian(loss, sparse=True)(X), tj.hessian(loss)(X))


def test_several_arguments_and_results() -> None:
    def f(p: Any, y: Any) -> Any:
        return {"a": np.sin(p["w"]) * y, "b": np.diff(y) * p["w"][:1]}

    p, y = {"w": np.arange(1.0, 5.0)}, np.arange(4.0) + 0.5
    for mode in ("auto", "fwd", "rev"):
        found = tj.jacobian(f, (0, 1), mode, sparse=True)(p, y)
        wanted = tj.jacobian(f, (0, 1), mode)(p, y)
        for name in "ab":
            check(found[name][0]["w"], wanted[name][0]["w"])
            check(found[name][1], wanted[name][1])
    pair = lambda a, b: np.sum(a * b**2)  # noqa: E731
    blocks, whole = (tj.hessian(pair, (0, 1), sparse=s)(y, y + 1.0) for s in (True, False))
    for i in (0, 1):
        for k in (0, 1):
            check(blocks[i][k], whole[i][k])


def test_options() -> None:
    f = lambda x: (x[1:] * x[:-1], np.sum(x))  # noqa: E731
    first = lambda x: f(x)[0]  # noqa: E731
    found, total = tj.jacobian(f, has_aux=True, sparse=True)(X)
    check(found, tj.jacobian(first)(X))
    assert total == np.sum(X)
    for mode in ("fwd", "rev"):
        check(tj.jacobian(first, mode=mode, sparse=True, chunk_size=1)(X), tj.jacobian(first)(X))
    assert tj.jacobian(lambda x: [], sparse=True)(X) == []
    curve = tj.jacobian(lambda t: np.stack([t, t * t]), sparse=True)(2.0)
    check(curve, np.array([[1.0], [4.0]]))
    check(tj.jacobian(lambda t: t * t, sparse=True)(2.0), np.array([[4.0]]))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_dtypes(dtype: str) -> None:
    x = X.astype(dtype) * (1.0 if dtype[0] == "f" else 1.0 + 0.5j)
    x = x.astype(dtype)
    f = lambda x: x[1:] ** 2 * x[:-1]  # noqa: E731
    found, wanted = tj.jacobian(f, sparse=True)(x), tj.jacobian(f)(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-5)
    if dtype[0] == "c":
        with pytest.raises(tj.TracejitError, match="mode='rev'"):
            tj.jacobian(f, mode="fwd", sparse=True)(x)


def test_each_size_has_its_pattern() -> None:
    f = lambda x: x[1:] * x[:-1]  # noqa: E731
    jacobian = tj.jacobian(f, sparse=True)
    for size in (4, 5, 6, 7, 4, 1):
        check(jacobian(X[:size]), tj.jacobian(f)(X[:size]))


def test_results_belong_to_the_caller() -> None:
    jacobian = tj.jacobian(lambda x: x[1:] * x[:-1], sparse=True)
    first = jacobian(X)
    first.data[:], first.indices[:], first.indptr[:] = 0.0, 0, 0
    check(jacobian(X), tj.jacobian(lambda x: x[1:] * x[:-1])(X))


def test_patterns_follow_what_is_read() -> None:
    y = np.arange(4.0) + 0.5
    dense, places = np.diag(np.arange(1.0, 5.0)), np.array([0, 1])
    by_dense = tj.jacobian(lambda x: (dense @ x) ** 2, sparse=True)
    by_places = tj.jacobian(lambda x: x[places] ** 2, sparse=True)
    for _ in range(2):
        check(by_dense(y), np.diag(2.0 * (dense @ y)) @ dense)
        assert by_places(y).indices.tolist() == places.tolist()
        dense *= 2.0
        dense[0, 3] = 7.0
        places[0] = 3


def test_patterns_follow_arguments() -> None:
    y = np.arange(4.0) + 0.5
    by_places = tj.jacobian(lambda x, i: x[i] ** 2, sparse=True)
    for places in ([0, 1], [3, 1], [0, 1]):
        assert by_places(y, np.array(places)).indices.tolist() == places
    assert by_places.tracing_count == 2
    by_matrix = tj.jacobian(lambda x, S: (S @ x) ** 2, sparse=True)
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.dia_array):
        for dense in (np.eye(4), 2.0 * np.eye(4), np.triu(np.ones((4, 4)))):
            matrix = kind(dense)
            check(by_matrix(y, matrix), np.diag(2.0 * (matrix @ y)) @ dense)


def test_large_patterns_are_followed() -> None:
    size = 3000
    x = np.linspace(0.5, 1.5, size)
    by_places = tj.jacobian(lambda x, i: x[i] ** 2, sparse=True)
    forward, backward = np.arange(size), np.arange(size)[::-1].copy()
    for places in (forward, backward, forward):
        found = by_places(x, places)
        np.testing.assert_array_equal(found.indices, places)
        np.testing.assert_allclose(found.data, 2.0 * x[places])
    matrix = sparse.eye_array(size, format="csr")
    by_matrix = tj.jacobian(lambda x, S: (S @ x) ** 2, sparse=True)
    for one in (matrix, matrix[::-1], matrix):
        np.testing.assert_array_equal(by_matrix(x, one).indices, one.indices)


def test_paths_have_their_patterns() -> None:
    def f(x: Any) -> Any:
        if x[0] > 1.0:
            raise_if_negative(x)
            return x * 2.0
        return x[::-1] * x

    def raise_if_negative(x: Any) -> None:
        if x[1] < 0.0:
            raise ValueError("negative")

    jacobian = tj.jacobian(f, sparse=True)
    for x in (X, X + 2.0, X):
        check(jacobian(x), tj.jacobian(f)(x))


def test_as_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    f = lambda x: x[1:] * np.sin(x[:-1])  # noqa: E731
    wanted = tj.jacobian(f)(X)
    for transform in (tj.jacobian, lambda f, **options: tj.jacobian(f, mode="rev", **options)):
        with tj.eager():
            check(transform(f, sparse=True)(X), wanted)


def test_inside_a_function() -> None:
    f = lambda x: x[1:] * x[:-1]  # noqa: E731
    inside = tj.function(lambda x: tj.jacobian(f, sparse=True)(2.0 * x))
    check(inside(X), tj.jacobian(f)(2.0 * X))


def test_scipy_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tracejit.ops.scipy.base.library", None)
    with pytest.raises(tj.TracejitError, match="pip install scipy"):
        tj.jacobian(np.sin, sparse=True)(X)
