"""Location: the user's statement that a node comes from. Origin: the function of a graph.

Both are part of keys and of generated text. They name no folder of a machine, no absolute line and
no column: these differ between checkouts, edits and versions of Python. `Graph.files` knows the
absolute lines, for errors.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

from tracejit.support.words import printable


class Location(NamedTuple):
    """A statement of the user's: function as module.qualname, line relative to its def, text,
    marker's note."""

    function: str
    line: int
    text: str
    note: str = ""

    @property
    def short(self) -> str:
        """The location as generated code cites it: loss:3."""
        return printable(f"{self.function.rpartition('.')[2]}:{self.line}")


class ExpressionLocation(Location):
    """A location that knows the running expression besides the statement: an instruction of the
    user's code.

    The expression is not a part of equality, of keys or of text. Its code is None once nothing else
    holds it.
    """

    code: Callable[[], CodeType | None]
    instruction: int

    @classmethod
    def of(
        cls, where: Location, code: Callable[[], CodeType | None], instruction: int
    ) -> ExpressionLocation:
        """`where`, at the instruction with this offset."""
        made = cls(*where)
        made.code, made.instruction = code, instruction
        return made

    def _replace(self, **fields: Any) -> ExpressionLocation:
        """This location with other fields, at the same expression."""
        return self.of(super()._replace(**fields), self.code, self.instruction)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be copied and pickled as the location alone, which needs no code."""
        return Location, tuple(self)


NOWHERE = Location("", 0, "")
"""In place of a location: what is recorded has no line of the user's."""


class Origin(NamedTuple):
    """The user's function as module.qualname, and its file, relative to where its package is.

    `place` is where it stands in this process, `steps.py:12` or `In [3]:1`: no part of any key or
    text.
    """

    name: str
    file: str = ""
    place: str = ""


def location_text(where: Location) -> str:
    """The user's line as generated code cites it: `loss:3  return np.sum(h)    [note]`."""
    note = f"    [{where.note}]" if where.note else ""
    return f"{where.short}  {printable(where.text)}{printable(note)}"
