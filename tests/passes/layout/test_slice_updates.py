"""Arrays that keep their own edges: what becomes an update of them, and what stays."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.against_exact import assert_close_to_exact, code, with_special
from tests.by_day import by_day
from tests.interpret import interpret
from tests.support.graphs import graph_of
from tracejit.ir.graph import Graph
from tracejit.ir.verify import verify
from tracejit.passes.framework.dce import drop_dead
from tracejit.passes.layout.slice_updates import update_slices

Step = Callable[[Any, Any], Any]


def ops_of(graph: Graph) -> list[str]:
    """The ops of a graph in order, but for views and elementwise ones."""
    left = ("getitem", "exp", "add", "subtract", "multiply")
    return [node.op.name for node in graph.nodes if node.op.name not in left]


def line(u: Any, v: Any) -> Any:
    return np.concatenate([u[:1], v, u[-1:]])


def square(u: Any, v: Any) -> Any:
    rows = np.concatenate([u[1:-1, :2], v, u[1:-1, -1:]], axis=1)
    return np.concatenate([u[:1], rows, u[-1:]], axis=0)


JOINED: dict[str, tuple[Step, tuple[int, ...], tuple[int, ...], list[str]]] = {
    "the inside of a line": (line, (9,), (7,), ["set_item"]),
    "the end of a line": (lambda u, v: np.concatenate([u[:4], v]), (9,), (5,), ["set_item"]),
    "the start of a line": (lambda u, v: np.hstack([v, u[-2:]]), (9,), (7,), ["set_item"]),
    "more in the inside": (lambda u, v: line(u, u[1:-1] + v), (9,), (7,), ["add_item"]),
    "something and the inside": (lambda u, v: line(u, v + u[1:-1]), (9,), (7,), ["add_item"]),
    "less in the inside": (lambda u, v: line(u, u[1:-1] - v), (9,), (7,), ["subtract_item"]),
    "the inside taken off": (lambda u, v: line(u, v - u[1:-1]), (9,), (7,), ["set_item"]),
    "what was elsewhere": (lambda u, v: line(u, u[:-2] + v), (9,), (7,), ["set_item"]),
    "the inside of a square": (square, (6, 7), (4, 4), ["set_item"]),
    "columns": (
        lambda u, v: np.concatenate([u[:, :1], v, u[:, 3:]], axis=1), (4, 6), (4, 2), ["set_item"],
    ),
    "a part of a part": (
        lambda u, v: np.concatenate([u[:5][:2], v, u[3:][2:]]), (9,), (3,), ["set_item"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("step", "shape", "inside", "ops"), JOINED.values(), ids=JOINED)
def test_own_edges_stay(step: Step, shape: Any, inside: Any, ops: list[str], dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=shape).astype(dtype), rng.normal(size=inside).astype(dtype)

    def f(x: Any, v: Any) -> Any:
        return step(np.exp(x), v)

    graph = graph_of(f, x, v)
    new = verify(drop_dead(update_slices(graph)))
    assert ops_of(new) == ops
    for special in (0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-300):
        with np.errstate(all="ignore"):
            v.reshape(-1)[1], x.reshape(-1)[-3] = special, special
            (expected,), (found,) = interpret(graph, x, v), interpret(new, x, v)
        assert found.tobytes() == expected.tobytes()


OTHERS: dict[str, Step] = {
    "edges of another place": lambda u, v: np.concatenate([u[-1:], v, u[:1]]),
    "edges of two arrays": lambda u, v: np.concatenate([u[:1], v, np.sin(u)[-1:], np.cos(u)[:1]]),
    "two insides": lambda u, v: np.concatenate([u[:1], v[:3], v[3:], u[-1:]]),
    "every other element": lambda u, v: np.concatenate([u[0:2:2], v, u[-1:]]),
    "an array that is read later": lambda u, v: line(u, v) * np.sin(u),
    "a wider dtype": lambda u, v: np.concatenate([u[:1], v.astype(complex), u[-1:]]),
    "no edge": lambda u, v: np.concatenate([v, v]),
}


@pytest.mark.parametrize("step", OTHERS.values(), ids=OTHERS)
def test_what_is_joined_still(step: Step) -> None:
    graph = graph_of(lambda x, v: step(np.exp(x), v), np.ones(9), np.ones(7))
    assert "concatenate" in ops_of(drop_dead(update_slices(graph)))


def test_an_argument_is_not_copied_for_it() -> None:
    graph = graph_of(line, np.ones(9), np.ones(7))
    assert ops_of(drop_dead(update_slices(graph))) == ["concatenate"]


def test_integers_stay() -> None:
    graph = graph_of(lambda x, v: line(x * 2, v), np.arange(9), np.arange(7))
    assert "concatenate" in ops_of(drop_dead(update_slices(graph)))


def flow(u: Any, c: Any) -> Any:
    """Three steps of heat flow on a square whose boundary stays."""
    for _ in range(3):
        inner = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        inner = inner + c * (around - 4.0 * inner)
        rows = np.concatenate([u[1:-1, :1], inner, u[1:-1, -1:]], axis=1)
        u = np.concatenate([u[:1], rows, u[-1:]], axis=0)
    return np.mean(u**2)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("count", [0, 3])
def test_heat_flow(dtype: str, count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(4):
        u, c = rng.normal(size=(7, 8)).astype(dtype), rng.uniform(0.05, 0.2, (5, 6)).astype(dtype)
        with np.errstate(over="ignore"):
            u = with_special(rng, u, count).astype(dtype)
        assert_close_to_exact(flow, [u, c], 2)


def test_heat_flows_in_place() -> None:
    compiled = tj.value_and_grad(tj.function(flow, cache=False), (0, 1))
    u, c = np.random.default_rng(0).normal(size=(8, 8)), np.full((6, 6), 0.1)
    before = u.copy()
    value, (u_bar, c_bar) = compiled(u, c)
    text = code(compiled)
    assert "concatenate" not in text
    assert "zeros" not in text
    assert text.count("array(u)") == 1
    np.testing.assert_array_equal(u, before)
    again = compiled(u, c)
    assert again[0] == value
    assert not np.shares_memory(again[1][0], u_bar)
    np.testing.assert_array_equal(again[1][1], c_bar)


def test_states_that_are_results_stay() -> None:
    def states(u: Any, c: Any) -> Any:
        found = [u * 1.0]
        for _ in range(3):
            found.append(line(found[-1], found[-1][1:-1] * c))
        return tuple(found)

    assert_close_to_exact(states, [np.linspace(1.0, 2.0, 9), np.full(7, 0.5)])


def test_gradients_by_parts() -> None:
    """The cotangents of the parts themselves, which a tape asks for."""

    def f(x: Any, v: Any) -> Any:
        u = np.exp(x)
        first, last = u[:2], u[-2:]
        return tj.gradients(np.sum(np.concatenate([first, v * v, last]) ** 2), [first, v, u])

    x, v = np.linspace(-1.0, 1.0, 9), np.linspace(0.5, 1.0, 5)
    for found, expected in zip(
        tj.function(f, cache=False)(x, v),
        tj.function(f, cache=False, exact=True)(x, v),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def _program(random: Random, ndim: int) -> Step:
    """A recurrence whose steps replace an inside, by joins along every axis."""
    edges = [(random.randrange(3), random.randrange(1, 3)) for _ in range(ndim)]
    inner = tuple(slice(a, -b) for a, b in edges)
    kinds = [random.randrange(5) for _ in range(3)]

    def step(u: Any, c: Any, kind: int) -> Any:
        inside = u[inner]
        if kind == 0:
            inside = c * inside
        elif kind == 1:
            inside = inside + c * np.tanh(inside)
        elif kind == 2:
            inside = inside - c
        elif kind == 3:
            inside = c - inside
        else:
            inside = np.sin(u)[inner]
        for axis in reversed(range(ndim)):
            before, after = edges[axis]
            outer = u[inner[:axis]]
            along = (slice(None),) * axis
            parts = [
                outer[(*along, slice(None, before))],
                inside,
                outer[(*along, slice(-after, None))],
            ]
            inside = np.concatenate(parts[not before :], axis=axis)
        return inside

    def loss(u: Any, c: Any) -> Any:
        for kind in kinds:
            u = step(u, c, kind)
        return np.sum(u * u)

    return loss


@settings(max_examples=by_day(10, 30), deadline=None, derandomize=True, database=None)
@given(st.randoms(use_true_random=False), st.sampled_from([1, 2, 3]), st.sampled_from([0, 0, 2]))
def test_random_recurrences(random: Random, ndim: int, count: int) -> None:
    rng = np.random.default_rng(random.randrange(1000))
    u = rng.normal(size=tuple(random.randrange(5, 8) for _ in range(ndim)))
    if count:
        u = with_special(rng, u, count)
        u[np.abs(u) > 1e200] = np.inf
    assert_close_to_exact(_program(random, ndim), [u, np.float64(0.7)], 2)


def test_the_adjoint_of_a_placed_part_is_not_taken_for_an_edge() -> None:
    """Parts of one cotangent that are added up elsewhere than they were taken."""

    def loss(u: Any) -> Any:
        return np.sum(np.sin(np.concatenate([u[2:], u[:2], u[1:3]])))

    assert_close_to_exact(loss, [np.linspace(0.0, 1.0, 7)], 1)
    compiled = tj.value_and_grad(tj.function(loss, cache=False))
    compiled(np.linspace(0.0, 1.0, 7))
    assert "u_bar[2:] += " in code(compiled)


def added_rows(*rows: Any) -> Graph:
    """The cotangent of an array of which these rows or elements are used, each alone."""
    return graph_of(tj.grad(lambda x: sum(np.sum(np.exp(x[row])) for row in rows)), np.ones((5, 4)))


@pytest.mark.parametrize(
    ("rows", "ops"),
    [
        ((3, 1, 0), ["put_slice", "set_item", "set_item"]),
        (((3, 2), (3, 1), 0), ["put_slice", "set_item", "set_item"]),
        ((3, (3, 1), 0), ["put_slice", "add_slice", "set_item"]),
        ((slice(1, 3), 3, 2), ["put_slice", "set_item", "add_slice"]),
        ((slice(1, 3), slice(3, 5)), ["put_slice", "set_item"]),
        ((slice(1, 3), slice(3, 5), slice(2, 4)), ["put_slice", "add_slice", "add_slice"]),
        (((slice(None), 1), 0), ["put_slice", "add_slice"]),
    ],
)
def test_rows_and_slices_are_written_into_zeros(rows: Any, ops: list[str]) -> None:
    graph = added_rows(*rows)
    new = verify(drop_dead(update_slices(graph)))
    assert sorted(one for one in ops_of(new) if "slice" in one or "item" in one) == sorted(ops)
    x = np.random.default_rng(0).normal(size=(5, 4))
    assert np.array_equal(interpret(graph, x), interpret(new, x))


def test_a_gradient_by_elements_assigns_them() -> None:
    def loss(p: Any) -> Any:
        a, b, c = p
        return a * np.exp(b) + c * c

    text = tj.value_and_grad(loss).kernel(np.ones(3)).source
    assert "p_bar[1] = " in text
    assert "] += " not in text


@pytest.mark.parametrize(
    ("loss", "is_stacked"),
    [
        (lambda x: x[0] * np.exp(x[1]) + np.sin(x[2]), True),
        (lambda x: x[0] * np.exp(x[1]) + np.sin(x[0] + x[2]), True),
        (lambda x: x[0] * np.exp(x[1]), False),
        (lambda x: x[0] * np.sum(x[1:] ** 2), False),
    ],
)
def test_numbers_of_a_readable_gradient_are_put_together(loss: Any, is_stacked: bool) -> None:
    x = np.array([0.1, 0.2, 0.3])
    usual, readable = (
        tj.value_and_grad(tj.function(loss, cache=False, readable=is_readable))
        for is_readable in (False, True)
    )
    np.testing.assert_allclose(readable(x)[1], usual(x)[1], rtol=1e-15)
    assert ("= array((" in readable.kernel(x).source) == is_stacked
    assert "= array((" not in usual.kernel(x).source
