"""User lines: the statement of the user's that each line of a generated module comes from.

The module cites it in the comment above: `# loss:2  error = y - x @ w    [recomputed]`. A kernel
that was recorded in this process also knows the file and the absolute line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from tracejit.ir.location import Location, location_text
from tracejit.support.errors import Where
from tracejit.support.words import file_name

_CITED = re.compile(
    r"\s*# (?P<short>\S.*?:\d+)(?:  (?P<text>.*?))?(?:    \[(?P<note>[^\[\]]*)\])?$"
)
Files = Mapping[Location, tuple[str, int]]
"""The file and line of each location, as `Graph.files` has them."""


class UserLine(NamedTuple):
    """One statement of the user's: `short` as generated code cites it, `loss:2`, its text, the
    note of the comment, and file and line where they are known."""

    short: str
    text: str
    note: str = ""
    filename: str = ""
    lineno: int = 0

    @property
    def place(self) -> str:
        """The line as editors find it, `loss.py:12`; `loss:2` where the file is not known."""
        return f"{file_name(self.filename)}:{self.lineno}" if self.filename else self.short

    @property
    def where(self) -> Where:
        """The line as errors show it."""
        if self.filename:
            return Where(self.filename, self.lineno, self.text)
        function, _, line = self.short.rpartition(":")
        return Where(function, int(line), self.text)


def user_lines(source: str, files: Files) -> dict[int, UserLine]:
    """The user's line of each line of a generated module, by number; lines of no user are missing.

    >>> text = "def forward(x):\\n    # loss:2  return np.sum(x)\\n    out = add.reduce(x)\\n"
    >>> user_lines(text, {})[3].place
    'loss:2'
    """
    absolute = {location_text(one._replace(note="")).rstrip(): at for one, at in files.items()}
    found: dict[int, UserLine] = {}
    current: UserLine | None = None
    for number, line in enumerate(source.split("\n"), 1):
        if line[:1] not in ("", " ", "#"):
            current = None
        cited = _CITED.match(line)
        if cited is not None:
            short, text, note = cited["short"], cited["text"] or "", cited["note"] or ""
            filename, lineno = absolute.get(f"{short}  {text}".rstrip(), ("", 0))
            current = UserLine(short, text, note, filename, lineno)
        elif current is not None and line.strip():
            found[number] = current
    return found
