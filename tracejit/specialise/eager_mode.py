"""Eager mode: `with tj.eager()` and the setting `disable` run Python instead of kernels."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tracejit.support.config import setting, source_of, watch
from tracejit.trace.recording.floating import RAISES, loudness

OPEN: dict[int, int] = {}
"""The number of open blocks of `eager`, by thread; empty but for them. Thread 0 stands for the
setting `disable`, where `tj.config` has it on."""


@contextmanager
def eager() -> Iterator[None]:
    """Run compiled functions as plain Python on NumPy arrays, in a `with` block.

    Use it to print, to debug, and to compare with NumPy.

    Returns
    -------
    context manager
        A block in which no kernel is made or run, on this thread. Blocks nest.

    Notes
    -----
    Gradients are computed operation by operation. Other transforms, such as `vmap` and `jacobian`,
    still use kernels. Existing kernels stay and are used again after the block. A block that is
    entered while a function is recorded changes nothing.

    Examples
    --------
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
        if thread not in (0, threading.get_ident()):
            del OPEN[thread]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def is_open() -> bool:
    """Return whether a block of `eager` is open on this thread."""
    return threading.get_ident() in OPEN


def is_disabled() -> bool:
    """Return whether the setting `disable` keeps kernels from being made."""
    return bool(setting("disable"))


def way_out() -> str:
    """The reason for which calls run as plain Python; empty where they do not."""
    if is_open():
        return "a block of tj.eager() is open"
    if is_disabled():
        return f"{source_of('disable')} is set"
    word = loudness()
    return RAISES.format(word) if word else ""


def _follow() -> None:
    """Let every call ask for the way out while `disable` is on, kernels or not."""
    if is_disabled():
        OPEN[0] = 1
    else:
        OPEN.pop(0, None)


watch("disable", _follow)
