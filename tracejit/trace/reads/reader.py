"""Operators that note what converted code reads, and run both sides of its conditions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import MethodType, ModuleType
from typing import Any

from tracejit.convert.operators import PLAIN, Operators, Place
from tracejit.trace.convert.routes import FOLLOWING, observed
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.reads.containers import UNARY
from tracejit.trace.reads.notes import PLAIN_KINDS, PYTHONS
from tracejit.trace.reads.sides import Forking


@contextmanager
def following(
    kept: Collection[tuple[int, str]] = (), first: Reader | None = None
) -> Iterator[list[Reader]]:
    """The readers of the recordings that this thread begins in the block, of which one may be given
    that is `first`. A kernel itself writes the attributes that are `kept`, by the id of the object
    and the name."""
    readers: list[Reader] = []

    def follow() -> Reader:
        readers.append(first if first is not None and not readers else Reader())
        return readers[-1]

    with observed(follow):
        yield readers
    for reader in readers:
        reader.settle(kept)


class Reader(Forking):
    """The reads of one recording."""

    def operators(self) -> Operators:
        """The operators by which they are noted."""
        return OPERATORS


def _noting(kind: str, method: str) -> Callable[..., Any]:
    """The operator of a kind, which asks the reader of the recording that runs. It is the same for
    all recordings."""
    plain = getattr(PLAIN, kind)

    def noting(*operands: Any) -> Any:
        reader: Any = FOLLOWING.observer
        return plain(*operands) if reader is None else getattr(reader, method)(*operands)

    return noting


# What is met most, in one frame where nothing is to be noted


def _operation(name: str, /) -> Callable[..., Any]:
    """Operate on what has nothing in it that changes, or ask the reader."""
    function = getattr(operator, name)

    def unary(a: Any, /) -> Any:
        return function(a) if type(a) in PLAIN_KINDS else _ask(name, a)

    def binary(a: Any, b: Any, /) -> Any:
        if type(a) in PLAIN_KINDS and type(b) in PLAIN_KINDS:
            return function(a, b)
        return _ask(name, a, b)

    return unary if name in UNARY else binary


def _ask(name: str, /, *operands: Any) -> Any:
    reader: Any = FOLLOWING.observer
    if reader is None:
        return getattr(operator, name)(*operands)
    return reader.operate(name, *operands)


def _attribute(o: Any, word: str, /) -> Any:
    if type(o) in PLAIN_KINDS:
        return getattr(o, word)
    reader: Any = FOLLOWING.observer
    if reader is None or (id(o), word) in reader.settled:
        return getattr(o, word)
    return reader.attribute(o, word)


def _method(o: Any, word: str, place: Place | None = None, /) -> Any:
    reader: Any = FOLLOWING.observer
    if reader is None:
        return getattr(o, word)
    kind = type(o)
    if kind is dict and word == "get":
        return functools.partial(_get, reader, o)
    if kind is list and word in _FREE and id(o) in reader.free:
        return getattr(o, word)
    if (id(o), word) in reader.settled:
        found = getattr(o, word)
    else:
        found = reader.attribute(o, word)
    if place is not None and kind is ModuleType:
        return reader.at_place(found, place, o, word)
    if type(found) is MethodType:
        known = reader.converted.get(found.__func__)
        if known is not None:
            return MethodType(known, found.__self__)
    return reader.call(found)


def _get(reader: Any, o: dict[Any, Any], /, *args: Any, **kwargs: Any) -> Any:
    if args and type(args[0]) in ATOMS:
        if id(o) in reader.made_here or (id(o), args[0]) in reader.settled_items:
            return o.get(*args, **kwargs)
    return reader.call(o.get)(*args, **kwargs)


def _branch(test: Any, where: int, number: int, /, *carried: Any) -> Any:
    if type(test) is bool:
        return test
    reader: Any = FOLLOWING.observer
    if reader is None:
        return bool(test)
    return reader.branch(test, where, number, *carried)


def _site(called: Any, place: Place, /) -> Any:
    reader: Any = FOLLOWING.observer
    return called if reader is None else reader.at_place(called, place)


def _item(o: Any, key: Any, /) -> Any:
    reader: Any = FOLLOWING.observer
    if reader is None:
        return o[key]
    if type(o) in PYTHONS and type(key) in ATOMS:
        if id(o) in reader.made_here or (id(o), key) in reader.settled_items:
            return o[key]
    return reader.item(o, key)


def _name(where: int, word: str, value: Any, /) -> Any:
    reader: Any = FOLLOWING.observer
    if reader is None or (where, word) in reader.settled:
        return value
    return reader.name(where, word, value)


def _cell(where: int, word: str, value: Any, /) -> Any:
    reader: Any = FOLLOWING.observer
    if reader is None or (where, word) in reader.settled:
        return value
    return reader.cell(where, word, value)


def _truth(o: Any, is_kept: bool = False, /) -> Any:
    return o if type(o) in PLAIN_KINDS else _NOTING["truth"](o, is_kept)


_FREE = frozenset(("append", "pop", "clear", "reverse"))
"""The methods of lists that note nothing of those that the function has made."""
_METHODS = {"enter": "context", "match": "operand"}
_FAST: dict[str, Callable[..., Any]] = {
    "attribute": _attribute,
    "branch": _branch,
    "cell": _cell,
    "item": _item,
    "method": _method,
    "name": _name,
    "operate": _operation,
    "site": _site,
    "truth": _truth,
}
_KINDS = PLAIN.given().keys() - _FAST.keys() | {"truth"}
_NOTING = {kind: _noting(kind, _METHODS.get(kind, kind)) for kind in _KINDS}
OPERATORS = Operators(**(_NOTING | _FAST))
