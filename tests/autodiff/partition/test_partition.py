"""The split into forward and backward: what is kept between them, and that nothing is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import run
from tests.support.compare import assert_same
from tracejit.autodiff.partition.partition import Partition, partition
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.ir.graph import Constant, Graph, Value
from tracejit.passes.algebra.simplify import simplify
from tracejit.passes.exact.erase import erase_markers
from tracejit.passes.framework.dce import drop_dead


def split(call: Any, *args: Any) -> tuple[Graph, Value, Partition]:
    """A call of a scalar function, differentiated in all its floating arguments and split."""
    started = run(call, *args)
    (y,) = started.tensors
    seed = started.recording.argument("out_bar", y.type)
    sources = [x for x in started.inputs if x.type.is_inexact and x.type.form != "weak"]
    graph = started.finish(*gradients([y], sources, [seed]))
    graph = drop_dead(simplify(erase_markers(graph)))
    seed_value = next(value for value in graph.inputs if value.name == "out_bar")
    return graph, seed_value, partition(graph, 1, [seed_value])


def kept(call: Any, *args: Any) -> list[str]:
    """The residuals by name, or by op where the user named nothing."""
    residuals = split(call, *args)[2].residuals
    return [value.label or value.node.op.name for value in residuals if value.node or value.label]


X, W, Y = np.ones((4, 3)), np.ones((3, 2)), np.linspace(-1.0, 1.0, 5)


def mlp(x, w):
    h = np.tanh(x @ w)
    return np.sum(3.0 * h)


def test_only_what_backward_reads_is_kept() -> None:
    assert kept(mlp, X, W) == ["x", "w", "h"]


def test_a_linear_function_keeps_nothing() -> None:
    assert kept(lambda x: np.sum(x[1:] - x[:-1]), Y) == []


def test_a_sum_keeps_no_array_for_its_shape() -> None:
    assert kept(lambda x: np.sum(np.mean(x, axis=0)), X) == []


def test_exp_keeps_its_result_and_not_its_operand() -> None:
    def f(x):
        y = np.exp(x)
        return np.sum(y)

    assert kept(f, Y) == ["y"]


def test_views_are_made_again() -> None:
    def f(x):
        part = x[1:].reshape(2, 2).T
        return np.sum(part * part)

    graph, _, parts = split(f, Y)
    assert [value.name for value in parts.residuals] == ["x"]
    again = [node for node in parts.backward if node.op.view_of is not None]
    assert set(again) & set(parts.forward)
    assert graph.nodes


def test_a_view_of_an_intermediate_keeps_what_it_views() -> None:
    def f(x):
        y = np.sin(x)
        part = y[::2]
        return np.sum(part * part)

    assert kept(f, Y) == ["x", "y"]


def test_constants_are_not_kept() -> None:
    _, _, parts = split(lambda x: np.sum(x * x * np.linspace(0.0, 1.0, 5)), Y)
    assert not any(isinstance(value, Constant) for value in parts.residuals)
    assert [value.name for value in parts.residuals] == ["x"]


def test_the_seed_is_no_residual() -> None:
    _, seed, parts = split(mlp, X, W)
    assert seed not in parts.residuals
    assert any(seed in node.operands for node in parts.backward)


def test_a_function_that_returns_its_argument() -> None:
    graph, seed, parts = split(lambda x: x, np.float64(2.0))
    assert parts == Partition([], [], [])
    assert graph.outputs[1] is seed


def test_a_function_that_does_not_depend_on_its_argument() -> None:
    started = run(lambda x: np.sum(np.zeros_like(x)), Y)
    graph = drop_dead(started.finish())
    assert partition(graph, 1, []).backward == []


def test_a_value_that_is_output_and_residual_is_both() -> None:
    def f(x):
        y = np.exp(x)
        return np.sum(y)

    graph, _, parts = split(f, np.float64(0.5))
    assert parts.residuals == [graph.outputs[0]] or parts.residuals[0].label == "y"


def test_a_recompute_region_keeps_only_what_goes_in() -> None:
    block = tj.recompute_grad(lambda h: np.tanh(np.sin(h) * 2.0))

    def f(x):
        h = block(x)
        return np.sum(h)

    def plain(x):
        return np.sum(np.tanh(np.sin(x) * 2.0))

    assert kept(f, Y) == ["x"]
    assert len(kept(plain, Y)) == 2
    _, _, parts = split(f, Y)
    first = [node.op.name for node in parts.forward]
    assert [node.op.name for node in parts.backward][: len(first) - 1] == first[:-1]


@pytest.mark.parametrize(
    ("call", "args"),
    [
        (mlp, (X, W)),
        (lambda x: np.sum(x[1:] * x[:-1] ** 2), (Y,)),
        (lambda x: np.sum(np.where(x > 0.0, x * x, np.exp(x))), (Y,)),
        (lambda x, y: np.max(x) * y, (Y, np.float64(2.0))),
        (tj.recompute_grad(mlp), (X, W)),
        (lambda x: np.sum(tj.grad_pass_through(np.rint)(x * 3.0) * x), (Y,)),
    ],
)
def test_forward_then_backward_is_the_whole(call: Any, args: tuple[Any, ...]) -> None:
    """Every node is where it is needed, nothing reads what it cannot have."""
    graph, seed, parts = split(call, *args)
    inputs = [value for value in graph.inputs if value is not seed]
    data = dict(zip(inputs, args, strict=True))

    def execute(nodes: Any, known: dict[Value, Any]) -> dict[Value, Any]:
        for node in nodes:
            operands = [v.data if isinstance(v, Constant) else known[v] for v in node.operands]
            (known[node.results[0]],) = (node.op.evaluate(*operands, **node.params),)
        return known

    forward = execute(parts.forward, dict(data))
    residuals = {value: forward[value] for value in parts.residuals}
    backward = execute(parts.backward, {**residuals, seed: np.float64(1.0)})
    whole = execute(graph.nodes, {**data, seed: np.float64(1.0)})
    assert_same(forward[graph.outputs[0]], whole[graph.outputs[0]])
    for value in graph.outputs[1:]:
        assert_same(backward[value], whole[value])
