"""Guard costs: the tests that the guards of a kernel make at each call, and their time.

Tests of arguments run on arrays of the same shape and dtype that take the memory of one element.
What a function reads besides its arguments is tested as it is now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit.explorer.quantities import bytes_text
from tracejit.ir.dims import number_of
from tracejit.runtime.dispatch import Entry
from tracejit.trace.arguments.signature import Leaf
from tracejit.trace.guards.guards import Guard, Is

ROUNDS = 5
SHORTEST = 2e-5
MOST_TIMED = 64


class GuardRow(NamedTuple):
    """A guard: of what, what that has to be, and the seconds that its test takes, if that was
    measured alone."""

    what: str
    wants: str
    seconds: float | None = None


class GuardCosts(NamedTuple):
    """The guards of arguments, those of what else the function reads, and the seconds that all of
    these take together."""

    arguments: list[GuardRow]
    reads: list[GuardRow]
    seconds_of_reads: float

    @property
    def seconds(self) -> float:
        """The seconds of all guards that were measured."""
        return self.seconds_of_reads + sum(row.seconds or 0.0 for row in self.arguments)


def guards_of(entry: Entry, words: Callable[[Leaf], str]) -> GuardCosts:
    """The guards of an entry; `words` name an argument."""
    rows = []
    for number, leaf in enumerate(entry.call.leaves):
        seconds = _seconds_of_leaf(entry, leaf) if number < MOST_TIMED else None
        told = [guard.wants() for guard in entry.guards[leaf.name]]
        is_array = leaf.role == "array" and len(told) >= 3  # the first of them tells all three
        wants = ", ".join([told[0], *told[3:]] if is_array else told)
        rows.append(GuardRow(words(leaf), wants, seconds))
    if entry.free_sizes is not None:
        rows.append(GuardRow("sizes", entry.free_sizes.explain().was))
    if entry.identity is not None:
        rows.append(GuardRow("arguments", "the same objects among them as when it was recorded"))
    reads: list[GuardRow] = []
    if entry.guard is not None:
        names = {id(leaf.value): words(leaf) for leaf in entry.call.leaves if leaf.type is None}
        labels = entry.guard.labels(names)
        for path, guard in entry.guard.conditions:
            compared = f" ({bytes_text(guard.bytes)} compared)" if guard.bytes else ""
            reads.append(GuardRow(labels.of(path), f"{_wanted(guard)}{compared}"))
    return GuardCosts(rows, reads, seconds_of(entry.guard) if entry.guard is not None else 0.0)


def _wanted(guard: Guard) -> str:
    """Words for what a value that the function reads has to be."""
    told = guard.wants()
    return f"the same {told.removeprefix('a ').removeprefix('the ')}" if type(guard) is Is else told


def _seconds_of_leaf(entry: Entry, leaf: Leaf) -> float:
    """The time that the tests of one argument take."""
    space: dict[str, Any] = {}

    def bind(thing: Any) -> str:
        name = f"_{len(space)}"
        space[name] = thing
        return name

    tests = [guard.spelling("value", bind, "value") for guard in entry.guards[leaf.name]]
    test = eval(f"lambda value: {' and '.join(tests) or 'True'}", space)
    value = _stand_in(leaf)
    return seconds_of(lambda: test(value)) if tests else 0.0


def _stand_in(leaf: Leaf) -> Any:
    if leaf.role != "array" or leaf.type is None:
        return leaf.value
    shape = tuple(map(number_of, leaf.type.shape))
    return np.broadcast_to(np.zeros((), leaf.type.dtype), shape)


def seconds_of(call: Callable[[], object]) -> float:
    """The shortest time that a call takes in a few rounds."""
    best, number = float("inf"), 1
    rounds = 0
    while rounds < ROUNDS:
        began = time.perf_counter()
        for _ in range(number):
            call()
        seconds = time.perf_counter() - began
        if seconds < SHORTEST:
            number *= 4
            continue
        best = min(best, seconds / number)
        rounds += 1
    return best
