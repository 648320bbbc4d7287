"""Large results that are handed out again when nobody holds them any more.

An array of 32 MiB or more is given back to the system when it is freed, and every page of the next
one is faulted in anew: a quarter of the time of a short chain on 64 MiB. So where the user allows
it (`recycle=True`), a kernel keeps hold of the last few that it made, and hands one out again once
its count of references says that nothing but this module holds it; a view holds its array.

An array that somebody refers to weakly is not handed out. A pointer that the user took
(`a.ctypes.data`) counts as no reference, which is why nothing is recycled unasked. Nor is it where
references are not counted at once, in Python without the GIL.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.support.cost_model import costs


def recycled_empty() -> Callable[..., np.ndarray]:
    """An `np.empty` of its own memory: of its last few arrays, those that nobody holds."""
    least = costs().pooled_bytes
    kept: deque[np.ndarray] = deque(maxlen=costs().pooled_arrays)

    def empty(shape: Any, dtype: Any = float) -> np.ndarray:
        unheld = [np.empty(0)]
        array = _unheld((*unheld, *kept), shape, np.dtype(dtype))
        if array is None:
            array = np.empty(shape, dtype)
            if array.nbytes >= least:
                kept.append(array)
        return array

    return empty if _counts_at_once() else np.empty


def _unheld(arrays: tuple[np.ndarray, ...], shape: Any, dtype: np.dtype) -> np.ndarray | None:
    """The first of `arrays` of this kind that no more is held than the first of all, which nobody
    holds but the caller's two collections: two threads that look at once see each other, and both
    leave it. A debugger that shows the variables here holds one array as the other."""
    wanted = shape if type(shape) is tuple else (shape,)
    alone = 0
    for array in arrays:
        references = sys.getrefcount(array) + weakref.getweakrefcount(array)
        if not alone:
            alone = references
        elif references == alone and _is_as_new(array, wanted, dtype):
            return array
    return None


def _is_as_new(array: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> bool:
    """Tell if whoever held it left an array as `np.empty` makes it."""
    flags = array.flags
    return array.shape == shape and array.dtype == dtype and flags.c_contiguous and flags.writeable


def _counts_at_once() -> bool:
    is_locked: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    return sys.implementation.name == "cpython" and is_locked()
