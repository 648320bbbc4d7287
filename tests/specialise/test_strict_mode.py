"""TRACEJIT_STRICT=1: a fallback to Python that hides a mistake of tracejit is an error."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.compiler import pipeline
from tracejit.ops.base.op import Op
from tracejit.support.errors import NotImportableError, StrictError, TracejitWarning

X = np.array([0.5, 1.5])
BROKEN = Op(name="broken", infer=lambda x: x, source="np.no_such_function({0})")


def broken_in_kernels(x: Any) -> Any:
    """sinh, whose generated code raises."""
    return BROKEN(x) if isinstance(x, tj.Tensor) else np.sinh(x)


@tj.function(cache=False)
def wrong_kernel(x: Any) -> Any:
    return broken_in_kernels(x) + 1.0


@tj.function(cache=False)
def wrong_decision(x: Any) -> Any:
    return x if np.sum(broken_in_kernels(x)) > 0 else -x


@tj.function(cache=False)
def caught(a: Any) -> Any:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return -a


@tj.function(cache=False)
def caught_in_a_decision(a: Any) -> Any:
    try:
        return a if np.sum(np.linalg.inv(a)) > 0 else 2.0 * a
    except np.linalg.LinAlgError:
        return -a


@pytest.mark.parametrize("function", [wrong_kernel, wrong_decision])
def test_an_error_that_python_does_not_raise_is_shown(function: Any) -> None:
    with pytest.raises(StrictError, match="no_such_function"):
        function(X)


def test_without_it_python_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEJIT_STRICT")
    np.testing.assert_array_equal(wrong_decision(X), wrong_decision.python(X))


def sines(x: Any) -> Any:
    return np.sum(np.sin(x))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("from numpy import no_such_function", "ImportError: cannot import name"),
        ("c1 = no_such_name(1)", "NameError: name 'no_such_name' is not defined"),
        ("def forward(x, x): pass", "SyntaxError: duplicate argument"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told_of_once(
    line: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRACEJIT_STRICT")
    generate = pipeline.generate

    def broken(*args: Any, **kwargs: Any) -> Any:
        made = generate(*args, **kwargs)
        return made._replace(text=f"{made.text}\n{line}\n")

    monkeypatch.setattr(pipeline, "generate", broken)
    function, slope = tj.function(sines, cache=False), tj.grad(tj.function(sines, cache=False))
    for made, expected in ((function, np.sum(np.sin(X))), (slope, np.cos(X))):
        with pytest.warns(TracejitWarning, match="cannot be used.*mistake of tracejit") as told:
            np.testing.assert_allclose(made(X), expected)
        assert len(told) == 1
        assert "sines has run a call as plain Python because" in str(told[0].message)
        assert problem in str(told[0].message)
        assert "report it" in str(told[0].message)
        assert told[0].filename == __file__
        np.testing.assert_allclose(made(X), expected)  # without another warning
        assert "2 calls as plain Python" in made.explain()
        with pytest.raises(NotImportableError, match=re.escape(problem)):
            made.kernel(X)


@pytest.mark.parametrize("function", [caught, caught_in_a_decision])
def test_an_error_that_the_program_catches_is_its_own(function: Any) -> None:
    singular = np.ones((2, 2))
    np.testing.assert_array_equal(function(singular), -singular)


def test_an_error_that_the_program_raises_is_its_own() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        tj.function(np.linalg.inv, cache=False)(np.ones((2, 2)))


def test_overlapping_arguments_are_a_documented_fallback() -> None:
    @tj.function(cache=False)
    def shift(x: Any, y: Any) -> Any:
        x += y
        return x * 1.0

    base = np.arange(4.0)
    expected = base.copy()
    expected[1:] += expected[:-1]
    np.testing.assert_array_equal(shift(base[1:], base[:-1]), expected[1:])


def test_the_trace_function_of_a_debugger_is_put_back() -> None:
    def trace(frame: Any, event: str, argument: Any) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        caught(np.ones((2, 2)))
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)
