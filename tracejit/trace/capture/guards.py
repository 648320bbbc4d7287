"""Guards: the tests under which a kernel is still right, one record per kind.

A guard is a test of one value: an argument, or what an access path reads (`conditions.py`). Its
record tests a value (`check`), writes the same test as the Python that runs at each call
(`spelling`), and says how a value differs from what it wants (`explain`). Nothing parses a
spelling: whatever wants to know more asks the record.

Those of arrays stand in `array_guards.py`. To add a kind, add a record; until
`tests/trace/capture/test_guards.py` has values on which its `check` and `spelling` are compared, a
test fails.

>>> guard = Length(2)
>>> guard.check([1, 2]), guard.check([1]), guard.spelling("x", lambda thing: thing.__name__)
(True, False, 'len(x) == 2')
>>> guard.explain("layers", [1]).tell("because")
'layers was of length 2 and became of length 1'
"""

from __future__ import annotations

from dataclasses import dataclass
from types import CellType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tracejit.support.words import a
from tracejit.trace.capture.access_paths import Bind
from tracejit.trace.capture.descriptions import described, keys_told, listed, told_apart
from tracejit.trace.capture.exactness import (
    exact,
    has_looser_equality,
    is_exactly,
    is_normal,
    is_plain,
)


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
ITERATOR = Sentence(
    "iterator",
    "the function draws from an iterator",
    then="Its kernel serves no other call.",
    fix="draw outside of the function, and pass the element as an argument.",
)
KIND = Sentence("kind", "{what} was {now}", "{was}", fix="pass {was} at each call.")


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """A test of one value.

    `wanted` is what it compares the value with. `sentence` explains an argument that fails it,
    `captured` another value. `repeats` says that its spelling has the value more than once.
    """

    wanted: Any = None

    sentence: ClassVar[Sentence] = CAPTURED
    captured: ClassVar[Sentence] = CAPTURED
    repeats: ClassVar[bool] = False

    def check(self, value: Any) -> bool:
        """Tell if a kernel may be used that was made with this guard. An error is a no."""
        raise NotImplementedError

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        """The same test as a Python expression: `value` is the expression that is evaluated first,
        `again` what it is called after that, where it is another."""
        raise NotImplementedError

    def wants(self) -> str:
        """What a value has to be, in words."""
        return described(self.wanted)

    def finds(self, value: Any) -> str:
        """What a value is that fails it, in other words."""
        return told_apart(self.wanted, value)

    def explain(self, what: str, value: Any) -> Difference:
        """The sentence for an argument, called `what`, that fails it."""
        return Difference(self.sentence, what, self.wants(), self.finds(value))


# Identity and type


@dataclass(frozen=True, slots=True, eq=False)
class Is(Guard):
    """The very same object."""

    wanted: Any

    def check(self, value: Any) -> bool:
        return value is self.wanted

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        is_word = self.wanted is None or type(self.wanted) is bool
        return f"{value} is {self.wanted if is_word else bind(self.wanted)}"


@dataclass(frozen=True, slots=True, eq=False)
class IsVariable(Is):
    """The Variable that a kernel reads and assigns."""

    sentence = Sentence(
        "variable",
        "{what} was another Variable",
        then="A kernel reads and assigns the Variables that it was made with.",
        fix="keep one Variable and assign to it.",
    )


@dataclass(frozen=True, slots=True, eq=False)
class OfType(Guard):
    """An object of a class, and of no subclass; `noun` is what the user calls one."""

    wanted: type
    noun: str = ""

    sentence = KIND

    def check(self, value: Any) -> bool:
        kind = type(value)
        return bool(getattr(kind, "__tracejit_class__", kind) is self.wanted)

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        return f"{bind(type)}({value}) is {bind(self.wanted)}"

    def wants(self) -> str:
        return self.noun or a(self.wanted.__name__)

    def finds(self, value: Any) -> str:
        now = kind_of(value)
        return now if now != self.wants() else f"another {now.partition(' ')[2]}"


def kind_of(value: Any) -> str:
    """The kind of a value, in words."""
    if type(value) is np.ndarray:
        return described(value)
    name = type(value).__name__
    return a(f"np.{name}" if isinstance(value, np.generic) else name)


@dataclass(frozen=True, slots=True, eq=False)
class IsAlive(Guard):
    """What a weak reference refers to, as long as it lives."""

    def check(self, value: Any) -> bool:
        return value is not None

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        return f"{value} is not None"

    def wants(self) -> str:
        return "alive"

    def finds(self, value: Any) -> str:
        return "gone"


# Values


@dataclass(frozen=True, slots=True, eq=False)
class SameValue(Guard):
    """A number or text of this type, to the bit: 0.0 is not -0.0, nan is nan."""

    wanted: Any

    sentence = Sentence(
        "dynamic",
        "{what} was {now}",
        "{was}",
        "From its second value on {what} is dynamic: any serves.",
    )
    repeats = True

    @property
    def is_told_by_equality(self) -> bool:
        """Tell if nothing of its type but the same bits is equal to it."""
        value = self.wanted
        if isinstance(value, np.generic):
            return value.dtype.kind in "biuf" and bool(value != 0 and value == value)
        return isinstance(value, (str, bytes, int)) or (
            isinstance(value, float) and is_normal(value)
        )

    def check(self, value: Any) -> bool:
        if type(value) is not type(self.wanted):
            return False
        if self.is_told_by_equality:
            return bool(value == self.wanted)
        return bool(_bits(value) == _bits(self.wanted))

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        wanted, again = self.wanted, again or value
        if wanted is None or type(wanted) is bool:
            return f"{value} is {wanted}"
        kind = f"{bind(type)}({value}) is {bind(type(wanted))}"
        if self.is_told_by_equality:
            is_short = type(wanted) in (int, float) and abs(wanted) < 2**63
            return f"{kind} and {again} == {repr(wanted) if is_short else bind(wanted)}"
        if isinstance(wanted, np.generic):
            return f"{kind} and {again}.tobytes() == {wanted.tobytes()!r}"
        return f"{kind} and {bind(repr)}({again}) == {repr(wanted)!r}"

    def explain(self, what: str, value: Any) -> Difference:
        if type(value) is not type(self.wanted):
            return OfType(type(self.wanted), kind_of(self.wanted)).explain(what, value)
        return Guard.explain(self, what, value)


def _bits(value: Any) -> Any:
    """What tells a number from those that are equal to it."""
    return value.tobytes() if isinstance(value, np.generic) else repr(value)


@dataclass(frozen=True, slots=True, eq=False)
class Static(Guard):
    """An object that is the same by type and equality, and by what it is made of where its class
    may call others equal."""

    wanted: Any

    sentence = Sentence(
        "value",
        "{what} was {now}",
        "{was}",
        "Every value of {what} has a kernel of its own, as it is no array and no number.",
        "pass what is computed with as a number or an array; a few values need no change.",
    )
    repeats = True

    def check(self, value: Any) -> bool:
        wanted = self.wanted
        if value is wanted or type(value) is not type(wanted) or not value == wanted:
            return value is wanted
        return not has_looser_equality(wanted) or is_exactly(value, wanted)

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        if self.wanted is None or type(self.wanted) is bool:
            return f"{value} is {self.wanted}"
        again, wanted = again or value, bind(self.wanted)
        same = f"{bind(type)}({again}) is {bind(type(self.wanted))} and {again} == {wanted}"
        if has_looser_equality(self.wanted):
            same += f" and {bind(is_exactly)}({again}, {wanted})"
        return f"({value} is {wanted} or ({same}))"


@dataclass(frozen=True, slots=True, eq=False)
class Equal(Guard):
    """A state of the process or thread, by equality with a snapshot of it."""

    wanted: Any

    def check(self, value: Any) -> bool:
        return bool(value == self.wanted)

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        return f"{value} == {bind(self.wanted)}"


# Containers and namespaces

ATTRIBUTES = "of {} attributes"


@dataclass(frozen=True, slots=True, eq=False)
class Length(Guard):
    """A container of so many elements."""

    wanted: int
    noun: str = "of length {}"

    def check(self, value: Any) -> bool:
        return len(value) == self.wanted

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        return f"{bind(len)}({value}) == {self.wanted}"

    def wants(self) -> str:
        return self.noun.format(self.wanted)

    def finds(self, value: Any) -> str:
        return self.noun.format(len(value))


@dataclass(frozen=True, slots=True, eq=False)
class HasKeys(Guard):
    """A dict or set with these keys, to the bit and in this order."""

    wanted: tuple[Any, ...]
    noun: str = "keys"

    repeats = True

    def check(self, value: Any) -> bool:
        if not all(map(is_plain, self.wanted)):
            return exact(value) == exact(self.wanted)
        kinds = tuple(map(type, self.wanted))
        return tuple(value) == self.wanted and (
            {*kinds} <= {str} or tuple(map(type, value)) == kinds
        )

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        if not all(map(is_plain, self.wanted)):
            return f"{bind(exact)}({value}) == {bind(exact(self.wanted))}"
        keys = f"{bind(tuple)}({value}) == {bind(self.wanted)}"
        kinds, types = tuple(map(type, self.wanted)), f"{bind(map)}({bind(type)}, {again or value})"
        return keys if {*kinds} <= {str} else f"{keys} and {bind(tuple)}({types}) == {bind(kinds)}"

    def wants(self) -> str:
        return keys_told(self.noun, self.wanted)

    def finds(self, value: Any) -> str:
        return keys_told(self.noun, tuple(value), self.wanted)


@dataclass(frozen=True, slots=True, eq=False)
class Without(Guard):
    """A dict that has none of these keys."""

    wanted: frozenset[str]

    def check(self, value: Any) -> bool:
        return bool(value.keys().isdisjoint(self.wanted))

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        return f"{value}.keys().isdisjoint({bind(self.wanted)})"

    def wants(self) -> str:
        return f"without {listed(sorted(self.wanted))}"

    def finds(self, value: Any) -> str:
        return f"with {listed(sorted(self.wanted.intersection(value)))}"


@dataclass(frozen=True, slots=True, eq=False)
class WithoutAttribute(Guard):
    """An object that has no attribute of a name."""

    wanted: str

    def check(self, value: Any) -> bool:
        return not hasattr(value, self.wanted)

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        return f"not {bind(hasattr)}({value}, {self.wanted!r})"

    def wants(self) -> str:
        return f"without {self.wanted!r}"

    def finds(self, value: Any) -> str:
        return "with it"


@dataclass(frozen=True, slots=True, eq=False)
class Unbound(Guard):
    """The cell of a variable of a closure that is bound to nothing."""

    def check(self, value: Any) -> bool:
        return is_empty(value)

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        return f"{bind(is_empty)}({value})"

    def wants(self) -> str:
        return "not bound"

    def finds(self, value: Any) -> str:
        return "bound"


@dataclass(frozen=True, slots=True, eq=False)
class Never(Guard):
    """An iterator: what it answers next nobody knows, so that a kernel serves one call."""

    captured = ITERATOR

    def check(self, value: Any) -> bool:
        return False

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        return "False"

    def wants(self) -> str:
        return "at one element"

    def finds(self, value: Any) -> str:
        return "at another"


def is_empty(cell: CellType) -> bool:
    """Tell if the variable of a closure is bound to nothing.

    >>> is_empty(CellType()), is_empty(CellType(1))
    (True, False)
    """
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True
