"""First calls grow with the program: twice the operations take twice the work, counted in calls of
functions."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def lines(count: int) -> Callable[[Any], Any]:
    """A function of so many lines, of which no two are alike."""
    steps = [f"    x{k + 1} = np.{('sin', 'tanh')[k % 3 % 2]}(x{k} * {k}.5)" for k in range(count)]
    text = "\n".join(["def written(x0):", *steps, f"    return np.sum(x{count})", ""])
    name = f"<{count} lines>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space: dict[str, Any] = {"np": np, "__name__": "written"}
    exec(compile(text, name, "exec"), space)
    made: Callable[[Any], Any] = space["written"]
    return made


def elements(count: int) -> Callable[[Any], Any]:
    """Assignments to one element after another, each computed from those before."""

    def assigned(x: Any) -> Any:
        y = np.concatenate([x] * (count // 8 + 1))
        for k in range(1, count):
            y[k] = y[k] * 0.5 + y[k // 2] * y[k - 1]
        return np.sum(y)

    return assigned


def work(function: Callable[[Any], Any]) -> int:
    """The number of functions that the first call of a gradient calls."""
    slope, x, count = tj.value_and_grad(function), np.linspace(0.1, 0.9, 8), 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        slope(x)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("program", [lines, elements])
def test_twice_the_program_is_twice_the_work(program: Callable[[int], Any]) -> None:
    work(program(10))
    small, large = work(program(30)), work(program(60))
    assert large < 2.1 * small
