"""Garbage collection, paused while graphs are made."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """No garbage collection meanwhile: graphs and syntax trees are many objects without garbage,
    and every full collection walks them all."""
    enabled = gc.isenabled()
    if enabled:
        _paused_by.add(threading.get_ident())
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            _paused_by.discard(threading.get_ident())
            gc.enable()


_paused_by: set[int] = set()  # threads that will go on with it


def _go_on_in_child() -> None:
    """Go on with the collection in a forked child that has none of the threads that would."""
    mine = _paused_by & {threading.get_ident()}
    if _paused_by - mine:
        _paused_by.intersection_update(mine)
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_go_on_in_child)
