"""Elements at an index of several arrays: what is gathered and added up at flat places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import assert_close_to_exact, code
from tests.interpret import interpret, record
from tests.support.arrays import normal
from tests.support.graphs import graph_of
from tracejit.ir.graph import Graph
from tracejit.ir.printer import parse_graph
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS
from tracejit.passes.framework.dce import drop_dead
from tracejit.targets.numpy.lower.flat_indices import flatten_indices

RNG = np.random.default_rng(0)


def places(*sizes: int, count: int = 700) -> list[Any]:
    """Indices of each axis, some of them from the end."""
    return [RNG.integers(-size, size, count) for size in sizes]


def gathered(x: Any, w: Any, *indices: Any) -> Any:
    return np.sum(np.tanh(x[indices] * w) ** 2)


GATHERED = {
    "numbers": (normal(20, 30), normal(700), places(20, 30)),
    "rows": (normal(20, 30, 3), normal(700, 3), places(20, 30)),
    "planes of a stack": (normal(5, 6, 7), normal(700), places(5, 6, 7)),
    "single precision": (normal(20, 30, dtype="f4"), normal(700, dtype="f4"), places(20, 30)),
    "short integers": (normal(20, 30), normal(700), [i.astype("i2") for i in places(20, 30)]),
    "broadcast": (
        normal(20, 30),
        normal(40, 25),
        [places(20, count=40)[0][:, None], places(30, count=25)[0]],
    ),
}


@pytest.mark.parametrize(("x", "w", "indices"), GATHERED.values(), ids=GATHERED)
def test_gradients(x: Any, w: Any, indices: list[Any]) -> None:
    assert_close_to_exact(gathered, [x, w, *indices], 2)
    compiled = tj.value_and_grad(tj.function(gathered, cache=False), argnums=(0, 1))
    compiled(x, w, *indices)
    text = code(compiled)
    shape = "x".join(map(str, x.shape[: len(indices)]))
    assert text.count(f"places_{shape}[") == 1
    assert "add.at(x_bar, (" not in text


@pytest.mark.parametrize(("x", "w", "indices"), GATHERED.values(), ids=GATHERED)
def test_to_the_bit(x: Any, w: Any, indices: list[Any]) -> None:
    """The same numbers are added in the same order."""

    def f(x: Any, w: Any, *indices: Any) -> Any:
        y = x * 0.0
        np.add.at(y, indices, w)
        return x[indices], y

    graph = graph_of(f, x, w, *indices)
    flat = verify(drop_dead(flatten_indices(graph)))
    for found, expected in zip(
        interpret(flat, x, w, *indices), interpret(graph, x, w, *indices), strict=True
    ):
        assert found.tobytes() == expected.tobytes()


def scattered(shape: tuple[int, ...], count: int, index: tuple[Any, ...]) -> Graph:
    """The graph of a sum of `count` numbers at an index."""
    names = [f"i_{number}" for number in range(str(index).count("{"))]
    inputs = ", ".join(f"{name}: i8[{count}]" for name in names)
    type = f"f8[{','.join(map(str, shape))}]"
    value = ",".join(map(str, (count, *shape[len(index) :])))
    head = f"graph f(g: f8[{value}], {inputs}) -> s: {type}"
    params = f"shape={shape} index={index}"
    return parse_graph(f"{head}\n  s  {type} = add_at g {' '.join(names)}  {params}\n", OPS)


@pytest.mark.parametrize(
    ("shape", "count", "index", "is_flat"),
    [
        ((20, 30), 700, ("{1}", "{2}"), True),
        ((20, 30, 2), 700, ("{1}", "{2}"), True),
        ((20, 30), 40, ("{1}", "{2}"), False),
        ((200, 300), 700, ("{1}", "{2}"), False),
        ((20,), 700, ("{1}",), False),
        ((20, 30), 700, ("{1}", 2), False),
    ],
    ids=["numbers", "rows", "few places", "a large table", "one index", "one array"],
)
def test_where_it_pays(shape: Any, count: int, index: Any, is_flat: bool) -> None:
    graph = scattered(shape, count, index)
    assert (flatten_indices(graph) is not graph) == is_flat


def test_gathers_alone_stay() -> None:
    graph = record(lambda x, i, j: x[i, j], normal(20, 30), *places(20, 30))[0]
    assert flatten_indices(graph) is graph


@pytest.mark.parametrize("number", [20, -21])
def test_no_such_place(number: int) -> None:
    """The error is NumPy's."""
    x, w, indices = GATHERED["numbers"]
    wrong = indices[0].copy()
    wrong[5] = number
    compiled = tj.value_and_grad(tj.function(gathered, cache=False))
    compiled(x, w, *indices)
    with pytest.raises(IndexError, match=rf"index {number} is out of bounds for axis 0 with size"):
        compiled(x, w, wrong, indices[1])
