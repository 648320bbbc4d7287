"""Like terms: the gradient of a polynomial, and what must not be collected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret
from tests.rewrites import LARGE, PAIRS, assert_within, graph_of, operations, pairs, special
from tracejit.ir.verify import verify
from tracejit.passes.dce import drop_dead
from tracejit.passes.like_terms import collect_like_terms

SQUARE = "a T[N] = multiply x x;"
COLLECTED = {
    "in another order": (
        SQUARE + "b T[N] = multiply z a; c T[N] = multiply z x; d T[N] = multiply c x;"
        "e T[N] = add z b; y T[N] = add e d",
        ["multiply x x", "multiply z v1", "multiply 2.0 v2", "add z v3"],
    ),
    "what costs least stays": (
        "c T[N] = multiply z x; d T[N] = multiply c x;" + SQUARE + "b T[N] = multiply a z;"
        "s T[N] = add d b; t T[N] = add s z; y T[N] = add t a",
        ["multiply x x", "multiply v1 z", "multiply 2.0 v2", "add v3 z", "add v4 v1"],
    ),
    "multiples": (
        SQUARE + "b T[N] = multiply a z; c T[N] = multiply 0.5 b; d T[N] = multiply z x;"
        "e T[N] = multiply d x; f T[N] = multiply e 0.25; g T[N] = subtract x c;"
        "y T[N] = subtract g f",
        ["multiply x x", "multiply v1 z", "multiply 0.75 v2", "subtract x v3"],
    ),
    "negatives": (
        SQUARE + "b T[N] = multiply a z; c T[N] = negative b; d T[N] = multiply z x;"
        "e T[N] = multiply d x; g T[N] = subtract c e; y T[N] = add g x",
        ["multiply x x", "multiply v1 z", "multiply 2.0 v2", "subtract x v3"],
    ),
    "all of a sum": (
        SQUARE + "b T[N] = multiply a z; d T[N] = multiply z x; e T[N] = multiply d x;"
        "y T[N] = add b e",
        ["multiply x x", "multiply v1 z", "multiply 2.0 v2"],
    ),
    "one that is read elsewhere": (
        SQUARE + "b T[N] = multiply a z; d T[N] = multiply z x; e T[N] = multiply d x;"
        "s T[N] = add b e; y T[N] = multiply s b",
        ["multiply x x", "multiply v1 z", "multiply 2.0 v2", "multiply v3 v2"],
    ),
}
APART = {
    "other signs": SQUARE + "b T[N] = multiply a z; d T[N] = multiply z x; e T[N] = multiply d x;"
    "s T[N] = add b z; y T[N] = subtract s e",
    "other factors": "a T[N] = multiply x x; b T[N] = multiply a z; c T[N] = multiply z z;"
    "d T[N] = multiply c x; y T[N] = add b d",
    "two that are read elsewhere": SQUARE + "b T[N] = multiply a z; d T[N] = multiply z x;"
    "e T[N] = multiply d x; s T[N] = add b e; t T[N] = multiply s b; y T[N] = multiply t e",
    "factors out of range": SQUARE + "b T[N] = multiply a z; c T[N] = multiply 1e9 b;"
    "d T[N] = multiply z x; e T[N] = multiply d x; f T[N] = multiply e 1e9; y T[N] = add c f",
    "quotients": "a T[N] = divide x z; b T[N] = multiply a x; c T[N] = divide x z;"
    "d T[N] = multiply c z; y T[N] = add b d",
}


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("nodes", "expected"), COLLECTED.values(), ids=COLLECTED)
def test_like_terms_are_one(nodes: str, expected: list[str], dtype: str) -> None:
    graph = graph_of("x: T[N], z: T[N]", nodes, dtype)
    new = verify(drop_dead(collect_like_terms(graph)))
    assert operations(new) == expected
    rng = np.random.default_rng(0)
    assert_within(graph, new, [rng.normal(size=PAIRS).astype(dtype) for _ in range(2)])
    x, z = pairs(dtype)
    usual = [value not in (LARGE[dtype], -LARGE[dtype]) for value in special(dtype).tolist()]
    kept = np.isin(x, special(dtype)[usual]) & np.isin(z, special(dtype)[usual])
    assert_within(graph, new, [np.where(kept, x, 1), np.where(kept, z, 1)])
    with np.errstate(all="ignore"):
        (before,), (after,) = interpret(graph, x, z), interpret(new, x, z)
    assert np.all(np.isfinite(after) | ~np.isfinite(before))


@pytest.mark.parametrize("nodes", APART.values(), ids=APART)
def test_what_stays_apart(nodes: str) -> None:
    graph = graph_of("x: T[N], z: T[N]", nodes)
    assert operations(drop_dead(collect_like_terms(graph))) == operations(graph)


def test_what_has_a_name_stays() -> None:
    nodes, _ = COLLECTED["all of a sum"]
    for named in ("b", "e"):
        graph = graph_of("x: T[N], z: T[N]", nodes, "f8", named)
        assert len(drop_dead(collect_like_terms(graph)).nodes) <= len(graph.nodes)
    graph = graph_of("x: T[N], z: T[N]", nodes, "f8", "b e")
    assert operations(drop_dead(collect_like_terms(graph))) == operations(graph)


def test_factors_of_another_precision_keep_their_order() -> None:
    nodes = (
        "a f4[N] = multiply x x; b f8[N] = multiply a z; d f8[N] = multiply z x;"
        "e f8[N] = multiply d x; y f8[N] = add b e"
    )
    graph = graph_of("x: f4[N], z: f8[N]", nodes)
    assert operations(drop_dead(collect_like_terms(graph))) == operations(graph)


def test_long_sums() -> None:
    sums = "; ".join(f"a{k + 1} T[N] = add a{k} x" for k in range(1, 3000))
    graph = graph_of("x: T[N]", f"a1 T[N] = multiply x x; {sums}; y T[N] = multiply a3000 x")
    assert len(collect_like_terms(graph).nodes) == len(graph.nodes)


def gelu(x: Any) -> Any:
    """By tanh, as it is written."""
    return np.sum(0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))))


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_of_polynomials(size: int, dtype: type) -> None:
    x = np.linspace(-3.0, 3.0, size).astype(dtype)
    slope, exact = tj.grad(gelu), tj.grad(tj.function(gelu, exact=True))
    found = slope(x)
    assert found.dtype == x.dtype and found.shape == x.shape
    np.testing.assert_allclose(found, exact(x), rtol=0, atol=4 * np.finfo(dtype).eps)
    assert "c3 = array(" in slope.source
