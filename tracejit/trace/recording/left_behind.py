"""Tensors that a function has left in what it reads, which become the numbers they stand for."""

from __future__ import annotations

import builtins
import sys
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tracejit.trace.capture.walk import LEAVES
from tracejit.trace.guards.reads import is_foreign_module, module_name
from tracejit.trace.recording.before import (
    CHANGING,
    DICTS,
    Before,
    are_same,
    read,
    slots_of,
    write,
)
from tracejit.trace.recording.decisions import Failed, Unknown
from tracejit.trace.recording.mutable_attributes import attributes_of
from tracejit.trace.tensor.tensor import TENSORS

_OWN = frozenset((*sys.stdlib_module_names, "numpy", "tracejit"))
"""The packages of classes whose objects are not looked into."""
_PYTHONS = vars(builtins)
_NAMESPACES = (ModuleType, FunctionType)
FIXED = (tuple, frozenset)


def put_numbers(captures: Any, recording: Any, before: Before) -> None:
    """Replace the Tensors of the recording that the function has left in containers and attributes
    by their numbers, as the call in plain Python would have. Objects that were there `before` are
    not looked into, unless the function reads them."""
    left = _LeftBehind(recording, before.known())
    for holder in list(captures.holders()):
        with suppress(RecursionError):
            left.replaced(holder)
            left.fill_attributes(holder)
    for space, name in captures.assigned_names():
        with suppress(RecursionError):
            left.fill_name(space, name)


def _reads_globals_of_library(function: FunctionType) -> bool:
    """Return whether the globals of a function are NumPy's or tracejit's, in which a user leaves
    nothing. A wrapper has the module of what it wraps, but the globals of its own."""
    name = function.__globals__.get("__name__")
    return type(name) is str and name.partition(".")[0] in ("numpy", "tracejit")


class _LeftBehind:
    """The Tensors of a recording in containers that Python still has."""

    def __init__(self, recording: Any, known: set[int]) -> None:
        """Nothing is visited yet; objects that are `known`, by id, and Python's own names are not
        looked into."""
        self._recording = recording
        self._known = known
        self._done: dict[int, tuple[Any, Any]] = {id(_PYTHONS): (_PYTHONS, _PYTHONS)}
        self._arrays: set[int] = set()
        self._new = 0

    def fill_attributes(self, holder: Any) -> None:
        """Put numbers into the attributes of an object, those in slots too; a slice keeps what it
        was made of."""
        if type(holder) is slice:
            return
        own: Any = None
        with suppress(AttributeError):
            own = attributes_of(holder)
        if isinstance(holder, type):
            self._fill_names(holder, own if holder.__module__ not in _OWN else ())
            return
        if type(own) is dict:
            self._fill_names(own, own, of_module=type(holder) is ModuleType)
            for thing in own.values() if type(holder) not in _NAMESPACES else ():
                if self._is_new(thing):
                    self.fill_attributes(thing)
        slots = slots_of(type(holder))
        if type(holder) is ModuleType and is_foreign_module(holder.__name__):
            slots -= {"__dict__"}  # its names, whose containers hold nothing of a user's
        if type(holder) is FunctionType and _reads_globals_of_library(holder):
            slots -= {"__globals__"}
        self._fill_names(holder, slots)

    def fill_name(self, space: Any, name: str) -> None:
        """Put numbers into one name or attribute, and into a new object there."""
        self._fill_names(space, (name,))
        now = read(space, name)
        if not isinstance(now, _NAMESPACES) and self._is_new(now):
            self.fill_attributes(now)

    def _fill_names(self, space: Any, names: Iterable[str], of_module: bool = False) -> None:
        """Put numbers into attributes; the containers `of_module` are not walked."""
        for name in list(names):
            now = read(space, name)
            number = now if of_module and type(now) not in TENSORS else self.replaced(now)
            if number is not now:
                write(space, name, number)

    def _is_new(self, thing: Any) -> bool:
        """Return whether an object of the user's was not there before; each is once, and so many
        as a function may read."""
        is_other = module_name(type(thing)).partition(".")[0] in _OWN or isinstance(thing, type)
        if is_other or id(thing) in self._known or self._new == LEAVES:
            return False
        self._known.add(id(thing))
        self._new += 1
        return True

    def replaced(self, thing: Any) -> Any:
        """Return the number of a Tensor, a tuple with numbers in it; anything else as it is, after
        numbers were put into it."""
        kind = type(thing)
        if id(thing) in self._done:
            return self._done[id(thing)][1]
        found = thing
        if kind in CHANGING and len(thing) <= LEAVES:  # what is read has no more
            self._done[id(thing)] = thing, thing
            self._fill(thing)
        elif kind in FIXED or (issubclass(kind, tuple) and hasattr(kind, "_make")):
            found = self._rebuilt(thing)
        elif kind in TENSORS and thing._recording is self._recording:
            found = self._number(thing)
        else:
            return thing
        self._done[id(thing)] = thing, found
        return found

    def _number(self, tensor: Any) -> Any:
        value = tensor._value
        try:
            number = self._recording.decisions.prefix[value]
        except (Unknown, Failed):
            return tensor
        number = self._recording.in_python(value, number)
        if value.node is not None and type(number) is np.ndarray and id(number) in self._arrays:
            return number.copy()  # Python would have computed it twice
        self._arrays.add(id(number))
        return number

    def _rebuilt(self, thing: Any) -> Any:
        numbers = [self.replaced(one) for one in thing]
        if are_same(thing, numbers):
            return thing
        with suppress(TypeError):  # what a set cannot hold
            return thing._make(numbers) if hasattr(thing, "_make") else type(thing)(numbers)
        return thing

    def _fill(self, thing: Any) -> None:
        is_dict = type(thing) in DICTS
        held = list(dict.keys(thing) if is_dict else thing)  # without the hash of a Tensor
        numbers = [self.replaced(one) for one in held]
        is_same = are_same(held, numbers)
        if is_dict:
            values = list(dict.values(thing))
            fresh = [self.replaced(one) for one in values]
            if is_same and are_same(values, fresh):
                return
            if not is_same and type(thing) is OrderedDict:
                return  # its order needs the hashes
            with suppress(TypeError):  # what a dict cannot hold
                items = dict(zip(numbers, fresh, strict=True)).items()
                if not is_same:
                    thing.clear()
                for key, value in items:
                    thing[key] = value
        elif not is_same:
            with suppress(TypeError):
                fresh_set = set(numbers) if type(thing) is set else numbers
                thing.clear()
                (thing.update if type(thing) is set else thing.extend)(fresh_set)
