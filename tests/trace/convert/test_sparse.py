"""Sparse matrices with recorded data, and systems of equations: values, gradients by data and by
vectors, forward mode and second order, against SciPy and differences."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import expm_frechet
from scipy.sparse import linalg

import tracejit as tj

pytestmark = [
    pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning"),
    pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning"),
]

RNG = np.random.default_rng(0)
N = 5
A = sparse.csr_array(RNG.random((N, N)) * (RNG.random((N, N)) > 0.6) + 3.0 * np.eye(N))
B = sparse.csr_array(RNG.random((N, N)) * (RNG.random((N, N)) > 0.7) + np.eye(N))
X, COLUMNS = RNG.random(N), RNG.random((N, 2))
C = np.linspace(1.0, 2.0, N)
ROWS, PLACES = np.array([0, 1, 2, 2, 4]), np.array([0, 3, 2, 2, 1])
LU = linalg.splu(A.tocsc())
STEP = 1e-6

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "A @ x": lambda A, x: A @ x,
    "A @ X": lambda A, x: A @ (COLUMNS * x[:, None]),
    "x @ A": lambda A, x: x @ A,
    "X @ A": lambda A, x: (COLUMNS * x[:, None]).T @ A,
    "A.T @ x": lambda A, x: A.T @ x,
    "A.dot(x)": lambda A, x: A.dot(x),
    "c * A": lambda A, x: (x[0] * A) @ x,
    "A * c": lambda A, x: (A * x[0]) @ x,
    "A / c": lambda A, x: (A / x[0]) @ x,
    "-A": lambda A, x: -A @ x,
    "A.multiply(x)": lambda A, x: A.multiply(x) @ C,
    "A.multiply(X)": lambda A, x: A.multiply(np.outer(x, x)) @ C,
    "A + B": lambda A, x: (A + B) @ x,
    "B + A": lambda A, x: (B + A) @ x,
    "B - A": lambda A, x: (B - A) @ x,
    "A + A.T": lambda A, x: (A + A.T) @ x,
    "A - 2 A": lambda A, x: (A - 2.0 * A) @ x,
    "A @ B": lambda A, x: (A @ B) @ x,
    "B @ A": lambda A, x: (B @ A) @ x,
    "A.T @ A": lambda A, x: (A.T @ A) @ x,
    "A.sum()": lambda A, x: A.sum() * x,
    "A.mean()": lambda A, x: A.mean() * x,
    "A.trace()": lambda A, x: A.trace() * x,
    "A.diagonal()": lambda A, x: A.diagonal() * x,
    "above": lambda A, x: A.diagonal(1) * x[1:],
    "below": lambda A, x: A.diagonal(-2) * x[2:],
    "A.toarray()": lambda A, x: A.toarray() @ x,
    "A.tocsc()": lambda A, x: A.tocsc() @ x,
    "A.tocoo()": lambda A, x: A.tocoo() @ x,
    "A.data": lambda A, x: np.sum(A.data**2) * x,
    "A.nnz": lambda A, x: A.nnz * (A @ x),
    "spsolve": lambda A, x: linalg.spsolve(A, x),
    "spsolve of columns": lambda A, x: linalg.spsolve(A, COLUMNS * x[:, None]),
    "spsolve of a column": lambda A, x: linalg.spsolve(A, x[:, None]),
    "spsolve, transposed": lambda A, x: linalg.spsolve(A.T, x),
    "spsolve of a sum": lambda A, x: linalg.spsolve(A + B, x),
    "spsolve of diagonals": lambda A, x: linalg.spsolve(A + sparse.eye_array(N), x),
    "splu": lambda A, x: linalg.splu(A.tocsc()).solve(x),
    "splu of columns": lambda A, x: linalg.splu(A).solve(COLUMNS * x[:, None]),
    "factorized": lambda A, x: linalg.factorized(A)(x),
    "cg": lambda A, x: linalg.cg(A @ A.T, x, rtol=1e-12)[0],
    "gmres": lambda A, x: linalg.gmres(A, x, rtol=1e-12)[0],
    "bicgstab": lambda A, x: linalg.bicgstab(A, x, rtol=1e-13)[0],
    "expm_multiply": lambda A, x: linalg.expm_multiply(0.3 * A, x),
    "expm_multiply of columns": lambda A, x: linalg.expm_multiply(-A.T, COLUMNS * x[:, None]),
}
BY_ROWS: dict[str, Callable[[Any, Any], Any]] = {
    "sum(axis=0)": lambda A, x: A.sum(axis=0) * x,
    "sum(axis=1)": lambda A, x: A.sum(axis=1) * x,
    "A * x": lambda A, x: (A * x) @ C,
    "A + X": lambda A, x: A + np.outer(x, x),
    "power": lambda A, x: A.power(2) @ x,
    "abs": lambda A, x: abs(A) @ x,
    "sin": lambda A, x: A.sin() @ x,
    "A.multiply(A.T)": lambda A, x: A.multiply(A.T) @ x,
    "A[rows]": lambda A, x: A[[3, 0, 1, 1, 2]] @ x,
    "A[columns]": lambda A, x: A[:, 1:4].T @ x,
    "A[i, j]": lambda A, x: A[0, 0] * x,
    "A.reshape": lambda A, x: A.reshape(1, N * N) @ np.outer(x, x).ravel(),
    "kron": lambda A, x: sparse.kron(A, sparse.eye_array(2)) @ np.concatenate([x, x]),
    "spsolve_triangular": lambda A, x: linalg.spsolve_triangular(sparse.tril(A), x),
    "minres": lambda A, x: linalg.minres(A + A.T, x, rtol=1e-13)[0],
    "the same parts": lambda A, x: (
        sparse.csr_array((2.0 * A.data, A.indices, A.indptr), shape=A.shape) @ x
    ),
}
KINDS = [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix]


def slopes(f: Callable[[Any], Any], x: Any, step: float = STEP) -> Any:
    """The derivatives of a function by each number, by differences."""
    units = step * np.eye(x.size, dtype=x.dtype)
    return np.array([(f(x + one) - f(x - one)) / (2.0 * step) for one in units])


def with_data(matrix: Any, data: Any) -> Any:
    other = matrix.copy()
    other.data = data
    return other


def loss_of(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def loss(A: Any, x: Any) -> Any:
        y = np.reshape(f(A, x), -1)
        return np.sum(y**2 * np.linspace(0.5, 1.5, y.size))

    return loss


def check(f: Callable[[Any, Any], Any], matrix: Any) -> None:
    """Value, gradients by data and vector, forward mode and second order."""
    compiled, expected = tj.function(f), f(matrix, X)
    np.testing.assert_allclose(compiled(matrix, X), expected, rtol=1e-9)
    assert np.shape(compiled(matrix, X)) == np.shape(expected)
    assert compiled.kernels
    loss = loss_of(f)
    gradient = tj.grad(loss, argnums=(0, 1))
    by_data, by_x = gradient(matrix, X)
    assert gradient.kernels
    assert type(by_data) is type(matrix)
    if matrix.format == "coo":
        np.testing.assert_array_equal(by_data.coords, matrix.coords)
    else:
        np.testing.assert_array_equal(by_data.indices, matrix.indices)
        np.testing.assert_array_equal(by_data.indptr, matrix.indptr)
    wanted = slopes(lambda data: loss(with_data(matrix, data), X), matrix.data)
    np.testing.assert_allclose(by_data.data, wanted, rtol=2e-5, atol=1e-7)
    np.testing.assert_allclose(by_x, slopes(lambda x: loss(matrix, x), X), rtol=2e-5, atol=1e-7)
    pushed = tj.jvp(lambda x: f(matrix, x), (X,), (C,))[1]
    moved = (f(matrix, X + STEP * C) - f(matrix, X - STEP * C)) / (2.0 * STEP)
    np.testing.assert_allclose(pushed, moved, rtol=2e-5, atol=1e-7)
    second = tj.grad(lambda A, x: np.sum(tj.grad(loss, argnums=1)(A, x) * C))(matrix, X)
    inner = tj.grad(loss, argnums=1)
    wanted = slopes(lambda data: np.sum(inner(with_data(matrix, data), X) * C), matrix.data)
    np.testing.assert_allclose(second.data, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_programs(kind: Any, name: str) -> None:
    check(PROGRAMS[name], kind(A))


@pytest.mark.parametrize("name", BY_ROWS)
def test_programs_by_rows(name: str) -> None:
    check(BY_ROWS[name], A)


@pytest.mark.parametrize(
    "kind", [sparse.csc_array, sparse.coo_array], ids=lambda kind: kind.__name__
)
def test_functions_of_each_number(kind: Any) -> None:
    check(BY_ROWS["power"], kind(A))


@pytest.mark.parametrize(
    "kind", [sparse.csr_array, sparse.coo_array], ids=lambda kind: kind.__name__
)
def test_places_that_occur_twice_are_one_number(kind: Any) -> None:
    indices = ([0, 0], [0, 2]) if kind is sparse.csr_array else ([0, 0], [0, 0])
    parts = indices if kind is sparse.csr_array else (indices,)
    matrix = kind((np.array([1.0, 2.0]), *parts), shape=(1, 1))
    square = tj.function(lambda A: A.power(2).toarray())
    for one in (kind(np.ones((1, 1))), matrix):
        np.testing.assert_array_equal(square(one), one.toarray() ** 2)
    slope = tj.grad(lambda A: np.sum(A.power(2).toarray()))(matrix)
    np.testing.assert_array_equal(slope.data, [6.0, 6.0])


SOLVERS: dict[str, Callable[[Any, Any], Any]] = {
    "spsolve": linalg.spsolve,
    "splu": lambda A, x: linalg.splu(A).solve(x),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_leaves_the_order_of_indices_alone(name: str) -> None:
    matrix = sparse.csc_array(([1.0, 5.0, 2.0, 6.0, 7.0], [2, 0, 1, 2, 0], [0, 2, 3, 5]))
    dense, b = matrix.toarray(), np.array([1.0, 2.0, 3.0])
    scaled = lambda A, b: SOLVERS[name](2.0 * A, b)  # noqa: E731
    value, gradient = tj.function(scaled), tj.grad(lambda A, b: np.sum(scaled(A, b)))
    for _ in range(2):
        np.testing.assert_allclose(2.0 * dense @ value(matrix, b), b)
        slope = gradient(matrix, b)
        np.testing.assert_array_equal(matrix.toarray(), dense)
        np.testing.assert_allclose(slope.data, gradient(matrix, b).data)


OF_VECTORS: dict[str, Callable[[Any], Any]] = {
    "the shape implied": lambda x: sparse.coo_array((x**2, (ROWS, PLACES))) @ x[:4],
    "rows implied": lambda x: sparse.csr_array((x, PLACES, [0, 1, 3, 3, 4, 5])) @ x[:4],
    "a diagonal": lambda x: sparse.diags_array(x**2) @ x,
    "of numbers": lambda x: sparse.diags_array([x[0], x[1]], offsets=[0, 1], shape=(N, N)) @ x,
    "above each other": lambda x: sparse.vstack([A, sparse.diags_array(x)]) @ x,
    "captured": lambda x: A @ x + x @ A,
    "captured, by a number": lambda x: (x[0] * A) @ x,
    "captured, by an array": lambda x: A.multiply(x) @ C,
    "captured and recorded": lambda x: (A + sparse.diags_array(x)) @ x,
    "captured times recorded": lambda x: (A @ sparse.diags_array(x)) @ x,
    "solved": lambda x: linalg.spsolve(A, x**2),
    "solved by factors": lambda x: LU.solve(x**2),
    "solved by factors, transposed": lambda x: LU.solve(x**2, "T"),
    "solved by rounds": lambda x: linalg.cg(A @ A.T, x**2, rtol=1e-13)[0],
    "exponential": lambda x: linalg.expm_multiply(0.1 * A, x**2),
    "a system of diagonals": lambda x: linalg.spsolve(
        sparse.diags_array([-x[1:], x + 4.0, -x[1:]], offsets=[-1, 0, 1], format="csc"), x
    ),
}


@pytest.mark.parametrize("name", OF_VECTORS)
def test_of_vectors(name: str) -> None:
    f = OF_VECTORS[name]
    compiled = tj.function(f)
    np.testing.assert_allclose(compiled(X), f(X), rtol=1e-9)
    assert compiled.kernels
    loss = lambda x: np.sum(f(x) ** 2 * np.linspace(0.5, 1.5, f(x).size))  # noqa: E731
    gradient = tj.grad(loss)
    np.testing.assert_allclose(gradient(X), slopes(loss, X), rtol=2e-5, atol=1e-7)
    np.testing.assert_allclose(tj.hessian(loss)(X), slopes(gradient, X), rtol=5e-5, atol=1e-5)
    batch = np.stack([X, X + 0.1])
    np.testing.assert_allclose(tj.vmap(f)(batch), np.stack([*map(f, batch)]), rtol=1e-9)
    found = tj.jacobian(f, sparse=True)(X)
    np.testing.assert_allclose(found.toarray(), tj.jacobian(f)(X), atol=1e-10)


def test_a_jacobian_of_an_assembled_matrix_is_sparse() -> None:
    places = np.arange(N - 1)

    def residual(u: Any) -> Any:
        stiffness = np.diff(u) ** 2
        return sparse.coo_array((stiffness, (places, places + 1)), shape=(N, N)) @ u

    def residuals(u: Any) -> Any:
        stiffness = np.diff(u) ** 2
        matrix = sparse.csr_array((stiffness, (places, places + 1)), shape=(N, N))
        return matrix @ np.stack([u, u**2], 1)

    for f, entries in ((residual, 2 * (N - 1)), (residuals, 4 * (N - 1))):
        found = tj.jacobian(f, sparse=True)(X)
        dense = tj.jacobian(f)(X)
        np.testing.assert_allclose(found.toarray(), dense.reshape(found.shape), atol=1e-14)
        assert found.nnz == entries


def test_one_kernel_for_matrices_of_one_shape() -> None:
    gradient = tj.grad(loss_of(lambda A, x: A @ x))
    other = sparse.csr_array(A.toarray()[::-1, ::-1])
    for matrix in (A, 2.0 * A, other):
        found = gradient(matrix, X)
        np.testing.assert_array_equal(found.indices, matrix.indices)
        wanted = 2.0 * np.outer(np.linspace(0.5, 1.5, N) * (matrix @ X), X)
        rows, columns = found.tocoo().coords
        np.testing.assert_allclose(found.data, wanted[rows, columns])
    assert gradient.tracing_count == 1


def test_patterns_of_other_sizes() -> None:
    f = tj.function(lambda A, x: (2.0 * A) @ x)
    product = tj.function(lambda A, x: (A @ A) @ x)
    for dense in (A.toarray(), np.eye(N), np.triu(np.ones((N, N))), A.toarray()):
        matrix = sparse.csr_array(dense)
        np.testing.assert_allclose(f(matrix, X), 2.0 * dense @ X)
        np.testing.assert_allclose(product(matrix, X), dense @ dense @ X)


def test_results_are_matrices() -> None:
    results: dict[str, Callable[[Any, Any], Any]] = {
        "itself": lambda A, x: A,
        "scaled": lambda A, x: 2.0 * A,
        "transposed": lambda A, x: A.T,
        "a sum": lambda A, x: A + A.T,
        "by an array": lambda A, x: A.multiply(x),
        "in a dict": lambda A, x: {"A": A * 2.0, "x": x},
    }
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        for f in results.values():
            found, expected = tj.function(f)(kind(A), X), f(kind(A), X)
            if type(expected) is dict:
                found, expected = found["A"], expected["A"]
            assert type(found) is type(expected)
            np.testing.assert_allclose(found.toarray(), expected.toarray())


@pytest.mark.parametrize("dtype", ["f4", "c8", "c16"])
def test_dtypes(dtype: str) -> None:
    matrix, x = A.astype(dtype), X.astype(dtype)
    if dtype[0] == "c":
        matrix, x = matrix * np.array(1.0 + 0.5j, dtype)[()], x * np.array(1.0 - 1.0j, dtype)[()]
    for f in (
        lambda A, x: A @ x,
        linalg.spsolve,
        lambda A, x: (A + A.T) @ x,
        lambda A, x: linalg.expm_multiply(-A, x),
    ):
        loss = lambda A, x, f=f: np.sum(np.abs(f(A, x)) ** 2)  # noqa: E731
        dense = lambda A, x, f=f: np.sum(np.abs(f(A, x)) ** 2)  # noqa: E731, F841
        assert tj.function(f)(matrix, x).dtype == f(matrix, x).dtype
        by_data, by_x = tj.grad(loss, argnums=(0, 1))(matrix, x)
        assert (by_data.dtype, by_x.dtype) == (matrix.dtype, x.dtype)
        direction = RNG.random(matrix.nnz)
        step = 1e-2 if dtype in ("f4", "c8") else 1e-6
        sides = [
            loss(with_data(matrix, (matrix.data + sign * step * direction).astype(dtype)), x)
            for sign in (1.0, -1.0)
        ]
        moved = (sides[0] - sides[1]) / (2.0 * step)
        np.testing.assert_allclose(np.sum(by_data.data.real * direction), moved, rtol=2e-2)


def test_places_that_occur_twice_and_none_at_all() -> None:
    matrix = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    x = np.array([1.0, 2.0])
    for f in (lambda A, x: A @ x, lambda A, x: A.toarray() @ x, lambda A, x: (A + A) @ x):
        np.testing.assert_allclose(tj.function(f)(matrix, x), f(matrix, x))
        found = tj.grad(lambda A, x, f=f: np.sum(f(A, x)))(matrix, x)
        assert found.data.size == 3
        assert found.data[0] == found.data[1]
    empty = sparse.csr_array((3, 0))
    assert tj.grad(lambda A, x: np.sum(A @ x))(empty, np.zeros(0)).shape == (3, 0)
    np.testing.assert_array_equal(tj.function(lambda A, x: A @ x)(empty, np.zeros(0)), np.zeros(3))


def test_a_solver_that_does_not_converge_has_a_value_and_no_gradient() -> None:
    def f(A: Any, x: Any) -> Any:
        return np.sum(linalg.cg(A @ A.T, x, maxiter=1, rtol=1e-14)[0])

    assert np.isfinite(tj.function(f)(A, X))
    with pytest.raises(ArithmeticError, match="cg did not converge"):
        tj.grad(f)(A, X)
    with pytest.raises(ArithmeticError, match="cg did not converge"):
        tj.grad(f, argnums=1)(A, X)


REFUSED: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a dense array": (lambda A, x: sparse.csr_array(np.outer(x, x)) @ x, r"\\(rows, columns\\)"),
    "a preconditioner": (lambda A, x: linalg.cg(A, x, M=A)[0], "M is a function"),
    "a sparse right side": (lambda A, x: linalg.spsolve(A, A) @ x, "its right side is a sparse"),
    "a grid of times": (lambda A, x: linalg.expm_multiply(A, x, 0.0, 1.0, 3), "at one time"),
    "its own parts": (lambda A, x: (A + A.T).indptr * x[0], "indptr is not recorded"),
    "other factors": (lambda A, x: linalg.splu(A).L @ x, "SuperLU.L is not recorded"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_recorded_is_refused(name: str) -> None:
    f, words = REFUSED[name]
    with pytest.raises(tj.TracejitError, match=words.replace("\\\\", "\\")):
        tj.function(f)(A, X)


@pytest.mark.parametrize("scale", [0.5, 20.0])
def test_the_gradient_of_an_exponential_is_exact(scale: float) -> None:
    size = 12
    rows = np.array([-1.0, 2.0, -1.0])[:, None] * np.ones(size)
    matrix = sparse.csr_array(
        sparse.diags_array(-scale * rows, offsets=[-1, 0, 1], shape=(size, size))
    )
    x, weights = np.linspace(1.0, 2.0, size), np.linspace(-1.0, 2.0, size)
    found = tj.grad(lambda A: np.sum(weights * linalg.expm_multiply(A, x)))(matrix)
    wanted = expm_frechet(matrix.T.toarray(), np.outer(weights, x), compute_expm=False)
    exact = wanted[matrix.tocoo().coords]
    np.testing.assert_allclose(found.data, exact, atol=1e-12 * np.max(np.abs(exact)))


def test_writes_into_a_matrix_are_refused() -> None:
    def written(A: Any, x: Any) -> Any:
        A.data *= x[0]
        return A @ x

    def scaled(A: Any, x: Any) -> Any:
        A *= x[0]
        return A @ x

    for f, words in ((written, "a sparse matrix"), (scaled, "changed in place")):
        for call in (tj.function(f), tj.grad(loss_of(f))):
            matrix = A.copy()
            with pytest.raises(tj.TracejitError, match=words):
                call(matrix, X)
            np.testing.assert_array_equal(matrix.data, A.data)


def test_as_plain_python() -> None:
    for f in (PROGRAMS["A @ x"], PROGRAMS["spsolve"], PROGRAMS["A + B"], PROGRAMS["splu"]):
        loss = loss_of(f)
        wanted = tj.grad(loss, argnums=(0, 1))(A, X)
        with tj.eager():
            found = tj.grad(loss, argnums=(0, 1))(A, X)
        np.testing.assert_allclose(found[0].data, wanted[0].data)
        np.testing.assert_allclose(found[1], wanted[1])


def test_the_text_is_scipys_call() -> None:
    gradient = tj.value_and_grad(lambda A, b: np.sum(linalg.splu(A).solve(b) ** 2), argnums=(0, 1))
    gradient(A.tocsc(), X)
    lines = gradient.source.partition("def value_and_grad")[2].splitlines()
    text = "\n".join(line for line in lines if "#" not in line)
    assert text.count("splu(csc_array((data, indices, indptr), shape=(5, 5), copy=True))") == 1
    assert text.count(".solve(") == 2


def test_exports_return_matrices(tmp_path: Path) -> None:
    def scaled(A: Any, x: Any) -> Any:
        return {"A": 2.0 * A, "y": A @ x}

    loss = loss_of(lambda A, x: A @ x)
    band = tj.jacobian(lambda x: x[1:] * x[:-1], sparse=True)
    slope = tj.export(loss, A, X, path=tmp_path / "slope.py")
    value = tj.export(scaled, A, X, path=tmp_path / "scaled.py", grad=False)
    jacobian = tj.export(band, X, path=tmp_path / "band.py", grad=False)
    found = runpy.run_path(str(slope))["call"](A, X)[1]
    np.testing.assert_allclose(found.data, tj.grad(loss)(A, X).data)
    with pytest.raises(TypeError, match="A has to be a csr_array of shape"):
        runpy.run_path(str(slope))["call"](sparse.csr_array(np.eye(3)), X)
    found = runpy.run_path(str(value))["call"](A, X)
    np.testing.assert_allclose(found["A"].toarray(), 2.0 * A.toarray())
    found = runpy.run_path(str(jacobian))["call"](X)
    np.testing.assert_allclose(found.toarray(), band(X).toarray())
