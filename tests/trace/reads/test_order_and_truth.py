"""`any`, `all` and `sorted` of recorded numbers: one recording, the bits and types of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def of_arrays(x: Any) -> Any:
    return any(x), all(x), any(x > 0.5), all(x > -2.0)


def of_lists(x: Any) -> Any:
    return all([x[0] > 0, x[1] < 2, True]), any([x[0], x[1] > 0, False]), all((x[0] > -5, False))


def of_nothing(x: Any) -> Any:
    return any([]), all([]), sorted([]), sorted([x[0]])


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for _ in range(20):
        if any(x > 1.0) or all([x[0] > 0.1, x[1] > 0.1]):
            x = x * 0.9
        total = total + sorted(x)[1]
    return total


def in_order(x: Any) -> Any:
    return sorted(x)


def from_the_largest(x: Any) -> Any:
    return sorted(x, reverse=True)


def by_key(x: Any) -> Any:
    return sorted([x[0] * 2, x[1], x[2], x[3]], key=lambda v: abs(v))


def by_key_from_the_largest(x: Any) -> Any:
    return sorted((x[0], x[1], x[2]), key=lambda v: -abs(v), reverse=True)


def of_either(x: Any) -> Any:
    a = x[0] if x[0] > 0.0 else 0.0
    return sorted([a, x[1] + a, a * a])


def of_pythons(x: Any) -> Any:
    return sorted([1.0, float(x[0]), 0.5])


ONCE = [of_arrays, of_lists, of_nothing, in_a_loop, in_order, from_the_largest, by_key,
        by_key_from_the_largest]  # fmt: skip


def bits(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return [bits(one) for one in result]
    return type(result), float(result).hex()


@pytest.mark.parametrize("f", [*ONCE, of_pythons, of_either], ids=lambda f: f.__name__)
def test_bits_and_types(f: Callable[..., Any]) -> None:
    compiled = tj.function(f, exact=True)
    rng = np.random.default_rng(0)
    for _ in range(12):
        x = rng.normal(size=4)
        assert bits(compiled(x)) == bits(f(x))
    if f in ONCE:
        assert compiled.tracing_count == 1


@pytest.mark.parametrize("f", ONCE, ids=lambda f: f.__name__)
def test_signs_of_zeros_and_what_is_no_number(f: Callable[..., Any]) -> None:
    compiled = tj.function(f, exact=True)
    rng = np.random.default_rng(1)
    for _ in range(12):
        x = rng.choice([0.0, -0.0, 1.0, -1.0, np.nan, np.inf], size=4)
        assert bits(compiled(x)) == bits(f(x))


def test_gradients_go_to_the_elements() -> None:
    step = tj.grad(lambda x: sum(k * v for k, v in enumerate(sorted(x, key=lambda v: -v))))
    np.testing.assert_array_equal(step(np.array([3.0, 1.0, 2.0])), [0.0, 2.0, 1.0])
    np.testing.assert_array_equal(step(np.array([1.0, 2.0, 3.0])), [2.0, 1.0, 0.0])
    assert step.tracing_count == 1
