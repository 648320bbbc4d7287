"""Reassociation: all of it together, products in the order of others, sums of squares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import assert_close_to_exact
from tests.interpret import interpret
from tests.rewrites import PAIRS, assert_within, graph_of, operations, pairs, special
from tracejit.ir.verify import verify
from tracejit.passes.dce import drop_dead
from tracejit.passes.reassociate import add_apart, share_products

INPUTS = "x: T[N], z: T[N]"
SHARED = {
    "a number times the weight": (
        (
            "a T[N] = multiply z z; b T[N] = multiply a x; c T[N] = multiply 2.0 x;"
            "d T[N] = multiply z c; y T[N] = divide b d"
        ),
        ["multiply x z", "multiply v1 z", "multiply 2.0 v1", "divide v2 v3"],
    ),
    "a number times the value": (
        (
            "a T[N] = multiply z z; b T[N] = multiply x a; c T[N] = multiply z 2.0;"
            "d T[N] = multiply c x; y T[N] = divide b d"
        ),
        ["multiply x z", "multiply v1 z", "multiply 2.0 v1", "divide v2 v3"],
    ),
    "no number": (
        "a T[N] = multiply z z; b T[N] = multiply x a; d T[N] = multiply z x; y T[N] = divide b d",
        ["multiply x z", "multiply v1 z", "divide v2 v1"],
    ),
    "a sum of products": (
        (
            "a T[N] = multiply z z; b T = dot a x; c T[N] = multiply -0.25 x;"
            "d T[N] = multiply c z; y T[N] = divide d b"
        ),
        ["multiply x z", "dot v1 z", "multiply -0.25 v1", "divide v3 v2"],
    ),
}
APART = {
    "squares that are read elsewhere": "a T[N] = multiply z z; b T[N] = multiply a x;"
    "c T[N] = multiply x z; d T[N] = divide b c; y T[N] = add d a",
    "multiples that are read elsewhere": "a T[N] = multiply z z; b T[N] = multiply a x;"
    "c T[N] = multiply 2.0 x; d T[N] = multiply c z; e T[N] = divide b d; y T[N] = add e c",
    "a large number": "a T[N] = multiply z z; b T[N] = multiply a x; c T[N] = multiply 1e9 x;"
    "d T[N] = multiply c z; y T[N] = divide b d",
    "the product of others": "a T[N] = multiply z z; b T[N] = multiply a x;"
    "c T[N] = multiply x x; y T[N] = divide b c",
    "cubes": "a T[N] = multiply z z; b T[N] = multiply a z; y T[N] = add b x",
    "squares of squares": "a T[N] = multiply z z; b T[N] = multiply a a; c T[N] = multiply a z;"
    "d T[N] = divide b c; y T[N] = add d x",
}


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("nodes", "expected"), SHARED.values(), ids=SHARED)
def test_products_are_shared(nodes: str, expected: list[str], dtype: str) -> None:
    graph = graph_of(INPUTS, nodes, dtype)
    new = verify(drop_dead(share_products(graph)))
    assert operations(new) == expected
    rng = np.random.default_rng(0)
    assert_within(graph, new, [rng.normal(size=PAIRS).astype(dtype) for _ in range(2)])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", [name for name in SHARED if "sum" not in name])
def test_special_values(name: str, dtype: str) -> None:
    """The same but where the squares overflow or underflow: finite may be what was not."""
    graph = graph_of(INPUTS, SHARED[name][0], dtype)
    graph.outputs = list(graph.nodes[-1].operands)
    new = drop_dead(share_products(graph))
    x, z = pairs(dtype)
    ordinary = (np.abs(z) > 0.01) & (np.abs(z) < 100.0) | (z == 0.0) | ~np.isfinite(z)
    assert_within(graph, new, [x, np.where(ordinary, z, 1)])
    with np.errstate(all="ignore"):
        (before, _), (after, _) = interpret(graph, x, z), interpret(new, x, z)
    assert np.all(np.isfinite(after) | ~np.isfinite(before))


@pytest.mark.parametrize("nodes", APART.values(), ids=APART)
def test_what_stays_apart(nodes: str) -> None:
    graph = graph_of(INPUTS, nodes)
    assert share_products(graph) is graph


def test_other_types_and_names_stay() -> None:
    nodes, _ = SHARED["a number times the weight"]
    for named in "ac":
        graph = graph_of(INPUTS, nodes, "f8", named)
        assert share_products(graph) is graph
    for inputs in ("x: f8, z: f8[N]", "x: f8[1], z: f8[N]", "x: f4[N], z: f8[N]"):
        type = inputs[3:].partition(",")[0]
        text = nodes.replace("c T[N]", f"c {type}").replace("T", "f8")
        graph = graph_of(inputs, text)
        assert share_products(graph) is graph


def likelihood(weights: Any, x: Any, at: Any) -> Any:
    """Weighted squares of differences."""
    return np.sum(weights * (np.sin(x) - at) ** 2)


@pytest.mark.parametrize("shape", [(0,), (1,), (6,), (3, 4), (20_000,)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_of_weighted_squares(shape: tuple[int, ...], dtype: type) -> None:
    rng = np.random.default_rng(0)
    weights, x, at = (rng.uniform(0.5, 2.0, size=shape).astype(dtype) for _ in range(3))
    slope = tj.value_and_grad(tj.function(likelihood, cache=False), argnums=(1, 2))
    exact = tj.value_and_grad(tj.function(likelihood, exact=True, cache=False), argnums=(1, 2))
    (value, slopes), (expected, others) = slope(weights, x, at), exact(weights, x, at)
    np.testing.assert_allclose(value, expected, rtol=20 * np.finfo(dtype).eps)
    for one, other in zip(slopes, others, strict=True):
        assert one.dtype == dtype and one.shape == shape
        np.testing.assert_allclose(one, other, rtol=8 * np.finfo(dtype).eps, atol=1e-30)
    whole = slope.kernels[0].source.partition("def value_and_grad")[2]
    assert "out_2 * out_2" not in whole and "multiply(out_2, out_2" not in whole


def test_views_and_rows() -> None:
    rng = np.random.default_rng(1)

    def rows(weights: Any, x: Any) -> Any:
        return np.sum(np.sin(np.sum(weights[::-1] * (x[:, ::2] - 1.0) ** 2, axis=-1)))

    assert_close_to_exact(rows, [rng.normal(size=(4, 3)), rng.normal(size=(4, 6))], grad=2)


# Sums of sums, and of squares

SQUARES = "a T[N] = multiply x x; b T[N] = multiply z z;"
ADDED_APART = {
    "two squares": (
        SQUARES + "c T[N] = add a b; y T = sum c axis=(0,)",
        [
            "multiply x x",
            "multiply z z",
            "sum v1 axis=(0,)",
            "sum v2 axis=(0,)",
            "add v3 v4",
        ],
    ),
    "multiples of squares": (
        SQUARES + "c T[N] = multiply 6.0 a; d T[N] = multiply 3.0 b; e T[N] = add c d;"
        "y T = sum e axis=(0,)",
        [
            "multiply x x",
            "multiply z z",
            "sum v1 axis=(0,)",
            "multiply 6.0 v3",
            "sum v2 axis=(0,)",
            "multiply 3.0 v5",
            "add v4 v6",
        ],
    ),
}
TOGETHER = {
    "below zero": SQUARES + "c T[N] = multiply -2.0 a; d T[N] = add c b; y T = sum d axis=(0,)",
    "a product that may be": "a T[N] = multiply x z; b T[N] = multiply x x; c T[N] = add a b;"
    "y T = sum c axis=(0,)",
    "one square": "a T[N] = multiply x x; y T = sum a axis=(0,)",
    "a square that is read elsewhere": SQUARES + "c T[N] = add a b; d T[N] = multiply a c;"
    "e T = sum c axis=(0,); f T = sum d axis=(0,); y T = add e f",
}


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("nodes", "expected"), ADDED_APART.values(), ids=ADDED_APART)
def test_squares_are_added_apart(nodes: str, expected: list[str], dtype: str) -> None:
    graph = graph_of("x: T[N], z: T[N]", nodes, dtype)
    new = verify(drop_dead(add_apart(graph)))
    assert operations(new) == expected
    rng = np.random.default_rng(0)
    z = rng.normal(size=PAIRS).astype(dtype)
    assert_within(graph, new, [rng.normal(size=PAIRS).astype(dtype), z])
    for value in special(dtype):
        assert_within(graph, new, [np.where(np.arange(PAIRS) == 5, value, z), z[::-1]])
        assert_within(graph, new, [z, np.full(PAIRS, value)])


@pytest.mark.parametrize("nodes", TOGETHER.values(), ids=TOGETHER)
def test_what_is_added_together(nodes: str) -> None:
    graph = graph_of("x: T[N], z: T[N]", nodes)
    assert operations(drop_dead(add_apart(graph))) == operations(graph)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("kept", "shape"), [("", "4"), (" keepdims=True", "4,1")])
def test_a_sum_of_sums_is_one(kept: str, shape: str, dtype: str) -> None:
    outer = "(0,)" if not kept else "(0, 1)"
    nodes = f"a T[{shape}] = sum x axis=(1,){kept}; y T = sum a axis={outer}"
    graph = graph_of("x: T[4,9]", nodes, dtype)
    new = verify(drop_dead(add_apart(graph)))
    assert operations(new) == ["sum x axis=(0, 1)"]
    x = np.random.default_rng(0).normal(size=(4, 9)).astype(dtype)
    for value in special(dtype):
        x[1, 2] = value
        assert_within(graph, new, [x])


def test_a_sum_that_is_read_or_named_stays() -> None:
    nodes = "a T[4] = sum x axis=(1,); b T = sum a axis=(0,)"
    for rest, named in (("; y T[4] = add a b", ""), ("", "a")):
        graph = graph_of(
            "x: T[4,9]", nodes.replace("b T", "y T") if named else nodes + rest, "f8", named
        )
        assert operations(drop_dead(add_apart(graph))) == operations(graph)


def test_long_sums_of_squares() -> None:
    sums = "; ".join(f"a{k + 1} T[N] = add a{k} x" for k in range(1, 3000))
    graph = graph_of("x: T[N]", f"a1 T[N] = multiply x x; {sums}; y T = sum a3000 axis=(0,)")
    assert len(add_apart(graph).nodes) == len(graph.nodes)
