"""Advice on what to write instead."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.errors import TracejitError
from tracejit.trace.source.instead import SOLVERS, instead_of, instead_of_test

X = np.array([1.0, 2.0, 3.0])


def around(text: str, inner: str) -> list[ast.AST]:
    """The nodes of a statement around the expression `inner`, innermost first."""
    statement = ast.parse(text).body[0]
    found = [node for node in ast.walk(statement) if hasattr(node, "lineno")]
    begin = text.index(inner)
    inside = (node for node in found if node.col_offset <= begin)  # type: ignore[attr-defined]
    end = begin + len(inner)
    return [node for node in inside if node.end_col_offset >= end][::-1]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "running", "asked", "fix"),
    [
        ("if x > 0: pass", "x > 0", "x > 0", "np.where(x > 0, a, b)"),
        ("if x > 0 and y: pass", "x > 0", "x > 0 and y", "np.where((x > 0) & y, a, b)"),
        ("if not x: pass", "x", "not x", "np.where(x == 0, a, b)"),
        ("if not x > 0: pass", "x > 0", "not x > 0", "np.where(~(x > 0), a, b)"),
        ("y = x if x > 0 else -x", "x > 0", "x > 0", "np.where(x > 0, x, -x)"),
        ("while x > 1: pass", "x > 1", "x > 1", "np.all(x > 1) or np.any(x > 1)"),
        ("assert x > 0, 'no'", "x > 0", "x > 0", "np.all(x > 0) or np.any(x > 0)"),
        ("y = 0 < x < 1", "0 < x < 1", "0 < x < 1", "write (0 < x) & (x < 1)"),
        ("y = a or b or c", "a", "a or b or c", "write a | b | c"),
        ("y = max(x, 0)", "max(x, 0)", "a comparison in max(x, 0)", "write np.maximum(x, 0)"),
        ("y = min(x)", "min(x)", "a comparison in min(x)", "write np.min(x)."),
        (
            "y = min(a, b, c)",
            "min(a, b, c)",
            "a comparison in min(a, b, c)",
            "np.minimum.reduce([a",
        ),
        ("y = sorted(x)", "sorted(x)", "a comparison in sorted(x)", "write np.sort(x)."),
        ("y = f(x)", "f(x)", "f(x)", "np.where(test, a, b)"),
    ],
)
def test_a_condition_on_an_array_is_written_for_each_element(
    text: str, running: str, asked: str, fix: str
) -> None:
    found, advice = instead_of_test(around(text, running))
    assert found == asked
    assert fix in advice


def test_without_source_the_advice_is_for_any_condition() -> None:
    found, advice = instead_of_test([])
    assert found == ""
    assert "np.where(test, a, b)" in advice


def clamp(x: Any) -> Any:
    if x > 2.0:
        x = 2.0
    return np.sum(x)


@pytest.mark.parametrize("setting", ["0", "1"])
def test_the_error_names_the_condition(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CONVERT", setting)
    with pytest.raises(ValueError, match="is ambiguous") as caught:
        tj.grad(clamp)(X)
    text = str(caught.value)
    assert text.startswith("the truth value of x > 2.0, an array of shape (3,), is ambiguous.")
    assert "if x > 2.0:" in text
    assert "np.where(x > 2.0, a, b)" in text


def test_what_catches_the_error_goes_on_as_in_numpy() -> None:
    def either(x: Any) -> Any:
        try:
            return np.sum(x) if x > 0 else 0.0
        except ValueError:
            return np.sum(2.0 * x)

    assert tj.grad(either)(X).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_each_solver_has_an_advice_of_its_own(name: str) -> None:
    advice = instead_of(f"scipy.optimize.{name}")
    assert advice.startswith(SOLVERS[name])
    assert "tj.primitive" in advice


def test_a_solver_names_what_is_recorded_instead() -> None:
    from scipy.optimize import leastsq

    def fitted(x: Any) -> Any:
        return leastsq(lambda v: v - x, X)[0].sum()

    with pytest.raises(TracejitError, match="leastsq is not recorded") as caught:
        tj.grad(fitted)(X)
    assert "scipy.optimize.least_squares is recorded" in str(caught.value)
