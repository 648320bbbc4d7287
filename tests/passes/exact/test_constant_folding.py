"""Constant folding: once, when the module is imported, with the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import code
from tests.rewrites import graph_of
from tracejit.passes.exact.constant_folding import fold_constants

GRID = "np.cos(np.arange(60.0)).reshape(20, 3)"
PROGRAMS = {
    "a product with ones": (f"np.sum({GRID} @ x)", "c_1.T.dot(ones_20)"),
    "a product of two": (f"np.sum(({GRID} @ x) @ np.arange(20.0))", "c_3 = "),
    "a sum at an index": (f"np.sum(x[np.arange(60) % 3] * {GRID}.ravel())", "c_2 = "),
    "a flat index": ("np.sum(np.outer(x, x)[np.arange(30) % 3] ** 2)", "+ arange_3).reshape(90)"),
}


def compiled(text: str, **options: Any) -> Any:
    space: dict[str, Any] = {"np": np}
    exec(f"def f(x):\n    return {text}", space)
    return tj.value_and_grad(tj.function(space["f"], cache=False, **options))


def head(gradient: Any) -> str:
    """The lines before the first function."""
    return str(gradient.source.partition("SIGNATURE")[2].partition("\ndef ")[0])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("text", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_computed_once(text: str, expected: str, dtype: str) -> None:
    x = np.array([1.0, -2.0, 0.5], dtype)
    found, exact = compiled(text), compiled(text, exact=True)
    for _ in range(2):
        (value, bar), (other, other_bar) = found(x), exact(x)
        assert (value.dtype, bar.dtype) == (other.dtype, other_bar.dtype)
        np.testing.assert_allclose(value, other, rtol=0, atol=1e-4 if dtype == "f4" else 1e-13)
        np.testing.assert_allclose(bar, other_bar, rtol=1e-4 if dtype == "f4" else 1e-12)
        bar[...] = 0.0  # the caller's own
    assert expected in head(found)


def test_views_are_written_where_they_are_read() -> None:
    found = compiled(f"np.sum(np.sin({GRID} @ x))")
    found(np.ones(3))
    assert ".T.dot(" in code(found)
    assert ".T" not in head(found)


def test_warnings_of_constants_stay_with_the_call() -> None:
    """Importing the module warns of nothing."""
    graph = graph_of("x: f8[20]", "a f8[20] = log x; y f8[20] = multiply a x")
    graph.nodes[0].operands = (graph.constant(np.arange(20.0)),)
    assert [node.op.name for node in fold_constants(graph).nodes] == ["log", "multiply"]
    graph.nodes[0].operands = (graph.constant(np.arange(1.0, 21.0)),)
    assert [node.op.name for node in fold_constants(graph).nodes] == ["multiply"]


def test_a_singular_constant_is_an_error_of_each_call() -> None:
    f = tj.function(lambda x: np.linalg.solve(np.zeros((5, 5)), x), cache=False)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            f(np.ones(5))
