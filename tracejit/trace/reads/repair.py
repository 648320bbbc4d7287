"""Repair of guards: an object that was built anew, of which all is as it was read, is no reason to
record.

Notes name the object that they are of. Where its place holds another one of the same class, what
was read of the first is read of the second, and so on inwards: lists, dicts, tuples, instances,
arrays, functions made of the same code. If all of that is the same, the notes are of the place from
then on. An object that was found in two places, or that more depends on than what was read of it,
stays the very object.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, SimpleNamespace
from typing import Any

import numpy as np

from tracejit.trace.guards.access_paths import AccessPath
from tracejit.trace.guards.conditions import Condition
from tracejit.trace.guards.guards import HasKeys, Is, Length, OfType
from tracejit.trace.guards.reads import is_installed
from tracejit.trace.reads.attributes import FLAGS
from tracejit.trace.reads.notes import guard_of, is_plain, is_users

_REBUILT = frozenset((list, dict, set, tuple, functools.partial, np.ndarray, SimpleNamespace))
_PARTS_OF_PARTIALS = ("func", "args", "keywords")
_PARTS_OF_FUNCTIONS = ("__code__", "__globals__", "__defaults__", "__kwdefaults__")


def repaired(
    conditions: Sequence[Condition], fixed: Collection[int]
) -> tuple[list[Condition], dict[int, AccessPath]] | None:
    """The conditions that hold now instead of those of a recording, and the places of objects that
    have others there now, by the id of the former; None where something was read that is another.
    The objects that are `fixed`, by id, have no others in their places."""
    repair = _Repair(conditions, fixed)
    found = repair.run()
    return None if found is None else (found, repair.places)


class _Repair:
    """The places of objects that have others there now, by the id of the former."""

    def __init__(self, conditions: Sequence[Condition], fixed: Collection[int]) -> None:
        self.conditions = conditions
        self.fixed = {*fixed, *_keys_in(conditions)}
        self.found_in = _places_in(conditions)
        self.places: dict[int, AccessPath] = {}

    def run(self) -> list[Condition] | None:
        """Go through all conditions until no more places are known: what stands before the note of
        an object may be of it."""
        known = -1
        found: list[Condition] | None = []
        while found is not None and known != len(self.places):
            known = len(self.places)
            found = self._passed()
        return found

    def _passed(self) -> list[Condition] | None:
        found = []
        waiting = [*reversed(self.conditions)]
        while waiting:
            path, guard = waiting.pop()
            now = Condition(path.moved(self.places), guard)
            if now.holds():
                found.append(now)
                continue
            if type(guard) is not Is or not self._takes_place(guard.wanted, now.path):
                return None
            found.append(Condition(now.path, OfType(type(guard.wanted))))
            waiting += reversed([*_inside(guard.wanted, now.path)])
        return found

    def _takes_place(self, former: Any, place: AccessPath) -> bool:
        """Return whether what stands at a place now may take that of a former object."""
        try:
            new = place.value()
        except Exception:  # nothing stands there any more
            return False
        if type(new) is not type(former) or not _is_rebuilt(former):
            return False
        cells = (former.__closure__ or ()) if type(former) is FunctionType else ()
        for one in (former, new, *cells):
            if id(one) in self.fixed:
                return False
        if self.found_in[id(former)] > 1 or any(self.found_in[id(cell)] > 1 for cell in cells):
            return False
        known = self.places.setdefault(id(former), place)
        if known.key() != place.key():
            return False
        for index, cell in enumerate(cells):
            self.places[id(cell)] = place.attribute("__closure__").item(index)
        return True


def _is_rebuilt(former: Any) -> bool:
    """Return whether objects of this kind are known by what was read of them."""
    kind = type(former)
    if kind is FunctionType:
        return not former.__dict__ and not is_installed(former)
    if isinstance(former, tuple) and hasattr(kind, "_fields"):
        return True
    is_instance = not issubclass(kind, (type, Enum, *_REBUILT)) and not is_plain(kind)
    return kind in _REBUILT or (is_instance and is_users(kind))


def _inside(former: Any, place: AccessPath) -> Iterator[Condition]:
    """Conditions of what was not noted, because it cannot change in the former object."""
    if isinstance(former, tuple):
        yield Condition(place, Length(len(former)))
    if type(former) is np.ndarray:
        yield Condition(place.then(FLAGS), guard_of(former.flags.num))
    if type(former) is FunctionType:
        yield Condition(place.attribute("__dict__"), HasKeys(()))
    for part, value in _parts(former, place):
        yield Condition(part, guard_of(value))


def _parts(former: Any, place: AccessPath) -> Iterator[tuple[AccessPath, Any]]:
    """The parts of an object that cannot change in it, each with the path to it."""
    if isinstance(former, tuple):
        for index, element in enumerate(tuple.__iter__(former)):
            yield place.item(index), element
    words: tuple[str, ...] = _PARTS_OF_FUNCTIONS if type(former) is FunctionType else ()
    words = _PARTS_OF_PARTIALS if isinstance(former, functools.partial) else words
    for word in words:
        yield place.attribute(word), getattr(former, word)


def _keys_in(conditions: Sequence[Condition]) -> Iterator[int]:
    """The keys of dicts and the elements of sets, which are found there, too."""
    for _, guard in conditions:
        if type(guard) is HasKeys:
            yield from map(id, guard.wanted)


def _places_in(conditions: Sequence[Condition]) -> Counter[int]:
    """The number of places in which each object was found, by its id."""
    places: dict[tuple[int, str], Any] = {}
    waiting = [(path, guard.wanted) for path, guard in conditions if type(guard) is Is]
    while waiting:
        path, value = waiting.pop()
        place = id(value), path.key()
        if is_plain(type(value)) or place in places:
            continue
        places[place] = value
        here = AccessPath(value)
        waiting += _parts(value, here)
        if type(value) in (MethodType, BuiltinFunctionType):
            waiting.append((here.attribute("__self__"), value.__self__))
        if type(value) is FunctionType:
            closure = here.attribute("__closure__")
            waiting += [(closure.item(n), one) for n, one in enumerate(value.__closure__ or ())]
    return Counter(number for number, _ in places)
