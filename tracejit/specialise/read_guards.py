"""Guards of what a recording has read, in place of those of the walk.

This is not finished, and happens only where the settings convert and reads are on. The walk
still runs before: it knows the arrays and the attributes that are lent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.specialise.trace_tree import RecordedCall, Trace
from tracejit.support.config import setting
from tracejit.trace.capture.captures import Captures
from tracejit.trace.guards.conditions import Condition, Guards
from tracejit.trace.recording.decisions import Hidden

if TYPE_CHECKING:
    from tracejit.trace.reads.reader import Reader


def following(captures: Captures) -> AbstractContextManager[list[Reader]]:
    """Note what functions read that are recorded in the block; the notes of the first are all."""
    if not setting("reads"):
        return nullcontext([])
    readers: AbstractContextManager[list[Reader]]
    kept = {(id(one.holder), one.name) for _, one in captures.lent.values()}
    readers = import_module("tracejit.trace.reads.reader").following(kept)
    return readers


def conditions_read(
    readers: list[Reader], captures: Captures, hidden: Collection[Hidden]
) -> list[Condition] | None:
    """The conditions of what was read in a recording that is done, with those of attributes that
    the kernel reads anew; None where only the walk can tell."""
    if not readers:
        return None
    reader = readers[0]
    lent = {place.key() for place, _ in captures.lent.values()}
    if lent and reader.walks:
        reader.refuse("a class while its attributes are lent")
    arrays = {id(one.holder) for one in hidden if isinstance(one.holder, np.ndarray)}
    found = reader.all(lambda array: id(array) in arrays)
    reader.forget()
    if reader.refused:
        return None
    return [*found, *(one for one in captures.conditions.all() if one.path.key() in lent)]


def guard_of(recorded: RecordedCall, traces: Iterable[Trace]) -> Guards | None:
    """The guard of a kernel that a recording is for, with other traces of the same function."""
    others = [trace.one for trace in traces]
    for one in others:
        recorded.captures.agree(one.captures)
    found = [one.reads for one in (recorded, *others)]
    if any(reads is None for reads in found):
        return recorded.captures.guard()
    compiled: Any = import_module("tracejit.trace.reads.check").compiled
    guard: Guards | None = compiled([one for reads in found for one in reads or ()])
    return guard
