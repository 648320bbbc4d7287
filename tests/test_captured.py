"""What functions read besides their arguments: each program of tests/captured runs as Python, then
compiled, over the same calls and the same change in between, with the same answers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.captured.table import PROGRAMS
from tests.rows import each_row
from tests.support.compare import assert_same
from tracejit.support.errors import LeakedTensorError

for path in sorted((Path(__file__).parent / "captured").glob("*.py")):
    importlib.import_module(f"tests.captured.{path.stem}")

X = np.array([1.0, 2.0, 3.0])

# What keeps what is being recorded: the second call says so.
LEAKS = {"lru_cache_returns_tensor_by_n"}

# What changes at every call what it reads: it runs as Python, at every call.
RESTLESS = {
    name for name, factory in PROGRAMS.items() if factory.__module__ == "tests.captured.state"
}


def answer(function: Callable[..., Any], args: Any) -> Any:
    """What a call answers, as it is now, or what it raises."""
    try:
        return np.array(function(X, *args))
    except Exception as error:
        return error


def answers(factory: Callable[[], Any], wrap: Callable[[Any], Any]) -> list[Any]:
    """Two calls, the change, two calls."""
    function, change, *args = factory()
    wrapped = wrap(function)
    before = [answer(wrapped, args) for _ in range(2)]
    change()
    return [*before, *[answer(wrapped, args) for _ in range(2)]]


@pytest.mark.parametrize("name", some_by_day(sorted(PROGRAMS.keys() - LEAKS), 2))
def test_no_answer_is_stale(name: str) -> None:
    expected = answers(PROGRAMS[name], lambda function: function)
    found = answers(PROGRAMS[name], tj.function)
    for mine, python in zip(found, expected, strict=True):
        if isinstance(python, Exception):
            assert type(mine) is type(python)
        else:
            assert_same(mine, python)


@pytest.mark.parametrize("name", sorted(LEAKS))
def test_what_is_kept_of_a_recording_is_refused(name: str) -> None:
    _, *later = answers(PROGRAMS[name], tj.function)
    for error in later:
        assert type(error) is LeakedTensorError
        assert "lru_cache" in str(error)


@each_row("name", some_by_day(sorted(PROGRAMS.keys() - RESTLESS - LEAKS), 2))
def test_what_has_not_changed_is_not_recorded_again(name: str) -> None:
    function, _, *args = PROGRAMS[name]()
    compiled = tj.function(function)
    for _ in range(2):  # what the first call has made is read by the second
        answer(compiled, args)
    settled = compiled.tracing_count
    answer(compiled, args)
    assert compiled.tracing_count == settled
