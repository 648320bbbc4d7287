"""Reasons, in sentences, for which no kernel takes a call.

The call is compared with the kernel that comes nearest: `differences` finds the guards that it
fails, each with the sentence that says it, what follows from it and how to avoid it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from tracejit.compiler.kernel import Kernel
from tracejit.ir.sizes import SMALLEST
from tracejit.ir.types import ArrayType
from tracejit.runtime.dispatch import Entry
from tracejit.specialise.kernel_table import CompiledCall
from tracejit.specialise.read_guards import guard_of
from tracejit.specialise.sentences import READS, SENTENCES
from tracejit.specialise.trace_tree import RecordedCall
from tracejit.support.errors import Where
from tracejit.support.words import file_name, joined
from tracejit.trace.arguments.free_dimensions import Axis
from tracejit.trace.arguments.signature import Call, Leaf
from tracejit.trace.guards.descriptions import described
from tracejit.trace.guards.guards import Difference

MOST_COMPARED = 32
MOST_SAID = 3


class Reason(NamedTuple):
    """The reason for which a call was recorded: its differences from the calls of the kernel
    `against`, None for the first."""

    call: str
    against: Kernel | None
    differences: tuple[Difference, ...]

    def because(self, number: Callable[[Kernel], str]) -> str:
        """The clause after "because"; `number` names a kernel."""
        if not self.differences:
            return f"there was no kernel: {self.call}"
        said = self.differences[:MOST_SAID]
        text = joined([one.tell("because") for one in said])
        if len(self.differences) > MOST_SAID:
            text += f" (and {len(self.differences) - MOST_SAID} more)"
        had = [one.tell("has") for one in said if one.tell("has")]
        if self.against is None or not had:
            return text
        return f"{text}; {number(self.against)} has {joined(had)}"

    def advice(self) -> str:
        """The sentences on what follows, and how to avoid it."""
        said = self.differences[:MOST_SAID]
        parts = list(dict.fromkeys(one.tell("then") for one in said))
        if fixes := self.fixes():
            parts.append(f"To avoid it: {' And '.join(fixes)}")
        return " ".join(filter(None, parts))

    def fixes(self) -> list[str]:
        """The clauses that say how to avoid the differences, each once."""
        told = (one.tell("fix") for one in self.differences[:MOST_SAID])
        return list(dict.fromkeys(filter(None, told)))


def reason_for(
    call: Call, made: Sequence[CompiledCall], static: Mapping[str, str], onto: Kernel | None
) -> Reason:
    """Find why no kernel fits `call`: its differences from the nearest, the newest of these; `onto`
    would fit, but for the branches that the call takes."""
    if onto is not None:
        return Reason(_spelled(call), onto, (Difference(SENTENCES["trace"], "what it decides"),))
    best: tuple[list[Difference], Entry, Kernel] | None = None
    for entry, kernel, _ in reversed(made[-MOST_COMPARED:]):
        found = differences(entry, call, static)
        if best is None or len(found) < len(best[0]):
            best = found, entry, kernel
    if best is None:
        return Reason(_spelled(call), None, ())
    found, entry, kernel = best
    return Reason(_spelled(call), kernel, tuple(found or read_otherwise(entry)))


def differences(entry: Entry, call: Call, static: Mapping[str, str]) -> list[Difference]:
    """Find what makes a call differ from those that the kernel of `entry` takes; `static` names the
    row for arguments whose numbers are never dynamic."""
    found = entry.differences(call, words_of)
    for number, one in enumerate(found):
        leaf = _leaf_at(one, call)
        if one.row == "dynamic" and leaf is not None and leaf.name in _readers(entry):
            found[number] = _read(one, _readers(entry)[leaf.name])
        elif one.row == "dynamic" and leaf is not None and leaf.argument in static:
            found[number] = one._replace(sentence=SENTENCES[static[leaf.argument]])
    return found


def read_otherwise(entry: Entry) -> list[Difference]:
    """Find what the function reads besides its arguments that has changed since the kernel of
    `entry` was made."""
    if entry.guard is None:
        return []
    return entry.guard.changes(labels_of(entry.call)) or [Difference(SENTENCES["unseen"], "")]


def settled(
    reason: Reason, entry: Entry, lasting: bool, fixed: Mapping[Axis, Any] = MappingProxyType({})
) -> Reason:
    """`reason`, now that `entry` was made: what Python has read is known, and, where the kernel is
    not `lasting`, what the function itself has changed. `fixed` are the dimensions that cannot be
    free, with the line that needs the number."""
    found = []
    for one in reason.differences:
        leaf = _leaf_at(one, entry.call)
        if one.row == "shape" and leaf is not None:
            one = _sized(one, leaf, fixed)
        if one.row == "dynamic" and leaf is not None and leaf.name in _readers(entry):
            one = _read(one, _readers(entry)[leaf.name])
        elif one.row == "dynamic" and leaf is not None and leaf.name in entry.fixed:
            one = one._replace(sentence=SENTENCES["wanted"])
        elif one.row == "captured":
            one = _lent(one, entry)
        found.append(one)
    if not lasting:
        found += [
            one if one.row == "iterator" else one._replace(sentence=SENTENCES["changing"])
            for one in changed_by_itself(newest_recording(entry))
        ]
    return reason._replace(differences=tuple(found))


def _leaf_at(one: Difference, call: Call) -> Leaf | None:
    """The leaf of a call that a difference is about."""
    return next((leaf for leaf in call.leaves if leaf.name == one.place), None)


def _lent(one: Difference, entry: Entry) -> Difference:
    """A difference in what was captured, now that it is known which attributes are read anew."""
    recorded = newest_recording(entry)
    if one.place is not None and one.place[1] in recorded.lent_readers:
        return _read(one, recorded.lent_readers[one.place[1]])
    return one._replace(sentence=SENTENCES["lent"]) if one.place in recorded.lent else one


def _sized(one: Difference, leaf: Leaf, fixed: Mapping[Axis, Any]) -> Difference:
    """A difference in shape, now that it is known which dimensions are free."""
    axes = _free_axes(leaf.type)
    if axes:
        detail = joined([f"dimension {axis}" for axis in axes])
        return one._replace(sentence=SENTENCES["size"], detail=detail)
    if leaf.type is not None and any(size < SMALLEST for size in leaf.type.shape):
        text = "Sizes 0 and 1 have their own kernels, because they broadcast and reduce differently"
        return one._replace(detail=text)
    places = [why for place, why in fixed.items() if place.path == leaf.path]
    found = [getattr(why, "where", why) for why in places]
    line = next((_reading(where)[0] for where in found if type(where) is Where), "")
    detail = f"Every size of {one.what} has its own kernel, because the function needs the number"
    return one._replace(
        detail=detail + line,
        fix="write -1 instead of n in a reshape, or pass arrays of one shape.",
    )


def changed_by_itself(recorded: RecordedCall) -> list[Difference]:
    """Find what the function has changed, of all that it reads, while it was recorded."""
    guard = guard_of(recorded, ())
    return [] if guard is None else guard.changes(labels_of(recorded.call))


def newest_recording(entry: Entry) -> RecordedCall:
    """The recording that an entry was made with."""
    one: RecordedCall = entry.traces.traces[-1].one
    return one


def _readers(entry: Entry) -> dict[str, Where | None]:
    """The lines at which Python reads numbers among the arguments, by leaf name."""
    return newest_recording(entry).readers


def labels_of(call: Call) -> dict[int, str]:
    """The names of the objects among the arguments, by id."""
    return {id(leaf.value): words_of(leaf) for leaf in call.leaves if leaf.type is None}


def _free_axes(type_of_leaf: ArrayType | None) -> list[int]:
    """The dimensions of a leaf whose sizes are not part of the kernel: they are not numbers."""
    shape: tuple[Any, ...] = () if type_of_leaf is None else type_of_leaf.shape
    return [axis for axis, size in enumerate(shape) if type(size) is not int]


def _read(difference: Difference, where: Where | None) -> Difference:
    """A difference in a number that Python reads: where, and what to do instead."""
    detail, fix = _reading(where)
    return difference._replace(sentence=SENTENCES["read"], detail=detail, fix=fix)


def _reading(where: Where | None) -> tuple[str, str]:
    if where is None:
        return "", READS[-1][1]
    line = where.text.strip()
    inner = where.text[where.column : where.end_column] if where.column is not None else ""
    detail = f" ({file_name(where.filename)}:{where.lineno}  {line})"
    for text in (inner, line):
        for pattern, fix in READS[:-1]:
            found = re.search(pattern, text)
            if found is not None:
                return detail, fix.format(*found.groups())
    return detail, READS[-1][1]


def words_of(leaf: Leaf) -> str:
    """The user's words for a leaf: its path, unless that names objects of tracejit's."""
    return leaf.name if "_tj_" in leaf.path else leaf.path


def _spelled(call: Call) -> str:
    """The arguments of a call by name."""
    words = [
        f"{words_of(leaf)} {leaf.type!r}"
        if leaf.role in ("array", "scalar")
        else f"{words_of(leaf)} {described(leaf.value)}"
        for leaf in call.leaves
    ]
    return ", ".join(words) or "no arguments"
