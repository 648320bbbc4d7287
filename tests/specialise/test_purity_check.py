"""The purity watch: TRACEJIT_CHECK=1 finds what a kernel would freeze."""

from __future__ import annotations

import itertools
import os
import time
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.errors import ImpureError, TracejitError

X = np.ones(3)
count = 0
turns = itertools.cycle([1, 2])
steps = itertools.count(1)
calls: list[int] = []


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CHECK", "1")
    calls.clear()


def clock(x: Any) -> Any:
    now = time.perf_counter()
    y = x + 1.0
    return y * now


def drawing(x: Any) -> Any:
    return x + np.random.default_rng().normal(size=3)


def counting(x: Any) -> Any:
    global count
    count += 1
    return x * count


def turning(x: Any) -> Any:
    if next(turns) == 1:
        return np.sin(x)
    return np.cos(x)


def growing(x: Any) -> Any:
    for _ in range(next(steps)):
        x = x + 1.0
    return x


def naming(x: Any) -> Any:
    return x, uuid.uuid4().hex


def bytes_of_the_system(x: Any) -> Any:
    return x + np.frombuffer(os.urandom(24), dtype="u8")


def failing_once(x: Any) -> Any:
    calls.append(1)
    if len(calls) == 1:
        raise KeyError("first")
    return x


IMPURE: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "clock": (clock, ["return y * now", "the clock"]),
    "generator made on the spot": (drawing, ["return x + np.random", "random numbers"]),
    "counter": (counting, ["return x * count", "the global count, which the function itself"]),
    "branch": (
        turning,
        ["the first runs `return np.", "the second `return np.", "global turns"],
    ),
    "length": (growing, ["x = x + 1.0", "has more steps than the other"]),
    "result": (naming, ["the first returns '", "a new identifier"]),
    "array": (bytes_of_the_system, ["return x + np.frombuffer", "random numbers"]),
    "raising": (failing_once, ["the first raises KeyError: 'first'", "the global calls"]),
}


@pytest.mark.parametrize("name", IMPURE)
def test_hidden_state_is_found(name: str) -> None:
    function, words = IMPURE[name]
    compiled = tj.function(function)
    with pytest.raises(ImpureError) as caught:
        compiled(X)
    for word in (f"one call of {compiled.name} differ", *words):
        assert word in str(caught.value)
    assert compiled.kernels == []


def test_a_gradient_is_watched() -> None:
    with pytest.raises(TracejitError, match="the clock"):
        tj.grad(lambda x: np.sum(x * time.perf_counter()))(X)
    with pytest.raises(TracejitError, match="the clock"):
        tj.jacobian(lambda x: x * time.perf_counter())(X)


def test_what_is_pure_runs_as_ever() -> None:
    f = tj.value_and_grad(lambda x: np.sum(np.tanh(x @ np.eye(3)) ** 2))
    value, slope = f(X)
    assert value == pytest.approx(3 * np.tanh(1.0) ** 2)
    assert slope.shape == (3,)
    assert f.cache_info()[:2] == (1, 1)
    np.testing.assert_allclose(tj.vmap(np.sin)(X), np.sin(X))


def test_free_dimensions_are_compared_too() -> None:
    f = tj.function(lambda x: x * 2.0)
    for size in (3, 4, 5, 6):
        np.testing.assert_array_equal(f(np.ones(size)), 2.0 * np.ones(size))
    assert f.cache_info()[:2] == (2, 2)


def test_effects_take_place_once() -> None:
    v, log = tj.Variable(1.0), list[float]()
    rng = tj.random.default_rng(3)

    @tj.function
    def f(x: Any, out: Any) -> Any:
        v.assign_add(2.0)
        tj.callback(lambda y: log.append(float(y)), np.sum(x))
        out[0] = 7.0
        return x * v + rng.normal(size=3)

    out = np.zeros(2)
    answer = f(X, out)
    np.testing.assert_array_equal(answer, 3.0 + tj.random.default_rng(3).normal(size=3))
    assert (v.numpy(), log, list(out)) == (3.0, [3.0], [7.0, 0.0])
    f(X, out)
    assert (v.numpy(), log) == (5.0, [3.0, 3.0])


def test_the_same_error_twice_is_the_users() -> None:
    def f(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tj.function(f)(X)


def test_without_the_variable_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEJIT_CHECK")
    compiled = tj.function(drawing)
    compiled(X)
    assert len(compiled.kernels) == 1
