"""Common factors: what is taken out of sums, and what stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import assert_close_to_exact
from tests.rewrites import PAIRS, assert_within, graph_of, operations, pairs
from tracejit.ir.verify import verify
from tracejit.passes.common_factors import MOST_TERMS, take_out_factors
from tracejit.passes.dce import drop_dead

A = "a T[N] = tanh x;"
S = "s T[N] = sin z;"
TAKEN = {
    "one of two products": (
        A + "b T[N] = multiply a z; c T[N] = multiply x a; y T[N] = subtract b c",
        ["tanh x", "subtract z x", "multiply v1 v2"],
    ),
    "a difference from another term": (
        A + "b T[N] = multiply a z; c T[N] = multiply 2.0 a; d T[N] = subtract x b;"
        "y T[N] = subtract d c",
        ["tanh x", "add z 2.0", "multiply v1 v2", "subtract x v3"],
    ),
    "one of longer products": (
        A + S + "b T[N] = multiply a z; c T[N] = multiply b s; d T[N] = multiply s x;"
        "e T[N] = negative d; f T[N] = multiply e a; g T[N] = add c z; y T[N] = add g f",
        [
            "tanh x",
            "sin z",
            "multiply v2 x",
            "negative v3",
            "multiply z v2",
            "add v5 v4",
            "multiply v1 v6",
            "add v7 z",
        ],
    ),
    "a factor of a dividend": (
        A + "e T[N] = exp z; g T[N] = add 1.0 e; b T[N] = multiply a e; c T[N] = divide b g;"
        "d T[N] = multiply a z; y T[N] = add c d",
        ["tanh x", "exp z", "add 1.0 v2", "divide v2 v3", "add v4 z", "multiply v1 v5"],
    ),
    "a divisor": (
        (
            "e T[N] = exp z; g T[N] = add 1.0 e; b T[N] = divide x g; c T[N] = multiply 2.0 z;"
            "d T[N] = divide c g; y T[N] = subtract b d"
        ),
        ["exp z", "add 1.0 v1", "multiply 2.0 z", "subtract x v3", "divide v4 v2"],
    ),
    "a divisor of a factor": (
        (
            "e T[N] = exp x; g T[N] = add 1.0 e; b T[N] = divide 3.0 g; c T[N] = multiply b z;"
            "d T[N] = divide x g; y T[N] = add c d"
        ),
        ["exp x", "add 1.0 v1", "multiply 3.0 z", "add v3 x", "divide v4 v2"],
    ),
    "signs of the factor": (
        A + S + "p T[N] = multiply a s; b T[N] = negative p; c T[N] = multiply b x;"
        "d T[N] = multiply z 3.0; e T[N] = multiply p d; f T[N] = subtract c e;"
        "g T[N] = multiply 2.0 p; h T[N] = add f g; i T[N] = add h x; y T[N] = multiply i p",
        [
            "tanh x",
            "sin z",
            "multiply v1 v2",
            "multiply z 3.0",
            "negative x",
            "subtract v5 v4",
            "add v6 2.0",
            "multiply v3 v7",
            "add v8 x",
            "multiply v9 v3",
        ],
    ),
    "two factors": (
        A + S + "b T[N] = multiply a x; c T[N] = multiply s z; d T[N] = multiply z a;"
        "e T[N] = multiply x s; f T[N] = add b c; g T[N] = add f d; y T[N] = subtract g e",
        [
            "tanh x",
            "sin z",
            "add x z",
            "multiply v1 v3",
            "subtract z x",
            "multiply v2 v5",
            "add v4 v6",
        ],
    ),
    "the factors of a factor": (
        A + S + "p T[N] = multiply a s; b T[N] = multiply p x; c T[N] = multiply a a;"
        "d T[N] = multiply c s; e T[N] = multiply d z; f T[N] = subtract b e;"
        "y T[N] = multiply f p",
        [
            "tanh x",
            "sin z",
            "multiply v1 v2",
            "multiply v1 z",
            "subtract x v4",
            "multiply v3 v5",
            "multiply v6 v3",
        ],
    ),
    "the factors of a factor and a number": (
        A + S + "p T[N] = multiply a s; q T[N] = multiply 2.0 p; b T[N] = multiply q x;"
        "c T[N] = multiply -2.0 a; d T[N] = multiply c a; e T[N] = multiply s d;"
        "f T[N] = multiply e z; g T[N] = add b f; y T[N] = multiply g q",
        [
            "tanh x",
            "sin z",
            "multiply v1 v2",
            "multiply 2.0 v3",
            "multiply v1 z",
            "subtract x v5",
            "multiply v4 v6",
            "multiply v7 v4",
        ],
    ),
}
APART = {
    "what may be infinite": "b T[N] = multiply x z; c T[N] = multiply 2.0 x; y T[N] = add b c",
    "a divisor that may be zero": "b T[N] = divide x z; c T[N] = divide 2.0 z; y T[N] = add b c",
    "products that may be large": A + "b T[N] = multiply a x; c T[N] = multiply b z;"
    "d T[N] = multiply a z; y T[N] = add c d",
    "quotients that may be large": A + "b T[N] = multiply a x; c T[N] = divide b z;"
    "d T[N] = multiply a z; y T[N] = add c d",
    "the factor itself": A + "b T[N] = multiply a z; y T[N] = add a b",
    "what is read elsewhere": A + "b T[N] = multiply a z; c T[N] = multiply x a;"
    "d T[N] = subtract b c; y T[N] = multiply d b",
    "a product that is made elsewhere": A + S + "p T[N] = multiply a s; b T[N] = multiply p x;"
    "c T[N] = multiply a z; d T[N] = add b c; y T[N] = multiply d p",
    "a number that makes factors small": (
        A + S + "p T[N] = multiply a s; q T[N] = multiply 1e-9 p; b T[N] = multiply q x;"
        "c T[N] = multiply a a; d T[N] = multiply c s; e T[N] = multiply d z;"
        "f T[N] = multiply e 1e-9; g T[N] = subtract b f; y T[N] = multiply g q"
    ),
    "factors that are small together": A + S + "p T[N] = multiply a s; b T[N] = multiply p x;"
    "c T[N] = multiply a z; d T[N] = multiply c s; e T[N] = subtract b d; y T[N] = multiply e p",
}
INPUTS = "x: T[N], z: T[N]"


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("nodes", "expected"), TAKEN.values(), ids=TAKEN)
def test_common_factors_are_taken_out(nodes: str, expected: list[str], dtype: str) -> None:
    """With the same inf and nan for any two special values."""
    graph = graph_of(INPUTS, nodes, dtype)
    new = verify(drop_dead(take_out_factors(graph)))
    assert operations(new) == expected
    rng = np.random.default_rng(0)
    assert_within(graph, new, [rng.normal(size=PAIRS).astype(dtype) for _ in range(2)])
    assert_within(graph, new, pairs(dtype))


@pytest.mark.parametrize("nodes", APART.values(), ids=APART)
def test_what_stays_apart(nodes: str) -> None:
    graph = graph_of(INPUTS, nodes)
    assert take_out_factors(graph) is graph


@pytest.mark.parametrize("named", ["b", "c"])
def test_what_has_a_name_stays(named: str) -> None:
    graph = graph_of(INPUTS, TAKEN["one of two products"][0], "f8", named)
    assert take_out_factors(graph) is graph


def test_a_factor_may_have_a_name() -> None:
    graph = graph_of(INPUTS, TAKEN["one of two products"][0], "f8", "a")
    assert len(drop_dead(take_out_factors(graph)).nodes) == 3


def test_other_types_stay() -> None:
    nodes = "a f8[N] = tanh x; b f8[N] = multiply a z; c f8[N] = multiply a w; y f8[N] = add b c"
    for inputs in ("x: f8[N], z: f4[N], w: f8[N]", "x: f8, z: f8[N], w: f8[N]"):
        text = nodes.replace("a f8[N]", "a f8") if "x: f8," in inputs else nodes
        graph = graph_of(inputs, text)
        assert take_out_factors(graph) is graph


def test_rests_may_be_smaller() -> None:
    nodes = (
        "a T[N] = tanh x; b T[N] = multiply a v; c T[N] = multiply a w; d T[N] = add b x;"
        "y T[N] = add d c"
    )
    graph = graph_of("x: T[N], v: T[1], w: T[1]", nodes)
    new = verify(drop_dead(take_out_factors(graph)))
    assert operations(new) == ["tanh x", "add v w", "multiply v1 v2", "add v3 x"]


def test_long_sums() -> None:
    """In any number of terms a factor is found; the factors of one in a few."""
    products = ";".join(f"b{k} T[N] = multiply a {k}.5" for k in range(2000))
    sums = ";".join(f"c{k + 1} T[N] = add c{k} b{k}" for k in range(1, 2000))
    graph = graph_of(
        "x: T[N]", f"{A} {products};c1 T[N] = subtract x b0;{sums};y T[N] = negative c2000"
    )
    new = verify(drop_dead(take_out_factors(graph)))
    assert len(new.nodes) < 2010
    few, many = (
        f"{A} s T[N] = sin x; p T[N] = multiply a s; b T[N] = multiply p x; c T[N] = multiply a s;"
        f"d T[N] = multiply a x; e T[N] = multiply d s; c0 T[N] = subtract b e;"
        + "".join(f"c{k + 1} T[N] = add c{k} x;" for k in range(count))
        + f"y T[N] = multiply c{count} p"
        for count in (MOST_TERMS - 2, MOST_TERMS - 1)
    )
    assert take_out_factors(graph_of("x: T[N]", few)) is not None
    many_terms = graph_of("x: T[N]", many)
    assert take_out_factors(many_terms) is many_terms


def test_numbers_are_added() -> None:
    nodes = (
        A + "b T[N] = multiply a 2.0; c T[N] = multiply a -0.5; d T[N] = multiply z a;"
        "e T[N] = subtract b c; f T[N] = add e d; y T[N] = add f x"
    )
    for dtype in ("f8", "f4"):
        new = verify(drop_dead(take_out_factors(graph_of(INPUTS, nodes, dtype))))
        assert operations(new) == ["tanh x", "add z 2.5", "multiply v1 v2", "add v3 x"]


def test_numbers_take_signs() -> None:
    nodes = A + "b T[N] = multiply a -3.0; c T[N] = multiply z a; y T[N] = subtract b c"
    new = verify(drop_dead(take_out_factors(graph_of(INPUTS, nodes))))
    assert operations(new) == ["tanh x", "subtract -3.0 z", "multiply v1 v2"]


def deep_squares(depth: int) -> str:
    """A product of two to the power of `depth` factors."""
    return A + "".join(f"a{k} T[N] = multiply a{k - 1} a{k - 1};" for k in range(1, depth))


def test_powers_are_not_spelled_out() -> None:
    nodes = deep_squares(60).replace("a0", "a")
    nodes += "b T[N] = multiply a59 x; c T[N] = multiply a58 z; y T[N] = add b c"
    graph = graph_of(INPUTS, nodes)
    assert len(take_out_factors(graph).nodes) >= len(graph.nodes)


def bell(w: Any, x: Any) -> Any:
    """The benchmark's chain of operations."""
    sigmoid = 1.0 / (1.0 + np.exp(-x))
    return np.mean((np.tanh(w * x) - sigmoid) ** 2 * np.exp(-(x**2)))


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore:.*empty", "ignore:invalid value")
def test_gradients_take_the_operations_of_a_hand(size: int, dtype: type) -> None:
    w, x = np.linspace(-2.0, 1.0, size).astype(dtype), np.linspace(-3.0, 3.0, size).astype(dtype)
    both = tj.value_and_grad(tj.function(bell, cache=False), argnums=(0, 1))
    exact = tj.value_and_grad(tj.function(bell, exact=True, cache=False), argnums=(0, 1))
    (value, slopes), (expected, others) = both(w, x), exact(w, x)
    tolerance = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(value, expected, rtol=tolerance)
    for slope, other in zip(slopes, others, strict=True):
        assert slope.dtype == x.dtype and slope.shape == x.shape
        np.testing.assert_allclose(slope, other, rtol=0, atol=tolerance)


def test_free_sizes_and_ways() -> None:
    def loss(x: Any, v: Any) -> Any:
        if np.sum(v) > 0:
            return np.sum(np.tanh(x) * v + v * np.cos(v) * np.tanh(x))
        return np.sum(np.tanh(x) * v - np.tanh(x) * np.sin(v))

    compiled = tj.value_and_grad(tj.function(loss, cache=False), argnums=(0, 1))
    exact = tj.value_and_grad(tj.function(loss, exact=True, cache=False), argnums=(0, 1))
    for rows in (3, 5, 4, 0):
        for sign in (1.0, -1.0):
            x, v = np.linspace(-1, 2, 4 * rows).reshape(rows, 4), sign * np.arange(1.0, 5.0)
            for one, other in zip(compiled(x, v)[1], exact(x, v)[1], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)


def test_broadcast_operands_and_views() -> None:
    rng = np.random.default_rng(1)

    def loss(x: Any, v: Any) -> Any:
        t = np.tanh(x[:, ::2])
        return np.sum((t * v[:, None] + np.sin(v)[:, None] * t - t * np.cos(x[:, 1::2])) ** 2)

    assert_close_to_exact(loss, [rng.normal(size=(5, 6)), rng.normal(size=5)], grad=2)
