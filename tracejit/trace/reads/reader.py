"""Operators that note what converted code reads."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from tracejit.convert.operators import PLAIN, Operators, Place
from tracejit.trace.convert.routes import FOLLOWING, observed
from tracejit.trace.guards.conditions import Guards
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.reads.calls import Calls
from tracejit.trace.reads.check import compiled
from tracejit.trace.reads.containers import PYTHONS, UNARY
from tracejit.trace.reads.notes import PLAIN_KINDS, is_plain, is_users
from tracejit.trace.reads.rules import RULES
from tracejit.trace.recording.mutable_attributes import Escaped
from tracejit.trace.structure.trees import flatten
from tracejit.trace.tensor.tensor import TENSORS


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


class Reader(Calls):
    """The reads of one recording."""

    rules = RULES
    gradient_rules: Sequence[Any] = ()
    """The rules of gradients for functions of NumPy's."""

    def operators(self) -> Operators:
        """The operators by which they are noted."""
        return OPERATORS

    def identical(self, a: Any, b: Any, /) -> bool:
        """Ask `a is b`: numbers and text, too, are noted by their identity. An object is none of
        these, whichever it is."""
        lent = [] if self.loan is None else self.loan.inputs.values()
        if any(one is a or one is b for one in lent):
            raise Escaped  # the kernel only knows what value it has
        if type(a) in TENSORS or type(b) in TENSORS:
            others = [one for one in (a, b) if id(one) not in self.leaves]
            if a is not b and all(type(one) is np.ndarray for one in others):
                self.refuse("if two arrays are one object")
            return a is b
        constants = [one for one in (a, b) if is_plain(type(one))]
        self.compared.update(map(id, constants or (a, b)))
        return a is b

    def context(self, o: Any, /) -> Any:
        """Announce that Python enters and leaves a context."""
        if is_users(type(o)) or not self.is_made(o):
            self.hand(o)
        return o

    def begin(self, python: Any, arguments: Iterable[Any] = ()) -> Any:
        """The function that is recorded, as it runs converted."""
        for rule in self.gradient_rules:
            self.walk_rule(rule)
        self.given(arguments)
        if not self.entered:
            self.leaves |= {id(one) for one in flatten(arguments)[0] if type(one) in TENSORS}
        self.learn(python)
        converted = self.call(python)

        def function(*args: Any, **kwargs: Any) -> Any:
            result = converted(*args, **kwargs)
            self.returned(result)
            self.let_go()
            return result

        return function

    def guard(self) -> Guards | None:
        """All that was read, as one function; None where nothing was."""
        self.settle(())
        return compiled(self.all())

    def forget(self) -> None:
        """Let go of all that was read; guards that were made keep what they compare."""
        for name, kept in vars(self).items():
            if isinstance(kept, dict) and name not in ("labels", "arrays", "changed"):
                kept.clear()


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
    if kind in _FREE and id(o) in reader.made_here:
        if word in _FREE[kind]:
            return getattr(o, word)
        if word == "get":
            return functools.partial(reader.get_of_made, o)
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


def _site(called: Any, place: Place, /) -> Any:
    reader: Any = FOLLOWING.observer
    return called if reader is None else reader.at_place(called, place)


def _item(o: Any, key: Any, /) -> Any:
    reader: Any = FOLLOWING.observer
    if reader is None:
        return o[key]
    if type(o) in PYTHONS and type(key) in ATOMS and id(o) in reader.made_here:
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


_FREE: dict[type, frozenset[str]] = {
    list: frozenset(("append", "pop", "clear", "reverse")),
    dict: frozenset[str](),
}
"""The methods of containers that note nothing of those that the function has made."""
_METHODS = {"enter": "context", "match": "operand"}
_FAST: dict[str, Callable[..., Any]] = {
    "attribute": _attribute,
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
