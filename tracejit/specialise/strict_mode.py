"""Strict mode: with TRACEJIT_STRICT=1 no fallback to Python hides a mistake of tracejit.

A call whose kernel or recording raises is made again by Python, whose answer is right. That is
meant for errors of the user's program, which Python raises again and the program may catch. An
error that Python does not raise anywhere in the second run is a mistake in generated code or in the
recorder. Strict mode watches the second run and raises StrictError for it. Tests run under it.
Likewise a recording with free dimensions that fails is made again without them; strict mode lets an
error through that is tracejit's own.

Floating-point errors and warnings do not count: a kernel may meet them in another place than
NumPy does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tracejit.support.config import setting
from tracejit.support.errors import GraphError, NotImportableError, TracejitError, fail
from tracejit.trace.guards.reads import is_foreign
from tracejit.trace.source import places
from tracejit.trace.source.places import PACKAGE

NOT_PROMISED = (FloatingPointError, Warning)


def is_strict() -> bool:
    """Return whether the setting `strict` is on."""
    return bool(setting("strict"))


def is_mistake(error: BaseException) -> bool:
    """Return whether an error is one of tracejit's own, which nothing in a user's program
    explains."""
    if isinstance(error, TracejitError):
        return isinstance(error, (GraphError, NotImportableError))
    return places.is_ours(error)


@contextmanager
def python_must_raise(error: BaseException | None, function: str) -> Iterator[None]:
    """In strict mode, raise StrictError after a block in which code outside tracejit did not meet
    an error of the type of `error`, whether it was caught there or not."""
    if error is None or not is_strict() or isinstance(error, NOT_PROMISED):
        yield
        return
    raised: set[type[BaseException]] = set()
    with _noting_errors(raised):
        yield
    kind = type(error)
    if not any(issubclass(kind, one) or issubclass(one, kind) for one in raised):
        problem = f"{kind.__name__}: {error}"
        raise fail("strict", places.here(), function=function, problem=problem) from error


@contextmanager
def _noting_errors(raised: set[type[BaseException]]) -> Iterator[None]:
    """Add to `raised` the types of the errors that frames outside tracejit, and of Python's library
    those that it does not call, meet on this thread."""

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "exception" and not _is_called_by_tracejit(frame):
            raised.add(argument[0])
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    except BaseException as error:
        raised.add(type(error))
        raise
    finally:
        sys.settrace(before)


def _is_called_by_tracejit(frame: FrameType | None) -> bool:
    """Return whether tracejit has called the library's code that runs in a frame."""
    while frame is not None and is_foreign(frame.f_code.co_filename):
        if frame.f_code.co_filename.startswith(PACKAGE):
            return True
        frame = frame.f_back
    return False
