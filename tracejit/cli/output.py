"""Output of commands: text and JSON, refusals, and the spelling of sizes, dates and durations."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from datetime import datetime, timezone
from typing import Any, TextIO

from tracejit.support.words import printable

WIDE = 100
"""The columns that a terminal needs for columns side by side."""


class Refusal(Exception):
    """A command that cannot be carried out: why, and the exit code."""

    def __init__(self, why: str, code: int = 2) -> None:
        """`why` is shown to the user, who then sees `code`."""
        super().__init__(why)
        self.code = code


def complain(text: str) -> None:
    """Tell the user that something is wrong, or worth knowing, on stderr."""
    print(f"tracejit: {escaped(text, sys.stderr)}", file=sys.stderr)


def say(text: str, end: str = "\n") -> None:
    """Print what a command answers."""
    print(escaped(text, sys.stdout), end=end)


def escaped(text: str, stream: TextIO) -> str:
    """`text` as `stream` may get it: the user's names and lines do not move a terminal's cursor."""
    if not stream.isatty():
        return text
    return "\n".join(map(printable, text.expandtabs(4).split("\n")))


def print_json(data: Any) -> None:
    """Print one JSON document."""
    print(json.dumps(data, indent=2, default=str))


def terminal_width() -> int:
    """The columns of the terminal that stdout is; 0 where it is none."""
    return shutil.get_terminal_size().columns if is_terminal() else 0


def is_terminal() -> bool:
    """Return whether stdout is a terminal that moves its cursor."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def has_colours() -> bool:
    """Return whether stdout is a terminal with colours that the user wants
    (https://no-color.org)."""
    return is_terminal() and not os.environ.get("NO_COLOR")


def kernels(count: int) -> str:
    """A number of kernels.

    >>> kernels(1), kernels(2)
    ('1 kernel', '2 kernels')
    """
    return f"{count} kernel{'' if count == 1 else 's'}"


def size(count: int) -> str:
    """Bytes as people write them, in powers of 1000.

    >>> size(999), size(999_999)
    ('999 B', '1.0 MB')
    """
    if count < 1000:
        return f"{count} B"
    number, unit = count / 1e3, "kB"
    for larger in ("MB", "GB", "TB"):
        if number < 999.95:
            break
        number, unit = number / 1e3, larger
    return f"{number:.1f} {unit}"


def duration(seconds: float) -> str:
    """A time as people write it.

    >>> duration(2.5e-6), duration(0.0123), duration(3.0)
    ('2.5 us', '12.3 ms', '3.00 s')
    """
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def date(seconds: float) -> str:
    """A time on this machine's clock; files may carry times that no calendar has."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    except (ValueError, OverflowError, OSError):
        return "no date"


def timestamp(seconds: float) -> str | None:
    """A time in UTC as ISO 8601 spells it; None if no calendar has it."""
    try:
        return datetime.fromtimestamp(int(seconds), timezone.utc).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
