"""Residuals of loops: the values that the loop of a derivative reads from stacks, and those that it
computes again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.cost_model import assuming


@pytest.fixture(autouse=True)
def python_loops_stay_as_they_are() -> Iterator[None]:
    """Let no loop of Python become one of the graph: they are what loops are compared with."""
    with assuming(least_rolled_steps=1000):
        yield


W = np.random.default_rng(0).normal(size=(4, 4)) / 2
XS = np.random.default_rng(1).normal(size=(6, 4))


def rnn(w: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.tanh(w @ h + x)
        return h, h

    return np.sum(tj.scan(step, np.zeros(4), xs)[1] ** 2)


def rnn_unrolled(w: Any, xs: Any) -> Any:
    h, total = np.zeros(4), 0.0
    for x in xs:
        h = np.tanh(w @ h + x)
        total = total + np.sum(h**2)
    return total


def halves(derivative: Any) -> tuple[str, str]:
    """The text of the loop that goes forward, and of what follows it."""
    text = derivative.source.split("def value_and_grad")[1]
    text = "\n".join(line for line in text.split("\n") if not line.strip().startswith("#"))
    forward, _, backward = text.partition("for t in reversed(")
    return forward, backward


def stacks(text: str) -> int:
    """The number of arrays that a loop writes rows of."""
    return text.count("[t] = ")


def test_a_result_of_the_forward_loop_is_read_and_not_computed_again() -> None:
    derivative = tj.value_and_grad(rnn, argnums=(0, 1))
    value, bars = derivative(W, XS)
    expected, expected_bars = tj.value_and_grad(rnn_unrolled, argnums=(0, 1))(W, XS)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    for bar, other in zip(bars, expected_bars, strict=True):
        np.testing.assert_allclose(bar, other, rtol=1e-11)
    forward, backward = halves(derivative)
    assert forward.count("tanh(") == 1
    assert "tanh(" not in backward
    assert stacks(forward) == 1  # hs, which is returned anyway


def test_dear_memory_is_saved_by_computing_again() -> None:
    with assuming(stacked_byte=1e6):
        derivative = tj.value_and_grad(rnn, argnums=(0, 1))
        value, _ = derivative(W, XS)
    np.testing.assert_allclose(value, rnn_unrolled(W, XS), rtol=1e-13)

    def last(w: Any, xs: Any) -> Any:
        return np.sum(tj.scan(lambda h, x: (np.tanh(w @ h + np.sin(x)), None), XS[0], xs)[0])

    with assuming(stacked_byte=1e6):
        dear = tj.value_and_grad(last)
        dear(W, XS)
    cheap = tj.value_and_grad(last)
    cheap(W, XS)
    assert [sum(half.count("tanh(") for half in halves(one)) for one in (dear, cheap)] == [2, 1]
    np.testing.assert_allclose(dear(W, XS)[1], cheap(W, XS)[1], rtol=1e-12)


def test_arithmetic_on_numbers_is_cheaper_than_a_stack() -> None:
    def logistic(x: Any) -> Any:
        return tj.fori_loop(0, 50, lambda t, x: 2.9 * x * (1 - x), x)

    derivative = tj.value_and_grad(logistic)
    value, bar = derivative(0.3)
    x, slope = 0.3, 1.0
    for _ in range(50):
        x, slope = 2.9 * x * (1 - x), slope * 2.9 * (1 - 2 * x)
    assert value == pytest.approx(x)
    assert bar == pytest.approx(slope)
    assert stacks(halves(derivative)[0]) == 1


def test_what_is_recomputed_on_demand_is_not_stacked() -> None:
    def loss(w: Any, xs: Any) -> Any:
        cell = tj.recompute_grad(lambda h, x: np.tanh(np.exp(w @ h) + x))
        return np.sum(tj.scan(lambda h, x: (cell(h, x), None), XS[0], xs)[0])

    def plain(w: Any, xs: Any) -> Any:
        h = XS[0]
        for x in xs:
            h = np.tanh(np.exp(w @ h) + x)
        return np.sum(h)

    derivative = tj.value_and_grad(loss)
    np.testing.assert_allclose(derivative(W, XS)[1], tj.grad(plain)(W, XS), rtol=1e-10)
    assert "exp(" in halves(derivative)[1]


def test_what_is_recomputed_on_demand_stays_in_the_loop_that_goes_backward() -> None:
    def loss(x: Any, xs: Any) -> Any:
        level = tj.recompute_grad(lambda h: np.tanh(np.sum(h)))

        def step(h: Any, x: Any) -> Any:
            h = np.cos(h + x)
            return h, level(h)

        return np.sum(tj.scan(step, x, xs)[1] ** 2)

    def plain(x: Any, xs: Any) -> Any:
        levels = []
        for row in xs:
            x = np.cos(x + row)
            levels.append(np.tanh(np.sum(x)))
        return sum(level**2 for level in levels)

    derivative = tj.value_and_grad(loss)
    np.testing.assert_allclose(derivative(XS[0], XS)[1], tj.grad(plain)(XS[0], XS), rtol=1e-10)
    text = derivative.source.split("def value_and_grad")[1]
    assert text.index("[recomputed]") > text.index("reversed(")  # though one number is less to keep


def test_only_what_is_read_is_stacked() -> None:
    def total(x: Any) -> Any:
        def step(carry: Any, e: Any) -> Any:
            a, b = carry
            return (a + np.exp(e), b * e), None

        a, b = tj.scan(step, (0.0, 1.0), x)[0]
        return a + b

    x = np.array([0.5, 0.25, 2.0])
    derivative = tj.value_and_grad(total)
    value, bar = derivative(x)
    assert value == pytest.approx(np.exp(x).sum() + x.prod())
    np.testing.assert_allclose(bar, np.exp(x) + x.prod() / x)
    assert "a_all" not in derivative.source


def test_draws_take_place_once() -> None:
    def walk(x: Any, generator: Any) -> Any:
        def step(h: Any, t: Any) -> Any:
            return np.tanh(h * generator.normal(size=3)), None

        return np.sum(tj.scan(step, x, np.arange(4))[0])

    def unrolled(x: Any, draws: Any) -> Any:
        for draw in draws:
            x = np.tanh(x * draw)
        return np.sum(x)

    x = np.array([0.3, -0.2, 0.9])
    bar = tj.grad(walk)(x, np.random.default_rng(3))
    draws = np.random.default_rng(3).normal(size=(4, 3))
    np.testing.assert_allclose(bar, tj.grad(unrolled)(x, draws), rtol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
def test_stacks_of_derivatives_of_derivatives(reverse: bool) -> None:
    def loss(w: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = np.tanh(w * h + x)
            return h, h * h

        h, squares = tj.scan(step, XS[0], XS, reverse=reverse)
        return np.sum(h) + np.sum(squares)

    def unrolled(w: Any) -> Any:
        h, total = XS[0], 0.0
        for x in XS[::-1] if reverse else XS:
            h = np.tanh(w * h + x)
            total = total + np.sum(h * h)
        return np.sum(h) + total

    w, v = XS[1], XS[2]
    found, expected = (tj.hvp(f, (w,), (v,))[0] for f in (loss, unrolled))
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    found, expected = (
        tj.grad(lambda w, f=f: np.sum(tj.grad(f)(w) ** 2))(w) for f in (loss, unrolled)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-11)
