"""Parts that are read after an update are copied when they are taken, where that is less than
copying the array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.interpret import interpret, record, run
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.ir.verify import verify
from tracejit.passes.exact.detach import detach

X = np.arange(8.0)


def before(x: Any) -> Any:
    """The part is read before the update alone."""
    y = x * 2.0
    part = np.sin(y[:2])
    y[0] = 3.0
    return part, y


def after(x: Any) -> Any:
    """The old part is read after the update."""
    y = x * 2.0
    part = y[:2] * 1.0
    old = y
    y[0] = 3.0
    return part, old


def adjoint_of_a_product(x: Any) -> Any:
    """Parts of an array that is updated are multiplied: their adjoint reads the old ones."""
    y = x * 2.0
    y[0] = y[1:3] @ y[3:5]
    y[5] = y[1:5] @ y[4:8]
    return np.sum(y * y)


def large_parts(x: Any) -> Any:
    """Together they are more than the array."""
    y = x * 2.0
    y[0] = y[:7] @ y[1:]
    return np.sum(y * y)


def count(graph: Any, name: str) -> int:
    """How many nodes of the op there are."""
    return sum(node.op.name == name for node in graph.nodes)


def gradient(f: Callable[[Any], Any]) -> Any:
    """The graph of f and its gradient."""
    started = run(f, X)
    seed = started.recording.argument("out_bar", started.tensors[0].type)
    return started.finish(*gradients(started.tensors, started.inputs, [seed]))


@pytest.mark.parametrize("f", [before, after, adjoint_of_a_product, large_parts])
def test_forward_code_reads_parts_in_time(f: Callable[[Any], Any]) -> None:
    graph = record(f, X)[0]
    assert count(detach(graph), "copy") == 0


@pytest.mark.parametrize(("f", "copies"), [(adjoint_of_a_product, 2), (large_parts, 0)])
def test_late_parts_are_copied_where_that_is_less(f: Callable[[Any], Any], copies: int) -> None:
    graph = gradient(f)
    detached = verify(detach(graph))
    assert count(detached, "copy") == copies
    inputs = X, np.float64(2.0)
    pairs = zip(interpret(detached, *inputs), interpret(graph, *inputs), strict=True)
    for mine, expected in pairs:
        np.testing.assert_array_equal(mine, expected)


def test_an_argument_is_copied_as_a_whole_anyway() -> None:
    def f(x: Any) -> Any:
        part = x[:2]
        x[0] = part @ x[3:5]
        return np.sum(x * x)

    assert count(detach(gradient(f)), "copy") == 0
