"""Transforms and markers in one another: every pair and triple, in both orders, on three
functions of an array, against derivatives that are known as formulas.

Every transform turns a function from arrays to arrays of the same shape into another such function,
whose value is a formula in the derivatives of the first. A function here keeps elements apart, so
that it is known by its derivatives of every order, and so is what a transform makes of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day

X = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]])
V = np.array([[1.0, 0.5, -2.0], [0.25, -1.0, 0.75]])

Series = Callable[[int, Any], Any]


class Known(NamedTuple):
    """A function of arrays, and its derivatives: derivative(n, x), elementwise."""

    function: Callable[[Any], Any]
    derivative: Series


def cubic(n: int, x: Any) -> Any:
    """The derivatives of x ** 3 - 2 * x."""
    orders = [x**3 - 2.0 * x, 3.0 * x**2 - 2.0, 6.0 * x, 6.0 + 0.0 * x]
    return orders[n] if n < 4 else 0.0 * x


FUNCTIONS = {
    "sine": Known(np.sin, lambda n, x: np.sin(x + n * np.pi / 2)),
    "exponential": Known(lambda x: np.exp(0.5 * x), lambda n, x: 0.5**n * np.exp(0.5 * x)),
    "cubic": Known(lambda x: x**3 - 2.0 * x, cubic),
}


# Transforms: a known function to a known function


def by_grad(f: Known) -> Known:
    """The gradient of the sum."""
    return Known(tj.grad(lambda x: np.sum(f.function(x))), raised(f))


def raised(f: Known) -> Series:
    """The derivatives of the derivative."""
    return lambda n, x: f.derivative(n + 1, x)


def by_jvp(f: Known) -> Known:
    """The derivative along ones."""
    return Known(lambda x: tj.jvp(f.function, (x,), (np.ones_like(x),))[1], raised(f))


def by_vjp(f: Known) -> Known:
    """Pulled back from ones."""
    return Known(lambda x: tj.vjp(f.function, x)[1](np.ones_like(x))[0], raised(f))


def by_jacobian(f: Known) -> Known:
    """The sum of the rows of the Jacobian, which is diagonal."""

    def summed(x: Any) -> Any:
        return np.sum(tj.jacobian(f.function)(x), axis=tuple(range(np.ndim(x))))

    return Known(summed, raised(f))


def by_vmap(f: Known) -> Known:
    """For each row, where there are rows."""

    def mapped(x: Any) -> Any:
        return tj.vmap(f.function)(x) if np.ndim(x) else f.function(x)

    return Known(mapped, f.derivative)


def by_function(f: Known) -> Known:
    """Compiled."""
    return Known(tj.function(f.function), f.derivative)


def by_tape(f: Known) -> Known:
    """The gradient of the sum by a tape."""

    def taped(x: Any) -> Any:
        x = x if isinstance(x, tj.Tensor) else tj.constant(x)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(f.function(x))
        return tape.gradient(y, x, unconnected_gradients="zero")

    return Known(taped, raised(f))


def by_stop_gradient(f: Known) -> Known:
    """Half of it stopped: the derivatives are half as large."""
    return Known(
        lambda x: (f.function(x) + tj.stop_gradient(f.function(x))) / 2.0,
        lambda n, x: f.derivative(n, x) / (2.0 if n else 1.0),
    )


def by_recompute_grad(f: Known) -> Known:
    """Computed again on the way back."""
    return Known(lambda x: tj.recompute_grad(f.function)(x), f.derivative)


def by_custom_gradient(f: Known) -> Known:
    """By a rule that answers three times the derivative."""

    @tj.custom_gradient
    def ruled(x: Any) -> Any:
        def rule(upstream: Any) -> Any:
            return 3.0 * tj.vjp(f.function, x)[1](upstream)[0]

        return f.function(x), rule

    return Known(ruled, lambda n, x: f.derivative(n, x) * (3.0 if n else 1.0))


TRANSFORMS: dict[str, Callable[[Known], Known]] = {
    "grad": by_grad,
    "jvp": by_jvp,
    "vjp": by_vjp,
    "vmap": by_vmap,
    "jacobian": by_jacobian,
    "function": by_function,
    "tape": by_tape,
    "stop_gradient": by_stop_gradient,
    "recompute_grad": by_recompute_grad,
    "custom_gradient": by_custom_gradient,
}
PAIRS = list(itertools.product(TRANSFORMS, repeat=2))
TRIPLES = list(itertools.product(TRANSFORMS, repeat=3))


def check(names: tuple[str, ...], function: str) -> None:
    """The transforms of these names, the last innermost, of a function."""
    known = FUNCTIONS[function]
    for name in reversed(names):
        known = TRANSFORMS[name](known)
    found = known.function(X)
    found = found.numpy() if isinstance(found, tj.Tensor) else found
    expected = known.derivative(0, X)
    label = f"{' of '.join(names)} of {function}"
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=label)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype), label


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("names", some_by_day(PAIRS, 2), ids=" of ".join)
def test_pairs(names: tuple[str, ...], function: str) -> None:
    check(names, function)


@pytest.mark.parametrize("names", some_by_day(PAIRS, 5), ids=" of ".join)
def test_triples(names: tuple[str, ...]) -> None:
    """Every pair with a third of all transforms inside, each on one of the functions."""
    functions = list(FUNCTIONS)
    first = PAIRS.index(names)
    for number, inside in enumerate(TRANSFORMS):
        if (first + number) % 3 == 0:
            check((*names, inside), functions[(first // 3 + number) % len(functions)])


@pytest.mark.nightly
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("names", TRIPLES, ids=" of ".join)
def test_triples_of_every_function(names: tuple[str, ...], function: str) -> None:
    check(names, function)
