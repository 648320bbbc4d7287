"""`grad` and `value_and_grad` as users call them: arguments, results, orders, dtypes, complex."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize

import tracejit as tj
from tests.programs import assert_same
from tracejit.errors import GradientError


@pytest.fixture(autouse=True)
def no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels stay in memory."""
    monkeypatch.setenv("TRACEJIT_CACHE", "0")


X = np.array([[1.0, -2.0, 3.5], [0.25, 0.5, -0.75]])
W = np.array([2.0, -0.5, 4.0])


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Layer:
    w: Any
    b: Any


def close(found: Any, expected: Any, relative: float = 1e-13) -> None:
    """The same to rounding, in shape and dtype exactly."""
    assert np.shape(found) == np.shape(expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected, rtol=relative, atol=1e-14)


# Which arguments, and in which form the answer comes


def product(x: Any, w: Any, k: Any = 2.0) -> Any:
    return np.sum(x @ w) * k


X_BAR, W_BAR, K_BAR = 2.0 * np.stack([W, W]), 2.0 * X.sum(0), np.sum(X @ W)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, X_BAR),
        ({"argnums": 0}, X_BAR),
        ({"argnums": 1}, W_BAR),
        ({"argnums": (1,)}, (W_BAR,)),
        ({"argnums": (0, 1)}, (X_BAR, W_BAR)),
        ({"argnums": (1, 0)}, (W_BAR, X_BAR)),
        ({"argnums": (1, 1)}, (W_BAR, W_BAR)),
        ({"argnums": -2}, W_BAR),
        ({"argnums": [0, 1]}, (X_BAR, W_BAR)),
        ({"argnums": (0, 1, 2)}, (X_BAR, W_BAR, K_BAR)),
        ({"argnames": "w"}, W_BAR),
        ({"argnames": ("w",)}, (W_BAR,)),
        ({"argnames": ("w", "x")}, (W_BAR, X_BAR)),
        ({"argnames": ["k"]}, (K_BAR,)),
        ({"argnums": (0,), "argnames": "w"}, (X_BAR, W_BAR)),
    ],
    ids=str,
)
def test_argnums_and_argnames_choose_arguments(options: Any, expected: Any) -> None:
    for call in ((X, W), (X, W, 2.0)):
        found = tj.grad(product, **options)(*call)
        value, same = tj.value_and_grad(product, **options)(*call)
        assert_same(value, product(*call))
        assert type(found) is type(same) is type(expected)
        pairs = zip(found, expected, strict=True) if type(found) is tuple else [(found, expected)]
        for one, other in pairs:
            close(one, other)
        assert repr(found) == repr(same)


def test_arguments_may_be_passed_by_name() -> None:
    slope = tj.grad(product, argnums=(0, 1))
    for found in (slope(X, W), slope(X, w=W), slope(w=W, x=X)):
        close(found[0], X_BAR)
        close(found[1], W_BAR)
    assert len(slope.kernels) == 1


def test_every_kind_of_parameter_can_be_differentiated() -> None:
    def f(a: Any, /, *rest: Any, c: Any = 1.0, **more: Any) -> Any:
        return np.sum(a) * rest[1] * c * more["d"]

    call: Any = {"d": 7.0, "c": 5.0}
    for options, expected in (
        ({"argnums": 0}, np.full(3, 105.0)),
        ({"argnums": 2}, np.float64(210.0)),
        ({"argnames": "c"}, np.float64(126.0)),
        ({"argnames": "d"}, np.float64(90.0)),
    ):
        close(tj.grad(f, **options)(np.full(3, 1.0), 2.0, 3.0, **call) / 1.0,
              expected if expected.shape else expected * 105.0 / 105.0 * 315.0 / 315.0
              if False else derivative_of_f(options))  # fmt: skip


def derivative_of_f(options: Any) -> Any:
    """sum(a) * rest1 * c * d at a = ones(3), rest1 = 3, c = 5, d = 7."""
    if options == {"argnums": 0}:
        return np.full(3, 3.0 * 5.0 * 7.0)
    factors = {"rest": 3.0, "c": 5.0, "d": 7.0}
    name = options.get("argnames", "rest")
    return np.float64(3.0 * np.prod([v for k, v in factors.items() if k != name]))
