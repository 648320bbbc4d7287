"""Conditions, and loops on a condition, of a batch: what each element by itself gives, for values
and derivatives, in whatever order of batching and differentiating."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests import random_batches
from tests.by_day import some_by_day
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


def doubled(x: Any) -> Any:
    """A loop that never ends at zero."""
    return tj.while_loop(lambda v: v * v < 10.0, lambda v: 2.0 * v, x)


def doubled_but_zero(x: Any) -> Any:
    return tj.cond(x == 0.0, lambda: 1.0 - x, lambda: doubled(x) * doubled(x * x))


def doubled_in_steps(x: Any) -> Any:
    """A loop in a loop, which never ends for an element that is done."""
    return tj.while_loop(lambda v: v > 0.5, lambda v: 2.0 * v / doubled(v - 0.5), x)


def secant(a: Any) -> Any:
    """A step divides by zero once an element is done."""

    def step(pair: Any) -> Any:
        x, y = pair
        fx, fy = x * x - a, y * y - a
        return y, y - fy * (y - x) / (fy - fx)

    return tj.while_loop(lambda p: abs(p[1] - p[0]) > 0.0, step, (a, a + 1.0))[1]


def inverse(x: Any) -> Any:
    return tj.cond(x[0] != 0, lambda: np.linalg.inv(np.outer(x, x) + np.diag(x))[0], lambda: x)[1]


def element(x: Any) -> Any:
    """An element that is there for some alone."""
    n = np.argmax(x)
    return tj.cond(n < 3, lambda: np.take(x * x, n + 1), lambda: x[0])


def the_same_inside(x: Any, p: Any) -> Any:
    """A choice and a loop that are the same for all, in a side that differs."""

    def inner(y: Any) -> Any:
        def step(c: Any) -> Any:
            return c[0] - 0.3, c[1] + y / c[0]

        return tj.while_loop(lambda c: c[0] > 0.0, step, (p, 0.0 * p))[1]

    other = lambda: tj.cond(p > 0.5, lambda: np.sqrt(p), lambda: p * inner(x))  # noqa: E731
    return tj.cond(x > 0.0, lambda: inner(x) + inner(p), other)


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
    "a loop for some": Case(doubled_but_zero, (np.array([0.3, 0.0, -1.0, 4.0, 0.0]),)),
    "a loop for none": Case(doubled_but_zero, (np.zeros(3),)),
    "a loop for those that are not done": Case(
        doubled_in_steps, (np.array([0.75, 1.0, 0.0, 5.0]),)
    ),
    "a division by zero for those that are done": Case(secant, (np.array([1.0, 2.0, 9.0]),)),
    "an error for some": Case(inverse, (np.array([[1.0, 2.0], [0.0, 0.0], [3.0, -2.0]]),)),
    "an element for some": Case(element, (X,)),
    "the same inside of a choice": Case(the_same_inside, (P, np.float64(0.4)), (0, None)),
    "another inside of a choice": Case(the_same_inside, (P, np.float64(0.8)), (0, None)),
}


def squares_of_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return tj.grad(lambda x, *others: np.sum(tj.grad(f)(x, *others) ** 2))


INSIDE: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "value": lambda f: f,
    "gradient": tj.grad,
    "second gradient": squares_of_gradient,
}


@each_row("transform", INSIDE)
@each_row("name", some_by_day(CASES, 3))
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


def test_no_warning_is_for_an_element_that_takes_another_side() -> None:
    def root(x: Any) -> Any:
        return tj.cond(x > 0, lambda: np.sqrt(x) / x, lambda: 0.0 * x)

    x = np.array([4.0, 0.0, -1.0])
    np.testing.assert_array_equal(tj.vmap(root)(x), [0.5, 0.0, -0.0])
    np.testing.assert_array_equal(tj.vmap(tj.grad(root))(x), [-0.0625, 0.0, 0.0])


def test_nan_of_other_elements_reach_no_derivative() -> None:
    def f(x: Any) -> Any:
        return np.sum(tj.vmap(lambda x: tj.cond(x < 9.0, lambda: x * x, lambda: 0.0 * x))(x))

    np.testing.assert_array_equal(tj.grad(f)(np.array([2.0, np.nan])), [4.0, 0.0])
    hessian = tj.jacfwd(tj.grad(lambda x: np.sum(tj.vmap(secant)(x) ** 2)))(np.array([4.0, 2.0]))
    np.testing.assert_allclose(hessian, np.zeros((2, 2)), atol=1e-12)


def test_linear_sides_are_computed_for_all() -> None:
    f = tj.vmap(lambda x: tj.cond(x > 0, lambda: 2.0 * x + 1.0, lambda: -x))
    np.testing.assert_array_equal(f(np.array([1.0, -2.0])), [3.0, 2.0])
    assert " if " not in f.source.rpartition('"""')[2]


@pytest.mark.parametrize("size", [0, 2])
def test_batches_of_batches_of_loops_for_some(size: int) -> None:
    x = np.array([0.3, 0.0, -1.0])[:size] * np.array([[1.0], [0.0]])
    each = np.array([doubled_but_zero(one) for one in x.ravel()]).reshape(x.shape)
    np.testing.assert_allclose(tj.vmap(tj.vmap(doubled_but_zero))(x), each)
    of_all = tj.grad(lambda x: np.sum(tj.vmap(tj.vmap(doubled_but_zero))(x)))
    slopes = np.array([tj.grad(doubled_but_zero)(one) for one in x.ravel()]).reshape(x.shape)
    np.testing.assert_allclose(of_all(x), slopes)


@each_row("seed", range(3))
def test_random_functions(seed: int) -> None:
    random_batches.check(random_batches.Source(seed, 2))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_nightly_random_functions(seed: int) -> None:
    random_batches.check(random_batches.Source(seed, 3))
