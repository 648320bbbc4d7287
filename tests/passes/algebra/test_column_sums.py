"""Column sums: sums of what is linear, as expressions of sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import assert_close, code
from tests.interpret import interpret
from tests.rewrites import graph_of, operations
from tests.rows import each_row
from tracejit.ir.graph import Graph
from tracejit.ir.verify import verify
from tracejit.passes.algebra.column_sums import sum_columns_first
from tracejit.passes.framework.dce import drop_dead

INPUTS = "x: T[90,30], w: T[30,20], s: T[20], c: T[90,1], z: T[90,20]"
PRODUCT = "p T[90,20] = matmul x w;"
FIRST = {
    "rows": (PRODUCT + "y T[20] = sum p axis=(0,)", ["sum x axis=(0,)", "vector_matmul v1 w"]),
    "columns": (PRODUCT + "y T[90] = sum p axis=(1,)", ["sum w axis=(1,)", "matmul_vector x v1"]),
    "both": (
        PRODUCT + "y T = sum p axis=(0, 1)",
        ["sum x axis=(0,)", "sum w axis=(1,)", "vectors_matmul v1 v2"],
    ),
    "dimensions kept": (
        PRODUCT + "y T[1,20] = sum p axis=(0,) keepdims=True",
        ["sum x axis=(0,)", "vector_matmul v1 w", "expand_dims v2 axis=(0,)"],
    ),
    "times the same for all rows": (
        PRODUCT + "q T[90,20] = multiply s p; y T[20] = sum q axis=(0,)",
        ["sum x axis=(0,)", "vector_matmul v1 w", "multiply s v2"],
    ),
    "times a column": (
        PRODUCT + "q T[90,20] = multiply p c; y T[90] = sum q axis=(1,)",
        ["sum w axis=(1,)", "matmul_vector x v1", "squeeze c axis=(1,)", "multiply v2 v3"],
    ),
    "by the same for all rows": (
        PRODUCT + "q T[90,20] = divide p s; y T[20] = sum q axis=(0,)",
        ["sum x axis=(0,)", "vector_matmul v1 w", "divide v2 s"],
    ),
    "turned": (
        PRODUCT + "q T[20,90] = transpose p axes=(1, 0); y T[20] = sum q axis=(1,)",
        ["sum x axis=(0,)", "vector_matmul v1 w"],
    ),
    "turned and negative": (
        PRODUCT + "n T[90,20] = negative p; q T[20,90] = transpose n axes=(1, 0);"
        "y T[90] = sum q axis=(0,)",
        ["sum w axis=(1,)", "matmul_vector x v1", "negative v2"],
    ),
    "with another term": (
        PRODUCT + "q T[90,20] = subtract z p; y T[20] = sum q axis=(0,)",
        ["sum z axis=(0,)", "sum x axis=(0,)", "vector_matmul v2 w", "subtract v1 v3"],
    ),
    "a product of a product": (
        "t T[20,30] = transpose w axes=(1, 0);" + PRODUCT + "r T[90,30] = matmul p t;"
        "y T[30] = sum r axis=(0,)",
        [
            "transpose w axes=(1, 0)",
            "sum x axis=(0,)",
            "vector_matmul v2 w",
            "vector_matmul v3 v1",
        ],
    ),
    "by dot": (
        "p T[90,20] = dot_matrix x w; y T[20] = sum p axis=(0,)",
        ["sum x axis=(0,)", "vector_matmul v1 w"],
    ),
    "added up afterwards": (
        PRODUCT + "q T[20] = sum p axis=(0,); y T[20] = cumsum q axis=0",
        ["sum x axis=(0,)", "vector_matmul v1 w", "cumsum v2 axis=0"],
    ),
    "multiples of one": (
        "p T[90,20] = multiply z s; q T[90,20] = add p z; y T[20] = sum q axis=(0,)",
        ["sum z axis=(0,)", "multiply v1 s", "add v2 v1"],
    ),
}
KEPT = {
    "read elsewhere": PRODUCT + "q T[20] = sum p axis=(0,); y T[90,20] = multiply p q",
    "two arrays that may cancel": "p T[90,20] = multiply z s; a T[90,20] = multiply z z;"
    "q T[90,20] = subtract p a; y T[20] = sum q axis=(0,)",
    "told apart": PRODUCT + "q T[20] = sum p axis=(0,); y T[20] = tanh q",
    "cast to integers": PRODUCT + "q T[20] = sum p axis=(0,); y i8[20] = astype q dtype=i8",
    "a denominator": PRODUCT + "q T[20] = sum p axis=(0,); y T[20] = divide s q",
    "times what differs": PRODUCT + "q T[90,20] = multiply p z; y T[20] = sum q axis=(0,)",
    "a term spread": "p T[90,20] = multiply z s; q T[90,20] = add p s; y T[20] = sum q axis=(0,)",
}


def inputs_for(graph: Graph, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=value.type.shape).astype(dtype) for value in graph.inputs]


@each_row("dtype", ["f8", "f4"])
@each_row(("nodes", "expected"), FIRST.values())
def test_sums_come_first(nodes: str, expected: list[str], dtype: str) -> None:
    graph = graph_of(INPUTS, nodes, dtype)
    new = verify(drop_dead(sum_columns_first(graph)))
    assert operations(new) == expected
    given = inputs_for(graph, dtype)
    for one, other in zip(interpret(graph, *given), interpret(new, *given), strict=True):
        assert type(one) is type(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        tolerance = 1e-12 if dtype == "f8" else 2e-5
        np.testing.assert_allclose(other, one, rtol=0, atol=tolerance * np.max(np.abs(one)))


@each_row("nodes", FIRST)
@each_row("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_so(nodes: str, value: float) -> None:
    graph = graph_of(INPUTS, FIRST[nodes][0])
    new = drop_dead(sum_columns_first(graph))
    for number in range(len(graph.inputs)):
        given = inputs_for(graph, "f8")
        given[number].reshape(-1)[7] = value
        with np.errstate(all="ignore"):
            (one,), (other,) = interpret(graph, *given), interpret(new, *given)
        np.testing.assert_array_equal(np.isfinite(one), np.isfinite(other))


@pytest.mark.parametrize("nodes", KEPT.values(), ids=KEPT)
def test_what_is_summed_as_it_was(nodes: str) -> None:
    graph = graph_of(INPUTS, nodes)
    assert operations(drop_dead(sum_columns_first(graph))) == operations(graph)


def test_named_small_and_empty_stay() -> None:
    nodes = PRODUCT + "y T[20] = sum p axis=(0,)"
    graph = graph_of(INPUTS, nodes, named="p")
    assert operations(drop_dead(sum_columns_first(graph))) == operations(graph)
    for rows in (0, 2):
        graph = graph_of(INPUTS.replace("90", str(rows)), nodes.replace("90", str(rows)))
        assert operations(drop_dead(sum_columns_first(graph))) == operations(graph)


def test_stacks() -> None:
    nodes = "p T[5,90,20] = matmul x w; y T[5,20] = sum p axis=(1,)"
    graph = graph_of("x: T[5,90,30], w: T[30,20]", nodes)
    assert operations(drop_dead(sum_columns_first(graph))) == [
        "sum x axis=(1,)",
        "expand_dims v1 axis=(1,)",
        "matmul v2 w",
        "squeeze v3 axis=(1,)",
    ]
    for nodes in (
        "p T[5,90,20] = matmul x w; y T[90,20] = sum p axis=(0,)",
        "p T[5,90,20] = matmul x w; y T[5] = sum p axis=(1, 2)",
        "p T[5,90,20] = matmul x w; y T[5,90] = sum p axis=(2,)",
        "p T[5,90,20] = matmul w x; y T[5,90] = sum p axis=(2,)",
    ):
        shapes = "x: T[5,90,30], w: T[5,30,20]"
        if "matmul w x" in nodes:
            shapes = "x: T[5,30,20], w: T[90,30]"
        graph = graph_of(shapes, nodes)
        new = verify(drop_dead(sum_columns_first(graph)))
        given = inputs_for(graph, "f8")
        (one,), (other,) = interpret(graph, *given), interpret(new, *given)
        np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-10)


def test_terms_that_cancel_are_as_exact_as_the_product() -> None:
    """The product of a matrix that is nearly -s times the identity, and s times the same array."""
    rng = np.random.default_rng(1)
    b, c = rng.normal(size=(40, 500)), rng.normal(size=(40, 500))
    a = -3.0 * np.eye(40) + 1e-9 * rng.normal(size=(40, 40))

    def loss(m: Any) -> Any:
        moved = b - m[:, None]
        return np.sum(c * (a @ moved + 3.0 * moved))

    both = tj.value_and_grad(tj.function(loss))
    _, found = both(np.zeros(40))
    expected = -np.sum(c.astype(np.longdouble), axis=1) @ (a + 3.0 * np.eye(40))
    terms = 3.0 * np.max(np.sum(np.abs(c), axis=1))
    assert float(np.max(np.abs(found - expected))) < 4 * terms * np.finfo(float).eps
    assert "a.T @ c" not in code(both) and "vecdot(c, ones_500)" in code(both)


def test_a_gradient_needs_the_product_of_a_vector_only() -> None:
    rng = np.random.default_rng(2)
    w, x = rng.normal(size=(30, 20)), rng.normal(size=(90, 30))

    def loss(m: Any) -> Any:
        return np.sum(np.tanh((x - m) @ w))

    both, exact = (
        tj.value_and_grad(tj.function(loss)),
        tj.value_and_grad(tj.function(loss, exact=True)),
    )
    for found, expected in zip(both(np.zeros(30)), exact(np.zeros(30)), strict=True):
        assert_close(found, expected)
    assert "ones_90.dot(" in code(both) and "w.T" in code(exact)
    for shape in ((0, 30), (90, 30)):
        x = np.ones(shape)
        assert_close(both(np.zeros(30))[1], exact(np.zeros(30))[1])
