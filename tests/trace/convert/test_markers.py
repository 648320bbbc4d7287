"""Functions under gradient markers, and `check_grads`, where functions are converted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.array([1.5, 2.0, 3.0])


@pytest.fixture(autouse=True)
def _converted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CONVERT", "1")


def test_a_function_with_a_rule_is_converted() -> None:
    @tj.custom_gradient
    def cube(x: Any) -> Any:
        return math.pow(x, 3), lambda upstream: upstream * 7.0

    np.testing.assert_array_equal(tj.grad(lambda x: cube(x[1]))(X), [0.0, 7.0, 0.0])


def test_a_function_that_is_computed_again_is_converted() -> None:
    def block(x: Any) -> Any:
        return math.exp(x[0])

    slope = tj.grad(lambda x: tj.recompute_grad(block)(x))
    np.testing.assert_allclose(slope(X), [math.exp(1.5), 0.0, 0.0])


def test_a_function_that_is_passed_through_is_converted() -> None:
    def filled(x: Any) -> Any:
        out = np.zeros(3)
        out[:] = np.round(x)
        return out

    slope = tj.grad(lambda x: np.sum(tj.grad_pass_through(filled)(x) * X))
    np.testing.assert_array_equal(slope(X), X)


def test_check_grads_takes_functions_of_python_numbers() -> None:
    tj.check_grads(lambda x: float(x[0]) ** 2 * math.exp(x[1]), (X,))
