"""Functions that a debugger passes in one step."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import pytest

from tracejit.debug.one_line import on_one_line


def long(n: int, *, fails: bool = False) -> int:
    total = 0
    for k in range(n):
        total += k
    try:
        if fails:
            raise KeyError(n)
    except ValueError:
        total = -1
    return total + sum(k for k in range(3)) * 0 + len("".join(["a"] * 0)) + max(0, 0) + min(0, 0)


def test_it_computes_the_same() -> None:
    made = on_one_line(lambda n: long(n))
    assert made(10) == 45


def test_there_is_one_line_event() -> None:
    @on_one_line
    def three(x: int) -> int:
        y = x + 1
        z = y * 2
        return z - 1

    events: list[tuple[str, int]] = []

    def trace(frame: Any, event: str, arg: object) -> Any:
        if frame.f_code is three.__code__:
            events.append((event, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert three(1) == 3
    finally:
        sys.settrace(before)
    first = three.__code__.co_firstlineno
    assert events == [("call", first), ("line", first), ("return", first)]


def test_errors_are_caught_and_shown_as_before() -> None:
    code, first = long.__code__, long.__code__.co_firstlineno
    try:
        made = on_one_line(long)
        assert made(4) == 6
        with pytest.raises(KeyError) as caught:
            made(4, fails=True)
        (entry,) = [one for one in traceback.extract_tb(caught.tb) if one.name == "long"]
        assert entry.lineno == first
    finally:
        long.__code__ = code
