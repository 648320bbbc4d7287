"""The operators that stand in converted code for calls and reads.

An operator that is None leaves what it stands for as it is written, so `Operators(call=...)` has
calls alone rewritten, and `Operators()` nothing. There are three kinds:

- Those that **answer** do the operation: `attribute(o, "w")` stands for `o.w`. What they raise, the
  user's code raises; so does what they note before they raise. They are called with positions only.
- Those that **announce** get the object on which Python is about to do something, and answer the
  object on which it does: `truth(x)` in `if truth(x):`. The operation itself is Python's, in the
  user's frame, with Python's own errors.
- Those of **names** get a value that Python has just read: `name(where, "np", np)`. A name that is
  not there is Python's error. `where` is the `id` of the code object as the user wrote it: who
  knows the functions that run knows their globals and cells.

Names that a function declares `global` or `nonlocal` are read as written: their stores cannot be
rewritten, so whoever follows them reads them when the function is called.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

Announce = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Operators:
    """The functions that converted code calls in place of Python's own operations."""

    call: Announce | None = None
    """`call(f)(x)` for `f(x)`: what is called in place of a callable, in the user's frame."""

    attribute: Callable[[Any, str], Any] | None = None
    """`attribute(o, "w")` for `o.w`; private names are mangled."""

    item: Callable[[Any, Any], Any] | None = None
    """`item(o, key)` for `o[key]`."""

    contains: Callable[[Any, Any], bool] | None = None
    """`contains(x, o)` for `x in o`; the operands are in the order of the text."""

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

    truth: Announce | None = None
    """`if truth(o):`: Python asks if `o` is true."""

    text: Announce | None = None
    """`f"{text(o)}"`: Python asks for the text of `o`."""

    enter: Announce | None = None
    """`with enter(o):`: Python enters and leaves a context."""

    match: Announce | None = None
    """`match match(o):`: Python compares `o` with patterns."""

    store: Callable[[Any, str | None], Any] | None = None
    """`store(o, "w").w = x`, `store(o, None)[i] = x`: `o` is about to be changed, also by `del`."""

    update: Callable[[Any, str | None], Any] | None = None
    """`update(o, "w").w += x`, `update(o, None)[i] += x`: read, and about to be changed."""

    made: Announce | None = None
    """`made([1, 2])`: a list, set or dict that the function has just made."""

    def given(self) -> dict[str, Any]:
        """The operators that are not None, by name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: one for name, one in found.items() if one is not None}


def _same(o: Any, _: Any = None, /) -> Any:
    return o


def _value(_where: int, _name: str, value: Any, /) -> Any:
    return value


def _contains(x: Any, o: Any, /) -> bool:
    return x in o


PLAIN = Operators(
    call=_same,
    attribute=getattr,
    item=operator.getitem,
    contains=_contains,
    identical=operator.is_,
    name=_value,
    cell=_value,
    iterate=_same,
    expand=_same,
    truth=_same,
    text=_same,
    enter=_same,
    match=_same,
    store=_same,
    update=_same,
    made=_same,
)
"""Python's own operations."""
