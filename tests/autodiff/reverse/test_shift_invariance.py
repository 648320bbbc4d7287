"""A maximum that is subtracted and has no effect hands no cotangent on; every other does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import record
from tracejit.autodiff.reverse.shift_invariance import followers_of, has_no_effect
from tracejit.ir.graph import Graph


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def softmax_by_index(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1)[:, None])
    return e / e.sum(1)[:, np.newaxis]


def log_sum_exp(x: Any) -> Any:
    m = x.max(axis=1)
    return m + np.log(np.sum(np.exp(x - np.expand_dims(m, 1)), axis=1))


def log_sum_exp_by_index(x: Any) -> Any:
    m = np.max(x, axis=1, keepdims=True)
    return m[:, 0] + np.log(np.sum(np.exp(x - m), axis=1))


def log_sum_exp_of_all(x: Any) -> Any:
    m = np.max(x)
    return np.log(np.sum(np.exp(x - m))) + m


def log_softmax(x: Any) -> Any:
    x = x - np.max(x, axis=0)
    return x - np.log(np.sum(np.exp(x), axis=0))


def softmin(x: Any) -> Any:
    e = np.exp(-(x - np.min(x, axis=1, keepdims=True)))
    return (e / np.sum(e, axis=1, keepdims=True)).T


def tempered(x: Any) -> Any:
    m = np.max(x, axis=1, keepdims=True)
    return m / 2.0 + np.log(np.sum(np.exp(0.5 * (x - m)), axis=1, keepdims=True))


def attention(x: Any) -> Any:
    x = np.broadcast_to(x, (2, *x.shape))
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.transpose(e, (0, 2, 1)) / np.reshape(np.sum(e, axis=-1), (2, 1, -1))


def beside_the_mask(x: Any) -> Any:
    m = np.max(x, axis=1, keepdims=True)
    return np.where(x == m, 1.0, softmax(x))


WITHOUT = (
    softmax, softmax_by_index, log_sum_exp, log_sum_exp_by_index, log_sum_exp_of_all, log_softmax,
    softmin, tempered, attention, beside_the_mask,
)  # fmt: skip

WITH: dict[str, Callable[[Any], Any]] = {
    "alone": lambda x: np.max(x, axis=1),
    "subtracted": lambda x: x - np.max(x, axis=1, keepdims=True),
    "the exponential": lambda x: np.exp(x - np.max(x, axis=1, keepdims=True)),
    "a square": lambda x: (x - np.max(x, axis=1, keepdims=True)) ** 2,
    "along another axis": lambda x: np.sum(np.exp(x - np.max(x, axis=1, keepdims=True)), axis=0),
    "twice as much": lambda x: log_sum_exp(x) + np.max(x, axis=1),
    "half as much": lambda x: 0.5 * np.max(x) + np.log(np.sum(np.exp(x - np.max(x)))),
    "times the operand": lambda x: np.exp(x * np.max(x)) / np.sum(np.exp(x * np.max(x))),
    "a sum with what stays": lambda x: np.log(1.0 + np.sum(np.exp(x - np.max(x)))) + np.max(x),
    "of what shifts alike": lambda x: np.exp(x - np.max(x)) + (x - np.max(x)),
    "over what shifts": lambda x: np.exp(x - np.max(x)) / (x - np.max(x) + 1.0),
    "of the first row": lambda x: np.max(x, axis=1)[0] + np.log(np.sum(np.exp(x - np.max(x)))),
    "one for all": lambda x: x - np.max(x, axis=1)[2] + np.max(x, axis=1, keepdims=True),
    "turned around": lambda x: x[:4] - np.max(x[:4], axis=1) + np.max(x[:4], axis=1)[:, None],
}


def effects(call: Callable[[Any], Any], x: Any) -> list[bool]:
    """Whether the results depend on each maximum or minimum."""
    graph: Graph = record(call, x)[0]
    followers = followers_of(graph.nodes)
    return [
        not has_no_effect(node, followers, graph.outputs)
        for node in graph.nodes
        if node.op.name in ("max", "min")
    ]


def directional(call: Callable[[Any], Any], x: Any, v: Any) -> float:
    """The derivative of the sum of weighted results along v, by differences."""

    def loss(x: Any) -> Any:
        result = call(x)
        return np.sum(result * np.cos(np.arange(result.size)).reshape(result.shape))

    h = 1e-5
    return (
        8 * (loss(x + h * v) - loss(x - h * v)) - (loss(x + 2 * h * v) - loss(x - 2 * h * v))
    ) / (12 * h)


def assert_right(call: Callable[[Any], Any]) -> str:
    """The gradient is right; the source of the kernel."""

    def loss(x: Any) -> Any:
        result = call(x)
        return np.sum(result * np.cos(np.arange(result.size)).reshape(result.shape))

    rng = np.random.default_rng(1)
    x, v = rng.normal(size=(2, 5, 4))
    gradient = tj.grad(loss)
    assert np.sum(gradient(x) * v) == pytest.approx(directional(call, x, v), rel=1e-7, abs=1e-9)
    return gradient.kernel(x).source


@pytest.mark.parametrize("call", WITHOUT)
def test_no_effect(call: Callable[[Any], Any]) -> None:
    x = np.random.default_rng(0).normal(size=(5, 4))
    assert not any(effects(call, x))
    if call is not beside_the_mask:
        assert "==" not in assert_right(call)


@pytest.mark.parametrize("call", WITH.values(), ids=WITH)
def test_an_effect(call: Callable[[Any], Any]) -> None:
    x = np.random.default_rng(0).normal(size=(5, 4))
    assert any(effects(call, x))
    assert "==" in assert_right(call)


def test_far_and_infinite_values() -> None:
    """What is nan or infinite stays so; numbers are right however far apart."""
    gradient = tj.grad(lambda x: np.sum(log_sum_exp(x)))
    x = np.array([[1e300, 1e300, -1e300], [-np.inf, 0.0, 0.0], [1e-300, 0.0, -0.0]])
    third = np.full(3, 1.0 / 3.0)
    expected = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], third]
    np.testing.assert_allclose(gradient(x), expected, rtol=1e-15)
    for bad in (np.nan, np.inf):
        x[0, 0] = bad
        with np.errstate(invalid="ignore"):
            found = gradient(x)
        assert np.isnan(found[0]).all()
        np.testing.assert_allclose(found[1:], expected[1:], rtol=1e-15)


def test_a_result_on_the_way_is_an_effect() -> None:
    def parts(x: Any) -> Any:
        e = np.exp(x - np.max(x))
        return e / np.sum(e), e

    x = np.random.default_rng(0).normal(size=5)
    assert effects(parts, x) == [True]
    with tj.GradientTape() as tape:
        tape.watch(watched := tj.constant(x))
        _, e = parts(watched)
    assert np.argmax(x) == np.argmin(tape.gradient(e, watched).numpy())


def test_the_maximum_itself_may_be_asked_for() -> None:
    """Its own cotangent is there, and its operand has one where nothing else leads to it."""
    with tj.GradientTape(persistent=True) as tape:
        x = tj.constant(np.array([1.0, 3.0, 2.0]))
        z = tj.constant(np.array([2.0, 0.0, 1.0]))
        tape.watch(x)
        tape.watch(z)
        m = np.max(x)
        y = m + np.log(np.sum(np.exp(z - m)))
    assert abs(tape.gradient(y, m).numpy()) < 1e-15
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 0.0, atol=1e-15)


def test_a_stopped_maximum() -> None:
    def loss(x: Any) -> Any:
        m = tj.stop_gradient(np.max(x))
        return m + np.log(np.sum(np.exp(x - m)))

    x = np.random.default_rng(0).normal(size=5)
    np.testing.assert_allclose(tj.grad(loss)(x), softmax(x[None])[0], rtol=1e-14)


def test_second_order() -> None:
    x = np.random.default_rng(0).normal(size=4)
    p = softmax(x[None])[0]
    hessian = tj.hessian(lambda x: np.sum(log_sum_exp(x[None])))(x)
    np.testing.assert_allclose(hessian, np.diag(p) - np.outer(p, p), atol=1e-15)


def test_one_kernel_for_every_batch() -> None:
    gradient = tj.grad(lambda x: np.sum(log_sum_exp(x)))
    for rows in (1, 3, 5, 7):
        x = np.random.default_rng(rows).normal(size=(rows, 4))
        np.testing.assert_allclose(gradient(x), softmax(x), rtol=1e-14)
