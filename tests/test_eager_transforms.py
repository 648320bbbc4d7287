"""Transforms of functions that no kernel can hold: more ways than `max_paths`, errors of NumPy's
that the function catches. They have an eager form, with the same answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tracejit.support.errors import RuleTypeError

V = np.array([1.0, -0.5, 2.0, 0.25])


def by_sign(x: Any) -> Any:
    """x**3 of what is positive and 2 x**2 of what is not, added up."""
    total = 0.0
    for element in x:
        total = total + (element**3 if element > 0 else 2.0 * element**2)
    return total


def by_error(x: Any) -> Any:
    """x**3 added up where all are positive, else 2 x**2."""
    try:
        np.linalg.cholesky(np.diag(x))
        return np.sum(x**3)
    except np.linalg.LinAlgError:
        return np.sum(2.0 * x**2)


def orders(f: Any, x: np.ndarray) -> tuple[Any, Any, Any]:
    """The value, the gradient and the diagonal of the Hessian."""
    cubic = x > 0 if f is by_sign else np.full(4, bool(np.all(x > 0)))
    value = np.sum(np.where(cubic, x**3, 2.0 * x**2))
    return value, np.where(cubic, 3.0 * x**2, 4.0 * x), np.where(cubic, 6.0 * x, 4.0)


def made(transform: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A transform that makes a function, which is made once for each function."""
    functions: dict[Any, Any] = {}

    def call(f: Any, x: Any) -> Any:
        if f not in functions:
            functions[f] = transform(f)
        return functions[f](x)

    return call


# Each transform, and its answer from the value, the gradient and the diagonal of the Hessian.
TRANSFORMS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any, Any], Any]]] = {
    "jvp": (lambda f, x: tj.jvp(f, (x,), (V,)), lambda y, g, h: (y, g @ V)),
    "hvp": (lambda f, x: tj.hvp(f, x, V), lambda y, g, h: h * V),
    "vjp": (lambda f, x: tj.vjp(f, x)[1](2.0)[0], lambda y, g, h: 2.0 * g),
    "linearize": (lambda f, x: tj.linearize(f, x)[1](V), lambda y, g, h: g @ V),
    "grad": (made(tj.grad), lambda y, g, h: g),
    "jacobian": (made(tj.jacobian), lambda y, g, h: g),
    "jacfwd": (made(tj.jacfwd), lambda y, g, h: g),
    "jacrev": (made(tj.jacrev), lambda y, g, h: g),
    "hessian": (made(tj.hessian), lambda y, g, h: np.diag(h)),
    "hessian by rows": (made(lambda f: tj.jacrev(tj.grad(f))), lambda y, g, h: np.diag(h)),
    "elementwise_grad": (
        made(lambda f: tj.elementwise_grad(lambda x: f(x) * np.ones(4))),
        lambda y, g, h: 4.0 * g,
    ),
    "deriv": (
        made(lambda f: lambda x: tj.deriv(lambda t: f(x + t * V))(0.0)),
        lambda y, g, h: g @ V,
    ),
    "jvp of grad": (
        lambda f, x: tj.jvp(made_grad(f), (x,), (V,)),
        lambda y, g, h: (g, h * V),
    ),
}

_gradients: dict[Any, Any] = {}


def made_grad(f: Any) -> Any:
    """The gradient of `f`, always the same function."""
    return _gradients.setdefault(f, tj.grad(f))


def points(count: int) -> list[np.ndarray]:
    """Points of all signs, all positive ones among them."""
    rng = np.random.default_rng(5)
    drawn = rng.uniform(0.2, 2.0, size=(count, 4))
    signs = np.where(rng.random((count, 4)) < 0.5, -1.0, 1.0)
    signs[::3] = 1.0
    return list(drawn * signs)


@pytest.mark.parametrize("on_tensors", [False, True])
@pytest.mark.parametrize("python", [by_sign, by_error])
@pytest.mark.parametrize("name", some_by_day(TRANSFORMS, 6))
def test_a_transform_answers_beyond_its_kernels(name: str, python: Any, on_tensors: bool) -> None:
    transform, expected = TRANSFORMS[name]
    f = tj.function(lambda x: python(x), max_paths=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in points(7):
            found = transform(f, tj.constant(x) if on_tensors else x.copy())
            wanted = expected(*orders(python, x))
            pairs = zip(found, wanted, strict=True) if type(wanted) is tuple else [(found, wanted)]
            for one, other in pairs:
                if name != "deriv":  # by a Python float
                    assert issubclass(type(one), tj.Tensor) == on_tensors
                assert one.shape == np.shape(other)
                np.testing.assert_allclose(np.asarray(one), other, rtol=1e-12, atol=1e-12)


def test_a_rule_that_is_not_linear_is_refused_there_too() -> None:
    @tj.custom_gradient
    def clipped(x: Any) -> Any:
        return 2.0 * x, lambda dy: np.clip(dy, -1.0, 1.0)

    f = tj.function(lambda x: clipped(by_error(x)), max_paths=2)
    for x in (np.ones(4), -np.ones(4)):
        with pytest.raises(RuleTypeError, match="not linear"):
            tj.jvp(f, (x,), (V,))
        assert tj.jacobian(f)(x).shape == (4,)


def test_an_array_that_is_an_argument_stays_writable_and_as_it_was() -> None:
    f = tj.function(by_error, max_paths=2)
    x = -np.ones(4)
    tj.jvp(f, (x,), (V,))
    assert x.flags.writeable
    np.testing.assert_array_equal(x, -np.ones(4))
