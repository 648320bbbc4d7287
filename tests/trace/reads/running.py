"""Functions run with their reads noted: on plain values, beside plain Python on a twin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.convert.running import define, run
from tracejit.trace.convert.routes import observed, routed
from tracejit.trace.guards.check import compiled
from tracejit.trace.guards.conditions import Guards
from tracejit.trace.reads.reader import Reader
from tracejit.trace.reads.repair import repaired

ERRORS = (AttributeError, KeyError, IndexError, TypeError, ValueError, NameError, RecursionError)


class Recorded(NamedTuple):
    """A call that was recorded: its outcome, its guard, what the notes could not tell, and the
    objects that count as they are."""

    outcome: Any
    guard: Guards | None
    refused: str
    fixed: frozenset[int] | None = None

    def holds(self) -> bool:
        """Return whether nothing has changed that the call has read."""
        return self.guard is None or self.guard()

    def repaired(self) -> Recorded | None:
        """The same call under a guard that holds now, if nothing of what it has read is another."""
        if self.guard is None or self.fixed is None:
            return None
        found = repaired(self.guard.conditions, self.fixed)
        return None if found is None else self._replace(guard=compiled(found[0]))


def serving(kernels: list[Recorded]) -> Recorded | None:
    """The first of the kernels that holds, or, repaired, the one that does then."""
    for kernel in kernels:
        if kernel.holds():
            return kernel
    for index, kernel in enumerate(kernels):
        mended = kernel.repaired()
        if mended is not None:
            assert mended.holds()
            kernels[index] = mended
            return mended
    return None


def recorded(function: Callable[..., Any], *arguments: Any) -> Recorded:
    """Call a function with its reads noted."""
    reader = Reader()
    with observed(lambda: reader), routed(function) as converted:
        outcome = outcome_of(converted, *arguments)
    guard, refused, fixed = reader.guard(), reader.refused, reader.fixed()
    reader.forget()
    return Recorded(outcome, guard, refused, fixed)


def outcome_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """The bytes of what a function answers, or the class of what it raises."""
    try:
        answer = function(*arguments)
    except ERRORS as error:
        return type(error).__name__
    return image_of(answer)


def image_of(answer: Any, depth: int = 0) -> Any:
    """What two answers share that are the same to the bit; other objects are answered as they
    are, whatever is in them."""
    if isinstance(answer, (list, tuple, dict)) and depth < 8:
        inside = [*answer.items()] if isinstance(answer, dict) else answer
        return type(answer).__name__, [image_of(one, depth + 1) for one in inside]
    if isinstance(answer, np.ndarray | np.generic | bool | int | float | str):
        array = np.asarray(answer)
        return array.dtype.str, array.shape, array.tobytes()
    return "object"


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
        kernel = serving(kernels)
        if kernel is None:
            kernel = recorded(mine["f"], x.copy())
            kernels.append(kernel)
            yield Step(change, python, kernel.outcome, True, kernel)
        else:
            yield Step(change, python, kernel.outcome, False, kernel)
