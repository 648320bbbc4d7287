"""Calls of NumPy, SciPy and `math` under their own names, where functions are converted."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from scipy.special import gammaln

import tracejit as tj
from tracejit.trace.convert.routes import MATH

X = np.array([1.5, 2.0, 3.0])
SCALE = 2.0


def array_of_elements(x: Any) -> Any:
    return np.sum(np.array([x[0], x[1] * 2]))


def asarray(x: Any) -> Any:
    return np.sum(np.asarray(x) ** 2)


def zeros_filled(x: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(3):
        out[i] = x[i] * i
    return np.sum(out)


def mean_of_a_list(x: Any) -> Any:
    return np.mean([x[0], x[1]])


def maximum_of_a_list(x: Any) -> Any:
    return np.sum(np.maximum([x[0], x[1]], 1.7))


def functions_of_math(x: Any) -> Any:
    return math.exp(x[0]) + math.log(x[1], 2.0) + math.log(x[2]) + math.atan2(x[0], x[1])


def math_of_numbers(x: Any) -> Any:
    return x[0] * math.sqrt(SCALE) * math.floor(2.5)


def inverse(x: Any) -> Any:
    return np.sum(scipy.linalg.inv(np.diag(x)))


def special(x: Any) -> Any:
    return np.sum(scipy.special.gammaln(x)) + gammaln(x[0])


def _helper(y: Any) -> Any:
    return np.array([y, y**2])


def helper(x: Any) -> Any:
    return np.sum(_helper(x[0]))


def inner_functions(x: Any) -> Any:
    def square(y: Any) -> Any:
        return math.pow(y, 2.0)

    return sum(map(lambda f: f(x[1]), [square])) * square(x[0])


class Model:
    def __init__(self, w: float) -> None:
        self.w = w

    def loss(self, x: Any) -> Any:
        return np.sum(np.array([self.w * x[0], self.half(x[1])]))

    @staticmethod
    def half(y: Any) -> Any:
        return np.asarray(y) / 2.0


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        array_of_elements, asarray, zeros_filled, mean_of_a_list, maximum_of_a_list,
        functions_of_math, math_of_numbers, inverse, special, helper,
    )
} | {"method": Model(3.0).loss, "partial": functools.partial(Model.loss, Model(2.0))}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_idioms_have_their_values_and_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CONVERT", "1")
    function = FUNCTIONS[name]
    value, slope = tj.value_and_grad(function)(X)
    assert value == pytest.approx(function(X), rel=1e-14)
    steps = 1e-6 * np.eye(3)
    expected = [(function(X + step) - function(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-8)


def test_what_wraps_a_function_of_numpy_is_called_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CONVERT", "1")
    slope = tj.function(lambda x: tj.elementwise_grad(np.sin)(x))(X)
    np.testing.assert_allclose(slope, np.cos(X), rtol=1e-14)


def test_calls_are_not_routed_without_the_switch() -> None:
    with pytest.raises(tj.TracejitError):
        tj.grad(asarray)(X)


@pytest.mark.parametrize("function", MATH, ids=lambda one: one.__name__)
def test_functions_of_math_are_the_ufuncs(function: Any) -> None:
    arguments = [0.3, 0.7][: 2 if function in (math.atan2, math.hypot, math.pow) else 1]
    if function is math.acosh:
        arguments = [1.3]
    recorded = MATH[function].__wrapped__
    assert recorded is function
    assert MATH[function](*arguments) == function(*arguments)
