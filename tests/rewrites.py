"""What a rewrite that may change last bits must keep: `assert_within` compares two graphs on inputs
that hold every value rewrites stumble over, in every combination."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.interpret import interpret
from tracejit.ir.graph import Graph, Node
from tracejit.ir.printer import parse_graph, print_graph
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS

LARGE = {"f8": 1e300, "f4": 1e30}
ULPS = 4


def special(dtype: str) -> np.ndarray:
    """Every value that a rewrite may get wrong."""
    large = LARGE[dtype]
    values = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, large, -large, 1 / large, -2.5, 0.1]
    return np.array(values).astype(dtype)


PAIRS = len(special("f8")) ** 2


def pairs(dtype: str) -> list[np.ndarray]:
    """Two arrays that hold every pair of special values."""
    return [grid.reshape(-1) for grid in np.meshgrid(special(dtype), special(dtype))]


def graph_of(inputs: str, nodes: str, dtype: str = "f8", named: str = "") -> Graph:
    """The graph of nodes separated by semicolons, the last of which is the output; T is the dtype
    and N the number of pairs. Nobody has named a value, but those in `named`."""
    text = nodes.replace("N", str(PAIRS)).replace("T", dtype)
    lines = ["  " + node.strip().replace(" ", "  ", 1) for node in text.split(";")]
    head = f"graph f({inputs.replace('N', str(PAIRS)).replace('T', dtype)})"
    graph = parse_graph("\n".join([f"{head} -> y: {lines[-1].split()[1]}", *lines]), OPS)
    for value in graph.values():
        value.label = value.label if value.name in named.split() else ""
    return verify(graph)


def operations(graph: Graph) -> list[str]:
    """The nodes as printed, values numbered in order."""
    lines = [line.split() for line in print_graph(graph).splitlines()[1:]]
    numbers = {words[0]: f"v{number}" for number, words in enumerate(lines, start=1)}
    return [" ".join(numbers.get(word, word) for word in words[3:]) for words in lines]


@np.errstate(all="ignore")
def assert_within(before: Graph, after: Graph, inputs: list[Any]) -> None:
    """Both give the same inf and nan, and numbers within a few ulp of the largest term."""
    terms = [np.abs(np.asarray(one, float)) for one in inputs]

    def observe(node: Node, operands: list[Any], results: tuple[Any, ...]) -> None:
        terms.extend(np.abs(np.asarray(one, float)) for one in results)

    expected = interpret(before, *inputs, observe=observe)
    for one, other in zip(expected, interpret(after, *inputs), strict=True):
        assert type(one) is type(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        largest = np.zeros(one.shape)
        for term in terms:
            finite = np.where(np.isfinite(term), term, 0.0)
            of_shape = finite if term.shape in (one.shape, ()) else finite.sum()
            largest = np.maximum(largest, of_shape)
        np.testing.assert_array_equal(np.isnan(other), np.isnan(one))
        infinite = np.isinf(one)
        np.testing.assert_array_equal(np.isinf(other), infinite)
        np.testing.assert_array_equal(other[infinite], one[infinite])
        there = np.isfinite(one)
        bound = ULPS * np.finfo(one.dtype).eps * largest + np.finfo(one.dtype).tiny
        error = np.abs(np.subtract(other, one, dtype=float))
        assert np.all(error[there] <= np.asarray(bound)[there])
