"""Variables: the user's names, free again once nothing reads them, one name for one buffer."""

from __future__ import annotations

import builtins
import keyword
import time
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.by_day import by_day
from tests.graphs import random_graph, random_inputs
from tests.support.graphs import parsed
from tracejit.ir.graph import Graph
from tracejit.support.errors import GraphError
from tracejit.targets.numpy.plan.liveness import read_values
from tracejit.targets.numpy.plan.plan import plan_body
from tracejit.targets.numpy.text.names import (
    BUILTINS,
    Names,
    Numbers,
    check_names,
    check_text,
    variables,
)


def names_of(graph: Graph, *reserved: str) -> dict[str, str]:
    """The variable of every statement's result, by name in the graph."""
    plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
    return {value.name: name for value, name in variables(plan, reserved).items()}


LOOP = (
    "h     f8[3] = tanh x",
    "h_1   f8[3] = exp h",
    "h_2   f8[3] = tanh h_1",
)


def loop() -> Graph:
    """Three values that the user all called h."""
    graph = parsed("x: f8[3]) -> h_2: f8[3]", *LOOP)
    for node in graph.nodes:
        node.results[0].label = node.results[0].base = "h"
    return graph


def test_a_name_is_free_again_once_nothing_reads_its_holder() -> None:
    assert names_of(loop()) == {"x": "x", "h": "h", "h_1": "h", "h_2": "h"}


def test_a_name_that_is_still_read_gets_a_number() -> None:
    graph = loop()
    graph.outputs = [node.results[0] for node in graph.nodes]
    assert list(names_of(graph).values()) == ["x", "h", "h_1", "h_2"]


def test_the_smallest_free_number_is_taken() -> None:
    graph = loop()
    h, _, h_2 = (node.results[0] for node in graph.nodes)
    graph.outputs = [h, h_2]
    assert list(names_of(graph).values()) == ["x", "h", "h_1", "h_1"]


def test_reserved_words_keywords_and_called_builtins_are_avoided() -> None:
    graph = parsed("lambda_: f8[3], tanh: f8[3], abs: f8[3]) -> tanh: f8[3]")
    graph.inputs[0].name = graph.inputs[0].base = "lambda"
    assert list(names_of(graph, "tanh").values()) == ["lambda_1", "tanh_1", "abs_1"]


def test_two_inputs_never_share_a_name() -> None:
    graph = parsed("exp: f8[3], exp_1: f8[3], exp_2: f8[3]) -> exp: f8[3]")
    names = names_of(graph, "exp")
    assert len(set(names.values())) == 3


def test_a_buffer_has_one_name_from_first_to_last() -> None:
    graph = parsed(
        "x: f8[32,16], w: f8[16,8], b: f8[8]) -> h: f8[32,8]",
        "h_1  f8[32,8] = matmul x w",
        "h_2  f8[32,8] = add h_1 b",
        "h    f8[32,8] = tanh h_2",
        named="h",
    )
    names = names_of(graph)
    assert names["h_1"] == names["h_2"] == names["h"] == "h"


def test_what_the_user_named_keeps_its_name_in_a_chain() -> None:
    graph = parsed(
        "x: f8[300]) -> q: f8[300]",
        "h    f8[300] = exp x",
        "q_1  f8[300] = multiply h 4.0",
        "q    f8[300] = rint q_1",
        named="h q",
    )
    names = names_of(graph)
    assert (names["h"], names["q_1"], names["q"]) == ("h", "q", "q")


def test_cotangents_in_a_chain_are_called_what_it_ends_in() -> None:
    graph = parsed(
        "x: f8[300], h: f8[300], q: f8[300]) -> x_bar: f8[300]",
        "q_bar  f8[300] = multiply x 2.0",
        "h_bar  f8[300] = multiply q_bar 4.0",
        "x_bar  f8[300] = negative h_bar",
    )
    x, h, q = graph.inputs
    for value, primal in zip((n.results[0] for n in graph.nodes), (q, h, x), strict=True):
        value.derived = (primal, "_bar")
    names = names_of(graph)
    assert names["q_bar"] == names["h_bar"] == names["x_bar"] == "x_bar"


def test_a_cotangent_that_is_read_elsewhere_keeps_its_name() -> None:
    graph = parsed(
        "x: f8[20,20], h: f8[20,20]) -> s: f8, x_bar: f8[20,20]",
        "h_bar  f8[20,20] = exp x",
        "s      f8 = sum h_bar  axis=(0, 1)",
        "x_bar  f8[20,20] = multiply h_bar 4.0",
    )
    for node, primal in zip(graph.nodes[::2], graph.inputs[::-1], strict=True):
        node.results[0].derived = (primal, "_bar")
    names = names_of(graph)
    assert (names["h_bar"], names["x_bar"]) == ("h_bar", "x_bar")


def test_given_names_of_inputs_are_kept() -> None:
    graph = parsed("a: f8[3], b: f8[3]) -> a: f8[3]")
    a, b = graph.inputs
    plan = plan_body([a, b], [], [a])
    assert variables(plan, ["exp"], {a: "h_2"}) == {a: "h_2", b: "b"}


def test_a_result_of_several_lines_is_not_called_as_an_operand() -> None:
    """`y_bar = zeros(5); y_bar[1:] = y_bar` would read what it has just made."""

    def f(y):
        y = y * 2.0
        y = y[1:]
        y = y[::2]
        return np.sum(y * y * y)

    x = np.arange(1.0, 6.0)
    expected = np.where(np.arange(5) % 2 == 1, 24.0 * x**2, 0.0)
    np.testing.assert_allclose(tj.grad(f)(x), expected)


@pytest.mark.parametrize("name", sorted(BUILTINS))
def test_builtins_are_builtins(name: str) -> None:
    assert hasattr(builtins, name)


def test_arguments_may_be_called_like_anything_a_module_uses() -> None:
    def f(tanh, add, abs, residuals, SIGNATURE, out_bar, load, constants, complex, float64):
        total = np.tanh(tanh) + add + residuals + SIGNATURE + load + constants + complex
        return np.sum(total * float64 * out_bar) * np.abs(abs)

    x = np.linspace(0.5, 1.5, 4)
    arguments = (x, *(x + k for k in range(1, 2)), -2.0, *(x + k for k in range(7)))
    value, gradients = tj.value_and_grad(f, argnums=tuple(range(10)))(*arguments)
    np.testing.assert_allclose(value, f(*arguments))
    assert len(gradients) == 10
    kernel = tj.value_and_grad(f, argnums=(0, 5)).kernel(*arguments)
    _, residuals = kernel.forward(*(a for a in arguments if isinstance(a, np.ndarray)))
    for found, expected in zip(
        kernel.backward(residuals), (gradients[0], gradients[5]), strict=True
    ):
        np.testing.assert_allclose(found, expected)


@settings(max_examples=by_day(25, 100), deadline=None)
@given(st.randoms(use_true_random=False))
def test_nothing_is_overwritten_by_name_before_its_last_use(random: Random) -> None:
    graph = random_graph(random, random_inputs(random), 40)
    plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
    names = variables(plan, {"tanh", "a_1"})
    assert not {"tanh", "a_1", *keyword.kwlist} & set(names.values())
    holders = {names[value]: value for value in plan.inputs}
    assert len(holders) == len(plan.inputs)
    for number, node in enumerate(plan.statements):
        for value in read_values(node, plan.inlined):
            if value in names:
                assert holders[names[value]] is value
        for value in node.results:
            before = holders.get(names[value])
            assert before is None or plan.last_use.get(before, -1) <= number
            holders[names[value]] = value
    for value in graph.outputs:
        if value in names:
            assert holders[names[value]] is value


def test_numbers_are_free_from_the_statement_on_until_which_they_are_held() -> None:
    numbers = Numbers()
    assert [numbers.pop() for _ in range(3)] == [0, 1, 2]
    numbers.hold(1, 5)
    numbers.hold(0, 7)
    numbers.release(4)
    assert numbers.pop() == 3
    numbers.release(7)
    assert [numbers.pop() for _ in range(3)] == [0, 1, 4]


@pytest.mark.stress
def test_many_names_at_once_cost_no_more_each() -> None:
    def seconds(count: int) -> float:
        nodes = [f"v{k + 1}  f8[3] = tanh v{k}" for k in range(count)]
        graph = parsed(f"v0: f8[3]) -> v{count}: f8[3]", *nodes)
        graph.outputs = [value for value in graph.values() if value.node is not None]
        for value in graph.outputs:
            value.label = value.base = "y"
        plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
        start = time.perf_counter()
        assert len(set(variables(plan, ()).values())) == count + 1
        return time.perf_counter() - start

    assert min(seconds(8000) for _ in range(3)) < 30 * min(seconds(1000) for _ in range(3))


def test_names_know_only_what_was_given() -> None:
    graph = loop()
    plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
    assert Names(plan, set()).known == {}


@pytest.mark.parametrize(
    "name", ["a=canary()", "a b", "", "if", "\ufb01", "a\n", "np.sin", "__debug__"]
)
def test_a_name_that_is_none_is_not_written(name: str) -> None:
    with pytest.raises(GraphError, match="is not a valid name"):
        check_names(["x", name])


@pytest.mark.parametrize("letter", "\r\x0c\x85\u2028\0\ud800\ufeff\u202e\t")
def test_text_that_may_end_a_line_is_not_written(letter: str) -> None:
    check_text("x = 1\n# é\n")
    with pytest.raises(GraphError, match="is not written"):
        check_text(f"x = 1\n# a{letter}b\n")


def test_views_without_a_name_are_called_after_their_array() -> None:
    def flow(p: Any, w: Any, x: Any) -> Any:
        for _ in range(20):
            x = np.tanh(x @ w.T) * p[1] - p[0] * x
        return np.sum(x)

    both = tj.value_and_grad(tj.function(flow, cache=False), (0, 1, 2))
    text = both.kernel(np.ones(2), np.ones((3, 3)), np.ones((4, 3))).source
    assert "p_0 = p[0]" in text and "p_1 = p[1]" in text
    assert "w_T = w.T" in text and "getitem_" not in text and "transpose" not in text
