"""Twins: functions made of the same code, such as a closure that is made anew for each fit.

What a recording has read of one is looked for in the other, as repair does for objects that were
built anew. Where all of it is the same, a kernel of the first serves the second. Arrays that a
kernel reads at each call may hold other numbers: they are read from the second function.

Functions with the option `share` do this. The last few of them are kept for it.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from tracejit.autodiff.request.request import Request
from tracejit.runtime.dispatch import Answers, Entry
from tracejit.runtime.single_flight import Mutex
from tracejit.specialise.callee import Callee
from tracejit.specialise.explain import History
from tracejit.specialise.kernel_table import KernelTable
from tracejit.specialise.read_guards import guard_of, moved_reads
from tracejit.specialise.trace_tree import RecordedCall
from tracejit.support.config import SETTINGS, setting
from tracejit.support.options import Options
from tracejit.trace.arguments.signature import Call
from tracejit.trace.guards.access_paths import AccessPath
from tracejit.trace.guards.exactness import ATOMS
from tracejit.trace.guards.reads import module_name
from tracejit.trace.recording.active import OF_TRANSFORM

FAMILIES = 32
MEMBERS = 2

Pairs = list[tuple[Any, AccessPath]]


class Member(NamedTuple):
    """A function that was recorded, with its kernels."""

    callee: Callee
    table: KernelTable
    history: History


_families: OrderedDict[Hashable, tuple[Member, ...]] = OrderedDict()
_mutex = Mutex()


def note(member: Member, options: Options) -> None:
    """Keep a function that was recorded and shares its kernels, for those of the same code."""
    if not options.share:
        return
    key = _key(member.callee, options)
    with _mutex.here():
        others = [one for one in _families.pop(key, ()) if one.table is not member.table]
        _families[key] = (*others[1 - MEMBERS :], member)
        while len(_families) > FAMILIES:
            _families.popitem(last=False)


def _members(callee: Callee, options: Options) -> Sequence[Member]:
    """The functions made of the same code, the newest first."""
    return _families.get(_key(callee, options), ())[::-1] if options.share else ()


def twins_of(
    callee: Callee, options: Options, table: KernelTable
) -> Iterator[tuple[Member, Pairs]]:
    """The functions made of the same code, the newest first, this one among them, each with its
    objects and the places of those that this function has instead."""
    for one in _members(callee, options):
        pairs: Pairs = []
        if one.table is table or _are_twins(one.callee.python, callee.python, pairs):
            yield one, pairs


def made_for(entry: Entry, call: Call, pairs: Pairs) -> Entry | None:
    """The entry with the objects among the arguments of a call in place of its own, which `pairs`
    has then, too; None if the kernel does not take such a call."""
    if entry.is_for(call):
        return entry
    if entry.call.structures != call.structures:
        return None
    leaves = []
    for mine, its in zip(entry.call.leaves, call.leaves, strict=True):
        is_object = mine.role == its.role == "static" and not mine.takes(its, mine.guards())
        is_moved = is_object and _may_move(its.value) and _are_twins(mine.value, its.value, pairs)
        leaves.append(mine._replace(value=its.value) if is_moved else mine)
    moved = replace(entry, call=entry.call._replace(leaves=leaves))
    return moved if moved.is_for(call) else None


def adopted(entry: Entry, callee: Callee, pairs: Pairs) -> Entry | None:
    """The entry of a twin's kernel for this function; None if it has read what is another here,
    or results are the twin's own objects."""
    if not all(map(_is_answered_by_all, entry.answers)):
        return None
    with entry.traces.mutex.here():
        ones: list[RecordedCall] = []
        places: dict[int, AccessPath] = {}
        for trace in entry.traces.traces:
            moved = moved_reads(trace.one, pairs)
            if moved is None:
                return None
            ones.append(moved[0])
            places |= moved[1]
        traces = entry.traces.alike(ones, places)
    guard = guard_of(ones[0], traces.traces[1:])
    if guard is not None and not guard():
        return None
    return replace(
        entry,
        signature=callee.signature,
        guard=guard,
        traces=traces,
        decisions=traces.tree.decisions,
        hidden=[(one.holder, one.path) for one in traces.hidden],
        captured=[places[id(x)].value() if id(x) in places else x for x in entry.captured],
    )


def learn(callee: Callee, options: Options) -> None:
    """Know of a function what is known of those made of the same code."""
    for one in _members(callee, options):
        callee.findings.takes_constants |= one.callee.findings.takes_constants


def _may_move(value: Any) -> bool:
    """Return whether an argument is known by what is read of it, not by its own equality."""
    return isinstance(value, (MethodType, FunctionType)) or "__eq__" not in _defined(type(value))


def _defined(cls: type) -> set[str]:
    """The names that a class and its bases define, object left out."""
    return {word for base in cls.__mro__[:-1] for word in vars(base)}


def _key(callee: Callee, options: Options) -> Hashable:
    settings = [repr(setting(name)) for name in SETTINGS]
    return _kin(callee.python), callee.request, callee.form, repr(options), *settings


def _kin(python: Any) -> Hashable:
    """A key that functions of the same code have."""
    kind = type(python)
    if kind is FunctionType and OF_TRANSFORM in python.__dict__:
        held = [cell.cell_contents for cell in python.__closure__ or ()]
        return id(python.__code__), tuple([_kin(one) for one in held if callable(one)])
    if kind is FunctionType:
        return id(python.__code__)
    if kind is MethodType:
        return _kin(python.__func__), id(type(python.__self__))
    if hasattr(kind, "compiled_call"):
        return _kin(python.python), python.request
    if isinstance(python, functools.partial):
        return _kin(python.func), len(python.args)
    return id(kind)


def _are_twins(former: Any, new: Any, pairs: Pairs) -> bool:
    """Return whether `new` is made of the code of `former`; note its objects in `pairs`."""
    if former is new:
        return True
    if type(former) is not type(new):
        return False
    if type(former) is MethodType:
        pairs.append((former.__self__, AccessPath(new.__self__)))
        return former.__func__ is new.__func__
    if type(former) is FunctionType and OF_TRANSFORM in former.__dict__:
        if former.__code__ is not new.__code__:
            return False
        cells = zip(former.__closure__ or (), new.__closure__ or (), strict=True)
        return all(_is_alike(a.cell_contents, b.cell_contents, pairs) for a, b in cells)
    if hasattr(type(former), "compiled_call"):  # a Function
        same = former.request == new.request and former.options == new.options
        return same and _are_twins(former.python, new.python, pairs)
    pairs.append((former, AccessPath(new)))
    return True


def _is_alike(former: Any, new: Any, pairs: Pairs) -> bool:
    """The same of what the body of a transform holds: functions, and numbers and words."""
    if callable(former):
        return _are_twins(former, new, pairs)
    plain = (*ATOMS, tuple, Request, Options)
    return type(former) is type(new) and isinstance(former, plain) and former == new


def _is_answered_by_all(answers: Answers) -> bool:
    """Return whether results hold no object of the user's that is the same at each call."""
    fixed = (x for output in answers.outputs for kind, x in output.leaves if kind == "fixed")
    return all(type(x) in ATOMS or module_name(type(x)).startswith("tracejit.") for x in fixed)
