"""Factoring: like terms and common factors of sums, and what stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import assert_close_to_exact
from tests.interpret import interpret, record
from tests.rewrites import LARGE, PAIRS, assert_within, graph_of, operations, pairs, special
from tracejit.ir.graph import Graph
from tracejit.ir.verify import verify
from tracejit.passes.algebra.factoring import factor_sums
from tracejit.passes.algebra.rewrites import reduce_strength
from tracejit.passes.algebra.sum_of_products import PRODUCTS, SUMS
from tracejit.passes.framework.dce import drop_dead
from tracejit.support.cost_model import costs

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
            "subtract z x",
            "multiply v2 v3",
            "multiply v1 v4",
            "add v5 z",
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
            "multiply 3.0 z",
            "subtract 2.0 x",
            "subtract v5 v4",
            "multiply v3 v6",
            "add v7 x",
            "multiply v8 v3",
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
TWICE = {
    "added twice": (
        "a T[N] = multiply 3.0 x; b T[N] = add z a; y T[N] = add b a",
        ["multiply 6.0 x", "add z v1"],
    ),
    "added twice, in front": (
        "a T[N] = multiply 0.5 x; b T[N] = add a z; y T[N] = add b a",
        ["add x z"],
    ),
    "taken away twice": (
        "a T[N] = multiply 3.0 x; b T[N] = subtract z a; y T[N] = subtract b a",
        ["multiply 6.0 x", "subtract z v1"],
    ),
    "added three times": (
        "a T[N] = add z x; b T[N] = add x a; y T[N] = add b x",
        ["multiply 3.0 x", "add v1 z"],
    ),
    "a negative, added twice": (
        "a T[N] = negative x; b T[N] = multiply a z; c T[N] = add x b; y T[N] = add c b",
        ["negative x", "multiply v1 z", "multiply 2.0 v2", "add x v3"],
    ),
}
UNLIKE = {
    "numbers": "a T[N] = add 2.0 x; b T[N] = multiply x z; c T[N] = multiply b x;"
    "d T[N] = subtract a 0.5; y T[N] = add d c",
    "added twice, at no gain": "a T[N] = add x z; y T[N] = add a z",
    "taken away and added": "a T[N] = multiply 3.0 x; b T[N] = subtract a z; y T[N] = subtract b a",
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
@pytest.mark.parametrize(("nodes", "expected"), TAKEN.values(), ids=TAKEN)
def test_common_factors_are_taken_out(nodes: str, expected: list[str], dtype: str) -> None:
    """With the same inf and nan for any two special values."""
    graph = graph_of(INPUTS, nodes, dtype)
    new = verify(drop_dead(factor_sums(graph)))
    assert operations(new) == expected
    rng = np.random.default_rng(0)
    assert_within(graph, new, [rng.normal(size=PAIRS).astype(dtype) for _ in range(2)])
    assert_within(graph, new, pairs(dtype))


@pytest.mark.parametrize("nodes", (APART | UNLIKE).values(), ids=APART | UNLIKE)
def test_what_stays_apart(nodes: str) -> None:
    graph = graph_of(INPUTS, nodes)
    assert operations(drop_dead(factor_sums(graph))) == operations(graph)


@pytest.mark.parametrize("named", ["b", "c"])
def test_what_has_a_name_stays(named: str) -> None:
    graph = graph_of(INPUTS, TAKEN["one of two products"][0], "f8", named)
    assert operations(drop_dead(factor_sums(graph))) == operations(graph)


def test_a_factor_may_have_a_name() -> None:
    graph = graph_of(INPUTS, TAKEN["one of two products"][0], "f8", "a")
    assert len(drop_dead(factor_sums(graph)).nodes) == 3


def test_other_types_stay() -> None:
    nodes = "a f8[N] = tanh x; b f8[N] = multiply a z; c f8[N] = multiply a w; y f8[N] = add b c"
    graph = graph_of("x: f8[N], z: f4[N], w: f8[N]", nodes)
    assert operations(drop_dead(factor_sums(graph))) == operations(graph)


def test_a_factor_may_be_smaller_than_the_sum() -> None:
    nodes = "a f8 = tanh x; b f8[N] = multiply a z; c f8[N] = multiply a w; y f8[N] = add b c"
    graph = graph_of("x: f8, z: f8[N], w: f8[N]", nodes)
    new = verify(drop_dead(factor_sums(graph)))
    assert operations(new) == ["tanh x", "add z w", "multiply v1 v2"]
    for x in special("f8"):
        assert_within(graph, new, [x, *pairs("f8")])


def test_what_is_left_is_factored() -> None:
    """Horner's scheme, for what is bounded."""
    nodes = (
        "t T[N] = tanh x; a T[N] = multiply t t; b T[N] = multiply a t; c T[N] = multiply 0.5 b;"
        "p T[N] = multiply 0.25 t; d T[N] = multiply p t; e T[N] = multiply t 3.0;"
        "f T[N] = add c d; g T[N] = subtract f e;"
        "y T[N] = add g z"
    )
    for dtype in ("f8", "f4"):
        graph = graph_of(INPUTS, nodes, dtype)
        new = verify(drop_dead(factor_sums(graph)))
        assert operations(new) == [
            "tanh x",
            "multiply 0.5 v1",
            "add v2 0.25",
            "multiply v1 v3",
            "subtract v4 3.0",
            "multiply v1 v5",
            "add v6 z",
        ]
        assert_within(graph, new, pairs(dtype))


def test_rests_may_be_smaller() -> None:
    nodes = (
        "a T[N] = tanh x; b T[N] = multiply a v; c T[N] = multiply a w; d T[N] = add b x;"
        "y T[N] = add d c"
    )
    graph = graph_of("x: T[N], v: T[1], w: T[1]", nodes)
    new = verify(drop_dead(factor_sums(graph)))
    assert operations(new) == ["tanh x", "add v w", "multiply v1 v2", "add v3 x"]


def test_long_sums() -> None:
    """In any number of terms a factor is found; the factors of one in a few."""
    products = ";".join(f"b{k} T[N] = multiply a {k}.5" for k in range(2000))
    sums = ";".join(f"c{k + 1} T[N] = add c{k} b{k}" for k in range(1, 2000))
    graph = graph_of(
        "x: T[N]", f"{A} {products};c1 T[N] = subtract x b0;{sums};y T[N] = negative c2000"
    )
    new = verify(drop_dead(factor_sums(graph)))
    assert len(new.nodes) < 2010
    most = costs().most_compared_terms
    few, many = (
        f"{A} s T[N] = sin x; p T[N] = multiply a s; b T[N] = multiply p x; c T[N] = multiply a s;"
        f"d T[N] = multiply a x; e T[N] = multiply d s; c0 T[N] = subtract b e;"
        + "".join(f"w{k} T[N] = maximum x {k}.5;" for k in range(count))
        + "".join(f"c{k + 1} T[N] = add c{k} w{k};" for k in range(count))
        + f"y T[N] = multiply c{count} p"
        for count in (most - 2, most - 1)
    )
    assert factor_sums(graph_of("x: T[N]", few)) is not None
    many_terms = graph_of("x: T[N]", many)
    assert operations(drop_dead(factor_sums(many_terms))) == operations(many_terms)


def test_numbers_are_added() -> None:
    nodes = (
        A + "b T[N] = multiply a 2.0; c T[N] = multiply a -0.5; d T[N] = multiply z a;"
        "e T[N] = subtract b c; f T[N] = add e d; y T[N] = add f x"
    )
    for dtype in ("f8", "f4"):
        new = verify(drop_dead(factor_sums(graph_of(INPUTS, nodes, dtype))))
        assert operations(new) == ["tanh x", "add z 2.5", "multiply v1 v2", "add v3 x"]


def test_numbers_take_signs() -> None:
    nodes = A + "b T[N] = multiply a -3.0; c T[N] = multiply z a; y T[N] = subtract b c"
    new = verify(drop_dead(factor_sums(graph_of(INPUTS, nodes))))
    assert operations(new) == ["tanh x", "subtract -3.0 z", "multiply v1 v2"]


def deep_squares(depth: int) -> str:
    """A product of two to the power of `depth` factors."""
    return A + "".join(f"a{k} T[N] = multiply a{k - 1} a{k - 1};" for k in range(1, depth))


def test_powers_are_not_spelled_out() -> None:
    nodes = deep_squares(60).replace("a0", "a")
    nodes += "b T[N] = multiply a59 x; c T[N] = multiply a58 z; y T[N] = add b c"
    graph = graph_of(INPUTS, nodes)
    assert len(factor_sums(graph).nodes) >= len(graph.nodes)


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


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("nodes", "expected"), (COLLECTED | TWICE).values(), ids=COLLECTED | TWICE)
def test_like_terms_are_one(nodes: str, expected: list[str], dtype: str) -> None:
    graph = graph_of("x: T[N], z: T[N]", nodes, dtype)
    new = verify(drop_dead(factor_sums(graph)))
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


def test_like_terms_with_a_name_stay() -> None:
    nodes, _ = COLLECTED["all of a sum"]
    for named in ("b", "e"):
        graph = graph_of("x: T[N], z: T[N]", nodes, "f8", named)
        assert len(drop_dead(factor_sums(graph)).nodes) <= len(graph.nodes)
    graph = graph_of("x: T[N], z: T[N]", nodes, "f8", "b e")
    assert operations(drop_dead(factor_sums(graph))) == operations(graph)


def test_factors_of_another_precision_keep_their_order() -> None:
    nodes = (
        "a f4[N] = multiply x x; b f8[N] = multiply a z; d f8[N] = multiply z x;"
        "e f8[N] = multiply d x; y f8[N] = add b e"
    )
    graph = graph_of("x: f4[N], z: f8[N]", nodes)
    assert operations(drop_dead(factor_sums(graph))) == operations(graph)


def test_long_sums_of_one_term() -> None:
    sums = "; ".join(f"a{k + 1} T[N] = add a{k} x" for k in range(1, 3000))
    graph = graph_of("x: T[N]", f"a1 T[N] = multiply x x; {sums}; y T[N] = multiply a3000 x")
    new = drop_dead(factor_sums(graph))
    assert operations(new) == ["multiply x x", "multiply 2999.0 x", "add v1 v2", "multiply v3 x"]


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


def torsion(phi: Any, k: Any) -> Any:
    """The energy of a bond that is turned, by powers of the cosine and the sine."""
    c, s = np.cos(phi), np.sin(phi)
    return np.sum(k[0] * c - k[1] * c * s + k[2] * c * s * s - k[3] * c * c * s)


def catalysis(u: Any, k: Any) -> Any:
    """The rates of three coverages of a surface, each a polynomial in all of them."""
    a, b, c = (1.0 / (1.0 + np.exp(-u[i])) for i in range(3))
    first = k[0] * a - k[1] * a * b - k[2] * a * b * c + k[3] * a * a * b
    second = k[4] * b - k[5] * a * b - k[6] * b * b * c
    third = k[7] * c + k[8] * a * c * b - k[9] * a * c
    return np.stack([first, second, third])


def mixture(share: Any, x: Any, y: Any, weights: Any) -> Any:
    """Weighted squares of what a share of three terms leaves."""
    p = 1.0 / (1.0 + np.exp(-share))
    return np.sum(weights * (y - p * np.sin(x) - p * x * y - p * weights) ** 2)


def strain(x: Any, at: Any, k: Any) -> Any:
    """An elastic energy with a term of third order."""
    e = np.tanh(x - at)
    return np.sum(0.5 * k * e * e + 0.3 * k * e * e * e - 0.1 * k * e * at)


PROGRAMS = {
    "torsion": (torsion, [(9,), (4,)], (12, 7)),
    "catalysis": (catalysis, [(3, 9), (10,)], (37, 27)),
    "mixture": (mixture, [(), (9,), (9,), (9,)], (9, 8)),
    "strain": (strain, [(9,), (9,), (9,)], (13, 11)),
}


@pytest.mark.parametrize(("program", "shapes", "counts"), PROGRAMS.values(), ids=PROGRAMS)
def test_programs_take_fewer_operations(program: Any, shapes: Any, counts: Any) -> None:
    """Sums, products and signs over arrays, before and after."""
    rng = np.random.default_rng(0)
    args = [np.float64(0.3) if not shape else rng.normal(size=shape) for shape in shapes]
    before = drop_dead(reduce_strength(record(program, *args)[0]))
    after = verify(drop_dead(factor_sums(before)))
    assert tuple(map(arithmetic, (before, after))) == counts
    (expected,), (found,) = interpret(before, *args), interpret(after, *args)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)


def arithmetic(graph: Graph) -> int:
    """The number of operations over arrays that sums of products are made of."""
    nodes = [node for node in graph.nodes if node.op.name in (*PRODUCTS, *SUMS)]
    return sum([node.results[0].type.size > 1 for node in nodes])


def test_a_sign_within_a_factor_that_stays_is_not_counted_twice() -> None:
    """`p + s + p` where `p` is `q * y` and `q`, which something else reads, is `v * -v`."""
    graph = graph_of(
        "v: f8[3], c: f8[3], s: f8[3]",
        "n f8[3] = negative v; q f8[3] = multiply v n; p f8[3] = multiply q c; "
        "a f8[3] = add p s; b f8[3] = add a p; y f8[3] = add b q",
    )
    inputs = [np.array([0.5, -2.0, 3.0]), np.array([1.0, 0.25, -7.0]), np.array([2.0, 3.0, 5.0])]
    expected = interpret(graph, *inputs)[0]
    found = interpret(verify(factor_sums(graph)), *inputs)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    bounded = graph_of(
        "v: f8[3], x: f8[3], s: f8[3]",
        "c f8[3] = cos x; n f8[3] = negative v; q f8[3] = multiply v n; p f8[3] = multiply q c; "
        "t f8[3] = multiply s x; a f8[3] = add p t; b f8[3] = add a p; y f8[3] = multiply b q",
    )
    expected = interpret(bounded, *inputs)[0]
    found = interpret(verify(factor_sums(bounded)), *inputs)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_terms_may_divide_alone() -> None:
    """A second derivative whose terms are `1 / x` has no factor to multiply by a number."""

    def f(x: Any) -> Any:
        other = lambda: tj.cond(x < -1.0, lambda: np.log(-x) * x, lambda: x)  # noqa: E731
        return tj.cond(x > 0.0, lambda: np.log(x) * x, other)

    second = tj.grad(tj.grad(f))
    np.testing.assert_allclose([second(x) for x in (2.0, -4.0, -0.5)], [0.5, -0.25, 0.0])
