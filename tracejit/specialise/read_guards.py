"""Guards of what a recording has read, in place of those of a walk.

Nothing is walked before a recording that notes can tell all of. Before others, and of functions
that are not converted, the walk runs, and what it finds is the guard.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.autodiff.request.rules import RULES_FOR_NUMPY
from tracejit.specialise.results import Finished
from tracejit.specialise.trace_tree import RecordedCall, Trace, TraceTree
from tracejit.support.config import setting
from tracejit.support.imports import import_module
from tracejit.trace.capture.captures import Captures
from tracejit.trace.guards.access_paths import AccessPath
from tracejit.trace.guards.check import compiled
from tracejit.trace.guards.conditions import Condition, Guards, ReadConditions
from tracejit.trace.guards.guards import Never
from tracejit.trace.recording.before import Before
from tracejit.trace.recording.decisions import Hidden
from tracejit.trace.recording.mutable_attributes import Attribute, Attributes, Loan
from tracejit.trace.recording.record import Recording

if TYPE_CHECKING:
    from tracejit.trace.reads.reader import Reader


AnyCaptures = Any
"""The captures of a walk, or those of a reader."""


def captures_of_reads(before: Before, attributes: Attributes, walks: bool) -> AnyCaptures | None:
    """The captures of a recording that needs no walk before it; None if it does: where it
    `walks` all the same, or is followed as a part of another. The
    `attributes` are those that recordings of the function have read."""
    if walks or not setting("convert"):
        return None
    if import_module("tracejit.trace.convert.routes").observer() is not None:
        return None
    reader = import_module("tracejit.trace.reads.reader").Reader(before)
    reader.gradient_rules = RULES_FOR_NUMPY
    return import_module("tracejit.trace.reads.captured").ReadCaptures(reader, before, attributes)


def loan_to(recording: Recording, captures: AnyCaptures) -> Loan:
    """The loan to a recording of the attributes that are lent, or will be when they are met."""
    loan = Loan(recording)
    if not isinstance(captures, Captures):
        captures.loan = captures.reader.loan = loan
    return loan


def following(captures: AnyCaptures) -> AbstractContextManager[list[Reader]]:
    """Note what functions read that are recorded in the block; the notes of the first are all."""
    if not setting("convert"):
        return nullcontext([])
    readers: AbstractContextManager[list[Reader]]
    first = getattr(captures, "reader", None)
    readers = import_module("tracejit.trace.reads.reader").following(captures.lent, first)
    return readers


def conditions_read(
    readers: list[Reader],
    captures: AnyCaptures,
    hidden: Collection[Hidden],
    finished: Finished,
    identity: Any,
) -> ReadConditions | None:
    """The conditions of what was read in a recording that is done, with those of attributes that
    the kernel reads anew; None if only the walk can tell."""
    if not readers:  # nobody has followed what was read
        unknown = Condition(AccessPath(captures), Never())
        return None if type(captures) is Captures else ReadConditions([unknown])
    if type(captures) is not Captures:
        captures.settle()
    reader = readers[0]
    lent = {place.key() for place, _ in captures.lent.values()}
    arrays = {id(one.holder) for one in hidden if isinstance(one.holder, np.ndarray)}
    found = reader.all(lambda array: id(array) in arrays)
    fixed = reader.fixed()
    reader.forget()
    if reader.refused and type(captures) is Captures:
        return None
    if fixed is not None:  # no object may be one that changes at each call
        is_pure = not finished.commits and identity is None
        lent_of = [one.holder for _, one in captures.lent.values() if type(one) is Attribute]
        fixed = fixed.union(map(id, lent_of)) if is_pure else None
    found += [one for one in captures.conditions.all() if one.path.key() in lent]
    return ReadConditions(found, fixed, reader.frozen)


def guard_of(recorded: RecordedCall, traces: Iterable[Trace]) -> Guards | None:
    """The guard of a kernel that a recording is for, with other traces of the same function."""
    several = (recorded, *[trace.one for trace in traces])
    if all(one.reads is None for one in several):
        return recorded.captures.guard()
    found: list[Condition] = []
    for one in several:
        found += one.captures.conditions.all() if one.reads is None else one.reads.all
    kept = [one.captures.frozen if one.reads is None else one.reads.frozen for one in several]
    return compiled(found, kept if any(kept) else None)


def repaired(tree: TraceTree) -> Guards | None:
    """The guard of a kernel that has these traces, once objects that were built anew have taken
    the places of those that were read; None if something that was read is another now."""
    found = []
    for trace in tree.traces:
        moved = moved_reads(trace.one)
        if moved is None:
            return None
        found.append(moved)
    places: dict[int, AccessPath] = {}
    for trace, (one, own) in zip(tree.traces, found, strict=True):
        trace.one = one
        places |= own
    tree.move_hidden(places)
    return guard_of(found[0][0], tree.traces[1:])


def moved_reads(
    one: RecordedCall, pairs: Sequence[tuple[Any, AccessPath]] = ()
) -> tuple[RecordedCall, dict[int, AccessPath]] | None:
    """A recording with the conditions that hold now, and the places of objects that have others
    there now, by the id of the former; None if something that was read is another. `pairs` are
    objects of another function, each with the place of its own."""
    repair: Any = import_module("tracejit.trace.reads.repair").repaired
    reads = one.reads
    mended = None if reads is None or reads.fixed is None else repair(reads.all, reads.fixed, pairs)
    if reads is None or mended is None:
        return None
    conditions, places = mended
    return one._replace(reads=reads._replace(all=conditions)), places
