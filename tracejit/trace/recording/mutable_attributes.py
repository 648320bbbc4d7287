"""Attributes that change between calls, as values that go in and come out: `self.n += 1`.

A number or array in an attribute is part of a kernel on its first value. From its second on it is
lent to the recording: while the function runs, reading the attribute gives a Tensor, and assigning
to it is an event of the recording. The kernel reads the attribute at each call, and assigns to it
when it has succeeded.

The object itself is not touched: converted code reads and assigns by operators, which answer for
the recording alone. Where anything else may look at the object (`vars(self)`, a copy, code that is
not converted), the attempt ends, and the attributes stay as they are.

Other numbers (globals, variables of closures, elements) are lent, too. Nobody writes these. Where
the function does, the attempt ends.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
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
_HOOKS = ("__getattribute__", "__setattr__", "__delattr__")


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

    def lent(self, holder: Any, name: str, value: Any) -> Attribute | None:
        """The attribute, if a recording that finds this value in it is to read it anew."""
        key = id(holder), name
        if key in self._kept or not is_lendable(holder, name, value):
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
    is_hooked = any(getattr(cls, hook) is not getattr(object, hook) for hook in _HOOKS)
    if is_hooked and cls is not SimpleNamespace:
        return False
    own = vars(holder)
    if type(own) is not dict or sys.getrefcount(own) > _REFERENCES:
        return False  # another object has the same attributes
    return not any(hasattr(type(vars(base).get(name)), "__set__") for base in cls.__mro__)


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
    """The attributes and numbers that one recording reads, and assigns, as Tensors."""

    def __init__(self, recording: Any) -> None:
        """Lend nothing yet to `recording`."""
        self.lent: dict[Key, Attribute | Place] = {}
        self.recording = recording
        self.inputs: dict[Key, Tensor] = {}
        self.current: dict[Key, Any] = {}
        self.events: dict[Key, Event] = {}
        self._has_escaped = False

    def lend(self, attribute: Attribute) -> None:
        """Lend one more attribute, before anything is known of it."""
        self.lent[id(attribute.holder), attribute.name] = attribute

    def lend_number(self, key: Key, place: Place) -> None:
        """Lend a number that nobody writes."""
        self.lent[key] = place

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
