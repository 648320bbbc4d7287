"""Code that raises on one side of a condition: loops around it are recorded once, and a call in
which it raises meets the program's own error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.differences import extrapolated
from tests.trace.control_flow.check_programs import PROGRAMS, in_a_handler

NUMBERS = [(40.0, 0.9), (0.2, 0.9), (40.0, 0.6), (-1.0, 0.9), (40.0, 1.0), (4.0, 0.3), (30.0, 1.2)]


def outcome(f: Callable[..., Any], *arguments: Any) -> Any:
    """A result, or an error with its message."""
    try:
        return f(*arguments)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("f", [*PROGRAMS, in_a_handler], ids=lambda f: f.__name__)
def test_values_and_errors(f: Callable[..., Any], first: int) -> None:
    compiled = tj.function(f)
    for x, y in NUMBERS[first:] + NUMBERS[:first]:
        found, wanted = (outcome(g, np.float64(x), np.float64(y)) for g in (compiled, f))
        if isinstance(wanted, tuple):
            assert found == wanted
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
    if f is not in_a_handler:  # the error is a way through the program
        assert compiled.tracing_count == 1


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_and_errors(f: Callable[..., Any]) -> None:
    step = tj.value_and_grad(f)
    for x, y in NUMBERS:
        found, wanted = (outcome(g, np.float64(x), np.float64(y)) for g in (step, f))
        if isinstance(wanted, tuple):
            assert found == wanted
            continue
        along = extrapolated(lambda t: f(x + t, y), 1e-4)  # noqa: B023
        np.testing.assert_allclose(found, (wanted, along), rtol=1e-5, atol=1e-9)
    assert step.tracing_count == 1
    assert step.source.count("\n") < 180


def test_the_message_of_an_error_without_a_loop_in_a_gradient() -> None:
    def root(x: Any) -> Any:
        if x < 0:
            raise ValueError(f"negative: {x}", x)
        return np.sqrt(x)

    for f in (tj.grad(root), tj.value_and_grad(root), tj.function(root)):
        for x in (-1.0, np.float64(-2.5)):
            assert outcome(f, x) == outcome(root, x)
        assert outcome(f, 4.0) is not None


def test_effects_before_an_error_are_made_once() -> None:
    seen: list[int] = []

    def counting(x: Any) -> Any:
        seen.append(1)
        for _ in range(20):
            if x > 3.0:
                raise ValueError(f"large: {x}")
            x = x * 1.1
        return x

    compiled = tj.function(counting)
    for x in (0.1, 2.0, 0.2, 5.0):
        seen.clear()
        assert outcome(compiled, np.float64(x)) == outcome(counting, np.float64(x))
        assert len(seen) == 2
