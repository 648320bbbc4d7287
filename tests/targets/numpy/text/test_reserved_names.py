"""No variable of a module hides a name that it imports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def called_as_its_function(x: Any) -> Any:
    tanh = np.tanh(x)
    return np.tanh(tanh) + tanh


def called_as_a_later_one(x: Any) -> Any:
    exp = x * 2.0
    return np.exp(exp) + exp


def called_as_a_dtype(x: Any) -> Any:
    float32 = x + 1.0
    return float32.astype(np.float32).astype(float) + np.sum(float32)


def called_as_a_number(x: Any) -> Any:
    inf = x + 1.0
    return np.where(inf > 0.0, inf, np.inf)


def called_as_a_loop(x: Any) -> Any:
    each, i = x + 1.0, x - 1.0
    return np.cov(np.stack([each, i])) * np.sum(each * i)


@pytest.mark.parametrize(
    "function",
    [
        called_as_its_function,
        called_as_a_later_one,
        called_as_a_dtype,
        called_as_a_number,
        called_as_a_loop,
    ],
)
def test_variables_that_are_called_as_what_is_imported(function: Callable[[Any], Any]) -> None:
    x = np.linspace(-1.0, 2.0, 5)
    made = tj.function(function, cache=False)
    np.testing.assert_allclose(made(x), function(x), rtol=1e-12)
    slope = tj.grad(tj.function(lambda x: np.sum(function(x)), cache=False))
    assert slope(x).shape == x.shape
