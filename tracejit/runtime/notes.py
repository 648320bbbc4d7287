"""The user's line behind an error that a generated module raises."""

from __future__ import annotations

import linecache
from types import TracebackType

KERNELS = "tracejit.kernels."


def add_note(error: BaseException) -> None:
    """Note on `error` (Python 3.11 and newer) which of the user's lines raised it inside a
    kernel."""
    line = line_in_kernel(error)
    if line and hasattr(error, "add_note"):
        error.add_note(f"in the generated code of {line}")


def line_in_kernel(error: BaseException) -> str:
    """The user's line, as the generated module cites it, that has raised `error` inside a kernel;
    empty where none is known."""
    entry = _in_kernel(error)
    if entry is None:
        return ""
    lines = linecache.getlines(entry.tb_frame.f_code.co_filename)
    comments = [line.strip() for line in lines[: entry.tb_lineno]]
    comments = [line for line in comments if line.startswith("# ")]
    return comments[-1].lstrip("# ") if comments else ""


def is_of_kernel(error: BaseException) -> bool:
    """Tell if an error comes out of a kernel that was called, not out of a recording."""
    return _in_kernel(error) is not None


def _in_kernel(error: BaseException) -> TracebackType | None:
    """The entry of a kernel in the traceback of `error`."""
    entry = error.__traceback__
    while entry is not None:
        if str(entry.tb_frame.f_globals.get("__name__", "")).startswith(KERNELS):
            break
        entry = entry.tb_next
    return entry
