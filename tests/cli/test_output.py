"""The spelling of sizes, dates and durations."""

from __future__ import annotations

import io
import sys

import pytest

from tracejit.cli import output


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_999, "1.0 MB"), (2_340_000, "2.3 MB")],
)
def test_sizes_are_written_for_people(count, text):
    assert output.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(2e-7, "0.2 us"), (0.05, "50.0 ms"), (12.345, "12.35 s")]
)
def test_durations_are_written_for_people(seconds, text):
    assert output.duration(seconds) == text


def test_times_that_no_calendar_has():
    assert output.date(float("nan")) == "no date"
    assert output.timestamp(2.0**80) is None


def test_colours_are_for_terminals_that_want_them(monkeypatch):
    assert not output.has_colours()
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert output.has_colours() and output.terminal_width() > 0
    monkeypatch.setenv("NO_COLOR", "1")
    assert not output.has_colours() and output.is_terminal()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not output.has_colours()


class Terminal(io.StringIO):
    def isatty(self):
        return True
