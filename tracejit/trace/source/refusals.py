"""Refusals that the user's program has caught: raise them again when the call ends.

`try: s = float(x) except Exception: s = 0.0` goes on with s in NumPy. While it is recorded, float
refuses, and the program would go on without: what is recorded then is another program. A function
that spells the name of such an error knows what it catches.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager

from tracejit.ir.types import ArrayType
from tracejit.support.errors import (
    REFUSALS,
    InPlaceError,
    TracejitError,
    UnsupportedError,
    ValueNeededError,
    fail,
)
from tracejit.trace.source.places import OWN_FOLDERS

_STANDARD = sysconfig.get_path("stdlib") + os.sep
_PACKAGES = sysconfig.get_path("purelib") + os.sep
_NAMES = {"TracejitError", "ValueNeededError", "UnsupportedError", "InPlaceError"}
_CONVERSIONS = ("float(", "int(", "complex(", "format(", "hash(")
_ASKED_BY_NUMPY = ("__float__", "__int__", "__complex__")


@contextmanager
def none_caught(function: str) -> Iterator[None]:
    """Raise what was refused within the block and caught by the program, where it ends normally.

    Of blocks within blocks the outermost does so.
    """
    if REFUSALS.raised is not None:
        yield
        return
    REFUSALS.raised = []
    try:
        yield
        for error in REFUSALS.raised:
            if _is_refusal(error) and _is_caught_by_program(error):
                raise _told(error, function)
    finally:
        REFUSALS.raised = None


def refused() -> int:
    """The number of refusals so far."""
    return len(REFUSALS.raised or ())


def forget_refusals(count: int) -> None:
    """Keep the first refusals alone: what met the others runs again, or not at all."""
    if REFUSALS.raised is not None:
        del REFUSALS.raised[count:]


def _is_refusal(error: TracejitError) -> bool:
    """Return whether NumPy would have gone on: it raises, too, where a number is asked of an
    array."""
    asked, call = error.words.get("type"), str(error.words.get("call"))
    if isinstance(asked, ArrayType) and asked.size != 1 and call.startswith(_CONVERSIONS):
        return False
    return isinstance(error, (ValueNeededError, UnsupportedError, InPlaceError))


def _is_caught_by_program(error: TracejitError) -> bool:
    """Return whether the frame that the error came to last is the program's, or of a package that
    it uses other than NumPy and Python's own, and does not name what it catches as an error of
    tracejit. NumPy raises another error where a number for an element of an array is refused:
    the frame that the refusal came to last is the Tensor's, and the program's called it."""
    if error.__traceback__ is None:
        return False
    frame = error.__traceback__.tb_frame
    if frame.f_code.co_name in _ASKED_BY_NUMPY and frame.f_back is not None:
        frame = frame.f_back
    code = frame.f_code
    filename = code.co_filename
    if not _NAMES.isdisjoint((*code.co_names, *code.co_freevars)):
        return False  # it catches what it knows
    if filename.startswith(_STANDARD) and not filename.startswith(_PACKAGES):
        return False
    return not filename.startswith(OWN_FOLDERS)


def _told(error: TracejitError, function: str) -> TracejitError:
    what, *_, fix = str(error).split("\n")
    what, fix = what.removesuffix("."), fix.removeprefix("  Fix: ")
    return fail("caught", error.where, function=function, what=what, fix=fix)
