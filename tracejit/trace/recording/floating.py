"""Floating-point error handling: whether NumPy ignores, warns of or raises a division by zero.

A kernel computes other operations than the program, in another order, so it meets other errors.
Where they only warn, or are ignored, nobody can tell but by the text. Where they raise, or call a
function of the user's (`np.errstate`, `np.seterr`), or become exceptions or data (`warnings`), the
program is for Python itself: it does so around a call, which is made without a kernel, or around
operations of a function, whose calls are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import umath

from tracejit.support.errors import Where
from tracejit.trace.recording.decisions import Failed

_KEPT: Any = getattr(umath, "_extobj_contextvar", None)
STATE: Callable[[], Any] = np.geterr if _KEPT is None else _KEPT.get
"""The object that NumPy keeps its handling in; another one where the handling may be another. It is
not public: where a NumPy has none, `np.geterr` answers, in 1,300 nanoseconds for 30."""
LOUD = ("raise", "call")
RAISES = "np.errstate or np.seterr lets floating-point errors {}"
STRICT = "the filters of warnings let RuntimeWarning raise"
CATCHES = "warnings are caught as data"


class Quiet:
    """`state` is the last that is known to be quiet."""

    def __init__(self) -> None:
        """Begin with no known state."""
        self.state: Any = None


QUIET = Quiet()


def loudness() -> str:
    """The handling of floating-point errors in this thread, if it is "raise" or "call"; otherwise
    an empty string."""
    state = STATE()
    if state is QUIET.state:
        return ""
    handling = np.geterr().values()
    for word in LOUD:
        if word in handling:
            return word
    QUIET.state = state
    return ""


class Handling:
    """A record of how errors are handled, to see whether a function handles them otherwise.

    `state` and `filters` are the objects that NumPy and `warnings` keep it in; where they are the
    same, nothing has changed. `problem` is why a recording is of no use.
    """

    def __init__(self) -> None:
        """Take down how errors are handled now."""
        self.state: Any = STATE()
        self.filters: Any = warnings.filters
        self.problem = ""
        self._rule = _rule()
        self._shown_by = _shown_by()

    def change(self) -> str:
        """The reason why Python itself computes now; nothing where it does not."""
        if STATE() is not self.state:
            word = loudness()
            if word:
                return RAISES.format(word)
            self.state = STATE()
        if warnings.filters is not self.filters:
            if self.is_left_strict():
                return STRICT
            if _shown_by() is not self._shown_by:
                return CATCHES
        return ""

    def check_change(self, here: Callable[[], Where | None]) -> None:
        """Raise Failed if the function has begun to handle errors in another way."""
        change = self.change()
        if change:
            where = here()
            self.problem = change if where is None else f"{change}, at `{where.text}`"
            raise Failed("floating", self.problem)

    def check(self) -> None:
        """Raise Failed if a function that has ended handled errors in another way."""
        if not self.problem and self.is_left_strict():
            self.problem = STRICT
        if self.problem:
            raise Failed("floating", self.problem)

    def is_left_strict(self) -> bool:
        """Return whether a RuntimeWarning has become an error since."""
        rule = _rule()
        return rule is not None and rule is not self._rule and rule[0] == "error"


def _rule() -> Any:
    """The filter that says what becomes of a RuntimeWarning, whatever its text and place."""
    return next((rule for rule in warnings.filters if issubclass(RuntimeWarning, rule[2])), None)


def _shown_by() -> Any:
    """The function that shows a warning: a list's method in `catch_warnings(record=True)`."""
    return getattr(warnings, "_showwarnmsg_impl", None)
