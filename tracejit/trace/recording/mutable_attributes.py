"""Attributes that change between calls, as values that go in and come out: `self.n += 1`.

A number or array in an attribute is part of a kernel on its first value. From its second on it is
lent to the recording: while the function runs, reading the attribute gives a Tensor, and assigning
to it is an event of the recording. The kernel reads the attribute at each call, and assigns to it
when it has succeeded.

The object itself is not touched. Its class has a `__getattribute__` and a `__setattr__` meanwhile
that answer the recording thread alone; for every other thread they do what the class did. Whatever
would go past them (`vars(self)`, a copy) ends the attempt, and the attributes stay as they are.

Other numbers (globals, variables of closures, elements) are lent, too, where converted code reads
them: an operator answers the Tensor. Nobody writes these. Where the function does, the attempt
ends. Nor has the class of a SimpleNamespace hooks: operators read and write its numbers.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from tracejit.ir.graph import Value
from tracejit.ir.types import type_of
from tracejit.trace.guards.access_paths import Place
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.guards.guards import Guard, HasDtype, HasShape, OfType
from tracejit.trace.recording.events import Event
from tracejit.trace.tensor.memory import Written
from tracejit.trace.tensor.tensor import TENSORS, Tensor

Key = tuple[int, str]
NUMBERS = (int, float, complex)
# Who asks an object for these sees its attributes without asking for them.
WHOLE = frozenset(("__dict__", "__reduce__", "__reduce_ex__", "__getstate__"))
HOOKS = ("__getattribute__", "__setattr__", "__delattr__")


class Escaped(BaseException):
    """The function treats its attributes in a way that cannot be recorded. No `except Exception` of
    the user's is meant."""


def attributes_of(holder: Any) -> dict[str, Any]:
    """The `__dict__` of an object, past its class."""
    own: dict[str, Any] = object.__getattribute__(holder, "__dict__")
    return own


def dict_of(o: Any) -> dict[str, Any] | None:
    """The `__dict__` of an object, past hooks of its class; None without."""
    is_hooked = type(type(o).__getattribute__) is FunctionType
    try:
        own = object.__getattribute__(o, "__dict__") if is_hooked else o.__dict__
    except AttributeError:
        return None
    return own if type(own) is dict else None


class Attribute:
    """An attribute in the `__dict__` of an object."""

    __slots__ = ("holder", "name")

    def __init__(self, holder: Any, name: str) -> None:
        """The attribute `name` of `holder`."""
        self.holder = holder
        self.name = name

    @property
    def value(self) -> Any:
        """The current value of the attribute."""
        return attributes_of(self.holder)[self.name]

    def commit(self, value: Any) -> None:
        """Let it be `value` from now on; an array is the object's own."""
        if type(value) is np.ndarray and not value.flags.writeable:
            value = value.copy()
        attributes_of(self.holder)[self.name] = value

    def guards(self) -> list[Guard]:
        """The guards of a kernel that reads the attribute at each call."""
        value = self.value
        found: list[Guard] = [OfType(type(value))]
        if type(value) is np.ndarray:
            found += [HasDtype(value.dtype), HasShape(value.shape)]
        return found


class Attributes:
    """The attributes that a function reads, and which of them are lent to its recordings."""

    def __init__(self) -> None:
        """Begin with no attribute read."""
        self._first: dict[Key, Any] = {}
        self._lent: dict[Key, Attribute] = {}
        self._kept: set[Key] = set()
        self._places: dict[Key, Place] = {}

    def lend(self, holder: Any, name: str) -> None:
        """Let an attribute be read at each call from now on."""
        self._lent.setdefault((id(holder), name), Attribute(holder, name))

    def keep(self, keys: Iterable[Key]) -> None:
        """Let these attributes belong to a kernel from now on, by their values."""
        self._kept.update(keys)

    def release(self, keys: Iterable[Key]) -> None:
        """Let these attributes be read at each call again."""
        self._kept.difference_update(keys)

    def of_namespace(
        self, holder: Any, name: str, value: Any, is_written: bool
    ) -> Attribute | None:
        """A number of a SimpleNamespace, if it is read anew: where it `is_written`, on its first
        value."""
        key = id(holder), name
        if key in self._kept or not is_in_namespace(holder, value):
            return None
        known = self._lent.get(key)
        if is_written and (known is None or known.holder is not holder):
            known = self._lent[key] = Attribute(holder, name)
        return known if known is not None and known.holder is holder else None

    def moves(self, key: Key, value: Any, place: Place) -> Place | None:
        """The place of a number that a recording reads anew, as another one has found another
        number there; `key` is the same for all recordings."""
        if not self._kept.isdisjoint((key, place.path.place_key())):
            return None
        if not (type(value) in NUMBERS or _is_number(value)):
            return None
        known = self._places.get(key)
        if known is None and _is_same(self._first.setdefault(key, value), value):
            return None
        if known is None or known.path.held.held is not place.path.held.held:
            self._places[key] = known = place
        return known

    def lent(
        self, holder: Any, name: str, value: Any, asks_identity: bool = False
    ) -> Attribute | None:
        """The attribute, if a recording that finds this value in it is to read it anew; no array
        of which the code `asks_identity`."""
        key = id(holder), name
        if key in self._kept or not is_lendable(holder, name, value):
            return None
        if asks_identity and type(value) is np.ndarray:
            return None
        known = self._lent.get(key)
        if known is not None and known.holder is holder:
            return known
        if not _is_same(self._first.setdefault(key, value), value):
            self.lend(holder, name)
        return self._lent.get(key)


def is_lendable(holder: Any, name: str, value: Any) -> bool:
    """Return whether an attribute with this value may be lent: nothing but its class stands between
    it and the code that reads it."""
    if not (type(value) in NUMBERS or _is_array(value)):
        return False
    cls: Any = type(holder)
    is_hooked = cls in _COUNTS  # by a loan, which has asked that before
    if not is_hooked and any(getattr(cls, hook) is not getattr(object, hook) for hook in HOOKS):
        return False
    own = attributes_of(holder) if is_hooked else vars(holder)
    if type(own) is not dict or sys.getrefcount(own) > _REFERENCES:
        return False  # another object has the same attributes
    return not any(hasattr(type(vars(base).get(name)), "__set__") for base in cls.__mro__)


def is_in_namespace(holder: Any, value: Any) -> bool:
    """Return whether a value is a number of a SimpleNamespace, which converted code may be lent."""
    if type(holder) is not SimpleNamespace or type(value) not in NUMBERS:
        return False
    own = vars(holder)
    return sys.getrefcount(own) <= _REFERENCES  # nobody else has the same attributes


def _is_array(value: Any) -> bool:
    if type(value) is not np.ndarray and not isinstance(value, np.generic):
        return False
    return value.dtype.kind in "iufc" and value.dtype.isnative and type_of(value) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, np.generic) and _is_array(value)


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values of an attribute are the same for a kernel that they are part of."""
    if type(one) is np.ndarray or type(other) is np.ndarray:
        return one is other
    return type(one) is type(other) and repr(one) == repr(other)


class Loan:
    """The attributes that one recording reads and assigns as Tensors, while it is open."""

    def __init__(self, lent: Mapping[Key, Attribute | Place], recording: Any) -> None:
        """Lend the attributes and numbers `lent` to `recording`, which has begun."""
        self.lent: dict[Key, Attribute | Place] = dict(lent)
        self.names = {name for _, name in lent}
        self.recording = recording
        self.inputs: dict[Key, Tensor] = {}
        self.current: dict[Key, Any] = {}
        self.events: dict[Key, Event] = {}
        self._holders = {holder for holder, _ in lent}
        self._classes: list[type] = []
        self._outer: Loan | None = None
        self._is_open = False
        self._has_escaped = False

    def __enter__(self) -> Loan:
        if self.lent:
            self._open()
        return self

    def _open(self) -> None:
        if not self._is_open:
            self._outer = _LOANS.get(threading.get_ident())
            _LOANS[threading.get_ident()] = self
        try:
            holders = [one.holder for one in self.lent.values() if type(one) is Attribute]
            for cls in dict.fromkeys(map(type, holders)).keys() - {SimpleNamespace}:
                if cls not in self._classes:
                    _hook(cls)
                    self._classes.append(cls)
        except BaseException as error:
            self.__exit__()
            if isinstance(error, TypeError):
                raise Escaped from None
            raise
        self._is_open = True

    def lend(self, attribute: Attribute) -> None:
        """Lend one more attribute, before anything is known of it."""
        self.lent[id(attribute.holder), attribute.name] = attribute
        self.names.add(attribute.name)
        self._holders.add(id(attribute.holder))
        self._open()

    def lend_number(self, key: Key, place: Place) -> None:
        """Lend a number that converted code alone reads, and nobody writes."""
        self.lent[key] = place

    def __exit__(self, *error: object) -> None:
        if not self.lent:
            return
        self._is_open = False
        while self._classes:
            _unhook(self._classes.pop())
        if self._outer is None:
            _LOANS.pop(threading.get_ident(), None)
        else:
            _LOANS[threading.get_ident()] = self._outer

    @property
    def is_open(self) -> bool:
        """Return whether the recording is under way."""
        return self._is_open and self.recording.open is True

    # What the recording thread does

    def has(self, holder: Any, name: str) -> bool:
        """Return whether an attribute is lent; Escaped where code asks for all that an object
        holds."""
        if not self.is_open:
            return False
        if name in WHOLE and id(holder) in self._holders:
            raise self.escape()
        return name in self.names and (id(holder), name) in self.lent

    def escape(self) -> Escaped:
        """The error that ends the attempt, even if the user's code catches it."""
        self._has_escaped = True
        return Escaped()

    def refuse(self) -> None:
        """End the attempt."""
        raise self.escape()

    def read(self, holder: Any, name: str) -> Any:
        """The value of the attribute at this point of the function."""
        return self.read_lent((id(holder), name))

    def read_lent(self, key: Key) -> Any:
        """The same by its key."""
        if key not in self.current:
            self.current[key] = self.inputs[key] = self._input(self.lent[key])
        return self.current[key]

    def _input(self, attribute: Attribute | Place) -> Tensor:
        value, recording = attribute.value, self.recording
        kind = type_of(value)
        assert kind is not None
        made = recording.hide(attribute, attribute.name, kind, ".value")
        recording.decisions.given[made] = value
        if kind.form == "weak":
            recording.known[made] = value
        return Tensor(made, recording)

    def write(self, holder: Any, name: str, value: Any) -> None:
        """Let the attribute be `value` at this point of the function."""
        key = id(holder), name
        self.current[key] = value
        self._note(key, self._value(value), value)

    def _value(self, value: Any) -> Value | None:
        """The Value in the recording for what is assigned; None for a Python number or text. Raises
        Escaped for an object that all calls would share, such as a captured array."""
        if type(value) in TENSORS and value._recording is self.recording:
            found: Value = self.recording.lift(self.recording.told_apart(value))
            return found
        if type(value) in ATOMS:
            return None
        captures = self.recording.captures
        if not _is_array(value) or (type(value) is np.ndarray and captures.sources_of(value)):
            raise self.escape()
        return self.recording.graph.constant(value)  # type: ignore[no-any-return]

    def _note(self, key: Key, value: Value | None, plain: Any) -> None:
        """Let the assignment take place after the call, in the place of one that nothing can see
        before it."""
        attribute: Any = self.lent[key]
        events, commit = self.recording.events, attribute.commit
        mine = {id(event) for event in self.events.values()}
        earlier = self.events.get(key)
        for position in reversed(range(len(events))):
            if id(events[position]) not in mine:
                break
            if events[position] is earlier:
                del events[position]
                break
        if value is None:
            self.events[key] = Event(None, functools.partial(commit, plain), [])
        else:
            value.name_result(self.lent[key].name)
            self.events[key] = Event(None, commit, [value])
        events.append(self.events[key])

    def settle(self) -> None:
        """After the function: what was written into what is assigned. Escaped where an array was
        written to that the caller sees."""
        written = any(type(tensor._owner) is Written for tensor in self.inputs.values())
        if written or self._has_escaped:
            raise Escaped
        for key, event in list(self.events.items()):
            last = self.current[key]
            value = self._value(last) if type(last) in TENSORS else None
            if value is not None and value is not event.values[0]:
                self._note(key, value, last)

    def reads(self) -> dict[Key, tuple[Any, Any]]:
        """The lent numbers that Python has read, with the place that has."""
        known = self.recording.reads
        return {
            key: known[tensor._held] for key, tensor in self.inputs.items() if tensor._held in known
        }


# The classes of what is lent

_LOANS: dict[int, Loan] = {}
_COUNTS: dict[type, int] = {}
_CHANGES: dict[int, int] = {}  # how often each thread has hooked a class or let go of one
_LOCK = threading.RLock()


def _hook(cls: type) -> None:
    """Let the recording thread of a loan see what is lent of the objects of a class. Raises
    TypeError where a class does not change."""
    with _LOCK:
        _COUNTS[cls] = _COUNTS.get(cls, 0) + 1
        # Each time: a signal handler that lends, too, takes its hooks away in between.
        for name, hook in _hooks_of(cls).items():
            type.__setattr__(cls, name, hook)
        _count_change()


def _unhook(cls: type) -> None:
    """The end of one loan."""
    with _LOCK:
        _COUNTS[cls] -= 1
        if not _COUNTS[cls]:
            _COUNTS.pop(cls)
            for name in HOOKS:
                if name in vars(cls):
                    type.__delattr__(cls, name)
        _count_change()


def _count_change() -> None:
    thread = threading.get_ident()
    _CHANGES[thread] = _CHANGES.get(thread, 0) + 1


def _hooks_of(cls: Any) -> dict[str, Any]:
    """The methods that a class has meanwhile."""

    def get(self: Any, name: str) -> Any:
        loan = _LOANS.get(threading.get_ident())
        if loan is not None and loan.has(self, name):
            return loan.read(self, name)
        return super(cls, self).__getattribute__(name)

    def put(self: Any, name: str, value: Any) -> None:
        loan = _LOANS.get(threading.get_ident())
        if loan is not None and loan.has(self, name):
            loan.write(self, name, value)
        else:
            super(cls, self).__setattr__(name, value)

    def drop(self: Any, name: str) -> None:
        loan = _LOANS.get(threading.get_ident())
        if loan is not None and loan.has(self, name):
            raise loan.escape()
        super(cls, self).__delattr__(name)

    return dict(zip(HOOKS, (get, put, drop), strict=True))


def others_lend() -> bool:
    """Return whether another thread has a loan: meanwhile, guards over the class of a lent object
    do not hold."""
    return bool(_LOANS) and any(thread != threading.get_ident() for thread in list(_LOANS))


def let_go() -> None:
    """Unhook what an interruption has left hooked."""
    thread = threading.get_ident()
    stale = _LOANS.get(thread)
    if stale is not None and not stale.is_open:
        del _LOANS[thread]
    if _COUNTS and not _LOANS:
        with _LOCK:
            for cls in list(_COUNTS) if not _LOANS else ():
                _COUNTS[cls] = 1
                _unhook(cls)


def changes_by_others() -> int:
    """The number of times that other threads have begun or ended a loan."""
    mine = threading.get_ident()
    return sum(count for thread, count in list(_CHANGES.items()) if thread != mine)


def _forget_in_child() -> None:
    """In a forked child, end the loans of threads that are not there."""
    global _LOCK
    _LOCK = threading.RLock()
    for thread, loan in list(_LOANS.items()):
        if thread != threading.get_ident():
            loan.__exit__()
            del _LOANS[thread]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


class _Alone:
    """An object that shares its attributes with no other."""

    def __init__(self) -> None:
        self.one = 1


def _references() -> int:
    """The number of references to the `__dict__` of an object that shares it with no other. The
    code that asks holds one of them."""
    alone = _Alone()
    own = vars(alone)
    return sys.getrefcount(own) + 1


_REFERENCES = _references()


def assigns_inexact(event: Event) -> str:
    """The attribute that an event gives a value with a derivative; empty where it gives none."""
    attribute = getattr(event.run, "__self__", None)
    if type(attribute) is not Attribute or not any(x.type.is_inexact for x in event.values):
        return ""
    return attribute.name
