"""Operators that note what converted code reads."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracejit.convert.operators import PLAIN, Operators
from tracejit.trace.convert.routes import observed, observer
from tracejit.trace.guards.conditions import Guards
from tracejit.trace.reads.calls import Calls
from tracejit.trace.reads.check import compiled
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
        if any(one is a or one is b for one in self.inputs.values()):
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
    all recordings, so their converted code is equal, and what is known of its loops holds on."""
    plain = getattr(PLAIN, kind)

    def noting(*operands: Any) -> Any:
        reader = observer()
        return plain(*operands) if reader is None else getattr(reader, method)(*operands)

    return noting


def _operate(name: str, /, *operands: Any) -> Any:
    """Operate on what has nothing in it that changes, or ask the reader."""
    for one in operands:
        if type(one) not in PLAIN_KINDS:
            return _operate_noting(name, *operands)
    return getattr(operator, name)(*operands)


def _attribute(o: Any, word: str, /) -> Any:
    """The same for an attribute."""
    return getattr(o, word) if type(o) in PLAIN_KINDS else _attribute_noting(o, word)


def _truth(o: Any, is_kept: bool = False, /) -> Any:
    """The same for what Python asks if it is true."""
    return o if type(o) in PLAIN_KINDS else _truth_noting(o, is_kept)


_METHODS = {"enter": "context", "match": "operand"}
_KINDS = PLAIN.given().keys() - {"site"}  # each call is noted
_NOTING = {kind: _noting(kind, _METHODS.get(kind, kind)) for kind in _KINDS}
_operate_noting, _attribute_noting = _NOTING["operate"], _NOTING["attribute"]
_truth_noting = _NOTING["truth"]
_FAST: dict[str, Callable[..., Any]] = {
    "operate": _operate,
    "attribute": _attribute,
    "truth": _truth,
}
OPERATORS = Operators(**(_NOTING | _FAST))
