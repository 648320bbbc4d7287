"""What is solved for one matrix: at once, and the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.against_exact import assert_close_to_exact
from tests.by_day import by_day
from tests.interpret import interpret
from tests.rows import each_row
from tests.support.graphs import graph_of, ops_of
from tracejit.ir.graph import Graph
from tracejit.ir.verify import verify
from tracejit.passes.algebra.solves import solve_together
from tracejit.passes.framework.dce import drop_dead

solve, inv = np.linalg.solve, np.linalg.inv


def solves_of(f: Any, *args: Any) -> tuple[Graph, Graph, list[str]]:
    """The graph of a call before and after, and what is solved then."""
    graph = graph_of(f, *args)
    new = verify(drop_dead(solve_together(graph)))
    names = ops_of(new)
    return graph, new, [name for name in names if name in ("solve", "solve_vector", "inv")]


def matrix(n: int, dtype: Any = "f8") -> Any:
    return (np.random.default_rng(n).normal(size=(n, n)) + 3.0 * np.eye(n)).astype(dtype)


TOGETHER: dict[str, Any] = {
    "matrices": lambda a, b, v: (solve(a, b), solve(a, b[:, ::-1])),
    "a matrix and a vector": lambda a, b, v: (solve(a, b), solve(a, v)),
    "a vector and a matrix": lambda a, b, v: (solve(a, v), solve(a, b)),
    "vectors": lambda a, b, v: (solve(a, v), solve(a, v[::-1])),
    "the inverse": lambda a, b, v: (solve(a, v), inv(a)),
    "the inverse first": lambda a, b, v: (inv(a), solve(a, b), solve(a, v)),
    "of the transposed": lambda a, b, v: (solve(a.T, b), solve(a.T, v)),
}  # fmt: skip


@each_row("dtype", ["f8", "f4", "c16"])
@each_row("f", TOGETHER.values())
@each_row("n", [1, 2, 5, 40])
def test_one_matrix_is_factored_once(f: Any, n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    args = [
        matrix(n, dtype),
        rng.normal(size=(n, 3)).astype(dtype),
        rng.normal(size=n).astype(dtype),
    ]
    before, after, solved = solves_of(f, *args)
    assert solved == ["solve"]
    for expected, found in zip(interpret(before, *args), interpret(after, *args), strict=True):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        scale = np.finfo(dtype).eps * np.max(np.abs(expected))
        assert np.max(np.abs(found - expected)) <= 16 * scale


APART: dict[str, tuple[Any, list[str]]] = {
    "two matrices": (lambda a, b, v: (solve(a, b), solve(a + 1.0, v)), ["solve", "solve_vector"]),
    "one after the other": (lambda a, b, v: solve(a, solve(a, v)), ["solve_vector"] * 2),
    "stacks": (lambda a, b, v: (solve(a[None], b), inv(a[None])), ["solve", "inv"]),
    "another dtype": (
        lambda a, b, v: (solve(a, b), solve(a, v.astype(np.float32))), ["solve", "solve_vector"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("f", "expected"), APART.values(), ids=APART)
def test_what_stays_apart(f: Any, expected: list[str]) -> None:
    assert solves_of(f, matrix(3), np.ones((3, 2)), np.ones(3))[2] == expected


def test_a_view_of_what_is_there_is_taken_earlier() -> None:
    def f(a: Any, b: Any, v: Any) -> Any:
        c = np.sin(b)
        x = solve(a, v)
        return x + 1.0, solve(a, c.T)

    args = matrix(3), np.ones((2, 3)), np.ones(3)
    before, after, solved = solves_of(f, *args)
    assert solved == ["solve"]
    for expected, found in zip(interpret(before, *args), interpret(after, *args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_two_pairs() -> None:
    def f(a: Any, b: Any, v: Any) -> Any:
        x, y = solve(a, b), solve(a, v)
        return solve(a, x), solve(a, y)

    assert solves_of(f, matrix(3), np.ones((3, 2)), np.ones(3))[2] == ["solve", "solve"]


def test_a_singular_matrix_is_still_an_error() -> None:
    def f(a: Any, v: Any) -> Any:
        return solve(a, v), inv(a)

    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        tj.function(f, cache=False)(np.ones((2, 2)), np.ones(2))


def test_one_side_has_nothing_to_do_with_another() -> None:
    """Infinities and nan stay in the columns that have them."""
    for n in (1, 2, 3, 8, 33):
        rng = np.random.default_rng(n)
        b, v = rng.normal(size=(n, 5)), rng.normal(size=n)
        b[0, 1], b[-1, 2], b[0, 3], v[0] = np.inf, np.nan, 1e300, -np.inf
        assert_close_to_exact(TOGETHER["a matrix and a vector"], [matrix(n), b, v])
        assert_close_to_exact(TOGETHER["the inverse first"], [matrix(n), b, v])


def likelihood(a: Any, b: Any, v: Any) -> Any:
    """Three steps with a spread that is solved for twice."""
    total = 0.0
    for _ in range(3):
        spread = b.T @ a @ b + np.eye(b.shape[1])
        gain = solve(spread, b.T @ a).T
        total = total + v @ solve(spread, v) + np.linalg.slogdet(spread)[1]
        a = a - gain @ b.T @ a + 0.1 * np.eye(len(a))
    return total


@settings(max_examples=by_day(8, 30), deadline=None, derandomize=True, database=None)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 999))
def test_random_filters(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n))
    args = [a @ a.T + np.eye(n), rng.normal(size=(n, k)), rng.normal(size=k)]
    assert_close_to_exact(likelihood, args, 3)
