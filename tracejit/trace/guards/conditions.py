"""Conditions: guards of what a function reads besides its arguments.

A walk (`walk.py`) collects them, or a reader. Before the first call of a kernel they become Python
(`check.py`), one `and` of all; long after, and never on a call that fits, `changes` asks them one
by one what is different.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tracejit.trace.guards.access_paths import AccessPath, Labels
from tracejit.trace.guards.contents import (
    array_copy,
    buffer_copy,
    is_in_one_piece,
    whole_copy,
)
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.guards.guards import (
    Difference,
    Guard,
    HasBlocks,
    HasBuffer,
    HasContents,
    Is,
    Without,
    same_value,
)

TEXT_OF_GUARD = "<tracejit guard>"
"""The file of a guard's code, as tracebacks and debuggers name it."""


class Condition(NamedTuple):
    """A guard of the value that an access path reads."""

    path: AccessPath
    guard: Guard

    def holds(self) -> bool:
        """Return whether the value passes. One that cannot be read does not."""
        try:
            return self.guard.check(self.path.value())
        except Exception:  # what is read has no such part any more
            return False

    def spelling(self, bind: Callable[[Any], str]) -> str:
        """The Python expression that tests it."""
        text = self.path.spelling(bind)
        if self.path.step is None or "{again}" not in self.guard.text():
            return self.guard.spelling(text, bind)
        return self.guard.spelling(f"(value := {text})", bind, "value")

    def explain(self, labels: Labels) -> Difference:
        """The sentence for a value that does not pass."""
        place = None
        try:
            now = self.guard.finds(self.path.value())
            place = self.path.place_key()
        except Exception:  # what is read has no such part any more
            now = "gone"
        what, was = labels.of(self.path), self.guard.wants()
        return Difference(self.guard.captured, what, was, now, place=place)


class Guards:
    """A function that tells if all of some conditions hold, and the conditions."""

    __slots__ = ("conditions", "holds")

    def __init__(self, holds: Callable[[], bool], conditions: Collection[Condition] = ()) -> None:
        """`holds` is what the conditions compile to."""
        self.holds = holds
        self.conditions = conditions

    def __call__(self) -> bool:
        return bool(self.holds())

    def changes(self, names: Mapping[int, str] | None = None) -> list[Difference]:
        """The conditions that do not hold now, told; `names` are those of arguments, by
        id. What is inside of something else that has changed is left out."""
        labels, found = self.labels(names), list[Difference]()
        for condition in self.conditions:
            if not condition.holds():
                change = condition.explain(labels)
                if not any(_is_inside(change.what, one.what) for one in found):
                    found.append(change)
        return found

    def compared(self, names: Mapping[int, str] | None = None) -> list[tuple[str, int]]:
        """The arrays whose contents are compared at each call: their names and bytes."""
        labels = self.labels(names)
        return [
            (labels.of(path), guard.bytes)
            for path, guard in self.conditions
            if isinstance(guard, HasContents) and guard.bytes
        ]

    def labels(self, names: Mapping[int, str] | None) -> Labels:
        """The user's words for what the conditions are about."""
        places: dict[int, AccessPath] = {}
        for path, guard in self.conditions:
            if type(guard) is Is:
                places.setdefault(id(guard.wanted), path)
        return Labels(names or {}, places)


class ReadConditions(NamedTuple):
    """The conditions of all that a recording has read, and the objects, by id, in whose places
    there may be no others: None where there may be none at all. Arrays that are read-only for the
    conditions' sake are `frozen`."""

    all: list[Condition]
    fixed: frozenset[int] | None = None
    frozen: Any = None


class ConditionSet:
    """The conditions of a recording, as they are found."""

    def __init__(self) -> None:
        """Begin with no condition."""
        self._found: list[Condition] = []
        self._absent: dict[int, tuple[AccessPath, set[str]]] = {}
        self._things: dict[int, tuple[AccessPath, Any]] = {}
        self._contents: dict[int, Condition] = {}

    def add(self, path: AccessPath, guard: Guard) -> None:
        """Hold only where the value at `path` passes `guard`."""
        self._found.append(Condition(path, guard))

    def add_value(self, path: AccessPath, value: Any) -> None:
        """Hold only where there is this value: a number or text to the bit, another by identity."""
        is_constant = type(value) in ATOMS or isinstance(value, np.generic)
        self.add(path, same_value(value) if is_constant else Is(value))

    def add_absent(self, path: AccessPath, names: Iterable[str]) -> None:
        """Hold only as long as the dict at `path` has none of these keys."""
        self._absent.setdefault(id(path.root), (path, set()))[1].update(names)

    def add_contents(self, path: AccessPath, thing: Any) -> None:
        """Hold only where the array or buffer at `path` has the contents that `thing` has when they
        are copied."""
        self._things.setdefault(id(thing), (path, thing))

    def copy_contents(self) -> None:
        """Copy the contents that are compared."""
        for key, (path, thing) in self._things.items():
            if key not in self._contents:
                self._contents[key] = Condition(path, contents_of(thing))

    def contents(self) -> dict[int, Condition]:
        """The conditions of the contents of arrays and buffers, by the id of each."""
        return dict(self._contents)

    def all(self) -> list[Condition]:
        """Every condition, in the order in which they are tested.

        Contents come last, large ones behind small ones: they cost most, and another kernel's guard
        mostly fails before.
        """
        absent = [Condition(path, Without(frozenset(x))) for path, x in self._absent.values()]
        contents = sorted(self._contents.values(), key=lambda one: one.guard.bytes)
        return [*self._found, *absent, *contents]

    def hold(self) -> bool:
        """Return whether all conditions hold now."""
        return all(one.holds() for one in self.all())


def contents_of(thing: Any) -> HasContents:
    """The guard that compares an array or a buffer with a copy made now."""
    if not isinstance(thing, np.ndarray):
        copy = buffer_copy(thing)
        return HasBuffer(copy, bytes=copy[1])
    if is_in_one_piece(thing):
        return HasContents(whole_copy(thing), bytes=thing.nbytes)
    return HasBlocks(array_copy(thing), bytes=thing.nbytes)


def _is_inside(what: str, whole: str) -> bool:
    """Return whether something is reached through `whole`, or is the same."""
    return what == whole or what.startswith((f"{whole}.", f"{whole}["))
