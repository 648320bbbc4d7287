"""What is only handed to tj.callback is not read while the function is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.ones(3)
seen: list[Any] = []


def log(value: Any) -> None:
    """Keep what is handed over."""
    seen.append(value)


class Recorder:
    """An object with a list."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.history: list[Any] = []


recorder = Recorder()


def by_method(x: Any) -> Any:
    """A method of a list."""
    tj.callback(seen.append, x.sum())
    return x * 2.0


def by_function(x: Any) -> Any:
    """A function that appends."""
    tj.callback(log, x.sum())
    return x * 2.0


def by_lambda(x: Any) -> Any:
    """A lambda that appends."""
    tj.callback(lambda y: seen.append(y), x.sum() + 1.0)
    return x * 2.0


def by_attribute(x: Any) -> Any:
    """A list in an object."""
    tj.callback(recorder.history.append, x.sum())
    return x * 2.0


def by_answer(x: Any) -> Any:
    """A function whose answer is used."""
    return x + tj.callback(counting, x, result=tj.TensorSpec((3,)))


def counting(x: Any) -> Any:
    """How often it was called."""
    seen.append(x)
    return np.full(3, float(len(seen)))


@pytest.mark.parametrize("f", [by_method, by_function, by_lambda, by_attribute, by_answer])
def test_what_a_callback_changes_is_not_recorded_again(f: Callable[..., Any]) -> None:
    compiled = tj.function(f)
    for _ in range(5):
        compiled(X)
    assert compiled.tracing_count == 1


def in_closure() -> tuple[Callable[..., Any], list[Any]]:
    """A list in a closure."""
    found: list[Any] = []

    def f(x: Any) -> Any:
        tj.callback(lambda y: found.append(y), x.sum())
        tj.callback(found.append, x.sum())
        return x * 2.0

    return f, found


def test_variables_of_a_closure_are_not_read() -> None:
    f, found = in_closure()
    compiled = tj.function(f)
    for _ in range(4):
        compiled(X)
    assert compiled.tracing_count == 1
    assert len(found) == 8


def test_another_list_is_another_kernel() -> None:
    holder = Recorder()
    f = tj.function(lambda x: [tj.callback(holder.history.append, x.sum()), x * 2.0][1])
    f(X)
    first, holder.history = holder.history, []
    f(X)
    assert len(first) == len(holder.history) == 1


def test_another_method_is_another_kernel() -> None:
    class Keeper(Recorder):
        def keep(self, value: Any) -> None:
            self.history.append(value)

    keeper = Keeper()
    f = tj.function(lambda x: [tj.callback(keeper.keep, x.sum()), x * 2.0][1])
    for _ in range(3):
        f(X)
    assert f.tracing_count == 1
    Keeper.keep = lambda self, value: self.history.clear()  # type: ignore[method-assign]
    f(X)
    assert keeper.history == []


def test_what_is_read_as_well_is_checked() -> None:
    f = tj.function(lambda x: [tj.callback(found.append, x.sum()), x * len(found)][1])
    found: list[Any] = []
    for k in range(4):
        np.testing.assert_array_equal(f(X), X * k)


def test_a_function_of_that_name_is_read() -> None:
    scale = [2.0]

    def callback(g: Any, x: Any) -> Any:
        return g(x)

    def f(x: Any) -> Any:
        return callback(lambda y: y * scale[0], x)

    compiled = tj.function(f)
    np.testing.assert_array_equal(compiled(X), X * 2.0)
    scale[0] = 3.0
    np.testing.assert_array_equal(compiled(X), X * 3.0)
