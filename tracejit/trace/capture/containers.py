"""The walk over containers and arrays: keys, elements, and the memory of arrays."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from tracejit.support.words import word_of
from tracejit.trace.capture.classes import visit_instance
from tracejit.trace.capture.contents import can_change, owner_of
from tracejit.trace.capture.exactness import ATOMS
from tracejit.trace.capture.walk import Walk


def visit_container(walk: Walk, value: Any, held: str, name: str) -> None:
    """The keys and elements of a container."""
    if isinstance(value, (set, frozenset)):
        walk.conditions.check_keys(value, held)
        others = [element for element in value if type(element) not in ATOMS]
        for element in others if walk.count(len(others), value, name) else ():
            walk.visit(element, walk.bind(element), name, check=False)
        return
    keyed = isinstance(value, (dict, MappingProxyType))
    keys: Any = list(value) if keyed else range(len(value))
    if not walk.count(len(keys), value, name):
        return
    fixed = type(value) is tuple
    if keyed:
        walk.conditions.check_keys(keys, held)
        for key in keys:
            walk.visit(key, walk.bind(key), name, check=False)
    elif not fixed:
        walk.check(f"len({held}) == {len(keys)}")
    fields = getattr(type(value), "_fields", None)
    for key in keys:
        word = word_of(fields[key] if fields else key)
        element = word if word.isidentifier() else f"{name}_{word}"
        walk.visit(value[key], f"{held}[{walk.conditions.key(key)}]", element, check=not fixed)


def visit_array(walk: Walk, array: np.ndarray, held: str, name: str) -> None:
    """An array, which a kernel may take, and its contents, which NumPy may compute with."""
    walk.arrays[id(array)] = (name, array)
    if type(array) not in (np.ndarray, np.memmap):  # the file of a map is its contents
        visit_instance(walk, array, held)
    if array.dtype.hasobject:
        elements = np.ndarray.view(array, np.ndarray).ravel().tolist()
        others = [element for element in elements if type(element) not in ATOMS]
        for element in others if walk.count(len(others), array, name) else ():
            walk.visit(element, walk.bind(element), name, check=False)
    if walk.frozen is not None:
        walk.frozen.freeze(array)
    if can_change(array):
        if "flags" in walk.words:
            walk.check(f"{held}.flags.num == {array.flags.num}")
        walk.check(f"{held}.dtype is {walk.bind(array.dtype)}")
        walk.check(f"{held}.shape == {array.shape}")
        walk.conditions.check_contents(array, held)
    else:
        walk.check(f"{walk.bind(owner_of(array))}.flags.writeable is False")
