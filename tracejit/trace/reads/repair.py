"""Repair of guards: an object that was built anew, of which all is as it was read, is no reason to
record.

Notes name the object that they are of. Where its place holds another one of the same class, what
was read of the first is read of the second, and so on inwards: lists, dicts, tuples, instances,
arrays, functions made of the same code. If all of that is the same, the notes are of the place from
then on. An object that was found in two places has another one in both, and one that more depends
on than what was read of it stays the very object.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, SimpleNamespace
from typing import Any

import numpy as np

from tracejit.trace.guards.access_paths import AccessPath, PathStep
from tracejit.trace.guards.conditions import Condition
from tracejit.trace.guards.contents import is_table
from tracejit.trace.guards.guards import HasKeys, Is, Length, OfType
from tracejit.trace.guards.reads import is_installed
from tracejit.trace.reads.attributes import FLAGS
from tracejit.trace.reads.notes import guard_of, is_plain, is_users
from tracejit.trace.recording.active import PARTS

_REBUILT = frozenset(
    (list, dict, set, tuple, functools.partial, np.ndarray, SimpleNamespace, MethodType)
)
_OWN = "__tracejit_"


def _attributes(f: FunctionType) -> list[str]:
    """The attributes that a user has given a function."""
    own = "__wrapped__" if _is_tracejits(f) else ""
    return [word for word in f.__dict__ if not word.startswith(_OWN) and word != own]


def _is_tracejits(f: FunctionType) -> bool:
    """Return whether a function is a part of tracejit, such as the body of a transform."""
    return str(f.__globals__.get("__name__")).startswith("tracejit.")


_ATTRIBUTES = PathStep(
    lambda held, none: _attributes(held),
    lambda held, none, bind: f"{bind(_attributes)}({held})",
    lambda held, none: held,
)
_PARTS_OF_PARTIALS = ("func", "args", "keywords")
_PARTS_OF_METHODS = ("__func__", "__self__")
_PARTS_OF_FUNCTIONS = ("__code__", "__globals__", "__defaults__", "__kwdefaults__")


def repaired(
    conditions: Sequence[Condition],
    fixed: Collection[int],
    pairs: Sequence[tuple[Any, AccessPath]] = (),
) -> tuple[list[Condition], dict[int, AccessPath]] | None:
    """The conditions that hold now instead of those of a recording, and the places of objects that
    have others there now, by the id of the former; None if something was read that is another.
    The objects that are `fixed`, by id, have no others in their places. `pairs` are objects at
    which paths begin, each with the place of the one to begin at instead."""
    repair = _Repair(conditions, fixed)
    found = repair.run() if repair.begins_at(pairs) else None
    return None if found is None else (found, repair.places)


class _Repair:
    """The places of objects that have others there now, by the id of the former."""

    def __init__(self, conditions: Sequence[Condition], fixed: Collection[int]) -> None:
        self.conditions = conditions
        self.fixed = {*fixed, *_keys_in(conditions)}
        self.found_in = _places_in(conditions)
        self.places: dict[int, AccessPath] = {}

    def begins_at(self, pairs: Sequence[tuple[Any, AccessPath]]) -> bool:
        """Begin at other objects instead of those in `pairs`; return whether they may take their
        places."""
        for former, place in pairs:
            if former is place.value():
                continue
            self.found_in.setdefault(id(former), [])
            is_read = self._has_read_cells(former, place.value())
            if not self._takes_place(former, place, is_read):
                return False
            self.conditions = [*_inside(former, place), *self.conditions]
        return True

    def _has_read_cells(self, former: Any, new: Any) -> bool:
        """Return whether two functions differ in no variable that was not noted: nothing is noted
        of a function of an installed package that runs as it is."""
        if type(former) is not FunctionType or type(new) is not FunctionType:
            return False
        read = {id(path.root) for path, _ in self.conditions}
        cells = zip(former.__closure__ or (), new.__closure__ or (), strict=False)
        return not _attributes(former) and all(
            id(a) in read or a.cell_contents is b.cell_contents for a, b in cells
        )

    def run(self) -> list[Condition] | None:
        """Go through all conditions until no more places are known: what stands before the note of
        an object may be of it."""
        known = -1
        found: list[Condition] | None = []
        while found is not None and known != len(self.places):
            known = len(self.places)
            found = self._passed()
        others = None if found is None else self._other_places()
        return None if found is None or others is None else [*found, *others]

    def _other_places(self) -> list[Condition] | None:
        """The conditions that a new object stands everywhere that the former one stood; None if
        it does not."""
        found = []
        for former, place in self.places.items():
            new = place.value()
            for path in self.found_in[former]:
                now = Condition(path.moved(self.places), Is(new))
                if not now.holds():
                    return None
                if now.path.key() != place.key():
                    found.append(now)
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

    def _takes_place(self, former: Any, place: AccessPath, is_read: bool = False) -> bool:
        """Return whether what stands at a place now may take that of a former object, of which all
        that matters `is_read`."""
        try:
            new = place.value()
        except Exception:  # nothing stands there any more
            return False
        if type(new) is not type(former) or not (is_read or _is_rebuilt(former)):
            return False
        cells = (former.__closure__ or ()) if type(former) is FunctionType else ()
        for one in (former, new, *cells):
            if id(one) in self.fixed:
                return False
        known = self.places.setdefault(id(former), place)
        if known.value() is not new:
            return False
        for index, cell in enumerate(cells):
            self.places[id(cell)] = place.attribute("__closure__").item(index)
        return True


def _is_rebuilt(former: Any) -> bool:
    """Return whether objects of this kind are known by what was read of them."""
    kind = type(former)
    if kind is FunctionType:
        return not _attributes(former) and (_is_tracejits(former) or not is_installed(former))
    if hasattr(kind, PARTS):
        return True
    if isinstance(former, tuple) and hasattr(kind, "_fields"):
        return True
    is_instance = not issubclass(kind, (type, Enum, *_REBUILT)) and not is_plain(kind)
    return kind in _REBUILT or (is_instance and is_users(kind)) or is_table(former)


def _inside(former: Any, place: AccessPath) -> Iterator[Condition]:
    """Conditions of what was not noted, because it cannot change in the former object."""
    if isinstance(former, tuple):
        yield Condition(place, Length(len(former)))
    if type(former) is np.ndarray:
        yield Condition(place.then(FLAGS), guard_of(former.flags.num))
    if type(former) is FunctionType:
        yield Condition(place.then(_ATTRIBUTES), HasKeys(()))
    for part, value in _parts(former, place):
        yield Condition(part, guard_of(value))


def _parts(former: Any, place: AccessPath) -> Iterator[tuple[AccessPath, Any]]:
    """The parts of an object that cannot change in it, each with the path to it."""
    if isinstance(former, tuple):
        for index, element in enumerate(tuple.__iter__(former)):
            yield place.item(index), element
    words: tuple[str, ...] = _PARTS_OF_FUNCTIONS if type(former) is FunctionType else ()
    if type(former) is FunctionType and _is_tracejits(former):  # of which nothing is noted
        for index, cell in enumerate(former.__closure__ or ()):
            held = place.attribute("__closure__").item(index)
            yield held.attribute("cell_contents"), cell.cell_contents
        words = (*words, "__wrapped__") if "__wrapped__" in former.__dict__ else words
    words = getattr(type(former), PARTS, words)
    words = _PARTS_OF_PARTIALS if isinstance(former, functools.partial) else words
    words = _PARTS_OF_METHODS if type(former) is MethodType else words
    for word in words:
        yield place.attribute(word), getattr(former, word)


def _keys_in(conditions: Sequence[Condition]) -> Iterator[int]:
    """The keys of dicts and the elements of sets, which are found there, too."""
    for _, guard in conditions:
        if type(guard) is HasKeys:
            yield from map(id, guard.wanted)


def _places_in(conditions: Sequence[Condition]) -> dict[int, list[AccessPath]]:
    """The places in which each object was found, by its id."""
    places: dict[tuple[int, str], AccessPath] = {}
    waiting = [(path, guard.wanted) for path, guard in conditions if type(guard) is Is]
    while waiting:
        path, value = waiting.pop()
        place = id(value), path.key()
        if is_plain(type(value)) or place in places:
            continue
        places[place] = path
        here = AccessPath(value)
        waiting += _parts(value, here)
        if type(value) is BuiltinFunctionType:
            waiting.append((here.attribute("__self__"), value.__self__))
        if type(value) is FunctionType:
            closure = here.attribute("__closure__")
            waiting += [(closure.item(n), one) for n, one in enumerate(value.__closure__ or ())]
    found: defaultdict[int, list[AccessPath]] = defaultdict(list)
    for (number, _), path in places.items():
        found[number].append(path)
    return found
