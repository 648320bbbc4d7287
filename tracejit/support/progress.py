"""Progress: a line on the terminal for what takes more than two seconds.

`with stage("recording", "loss", count):` says what goes on. A thread that sleeps most of the time
writes the line, so that the work itself does nothing for it; the line is erased when the last stage
ends. `count` returns the number of operations so far.

There is a line only where stderr is a terminal, the setting `progress` is on, and no debugger has
the word.
"""

from __future__ import annotations

import _thread
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

from tracejit.support.config import setting

PATIENCE = 2.0
"""The seconds before a line appears."""
INTERVAL = 0.5
"""The seconds from one line to the next."""

# Where one of these has a frame, the user types at a prompt of a debugger.
_DEBUGGERS = frozenset(("bdb", "pdb", "IPython.core.debugger", "pudb.debugger", "ipdb.__main__"))


class Stage(NamedTuple):
    """One piece of work: the verb for it, its subject, when it began, and on which thread."""

    verb: str
    subject: str
    operations: Callable[[], int] | None
    began: float
    thread: int

    def line(self, now: float, width: int) -> str:
        """The words for it, in less than `width` columns."""
        number = self.operations() if self.operations is not None else 0
        counted = f", {number:,} operation{'s' * (number > 1)}" if number else ""
        text = f"tracejit: {self.verb} {self.subject}{counted}, {now - self.began:.0f} s"
        return text[: max(width - 1, 0)]


class Display:
    """The line of one process. The oldest stage that is not over decides when it appears, the
    newest what it says. Each step is one of a dict's: no thread or signal handler waits."""

    def __init__(self) -> None:
        """No stage has begun."""
        self.stages: dict[int, Stage] = {}  # by id
        self.watchers: dict[str, object] = {}
        self.shown = ""

    @property
    def is_watched(self) -> bool:
        """True if a thread writes the line."""
        return bool(self.watchers)

    def begin(self, stage: Stage) -> None:
        """Take a stage, and start a watcher if there is none."""
        self.stages[id(stage)] = stage
        watcher = object()
        if self.watchers.setdefault("watcher", watcher) is watcher:
            # `threading` does not count it among the user's threads.
            _thread.start_new_thread(self._watch, ())

    def end(self, stage: Stage) -> None:
        """Let go of a stage; after the last one, erase the line."""
        self.stages.pop(id(stage), None)
        if not self.stages:
            self._show("")

    def _watch(self) -> None:
        """Write a line now and then; end when no stage has been there for a while."""
        while True:
            time.sleep(INTERVAL)
            stages = list(self.stages.values())
            if not stages:
                self._show("")
                self.watchers.clear()
                return
            now = time.monotonic()
            if now - stages[0].began >= PATIENCE:
                newest = stages[-1]
                width = shutil.get_terminal_size().columns
                self._show("" if _in_debugger(newest.thread) else newest.line(now, width))

    def _show(self, text: str) -> None:
        """Write `text` over what is shown. The cursor goes back to the start of the line, so that
        whatever is printed next stands there."""
        if not text and not self.shown:
            return
        blank = " " * (len(self.shown) - len(text))
        try:
            sys.stderr.write(f"\r{text}{blank}\r")
            sys.stderr.flush()
        except (OSError, ValueError):  # closed meanwhile
            self.stages.clear()
        self.shown = text


_display = Display()


@contextmanager
def stage(verb: str, subject: str, count: Callable[[], int] | None = None) -> Iterator[None]:
    """Tell the user what goes on, where it takes long and stderr is a terminal."""
    if not is_wanted():
        yield
        return
    display = _display
    entry = Stage(verb, subject, count, time.monotonic(), threading.get_ident())
    display.begin(entry)
    try:
        yield
    finally:
        display.end(entry)


def is_wanted() -> bool:
    """Return whether there is anybody to show progress to."""
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and setting("progress")
    except (AttributeError, ValueError):  # no stderr, or a closed one
        return False


def _in_debugger(thread: int) -> bool:
    """Return whether a thread stands in a debugger."""
    frame: FrameType | None = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_globals.get("__name__") in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False


def _begin_anew_in_child() -> None:
    """In a forked child there is no watcher, and no stage of another thread."""
    global _display
    _display = Display()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew_in_child)
