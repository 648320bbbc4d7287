"""The line on the terminal for what takes long: when it appears, what it says, and its end."""

from __future__ import annotations

import io
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import tracejit as tj
from tests.interrupted import with_interruption
from tracejit.support import progress
from tracejit.support.progress import Display, Stage, is_wanted, stage


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal, on which a line appears after 20 ms, not 2 s."""
    shown = Terminal()
    # pytest puts sys.stderr back between a fixture and its test.
    ours = SimpleNamespace(stderr=shown, _current_frames=sys._current_frames)
    monkeypatch.setattr(progress, "sys", ours)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("TRACEJIT_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.02)
    monkeypatch.setattr(progress, "INTERVAL", 0.005)
    monkeypatch.setattr(progress, "_display", Display())
    return shown


def wait_for(condition) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_line_appears_and_is_erased(terminal: Terminal) -> None:
    with stage("recording", "loss", lambda: 12345):
        wait_for(terminal.getvalue)
        assert terminal.getvalue().startswith("\rtracejit: recording loss, 12,345 operations, 0 s")
    assert terminal.getvalue().endswith(f"\r{' ' * 48}\r")


def test_the_newest_stage_is_shown(terminal: Terminal) -> None:
    with stage("compiling", "loss"):
        with stage("optimising", "loss"):
            wait_for(lambda: "optimising" in terminal.getvalue())
        wait_for(lambda: "compiling" in terminal.getvalue())


def test_what_is_quick_shows_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with stage("recording", "loss"):
        time.sleep(0.03)
    wait_for(lambda: not progress._display.is_watched)
    assert terminal.getvalue() == ""


def test_the_watcher_is_no_thread_of_the_users(terminal: Terminal) -> None:
    before = threading.active_count()
    with stage("recording", "loss"):
        wait_for(terminal.getvalue)
        assert threading.active_count() == before


def test_stages_of_many_threads_end_together(terminal: Terminal) -> None:
    def work() -> None:
        for _ in range(30):
            with stage("recording", "loss"):
                time.sleep(0.001)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert progress._display.stages == {}
    assert progress._display.shown == ""


def test_an_error_ends_a_stage(terminal: Terminal) -> None:
    with pytest.raises(KeyError), stage("recording", "loss"):
        raise KeyError
    assert progress._display.stages == {}


def test_nothing_is_shown_over_a_debugger(terminal: Terminal) -> None:
    source = "def interaction(wait):\n    wait()\n"
    debugger: dict[str, object] = {"__name__": "bdb"}
    exec(source, debugger)
    with stage("recording", "loss"):
        debugger["interaction"](lambda: time.sleep(0.06))  # type: ignore[operator]
    assert terminal.getvalue() == ""


def test_a_narrow_terminal_cuts_the_line() -> None:
    one = Stage("recording", "loss", lambda: 10**6, 0.0, 0)
    assert one.line(3.2, 24) == "tracejit: recording los"


def test_only_terminals_have_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not is_wanted()
    monkeypatch.setattr(sys, "stderr", None)
    assert not is_wanted()


def test_it_can_be_turned_off(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_wanted()
    with tj.config(progress=False):
        assert not is_wanted()
    monkeypatch.setenv("TERM", "dumb")
    assert not is_wanted()


def test_a_long_recording_says_so(terminal: Terminal) -> None:
    @tj.function
    def slow(x):
        for _ in range(3):
            x = np.sin(x)
            time.sleep(0.03)
        return x

    slow(np.ones(3))
    assert "tracejit: recording slow, " in terminal.getvalue()
    assert "operations" in terminal.getvalue()
    assert progress._display.shown == ""


def test_a_signal_handler_may_come_at_any_instruction(terminal: Terminal) -> None:
    def staged() -> None:
        with stage("recording", "loss"):
            pass

    for number in range(150):
        with_interruption(staged, (progress,), number, staged)
    wait_for(lambda: not progress._display.is_watched)
    assert not progress._display.stages
