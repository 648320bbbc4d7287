"""The state that a function reads, as it was before a recording that comes to nothing: the function
runs once more, and must meet the same again."""

from __future__ import annotations

import operator
import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from contextlib import suppress
from types import FunctionType, GeneratorType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from tracejit.support.codes import code_of
from tracejit.support.memo import ByIdentity
from tracejit.trace.guards.conditions import Condition
from tracejit.trace.guards.guards import HasContents
from tracejit.trace.guards.reads import answers_once, is_foreign_module, module_name
from tracejit.trace.recording.mutable_attributes import attributes_of

DICTS = (dict, OrderedDict, defaultdict, Counter)
CHANGING = (*DICTS, list, set, deque)
_ABSENT = object()


class Walks(BaseException):
    """A recording needs to know all that its function may read and change before it runs. No
    `except Exception` of the user's is meant."""


class Before:
    """The elements of containers, the attributes, globals, closure variables and arrays that a
    function reads, and the positions of iterators, as they were."""

    def __init__(self) -> None:
        """Nothing is noted yet."""
        self._words: set[str] | None = None
        self._arrays: dict[int, tuple[str, np.ndarray]] = {}
        self._contents: dict[int, Condition] = {}
        self._held: dict[int, tuple[Any, list[Any]]] = {}
        self._named: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self._positions: dict[int, tuple[Any, Any]] = {}

    def note(self, captures: Any) -> None:
        """Note what they are now, unless that was done before."""
        if self._words is None:
            self._words = captures.words
            self.note_walk(captures)

    def note_walk(self, captures: Any) -> None:
        """Note what a walk has found, where it was not noted before."""
        self._arrays = captures.arrays | self._arrays
        self._contents = captures.conditions.contents() | self._contents
        for holder in captures.visited.values():
            self._note(holder, captures.words)

    def note_name(self, space: Any, name: str, own: dict[str, Any] | None = None) -> None:
        """Note the value of one name of a dict or cell, or of one attribute; of an object with its
        `own` attributes, all of these."""
        if own is None:
            self._note_names(space, (name,))
        else:
            self._note_elements(space, own)

    def note_holder(self, holder: Any) -> None:
        """Note the elements of one container, or the position of one iterator."""
        if answers_once(type(holder)):
            self._positions.setdefault(id(holder), (holder, _position(holder)))
        elif type(holder) in CHANGING:
            self._note_elements(holder, holder)

    def _note_elements(self, holder: Any, container: Any) -> None:
        if id(holder) not in self._held:
            self._held[id(holder)] = holder, _elements(container)

    def note_array(self, array: np.ndarray, contents: Condition) -> None:
        """Note the contents of one array."""
        self._arrays.setdefault(id(array), ("", array))
        self._contents.setdefault(id(array), contents)

    def _note(self, holder: Any, words: set[str]) -> None:
        kind = type(holder)
        if kind is FunctionType:
            self._note_names(holder.__globals__, code_of(holder).co_names)
            for cell in holder.__closure__ or ():
                self._note_names(cell, ("cell_contents",))
        elif kind is ModuleType:
            if not is_foreign_module(holder.__name__):
                self._note_names(vars(holder), words)
        elif isinstance(holder, type):
            if not is_foreign_module(module_name(holder)):
                self._note_names(holder, words)
        elif answers_once(kind):
            self.note_holder(holder)
        else:
            if _container_of(holder) is not None:
                self._note_elements(holder, _container_of(holder))
            if not is_foreign_module(module_name(kind)):
                self._note_names(holder, words & slots_of(kind))

    def _note_names(self, space: Any, names: Iterable[str]) -> None:
        for name in names:
            if (id(space), name) not in self._named:
                self._named[id(space), name] = space, name, read(space, name)

    def known(self) -> set[int]:
        """The ids of all that was held."""
        found = {id(value) for _, _, value in self._named.values()}
        return found.union(*(map(id, held) for _, held in self._held.values()))

    def is_unchanged(self) -> bool:
        """Return whether all is as it was noted."""
        names = all(read(space, name) is value for space, name, value in self._named.values())
        elements = [(_elements(_container_of(o)), held) for o, held in self._held.values()]
        held = all(are_same(now, held) for now, held in elements)
        return names and held and self._are_restored()

    def restore(self) -> bool:
        """Let them be so again. Return whether all are: what a foreign object holds, and where an
        iterator was, cannot be put back."""
        for space, name, value in self._named.values():
            if read(space, name) is not value:
                write(space, name, value)
        for holder, held in self._held.values():
            container = _container_of(holder)
            if not are_same(_elements(container), held):
                _fill(container, held)
        for key, condition in self._contents.items():
            if not condition.holds():
                _, array = self._arrays.get(key, ("", None))
                _copy_back(array, condition)
        return self._are_restored()

    def _are_restored(self) -> bool:
        return all(one.holds() for one in self._contents.values()) and all(
            _is_at(holder, position) for holder, position in self._positions.values()
        )


def read(space: Any, name: str) -> Any:
    """The value of a name in a dict, of a member of a class, of a slot or a cell."""
    if isinstance(space, type):
        return vars(space).get(name, _ABSENT)
    if type(space) is dict:
        return space.get(name, _ABSENT)
    try:
        return object.__getattribute__(space, name)
    except (AttributeError, ValueError):  # an empty slot, an empty cell
        return _ABSENT


def write(space: Any, name: str, value: Any) -> None:
    """Let a name, a member, a slot or a cell hold a value, or nothing."""
    if type(space) is dict:
        if value is not _ABSENT:
            space[name] = value
        elif type(space[name]) is not ModuleType:  # which is imported once
            del space[name]
        return
    kind: Any = type if isinstance(space, type) else object
    if value is _ABSENT:
        kind.__delattr__(space, name)
    else:
        kind.__setattr__(space, name, value)


def slots_of(cls: type) -> frozenset[str]:
    """The names of the slots of a class and of those it derives from."""
    known = _slots.get(cls)
    if known is None:
        members = [item for base in cls.__mro__ for item in vars(base).items()]
        names = [name for name, member in members if type(member) is MemberDescriptorType]
        known = _slots.setdefault(cls, frozenset(names))
    return known


_slots: ByIdentity[type, frozenset[str]] = ByIdentity()


def _container_of(holder: Any) -> Any:
    """The container that changes with an object: itself, or its attributes. It must not be kept:
    attributes with another owner are not lent."""
    if type(holder) in CHANGING:
        return holder
    with suppress(AttributeError):
        own = attributes_of(holder)
        return own if type(own) is dict else None
    return None


def _elements(container: Any) -> list[Any]:
    """The elements of a container; of a dict keys and values in turn."""
    if type(container) in DICTS:
        return [one for item in list(dict.items(container)) for one in item]
    return list(container)


def _fill(container: Any, held: list[Any]) -> None:
    if type(container) is list:
        container[:] = held
    elif type(container) in DICTS:
        items = list(zip(held[::2], held[1::2], strict=True))
        if [*map(id, container)] != [id(key) for key, _ in items]:
            container.clear()
        for key, value in items:
            container[key] = value
    else:
        container.clear()
        (container.update if type(container) is set else container.extend)(held)


def are_same(one: Any, other: Any) -> bool:
    """Return whether two containers hold the same objects in the same places."""
    return len(one) == len(other) and all(map(operator.is_, one, other))


def _copy_back(array: Any, condition: Condition) -> None:
    """Copy the contents of an array back, if it lies in one piece."""
    if type(condition.guard) is HasContents and array.nbytes == condition.guard.bytes:
        with suppress(ValueError):  # it is read-only by now
            array.reshape(-1).view(np.uint8)[...] = np.frombuffer(condition.guard.wanted, np.uint8)


def _position(iterator: Any) -> list[Any] | None:
    """The position of an iterator, a generator or a file; None if it has none to show."""
    if type(iterator) is GeneratorType:
        frame = iterator.gi_frame
        return [] if frame is None else [frame.f_lasti, *frame.f_locals.values()]
    try:
        if hasattr(iterator, "tell"):
            return [iterator.tell()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            parts: Any = iterator.__reduce__()
    except (TypeError, ValueError, OSError):
        return None
    found = list[Any]()
    for part in [x for one in parts for x in (one if type(one) is tuple else (one,))]:
        found += (_position(part) or [part]) if hasattr(part, "__next__") else [part]
    return found


def _is_at(iterator: Any, position: list[Any] | None) -> bool:
    now = _position(iterator)
    if now is None or position is None or len(now) != len(position):
        return False
    return all(
        x is y or (type(x) is type(y) is int and x == y) for x, y in zip(now, position, strict=True)
    )
