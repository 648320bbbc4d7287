"""The user's line behind an error that a generated module raises."""

from __future__ import annotations

import linecache

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
    entry = error.__traceback__
    while entry is not None:
        if str(entry.tb_frame.f_globals.get("__name__", "")).startswith(KERNELS):
            lines = linecache.getlines(entry.tb_frame.f_code.co_filename)
            comments = [line.strip() for line in lines[: entry.tb_lineno]]
            comments = [line for line in comments if line.startswith("# ")]
            return comments[-1].lstrip("# ") if comments else ""
        entry = entry.tb_next
    return ""
