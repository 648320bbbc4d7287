"""The walk over containers, arrays and buffers: keys, elements, and memory.

Buffers are objects that show their memory: bytearrays, array.array, memoryview, mmap, and what
ctypes makes. A guard compares their bytes, and what pointers point to.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

import numpy as np

from tracejit.support.words import word_of
from tracejit.trace.capture.classes import visit_instance
from tracejit.trace.capture.walk import Walk
from tracejit.trace.guards.access_paths import AccessPath
from tracejit.trace.guards.contents import can_change, owner_of
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.guards.guards import Equal, HasDtype, HasKeys, HasShape, Is, Length
from tracejit.trace.guards.reads import is_foreign_module, module_name


def visit_container(walk: Walk, value: Any, held: AccessPath, name: str) -> None:
    """The keys and elements of a container."""
    if isinstance(value, (set, frozenset)):
        walk.add(held, HasKeys(tuple(value)))
        _visit_elements(walk, value, value, name)
        return
    keyed = isinstance(value, (dict, MappingProxyType))
    elements = dict(value) if type(value) is dict else value  # whatever other threads change now
    keys: Any = list(elements) if keyed else range(len(value))
    if not walk.count(len(keys), value, name):
        return
    fixed = type(value) is tuple
    if keyed:
        walk.add(held, HasKeys(tuple(keys)))
        for key in keys:
            if type(key) not in ATOMS:
                walk.visit_object(key, name)
    elif not fixed:
        walk.add(held, Length(len(keys)))
    fields = getattr(type(value), "_fields", None)
    for key in keys:
        element = elements[key]
        place = AccessPath(element) if fixed else held.item(key)
        word = "" if type(element) in ATOMS else word_of(fields[key] if fields else key)
        walk.visit(element, place, word if word.isidentifier() else f"{name}_{word}")


def _visit_elements(walk: Walk, elements: Iterable[Any], container: Any, name: str) -> None:
    """The elements of a set or an array, which are the same as long as its contents are."""
    others = [element for element in elements if type(element) not in ATOMS]
    for element in others if walk.count(len(others), container, name) else ():
        walk.visit_object(element, name)


def visit_array(walk: Walk, array: np.ndarray, held: AccessPath, name: str) -> None:
    """An array, which a kernel may take, and its contents, which NumPy may compute with."""
    walk.arrays[id(array)] = (name, array)
    if type(array) not in (np.ndarray, np.memmap):  # the file of a map is its contents
        visit_instance(walk, array, held)
    if array.dtype.hasobject:
        elements = np.ndarray.view(array, np.ndarray).ravel().tolist()
        _visit_elements(walk, elements, array, name)
    if walk.frozen is not None:
        walk.frozen.freeze(array)
    if can_change(array):
        if "flags" in walk.words:
            walk.add(held.attribute("flags").attribute("num"), Equal(array.flags.num))
        walk.add(held, HasDtype(array.dtype))
        walk.add(held, HasShape(array.shape))
        walk.conditions.add_contents(held, array)
    else:
        flags = AccessPath(owner_of(array)).attribute("flags")
        walk.add(flags.attribute("writeable"), Is(False))


def visit_buffer(walk: Walk, value: Any, held: AccessPath, name: str) -> None:
    """The bytes of a buffer, unless nobody can write to them."""
    with memoryview(value) as view:
        is_fixed = view.readonly and type(view.obj) is bytes
    if not is_fixed:
        walk.conditions.add_contents(held, value)
    if _is_of_ctypes(value):
        _visit_ctypes(walk, value, held, name)
    if not is_foreign_module(module_name(type(value))):
        visit_instance(walk, value, held)


def _is_of_ctypes(value: Any) -> bool:
    """Return whether a value is one of C's, made by ctypes."""
    module = sys.modules.get("_ctypes")
    return module is not None and isinstance(value, module._SimpleCData.__base__)


def _visit_ctypes(walk: Walk, value: Any, held: AccessPath, name: str) -> None:
    """Visit what the pointers in a ctypes value point to. Its own bytes are compared elsewhere."""
    module, kind = sys.modules["_ctypes"], type(value)
    if isinstance(value, module._SimpleCData):
        if getattr(kind, "_type_", "") in "zZO":  # pointers to characters, Python objects
            _visit_part(walk, value.value, held.attribute("value"), name)
    elif isinstance(value, module._Pointer):
        if value:
            _visit_part(walk, value.contents, held.attribute("contents"), name)
    elif isinstance(value, module.Array):
        simple = issubclass(kind._type_, module._SimpleCData) and kind._type_._type_ not in "zZO"
        walked = not simple and walk.count(len(value), value, name)
        for k in range(len(value) if walked else 0):
            _visit_part(walk, value[k], held.item(k), f"{name}_{k}")
    else:
        fields = [field for cls in kind.__mro__ for field in vars(cls).get("_fields_", ())]
        for word, *_ in fields:
            _visit_part(walk, getattr(value, word), held.attribute(word), word)


def _visit_part(walk: Walk, part: Any, place: AccessPath, name: str) -> None:
    """A part of a value of ctypes: parts that are such values are made each time they are read."""
    if _is_of_ctypes(part):
        walk.visit_object(part, name)
    else:
        walk.visit(part, place, name)
