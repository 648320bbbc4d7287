"""Guard: a test of one value under which a kernel is still right, and its words.

Kinds of guards are records: `guards.py` is their table. A record writes its test as the Python that
runs at each call (`spelling`), tests a value by the same text (`check`), and says how a value
differs from what it wants (`explain`). Nothing parses a spelling: whatever wants to know more asks
the record.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable
from types import CellType
from typing import Any, ClassVar, NamedTuple

from tracejit.trace.guards.access_paths import Bind
from tracejit.trace.guards.contents import same_buffer, same_contents
from tracejit.trace.guards.descriptions import described, told_apart
from tracejit.trace.guards.exactness import exact, is_exactly


class Sentence(NamedTuple):
    """The words for a guard that fails, and the `row` that they are found by. `because` says what
    a call had, and `has` what the kernel has; where `has` is empty, `because` says both. `then`
    says what follows, `fix` how to avoid it, and `changed` what the function itself has changed."""

    row: str
    because: str
    has: str = ""
    then: str = ""
    fix: str = ""
    changed: str = ""


class Difference(NamedTuple):
    """One guard that fails: its sentence, what the user calls the value, what that was for the
    kernel and is now, and the words of its own that the sentence has. `place` tells where
    it stands: the name of a leaf, or the id of an object and the name of its attribute."""

    sentence: Sentence
    what: str
    was: str = ""
    now: str = ""
    detail: str = ""
    fix: str = ""
    place: Any = None

    @property
    def row(self) -> str:
        """The name of the sentence."""
        return self.sentence.row

    def tell(self, part: str) -> str:
        """A part of the sentence."""
        text: str = getattr(self.sentence, part)
        return text.format(**self._asdict())


CAPTURED = Sentence(
    "captured",
    "{what} was {was} and became {now}",
    fix="pass it as an argument, or hold it in a tj.Variable.",
)


class _Record(NamedTuple):
    """The fields of every guard: what is `wanted` of a value, words for that, and, of contents,
    how many `bytes` are compared."""

    wanted: Any = None
    noun: str = ""
    bytes: int = 0


class Guard(_Record):
    """A test of one value.

    `test` is the Python of the test. In braces stand the value, which is called `again` after its
    first use, attributes of the guard, such as what is `wanted`, by name or, with !r, as literals,
    and functions. `sentence` explains an argument that fails it, `captured` another value; `said`
    are the words for a value that passes and for one that fails, where these are always the same.
    """

    test: ClassVar[str] = ""
    said: ClassVar[tuple[str, str] | None] = None
    sentence: ClassVar[Sentence] = CAPTURED
    captured: ClassVar[Sentence] = CAPTURED

    def text(self) -> str:
        """The test for what is wanted here."""
        return self.test

    @property
    def kind(self) -> type:
        """The class of what is wanted."""
        return type(self.wanted)

    def check(self, value: Any) -> bool:
        """Return whether a value passes. A test that raises is one that fails."""
        return bool(_compiled(self.text()).check(self, value))

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        """The test as a Python expression: `value` is the expression that is evaluated first,
        `again` what it is called after that, where it is another."""
        return _compiled(self.text()).spell(self, value, again or value, bind)

    def aspect(self, value: Any) -> Any:
        """The part of a value that is compared."""
        return value

    def words(self, aspect: Any) -> str:
        """Words for what is wanted, or for what a value has instead."""
        return described(aspect)

    def wants(self) -> str:
        """Words for what a value has to be."""
        return self.words(self.wanted) if self.said is None else self.said[0]

    def finds(self, value: Any) -> str:
        """Words, other than those, for a value that fails."""
        if self.said is not None:
            return self.said[1]
        return told_apart(self.wants(), self.words(self.aspect(value)))

    def explain(self, what: str, value: Any) -> Difference:
        """The sentence for an argument, called `what`, that fails."""
        return Difference(self.sentence, what, self.wants(), self.finds(value))


class CompiledTest(NamedTuple):
    """A test as two functions of a guard: of a value, and of the expression for one."""

    check: Callable[[Guard, Any], Any]
    spell: Callable[[Guard, str, str, Bind], str]


@functools.cache
def _compiled(test: str) -> CompiledTest:
    """A test, compiled once."""
    check = spell = ""
    for text, name, _, conversion in string.Formatter().parse(test):
        check, spell = check + text, spell + text
        if name in ("value", "again"):
            check, spell = f"{check}value", f"{spell}{{{name}}}"
        elif name in FUNCTIONS:
            check, spell = f"{check}{name}", f"{spell}{{bind({name})}}"
        elif name is not None:
            part = f"guard.{name}!r" if conversion else f"by_name(guard.{name}, bind)"
            check, spell = f"{check}guard.{name}", f"{spell}{{{part}}}"
    space = {**FUNCTIONS, "by_name": by_name}
    return CompiledTest(
        eval(f"lambda guard, value: {check}", space),
        eval(f"lambda guard, value, again, bind: f{spell!r}", space),
    )


def by_name(thing: Any, bind: Bind) -> str:
    """The name of an object in a test: what is one of Python's words has no other."""
    return repr(thing) if thing is None or thing is True or thing is False else bind(thing)


def is_empty(cell: CellType) -> bool:
    """Return whether the variable of a closure is bound to nothing.

    >>> is_empty(CellType()), is_empty(CellType(1))
    (True, False)
    """
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True


FUNCTIONS: dict[str, Any] = {
    one.__name__: one
    for one in (
        exact, hasattr, is_empty, is_exactly, len, map, repr, same_buffer, same_contents,
        tuple, type,
    )
}  # fmt: skip
"""The functions in tests."""
