"""Tensors that a function has left in what it reads, which become the numbers they stand for."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tracejit.trace.capture.walk import LEAVES
from tracejit.trace.recording.decisions import Failed, Unknown
from tracejit.trace.recording.mutable_attributes import attributes_of
from tracejit.trace.tensor.tensor import TENSORS

DICTS = (dict, OrderedDict, defaultdict, Counter)
CHANGING = (*DICTS, list, set, deque)
FIXED = (tuple, frozenset)


def put_numbers(captures: Any, recording: Any) -> None:
    """Replace the Tensors of the recording that the function has left in containers and attributes
    by their numbers, as the call in plain Python would have."""
    left = _LeftBehind(recording)
    for holder in list(captures.visited.values()):
        own: Any = None
        with suppress(AttributeError):
            own = attributes_of(holder)
        with suppress(RecursionError):
            left.replaced(holder)
            for name in list(own) if type(own) is dict else ():
                now = own[name]
                is_tensor = type(now) in TENSORS  # of modules, containers are not walked
                if is_tensor or type(holder) is not ModuleType:
                    number = left.replaced(now)
                    if number is not now:
                        own[name] = number


class Before:
    """The elements of containers, the attributes, globals and closure variables that a function
    reads, as they were."""

    def __init__(self, captures: Any) -> None:
        """Note what they are now."""
        self._held: list[tuple[Any, list[Any]]] = []
        self._cells: list[tuple[Any, Any]] = []
        self._globals: list[tuple[dict[str, Any], str, Any]] = []
        for holder in captures.visited.values():
            if (container := _container_of(holder)) is not None:
                self._held.append((holder, _elements(container)))
            del container  # attributes with another owner are not lent
            if type(holder) is FunctionType:
                for cell in holder.__closure__ or ():
                    with suppress(ValueError):  # an empty one
                        self._cells.append((cell, cell.cell_contents))
                space = holder.__globals__
                names = [name for name in holder.__code__.co_names if name in space]
                self._globals += [(space, name, space[name]) for name in names]

    def restore(self) -> None:
        """Let them be so again."""
        for cell, value in self._cells:
            cell.cell_contents = value
        for space, name, value in self._globals:
            if space.get(name) is not value:
                space[name] = value
        for holder, held in self._held:
            container = _container_of(holder)
            now = _elements(container)
            if len(now) == len(held) and _are_same(now, held):
                continue
            container.clear()
            if type(container) in DICTS:
                for key, value in zip(held[::2], held[1::2], strict=True):
                    container[key] = value
            else:
                (container.update if type(container) is set else container.extend)(held)


class _LeftBehind:
    """The Tensors of a recording in containers that Python still has."""

    def __init__(self, recording: Any) -> None:
        """Nothing is visited yet."""
        self._recording = recording
        self._done: dict[int, tuple[Any, Any]] = {}
        self._arrays: set[int] = set()

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
        if value.node is not None and type(number) is np.ndarray and id(number) in self._arrays:
            return number.copy()  # Python would have computed it twice
        self._arrays.add(id(number))
        return number

    def _rebuilt(self, thing: Any) -> Any:
        numbers = [self.replaced(one) for one in thing]
        if _are_same(thing, numbers):
            return thing
        with suppress(TypeError):  # what a set cannot hold
            return thing._make(numbers) if hasattr(thing, "_make") else type(thing)(numbers)
        return thing

    def _fill(self, thing: Any) -> None:
        is_dict = type(thing) in DICTS
        held = list(dict.keys(thing) if is_dict else thing)  # without the hash of a Tensor
        numbers = [self.replaced(one) for one in held]
        is_same = _are_same(held, numbers)
        if is_dict:
            values = list(dict.values(thing))
            fresh = [self.replaced(one) for one in values]
            if is_same and _are_same(values, fresh):
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


def _are_same(held: Any, numbers: list[Any]) -> bool:
    return all(one is other for one, other in zip(held, numbers, strict=True))


def _elements(container: Any) -> list[Any]:
    """The elements of a container; of a dict keys and values in turn."""
    if type(container) in DICTS:
        return [one for item in list(dict.items(container)) for one in item]
    return list(container)


def _container_of(holder: Any) -> Any:
    """The container that changes with an object: itself, or its attributes; None for a module."""
    if type(holder) in CHANGING:
        return holder
    with suppress(AttributeError):
        own = attributes_of(holder)
        if type(own) is dict and type(holder) is not ModuleType:
            return own
    return None
