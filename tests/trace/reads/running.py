"""Functions run with their reads noted: on plain values, beside plain Python on a twin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.convert.running import define, run
from tracejit.trace.convert.routes import observed, routed
from tracejit.trace.guards.conditions import Guards
from tracejit.trace.reads.reader import Reader

ERRORS = (AttributeError, KeyError, IndexError, TypeError, ValueError, NameError, RecursionError)


class Recorded(NamedTuple):
    """A call that was recorded: its outcome, its guard, and what the notes could not tell."""

    outcome: Any
    guard: Guards | None
    refused: str

    def holds(self) -> bool:
        """Return whether nothing has changed that the call has read."""
        return self.guard is None or self.guard()


def recorded(function: Callable[..., Any], *arguments: Any) -> Recorded:
    """Call a function with its reads noted."""
    reader = Reader()
    with observed(lambda: reader), routed(function) as converted:
        outcome = outcome_of(converted, *arguments)
    guard, refused = reader.guard(), reader.refused
    reader.forget()
    return Recorded(outcome, guard, refused)


def outcome_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """The bytes of what a function answers, or the class of what it raises."""
    try:
        answer = function(*arguments)
    except ERRORS as error:
        return type(error).__name__
    return image_of(answer)


def image_of(answer: Any, depth: int = 0) -> Any:
    """What two answers share that are the same to the bit; of other objects their class."""
    if isinstance(answer, (list, tuple, dict)) and depth < 8:
        inside = [*answer.items()] if isinstance(answer, dict) else answer
        return type(answer).__name__, [image_of(one, depth + 1) for one in inside]
    if isinstance(answer, np.ndarray | np.generic | bool | int | float | str):
        array = np.asarray(answer)
        return array.dtype.str, array.shape, array.tobytes()
    return type(answer).__name__


class Step(NamedTuple):
    """A call after a change: how the function answers as Python, and what the kernel answers that
    serves the call, or is recorded for it."""

    change: str
    python: Any
    found: Any
    is_recorded: bool
    kernel: Recorded


def steps(text: str, changes: Sequence[str]) -> Iterator[Step]:
    """Call the function `f` of a module, at first and after each change, as Python and by kernels
    under guards."""
    mine, twin = define(text), define(text)
    x = np.array([1.5, 2.5])
    kernels: list[Recorded] = []
    for change in ("", *changes):
        for space in (mine, twin):
            run(change.lstrip("!"), space)
        python = outcome_of(twin["f"], x.copy())
        kernel = next((one for one in kernels if one.holds()), None)
        if kernel is None:
            kernel = recorded(mine["f"], x.copy())
            kernels.append(kernel)
            yield Step(change, python, kernel.outcome, True, kernel)
        else:
            yield Step(change, python, kernel.outcome, False, kernel)
