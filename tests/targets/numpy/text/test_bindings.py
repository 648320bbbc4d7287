"""Bindings: a body in which a name does not hold what a statement means is never written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.compiler import bodies
from tracejit.ir.graph import Value
from tracejit.ir.printer import parse_graph
from tracejit.ops.base.op import OPS
from tracejit.support.errors import GraphError, StrictError, TracejitWarning
from tracejit.targets.numpy.plan.plan import Plan, plan_body
from tracejit.targets.numpy.text import loop_text, module
from tracejit.targets.numpy.text.bindings import verify_bindings
from tracejit.targets.numpy.text.names import variables

CHAIN = """graph f(x: f8[900]) -> out: f8
  a    f8[900] = sin x
  b    f8[900] = multiply a 2.0
  c    f8[900] = multiply a b
  d    f8[900] = add c b
  out  f8      = sum d  axis=(0,)
"""
X = np.array([0.4, 0.7, 1.1])


def planned(text: str = CHAIN) -> tuple[Plan, dict[str, Value], dict[Value, str]]:
    """A plan, its values by the names in the text, and the names of its variables."""
    graph = parse_graph(text, OPS)
    plan = plan_body(graph.inputs, graph.nodes, graph.outputs)
    return plan, {value.name: value for value in graph.values()}, variables(plan, ())


def test_a_plan_with_its_own_names_holds() -> None:
    plan, _, names = planned()
    verify_bindings(plan, names)
    verify_bindings(plan, names, released={len(plan.statements) - 1: [names[plan.inputs[0]]]})


def test_a_name_for_two_values_at_once_is_refused() -> None:
    plan, values, names = planned()
    names[values["b"]] = names[values["a"]]
    with pytest.raises(
        GraphError, match=r"a does not hold a f8\[900\], which is read, at multiply"
    ):
        verify_bindings(plan, names)


def test_a_statement_out_of_order_is_refused() -> None:
    plan, _, names = planned()
    plan.statements.insert(0, plan.statements.pop(2))
    with pytest.raises(GraphError, match="does not hold"):
        verify_bindings(plan, names)


@pytest.mark.parametrize(("name", "problem"), [("a", "a does not hold"), ("e", "holds nothing")])
def test_what_is_deleted_before_it_is_read_is_refused(name: str, problem: str) -> None:
    plan, _, names = planned()
    with pytest.raises(GraphError, match=problem):
        verify_bindings(plan, names, released={2: [name]})


def test_an_array_that_is_updated_before_it_is_read_is_refused() -> None:
    plan, values, names = planned()
    made = values["b"].node
    assert made is not None and made not in plan.overwrites
    plan.overwrites[made] = values["a"]
    plan.storages.take_over(values["b"], values["a"])
    with pytest.raises(GraphError, match="a does not hold a"):
        verify_bindings(plan, names)


def test_a_result_that_is_lost_is_refused() -> None:
    plan, _, names = planned()
    plan.results.append(plan.statements[0].results[0])  # its memory is updated by then
    with pytest.raises(GraphError, match="does not hold"):
        verify_bindings(plan, names)


# On paths, in loops and in conditions


def leaves(answer: Any) -> tuple[Any, ...]:
    """A value, or a value and its gradient."""
    return answer if isinstance(answer, tuple) else (answer,)


def two_paths(x: Any) -> Any:
    s = np.sin(x)
    if (x[0] > 0).__bool__():
        return np.sum(s * s)
    return np.sum(s * 3.0)


def two_paths_of_a_view(x: Any) -> Any:
    s = x[1:]
    if (x[0] > 0).__bool__():
        return np.sum(s * np.sin(s))
    return np.sum(s * s * 3.0)


def moved_under_a_path(*args: Any, **kwargs: Any) -> Plan:
    """The plan of a body, whose first statement stands under one of its paths."""
    plan = plan_body(*args, **kwargs)
    sides = [segment for each in plan.branches.decisions for _, segment in each.sides]
    if len(sides) > 1:
        node = plan.statements.pop(0)
        assert node.op.name in ("sin", "getitem")
        node.segment = sides[0]
        plan.statements.insert([one.segment for one in plan.statements].index(sides[0]), node)
    return plan


@pytest.mark.parametrize("function", [two_paths, two_paths_of_a_view])
@pytest.mark.parametrize("transform", [lambda f: f, tj.grad, tj.value_and_grad])
def test_a_value_moved_under_one_path_is_refused(
    transform: Callable[..., Any], function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [transform(tj.function(function, cache=False))(x) for x in (X, -X)]
    monkeypatch.setattr(bodies, "plan_body", moved_under_a_path)
    refused = transform(tj.function(function, cache=False))
    refused(X)
    with pytest.raises(StrictError, match="s does not hold s"):
        refused(-X)
    monkeypatch.delenv("TRACEJIT_STRICT")
    by_python = transform(tj.function(function, cache=False))
    by_python(X)
    with pytest.warns(TracejitWarning, match="mistake of tracejit.*s does not hold s"):
        answers = [by_python(x) for x in (-X, X, -X)]
    for found, right in zip(answers, [expected[1], *expected], strict=True):
        for one, other in zip(leaves(found), leaves(right), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


def turned(c: Any) -> Any:
    a, b = np.sin(c), np.cos(c)
    return a * b * 0.5 - a * 0.1


def scanned(x: Any) -> Any:
    return tj.fori_loop(0, 3, lambda i, c: turned(c) * x, x)


def chosen(x: Any) -> Any:
    return tj.cond(x[0] > 0, turned, lambda x: x * 2.0, x)


def halved(x: Any) -> Any:
    return tj.while_loop(lambda c: np.sum(c) > 1.0, turned, x)


@pytest.mark.parametrize("function", [scanned, chosen, halved])
def test_bodies_of_loops_and_conditions_are_verified(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tj.function(function, cache=False)(X)

    def confused(plan: Plan, *args: Any) -> dict[Value, str]:
        names = variables(plan, *args)
        return dict.fromkeys(names, next(iter(names.values())))

    monkeypatch.setattr(loop_text, "variables", confused)
    with pytest.raises(StrictError, match="GraphError"):
        tj.function(function, cache=False)(X)


def test_every_body_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(module, "verify_bindings", lambda plan, *rest: seen.append(plan))
    tj.value_and_grad(tj.function(lambda x: np.sum(np.exp(np.tanh(x * 2.0) + 1.0)), cache=False))(
        np.ones(300_000)
    )
    assert len(seen) >= 5  # three functions, and the tiles that they run
