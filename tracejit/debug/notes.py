"""The user's line behind an error that a generated module raises."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from tracejit.debug.switch import SWITCH
from tracejit.support.imports import import_module

KERNELS = "tracejit.kernels."


def add_note(error: BaseException) -> None:
    """Note on `error` (Python 3.11 and newer) which of the user's lines raised it inside a kernel:
    `in the generated code of loss.py:12  error = np.tanh(x @ w) - y`."""
    line = line_in_kernel(error)
    if line and hasattr(error, "add_note"):
        error.add_note(f"in the generated code of {line}")


def line_in_kernel(error: BaseException) -> str:
    """The user's line that has raised `error` inside a kernel, with its place; empty where none is
    known."""
    entry = _in_kernel(error)
    if entry is None:
        return ""
    user_lines = import_module("tracejit.debug.user_lines").user_lines
    space = entry.tb_frame.f_globals
    kernels = (kernel for kernel in SWITCH.kernels() if vars(kernel.module) is space)
    files: Any = next((kernel.files for kernel in kernels), {})
    found = user_lines(str(space.get("__source__", "")), files).get(entry.tb_lineno)
    return "" if found is None else f"{found.place}  {found.text}"


def is_of_kernel(error: BaseException) -> bool:
    """Return whether an error comes out of a kernel that was called, not out of a recording."""
    return _in_kernel(error) is not None


def _in_kernel(error: BaseException) -> TracebackType | None:
    """The innermost entry of a kernel in the traceback of `error`."""
    found, entry = None, error.__traceback__
    while entry is not None:
        if str(entry.tb_frame.f_globals.get("__name__", "")).startswith(KERNELS):
            found = entry
        entry = entry.tb_next
    return found
