"""Conditions and loops on a condition inside of, and around, whatever else tracejit records: the
same numbers as the same programs with Python's `if` and `while`."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day

R = np.random.default_rng(0)
X = R.normal(size=4)
A = R.normal(size=(4, 4))


def plain_cond(predicate: Any, first: Any, second: Any, *operands: Any) -> Any:
    return (first if predicate else second)(*operands)


def plain_while(test: Any, body: Any, value: Any) -> Any:
    while test(value):
        value = body(value)
    return value


AS_NODES = SimpleNamespace(cond=tj.cond, while_loop=tj.while_loop)
AS_PYTHON = SimpleNamespace(cond=plain_cond, while_loop=plain_while)


def side(flow: Any, x: Any) -> Any:
    return np.sum(flow.cond(x[0] > 0, lambda: np.sin(x) * x[1], lambda: x**3))


def grown(flow: Any, x: Any) -> Any:
    return flow.while_loop(lambda v: np.sum(v * v) < 20, lambda v: v * 1.5 + np.sin(v), x)


def followed_by_a_decision(flow: Any, x: Any) -> Any:
    y = side(flow, x) + np.sum(grown(flow, x))
    return y * 2.0 if y > 0.1 else np.sum(x) * y


def after_a_decision(flow: Any, x: Any) -> Any:
    return side(flow, x) if x[1] > 0 else np.sum(grown(flow, x * x)) + 1.0


def recomputed(flow: Any, x: Any) -> Any:
    f = tj.recompute_grad(lambda x: side(flow, x) + np.sum(grown(flow, x)))
    return np.sin(f(x))


def with_recomputed_bodies(flow: Any, x: Any) -> Any:
    f = tj.recompute_grad(lambda x: np.sin(np.exp(-x * x)))
    y = flow.cond(x[0] > 0, lambda: f(x), lambda: f(2.0 * x))
    return np.sum(flow.while_loop(lambda v: np.sum(v * v) < 20, lambda v: v * 1.5 + f(v), y))


def with_a_custom_gradient(flow: Any, x: Any) -> Any:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * x, lambda g: g * 7.0 * x

    y = flow.cond(x[0] > 0, lambda: f(x), lambda: f(f(x)))
    return np.sum(flow.while_loop(lambda v: np.sum(v) < 200, f, y + 1.5))


def with_gradients_in_bodies(flow: Any, x: Any) -> Any:
    y = flow.cond(x[0] > 0, lambda: tj.grad(lambda v: np.sum(v**3))(x), lambda: x)
    inner = tj.grad(lambda v: np.sum(grown(flow, v)))
    return np.sum(flow.while_loop(lambda v: np.sum(v * v) < 100, lambda v: v + inner(v), y))


def with_a_tape_in_a_side(flow: Any, x: Any) -> Any:
    def first() -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x**3)
        return tape.gradient(y, x)

    return np.sum(flow.cond(x[0] > 0, first, lambda: x) * x)


def with_calls_and_captures(flow: Any, x: Any) -> Any:
    f = tj.function(lambda x: np.sin(A @ x) * 2.0)
    y = flow.cond(x[0] > 0, lambda: f(x), lambda: f(2.0 * x))
    return np.sum(flow.while_loop(lambda v: np.sum(v * v) < 20, lambda v: v * 1.5 + A @ v, y))


def with_updates_in_place(flow: Any, x: Any) -> Any:
    def update(v: Any) -> Any:
        v = v.copy()
        v[0] += 5.0
        v[1:] *= 2.0
        return v

    y = flow.cond(x[0] > 0, lambda: update(x), lambda: x)
    return np.sum(flow.while_loop(lambda v: np.sum(v * v) < 900, update, y) ** 2)


def of_complex_numbers(flow: Any, x: Any) -> Any:
    z = x + 1j * x[::-1]
    z = flow.cond(x[0] > 0, lambda: z * z * 1j, lambda: np.exp(z))
    z = flow.while_loop(
        lambda v: np.sum(np.abs(v)) < 20, lambda v: v * (1.5 + 0.2j) + np.sin(v) * 0.1, z
    )
    return np.sum(np.abs(z) ** 2)


def of_large_arrays(flow: Any, x: Any) -> Any:
    y = np.outer(np.linspace(0.0, 1.0, 1000), x)
    y = flow.cond(x[0] > 0, lambda: np.sin(y) * 2.0 + y, lambda: y * y)
    y = flow.while_loop(lambda v: np.sum(v * v) < 1e5, lambda v: (np.sin(v) + v) * 1.5 + 1.0, y)
    return np.mean(y**2)


PROGRAMS = [
    followed_by_a_decision,
    after_a_decision,
    recomputed,
    with_recomputed_bodies,
    with_a_custom_gradient,
    with_gradients_in_bodies,
    with_a_tape_in_a_side,
    with_calls_and_captures,
    with_updates_in_place,
    of_complex_numbers,
    of_large_arrays,
]


def written(program: Callable[..., Any], flow: Any) -> Callable[[Any], Any]:
    """The program with control flow of one kind."""
    return lambda x: program(flow, x)


def taped(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The gradient by an eager tape over a call of the compiled function."""
    compiled = tj.function(f)

    def gradient(x: Any) -> Any:
        value = tj.constant(x)
        with tj.GradientTape() as tape:
            tape.watch(value)
            y = compiled(value)
        return tape.gradient(y, value).numpy()

    return gradient


def pulled_back(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tj.vjp(f, x)[1](1.0)[0]


DERIVATIVES: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "value": tj.function,
    "gradient": tj.grad,
    "tape": taped,
    "vjp": pulled_back,
    "jacfwd": tj.jacfwd,
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("program", some_by_day(PROGRAMS, 4), ids=lambda program: program.__name__)
def test_is_what_plain_python_is(program: Callable[..., Any], derivative: str) -> None:
    found, expected = (
        DERIVATIVES[derivative](written(program, flow)) for flow in (AS_NODES, AS_PYTHON)
    )
    for x in (np.abs(X), -np.abs(X), X):
        argument = x.copy()
        np.testing.assert_allclose(found(argument), expected(x), rtol=1e-9, atol=1e-11)
        np.testing.assert_array_equal(argument, x)


def test_second_derivatives() -> None:
    for program in (followed_by_a_decision, with_gradients_in_bodies, of_complex_numbers):
        found, expected = (tj.hessian(written(program, flow)) for flow in (AS_NODES, AS_PYTHON))
        np.testing.assert_allclose(found(X), expected(X), rtol=1e-8, atol=1e-9)


def test_tangents_need_no_list() -> None:
    f = tj.function(lambda x: tj.jvp(lambda x: grown(tj, x), (x,), (x,))[1])
    f(X)
    assert "append" not in f.source
    assert "x_dot" in f.source or "v_dot" in f.source
