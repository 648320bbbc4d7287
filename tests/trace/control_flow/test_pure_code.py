"""The closed list: code that does nothing but compute, and the words for other code."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from tests.trace.control_flow.effect_programs import HEAD
from tracejit.trace.control_flow.pure_code import STATEMENTS, PureCode, stored_by

SPACE: dict[str, Any] = {"np": np, "__name__": "pure", "a": np.ones(3), "it": iter([1.0])}
exec(compile(HEAD, "<pure>", "exec"), SPACE)


def problem(text: str) -> str:
    statements = ast.parse(text).body
    return PureCode(SPACE, stored_by(statements)).problem(statements, STATEMENTS)


@pytest.mark.parametrize(
    "text",
    [
        "x = a.T @ a[1:] if a.size > 2 else np.pi",
        "x = ITEMS[0] + STATE['k']",
        "x = BOX.rate * QUIET.order",
        "x = np.float32(2.0) * np.sum(a, axis=0)",
        "x = a.copy()\nx[0] = 1.0\nx += a",
        "x = a is None",
    ],
)
def test_what_computes(text: str) -> None:
    assert problem(text) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = sum(it)", "it is neither an array nor a number"),
        ("x = BOX.counted", "`BOX.counted` may do anything"),
        ("x = BOX", "`BOX` may do anything"),
        ("x = a is ITEMS", "`a is ITEMS` in it"),
        ("STATE['k'] = 1.0", "it writes to STATE"),
        ("x = a[0]\nx += 1.0", "x, which is updated in place, may be an array of another name"),
        (
            "for x in a:\n    x += 1.0",
            "x, which is updated in place, may be an array of another name",
        ),
        ("x = np.sin(a, a)", "`np.sin(a, a)` writes to an array"),
        ("x = a.sum(0, None, a)", "`a.sum` may do anything"),
        ("x = np.add.at", "`np.add.at` may do anything"),
        ("x = [y for y in a]", "`[y for y in a]` in it"),
        ("x = np.random.normal()", "normal is not found in the source"),
    ],
)
def test_what_does_more(text: str, words: str) -> None:
    assert problem(text) == words
