"""What is scattered into the rest of a sum, and what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import code
from tests.interpret import interpret
from tests.rows import each_row
from tests.support.graphs import ops_of
from tracejit.ir.graph import Graph
from tracejit.ir.printer import parse_graph
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS
from tracejit.passes.algebra.rewrites import reuse_results
from tracejit.passes.framework.dce import drop_dead

SHAPES = {"points": ((9, 3), (40, 3)), "elements": ((9,), (40,)), "wide": ((9, 14), (40, 14))}


def graph_of(nodes: str, shapes: str, dtype: str = "f8") -> Graph:
    """A graph of cotangents g of the elements or rows i of x."""
    shape, rows = SHAPES[shapes]
    x, g = (",".join(map(str, sizes)) for sizes in (shape, rows))
    lines = [f"  {line.strip().replace(' ', '  ', 1)}" for line in nodes.split(";")]
    text = "\n".join(["graph f(x: T[X], g: T[G], i: i8[40]) -> z: T[X]", *lines, ""])
    text = text.replace("AT", f" shape={shape} index=('{{1}}',)")
    return parse_graph(text.replace("X", x).replace("G", g).replace("T", dtype), OPS)


MOVED = {
    "added": ("s T[X] = add_at g i AT; z T[X] = add x s", ["add_item"]),
    "in front": ("s T[X] = add_at g i AT; z T[X] = add s x", ["add_item"]),
    "subtracted": ("s T[X] = add_at g i AT; z T[X] = subtract x s", ["subtract_item"]),
    "two": (
        (
            "s T[X] = add_at g i AT; t T[X] = add s x; h T[G] = sin g; u T[X] = add_at h i AT;"
            "z T[X] = subtract t u"
        ),
        ["add_item", "sin", "subtract_item"],
    ),
    "of two": (
        "s T[X] = add_at g i AT; h T[G] = sin g; u T[X] = add_at h i AT; z T[X] = add s u",
        ["add_at", "sin", "add_item"],
    ),
}
KEPT = {
    "what something is taken from": "s T[X] = add_at g i AT; z T[X] = subtract s x",
    "what is read again": "s T[X] = add_at g i AT; t T[X] = add x s; z T[X] = multiply t s",
    "what is spread": "s T[X] = add_at g i AT; c T = sum x  axis=None; z T[X] = add s c",
}


def arguments(shapes: str, dtype: str) -> list[Any]:
    rng = np.random.default_rng(0)
    x, g = (rng.normal(size=size).astype(dtype) for size in SHAPES[shapes])
    return [x, g, rng.integers(0, 9, 40)]


@each_row("dtype", ["f8", "f4", "c16"])
@each_row("shapes", ["points", "elements"])
@each_row(("nodes", "expected"), MOVED.values())
def test_what_is_scattered_into_the_rest(
    nodes: str, expected: list[str], shapes: str, dtype: str
) -> None:
    graph = graph_of(nodes, shapes, dtype)
    new = verify(drop_dead(verify(reuse_results(graph))))
    assert ops_of(new) == expected
    given = arguments(shapes, dtype)
    (old,), (made,) = interpret(graph, *given), interpret(new, *given)
    np.testing.assert_allclose(made, old, rtol=1e-4 if dtype == "f4" else 1e-12, atol=1e-5)


@pytest.mark.parametrize("shapes", ["points", "elements"])
@pytest.mark.parametrize("nodes", KEPT.values(), ids=KEPT)
def test_what_is_left_alone(nodes: str, shapes: str) -> None:
    graph = graph_of(nodes, shapes)
    new = reuse_results(graph)
    assert ops_of(new) == ops_of(graph)


PLACED = {
    "added up at an index": ("add_at", "('{1}', 2)", False),
    "placed at an index": ("put_at", "('{1}', 2)", True),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("op, index, unique", PLACED.values(), ids=PLACED)
def test_what_is_placed_in_the_rest(op: str, index: str, unique: bool, turned: bool) -> None:
    both = "a x" if turned else "x a"
    nodes = f"  a  f8[5,3] = {op} g i  shape=(5, 3) index={index}\n  y  f8[5,3] = add {both}\n"
    head = "graph f(x: f8[5,3], g: f8[4], i: i8[4]) -> y: f8[5,3]\n"
    graph = parse_graph(head + nodes, OPS)
    new = verify(drop_dead(verify(reuse_results(graph))))
    assert ops_of(new) == ["add_item"]
    assert new.nodes[0].params["unique"] is unique
    rng = np.random.default_rng(0)
    given = rng.normal(size=(5, 3)), rng.normal(size=4), np.array([4, 0, 1, 3 if unique else 1])
    np.testing.assert_allclose(interpret(new, *given)[0], interpret(graph, *given)[0], rtol=1e-15)


def test_what_is_placed_nearly_everywhere_is_placed_in_zeros() -> None:
    head = "graph f(x: f8[5], g: f8[4], i: i8[4]) -> y: f8[5]\n"
    nodes = "  a  f8[5] = put_at g i  shape=(5,) index=('{1}',)\n  y  f8[5] = add x a\n"
    graph = parse_graph(head + nodes, OPS)
    new = reuse_results(graph)
    assert ops_of(new) == ops_of(graph)


def test_many_columns_are_added_up_in_zeros() -> None:
    graph = graph_of(MOVED["added"][0], "wide")
    new = reuse_results(graph)
    assert ops_of(new) == ops_of(graph)


def test_a_graph_of_springs_reads_like_written_by_hand() -> None:
    """Two scattered gradients and a third term, in one array."""

    def energy(places: Any, tails: Any, heads: Any) -> Any:
        stretch = places[tails] - places[heads]
        return np.sum(stretch**2) + 0.5 * np.sum(places**2)

    rng = np.random.default_rng(0)
    places = rng.normal(size=(300, 3))
    tails, heads = rng.integers(0, 300, (2, 1000))
    function = tj.function(energy, cache=False)
    gradient = tj.value_and_grad(function)
    exact = tj.value_and_grad(tj.function(energy, cache=False, exact=True))
    kept = places.copy()
    for _ in range(2):
        value, bar = gradient(places, tails, heads)
        expected, exact_bar = exact(places, tails, heads)
        assert np.isclose(value, expected, rtol=1e-13)
        np.testing.assert_allclose(bar, exact_bar, rtol=1e-12, atol=1e-12)
        bar[...] = 0.0  # nobody else's
    np.testing.assert_array_equal(places, kept)
    text = code(gradient)
    assert "zeros" not in text
    assert "add.at(places_bar[:, column], tails" in text
    assert "subtract.at(places_bar[:, column], heads" in text
