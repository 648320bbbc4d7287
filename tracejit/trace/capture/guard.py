"""Guard: a test of one value under which a kernel is still right, and its words.

Kinds of guards are records: `guards.py` is their table. A record writes its test as the Python that
runs at each call (`spelling`), tests a value by the same text (`check`), and says how a value
differs from what it wants (`explain`). Nothing parses a spelling: whatever wants to know more asks
the record.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CellType
from typing import Any, ClassVar, NamedTuple

from tracejit.trace.capture.access_paths import Bind
from tracejit.trace.capture.contents import remembers, same_buffer, same_contents
from tracejit.trace.capture.descriptions import described, told_apart
from tracejit.trace.capture.exactness import exact, is_exactly


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
    kernel and is now, and the words of its own that the sentence has."""

    sentence: Sentence
    what: str
    was: str = ""
    now: str = ""
    detail: str = ""
    fix: str = ""

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
    first use, the `parts` of what is wanted, and functions. `sentence` explains an argument that
    fails it, `captured` another value; `said` are the words for one that passes and one that fails,
    where these are always the same.
    """

    test: ClassVar[str] = ""
    said: ClassVar[tuple[str, str] | None] = None
    sentence: ClassVar[Sentence] = CAPTURED
    captured: ClassVar[Sentence] = CAPTURED

    def text(self) -> str:
        """The test for what is wanted here."""
        return self.test

    def parts(self) -> dict[str, Any]:
        """The objects in the test. `object` is the very object that is wanted, `wanted` may be a
        literal that is equal to it."""
        return {"wanted": self.wanted, "object": self.wanted}

    def check(self, value: Any) -> bool:
        """Tell if a value passes. A test that raises is one that fails."""
        parts = self.parts()
        return bool(_compiled(self.text(), tuple(parts)).check(value, *parts.values()))

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        """The test as a Python expression: `value` is the expression that is evaluated first,
        `again` what it is called after that, where it is another."""
        parts = self.parts()
        spell = _compiled(self.text(), tuple(parts)).spell
        return spell(value, again or value, bind, *parts.values())

    def aspect(self, value: Any) -> Any:
        """What of a value is compared."""
        return value

    def words(self, aspect: Any) -> str:
        """Words for what is wanted, or for what a value has instead."""
        return described(aspect)

    def wants(self) -> str:
        """What a value has to be, in words."""
        return self.words(self.wanted) if self.said is None else self.said[0]

    def finds(self, value: Any) -> str:
        """What a value is that fails, in other words."""
        if self.said is not None:
            return self.said[1]
        return told_apart(self.wants(), self.words(self.aspect(value)))

    def explain(self, what: str, value: Any) -> Difference:
        """The sentence for an argument, called `what`, that fails."""
        return Difference(self.sentence, what, self.wants(), self.finds(value))


class CompiledTest(NamedTuple):
    """A test as two functions of its parts: of a value, and of the expression for one."""

    check: Callable[..., Any]
    spell: Callable[..., str]


@functools.cache
def _compiled(test: str, parts: tuple[str, ...]) -> CompiledTest:
    """A test that has these parts, compiled once."""
    fields = {name: f"{{literal({name}, bind)}}" for name in parts}
    fields |= {"object": "{by_name(object, bind)}", "value": "{value}", "again": "{again}"}
    functions = {name: f"{{bind({name})}}" for name in FUNCTIONS if name not in parts}
    names = dict(zip((*parts, *FUNCTIONS), (*parts, *FUNCTIONS), strict=True))
    check = test.format(**{**names, "value": "value", "again": "value"})
    spell = test.format(**functions, **fields)
    words, space = ", ".join(parts), {**FUNCTIONS, "literal": literal, "by_name": by_name}
    return CompiledTest(
        eval(f"lambda value, {words}: {check}", dict(FUNCTIONS)),
        eval(f"lambda value, again, bind, {words}: f{spell!r}", space),
    )


def by_name(thing: Any, bind: Bind) -> str:
    """The name of an object in a test: what is one of Python's words has no other."""
    return repr(thing) if is_word(thing) else bind(thing)


def is_word(value: Any) -> bool:
    """Tell if a value is None, True or False."""
    return value is None or type(value) is bool


def literal(value: Any, bind: Bind) -> str:
    """A value in a test: written out where that is short, and by name otherwise."""
    kind = type(value)
    if kind is float:
        return repr(value) if value - value == 0 else bind(value)  # but inf and nan
    if kind is int:
        return repr(value) if abs(value) < 2**63 else bind(value)
    if kind is tuple and all(type(one) is int for one in value):
        return repr(value)
    return repr(value) if is_word(value) or kind is bytes else bind(value)


def is_empty(cell: CellType) -> bool:
    """Tell if the variable of a closure is bound to nothing.

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
        exact, hasattr, is_empty, is_exactly, len, map, remembers, repr, same_buffer, same_contents,
        tuple, type,
    )
}  # fmt: skip
"""The functions in tests."""
