"""Loops that compute the same are computed once; draws and recomputed steps are not merged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.linspace(0.1, 1.0, 5)


def last(x: Any) -> Any:
    return tj.scan(lambda c, e: (np.tanh(c * e + 1.0), None), 0.5, x)[0]


def loops_in(text: str) -> int:
    """The number of loops forward."""
    return text.count(" in range(")


def test_a_function_and_its_gradient_share_the_forward_loop() -> None:
    both = tj.function(lambda x: (last(x), tj.grad(last)(x)))
    value, gradient = both(X)
    assert value == last(X)
    np.testing.assert_array_equal(gradient, tj.grad(last)(X))
    assert loops_in(both.source) == 1
    assert both.source.count(" in reversed(range(") == 1


def test_the_same_loop_twice_is_one() -> None:
    twice = tj.function(lambda x: last(x) + last(x) * 2.0)
    assert twice(X) == last(X) + last(X) * 2.0
    assert loops_in(twice.source) == 1


def test_loops_that_differ_in_a_number_stay_two() -> None:
    def f(x: Any) -> Any:
        first, second = (
            tj.scan(lambda c, e, k=k: (np.tanh(c * e + k), None), 0.5, x)[0] for k in (1.0, 2.0)
        )
        return first, second

    call = tj.function(f)
    assert call(X) == f(X)
    assert loops_in(call.source) == 2


def test_loops_over_other_steps_stay_two() -> None:
    def f(x: Any) -> Any:
        step = lambda c, e: (np.tanh(c * e + 1.0), None)  # noqa: E731
        return tj.scan(step, 0.5, x)[0], tj.scan(step, 0.5, x, reverse=True)[0]

    call = tj.function(f)
    assert call(X) == f(X)
    assert loops_in(call.source) == 1
    assert call.source.count(" in reversed(range(") == 1


def noisy(x: Any, g: Any) -> Any:
    return tj.scan(lambda c, e: (np.tanh(c * g.normal() + e), None), 0.5, x)[0]


def test_two_loops_that_draw_draw_other_numbers() -> None:
    call = tj.function(lambda x, g: (noisy(x, g), noisy(x, g)))
    mine, its = np.random.default_rng(1), np.random.default_rng(1)
    assert call(X, mine) == (noisy(X, its), noisy(X, its))
    assert mine.bit_generator.state == its.bit_generator.state


def test_a_loop_that_draws_is_differentiated_with_its_numbers() -> None:
    call = tj.value_and_grad(noisy)
    mine, its = np.random.default_rng(1), np.random.default_rng(1)
    value, _ = call(X, mine)
    assert value == noisy(X, its)
    assert mine.bit_generator.state == its.bit_generator.state


@pytest.mark.parametrize("reads_an_input", [True, False])
def test_a_recomputed_loop_runs_again_in_backward(reads_an_input: bool) -> None:
    def f(x: Any) -> Any:
        inner = tj.recompute_grad(lambda x: last(x if reads_an_input else np.exp(x)))
        return inner(x) * np.sum(x)

    call = tj.value_and_grad(f)
    value, gradient = call(X)
    plain = tj.value_and_grad(lambda x: last(x if reads_an_input else np.exp(x)) * np.sum(x))
    assert value == plain(X)[0]
    np.testing.assert_allclose(gradient, plain(X)[1], rtol=1e-13)
    forward, _, rest = call.source.partition("def backward")
    assert loops_in(forward) == 1
    assert " = empty(" not in forward
    assert loops_in(rest.partition("def value_and_grad")[0]) == 1
