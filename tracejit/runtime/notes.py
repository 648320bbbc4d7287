"""The user's line behind an error that a generated module raises."""

from __future__ import annotations

import linecache

KERNELS = "tracejit.kernels."


def add_note(error: BaseException) -> None:
    """Note on `error` (Python 3.11 and newer) which of the user's lines raised it inside a
    kernel."""
    entry = error.__traceback__
    while entry is not None:
        module = entry.tb_frame.f_globals.get("__name__", "")
        if module.startswith(KERNELS) and hasattr(error, "add_note"):
            lines = linecache.getlines(entry.tb_frame.f_code.co_filename)
            comments = [line.strip() for line in lines[: entry.tb_lineno]]
            comments = [line for line in comments if line.startswith("# ")]
            if comments:
                error.add_note(f"in the generated code of {comments[-1].lstrip('# ')}")
            return
        entry = entry.tb_next
