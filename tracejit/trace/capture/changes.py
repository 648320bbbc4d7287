"""What a guard found different, in the user's words: the global scale was 2.0 and is 3.0.

A guard is a list of conditions on Python expressions (`trace/capture/guards.py`). `changes`
evaluates them one by one, long after the kernel was made and never on a call that fits, and spells
the expressions as the user would: globals, closure variables, attributes, elements.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.types import type_of
from tracejit.support.parsing import parse
from tracejit.support.words import a
from tracejit.trace.capture.ambient import Ambient
from tracejit.trace.capture.exactness import ATOMS

LONGEST = 40
GONE = "gone"
# A condition that says which object a name of the guard's is.
IDENTITY = re.compile(r"(?P<place>.+) is (?P<name>_\d+)")
# Functions whose answer is about their argument.
SUBJECTS = ("repr", "len", "list", "type", "_exact", "_kinds", "_kept")
AS_IT_WAS = "as it was"
CONTENTS = "of other contents"


class Change(NamedTuple):
    """What the user calls it, what it was when the kernel was made, and what it is."""

    what: str
    was: str
    now: str

    @property
    def is_drawn(self) -> bool:
        """Tell if it is an iterator, which answers another element each time."""
        return self is AN_ITERATOR


class Compared(NamedTuple):
    """An array whose contents a guard compares: how it is called, and its bytes."""

    what: str
    bytes: int


AN_ITERATOR = Change("an iterator", "at one element", "at another")


def changes(guard: Callable[[], bool], labels: Mapping[int, str] | None = None) -> list[Change]:
    """What is different now from what `guard` wants; `labels` are the names of arguments by id.

    What is inside of something else that has changed is left out.
    """
    spelling = Spelling(guard, labels or {})
    found: list[Change] = []
    for check in spelling.checks:
        change = spelling.change(check)
        if change is not None and not any(_is_inside(change.what, one.what) for one in found):
            found.append(change)
    return found


def compared_arrays(
    guard: Callable[[], bool], labels: Mapping[int, str] | None = None
) -> list[Compared]:
    """The arrays whose contents `guard` compares at each call."""
    spelling = Spelling(guard, labels or {})
    return list(spelling.compared())


def described(value: Any) -> str:
    """A value in a few words: plain ones as Python spells them, others by what they are."""
    kind = type(value)
    if kind in ATOMS or issubclass(kind, np.generic):
        text = repr(value)
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."
    if isinstance(value, Enum):
        return f"{kind.__name__}.{value.name}"
    if kind is np.ndarray:
        return f"an array {type_of(value)!r}"
    if isinstance(value, (FunctionType, MethodType)):
        return f"the function {value.__name__}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    if kind in (list, tuple) and all(type(element) in ATOMS for element in value):
        text = repr(value)
        return text if len(text) <= LONGEST else f"{a(kind.__name__)} of {len(value)}"
    if kind in (list, tuple, dict, set, frozenset):
        return f"{a(kind.__name__)} of {len(value)}"
    return a(kind.__name__)


def told_apart(was: Any, now: Any) -> tuple[str, str]:
    """Two values in words that differ."""
    first, second = described(was), described(now)
    if first != second:
        return first, second
    return first, f"another {second.partition(' ')[2] or second}"


class Spelling:
    """The conditions of one guard, and what the user calls the things in them."""

    def __init__(self, guard: Callable[[], bool], labels: Mapping[int, str]) -> None:
        """The conditions stand in `guard.checks`, their names are the globals of `guard`."""
        self.space: dict[str, Any] = getattr(guard, "__globals__", {})
        self.checks: tuple[str, ...] = getattr(guard, "checks", ())
        self.labels = labels
        self._compared: tuple[str, ...] = getattr(guard, "compared", ())
        self._cells = dict(_cells(self.space.values()))
        self._places: dict[str, str] = {}
        for found in filter(None, map(IDENTITY.fullmatch, self.checks)):
            self._places.setdefault(found["name"], found["place"])

    def change(self, check: str) -> Change | None:
        """What makes a condition fail; None where it holds."""
        try:
            if eval(check, self.space):
                return None
        except Exception:  # what was read has no such part any more
            pass
        match parse(check, mode="eval").body:
            case ast.Constant():
                return AN_ITERATOR
            case ast.Call(args=[ast.Name() as place, _]):
                return Change(self.spell(place), AS_IT_WAS, CONTENTS)
            case ast.Compare(left=ast.Name(), comparators=[ast.Name(id=name) as place]) if (
                name in self._compared
            ):
                return Change(self.spell(place), AS_IT_WAS, CONTENTS)
            case ast.Compare(left=left, comparators=[right]):
                return Change(self.spell(_subject(left)), *self._values(left, right))
            case ast.BoolOp(values=[ast.Compare(comparators=[kind]), ast.Compare() as test]):
                (right,) = test.comparators
                return Change(
                    self.spell(_subject(test.left)), *self._values(test.left, right, kind)
                )
        return Change(self._text(parse(check, mode="eval").body), "true", "false")

    def compared(self) -> Iterator[Compared]:
        """The arrays whose contents are compared."""
        for name in self._compared:
            yield Compared(self._named(name), int(self.space[name].nbytes))

    def spell(self, place: ast.expr) -> str:
        """An expression over the guard's names as the user would write it."""
        match place:
            case ast.Name(id=name):
                return self._named(name)
            case ast.Subscript(
                value=ast.Attribute(value=held, attr="__dict__"), slice=ast.Constant() as key
            ):
                return f"{self.spell(held)}.{ast.literal_eval(key)}"
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant() as key) if (
                self._is_namespace(name)
            ):
                return f"the global {ast.literal_eval(key)}"
            case ast.Attribute(value=ast.Name(id=name), attr="cell_contents"):
                return self._cells.get(id(self.space.get(name)), "a variable of a closure")
            case ast.Subscript(value=held, slice=ast.Name(id=name)) if name in self.space:
                return f"{self.spell(held)}[{described(self.space[name])}]"
            case ast.Subscript(value=held, slice=key):
                return f"{self.spell(held)}[{ast.unparse(key)}]"
            case ast.Call(func=ast.Attribute(value=held, attr="item"), args=[key]):
                return f"{self.spell(held)}[{ast.unparse(key)}]"
            case ast.Attribute(value=held, attr="__dict__"):
                return self.spell(held)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="read")) if isinstance(
                self.space.get(name), Ambient
            ):
                return str(self.space[name].label)
            case ast.Attribute(value=held, attr=word):
                return f"{self.spell(held)}.{word}"
        return self._text(place)

    def _values(
        self, left: ast.expr, right: ast.expr, kind: ast.expr | None = None
    ) -> tuple[str, str]:
        """What a comparison wants, which may be the bytes of a number of a `kind`, and what there
        is."""
        was = self._value(right)
        try:
            now = self._value(left)
        except Exception:  # what was read has no such part any more
            return described(was), GONE
        match left:
            case ast.Call(func=ast.Name(id="repr")):
                return was, now
            case ast.Call(func=ast.Attribute(attr="tobytes")) if kind is not None:
                number = np.frombuffer(was, self._value(kind))[0]
                return told_apart(number, self._value(_subject(left)))
            case ast.Call(func=ast.Name(id="len"), args=[ast.Attribute(attr="__dict__")]):
                return f"of {was} attributes", f"of {now} attributes"
            case (
                ast.Call(func=ast.Name(id="list"), args=[ast.Attribute(attr="__dict__")])
                | ast.Call(func=ast.Name(id="_kept"))
            ):
                return _parted("attributes", was, now)
            case ast.Call(func=ast.Name(id="_exact" | "_kinds")):
                return AS_IT_WAS, "of other elements"
            case ast.Call(func=ast.Name(id="len")):
                return f"of length {was}", f"of length {now}"
            case ast.Call(func=ast.Name(id="list")):
                return _parted("keys", was, now)
            case ast.Attribute(attr="dtype"):
                return f"of dtype {was}", f"of dtype {now}"
            case ast.Attribute(attr="shape"):
                return f"of shape {was}", f"of shape {now}"
        return told_apart(was, now)

    def _text(self, expression: ast.expr) -> str:
        """An expression as it stands, with the user's names."""
        return re.sub(r"\b_\d+\b", lambda name: self._named(name[0]), ast.unparse(expression))

    def _value(self, expression: ast.expr) -> Any:
        return eval(ast.unparse(expression), self.space)

    def _is_namespace(self, name: str) -> bool:
        """Tell if a name is that of a module's globals."""
        held = self.space.get(name)
        return isinstance(held, dict) and "__name__" in held and "__builtins__" in held

    def _named(self, name: str) -> str:
        """What the user calls the object that the guard calls `name`."""
        held = self.space.get(name)
        known = self.labels.get(id(held))
        if known is not None:
            return known
        if isinstance(held, (type, ModuleType)):
            return held.__name__
        place = self._places.pop(name, None)  # a place cannot be spelled by itself
        if place is not None:
            spelled = self.spell(parse(place, mode="eval").body)
            self._places[name] = place
            return spelled
        return held.__name__ if isinstance(held, FunctionType) else a(type(held).__name__)


def _cells(things: Iterable[Any]) -> Iterator[tuple[int, str]]:
    """The closure variables of functions and methods, by id, with their names."""
    for thing in list(things):
        for member in vars(thing).values() if isinstance(thing, type) else (thing,):
            function = member.fget if isinstance(member, property) else member
            if isinstance(function, (MethodType, staticmethod, classmethod)):
                function = function.__func__
            if isinstance(function, FunctionType) and function.__closure__:
                names = function.__code__.co_freevars
                for cell, name in zip(function.__closure__, names, strict=True):
                    yield id(cell), name


def _subject(place: ast.expr) -> ast.expr:
    """What a condition is about: len(x) and x.shape are about x."""
    match place:
        case ast.Call(func=ast.Name(id=word), args=[inner]) if word in SUBJECTS:
            return inner
        case ast.Call(func=ast.Attribute(value=inner, attr="tobytes")):
            return inner
        case ast.Attribute(value=ast.Name() as inner, attr="dtype" | "shape"):
            return inner
    return place


def _parted(noun: str, was: Any, now: Any) -> tuple[str, str]:
    """Two lists of keys, shortened to those that are not in both where they are long.

    >>> _parted("keys", ["a"], ["a", "b"])
    ("of the keys 'a'", "of the keys 'a', 'b'")
    """
    whole = max(len(", ".join(map(described, keys))) for keys in (was, now)) <= LONGEST
    if whole or set(was) == set(now):
        return f"of the {noun} {_listed(was)}", f"of the {noun} {_listed(now)}"
    new, gone = ([key for key in one if key not in two] for one, two in ((now, was), (was, now)))
    told = [f"{_listed(keys)} {word}" for keys, word in ((new, "new"), (gone, "gone")) if keys]
    return f"of {len(was)} {noun}", f"of {len(now)} {noun}, {' and '.join(told)}"


def _listed(keys: Any) -> str:
    text = ", ".join(map(described, keys))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."


def _is_inside(what: str, whole: str) -> bool:
    """Tell if something is reached through `whole`, or is the same."""
    return what == whole or what.startswith((f"{whole}.", f"{whole}["))
