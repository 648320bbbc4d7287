"""Contents of captured arrays and buffers, compared to the bit, and of the caches of functions
under `lru_cache`.

Contents are compared whole with a private copy. A bytearray compares itself with the memory of an
array by one call of memcmp: 60 nanoseconds for a few numbers, 0.55 ms for 8 MB, which is what
reading both costs. A checksum would save the copy, but at that speed only a linear one, and those
miss, for one, two changed signs.
"""

from __future__ import annotations

import gc
import operator
from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from tracejit.trace.guards.exactness import exact

# Arrays that do not lie in one piece are compared by blocks of so many bytes.
BLOCK = 2**18
# Kernels that compare the same array share a copy of so many bytes or more.
SHARED_FROM = 2**16
# What has a format of its own in the buffer protocol; other arrays are compared as bytes.
_WITH_FORMAT = "?bBhHiIlLqQefdgFDG"


class Copy(bytearray):
    """Bytes that guards share."""


_COPIES: WeakValueDictionary[tuple[int, int], Copy] = WeakValueDictionary()


def can_change(array: Any) -> bool:
    """Return whether the memory of `array` can be written to, through itself or what it is a view
    of."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return True
        array = array.base
    return array is not None and not isinstance(array, bytes)


def chain_of(array: Any) -> Iterator[np.ndarray]:
    """An array, and the arrays whose memory it shows."""
    while isinstance(array, np.ndarray):
        yield array
        array = array.base


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array whose memory `array` shows."""
    return [*chain_of(array)][-1]


def memory_of(array: Any) -> Any:
    """The object that owns the memory of `array`: NumPy's views of one array name the same."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def is_in_one_piece(array: np.ndarray) -> bool:
    """Return whether a bytearray compares itself with `array` as it is."""
    return array.flags.c_contiguous and array.dtype.char in _WITH_FORMAT


def array_copy(array: np.ndarray) -> Any:
    """A copy of the contents of `array`, for `same_contents`: of its bytes, block by block. Where
    its elements are objects, these, what tells them apart, and where they are: who is there still
    is the same."""
    if array.dtype.hasobject:
        elements = _plain(array).ravel().tolist()
        return _plain(array).tobytes(), elements, exact(elements)
    blocks = enumerate(_blocks(array))
    return array.strides, [_copy_of(block, (id(array), k)) for k, block in blocks]


def whole_copy(array: np.ndarray) -> Copy:
    """A copy of an array in one piece, which `==` compares with it."""
    return _copy_of(_plain(array), (id(array), 0))


def _copy_of(block: np.ndarray, place: tuple[int, int]) -> Copy:
    """A copy of what lies at a place, or the one that another guard has."""
    if block.nbytes < SHARED_FROM:
        return Copy(block.tobytes())
    known = _COPIES.get(place)
    if known is None or known != block:
        known = _COPIES[place] = Copy(block.reshape(-1).view(np.uint8))
    return known


def same_contents(array: np.ndarray, copy: Any) -> bool:
    """Return whether `array` holds what it held when `copy` was made."""
    if array.dtype.hasobject:
        places, _, keys = copy
        # Strings of any length lie elsewhere, and may change there.
        if array.dtype.kind != "T" and _plain(array).tobytes() == places:
            return True
        return bool(exact(_plain(array).ravel().tolist()) == keys)
    strides, blocks = copy
    return array.strides == strides and all(map(operator.eq, blocks, _blocks(array)))


def _plain(array: np.ndarray) -> np.ndarray:
    """An array without what its class makes of it."""
    return array if type(array) is np.ndarray else np.ndarray.view(array, np.ndarray)


def _blocks(array: np.ndarray) -> Iterator[np.ndarray]:
    """The bytes of `array` in pieces that lie as they are, in the order of its memory."""
    array = _plain(array)
    if not array.size:
        return
    # A broadcast axis holds one element many times; one that runs backwards is turned.
    along = {0: slice(1), -1: slice(None, None, -1), 1: slice(None)}
    array = array[tuple(along[(step > 0) - (step < 0)] for step in array.strides)]
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    array = np.squeeze(array.transpose(order))
    if array.flags.c_contiguous:
        yield array.reshape(-1).view(np.uint8)
        return
    rows = max(1, BLOCK * len(array) // array.nbytes)
    for start in range(0, len(array), rows):
        yield np.ascontiguousarray(array[start : start + rows]).reshape(-1).view(np.uint8)


def is_buffer(value: Any) -> bool:
    """Return whether an object shows its memory: a bytearray, an array.array, a memoryview, a
    number of ctypes."""
    try:
        memoryview(value).release()
    except Exception:  # it has none, or does not show it now
        return False
    return True


def buffer_copy(buffer: Any) -> tuple[str, int, bytearray]:
    """The format, the size and a copy of the bytes of a buffer."""
    with memoryview(buffer) as view:
        return view.format, view.nbytes, bytearray(view)


def is_table(value: Any) -> bool:
    """Return whether an object is a table of pandas, one of its columns, or their labels."""
    kind = type(value)
    return kind.__module__.partition(".")[0] == "pandas" and hasattr(kind, "equals")


def same_table(table: Any, copy: Any) -> bool:
    """Return whether a table is what it was when `copy` was made, with its labels and their
    names."""
    if type(table) is not type(copy) or not table.equals(copy):
        return False
    axes = zip(getattr(table, "axes", (table,)), getattr(copy, "axes", (copy,)), strict=True)
    same = all(a.names == b.names and type(a) is type(b) and a.dtype == b.dtype for a, b in axes)
    return same and getattr(table, "name", None) == getattr(copy, "name", None)


def same_buffer(buffer: Any, copy: tuple[str, int, bytearray]) -> bool:
    """Return whether a buffer has the format, the size and the bytes of `copy`."""
    with memoryview(buffer) as view:
        if (view.format, view.nbytes) != copy[:2]:
            return False
        now: Any = view if view.c_contiguous else view.tobytes()
        return bool(copy[2] == now)


class CacheSnapshot:
    """A snapshot of the cache of a function under `lru_cache`: its keys and answers."""

    def __init__(self, function: Any) -> None:
        """Hold what `function` remembers now."""
        self.keys, self.answers = remembered(function)
        self._exact = exact(self.keys), exact(self.answers)

    def is_of(self, function: Any) -> bool:
        """Return whether the cache of `function` is the same: other objects count if they are equal
        to the bit."""
        keys, answers = remembered(function)
        if len(keys) != len(self.keys):
            return False
        same = all(map(operator.is_, keys, self.keys))
        if same and all(map(operator.is_, answers, self.answers)):
            return True
        return (exact(keys), exact(answers)) == self._exact


def remembered(function: Any) -> tuple[list[Any], list[Any]]:
    """The keys in the cache of a function under `lru_cache`, and the answer for each of them.

    With a limit, answers stand in links, which `function` refers to in threes: key, answer, class.
    """
    parts, info = gc.get_referents(function), function.cache_info()
    if info.maxsize is None:
        return list(parts[1]), list(parts[1].values())
    if not info.currsize:
        return [], []
    links = parts[1 : 1 + 3 * info.currsize]
    answers = {id(key): answer for key, answer in zip(links[::3], links[1::3], strict=True)}
    keys = list(parts[1 + len(links)])
    return keys, [answers[id(key)] for key in keys]
