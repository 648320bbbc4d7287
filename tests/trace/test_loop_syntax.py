"""The closed list: which loops can be closed, and the words for why others cannot."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracejit.trace.loop_syntax import LoopSyntax, NotClosable, loop_at


class Asked(Exception):
    """Carries what `loop_at` says of the frame that asks for a truth value."""


class Asking:
    """A value whose truth is asked for: it tells of the loop, and ends the function."""

    def __bool__(self) -> bool:
        raise Asked(loop_at(sys._getframe(1)))

    def compared(self, other: Any) -> Asking:
        """Itself."""
        return self

    __gt__ = __lt__ = __sub__ = __mul__ = compared


def told(f: Callable[[Any], Any]) -> Any:
    with pytest.raises(Asked) as found:
        f(Asking())
    return found.value.args[0]


def half(x: Any) -> Any:
    return np.multiply(x, 0.5)


SEEN: list[Any] = []


def noting(x: Any) -> Any:
    SEEN.append(x)
    return x


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
    while not x:
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
        x = np.multiply(x, 2.0, out=SEEN)  # type: ignore[call-overload]


def test_the_parts_of_a_loop() -> None:
    found = told(plain)
    assert isinstance(found, LoopSyntax)
    assert (found.stays, found.is_single) == (True, False)
    assert found.stores == {"x", "i"}
    assert found.updates == {"i"}
    assert found.tested == {"x", "i"}


def test_the_outcome_that_goes_on() -> None:
    assert told(forever).stays is False
    assert told(negated).stays is False
    assert told(negated).is_single


def test_what_is_no_test_of_a_loop() -> None:
    assert told(straight) is None


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (with_effect, "noting: `SEEN.append(x)` in it"),
        (with_else, "it has an `else`"),
        (useless, "`repr(x)` in it"),
        (attribute, "it assigns half.last"),
        (writing, "`np.multiply(x, 2.0, out=SEEN)` writes to an array"),
    ],
)
def test_why_a_loop_is_not_closed(f: Callable[[Any], Any], reason: str) -> None:
    assert told(f) == NotClosable(reason)
