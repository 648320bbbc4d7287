"""Threads and forks: resume a recording on another thread, and reset state in a forked child.

A worker of `multiprocessing` never returns to where it was forked, so there everything that was
running is over. Any other child of `os.fork` is a copy, in which it goes on.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tracejit.trace.recording.decisions import Decisions, Hidden
from tracejit.trace.recording.eager import EAGER, Eager
from tracejit.trace.recording.record import Recording, active


@contextmanager
def reopened(
    recording: Recording, decisions: Decisions, hidden: dict[int, Hidden]
) -> Iterator[None]:
    """Go on recording after the end, on this thread, as if the function were running; one thread at
    a time. It is another moment than the call: captured arrays and Variables are what they are now,
    arguments in `hidden`; nodes, events and decisions are apart from those of the call."""
    outer, here = recording.reopened_by, (os.getpid(), threading.get_ident())
    if outer not in (None, here):  # by a thread that is not in this process
        recording.settle()
        outer = None
    of_call = recording.hidden, recording.versions, recording.events, recording.decisions
    before = recording.apart
    recording.hidden, recording.versions, recording.events = hidden, {}, []
    recording.decisions, recording.apart = decisions, (-len(recording.graph.nodes),)
    recording.open, recording.thread, recording.reopened_by = True, here[1], here
    try:
        with recording:
            yield
    finally:
        recording.hidden, recording.versions, recording.events, recording.decisions = of_call
        recording.apart, recording.reopened_by = before, outer
        if outer is None:
            recording.abandon()


def begin_afresh() -> None:
    """Forget what runs on this thread: recordings, whose Tensors are refused from here on, and
    tapes."""
    begun, active.stack = active.stack, []
    for recording in begun:
        recording.abandon()
    Eager.__init__(EAGER)


def _watch_workers() -> None:
    """Let workers begin afresh, once somebody has imported `multiprocessing`."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and not _watched:
        _watched.append(EAGER)
        util.register_after_fork(EAGER, lambda _: begin_afresh())


_watched: list[Eager] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_watch_workers)
