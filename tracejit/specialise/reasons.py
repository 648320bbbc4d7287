"""Reasons, in sentences, for which no kernel takes a call.

The call is compared with the kernel that comes nearest: `differences` finds what is different, and
a row of `SENTENCES` says it, with what follows from it and how to avoid it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from tracejit.compiler.kernel import Kernel
from tracejit.ir.sizes import SMALLEST
from tracejit.ir.types import ArrayType
from tracejit.runtime.dispatch import Entry, is_same, lies_in_order
from tracejit.runtime.identity import groups_of
from tracejit.specialise.kernel_table import CompiledCall
from tracejit.specialise.sentences import READS, SENTENCES
from tracejit.specialise.trace_tree import RecordedCall
from tracejit.support.errors import Where
from tracejit.support.words import a, file_name
from tracejit.trace.capture.changes import CONTENTS, Change, changes, described, told_apart
from tracejit.trace.free_dimensions import Axis
from tracejit.trace.signature import Call, Leaf, has_type
from tracejit.trace.sparse_products import is_like_matrix
from tracejit.trace.trees import INDEXED, LEAF, MAPPINGS, SEQUENCES, Structure

MOST_COMPARED = 32
MOST_SAID = 3


class Difference(NamedTuple):
    """One thing that keeps a call from a kernel: the row of `SENTENCES` that tells it, what it is,
    what it was for the kernel and is now, and the words of its own that the row has."""

    row: str
    what: str
    was: str = ""
    now: str = ""
    detail: str = ""
    fix: str = ""

    def tell(self, part: str) -> str:
        """A part of its sentence."""
        text: str = getattr(SENTENCES[self.row], part)
        return text.format(**self._asdict())


class Reason(NamedTuple):
    """The reason for which a call was recorded: its differences from the calls of the kernel
    `against`, None for the first."""

    call: str
    against: Kernel | None
    differences: tuple[Difference, ...]

    def because(self, number: Callable[[Kernel], str]) -> str:
        """The clause after "because"; `number` names a kernel."""
        if not self.differences:
            return f"no kernel was there: {self.call}"
        said = self.differences[:MOST_SAID]
        text = _joined([one.tell("because") for one in said])
        if len(self.differences) > MOST_SAID:
            text += f" (and {len(self.differences) - MOST_SAID} more)"
        had = [one.tell("has") for one in said if one.tell("has")]
        if self.against is None or not had:
            return text
        return f"{text}; {number(self.against)} has {_joined(had)}"

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
    would fit, but for the way that the call takes through the function."""
    if onto is not None:
        return Reason(_spelled(call), onto, (Difference("way", "what it decides"),))
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
    found: list[Difference | None] = []
    for argument, structure in call.structures.items():
        mine = [leaf for leaf in entry.call.leaves if leaf.argument == argument]
        other = [leaf for leaf in call.leaves if leaf.argument == argument]
        before = entry.call.structures[argument]
        if before == structure:
            pairs = zip(mine, other, strict=True)
            found += [_leaf_difference(*pair, entry, static) for pair in pairs]
        else:
            found.append(_structure_difference(argument, before, structure))
    told = [one for one in found if one is not None]
    if not told and entry.identity is not None and not entry.identity.is_of(call):
        told.append(
            Difference("identity", "the arguments", _same_text(entry.call), _same_text(call))
        )
    if not told and entry.sizes is not None and not entry.is_for(call):
        conditions = [*entry.sizes.ranges(), *entry.sizes.conditions()]
        told.append(Difference("sizes", "sizes", ", ".join(dict.fromkeys(conditions))))
    return told


def _same_text(call: Call) -> str:
    """Which arguments of a call are one object."""
    groups = [group for group in groups_of(call) if len(group) > 1]
    return "; ".join(f"{_joined(group)} are one array" for group in groups) or "all are different"


def read_otherwise(entry: Entry) -> list[Difference]:
    """Find what the function reads besides its arguments that has changed since the kernel of
    `entry` was made."""
    if entry.guard is None:
        return []
    found = changes(entry.guard, labels_of(entry.call))
    if not found:
        return [Difference("unseen", "")]
    return [Difference("contents" if one.now == CONTENTS else "captured", *one) for one in found]


def settled(
    reason: Reason, entry: Entry, lasting: bool, fixed: Mapping[Axis, Any] = MappingProxyType({})
) -> Reason:
    """`reason`, now that `entry` was made: what Python has read is known, and, where the kernel is
    not `lasting`, what the function itself has changed. `fixed` are the dimensions that cannot be
    free, with the line that needs the number."""
    found = []
    for one in reason.differences:
        leaf = next((x for x in entry.call.leaves if words_of(x) == one.what), None)
        if one.row == "shape" and leaf is not None:
            one = _sized(one, leaf, fixed)
        if one.row == "dynamic" and leaf is not None and leaf.name in _readers(entry):
            one = _read(one, _readers(entry)[leaf.name])
        elif one.row == "dynamic" and leaf is not None and leaf.name in entry.fixed:
            one = one._replace(row="wanted")
        elif one.row == "captured":
            one = _lent(one, entry)
        found.append(one)
    if not lasting:
        found += [
            Difference("iterator" if change.is_drawn else "changing", *change)
            for change in changed_by_itself(newest_recording(entry))
        ]
    return reason._replace(differences=tuple(found))


def _lent(one: Difference, entry: Entry) -> Difference:
    """A difference in what was captured, now that it is known which attributes are read anew."""
    recorded, name = newest_recording(entry), one.what.rpartition(".")[2]
    if name in recorded.lent_readers:
        return _read(one, recorded.lent_readers[name])
    is_lent = "." in one.what and any(name == attribute for _, attribute in recorded.lent)
    return one._replace(row="lent") if is_lent else one


def _sized(one: Difference, leaf: Leaf, fixed: Mapping[Axis, Any]) -> Difference:
    """A difference in shape, now that it is known which dimensions are free."""
    axes = _free_axes(leaf.type)
    if axes:
        return one._replace(row="size", detail=_joined([f"dimension {axis}" for axis in axes]))
    if leaf.type is not None and any(size < SMALLEST for size in leaf.type.shape):
        text = "Sizes 0 and 1 have kernels of their own: they broadcast and reduce otherwise"
        return one._replace(detail=text)
    places = [why for place, why in fixed.items() if place.path == leaf.path]
    found = [getattr(why, "where", why) for why in places]
    line = next((_reading(where)[0] for where in found if type(where) is Where), "")
    detail = f"Every size of {one.what} has a kernel of its own: the function needs the number"
    return one._replace(
        detail=detail + line,
        fix="write x.shape[0] for len(x), -1, *_like and reductions; np.arange(n) and its kin of "
        "tracejit.numpy; or pass arrays of one shape.",
    )


def changed_by_itself(recorded: RecordedCall) -> list[Change]:
    """Find what the function has changed, of all that it reads, while it was recorded."""
    guard = recorded.captures.guard()
    return [] if guard is None else changes(guard, labels_of(recorded.call))


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


def _leaf_difference(
    mine: Leaf, other: Leaf, entry: Entry, static: Mapping[str, str]
) -> Difference | None:
    """In which way a leaf is not what the kernel takes; None where it is."""
    what = words_of(other)
    if mine.given is not other.given:
        return Difference("kind", what, *_kinds(mine, other))
    if mine.role != other.role or (mine.type is None) != (other.type is None):
        return Difference("kind", what, *_kinds(mine, other))
    if other.role == "variable":
        return None if mine.value is other.value else Difference("variable", what)
    if other.role == "sparse":
        matrices = mine.value, other.value
        told = [f"{a(type(x).__name__)} {x.dtype}{[*x.shape]}" for x in matrices]
        return None if is_like_matrix(*matrices) else Difference("kind", what, *told)
    if other.role in ("static", "generator"):
        same = type(mine.value) is type(other.value)
        if other.role == "static":
            same = is_same(mine.value, other.value)
        return None if same else Difference("value", what, *told_apart(mine.value, other.value))
    if mine.type is not None and other.type is not None and not has_type(other, mine.type, {}):
        return _type_difference(mine, other, mine.type, other.type)
    if other.role == "array":
        laid = mine.name not in entry.in_order or lies_in_order(other.value)
        return None if laid else Difference("order", what)
    fixed = entry.fixed.get(mine.name, other.value)
    if repr(fixed) == repr(other.value):
        return None
    words = told_apart(fixed, other.value)
    if mine.name in _readers(entry):
        return _read(Difference("read", what, *words), _readers(entry)[mine.name])
    return Difference(static.get(other.argument, "dynamic"), what, *words)


def _type_difference(mine: Leaf, other: Leaf, was: ArrayType, now: ArrayType) -> Difference | None:
    """In which way the type of a leaf is another; None where it differs in free dimensions."""
    what = words_of(other)
    if other.role == "number":
        return Difference("kind", what, *_kinds(mine, other))
    if was.dtype != now.dtype:
        return Difference("dtype", what, str(was.dtype), str(now.dtype))
    given: tuple[Any, ...] = getattr(other.value, "shape", now.shape)
    if was.ndim != now.ndim:
        return Difference("rank", what, _shape_text(was.shape), _shape_text(given))
    shapes = _shape_text(was.shape), _shape_text(given)
    return Difference("shape", what, *shapes, "A dimension that changes is free from then on")


def _free_axes(type_of_leaf: ArrayType | None) -> list[int]:
    """The dimensions of a leaf whose sizes are not part of the kernel: they are no numbers."""
    shape: tuple[Any, ...] = () if type_of_leaf is None else type_of_leaf.shape
    return [axis for axis, size in enumerate(shape) if type(size) is not int]


def _shape_text(shape: tuple[Any, ...]) -> str:
    """A shape as Python shows it, free dimensions as any."""
    words = ["any" if type(size) is not int else str(size) for size in shape]
    return f"({', '.join(words)}{',' * (len(words) == 1)})"


def _kinds(mine: Leaf, other: Leaf) -> tuple[str, str]:
    """The kinds of two leaves, which differ."""
    was, now = (
        f"an array {leaf.type!r}" if leaf.role == "array" and leaf.given is None else a(_kind(leaf))
        for leaf in (mine, other)
    )
    return was, now if now != was else told_apart(mine.value, other.value)[1]


def _kind(leaf: Leaf) -> str:
    name = (leaf.given or type(leaf.value)).__name__
    return f"np.{name}" if leaf.role == "scalar" else name


def _structure_difference(what: str, mine: Structure, other: Structure) -> Difference:
    """The first difference between two containers."""
    same = mine.cls is other.cls and mine.keys == other.keys and mine.order == other.order
    if same:
        keyed = mine.cls in INDEXED
        for key, one, two in zip(mine.keys, mine.children, other.children, strict=True):
            if one != two:
                step = f"{what}[{key!r}]" if keyed else f"{what}.{key}"
                return _structure_difference(step, one, two)
    return Difference("structure", what, _container(mine), _container(other))


def _container(structure: Structure) -> str:
    if structure is LEAF or structure.cls is None:
        return "one array or number"
    noun = a(structure.cls.__name__)
    if structure.cls in MAPPINGS or structure.cls is set:
        what = " the keys" if structure.cls is not set else ""
        return f"{noun} of{what} {', '.join(map(repr, structure.order)) or 'none'}"
    return f"{noun} of {len(structure.keys)}" if structure.cls in SEQUENCES else noun


def _read(difference: Difference, where: Where | None) -> Difference:
    """A difference in a number that Python reads: where, and what to do instead."""
    detail, fix = _reading(where)
    return difference._replace(row="read", detail=detail, fix=fix)


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


def _joined(words: Sequence[str]) -> str:
    return " and ".join(part for part in [", ".join(words[:-1]), *words[-1:]] if part)
