"""The operators that converted code has in place of calls and reads.

An operator that is None leaves its syntax unchanged, so `Operators(call=...)` rewrites only calls,
and `Operators()` nothing. There are four kinds:

- Those that **answer** do the operation: `attribute(o, "w")` stands for `o.w`. What they raise, the
  user's code raises; so does what they note before they raise. They are called with positions only.
- Those that **announce** get the object on which Python is about to do something, and answer the
  object on which it does: `truth(x)` in `if truth(x):`. The operation itself is Python's, in the
  user's frame, with Python's own errors.
- Those of **names** get a value that Python has just read: `name(where, "np", np)`. A name that is
  not there is Python's error. `where` is the `id` of the code object as the user wrote it: who
  knows the functions that run knows their globals and cells.
- That of a **place** is asked only for what the place does not know. `f(x)` becomes
  `(place.instead if f is place.called else site(f, place))(x)`, so a call of what was called there
  before costs one test of identity, and no frame. Only names, and attributes of names, are read
  twice; methods of lists, dicts and other types of Python are called as they are written.

Names that a function declares `global` or `nonlocal` are read as written: their stores cannot be
rewritten, so whoever follows them reads them when the function is called.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

Announce = Callable[[Any], Any]

TYPES_OF_C = frozenset((list, dict, set, tuple, str, bytes, int, float, bool, complex, frozenset))
"""Types whose instances have no attributes of their own."""

LASTING: set[type] = {FunctionType, BuiltinFunctionType, type}
"""Types whose instances, as long as a module or a class has them, may be kept: no method of the
user's runs where one is a key. Those of functions of C libraries are added."""


def is_lasting(called: Any) -> bool:
    """Return whether a callable belongs to a module or a class, and may be kept."""
    kind = type(called)
    if kind is FunctionType or kind is type:
        return "<locals>" not in called.__qualname__
    if kind is BuiltinFunctionType:
        return type(called.__self__) is ModuleType
    return kind in LASTING


class Place:
    """A call in converted code, which knows the first callable that was called there, if it lasts.

    What it knows never changes, as another thread may read it, until it forgets. `holder` is the
    module that has what is called, or the type of instances of which the method stays as it is.
    """

    __slots__ = ("called", "holder", "instead", "is_new")

    is_new: bool
    called: Any
    holder: Any
    instead: Any

    def __init__(self) -> None:
        """Know nothing."""
        self.is_new = True
        self.called = self.holder = self.instead = _NOTHING

    def forget(self) -> None:
        """Know nothing any more; whoever has just asked gets what the user calls."""
        self.is_new = False
        self.instead = self.called
        self.called = self.holder = _NOTHING

    def keep(self, called: Any, instead: Any, holder: Any) -> None:
        """Know what to call in place of `called`, an attribute of `holder` if there is one."""
        if not self.is_new:
            return
        self.is_new = False
        if type(holder) in TYPES_OF_C or (type(called) is MethodType and _KEEPS_METHODS):
            if instead is called and is_lasting(type(holder)):
                self.holder = type(holder)
        elif is_lasting(called) and (holder is None or _has(holder, called)):
            self.instead = instead
            self.called = called
            self.holder = holder


_NOTHING = object()
_KEEPS_METHODS = sys.version_info[:2] != (3, 12)
"""Debuggers of Python 3.12 stop at a line again after a call of Python code that ends the last side
of a conditional expression."""


def _has(holder: Any, called: Any) -> bool:
    """Return whether a module has a callable, and is not asked for it by a function of its own."""
    return type(holder) is ModuleType and vars(holder).get(called.__name__) is called


@dataclass(frozen=True, eq=False)
class Operators:
    """The functions that converted code calls in place of Python's own operations."""

    call: Announce | None = None
    """`call(f)(x)` for `f(x)`: what is called in place of a callable, in the user's frame."""

    site: Callable[..., Any] | None = None
    """`site(f, place)` for `f(x)`, and `site(o.m, place, o)` for `o.m(x)`: like `call`, where the
    place does not know. It tells the place by `place.keep` what holds until it forgets."""

    attribute: Callable[[Any, str], Any] | None = None
    """`attribute(o, "w")` for `o.w`; private names are mangled."""

    method: Callable[..., Any] | None = None
    """`method(o, "m")(x)` for `o.m(x)`: what is called in place of an attribute. `method(o, "m",
    place)` for a global `o`: it tells the place what holds until it forgets."""

    item: Callable[[Any, Any], Any] | None = None
    """`item(o, key)` for `o[key]`."""

    contains: Callable[[Any, Any], bool] | None = None
    """`contains(x, o)` for `x in o`; the operands are in the order of the text."""

    operate: Callable[[str], Callable[..., Any]] | None = None
    """`operate("add")(a, b)` for `a + b`, `operate("neg")(a)` for `-a`, `a = operate("iadd")(a, b)`
    for `a += b`: functions of the module `operator`. It is asked once for each."""

    operand: Announce | None = None
    """`a < operand(b) < c`, `o[i] = operand(x)`: Python hands an object to an operation that is no
    operator here."""

    identical: Callable[[Any, Any], bool] | None = None
    """`identical(a, b)` for `a is b`, other than with None, True, False and `...`."""

    name: Callable[[int, str, Any], Any] | None = None
    """`name(where, "np", np)` for a global or a builtin."""

    cell: Callable[[int, str, Any], Any] | None = None
    """`cell(where, "k", k)` for a variable of a function around."""

    iterate: Callable[[Any, int], Any] | None = None
    """`iterate(o, depth)`: the elements of `o` are read, by `for`, by unpacking or by `*o`; for
    `(a, b), c = o`, of depth 2, the elements of its elements too."""

    expand: Announce | None = None
    """`**expand(o)`: the items of a mapping are read."""

    truth: Callable[..., Any] | None = None
    """`if truth(o):`: Python asks if `o` is true. `truth(o, True) or p`: and may keep `o`."""

    branch: Callable[..., Any] | None = None
    """`branch(test, where, 3, x, y)` for the test of `if` number 3, before which variables are `x`
    and `y`: True, False, or a fork. See `branches`. The five that follow are there with it."""

    ask: Callable[[Any, bool], Any] | None = None
    """`ask(x, False)` for a part of such a test: if `x` is true; or with True, if it is not."""

    check: Callable[[Any, bool], Any] | None = None
    """`check(test, True)` for the test of an `if` that raises where it is true, or with False, of
    `assert` and what raises where it is false: the test, or its outcome where nothing is raised."""

    turns: Callable[..., Any] | None = None
    """`turns(answer, where, 4, x, y)` for the test of `while` number 4, which Python does not know:
    None, or what records one step for all. See `branches`."""

    rounds: Callable[..., Any] | None = None
    """`rounds(o, where, 5, True, 1, 2, x, y)` before loop `for` number 5 over an object, which has
    another loop in it, of whose variables the first one says that it was left, and which binds 2
    others: None, or what records one step for all, and is gone through instead. See `branches`."""

    flag: Callable[[Any], Any] | None = None
    """`flag(o)`: False, the first value of what says that a loop over `o` has been left."""

    text: Announce | None = None
    """`f"{text(o)}"`: Python asks for the text of `o`."""

    enter: Announce | None = None
    """`with enter(o):`: Python enters and leaves a context."""

    match: Announce | None = None
    """`match match(o):`: Python compares `o` with patterns."""

    store: Callable[[Any, str | None], Any] | None = None
    """`store(o, "w").w = x`, `store(o, None)[i] = x`: `o` is about to be changed."""

    update: Callable[[Any, str | None], Any] | None = None
    """`update(o, "w").w += x`, `del update(o, None)[i]`: read, and about to be changed."""

    made: Announce | None = None
    """`made([1, 2])`: a list, set or dict that the function has just made, or the dict of its
    keywords."""

    def given(self) -> dict[str, Any]:
        """The operators that are not None, by name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: one for name, one in found.items() if one is not None}


def _same(o: Any, _: Any = None, /) -> Any:
    return o


def _called(called: Any, _place: Place, _holder: Any = None, /) -> Any:
    return called


def _value(_where: int, _name: str, value: Any, /) -> Any:
    return value


def _operate(name: str, /) -> Any:
    return getattr(operator, name)


def _attribute(o: Any, word: str, _place: Place | None = None, /) -> Any:
    return getattr(o, word)


def _contains(x: Any, o: Any, /) -> bool:
    return x in o


def _branch(test: Any, _where: int, _number: int, /, *_names: Any) -> bool:
    return bool(test)


def _ask(x: Any, is_negated: bool, /) -> bool:
    return bool(x) is not is_negated


def _check(test: Any, _is_error: bool, /) -> Any:
    return test


def _flag(_: Any, /) -> bool:
    return False


def _turns(_answer: Any, _where: int, _number: int, /, *_names: Any) -> None:
    return None


def _rounds(_o: Any, _where: int, _number: int, /, *_more: Any) -> None:
    return None


PLAIN = Operators(
    call=_same,
    site=_called,
    attribute=getattr,
    method=_attribute,
    item=operator.getitem,
    contains=_contains,
    operate=_operate,
    operand=_same,
    identical=operator.is_,
    name=_value,
    cell=_value,
    iterate=_same,
    expand=_same,
    truth=_same,
    branch=_branch,
    ask=_ask,
    check=_check,
    flag=_flag,
    turns=_turns,
    rounds=_rounds,
    text=_same,
    enter=_same,
    match=_same,
    store=_same,
    update=_same,
    made=_same,
)
"""Python's own operations."""
