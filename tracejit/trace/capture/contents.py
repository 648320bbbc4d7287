"""What captured arrays and buffers hold, and its comparison, to the bit; what a cache of answers
remembers."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

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
