"""`type(x)` of a recorded array is refused in functions as written; of everything else it is
answered as ever."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.errors import UnsupportedError

X = np.array([1.0, 2.0])


def of_an_argument(x: Any) -> Any:
    return x * 2.0 if type(x) is np.ndarray else x


def of_an_element(x: Any) -> Any:
    return x * 2.0 if type(x[0]) is np.float64 else x


def of_an_attribute(x: Any) -> Any:
    space = SimpleNamespace(x=x)
    return x * 2.0 if type(space.x) is np.ndarray else x


def helper(value: Any) -> Any:
    return value * 2.0 if type(value) in (np.ndarray,) else value


def in_a_helper(x: Any) -> Any:
    return helper(x + 1.0)


def in_a_closure(x: Any) -> Any:
    def inner() -> Any:
        return x * 2.0 if type(x) == np.ndarray else x  # noqa: E721

    return inner()


ASKING = [of_an_argument, of_an_element, of_an_attribute, in_a_helper, in_a_closure]


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("function", ASKING)
def test_the_type_of_an_array_is_refused(function: Any) -> None:
    compiled = tj.function(function, cache=False)
    for _ in range(2):
        with pytest.raises(UnsupportedError, match=r"(?s)type\(.*isinstance\("):
            compiled(X)


@pytest.mark.parametrize("function", ASKING)
def test_converted_it_is_that_of_numpy(function: Any) -> None:
    compiled = tj.function(function, cache=False)
    np.testing.assert_array_equal(compiled(X), function(X))
    slope = tj.grad(lambda x: np.sum(function(x)))(X)
    np.testing.assert_array_equal(slope, np.full(2, 2.0))


def asks_others(x: Any, flags: Any) -> Any:
    cls = type("Local", (), {})
    if type(flags) is dict and type(flags["deep"]) is bool and type(cls()) is cls:
        return x * 2.0
    return x


def test_other_types_are_answered() -> None:
    compiled = tj.function(asks_others, cache=False)
    np.testing.assert_array_equal(compiled(X, {"deep": True}), X * 2.0)


def test_the_trace_function_before_is_called_and_put_back() -> None:
    lines: list[int] = []

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_name == "asks_others" and frame.f_code.co_filename == __file__:
            lines.append(frame.f_lineno)
            return trace
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        tj.function(asks_others, cache=False)(X, {"deep": True})
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)
    assert len(set(lines)) > 3
