"""Gradient rules in forward mode, over a table: what is linear is transposed, the rest is refused,
and every way to ask for the tangent has the same answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tracejit.support.errors import RuleTypeError

X, V = np.array([1.0, 2.0]), np.array([1.0, 10.0])
ZEROS, ONES = np.zeros(2), np.ones(2)
ZERO_TENSOR, ZERO_VARIABLE = tj.constant(ZEROS), tj.Variable(ZEROS)
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]])

Rule = Callable[[Any], Any]


def clipped(u: Any) -> Any:
    """One that decides."""
    return u / np.linalg.norm(u) if (np.linalg.norm(u) > 0.5).__bool__() else u


def halved(u: Any) -> Any:
    """One that decides again and again."""
    while np.linalg.norm(u) > 0.5:
        u = u / 2.0
    return u


@tj.function
def turned(u: Any) -> Any:
    return 2.0 * u[::-1]


# A rule, and the matrix that it is.
LINEAR: dict[str, tuple[Rule, Any]] = {
    "scaled": (lambda u: 3.0 * u, 3.0 * np.eye(2)),
    "matrix": (lambda u: MATRIX.T @ u, MATRIX),
    "where": (lambda u: np.where(X > 1.5, u, 0.0), np.diag([0.0, 1.0])),
    "fresh zeros": (lambda u: np.where(X > 1.5, u, np.zeros(2)), np.diag([0.0, 1.0])),
    "zeros like": (lambda u: np.where(X > 1.5, u, np.zeros_like(u)), np.diag([0.0, 1.0])),
    "function": (lambda u: turned(u), 2.0 * np.eye(2)[::-1]),
    "recomputed": (lambda u: tj.recompute_grad(lambda w: 3.0 * w)(u), 3.0 * np.eye(2)),
    "recomputed function": (lambda u: tj.recompute_grad(turned)(u), 2.0 * np.eye(2)[::-1]),
    "function that recomputes": (
        lambda u: tj.function(lambda w: tj.recompute_grad(turned)(w))(u),
        2.0 * np.eye(2)[::-1],
    ),
    "function of two": (lambda u: tj.function(lambda a, b: a + b)(u, 2.0 * u), 3.0 * np.eye(2)),
    "product": (lambda u: tj.function(lambda a, b: a @ b)(MATRIX.T, u), MATRIX),
    "stopped": (lambda u: u + tj.stop_gradient(u), 2.0 * np.eye(2)),
    "zero": (lambda u: np.zeros_like(u), np.zeros((2, 2))),
    "zero array": (lambda u: np.zeros(2), np.zeros((2, 2))),
    "zero number": (lambda u: 0.0, np.zeros((2, 2))),
}
# A rule that is not linear, or not for all data.
OTHERS: dict[str, Rule] = {
    "if": clipped,
    "while": halved,
    "int": lambda u: u * int(np.sum(u) + 1.0),
    "float": lambda u: u * float(np.tanh(u[0])),
    "sorted": lambda u: u * (1.0 if sorted([u[0], u[1]])[0] is u[0] else 2.0),
    "item": lambda u: u * [1.0, 2.0][np.argmax(u)],
    "numpy": lambda u: u * np.sign(u.numpy()),
    "stopped decision": lambda u: u if tj.stop_gradient(np.sum(u)) > 0.5 else 2.0 * u,
    "stopped factor": lambda u: u * tj.stop_gradient(np.sign(u)),
    "function that decides": lambda u: tj.function(clipped)(u),
    "recomputed that decides": lambda u: tj.recompute_grad(clipped)(u),
    "recomputed function that decides": lambda u: tj.recompute_grad(tj.function(halved))(u),
    "function not linear": lambda u: tj.function(np.tanh)(u),
    "recomputed not linear": lambda u: tj.recompute_grad(np.tanh)(u),
    "function with a constant": lambda u: tj.function(lambda w: w + 1.0)(u),
    "function of zeros": lambda u: tj.function(lambda a, b: a + b)(u, ZEROS),
    "zeros captured": lambda u: u + ZEROS,
    "ones captured": lambda u: u + ONES,
    "zeros in a Tensor": lambda u: u + ZERO_TENSOR,
    "zeros in a Variable": lambda u: u + ZERO_VARIABLE,
    "zeros computed": lambda u: u + np.sum(ZERO_TENSOR),
}


def with_rule(rule: Rule) -> Any:
    """2 x, whose gradient is the rule."""
    return tj.custom_gradient(lambda x: (2.0 * x, lambda u: rule(u)))


def registered(rule: Rule) -> Any:
    """A primitive, whose registered gradient is the rule."""
    twice = tj.primitive(lambda x: 2.0 * x)
    tj.register_gradient(twice)(lambda op, u: rule(u))
    return twice


def accumulated(f: Any) -> Any:
    """The tangent that an accumulator around `f` answers."""
    x = tj.constant(X)
    with tj.ForwardAccumulator(x, tj.constant(V)) as accumulator:
        y = f(x)
    found = accumulator.jvp(y)
    return None if found is None else found.numpy()


def accumulated_inside(f: Any) -> Any:
    """The same within a recorded function."""

    @tj.function
    def inside(x: Any) -> Any:
        with tj.ForwardAccumulator(x, V) as accumulator:
            y = f(x)
        found = accumulator.jvp(y)
        assert found is not None
        return found

    return inside(X)


WAYS: dict[str, Callable[[Any], Any]] = {
    "jvp": lambda f: tj.jvp(f, (X,), (V,))[1],
    "linearize": lambda f: tj.linearize(f, X)[1](V),
    "jacfwd": lambda f: tj.jacfwd(f)(X) @ V,
    "deriv": lambda f: tj.deriv(lambda t: f(X + t * V))(0.0),
    "eager": accumulated,
    "around": lambda f: accumulated(tj.function(lambda x: f(x))),
    "inside": accumulated_inside,
    "recomputed": lambda f: accumulated(tj.recompute_grad(lambda x: f(x))),
    "recomputed around": lambda f: accumulated(tj.recompute_grad(tj.function(lambda x: f(x)))),
}


@pytest.mark.parametrize("made", [with_rule, registered])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", some_by_day(LINEAR, 3))
def test_a_linear_rule_is_transposed(name: str, way: str, made: Any) -> None:
    rule, matrix = LINEAR[name]
    found = WAYS[way](made(rule))
    assert found is not None
    np.testing.assert_allclose(found, matrix @ V, rtol=1e-14)


@pytest.mark.parametrize("made", [with_rule, registered])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", some_by_day(OTHERS, 3))
def test_any_other_rule_is_refused(name: str, way: str, made: Any) -> None:
    with pytest.raises(RuleTypeError, match="is not linear in its cotangent"):
        WAYS[way](made(OTHERS[name]))


def test_a_rule_that_catches_the_refusal_is_refused_all_the_same() -> None:
    def rule(u: Any) -> Any:
        try:
            return clipped(u)
        except TypeError:
            return 3.0 * u

    for way in WAYS.values():
        with pytest.raises(RuleTypeError, match="asks for its value"):
            way(with_rule(rule))


def test_a_rule_may_decide_by_what_is_no_cotangent() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return 2.0 * x, lambda u: 3.0 * u if np.sum(x) > 1.0 else u

    for name, way in WAYS.items():
        np.testing.assert_allclose(way(f), 3.0 * V, err_msg=name)


def test_nothing_of_a_rule_that_answers_none_moves() -> None:
    for name in ("eager", "around", "recomputed", "recomputed around"):
        assert WAYS[name](with_rule(lambda u: None)) is None, name


# Second order, where a rule decides: reverse over reverse


def loss(rule: Rule) -> Callable[[Any], Any]:
    f = with_rule(rule)
    return lambda x: np.sum(f(x**2) ** 2)


def row_by_row(rule: Rule) -> Any:
    """The Hessian by tapes, eagerly."""
    rows = []
    for unit in np.eye(2):
        x = tj.constant(X)
        with tj.GradientTape() as outer:
            outer.watch(x)
            with tj.GradientTape() as inner:
                inner.watch(x)
                y = loss(rule)(x)
            slope = inner.gradient(y, x)
        rows.append(outer.gradient(slope, x, output_gradients=unit).numpy())
    return np.stack(rows)


@pytest.mark.parametrize("name", ["if", "while", "int", "sorted", "item"])
def test_jacobian_and_hessian_go_in_reverse_row_by_row(name: str) -> None:
    rule = OTHERS[name]
    expected = np.stack([np.asarray(rule(unit)) for unit in np.eye(2)])
    for transform in (tj.jacobian, tj.jacrev):
        np.testing.assert_allclose(transform(with_rule(rule))(X), expected, rtol=1e-14)
    if name not in ("int",):  # a tape refuses int(u)
        np.testing.assert_allclose(tj.hessian(loss(rule))(X), row_by_row(rule), rtol=1e-13)


def test_too_many_rows_for_that_are_refused() -> None:
    with pytest.raises(tj.errors.ValueNeededError):
        tj.jacobian(with_rule(clipped))(np.ones(200))
