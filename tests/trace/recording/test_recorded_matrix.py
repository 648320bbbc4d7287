"""Sparse matrices of SciPy's, captured and passed: products, gradients, and changed numbers."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import tracejit as tj
from tests.support.compare import assert_same
from tracejit.trace.recording.recorded_matrix import RecordedMatrix, same_memory

pytestmark = [
    pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning"),
    pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning"),
]

RNG = np.random.default_rng(3)
DENSE = np.round(RNG.normal(size=(3, 4)), 2) * (RNG.random((3, 4)) > 0.4)
DENSE[0, 0] = 1.5
X, Y = RNG.normal(size=4), RNG.normal(size=3)
COLUMNS, ROWS = RNG.normal(size=(4, 2)), RNG.normal(size=(2, 3))
FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]
KINDS = [getattr(sparse, f"{name}_{kind}") for name in FORMATS for kind in ("array", "matrix")]

PRODUCTS: dict[str, tuple[Callable[..., Any], Any]] = {
    "S @ x": (lambda S, x: S @ x, X),
    "S @ columns": (lambda S, x: S @ x, COLUMNS),
    "S @ column": (lambda S, x: S @ x, COLUMNS[:, :1]),
    "x @ S": (lambda S, x: x @ S, Y),
    "rows @ S": (lambda S, x: x @ S, ROWS),
    "S.T @ x": (lambda S, x: S.T @ x, Y),
    "S.transpose() @ x": (lambda S, x: S.transpose() @ x, Y),
    "x @ S.T": (lambda S, x: x @ S.T, X),
    "dot": (lambda S, x: S.dot(x), X),
    "normal equations": (lambda S, x: S.T @ (S @ x) + S.T @ (S @ (2.0 * x)), X),
    "float32": (lambda S, x: S @ x.astype("f4"), X),
    "integers": (lambda S, x: S @ np.floor(x).astype(int), X),
    "complex": (lambda S, x: (1j * x) @ S.T, X),
    "a constant": (lambda S, x: S @ np.ones(4) + x[:3], X),
}
OF_MATRICES: dict[str, tuple[Callable[..., Any], Any]] = {
    "S * x": (lambda S, x: S * x, X),
    "x * S": (lambda S, x: x * S, Y),
    "S.T * columns": (lambda S, x: S.T * x, ROWS.T),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_products_are_scipys(kind: Any) -> None:
    matrix = kind(DENSE)
    programs = PRODUCTS | (OF_MATRICES if issubclass(kind, sparse.spmatrix) else {})
    for f, x in programs.values():
        assert_same(tj.function(f)(matrix, x), f(matrix, x))
        captured = tj.function(lambda x, f=f: f(matrix, x))
        assert_same(captured(x), f(matrix, x))
        assert "import scipy" not in captured.source


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "c16", "b1"])
def test_dtypes_are_scipys(dtype: str) -> None:
    matrix = sparse.csr_array(DENSE.astype(dtype))
    for other in ("f4", "f8", "i8", "c8", "b1"):
        x = COLUMNS.astype(other)
        assert_same(tj.function(lambda S, x: S @ x)(matrix, x), matrix @ x)


def loss(S: Any, x: Any) -> Any:
    """A number that is quadratic in x."""
    return np.sum((S @ x) ** 2) + np.sum(x @ S.T)


GRAM = 2.0 * DENSE.T @ DENSE
GRADIENT = GRAM @ X + DENSE.sum(axis=0)
MODES: dict[str, tuple[Callable[[Callable[..., Any]], Any], Any]] = {
    "grad": (lambda f: tj.grad(f)(X), GRADIENT),
    "hessian": (lambda f: tj.hessian(f)(X), GRAM),
    "jvp": (lambda f: tj.jvp(f, (X,), (np.ones(4),))[1], np.sum(GRADIENT)),
    "second by tapes": (lambda f: tj.grad(lambda x: np.sum(tj.grad(f)(x)))(X), GRAM.sum(axis=0)),
    "hvp": (lambda f: tj.jvp(tj.grad(f), (X,), (np.ones(4),))[1], GRAM.sum(axis=0)),
    "vmap": (lambda f: tj.vmap(tj.grad(f))(np.stack([X, X])), np.stack([GRADIENT] * 2)),
}


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_every_mode_differentiates_them(name: str, kind: Any) -> None:
    matrix = kind(DENSE)
    mode, expected = MODES[name]
    np.testing.assert_allclose(mode(lambda x: loss(matrix, x)), expected, rtol=1e-13)


def test_gradients_beside_a_matrix_that_is_an_argument() -> None:
    f = tj.value_and_grad(loss, argnums=1)
    for scale in (1.0, 2.0, 3.0):
        value, found = f(sparse.csr_array(scale * DENSE), X)
        np.testing.assert_allclose(value, loss(sparse.csr_array(scale * DENSE), X))
        np.testing.assert_allclose(found, scale**2 * GRAM @ X + scale * DENSE.sum(axis=0))
    assert f.tracing_count == 1
    with pytest.raises(tj.TracejitError, match="with respect to S"):
        tj.grad(loss)(sparse.lil_array(DENSE), X)


BATCHES: dict[str, tuple[Callable[..., Any], Any]] = {
    "vectors": (lambda S, x: S @ x, np.stack([X, 2 * X])),
    "on the left": (lambda S, x: x @ S, np.stack([Y, 2 * Y])),
    "columns": (lambda S, x: S @ x, np.stack([COLUMNS, 2 * COLUMNS])),
    "rows": (lambda S, x: x @ S, np.stack([ROWS, 2 * ROWS])),
    "transposed": (lambda S, x: S.T @ x, np.stack([Y, 2 * Y])),
    "none": (lambda S, x: S @ x, np.zeros((0, 4))),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_is_one_product(name: str) -> None:
    f, batch = BATCHES[name]
    matrix = sparse.csr_array(DENSE)
    found = tj.vmap(f, in_axes=(None, 0))(matrix, batch)
    expected = np.array([f(matrix, x) for x in batch])
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("mode", ["eager", "around a function"])
def test_tapes_see_products(mode: str) -> None:
    matrix = sparse.csr_array(DENSE)
    call = (
        (lambda x: loss(matrix, x)) if mode == "eager" else tj.function(lambda x: loss(matrix, x))
    )
    variable = tj.Variable(X)
    with tj.GradientTape() as tape:
        x = tj.constant(X)
        tape.watch(x)
        y = call(x)
        z = np.sum((matrix @ variable) ** 2) + np.sum(variable @ matrix.T)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), GRADIENT)
    with tj.GradientTape() as tape:
        z = np.sum((matrix @ variable) ** 2) + np.sum(variable @ matrix.T)
    np.testing.assert_allclose(tape.gradient(z, variable).numpy(), GRADIENT)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "an element": lambda S: S.__setitem__((0, 0), 7.0),
    "a new element": lambda S: S.__setitem__((2, 3), S[2, 3] + 7.0),
    "all in place": lambda S: S.data.__imul__(2.0),
    "other data": lambda S: setattr(S, "data", S.data + 1.0),
    "other places": lambda S: S.indices.__setitem__(slice(None), S.indices[::-1].copy()),
}


USES: dict[str, Callable[..., Any]] = {
    "S": PRODUCTS["S @ x"][0],
    "S.T": PRODUCTS["normal equations"][0],
    "made of it": lambda S, x: (2.0 * S)[:2] @ x,
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("use", USES)
def test_changed_numbers_are_seen(name: str, use: str) -> None:
    f = USES[use]
    matrix = sparse.csr_array(DENSE)
    held = SimpleNamespace(matrix=sparse.csr_array(DENSE))
    passed = tj.function(f) if use != "made of it" else None
    captured, attribute = (
        tj.function(lambda x: f(matrix, x)),
        tj.function(lambda x: f(held.matrix, x)),
    )
    for _ in range(2):
        assert_same(captured(X), f(matrix, X))
        assert_same(attribute(X), f(held.matrix, X))
        if passed is not None:
            assert_same(passed(matrix, X), f(matrix, X))
        CHANGES[name](matrix)
        CHANGES[name](held.matrix)
    held.matrix = sparse.csc_array(DENSE)
    assert_same(attribute(X), f(held.matrix, X))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_changed_element_is_seen_in_every_format(kind: Any) -> None:
    matrix = kind(DENSE)
    f = tj.function(lambda x: matrix.T @ (matrix @ x))
    assert_same(f(X), matrix.T @ (matrix @ X))
    try:
        matrix[0, 0] = 9.0
    except (NotImplementedError, TypeError):
        matrix.data *= 2.0
    assert_same(f(X), matrix.T @ (matrix @ X))


def test_other_classes_shapes_and_dtypes_have_other_kernels() -> None:
    f = tj.function(lambda S, x: S @ x)
    matrices = [kind(DENSE) for kind in KINDS[:4]]
    matrices += [sparse.csr_array(DENSE[:2]), sparse.csr_array(DENSE.astype("f4"))]
    for _ in range(2):
        for matrix in matrices:
            assert_same(f(matrix, X), matrix @ X)
    assert f.tracing_count == len(matrices)
    assert "S was a csr_array float64[2, 4]" in f.explain()


def test_the_number_of_columns_may_be_free_and_paths_join() -> None:
    matrix = sparse.csr_array(DENSE)
    f = tj.function(
        lambda x: matrix.T @ (matrix @ x) if np.sum(x) > 0.0 else matrix.T @ (matrix @ -x)
    )
    for count in (2, 3, 4, 5):
        for sign in (1.0, -1.0):
            x = sign * np.ones((4, count))
            assert_same(f(x), f.python(x))


def test_one_matrix_is_one_argument() -> None:
    matrix = sparse.csr_array(DENSE)
    f = tj.function(lambda x: matrix.T @ (matrix @ x) + matrix.T @ (matrix @ x**2))
    f(X)
    assert list(f.kernels[-1].signature["inputs"]) == ["x", "matrix", "matrix_2"]
    assert same_memory(matrix.T, matrix.T)
    assert not same_memory(matrix, matrix.copy())


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "an element by what is recorded": (
        lambda S, x: S[x > 0.0],
        "an element or a part of a csr_array by a recorded index",
    ),
    "written to": (lambda S, x: S.__setitem__((0, 0), 1.0), "an assignment to a part"),
    "compared": (lambda S, x: S == S.T, "a comparison of a csr_array"),
    "in place": (lambda S, x: S.__imul__(2.0), "changed in place"),
    "by a method": (lambda S, x: S.maximum(S), r"csr_array\.maximum is not recorded"),
    "a sum with a number": (lambda S, x: S + x[0], "adding a nonzero scalar"),
    "too long": (lambda S, x: S @ np.append(x, 1.0), "dimension mismatch"),
    "three dimensions": (lambda S, x: S @ (np.ones((4, 2, 2)) * x[0]), "3-D arrays"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_recorded_is_refused(name: str) -> None:
    f, words = REFUSED[name]
    matrix = sparse.csr_array(DENSE)
    with pytest.raises((tj.TracejitError, TypeError, NotImplementedError), match=words):
        tj.function(f)(matrix, X)


def test_a_matrix_looks_like_what_it_stands_for() -> None:
    seen: list[Any] = []

    def f(S: Any, x: Any) -> Any:
        seen.append((sparse.issparse(S), isinstance(S, sparse.csr_array), S.shape, S.T.shape))
        seen.append((S.dtype, S.ndim, repr(S)))
        return S @ x

    tj.function(f)(sparse.csr_array(DENSE), X)
    assert seen[0] == (True, True, (3, 4), (4, 3))
    assert seen[1] == (np.dtype(float), 2, "<csr_array of shape (3, 4), being recorded>")
    assert type(RecordedMatrix) is type
