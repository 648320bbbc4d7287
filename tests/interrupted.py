"""Interruptions: exceptions that come at any moment, as signal handlers and a full memory raise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

MOST = 100_000


class Interruption(BaseException):
    """Comes from outside; nothing catches it by name."""


def at_each_instruction(
    run: Callable[[], Any],
    modules: tuple[ModuleType, ...],
    error: type[BaseException] = Interruption,
    step: int = 1,
) -> Iterator[BaseException]:
    """What comes of `run` when `error` is raised before the first, the next, ... instruction that
    it executes in `modules` (each `step`-th), until there are no more."""
    for number in range(0, MOST, step):
        caught = _caught(
            lambda number=number: with_interruption(run, modules, number, error), error
        )
        if caught is None:
            return
        yield caught
    raise AssertionError("it has no end")


def _caught(run: Callable[[], Any], error: type[BaseException]) -> BaseException | None:
    try:
        run()
    except error as caught:
        return caught
    return None


def with_interruption(
    run: Callable[[], Any], modules: tuple[ModuleType, ...], number: int, error: Any
) -> Any:
    """run(), with `error` raised, or called, before the instruction of that number."""
    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 looks for one such frame here
    sys.settrace(tracing(modules, number, error))
    try:
        return run()
    finally:
        sys.settrace(before)


def tracing(modules: tuple[ModuleType, ...], number: int, error: Any) -> Callable[..., Any]:
    """A function for `sys.settrace` and `threading.settrace`, that raises, or calls, `error` before
    the instruction of that number in `modules`."""
    files = {module.__file__ for module in modules}
    left = number

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == -1:
                raised = error()
                if isinstance(raised, BaseException):
                    raise raised
        return trace

    return trace
