"""Reassociation: sums of sums, and of squares."""

from __future__ import annotations

import numpy as np
import pytest

from tests.rewrites import PAIRS, assert_within, graph_of, operations, special
from tracejit.ir.verify import verify
from tracejit.passes.algebra.reassociate import add_apart
from tracejit.passes.framework.dce import drop_dead

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
