"""Objects that show their memory: bytearrays, array.array, memoryview, mmap, and what ctypes makes.
A guard compares their bytes, and what pointers point to."""

from __future__ import annotations

import sys
from typing import Any

from tracejit.trace.capture.access_paths import AccessPath
from tracejit.trace.capture.classes import visit_instance
from tracejit.trace.capture.reads import is_foreign_module, module_name
from tracejit.trace.capture.walk import Walk


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
    """Tell if a value is one of C's, made by ctypes."""
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
