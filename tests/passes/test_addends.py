"""Addends: sums taken apart and put together."""

from __future__ import annotations

import pytest

from tests.rewrites import graph_of, operations
from tracejit.passes.addends import added_up, addends_of, inner_sums, is_beside, is_step
from tracejit.passes.dce import drop_dead

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
    total = added_up(graph, graph.nodes[-1], list(zip(signs, graph.inputs, strict=True)))
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
