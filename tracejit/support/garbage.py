"""Garbage collection, paused while graphs are made, and rarer while functions are recorded."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SPARED_OBJECTS = 100_000
EASED = 20_000
"""New objects after which garbage is collected while a function is recorded."""


@contextmanager
def collection_paused() -> Iterator[None]:
    """No garbage collection meanwhile: graphs and syntax trees are many objects without garbage,
    and every full collection walks them all."""
    enabled = gc.isenabled()
    try:  # an interruption at any instruction leaves it enabled
        if enabled:
            _paused_by.add(threading.get_ident())
        gc.disable()
        yield
    finally:
        if enabled:
            try:
                _paused_by.discard(threading.get_ident())
                _leave_to_a_full_collection()
            finally:
                gc.enable()


@contextmanager
def collection_eased() -> Iterator[None]:
    """Rarer garbage collection meanwhile. A recording makes many objects that stay, and the user's
    function, which runs, may make garbage. Thresholds that somebody else sets meanwhile stay."""
    global _usual
    block = object()
    try:  # no lock: a signal handler may record at any instruction
        _easing[block] = None
        usual = gc.get_threshold()
        if 0 < usual[0] < EASED:
            _usual = usual
            gc.set_threshold(EASED, *usual[1:])
        yield
    finally:
        _easing.pop(block, None)
        if not _easing:
            _be_usual()


def _leave_to_a_full_collection() -> None:
    """Count what was made meanwhile as old: the next collection would walk it, for a fortieth of a
    first call. So many objects of a process at most are left lying that way, and none where
    somebody uses `gc.freeze`."""
    global _spared
    made = gc.get_count()[0]
    if _spared + made > SPARED_OBJECTS:
        return
    if gc.get_freeze_count():  # it counts them one by one: once is enough
        _spared = SPARED_OBJECTS
        return
    _spared += made
    gc.freeze()
    gc.unfreeze()


_easing: dict[object, None] = {}  # the blocks that are open
_usual = gc.get_threshold()
_spared = 0
_paused_by: set[int] = set()  # threads that will go on with it


def _be_usual() -> None:
    """Collect garbage as often as before, where nobody has set another threshold since."""
    if gc.get_threshold()[0] == EASED:
        gc.set_threshold(*_usual)


def _go_on_in_child() -> None:
    """Go on with the collection in a forked child that has none of the threads that would."""
    _easing.clear()
    _be_usual()
    mine = _paused_by & {threading.get_ident()}
    if _paused_by - mine:
        _paused_by.intersection_update(mine)
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_go_on_in_child)
