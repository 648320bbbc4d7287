"""Holds end with the last reference, whatever takes it away."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

import pytest

from tests.interrupted import Interruption, at_each_instruction
from tests.runtime import test_holds
from tests.support.processes import python
from tracejit.runtime.holds import Hold


def held(ended: list[int]) -> Hold:
    """A hold that says when it ends."""
    hold = Hold()
    hold.end = lambda: ended.append(1)
    return hold


def test_the_end_comes_with_the_last_reference() -> None:
    ended: list[int] = []
    first = held(ended)
    second = first
    del first
    assert not ended
    del second
    assert ended == [1]


def test_one_without_an_end_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    gone = ref(Hold())
    assert gone() is None
    assert capsys.readouterr() == ("", "")


def test_an_end_that_is_set_again_is_the_one_that_counts() -> None:
    ended: list[int] = []
    hold = held(ended)
    hold.end = bool
    del hold
    assert not ended


def works(ended: list[int], going: list[Any]) -> int:
    """Hold something on the stack alone while it works."""
    for here in map(ref, (Hold(),)):
        here().end = ended.clear  # type: ignore[union-attr]
        ended.append(1)
        return (here(), going.append(len(ended)), 7)[2]
    return 0


def test_what_stands_on_a_stack_ends_with_the_frame_also_where_its_traceback_is_kept() -> None:
    ended: list[int] = []
    going: list[int] = []
    kept = []
    for caught in at_each_instruction(lambda: works(ended, going), (test_holds,)):
        assert not ended, "what was begun is not undone"
        kept.append(caught)
    assert len(kept) > 20
    assert all(isinstance(one, Interruption) for one in kept)
    assert going
    assert set(going) == {1}


def test_an_end_at_the_end_of_the_process() -> None:
    script = (
        "from threading import Lock\nfrom tracejit.runtime.holds import Hold\n"
        "lock = Lock()\nlock.acquire()\nhold = Hold()\nhold.end = lock.release\n"
    )
    assert python(script, options=("-X", "dev", "-W", "error")) == ""


def test_nothing_of_it_waits_for_the_collector() -> None:
    ended: list[int] = []
    gc.disable()
    try:
        held(ended)
        assert ended == [1]
    finally:
        gc.enable()


def test_the_interruptions_come_at_every_instruction() -> None:
    count = len([*at_each_instruction(lambda: works([], []), (test_holds,))])
    every_third = len([*at_each_instruction(lambda: works([], []), (test_holds,), step=3)])
    assert every_third == -(-count // 3)
