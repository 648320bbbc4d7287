"""Attributes, found as Python finds them, so that what is read on the way is noted.

`o.w` is noted by the same expression, or for a method by its function, so that an attribute that
hides it, a patched class and another class of the object all count. Where Python runs code of the
user's (properties, descriptors, `__getattr__`), the code is converted, and noted is only what leads
there: a guard runs none of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import Enum
from types import (
    BuiltinFunctionType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, NamedTuple

import numpy as np

from tracejit.convert.mapping import real_globals
from tracejit.support.words import attribute
from tracejit.trace.capture.ambient import module_of
from tracejit.trace.guards.access_paths import ATTRIBUTE, OWN, AccessPath, PathStep
from tracejit.trace.guards.guards import WithoutAttribute
from tracejit.trace.guards.reads import is_foreign_module
from tracejit.trace.reads.notes import MISSING, PYTHONS, Notes, is_plain, is_users
from tracejit.trace.recording.mutable_attributes import WHOLE, Escaped, dict_of
from tracejit.trace.tensor.tensor import TENSORS


def lookup(cls: type, word: str) -> Any:
    """The value that a class has under a name, past descriptors and metaclasses, or MISSING."""
    for base in cls.__mro__:
        if word in base.__dict__:
            return base.__dict__[word]
    return MISSING


def is_empty_slot(o: Any, slot: Any) -> bool:
    """Return whether an object has nothing in a slot."""
    try:
        slot.__get__(o)
    except AttributeError:
        return True
    return False


class _Named(NamedTuple):
    """A tuple, for the class of its field."""

    field: Any


METHOD = PathStep(
    lambda held, word: getattr(held, word).__func__,
    lambda held, word, bind: f"{attribute(held, word, bind)}.__func__",
    lambda held, word: f"{held}.{word}",
)
IN_CLASS = PathStep(
    lookup,
    lambda held, word, bind: f"{bind(lookup)}({held}, {word!r})",
    lambda held, word: f"{held}.{word}",
)
EMPTY_SLOT = PathStep(
    is_empty_slot,
    lambda held, slot, bind: f"{bind(is_empty_slot)}({held}, {bind(slot)})",
    lambda held, slot: f"{held}.{slot.__name__}",
)
FLAGS = PathStep(
    lambda held, none: held.flags.num,
    lambda held, none, bind: f"{held}.flags.num",
    lambda held, none: f"{held}.flags",
)
_FIELD = type(_Named.field)
_READ_ONLY = (MethodType, functools.partial, property, classmethod, staticmethod)
_MADE_AT_EACH_READ = (MethodType, BuiltinFunctionType, MethodWrapperType, MappingProxyType)


class Attributes(Notes):
    """Reads of attributes. `lends` lends those that are others from call to call."""

    lends: Callable[[Any, str, Any, bool], bool] | None = None

    def is_lent(self, o: Any, word: str, value: Any, is_counter: bool = False) -> bool:
        """Return whether the kernel will read an attribute anew, which has not been read yet."""
        if not self.alone or self.lends is None or type(value) in TENSORS:
            return False
        known = (id(o), ATTRIBUTE, word) in self.conditions
        return not known and self.lends(o, word, value, is_counter)

    def called(self, function: Any) -> Any:
        """The callable in place of a function of the user's."""
        raise NotImplementedError

    def attribute(self, o: Any, word: str, /) -> Any:
        """Read `o.word`."""
        if (id(o), word) in self.settled:
            return getattr(o, word)
        kind = type(o)
        if id(o) in self.apart:
            if word in WHOLE:
                raise Escaped
            if word in self.apart[id(o)]:
                assert self.loan is not None
                return self.loan.read(o, word)
        if is_plain(kind) or kind in PYTHONS:
            return getattr(o, word)
        if kind is ModuleType:
            return self._of_module(o, word)
        if kind is super:
            return self._of_super(o, word)
        if isinstance(o, type):
            return self._of_class(o, word)
        if kind is np.ndarray:
            if word == "flags":
                self.note(o, FLAGS, None, o.flags.num)
            elif word in _OF_MEMORY:
                self.compared.add(id(o))
            return getattr(o, word)
        is_about_function = kind in _READ_ONLY or (isinstance(o, Enum) and word in _OF_ENUMS)
        return getattr(o, word) if is_about_function else self._of_instance(o, word)

    def special(self, o: Any, word: str) -> FunctionType | None:
        """The user's function for a special method of an object, which Python finds in its class;
        noted, as is that there is none."""
        kind = type(o)
        if is_plain(kind) or not is_users(kind):
            return None
        found = lookup(kind, word)
        self.note_type(o)
        if found is MISSING or type(found) is FunctionType:
            self.note(kind, IN_CLASS, word, found)
        return found if type(found) is FunctionType and is_users(found) else None

    # Modules

    def _of_module(self, module: ModuleType, word: str) -> Any:
        space = vars(module)
        if is_foreign_module(module.__name__):
            self.names.add(word)
            value = getattr(module, word)
            if not is_foreign_module(module_of(value)):
                return self.note(module, ATTRIBUTE, word, value)
            self.modules.add(module.__name__)
            if not isinstance(value, type | FunctionType):
                self.made(value)
            return self._settled(module, word, value)
        if word not in space:
            hook = space.get("__getattr__")
            if type(hook) is FunctionType:
                value = self.called(self.note(module, ATTRIBUTE, "__getattr__", hook))(word)
                if word not in space:
                    self.add_absent(space, AccessPath(space), word)
                    return value
            elif not hasattr(module, word):
                self.add_absent(space, AccessPath(space), word)
        value = getattr(module, word)
        return value if self.wrote(module, word) else self.read(module, ATTRIBUTE, word, value)

    # Classes

    def _of_class(self, cls: type, word: str) -> Any:
        if not is_users(cls) and not is_users(type(cls)):
            return getattr(cls, word)
        meta = lookup(type(cls), word)
        if type(meta) is property and meta.fget is not None:
            self.note(type(cls), IN_CLASS, word, meta)
            return self.called(meta.fget)(cls)
        found = lookup(cls, word)
        kind = type(found)
        if found is MISSING:
            return self._beside_class(cls, word, meta)
        if kind is classmethod:
            self.note(cls, IN_CLASS, word, found)
            return getattr(cls, word)
        getter = lookup(kind, "__get__")
        if type(getter) is FunctionType and kind is not FunctionType:
            self.note(cls, IN_CLASS, word, found)
            if is_users(getter):
                self.note(kind, IN_CLASS, "__get__", getter)
                return self.called(getter)(found, None, cls)
            self.walk(found)
            return getattr(cls, word)
        value = getattr(cls, word)
        if type(value) in _MADE_AT_EACH_READ or self.wrote(cls, word):
            return value
        return self.read(cls, ATTRIBUTE, word, value)

    def _beside_class(self, cls: type, word: str, meta: Any) -> Any:
        """An attribute that a class itself does not have: its metaclass may."""
        self.note(cls, IN_CLASS, word, MISSING)
        hook = lookup(type(cls), "__getattr__")
        if meta is MISSING and type(hook) is FunctionType:
            self.note(type(cls), IN_CLASS, word, MISSING)
            self.note(type(cls), IN_CLASS, "__getattr__", hook)
            return self.called(hook)(cls, word)
        if meta is MISSING:
            self.add(cls, WithoutAttribute(word), key=word)
            return getattr(cls, word)
        if type(meta) is FunctionType:
            self.note(type(cls), IN_CLASS, word, meta)
            return getattr(cls, word)
        value = getattr(cls, word)
        return (
            value if type(value) in _MADE_AT_EACH_READ else self.note(cls, ATTRIBUTE, word, value)
        )

    def _of_super(self, o: Any, word: str) -> Any:
        """An attribute of `super()`: in the classes behind one of them."""
        cls, own = o.__self_class__, o.__self__
        self.note(cls, ATTRIBUTE, "__mro__", cls.__mro__)
        order = cls.__mro__
        for base in order[order.index(o.__thisclass__) + 1 :]:
            if word in base.__dict__:
                found = base.__dict__[word]
                if is_users(base):
                    self.note(base, OWN, word, found)
                if type(found) is property and found.fget is not None and own is not cls:
                    return self.called(found.fget)(own)
                break
            if is_users(base):
                space = AccessPath(base).attribute("__dict__")
                self.add_absent(base, space, word)
        return getattr(o, word)

    # Instances

    def _of_instance(self, o: Any, word: str) -> Any:
        kind = type(o)
        if word == "__class__":
            self.note_type(o)
            return getattr(o, word)
        if word == "__globals__" and kind is FunctionType and real_globals(o) is not o.__globals__:
            return real_globals(o)
        if type(kind.__getattribute__) is FunctionType and is_users(kind.__getattribute__):
            self.walk(o)
            return getattr(o, word)
        if word == "__dict__" and self.is_made(o):
            return self.made(o.__dict__)
        found = lookup(kind, word)
        if type(found) is property and found.fget is not None:
            self.note_found(o, word, found)
            try:
                return self.called(found.fget)(o)
            except AttributeError:
                if lookup(kind, "__getattr__") is MISSING:
                    raise
                return self._hooked(o, word)
        if type(found) is _FIELD:
            self.learn(getattr(o, word))
            return getattr(o, word)
        descriptor = _getter(found)
        is_data = hasattr(type(found), "__set__")
        if is_data and descriptor is None:
            return self._of_slot(o, word, found)
        own = dict_of(o)
        if own is not None and word in own and not is_data:
            value = getattr(o, word)
            if self.is_made(o) or self.wrote(o, word):
                return self._settled(o, word, value)
            step = OWN if descriptor is not None else ATTRIBUTE
            if self.is_lent(o, word, value):
                return self.attribute(o, word) if id(o) in self.apart else getattr(o, word)
            return self._settled(o, word, value, self.read(o, step, word, value))
        if found is MISSING:
            return self._absent(o, word)
        if type(found) is functools.cached_property:
            return self._cached(o, word, found)
        if descriptor is not None:
            self.note_found(o, word, found)
            if is_users(descriptor):
                self.note(type(found), IN_CLASS, "__get__", descriptor)
                return self.called(descriptor)(found, o, kind)
            self.walk(found)
            return getattr(o, word)
        return self._of_instances_class(o, word, found)

    def _settled(self, o: Any, word: str, value: Any, found: Any = MISSING) -> Any:
        """The value of an attribute of which nothing more is to be noted, unless another one was
        found in its place."""
        if found is not MISSING and found is not value:
            return found
        self.settled.add((id(o), word))
        return value

    def _of_instances_class(self, o: Any, word: str, found: Any) -> Any:
        """A method, or another attribute of the class, as an instance has it."""
        kind = type(o)
        value = getattr(o, word)
        if self.is_made(o):
            if is_users(kind) and type(value) not in _MADE_AT_EACH_READ[1:]:
                self.note(kind, IN_CLASS, word, found)
                self.learn(value)
        elif self.wrote(o, word):
            return value
        elif type(value) is MethodType:
            self.note(o, METHOD, word, value.__func__)
        elif type(value) not in _MADE_AT_EACH_READ:
            return self._settled(o, word, value, self.read(o, ATTRIBUTE, word, value))
        return self._settled(o, word, value)

    def _of_slot(self, o: Any, word: str, slot: Any) -> Any:
        """The value in a slot, or the answer of C code."""
        try:
            value = getattr(o, word)
        except AttributeError:
            if type(slot) is MemberDescriptorType and not self.is_made(o):
                if not self.wrote(o, word):
                    self.note(o, EMPTY_SLOT, slot, True)
            if lookup(type(o), "__getattr__") is not MISSING:
                return self._hooked(o, word)
            raise
        if self.is_made(o) or self.wrote(o, word):
            return value
        if type(slot) is MemberDescriptorType or word in _KEPT or is_plain(type(value)):
            return self.read(o, ATTRIBUTE, word, value)
        self.walk(o)
        return value

    def _cached(self, o: Any, word: str, found: Any) -> Any:
        """A property that is computed once: what counts from then on is what stands there."""
        if self.is_made(o):
            self.note(type(o), IN_CLASS, word, found)
            value = o.__dict__[found.attrname] = self.called(found.func)(o)
            return value
        return self.note(o, OWN, word, getattr(o, word))

    def _absent(self, o: Any, word: str) -> Any:
        """An attribute that an object does not have: `__getattr__` may answer, or Python raises."""
        if lookup(type(o), "__getattr__") is not MISSING:
            own = dict_of(o)
            if own is not None and not self.is_made(o) and not self.wrote(o, word):
                self.add_absent(own, AccessPath(o).attribute("__dict__"), word)
            self.note(type(o), IN_CLASS, word, MISSING)
            return self._hooked(o, word)
        if self.is_made(o):
            self.note(type(o), IN_CLASS, word, MISSING)
        elif not self.wrote(o, word):
            self.add(o, WithoutAttribute(word), key=word)
        return getattr(o, word)

    def _hooked(self, o: Any, word: str) -> Any:
        """The answer of `__getattr__` of an object."""
        hook = self.special(o, "__getattr__")
        if hook is not None:
            return self.called(hook)(o, word)
        self.walk(o)
        return type(o).__getattr__(o, word)

    def note_found(self, o: Any, word: str, found: Any) -> None:
        """Note a descriptor that the class of an object has."""
        self.note_type(o)
        self.note(type(o), IN_CLASS, word, found)
        own = dict_of(o)
        is_data = hasattr(type(found), "__set__")
        if own is not None and not is_data and not self.is_made(o):
            self.add_absent(own, AccessPath(o).attribute("__dict__"), word)


_OF_MEMORY = frozenset(("base", "ctypes", "data", "device", "strides"))
"""The attributes of an array that its dtype, shape and flags do not tell."""
_OF_ENUMS = ("value", "name", "_value_", "_name_")
_KEPT = ("__dict__", "__code__", "__defaults__", "__kwdefaults__", "__closure__", "__globals__")


def _getter(found: Any) -> Callable[..., Any] | None:
    """The function by which a descriptor in a class, other than Python's own kinds, answers."""
    if type(found) in (FunctionType, classmethod, staticmethod, functools.cached_property):
        return None
    getter = lookup(type(found), "__get__")
    return getter if type(getter) is FunctionType else None
