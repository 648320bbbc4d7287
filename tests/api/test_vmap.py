"""vmap of functions with gradient markers, tapes, primitives and other transforms in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import close
from tracejit.support.errors import NoGradientError, ValueNeededError

X = np.arange(6.0).reshape(3, 2) + 0.5
W = np.array([0.3, -0.7])


def rows(f: Callable[..., Any], *wholes: Any) -> np.ndarray:
    """The function of one element after the other."""
    return np.stack([f(*row) for row in zip(*wholes, strict=True)])


# Custom gradients


@tj.custom_gradient
def tripled(x: Any) -> Any:
    e = np.exp(x)
    return np.sum(e * e), lambda dy: dy * np.cos(e) * 3.0


def test_a_rule_is_one_for_each_element() -> None:
    slopes = 3.0 * np.cos(np.exp(X))
    weights = np.arange(3.0)
    close(tj.vmap(tripled)(X), np.sum(np.exp(2.0 * X), axis=1))
    close(tj.vmap(tj.grad(tripled))(X), slopes)
    close(tj.grad(lambda x: np.sum(tj.vmap(tripled)(x) * weights))(X), slopes * weights[:, None])
    close(tj.vmap(lambda x: tj.jvp(tripled, (x,), (W,))[1])(X), slopes @ W)
    close(tj.jvp(tj.vmap(tripled), (X,), (np.ones_like(X) * W,))[1], slopes @ W)
    close(tj.vmap(tj.hessian(tripled))(X), rows(tj.hessian(tripled), X))
    close(
        tj.grad(lambda x: np.sum(tj.grad(lambda x: np.sum(tj.vmap(tripled)(x)))(x) ** 2))(X),
        rows(tj.grad(lambda x: np.sum(tj.grad(tripled)(x) ** 2)), X),
    )


def test_a_rule_closes_over_what_differs_and_what_does_not() -> None:
    def f(x: Any, w: Any) -> Any:
        own, shared = np.sin(x), np.cos(w)

        @tj.custom_gradient
        def inner(z: Any) -> Any:
            return np.sum(z * own), lambda dy: dy * own * shared

        return inner(x * 2.0) ** 2

    def slope(x: Any, w: Any) -> Any:
        return tj.grad(f)(x, w)

    close(tj.vmap(slope, in_axes=(0, None))(X, W), rows(lambda x: slope(x, W), X))
    mapped = tj.vmap(f, in_axes=(0, None))
    close(tj.grad(lambda x: np.sum(mapped(x, W)))(X), rows(lambda x: slope(x, W), X))
    close(
        tj.grad(lambda w: np.sum(tj.vmap(slope, in_axes=(0, None))(X, w)))(W),
        np.sum(rows(lambda x: tj.grad(lambda w: np.sum(slope(x, w)))(W), X), axis=0),
    )


def test_a_rule_answers_for_what_is_the_same_for_all() -> None:
    @tj.custom_gradient
    def scaled(x: Any, w: Any) -> Any:
        return np.sum(x * w), lambda dy: (dy * w * 2.0, dy * x * 3.0)

    mapped = tj.vmap(scaled, in_axes=(0, None))
    close(tj.grad(lambda w: np.sum(mapped(X, w)))(W), 3.0 * np.sum(X, axis=0))
    by_x, by_w = tj.vmap(tj.grad(scaled, (0, 1)), in_axes=(0, None))(X, W)
    close(by_x, np.tile(2.0 * W, (3, 1)))
    close(by_w, 3.0 * X)


def test_a_rule_with_variables() -> None:
    variable = tj.Variable(np.array([2.0, 3.0]))

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def rule(dy: Any, variables: Any = None) -> Any:
            return dy * variable * 5.0, [dy * x * 7.0]

        return np.sum(x * variable), rule

    def around(x: Any) -> Any:
        with tj.GradientTape() as tape:
            y = np.sum(tj.vmap(f)(x))
        return tape.gradient(y, variable)

    def inside(x: Any) -> Any:
        with tj.GradientTape() as tape:
            y = f(x)
        return tape.gradient(y, variable)

    close(tj.function(around)(X), 7.0 * np.sum(X, axis=0))
    close(around(tj.constant(X)).numpy(), 7.0 * np.sum(X, axis=0))
    close(tj.vmap(inside)(X), 7.0 * X)
    close(tj.vmap(tj.grad(f))(X), np.tile([10.0, 15.0], (3, 1)))


# The other markers


def test_stopped_and_straight_through() -> None:
    rounded = tj.grad_pass_through(np.round)
    for f, slopes in (
        (lambda x: np.sum(rounded(x) ** 2), 2.0 * np.round(X)),
        (lambda x: np.sum(x * tj.stop_gradient(x)), X),
    ):
        close(tj.vmap(tj.grad(f))(X), slopes)
        close(tj.grad(lambda x, f=f: np.sum(tj.vmap(f)(x)))(X), slopes)
        close(tj.jvp(tj.vmap(f), (X,), (np.ones_like(X),))[1], np.sum(slopes, axis=1))


def test_regions_are_computed_again() -> None:
    def f(x: Any, w: Any) -> Any:
        return np.tanh(np.sin(x) * w) * np.exp(x)

    block = tj.recompute_grad(f)
    slope = tj.grad(lambda x, w: np.sum(f(x, w)))
    each = tj.vmap(tj.grad(lambda x, w: np.sum(block(x, w))), in_axes=(0, None))
    close(each(X, W), rows(lambda x: slope(x, W), X))
    total = tj.grad(lambda w: np.sum(tj.vmap(block, in_axes=(0, None))(X, w)))
    close(total(W), tj.grad(lambda w: np.sum(f(X, w)))(W))
    assert "recomputed" in total.kernel(W).source
    around = tj.recompute_grad(lambda w: tj.vmap(f, in_axes=(0, None))(X, w))
    close(tj.grad(lambda w: np.sum(around(w)))(W), total(W))


def test_regions_draw_once() -> None:
    rng = tj.random.default_rng(0)
    block = tj.recompute_grad(lambda x: np.sin(x * rng.normal(size=2)))
    z = np.random.default_rng(0).normal(size=(3, 2))
    close(tj.grad(lambda x: np.sum(tj.vmap(block)(x)))(X), z * np.cos(X * z))


# Primitives


@tj.primitive
def cube(x: Any) -> Any:
    assert x.ndim == 1
    return np.array([element**3 for element in x])


@tj.register_gradient(cube)
def _(op: Any, dy: Any) -> Any:
    return 3.0 * op.inputs[0] ** 2 * dy


def test_a_primitive_is_called_for_one_element_after_the_other() -> None:
    close(tj.vmap(cube)(X), X**3)
    close(tj.vmap(tj.vmap(cube))(np.stack([X, -X])), np.stack([X, -X]) ** 3)
    close(tj.vmap(tj.grad(lambda x: np.sum(cube(x))))(X), 3.0 * X**2)
    close(tj.grad(lambda x: np.sum(tj.vmap(cube)(x)))(X), 3.0 * X**2)
    close(tj.jvp(tj.vmap(cube), (X,), (X,))[1], 3.0 * X**3)
    close(tj.jacobian(cube)(X[0]), np.diag(3.0 * X[0] ** 2))
    close(tj.vmap(tj.hessian(lambda x: np.sum(cube(x))))(X), rows(lambda x: np.diag(6.0 * x), X))


def test_a_primitive_with_two_results_and_what_is_the_same_for_all() -> None:
    @tj.primitive
    def two(x: Any, w: Any) -> Any:
        return x * w, np.sum(x * w)

    @tj.register_gradient(two)
    def _(op: Any, dy: Any, ds: Any) -> Any:
        x, w = op.inputs
        return (dy + ds) * w, (dy + ds) * x

    def f(x: Any, w: Any, of: Any) -> Any:
        y, s = of(x, w)
        return np.sum(y * y) * s

    def plain(x: Any, w: Any) -> Any:
        return x * w, np.sum(x * w)

    for k in (0, 1):
        found, expected = (
            tj.grad(
                lambda x, w, of=of: np.sum(
                    tj.vmap(lambda x, w: f(x, w, of), in_axes=(0, None))(x, w)
                ),
                k,
            )(X, W)
            for of in (two, plain)
        )
        close(found, expected)


def test_primitives_of_one_name_and_rules_that_come_later() -> None:
    def power(n: int) -> Any:
        return tj.primitive(lambda x: x**n)

    square, fourth = power(2), power(4)
    close(tj.vmap(square)(X), X**2)
    close(tj.vmap(fourth)(X), X**4)
    with pytest.raises(NoGradientError, match="no gradient is known for"):
        tj.grad(lambda x: np.sum(tj.vmap(square)(x)))(X)
    tj.register_gradient(square)(lambda op, dy: 2.0 * op.inputs[0] * dy)
    close(tj.grad(lambda x: np.sum(tj.vmap(square)(x)))(X), 2.0 * X)
    tj.no_gradient(fourth)
    assert not np.any(tj.grad(lambda x: np.sum(tj.vmap(fourth)(x) + 0.0 * x))(X))


# Tapes and transforms


def loss(x: Any) -> Any:
    return np.sum(np.sin(x) * x[::-1])


def test_tapes_inside() -> None:
    def twice(x: Any) -> Any:
        with tj.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = np.sum(x**3)
            slope = tape.gradient(y, x)
        return np.sum(slope * W) + tape.gradient(slope, x)[0]

    def jacobian(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = np.sin(x) * np.sum(x)
        return tape.jacobian(y, x)

    def pushed(x: Any) -> Any:
        with tj.ForwardAccumulator(x, x * 2.0) as accumulator:
            y = loss(x)
        return accumulator.jvp(y)

    close(tj.vmap(twice)(X), np.sum(3.0 * X**2 * W, axis=1) + 6.0 * X[:, 0])
    close(tj.vmap(jacobian)(X), rows(tj.jacobian(lambda x: np.sin(x) * np.sum(x)), X))
    close(tj.vmap(lambda x: tj.gradients(np.sum(x**3), [x])[0])(X), 3.0 * X**2)
    close(tj.vmap(pushed)(X), rows(lambda x: tj.jvp(loss, (x,), (2.0 * x,))[1], X))


def test_tapes_around() -> None:
    def slope(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(tj.vmap(lambda row: np.sum(row) ** 3)(x))
        return tape.gradient(y, x)

    expected = np.repeat(3.0 * np.sum(X, axis=1, keepdims=True) ** 2, 2, axis=1)
    close(slope(tj.constant(X)).numpy(), expected)
    close(tj.function(slope)(X), expected)
    close(tj.vmap(slope)(np.stack([X, X])), np.stack([expected, expected]))


TRANSFORMED: dict[str, Callable[..., Any]] = {
    "grad": tj.grad(loss),
    "value_and_grad": lambda x: np.append(*tj.value_and_grad(loss)(x)[::-1]),
    "jacobian": tj.jacobian(lambda x: np.sin(x) * x[::-1]),
    "jacfwd": tj.jacfwd(lambda x: np.sin(x) * x[::-1]),
    "hessian": tj.hessian(loss),
    "hvp": lambda x: tj.hvp(loss, (x,), (W,))[0],
    "jvp": lambda x: np.stack(tj.jvp(loss, (x,), (W,))),
    "vjp": lambda x: tj.vjp(loss, x)[1](2.0)[0],
    "linearize": lambda x: tj.linearize(loss, x)[1](W),
    "function": tj.function(loss),
    "elementwise_grad": tj.elementwise_grad(np.sin),
    "vmap": tj.vmap(lambda element: np.sin(element) * 2.0),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms_inside(name: str) -> None:
    f = TRANSFORMED[name]
    close(tj.vmap(f)(X), rows(lambda x: np.asarray(f(x)), X))
    both = np.stack([X, X[::-1]])
    close(tj.vmap(tj.vmap(f))(both), rows(lambda x: rows(lambda x: np.asarray(f(x)), x), both))


def test_transforms_around() -> None:
    def mapped(x: Any) -> Any:
        return np.sum(tj.vmap(loss)(x) ** 2)

    def plain(x: Any) -> Any:
        return sum(loss(row) ** 2 for row in x)

    for transform in (tj.grad, tj.hessian, lambda f: lambda x: tj.hvp(f, (x,), (x,))):
        close(transform(mapped)(X), transform(plain)(X))
    close(tj.jacobian(tj.vmap(loss))(X), tj.jacobian(lambda x: np.stack([loss(r) for r in x]))(X))


BUILTINS = {
    "abs": lambda x: abs(x),
    "sum": lambda x: sum(x),
    "sum of several": lambda x: sum([x[0], x[1] * 2.0]),
    "pow": lambda x: pow(x, 3),
    "divmod": lambda x: divmod(x, 0.3)[1],
    "reversed": lambda x: next(reversed(x)),
}


@pytest.mark.parametrize("name", BUILTINS)
def test_functions_of_python(name: str) -> None:
    f = BUILTINS[name]
    close(tj.vmap(f)(X), rows(f, X))


CHOOSING = {
    "np.sort": lambda x: sorted(x)[0],
}


def test_the_extremes_of_python_are_chosen_for_each_element() -> None:
    f = tj.vmap(lambda x: max(x[0], 0.0) + min(x[0], x[1]))
    np.testing.assert_array_equal(f(X), np.maximum(X[:, 0], 0.0) + np.minimum(X[:, 0], X[:, 1]))


def test_any_and_all_of_python_are_those_of_each_element() -> None:
    f = tj.vmap(lambda x: any(x > 0) + 2 * all([x[0] > 0, x[1] > 0]))
    wanted = (X > 0).any(axis=1) + 2 * (X[:, :2] > 0).all(axis=1)
    np.testing.assert_array_equal(f(X), wanted)


@pytest.mark.parametrize("instead", CHOOSING)
def test_functions_of_python_that_choose_are_refused_with_those_of_numpy(instead: str) -> None:
    with pytest.raises(ValueNeededError, match=instead):
        tj.vmap(CHOOSING[instead])(X)
