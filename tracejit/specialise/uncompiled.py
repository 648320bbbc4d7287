"""Calls that no kernel serves: how many there were and why, and one warning of each cause.

A call is recorded for itself alone where the function changes what it reads, and runs as plain
Python where its kernel raises or its arguments share memory. A function that decides at each trip
of a loop is recorded for each way through it. All take far longer than a kernel.
Nobody would notice, so the second such call warns, and `explain()` tells of all of them. `CAUSES`
has a row for every way into Python.
"""

from __future__ import annotations

import sys
import warnings
from typing import NamedTuple

from tracejit.debug.notes import is_of_kernel, line_in_kernel
from tracejit.runtime.identity import NotApart
from tracejit.runtime.single_flight import Mutex
from tracejit.specialise.trace_tree import MAX_NODES
from tracejit.support.errors import NotImportableError, TracejitError, TracejitWarning
from tracejit.support.event_log import log
from tracejit.trace.recording.decisions import Failed
from tracejit.trace.source import places

SECOND = 2
RECORDED = "recorded {count} without keeping a kernel"
AS_PYTHON = "run {count} as plain Python"


class Cause(NamedTuple):
    """The words for one cause: what becomes of the call, why, and how to avoid it. Call number
    `patience` warns."""

    fate: str
    because: str
    fix: str
    patience: int = SECOND


CAUSES = {
    "changing": Cause(
        RECORDED,
        "the function itself changes {detail}",
        "hold it in a tj.Variable, which a kernel can assign, or change it outside of the "
        "function.",
    ),
    "iterator": Cause(
        RECORDED,
        "the function takes elements from an iterator, and these are not known in advance",
        "take the element outside of the function, and pass it as an argument.",
    ),
    "again": Cause("recorded {count} without need", "{detail}", "{fix}"),
    "trips": Cause(
        "been recorded again for {count}",
        "{detail}",
        "{fix}",
        patience=1,
    ),
    "kernel": Cause(
        AS_PYTHON,
        "the kernel raised {detail}, which plain Python does not raise",
        "test for it before the call, or choose with np.where(condition, a, b). If nothing in the "
        "function catches that error, please report it: it is a mistake of tracejit.",
    ),
    "module": Cause(
        AS_PYTHON,
        "the module that was generated for it cannot be used, which is a mistake of tracejit "
        "({detail})",
        "report it, with what TRACEJIT_DUMP=source prints. The result is Python's, and is right.",
        patience=1,
    ),
    "warned": Cause(
        AS_PYTHON,
        "the kernel raised {detail}, because warnings are errors here, and plain Python does not "
        "raise it: a kernel has other operations than the function, and may warn at another place",
        "do not turn floating-point warnings into errors.",
        patience=sys.maxsize,
    ),
    "recording": Cause(
        AS_PYTHON,
        "recording it raised {detail}, which plain Python does not raise",
        "test for it before the call. If nothing in the function catches that error, please "
        "report it: it is a mistake of tracejit.",
    ),
    "overlap": Cause(AS_PYTHON, "{detail}", "{fix}"),
    "labelled": Cause(AS_PYTHON, "{detail}", "{fix}"),
    "decision": Cause(
        AS_PYTHON,
        "Python branches on {detail}",
        "choose between arrays with np.where(condition, a, b).",
    ),
    "prefix": Cause(
        AS_PYTHON,
        "computing the value that Python branches on raised {detail}",
        "test for it before the call, or choose with np.where(condition, a, b).",
    ),
    "text": Cause(
        AS_PYTHON,
        "it catches an error whose message shows an array",
        "leave the array out of the message.",
    ),
    "reads": Cause(
        AS_PYTHON,
        "other threads keep changing the values that it reads",
        "pass the changing value as an argument, or hold it in a tj.Variable.",
    ),
    "attribute": Cause(
        AS_PYTHON,
        "the function assigns a computed value to the attribute {detail}, which held neither a "
        "number nor an array, or which a tape follows",
        "hold it in a tj.Variable.",
    ),
    "floating": Cause(
        AS_PYTHON,
        "{detail}, and a kernel has other operations, so it would raise other errors",
        "ignore floating-point errors, and test the values: np.any(x == 0).",
        patience=1,
    ),
    "long": Cause(
        AS_PYTHON,
        f"the call takes a branch that is in none of the {{detail}} recorded traces, whose code "
        f"has more than {MAX_NODES:,} operations",
        "choose between arrays with np.where(condition, a, b).",
        patience=1,
    ),
    "traces": Cause(
        AS_PYTHON,
        "the call takes a branch that is in none of the {detail} recorded traces",
        "choose between arrays with np.where(condition, a, b), or allow more traces, "
        "@tj.function(max_paths=...).",
        patience=1,
    ),
}


class Count(NamedTuple):
    """The number of calls with one cause, and the words for the last of them."""

    calls: int
    detail: str
    fix: str


class UncompiledCalls:
    """The calls of one function that no kernel serves, by cause. The user can ask a function that
    `is_held` for them."""

    def __init__(self, name: str, is_held: bool = True) -> None:
        """Begin with no such call of the function `name`."""
        self.name = name
        self.is_held = is_held
        self._counts: dict[str, Count] = {}
        self._mutex = Mutex()

    def clear(self) -> None:
        """Forget them; what has warned warns again."""
        with self._mutex.here():
            self._counts.clear()

    def note(self, row: str, detail: str = "", fix: str = "") -> None:
        """Count one more call with this cause, and warn at the user's line when they become a
        habit."""
        with self._mutex.here():
            calls = self._counts[row].calls + 1 if row in self._counts else 1
            count = self._counts[row] = Count(calls, detail, fix)
        log("fallback", lambda: f"{self._told(row, count)} ({places.line()})")
        if calls == CAUSES[row].patience:
            text = self._told(row, count)
            if self.is_held:
                text += f" {self.name}.explain() counts them."
            warnings.warn(text, TracejitWarning, stacklevel=places.user_depth())

    def note_fallback(self, error: BaseException) -> None:
        """Count a call that Python has answered, after this error."""
        self.note(*cause_of(error))

    def tell(self) -> list[str]:
        """A line for each cause."""
        with self._mutex.here():
            counts = list(self._counts.items())
        # Its kernel tells of "again".
        return [self._told(row, count) for row, count in counts if row != "again"]

    def _told(self, row: str, count: Count) -> str:
        """The cause, how often there was one, and the cure."""
        cause = CAUSES[row]
        words = {"detail": count.detail, "fix": count.fix}
        many = count.calls > 1
        fate = cause.fate.format(count=f"{count.calls} calls" if many else "a call")
        last = ", the last" if many else ""
        text = f"{self.name} has {fate}{last} because {cause.because.format(**words)}."
        fix = cause.fix.format(**words)
        return f"{text} To avoid it: {fix}" if fix else text


def cause_of(error: BaseException) -> tuple[str, str, str]:
    """The row of `CAUSES` for an error after which Python made the call, and the words it has."""
    if isinstance(error, NotApart):
        return "overlap", str(error), error.fix
    if isinstance(error, Failed):
        cause = error.__cause__
        return error.row, error.detail if cause is None else _spelled(cause), ""
    if isinstance(error, TracejitError) and error.row == "labelled":
        words = error.words
        detail = f"{words['what']} is {words['kind']}, whose operations have other rules"
        return "labelled", detail, str(words["fix"])
    if isinstance(error, NotImportableError):
        return "module", _spelled(error.__cause__ or error), ""
    if isinstance(error, Warning):
        return "warned", _spelled(error), ""
    if is_of_kernel(error):
        line = line_in_kernel(error)
        return "kernel", _spelled(error) + (f" ({line})" if line else ""), ""
    return "recording", _spelled(error), ""


def _spelled(error: BaseException) -> str:
    """An error in a line."""
    return f"{type(error).__name__}: {error}".partition("\n")[0].rstrip(":. ")
