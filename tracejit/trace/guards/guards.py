"""Guards: tests of single values under which a kernel is still right, and their words.

Each kind of guard is a record. It writes its test as the Python that runs at each call
(`spelling`), tests a value by the same text (`check`), and says how a value differs from what it
wants (`explain`). Nothing parses a spelling: whatever wants to know more asks the record.

To add a kind, add a record: its `test`, the words for what it wants and for what a value has
instead, and a sentence, if its own says more. `tests/trace/guards/test_guards.py` fails until it
has values that pass the guard and values that do not.

>>> guard = Length(2)
>>> guard.check([1, 2]), guard.check([1]), guard.spelling("x", lambda thing: thing.__name__)
(True, False, 'len(x) == 2')
>>> guard.explain("layers", [1]).tell("because")
'layers was of length 2 and became of length 1'
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable
from types import CellType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tracejit.ir.dims import Dim, symbol_of
from tracejit.support.words import a
from tracejit.trace.guards.access_paths import Bind
from tracejit.trace.guards.contents import same_buffer, same_contents, same_table
from tracejit.trace.guards.descriptions import described, keys_told, listed, told_apart
from tracejit.trace.guards.exactness import (
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
        same_table, tuple, type,
    )
}  # fmt: skip
"""The functions in tests."""


KIND = Sentence("kind", "{what} was {now}", "{was}", fix="pass {was} at each call.")
RANK = Sentence(
    "rank",
    "{what} had shape {now}",
    "{was}",
    "Every number of dimensions has its own kernel.",
    "add or drop axes before the call: {what}[None], {what}[0].",
)


# Identity, type and value


class Is(Guard):
    """The very same object."""

    test = "{value} is {wanted}"


class IsVariable(Is):
    """The Variable that a kernel reads and assigns."""

    sentence = Sentence(
        "variable",
        "{what} was another Variable",
        then="A kernel reads and assigns only the Variables that it was made with.",
        fix="keep one Variable and assign to it.",
    )


class IsAlive(Guard):
    """The referent of a weak reference, as long as it lives."""

    test = "{value} is not None"
    said = "alive", "gone"


class OfType(Guard):
    """An object of a class, and of no subclass. `noun` is what the user calls one."""

    test = "{type}({value}) is {wanted}"
    sentence = KIND

    def check(self, value: Any) -> bool:
        kind = type(value)
        return bool(getattr(kind, "__tracejit_class__", kind) is self.wanted)

    def wants(self) -> str:
        return self.noun or a(self.wanted.__name__)

    def words(self, aspect: Any) -> str:
        return kind_of(aspect)


def kind_of(value: Any) -> str:
    """The kind of a value, in words."""
    if type(value) is np.ndarray:
        return described(value)
    name = type(value).__name__
    return a(f"np.{name}" if isinstance(value, np.generic) else name)


class SameValue(Guard):
    """A number or text of this type, which nothing of other bits is equal to."""

    test = "{type}({value}) is {kind} and {again} == {wanted}"
    sentence = Sentence(
        "dynamic",
        "{what} was {now}",
        "{was}",
        "The new kernel takes any value of {what}.",
    )

    def explain(self, what: str, value: Any) -> Difference:
        if type(value) is not type(self.wanted):
            return OfType(type(self.wanted), kind_of(self.wanted)).explain(what, value)
        return super().explain(what, value)


class SameBytes(SameValue):
    """A number of NumPy of this type, to the bit: 0.0 is not -0.0, nan is nan."""

    test = "{type}({value}) is {kind} and {again}.tobytes() == {bits}"

    @property
    def bits(self) -> Any:
        """The bytes of the number."""
        return self.wanted.tobytes()


class SameText(SameValue):
    """A number of Python of this type, to the bit."""

    test = "{type}({value}) is {kind} and {repr}({again}) == {bits}"

    @property
    def bits(self) -> str:
        """The number as Python writes it, which tells it from all others."""
        return repr(self.wanted)


def same_value(value: Any) -> Guard:
    """The guard of a number or text, of its type and to the bit."""
    if value is None or type(value) is bool:
        return Is(value)
    if is_told_by_equality(value):
        return SameValue(value)
    return SameBytes(value) if isinstance(value, np.generic) else SameText(value)


def is_told_by_equality(value: Any) -> bool:
    """Return whether only the same bits are equal to a number or text of its type.

    >>> is_told_by_equality(1.0), is_told_by_equality(0.0), is_told_by_equality(np.float32(1))
    (True, False, True)
    """
    if isinstance(value, np.generic):
        return value.dtype.kind in "biuf" and bool(value != 0 and value == value)
    return isinstance(value, (str, bytes, int)) or (isinstance(value, float) and is_normal(value))


class Static(Guard):
    """An object that is the same by type and equality, and by what it is made of where its class
    may call others equal."""

    sentence = Sentence(
        "value",
        "{what} was {now}",
        "{was}",
        "Every value of {what} has its own kernel, because it is neither an array nor a number.",
        "pass values to compute with as numbers or arrays. A few values need no change.",
    )

    def text(self) -> str:
        exactly = " and {is_exactly}({again}, {wanted})" * has_looser_equality(self.wanted)
        same = "({type}({again}) is {kind} and {again} == {wanted}" + exactly + ")"
        return "({value} is {wanted} or " + same + ")"


class Equal(Guard):
    """A state of the process or thread, by equality with a snapshot of it."""

    test = "{value} == {wanted}"


# Arrays


class HasDtype(Guard):
    """An array of a dtype."""

    test = "({value}.dtype is {wanted} or {again}.dtype == {wanted})"
    sentence = Sentence(
        "dtype",
        "{what} had dtype {now}",
        "{was}",
        fix="convert it before the call, {what}.astype(np.{was}).",
    )
    captured = CAPTURED._replace(because="{what} was of dtype {was} and became of dtype {now}")

    def aspect(self, value: Any) -> Any:
        return value.dtype

    def words(self, aspect: Any) -> str:
        return str(aspect)


class HasShape(Guard):
    """An array of a shape. A dimension that is free has a lower bound; `FreeSizes` names it, and
    tests what holds between dimensions."""

    sentence = Sentence("shape", "{what} had shape {now}", "{was}", "{detail}.", "{fix}")
    captured = CAPTURED._replace(because="{what} was of shape {was} and became of shape {now}")

    def text(self) -> str:
        fixed = [axis for axis, size in enumerate(self.wanted) if type(size) is not Dim]
        if len(fixed) == len(self.wanted) > 1:
            return "{value}.shape == {wanted!r}"
        tests = ["{value}.ndim == {rank!r}"]
        if len(self.wanted) == 1:  # without the tuple that shape makes
            tests += ["{len}({value}) == {wanted[0]!r}"] * len(fixed)
        else:
            tests += [f"{{value}}.shape[{axis}] == {{wanted[{axis}]!r}}" for axis in fixed]
        return " and ".join(tests)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.wanted)

    def check(self, value: Any) -> bool:
        """Return whether the shape fits. One that is only described may have any size (None)."""
        if len(value.shape) != len(self.wanted):
            return False
        return all(map(_is_of_size, value.shape, self.wanted))

    def aspect(self, value: Any) -> Any:
        return value.shape

    def words(self, aspect: Any) -> str:
        words = [str(size) if type(size) is int else "any" for size in aspect]
        return f"({', '.join(words)}{',' * (len(words) == 1)})"

    def explain(self, what: str, value: Any) -> Difference:
        found = super().explain(what, value)
        if len(value.shape) != len(self.wanted):
            return found._replace(sentence=RANK)
        return found._replace(detail="A dimension that changes is free from then on")


def _is_of_size(given: int | None, wanted: Any) -> bool:
    """Return whether a dimension may be this large."""
    if type(wanted) is not Dim:
        return bool(given == wanted)
    symbol = symbol_of(wanted)
    return given is None or symbol is None or given >= symbol.least


class InOrder(Guard):
    """An array whose elements lie in C order in memory; one that is only described does."""

    test = "{value}.flags.c_contiguous"
    said = "in C order", "in another order"
    sentence = Sentence(
        "order",
        "{what} was not in C order in memory",
        "an array in C order",
        "The function reshapes or writes to {what}, which depends on the order.",
        "pass np.ascontiguousarray({what}).",
    )

    def check(self, value: Any) -> bool:
        return hasattr(type(value), "__tracejit_class__") or bool(value.flags.c_contiguous)


class IsLikeMatrix(Guard):
    """A sparse matrix of the class, the shape and the dtype of another."""

    test = "{type}({value}) is {kind} and {again}.shape == {shape} and {again}.dtype == {dtype}"
    sentence = KIND

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that is wanted."""
        return tuple(self.wanted.shape)

    @property
    def dtype(self) -> Any:
        """The dtype that is wanted."""
        return self.wanted.dtype

    def words(self, aspect: Any) -> str:
        return f"{kind_of(aspect)} {aspect.dtype}{[*aspect.shape]}"


# Contents


class HasContents(Guard):
    """An array in one piece, which its copy is compared with. `bytes` are those compared."""

    test = "{wanted} == {value}"
    said = "as it was", "of other contents"
    captured = Sentence(
        "contents",
        "the contents of {what} had changed",
        then="Values that plain Python computes from it are constants of the kernel.",
        fix="pass it as an argument, or hold it in a tj.Variable.",
    )


class HasBlocks(HasContents):
    """An array of any strides, which is compared block by block."""

    test = "{same_contents}({value}, {wanted})"


class HasBuffer(HasContents):
    """An object that shows its memory."""

    test = "{same_buffer}({value}, {wanted})"


class HasTable(HasContents):
    """A table of pandas, or one of its columns, which is equal to its copy."""

    test = "{same_table}({value}, {wanted})"


class Remembers(HasContents):
    """A function under lru_cache that holds the answers that it held."""

    test = "{wanted}.is_of({value})"


# Containers and namespaces


class Length(Guard):
    """A container of so many elements, or attributes."""

    test = "{len}({value}) == {wanted!r}"

    def aspect(self, value: Any) -> Any:
        return len(value)

    def words(self, aspect: Any) -> str:
        return f"of {aspect} {self.noun}" if self.noun else f"of length {aspect}"


class HasKeys(Guard):
    """A dict or set with these keys, or attributes, to the bit and in this order."""

    def text(self) -> str:
        if not all(map(is_plain, self.wanted)):
            return "{exact}({value}) == {keys}"
        if all(type(key) is str for key in self.wanted):
            return "{tuple}({value}) == {wanted}"
        return "{tuple}({value}) == {wanted} and {tuple}({map}({type}, {again})) == {kinds}"

    @property
    def keys(self) -> list[Any]:
        """The exact keys."""
        return exact(self.wanted)

    @property
    def kinds(self) -> tuple[type, ...]:
        """The classes of the keys."""
        return tuple(map(type, self.wanted))

    def wants(self) -> str:
        return keys_told(self.noun or "keys", self.wanted)

    def finds(self, value: Any) -> str:
        return keys_told(self.noun or "keys", tuple(value), self.wanted)


class Without(Guard):
    """A dict that has none of these keys."""

    test = "{value}.keys().isdisjoint({wanted})"

    def wants(self) -> str:
        return f"without {listed(sorted(self.wanted))}"

    def finds(self, value: Any) -> str:
        return f"with {listed(sorted(self.wanted.intersection(value)))}"


class WithoutAttribute(Guard):
    """An object that has no attribute of a name."""

    test = "not {hasattr}({value}, {wanted})"

    def wants(self) -> str:
        return f"without {self.wanted!r}"

    def finds(self, value: Any) -> str:
        return "with it"


class Unbound(Guard):
    """The cell of a variable of a closure that is bound to nothing."""

    test = "{is_empty}({value})"
    said = "not bound", "bound"


class Never(Guard):
    """An iterator: what it answers next nobody knows, so that a kernel serves one call."""

    test = "False"
    said = "at one element", "at another"
    captured = Sentence(
        "iterator",
        "the function takes elements from an iterator",
        then="No other call can use its kernel.",
        fix="take the element outside of the function, and pass it as an argument.",
    )
