"""The user's line of each generated line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.debug.user_lines import user_lines
from tracejit.ir.location import Location


def error_of(w: Any, x: Any) -> Any:
    error = np.tanh(x @ w)
    return np.sum(error * error)


def test_every_line_of_a_function_has_its_users_line() -> None:
    kernel = tj.value_and_grad(tj.function(error_of, cache=False)).kernel(
        np.ones(3), np.ones((2, 3))
    )
    first = error_of.__code__.co_firstlineno
    found = user_lines(kernel.source, kernel.files)
    lines = kernel.source.split("\n")
    dots = [found[n] for n, line in enumerate(lines, 1) if "tanh(x.dot(w)" in line]
    assert dots and {line.place for line in dots} == {f"{Path(__file__).name}:{first + 1}"}
    assert {line.text for line in dots} == {"error = np.tanh(x @ w)"}
    assert dots[0].where.filename == __file__ and dots[0].where.lineno == first + 1
    heads = [n for n, line in enumerate(lines, 1) if line.startswith(("def ", "from ", "c1 ="))]
    assert heads and not found.keys() & set(heads)


def test_without_the_recording_the_place_is_relative() -> None:
    kernel = tj.function(error_of, cache=False).kernel(np.ones(3), np.ones((2, 3)))
    found = user_lines(kernel.source, {})
    assert {line.place for line in found.values()} == {"error_of:1", "error_of:2"}
    assert str(next(iter(found.values())).where).startswith("  error_of:1   error = ")


def test_lines_without_a_text_are_known_by_number() -> None:
    """As of code that was made by exec."""
    text = "def f(x):\n    # f:1\n    a = x + 1\n    # f:2      [recomputed]\n    return a\n"
    found = user_lines(text, {Location("m.f", 1, ""): ("made.py", 7)})
    assert (found[3].place, found[3].text) == ("made.py:7", "")
    assert (found[5].place, found[5].note) == ("f:2", "recomputed")


def test_notes_are_told_apart_from_brackets_in_the_text() -> None:
    text = """def f(x):
    # f:1  a = x[0]    [recomputed]
    a = x[0]

    # f:2  return x[a]
    return x[a]
c = 1
"""
    found = user_lines(text, {})
    assert (found[3].text, found[3].note) == ("a = x[0]", "recomputed")
    assert (found[6].text, found[6].note) == ("return x[a]", "")
    assert found.keys() == {3, 6}
