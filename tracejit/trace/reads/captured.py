"""State that a recording reads and changes, found while it runs, where no walk comes before it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import numpy as np

from tracejit.trace.capture.captures import Captures
from tracejit.trace.guards.access_paths import AccessPath, PathStep, Place
from tracejit.trace.guards.conditions import ConditionSet
from tracejit.trace.guards.contents import memory_of
from tracejit.trace.guards.guards import OfType
from tracejit.trace.guards.reads import is_foreign_module, module_name
from tracejit.trace.reads.reader import Reader
from tracejit.trace.recording.before import Before
from tracejit.trace.recording.mutable_attributes import (
    Attributes,
    Loan,
    attributes_of,
    is_lendable,
)
from tracejit.trace.structure.draws import refusing_draws


class ReadCaptures:
    """The captures of a recording without a walk, as its reader finds them. What notes cannot tell
    ends the recording by `Walks`."""

    def __init__(self, reader: Reader, before: Before, attributes: Attributes) -> None:
        """`before` learns how everything was that is about to be changed; the `attributes` are
        those that recordings of the function have read. What is lent becomes part of the
        `loan`."""
        self.reader = reader
        self._known = attributes
        self.loan: Loan | None = None
        reader.lends = self._lends
        reader.moves = self._moves
        self._moving: dict[tuple[int, PathStep, Any], tuple[int, str]] = {}
        self._origins: dict[tuple[int, str], tuple[int, str]] = {}
        self.before = before
        self.labels = reader.labels
        self.lent: dict[tuple[int, str], tuple[AccessPath, Any]] = {}
        self.conditions = ConditionSet()
        self.arrays: dict[int, tuple[str, np.ndarray]] = {}
        self._walked: list[Captures] = []

    def _lends(self, holder: Any, word: str, value: Any, is_counter: bool) -> bool:
        """Return whether an attribute is lent from now on; a counter is on its first value. An
        object that only a weak reference led to is not kept alive by a kernel."""
        if id(holder) in self.reader.paths:
            return False
        if self.reader.walks or id(attributes_of(holder)) in self.reader.known:
            return False  # others may look there
        is_foreign = is_foreign_module(module_name(type(holder)))
        if is_foreign and type(holder) is not SimpleNamespace:
            return False
        if is_counter and is_lendable(holder, word, value):
            self._known.lend(holder, word)
        found = self._known.lent(holder, word, value)
        if found is None:
            return False
        place = AccessPath(holder).own(word)
        self.lent[id(holder), word] = place, found
        for guard in found.guards():
            self.conditions.add(place, guard)
        assert self.loan is not None
        self.loan.lend(found)
        self.reader.apart.setdefault(id(holder), set()).add(word)
        return True

    def _moves(self, holder: Any, step: PathStep, key: Any, value: Any) -> Any:
        """Answer what is recorded of a number that is lent; None if it is not."""
        assert self.loan is not None
        place = id(holder), step, key
        if place not in self._moving:
            path = AccessPath(AccessPath(holder), step, key)
            lent_as = path.place_key()
            origin = self.reader.origin_of(path)
            name = self.reader.name_at(holder, key)
            found = self._known.moves(origin, value, Place(path, name))
            if found is None or lent_as is None or lent_as in self.lent:
                return None
            self._moving[place] = lent_as
            self._origins[lent_as] = origin
            self.lent[lent_as] = path, found
            self.conditions.add(path, OfType(type(value)))
            self.loan.lend_number(lent_as, found)
        return self.loan.read_lent(self._moving[place])

    @property
    def origins(self) -> Collection[tuple[int, str]]:
        """The numbers that are lent, as all recordings know them."""
        return self._origins.values()

    @property
    def attributes(self) -> list[tuple[Any, str, Any]]:
        """The attributes that were assigned, with what they held."""
        return self.reader.assigned

    def holders(self) -> Iterator[Any]:
        """The containers and objects that may have been given something new."""
        yield from self.reader.changed.values()
        for captures in self._captures():
            yield from captures.holders()

    def assigned_names(self) -> Iterable[tuple[Any, str]]:
        """The attributes, globals and variables that were assigned, each in its object, dict or
        cell."""
        return self.reader.named

    def does(self, habit: str) -> bool:
        """Return whether code that has run may "take gradients"."""
        return habit in self.reader.habits

    def refusing_draws(self, function: str) -> AbstractContextManager[None]:
        """Raise UnsupportedError if meanwhile NumPy's or Python's own generator was drawn from."""
        return refusing_draws(function, {})

    def sources_of(self, array: np.ndarray) -> Sequence[tuple[str, np.ndarray]]:
        """The arrays that were read, with their names, that `array` may be a view of."""
        known = self.reader.arrays
        if id(array) in known:
            return ((self._name(array), array),)
        memory = memory_of(array)
        found = [(self._name(one), one) for one in known.values() if memory_of(one) is memory]
        for captures in self._captures():
            found += captures.sources_of(array)
        return found

    def _name(self, array: np.ndarray) -> str:
        return self.labels.get(id(array), "captured")

    def _captures(self) -> list[Captures]:
        walks = self.reader.walks.values()
        return self._walked or [captures for _, captures in walks if captures is not None]

    def settle(self) -> None:
        """Keep the arrays that were read."""
        self._walked = self._captures()
        self.arrays = {id(one): (self._name(one), one) for one in self.reader.arrays.values()}
        for captures in self._walked:
            self.arrays |= captures.arrays

    def is_unchanged(self) -> bool:
        """Return whether everything is as it was."""
        return self.before.is_unchanged()
