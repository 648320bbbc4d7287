"""Sums of products: what is read of a value, what it costs, and how it is written again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.rewrites import PAIRS, graph_of, operations
from tracejit.ir.types import ArrayType
from tracejit.passes.algebra.sum_of_products import (
    Factor,
    Product,
    addends_of,
    cost,
    inner_sums,
    is_beside,
    is_step,
    product_of,
    written_product,
    written_sum,
)
from tracejit.passes.framework.dce import drop_dead
from tracejit.passes.framework.emission import number_of
from tracejit.support.cost_model import costs

NODES = (
    "a T[N] = add x z; b T[N] = tanh x; c T[N] = subtract b x; d T[N] = subtract a c;"
    "y T[N] = negative d"
)


def test_sums_are_taken_apart() -> None:
    graph = graph_of("x: T[N], z: T[N]", NODES)
    x, z = graph.inputs
    first, tanh, second, last, _ = graph.nodes
    expected = [(1.0, x), (1.0, z), (-1.0, tanh.results[0]), (1.0, x)]
    assert addends_of(last, last.operands, lambda value: True) == expected
    outer = [(1.0, first.results[0]), (-1.0, second.results[0])]
    assert addends_of(last, last.operands, lambda value: False) == outer
    sums = [first, second, last]
    assert inner_sums(sums, lambda value, node: node is last) == {
        first.results[0],
        second.results[0],
    }


@pytest.mark.parametrize(
    ("signs", "expected"),
    [
        ((1.0, -1.0), ["subtract x z"]),
        ((-1.0, 1.0), ["subtract z x"]),
        ((-1.0, -1.0), ["negative x", "subtract v1 z"]),
        ((1.0, 1.0), ["add x z"]),
    ],
)
def test_sums_are_put_together(signs: tuple[float, float], expected: list[str]) -> None:
    graph = graph_of("x: T[N], z: T[N]", NODES)
    total = written_sum(graph, graph.nodes[-1], list(zip(signs, graph.inputs, strict=True)))
    graph.outputs = [total]
    graph.complete_names()
    assert operations(drop_dead(graph)) == expected


def test_steps_have_no_name_and_are_beside_their_reader() -> None:
    graph = graph_of("x: T[N], z: T[N]", NODES, named="a")
    first, _, second, last, _ = graph.nodes
    assert is_beside(first.results[0], last) and not is_step(first.results[0], last)
    assert is_step(second.results[0], last)
    assert not is_beside(graph.inputs[0], last)
    last.region = 1
    assert not is_beside(second.results[0], last)


def read(nodes: str, inputs: str = "x: T[N], z: T[N]", named: str = "") -> Product:
    """The product that the last node is, where what has a name is not taken apart."""
    graph = graph_of(inputs, nodes, named=named)
    return product_of(graph.outputs[0], lambda value: not value.label)


def spelled(product: Product) -> list[str]:
    """The factors: those that divide with a slash, numbers as such."""
    return [
        f"{'/' if one.divides else ''}{number_of(one.value) or one.value.name}"
        for one in product.factors.elements()
    ]


@pytest.mark.parametrize(
    ("nodes", "number", "factors"),
    [
        ("a T[N] = multiply 2.0 x; y T[N] = multiply a z", 2.0, ["x", "z"]),
        ("a T[N] = negative x; b T[N] = divide a 4.0; y T[N] = divide b z", -0.25, ["x", "/z"]),
        ("a T[N] = multiply x x; y T[N] = multiply a x", 1.0, ["x", "x", "x"]),
        ("a T[N] = divide 3.0 x; y T[N] = multiply z a", 3.0, ["z", "/x"]),
        ("a T[N] = multiply 1e80 x; y T[N] = multiply 1e80 a", 1e80, ["1e+80", "x"]),
        ("a T[N] = divide x 1e80; y T[N] = divide a 1e80", 1e-80, ["x", "/1e+80"]),
        ("a T[N] = multiply inf x; y T[N] = multiply 2.0 a", 2.0, ["inf", "x"]),
        ("a T[N] = tanh x; y T[N] = multiply a z", 1.0, ["a", "z"]),
    ],
)
def test_products_are_read(nodes: str, number: float, factors: list[str]) -> None:
    product = read(nodes)
    assert product.number == pytest.approx(number, rel=1e-15)
    assert spelled(product) == factors


def test_what_does_not_enter_is_a_factor() -> None:
    nodes = "a T[N] = multiply 2.0 x; y T[N] = multiply a z"
    assert spelled(read(nodes, named="a")) == ["a", "z"]
    other = nodes.replace("a T[N]", "a f4[N]").replace("multiply 2.0 x", "tanh x")
    assert spelled(read(other, "x: f4[N], z: f8[N]")) == ["y"]
    deep = "".join(f"a{k} T[N] = multiply a{k - 1} a{k - 1};" for k in range(1, 60))
    found = read(f"a0 T[N] = multiply x x; {deep} y T[N] = multiply a59 x")
    assert len(found.steps) == costs().most_factors


def test_what_is_saved_and_what_a_product_costs() -> None:
    array, row = [cost(ArrayType((size,), np.dtype("f8"))) for size in (PAIRS, 1)]
    product = read("a T[N] = multiply 2.0 x; y T[N] = multiply a z")
    assert product.saved == product.price == 2 * array
    assert product._replace(number=-1.0).price == array
    product = read("a T[1] = multiply 2.0 x; y T[N] = multiply a z", "x: T[1], z: T[N]")
    assert product.price == product.saved == row + array
    product = read("a T[N] = divide 1.0 x; y T[N] = divide a z")
    assert product.price == product.saved == 2 * array
    assert read("y T[N] = tanh x").price == 0


def test_small_factors_are_multiplied_first() -> None:
    graph = graph_of("x: T[N], z: T[N], v: T[1]", NODES)
    x, z, v = graph.inputs
    factors = Counter([Factor(x, True), Factor(z), Factor(v)])
    graph.outputs = [written_product(graph, graph.nodes[-1], Product(3.0, factors))]
    graph.complete_names()
    written = operations(drop_dead(graph))
    assert written == ["multiply 3.0 v", "divide v1 x", "multiply v2 z"]
