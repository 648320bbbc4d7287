"""Eager mode: `with tj.eager()` and TRACEJIT_DISABLE=1 run the user's Python instead of kernels."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tracejit.trace.floating import RAISES, loudness

OPEN: dict[int, int] = {}
"""The number of open blocks of `eager`, by thread; empty but for them."""


@contextmanager
def eager() -> Iterator[None]:
    """Meanwhile, on this thread, a call of a compiled function runs its Python on NumPy arrays.

    For the debugger, for prints, and to compare: no kernel is made or run. Gradients are computed
    by eager Tensors, those that a function takes inside, too; the other transforms (`vmap`,
    `jacobian`, `jvp`, ...) exist in recordings alone, and are kernels here, too. Blocks nest; other
    threads go on as before. Kernels that are there already stay, and are used again afterwards.
    While a function is recorded, what is called in the block is part of the recording as usual.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> @tj.function
    ... def double(x):
    ...     print(type(x).__name__)
    ...     return x + x
    >>> with tj.eager():
    ...     double(np.ones(2))
    ndarray
    array([2., 2.])
    >>> double.kernels
    []
    """
    thread = threading.get_ident()
    OPEN[thread] = OPEN.get(thread, 0) + 1
    try:
        yield
    finally:
        OPEN[thread] -= 1
        if not OPEN[thread]:
            del OPEN[thread]


def _close_in_child() -> None:
    """In a forked child, close the blocks of threads that are not there."""
    for thread in list(OPEN):
        if thread != threading.get_ident():
            del OPEN[thread]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def is_open() -> bool:
    """Tell if a block of `eager` is open on this thread."""
    return threading.get_ident() in OPEN


def is_disabled() -> bool:
    """Tell if TRACEJIT_DISABLE=1 keeps kernels from being made."""
    return os.environ.get("TRACEJIT_DISABLE") == "1"


def way_out() -> str:
    """The reason for which calls run as plain Python; empty where they do not."""
    if is_open():
        return "a block of tj.eager() is open"
    if is_disabled():
        return "TRACEJIT_DISABLE=1 is set"
    word = loudness()
    return RAISES.format(word) if word else ""
