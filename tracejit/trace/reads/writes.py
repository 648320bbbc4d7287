"""Writes: the first one to a container from outside keeps it as it was, and later reads note that.

What the recording has written is its own; that it would be the same in another call is noted at the
end. Functions of the user's that write (`__setattr__`, setters of properties, descriptors) run
converted.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from types import FunctionType, MemberDescriptorType, SimpleNamespace
from typing import Any

import numpy as np

from tracejit.trace.guards.access_paths import ATTRIBUTE, ITEM, OWN, AccessPath, PathStep
from tracejit.trace.guards.guards import Length, OfType
from tracejit.trace.guards.reads import is_installed_class
from tracejit.trace.reads.attributes import IN_CLASS, lookup
from tracejit.trace.reads.containers import (
    CONTAINERS,
    KEYED,
    MEMBER,
    Containers,
    holds_recorded,
    is_hashable,
)
from tracejit.trace.reads.notes import MISSING, is_plain, is_users
from tracejit.trace.recording.before import Before
from tracejit.trace.recording.made_arrays import MadeArrays
from tracejit.trace.recording.mutable_attributes import NUMBERS, Loan, dict_of
from tracejit.trace.recording.record import current_recording
from tracejit.trace.tensor.namespaces import recorded_argument

_SETTERS = "__setattr__", "fset", "__set__"
_DELETERS = "__delattr__", "fdel", "__delete__"


class Writes(Containers):
    """Writes of attributes and elements. Of the classes and names in `leaves_writes` is noted that
    nothing but Python writes there."""

    def __init__(self, before: Before | None = None) -> None:
        """Begin with nothing."""
        super().__init__(before)
        self.leaves_writes: set[tuple[int, str]] = set()

    def store(self, o: Any, word: str | None, /) -> Any:
        """Announce that `o.word`, or an item of `o`, is about to be written."""
        if is_plain(type(o)):
            return o
        if word is None:
            return self._stored_items(o)
        write = self.by_user(o, word, _SETTERS)
        if write is not None:
            return StoredAttribute(self, o, write=write)
        return self.stored(o, word)

    def stored(self, o: Any, word: str) -> Any:
        """Announce that `o.word` is about to be written past `__setattr__` of the class."""
        slot = lookup(type(o), word)
        if type(slot) is MemberDescriptorType or not hasattr(type(slot), "__set__"):
            self._write_attribute(o, word)
            if word in self.apart.get(id(o), ()):
                assert self.loan is not None
                lent = functools.partial(self.loan.write, o, word)
                return StoredAttribute(self, o, lent, self.loan.refuse)
        elif not (type(slot) is property and slot.fset is None):  # Python raises
            write = self._by_descriptor(o, word, _SETTERS)
            if write is not None:
                return StoredAttribute(self, o, write=write)
            self.walk(slot)
            self.walk(o)
        return o

    def by_user(self, o: Any, word: str, names: tuple[str, str, str]) -> Callable[..., Any] | None:
        """The user's function that writes or deletes an attribute: of the class, of a property or
        of another descriptor; None if Python does."""
        hook = lookup(type(o), names[0])
        if _is_hook(hook):
            self.note_type(o)
            self.note(type(o), IN_CLASS, names[0], hook)
            return functools.partial(self.called(hook), o, word)
        return self._by_descriptor(o, word, names)

    def _by_descriptor(
        self, o: Any, word: str, names: tuple[str, str, str]
    ) -> Callable[..., Any] | None:
        _, of_property, of_descriptor = names
        slot = lookup(type(o), word)
        given: tuple[Any, ...] = (slot, o)
        if type(slot) is property:
            function, given = getattr(slot, of_property), (o,)
        else:
            function = lookup(type(slot), of_descriptor)
        if type(function) is not FunctionType or not is_users(function):
            return None
        self.note_found(o, word, slot)
        if type(slot) is not property:
            self.note(type(slot), IN_CLASS, of_descriptor, function)
        return functools.partial(self.called(function), *given)

    def write_past_class(self, o: Any, word: str, value: Any, /) -> None:
        """Write an attribute past `__setattr__` of the class, which may have none of its own."""
        stored = o if is_plain(type(o)) else self.stored(o, word)
        is_past = stored is o and _is_hook(lookup(type(o), _SETTERS[0]))
        (object.__setattr__ if is_past else setattr)(stored, word, value)

    def _note_class(self, o: Any, word: str) -> None:
        """Note that a class leaves it to Python to write an attribute of its objects."""
        kind = type(o)
        self.note_type(o)
        if (id(kind), word) in self.leaves_writes:
            return
        self.leaves_writes.add((id(kind), word))
        for base in kind.__mro__:
            if is_users(base) and not is_installed_class(base):
                own, place = base.__dict__, AccessPath(base).attribute("__dict__")
                if not _is_hook(own.get(_SETTERS[0])):
                    self.add_absent(base, place, _SETTERS[0])
                if word in own:
                    self.add(base, OfType(type(own[word])), OWN, word)
                else:
                    self.add_absent(base, place, word)

    def _write_attribute(self, o: Any, word: str) -> None:
        if is_users(type(o)) and not isinstance(o, type):
            self._note_class(o, word)
        if not self.is_made(o):
            own = dict_of(o)
            if own is not None and word in own and not self.wrote(o, word):
                is_space = type(o) is SimpleNamespace  # of which the operators know all
                self.is_lent(o, word, own[word], is_counter=is_space)
            self.write(o, word, ATTRIBUTE)
            if own is not None and id(own) in self.known:
                self.keep(own)
                self.write(own, word)

    def settle(self, kept: Collection[tuple[int, str]]) -> None:
        super().settle(kept)
        for o, former in [(self.known[key], former) for key, former in self.former.items()]:
            if not isinstance(o, KEYED):
                self.add(o, Length(len(former)))

    def settle_one(self, holder: Any, step: PathStep, key: Any) -> None:
        own = dict_of(holder) if step is ATTRIBUTE and not isinstance(holder, type) else None
        if own is not None and key in own:
            self.note_written(holder, OWN, key, own[key])
        elif own is not None and lookup(type(holder), key) is MISSING:
            self.add_absent(own, self.path_of(holder).attribute("__dict__"), key)
        elif step is ITEM and isinstance(holder, KEYED) and key not in holder:
            self.note(holder, MEMBER, key, False)
        elif step is not ITEM or isinstance(holder, KEYED) or key < len(self.before(holder)):
            try:
                self.note_written(holder, step, key, step.read(holder, key))
            except (AttributeError, LookupError, ValueError):
                self.refuse("a variable or slot that the function deletes")

    def note_written(self, holder: Any, step: PathStep, key: Any, value: Any) -> None:
        """Note a value that was written, and would be the same in another call."""
        if holds_recorded(value) or self.is_made(value):
            self.refuse("a value that the function computes and keeps")
        self.note(holder, step, key, value)

    def _stored_items(self, o: Any) -> Any:
        if isinstance(o, np.ndarray):
            self.keep_contents(o)
            recording = current_recording()
            if recording is not None and recording.made_arrays.has(o):
                return StoredArray(o, recording.made_arrays)
        elif type(o) in (list, dict, deque):
            return o if self.is_own(o) else StoredItems(self, o)
        elif not self.is_made(o) or is_users(type(o)):
            method = lookup(type(o), "__setitem__")
            self.walk(method if type(method) is FunctionType else o)
            self.walk(o)
            self.change(o)
        return o

    def keep_number(self, o: Any, key: Any) -> None:
        """Note the number that an item is which will be another one when it is read again."""
        if not (self.is_own(o) or holds_recorded(key) or self.wrote(o, key)):
            with suppress(LookupError, TypeError):
                value = o[key]
                self.note(o, ITEM, key, value) if type(value) in NUMBERS else None

    def store_item(self, o: Any, key: Any) -> None:
        """Know that an item of a list or dict from outside is about to be written."""
        if holds_recorded(key):
            self.refuse("a key that the function computes")
        elif isinstance(o, KEYED):
            if not is_hashable(key):
                return  # Python raises
            self.note_key(key)
            self.keep(o)
            self.write(o, key, ITEM)
        elif isinstance(key, int) and key >= 0:
            if key >= len(self.before(o)):
                self.note_length(o)
            self.keep(o)
            self.write(o, key, ITEM)
        else:
            self.change(o)

    def update(self, o: Any, word: str | None, /) -> Any:
        """Announce that `o.word`, or an item of `o`, is read and about to be written."""
        if word is None:
            if not is_plain(type(o)) and not isinstance(o, CONTAINERS):
                self.hand(o)
            return self.store(o, None)
        if not is_plain(type(o)):
            write = self.by_user(o, word, _SETTERS)
            delete = self.by_user(o, word, _DELETERS)
            if write is not None or delete is not None:
                return StoredAttribute(self, o, write, delete)
            slot = lookup(type(o), word)
            if type(slot) not in (MemberDescriptorType, type(MISSING)):
                if hasattr(type(slot), "__get__"):
                    self.walk(o)
                    return o
            own = dict_of(o)
            is_first = not (self.is_made(o) or self.wrote(o, word))
            if own is not None and type(own.get(word)) in NUMBERS and is_first:
                self.is_lent(o, word, own[word], is_counter=True)
            with suppress(AttributeError):
                self.change(self.attribute(o, word))
        return self.store(o, word)


class StoredItems:
    """A list or dict from outside while an item of it is assigned, changed or deleted."""

    __slots__ = ("_o", "_reads")

    def __init__(self, reads: Writes, o: Any) -> None:
        """`o` is the container."""
        self._reads, self._o = reads, o

    def __getitem__(self, key: Any) -> Any:
        self._reads.keep_number(self._o, key)
        value = self._reads.item(self._o, key)
        self._reads.change(value)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        self._reads.store_item(self._o, key)
        self._o[key] = value

    def __delitem__(self, key: Any) -> None:
        if isinstance(self._o, dict):
            self._reads.contains(key, self._o)
            self._reads.store_item(self._o, key)
        else:
            self._reads.change(self._o)
        del self._o[key]


class StoredArray:
    """A plain array of the function's while elements of it are assigned or changed: something
    recorded cannot be put into it, nor at a place that is."""

    __slots__ = ("_array", "_made")

    def __init__(self, array: Any, made: MadeArrays) -> None:
        """`array` is one of those `made`."""
        self._array, self._made = array, made

    def __getitem__(self, key: Any) -> Any:
        self._check(key)
        return self._array[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check(key, value)
        self._array[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._array[key]

    def _check(self, *given: Any) -> None:
        if recorded_argument(*given) is not None:
            self._made.write(self._array)


class StoredAttribute:
    """An object while an attribute of it is written or deleted by functions of the user's; Python
    does what these leave."""

    __slots__ = ("__tracejit_writes__",)

    def __init__(
        self,
        reads: Writes,
        o: Any,
        write: Callable[[Any], Any] | None = None,
        delete: Callable[[], Any] | None = None,
    ) -> None:
        """`write` and `delete` are these functions."""
        object.__setattr__(self, "__tracejit_writes__", (reads, o, write, delete))

    def __getattribute__(self, word: str) -> Any:
        reads, o, *_ = _writes_of(self)
        value = reads.attribute(o, word)
        reads.change(value)
        return value

    def __setattr__(self, word: str, value: Any) -> None:
        reads, o, write, _ = _writes_of(self)
        if write is None:
            setattr(reads.stored(o, word), word, value)
        else:
            write(value)

    def __delattr__(self, word: str) -> None:
        reads, o, _, delete = _writes_of(self)
        if delete is None:
            with suppress(AttributeError):
                reads.attribute(o, word)
            delattr(reads.stored(o, word), word)
        else:
            delete()


def _is_hook(found: Any) -> bool:
    """Return whether a function in a class stays there when the attributes that are lent are given
    back."""
    return type(found) is FunctionType and found.__module__ != Loan.__module__


def _writes_of(stored: StoredAttribute) -> Any:
    return object.__getattribute__(stored, "__tracejit_writes__")
