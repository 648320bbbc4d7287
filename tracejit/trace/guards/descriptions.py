"""Values in a few words, for the sentences that say which guard failed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tracejit.ir.types import type_of
from tracejit.support.words import a
from tracejit.trace.guards.exactness import ATOMS

LONGEST = 40


def described(value: Any) -> str:
    """A value in a few words: plain ones as Python spells them, others by what they are."""
    kind = type(value)
    if kind in ATOMS or issubclass(kind, np.generic):
        return _shortened(repr(value))
    if isinstance(value, Enum):
        return f"{kind.__name__}.{value.name}"
    if kind is np.ndarray:
        return f"an array {type_of(value)!r}"
    if isinstance(value, (FunctionType, MethodType)):
        return f"the function {value.__name__}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    if kind in (list, tuple) and all(type(element) in ATOMS for element in value):
        text = repr(value)
        return text if len(text) <= LONGEST else f"{a(kind.__name__)} of {len(value)}"
    if kind in (list, tuple, dict, set, frozenset):
        return f"{a(kind.__name__)} of {len(value)}"
    return a(kind.__name__)


def told_apart(was: str, now: str) -> str:
    """`now` in other words than `was`.

    >>> told_apart("2.0", "3.0"), told_apart("a Layer", "a Layer")
    ('3.0', 'another Layer')
    """
    return now if now != was else f"another {now.partition(' ')[2] or now}"


def listed(keys: Iterable[Any]) -> str:
    """Keys in a row, as many as there is room for."""
    return _shortened(", ".join(map(described, keys)))


def keys_told(noun: str, keys: tuple[Any, ...], before: tuple[Any, ...] = ()) -> str:
    """The keys of a container, or, where they are many, those that were not there `before` and
    those that are gone.

    >>> keys_told("keys", ("a", "b")), keys_told("keys", (True,), (1,))
    ("of the keys 'a', 'b'", 'of other keys')
    """
    if keys == before:
        return f"of other {noun}"
    if len(", ".join(map(described, keys))) <= LONGEST:
        return f"of the {noun} {listed(keys)}"
    new, gone = ([x for x in one if x not in two] for one, two in ((keys, before), (before, keys)))
    told = [f"{listed(found)} {word}" for found, word in ((new, "new"), (gone, "gone")) if found]
    if not before:
        return f"of {len(keys)} {noun}"
    return f"of {len(keys)} {noun}, {' and '.join(told) or 'in another order'}"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."
