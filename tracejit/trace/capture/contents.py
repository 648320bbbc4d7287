"""What captured objects hold, and its comparison: the bytes of arrays and buffers, the elements of
sets and the keys of dicts, to the bit."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from types import MemberDescriptorType
from typing import Any

import numpy as np

ATOMS = (bool, int, float, complex, str, bytes, type(None))
SAMPLE_ABOVE = 2**20
SAMPLES = 4096


def can_change(array: Any) -> bool:
    """Whether the memory of `array` can be written to, through itself or what it is a view of."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return True
        array = array.base
    return array is not None and not isinstance(array, bytes)


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array whose memory `array` shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def memory_of(array: Any) -> Any:
    """The object that owns the memory of `array`: NumPy's views of one array name the same."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def array_sample(array: np.ndarray) -> bytes:
    """The bytes of the elements that are compared. One comparison of bytes costs less than any of
    NumPy's, up to a few hundred kilobytes."""
    if array.dtype.hasobject:
        array = np.array([id(element) for element in array.flat])
    if array.nbytes > SAMPLE_ABOVE and 0 in array.strides:
        # Broadcast: an axis holds one element many times.
        array = array[tuple(slice(None if stride else 1) for stride in array.strides)]
    if array.nbytes > SAMPLE_ABOVE:
        array = array.reshape(-1)[:: max(1, array.size // SAMPLES)]
    return array.tobytes()


def same_contents(array: np.ndarray, sample: bytes) -> bool:
    """Whether the compared elements of `array` have the bytes of `sample`."""
    return array_sample(array) == sample


def buffer_sample(buffer: Any) -> tuple[str, int, bytes]:
    """What is compared of a bytearray, an array.array or a memoryview: its format, its size and
    bytes of it, as of an array."""
    with memoryview(buffer) as view:
        if view.nbytes <= SAMPLE_ABOVE or not view.c_contiguous:
            return view.format, view.nbytes, view.tobytes()
        with view.cast("B") as raw:
            return view.format, view.nbytes, array_sample(np.frombuffer(raw, np.uint8))


def same_buffer(buffer: Any, sample: tuple[str, int, bytes]) -> bool:
    """Whether a buffer has the size and the compared bytes of `sample`."""
    return buffer_sample(buffer) == sample


def remembered(function: Any) -> list[Any]:
    """What a function under `lru_cache` holds: its answers, and what it was asked."""
    inside = [thing for thing in gc.get_referents(function) if thing is not vars(function)]
    tables = [thing for thing in inside if type(thing) is dict]
    if function.cache_info().maxsize is None:
        return [answer for table in tables for answer in table.values()]
    links = [table for table in tables if "_lru_list_elem" in map(_class_name, table.values())]
    return [thing for thing in inside if not any(thing is table for table in links)]


def _class_name(thing: Any) -> str:
    return type(thing).__name__


def exact(values: Iterable[Any]) -> list[Any]:
    """Plain values in order, such that lists of equal ones are equal: 1 is not True, 0.0 is not
    -0.0, nan is nan.

    >>> exact([1, "a"]) == exact([True, "a"]), exact([0.0]) == exact([-0.0])
    (False, False)
    """
    return [
        value if type(value) in (str, bytes) else (type(value), _told(value)) for value in values
    ]


def same_attributes(one: Any, other: Any) -> bool:
    """Whether two objects that are equal also hold the same: equal is what their class calls so."""
    mine, its = attributes_of(one), attributes_of(other)
    return list(mine) == list(its) and all(
        value is its[name] or (type(value) in ATOMS and exact([value]) == exact([its[name]]))
        for name, value in mine.items()
    )


def attributes_of(value: Any) -> dict[str, Any]:
    """What an object holds in its attributes and slots, by name."""
    slots = (
        word
        for cls in type(value).__mro__
        for word, member in vars(cls).items()
        if isinstance(member, MemberDescriptorType) and hasattr(value, word)
    )
    return {**getattr(value, "__dict__", {}), **{word: getattr(value, word) for word in slots}}


def _told(value: Any) -> Any:
    """What tells a value from those that are equal to it."""
    return repr(value) if isinstance(value, (float, complex, np.generic)) else value


def is_normal(number: float) -> bool:
    """Whether nothing but a float of the same bits is equal to it: neither zero nor nan."""
    return number != 0 and number == number
