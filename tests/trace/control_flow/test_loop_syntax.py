"""The closed list: which loops can be closed, and the words for why others cannot."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.trace.control_flow import open_loops
from tracejit.trace.control_flow.loop_syntax import LoopSyntax, NotClosable, loop_at


def told(f: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """What `loop_at` says where `f` first asks a recorded number."""
    found: list[Any] = []

    def noted(frame: Any) -> Any:
        found.append(loop_at(frame))
        return NotClosable("the answer is noted")

    monkeypatch.setattr(open_loops, "loop_at", noted)
    with suppress(TypeError, tj.TracejitError):
        tj.function(f)(np.float64(3.0))
    return found[0]


def half(x: Any) -> Any:
    return np.multiply(x, 0.5)


SEEN: list[Any] = []
HELD = np.zeros(())


def noting(x: Any) -> Any:
    SEEN.append(x)
    return x - 1


def plain(x: Any) -> Any:
    i = 0
    while x > 0 and i < 3:
        x = half(x)
        i += 1


def forever(x: Any) -> Any:
    while True:
        y = x - 1
        if y < 1:
            break
        x = y


def negated(x: Any) -> Any:
    while not x < 1:
        x = x - 1


def straight(x: Any) -> Any:
    if x > 0:
        return 1


def with_effect(x: Any) -> Any:
    while x > 0:
        x = noting(x)


def with_else(x: Any) -> Any:
    while x > 0:
        x = x - 1
    else:
        x = 0


def useless(x: Any) -> Any:
    while x > 0:
        repr(x)
        x = x - 1


def attribute(x: Any) -> Any:
    while x > 0:
        half.last = x  # type: ignore[attr-defined]
        x = x - 1


def writing(x: Any) -> Any:
    while x > 0:
        x = np.multiply(x, 0.0, out=HELD)


def test_the_parts_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    found = told(plain, monkeypatch)
    assert isinstance(found, LoopSyntax)
    assert (found.stays, found.is_single) == (True, False)
    assert found.stores == {"x", "i"}
    assert found.tested == {"x", "i"}


def test_the_outcome_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(forever, monkeypatch).stays is False
    negation = told(negated, monkeypatch)
    assert negation.stays is False
    assert negation.is_single


def test_what_is_no_test_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(straight, monkeypatch) is None


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (with_effect, "noting: `SEEN.append(x)` in it"),
        (with_else, "it has an `else`"),
        (useless, "`repr(x)` in it"),
        (attribute, "it assigns half.last"),
        (writing, "`np.multiply(x, 0.0, out=HELD)` writes to an array"),
    ],
)
def test_why_a_loop_is_not_closed(
    f: Callable[[Any], Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(f, monkeypatch) == NotClosable(reason)
