"""Conditions, and loops on a condition, of a batch: what each element by itself gives, for values
and derivatives, in whatever order of batching and differentiating."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row

R = np.random.default_rng(0)
X = R.normal(size=(5, 4))
P = R.normal(size=4)


class Case(NamedTuple):
    """A function of one element, its arguments with the batch, and the axes of that."""

    f: Callable[..., Any]
    arguments: tuple[Any, ...]
    in_axes: tuple[int | None, ...] = (0,)


def choice(x: Any) -> Any:
    return np.sum(tj.cond(x[0] > 0, lambda: np.sin(x) * x[1], lambda: x**3))


def choice_of_another(x: Any, p: Any) -> Any:
    return np.sum(tj.cond(p[0] > 0, lambda: np.sin(x) * p, lambda: p**3))


def switch(x: Any) -> Any:
    return np.sum(
        tj.switch(np.argmax(x), [lambda: x, lambda: np.sin(x), lambda: x * x, lambda: np.exp(x)])
    )


def newton(a: Any) -> Any:
    return tj.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: 0.5 * (x + a / x), a)


def growth(x: Any) -> Any:
    def body(carry: Any) -> Any:
        return np.sin(carry[0]) + 1.5 * carry[0], carry[1] + 1

    v, k = tj.while_loop(lambda c: np.sum(c[0] ** 2) < 50, body, (x, 0))
    return np.sum(v) * (k + 1.0)


def so_many_steps(x: Any) -> Any:
    def body(carry: Any) -> Any:
        return np.sin(carry[0]) + 1.5 * carry[0], carry[1] + 1

    return np.sum(tj.while_loop(lambda c: c[1] < 3, body, (x, 0))[0])


def all_in_one(x: Any) -> Any:
    def step(c: Any, e: Any) -> Any:
        begun = np.abs(e) + 0.1
        v = tj.while_loop(lambda v: v < 3.0, lambda v: v * 1.5 + np.sin(c) ** 2, begun)
        return tj.cond(e > 0, lambda: c * 0.5 + v, lambda: c - v), v

    c, ys = tj.scan(step, 0.3, x)
    return c + np.sum(ys**2)


CASES = {
    "a choice that differs": Case(choice, (X,)),
    "a choice that is the same": Case(choice_of_another, (X, P), (0, None)),
    "the other choice": Case(choice_of_another, (X, -P), (0, None)),
    "a choice of the batch": Case(choice_of_another, (P, X), (None, 0)),
    "one of many": Case(switch, (X,)),
    "a condition that differs": Case(newton, (np.array([1.0, 2.0, 9.0, 100.0]),)),
    "a condition and a count": Case(growth, (X,)),
    "a condition that is the same": Case(so_many_steps, (X,)),
    "one in the other": Case(all_in_one, (X,)),
}


def squares_of_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return tj.grad(lambda x, *others: np.sum(tj.grad(f)(x, *others) ** 2))


INSIDE: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "value": lambda f: f,
    "gradient": tj.grad,
    "second gradient": squares_of_gradient,
}


@each_row("transform", INSIDE)
@each_row("name", CASES)
def test_a_batch_is_its_elements(name: str, transform: str) -> None:
    f, arguments, in_axes = CASES[name]
    inside = INSIDE[transform](f)
    one = tj.function(inside)
    expected = [one(*each) for each in elements(arguments, in_axes)]
    found = tj.vmap(inside, in_axes=in_axes)(*arguments)
    np.testing.assert_allclose(found, np.stack(expected), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", CASES)
def test_a_batch_has_the_gradient_of_its_elements(name: str) -> None:
    f, arguments, in_axes = CASES[name]
    found = tj.grad(lambda *x: np.sum(tj.vmap(f, in_axes=in_axes)(*x) ** 2))(*arguments)
    parts = [tj.grad(lambda *x: f(*x) ** 2)(*each) for each in elements(arguments, in_axes)]
    expected = np.stack(parts) if in_axes[0] == 0 else sum(parts)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def elements(arguments: tuple[Any, ...], in_axes: tuple[int | None, ...]) -> list[list[Any]]:
    """The arguments of each element."""
    pairs = list(zip(arguments, in_axes, strict=True))
    size = next(len(x) for x, axis in pairs if axis == 0)
    return [[x if axis is None else x[k] for x, axis in pairs] for k in range(size)]


def test_a_batch_of_batches() -> None:
    x = R.uniform(1.0, 9.0, size=(2, 3))
    np.testing.assert_allclose(tj.vmap(tj.vmap(newton))(x), np.sqrt(x))
    np.testing.assert_allclose(tj.vmap(tj.vmap(tj.grad(newton)))(x), 0.5 / np.sqrt(x))


def test_a_choice_that_is_the_same_is_a_condition() -> None:
    f = tj.vmap(choice_of_another, in_axes=(0, None))
    f(X, P)
    assert "if p[0] > 0:" in f.source
    assert "where" not in f.source


def test_a_loop_goes_on_until_no_element_does() -> None:
    f = tj.vmap(newton)
    np.testing.assert_allclose(f(np.array([1.0, 4.0])), [1.0, 2.0])
    assert "while " in f.source
    assert "where(" in f.source
