"""Tile axes: along which axis values are gone through by tiles, and what operations do to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tests.targets.numpy.plan.test_tiling import assert_as_exact
from tracejit.ir.printer import parse_graph
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS
from tracejit.targets.numpy.plan.tile_axes import TileAxes

INPUTS = (
    "x: T[900,8], w: T[8,5], v: T[8], r: T[900], c: T[8,900], a: T[3,8,900], m: T[3,8,8],"
    "b: T[900,4,4], s: T[900,900], big: T[900,400], wide: T[400,300], i: i8[900]"
)
ROWS = {
    "matmul x w": ("T[900,5]", "x"),
    "matmul w x": None,
    "matmul m c": ("T[3,8,900]", "c"),
    "matmul m a": ("T[3,8,900]", "a"),
    "matmul b b": ("T[900,4,4]", "b"),
    "matmul big wide": None,
    "matmul_vector x v": ("T[900]", "x"),
    "vector_matmul v c": ("T[900]", "c"),
    "vecdot x x": ("T[900]", "x"),
    "outer r v": ("T[900,8]", "r"),
    "outer v r": ("T[8,900]", "r"),
    "outer r r": None,
    "add x v": ("T[900,8]", "x"),
    "multiply c r": ("T[8,900]", "c r"),
    "add s r": ("T[900,900]", "s"),
    "add s s": ("T[900,900]", "s"),
    "max a axis=(0,)": ("T[8,900]", "a"),
    "sum a axis=(0,1)": ("T[900]", "a"),
    "sum x axis=(1,) keepdims=True": ("T[900,1]", "x"),
    "transpose x axes=(1, 0)": ("T[8,900]", "x"),
    "transpose a axes=(0, 2, 1)": ("T[3,900,8]", "a"),
    "expand_dims c axis=(1,)": ("T[8,1,900]", "c"),
    "matmul s s": None,
    "getitem x index=(('slice', None, None, None), 0)": ("T[900]", "x"),
    "getitem x index=(('slice', None, None, None), None)": ("T[900,1,8]", "x"),
    "getitem a index=(0,)": ("T[8,900]", "a"),
    "getitem a index=(0, ('slice', 1, 3, None))": ("T[2,900]", "a"),
    "getitem x index=(('slice', 1, 9, None),)": None,
    "getitem x index=(3,)": None,
    "take_at w i index=('{1}',) unique=False": ("T[900,5]", "i"),
    "take_at x i index=('{1}',) unique=False": ("T[900,8]", "i"),
    "concatenate x x axis=1": ("T[900,16]", "x"),
    "concatenate x x axis=0": None,
    "stack r r axis=1": ("T[900,2]", "r"),
    "stack r r axis=0": ("T[2,900]", "r"),
    "stack x x axis=2": ("T[900,8,2]", "x"),
}
TOTALS = {
    "matmul c x": ("T[8,8]", "c x"),
    "matmul a x": ("T[3,8,8]", "a x"),
    "matmul_vector c r": ("T[8]", "c r"),
    "vector_matmul r x": ("T[8]", "r x"),
    "vectors_matmul r r": ("T", "r"),
    "vecdot a a": ("T[3,8]", "a"),
    "sum a axis=(2,)": ("T[3,8]", "a"),
    "max x axis=(0,)": ("T[8]", "x"),
    "nanmin x axis=(0,)": ("T[8]", "x"),
    "prod x axis=(0,)": None,
    "any x axis=(0,)": None,
}


def cut_of(text: str, type: str) -> tuple[bool, str] | None:
    head, node = f"graph f({INPUTS}) -> y: {type}", f"  y  {type} = {text}"
    graph = verify(parse_graph(f"{head}\n{node}".replace("T", "f8"), OPS))
    found = TileAxes(900).of(graph.nodes[-1])
    if found is None:
        return None
    return found.makes_rows, " ".join(sorted(value.name for value in found.operands))


def typed(text: str) -> str:
    """The type of the result of a node, as the graph has it."""
    shapes = {
        "getitem x index=(('slice', 1, 9, None),)": "[8,8]",
        "matmul big wide": "[900,300]",
        "matmul s s": "[900,900]",
        "outer r r": "[900,900]",
        "concatenate x x axis=0": "[1800,8]",
    }
    return "T" + shapes.get(text, "[8]")


@each_row("text", [one for one in ROWS if one != "matmul w x"])
def test_rows(text: str) -> None:
    expected = ROWS[text]
    found = cut_of(text, expected[0] if expected else typed(text))
    assert found == (None if expected is None else (True, expected[1]))


@pytest.mark.parametrize("text", TOTALS)
def test_totals(text: str) -> None:
    expected = TOTALS[text]
    kind = "b1" if text.startswith("any") else "T"
    found = cut_of(text, expected[0] if expected else f"{kind}[8]")
    assert found == (None if expected is None else (False, expected[1]))


def points(rows: int, columns: int) -> Any:
    return np.random.default_rng(5).normal(size=(rows, columns))


def body_of(made: Any, *args: Any) -> str:
    text: str = made.kernel(*args).source
    return text[text.index("\ndef tile_") :]


def test_products_with_what_all_rows_share() -> None:
    def network(w1: Any, w2: Any, x: Any) -> Any:
        return np.mean(np.tanh(np.tanh(x @ w1) @ w2) ** 2)

    args = points(9, 12), points(12, 3), points(20_000, 9)
    made = assert_as_exact(network, *args, argnums=(0, 1))
    both = made.kernel(*args).source.partition("def value_and_grad")[2]
    assert both.count("in_turn(") == 1 and "@" not in both.partition("in_turn(")[0]
    assert "x.T @" in body_of(made, *args)


def test_a_long_axis_that_is_the_last() -> None:
    def mixture(means: Any, x: Any) -> Any:
        terms = [-np.sum((x - means[k]) ** 2, axis=1) for k in range(20)]
        stacked = np.stack(terms)
        top = np.max(stacked, axis=0)
        return np.sum(top + np.log(np.sum(np.exp(stacked - top), axis=0)))

    args = points(20, 6), points(30_000, 6)
    made = assert_as_exact(mixture, *args)
    assert ", start:stop]" in made.kernel(*args).source or "start:stop]" in body_of(made, *args)
    assert "ones_30000" not in body_of(made, *args)


def test_large_products_are_left_to_the_blas() -> None:
    def network(w1: Any, w2: Any, x: Any) -> Any:
        return np.mean(np.tanh(np.tanh(x @ w1) @ w2) ** 2)

    args = points(400, 300), points(300, 10), points(1000, 400)
    made = tj.value_and_grad(tj.function(network, cache=False), argnums=(0, 1))
    found = made.kernel(*args).source
    lines = [line for line in found.splitlines() if not line.lstrip().startswith("#")]
    assert any("x @ w1" in line for line in lines)
    start = next(n for n, line in enumerate(lines) if line.startswith("def tile_"))
    end = next(n for n, line in enumerate(lines) if line.startswith("def forward"))
    assert not any("w1" in line for line in lines[start:end])


def test_views_read_as_a_whole_are_not_copied() -> None:
    def spread(x: Any, y: Any) -> Any:
        column = np.sin(x)[:, None]
        return np.sum(np.tanh(column * y) * np.cos(y)) + np.sum(np.sort(column, axis=0)[:5])

    args = np.random.default_rng(6).normal(size=30_000), points(30_000, 10)
    made = assert_as_exact(spread, *args, argnums=(0, 1))
    assert "[:, None]" in made.kernel(*args).source


def test_threads_give_the_same_bits() -> None:
    def network(w: Any, x: Any) -> Any:
        return np.sum(np.log1p(np.exp(np.tanh(x @ w) * 0.3)))

    w, x = points(9, 12), points(30_000, 9)
    one, two = (tj.value_and_grad(tj.function(network, cache=False, threads=n)) for n in (1, 2))
    for found, expected in zip(one(w, x), two(w, x), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert "in_turn(" in one.kernel(w, x).source
