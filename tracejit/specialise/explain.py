"""Explain the kernels of a function: `f.explain()`, `f.cache_info()`, and the warning of many.

`reasons.py` finds and tells what made each kernel.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from tracejit.compiler.kernel import Kernel
from tracejit.explorer.guard_costs import seconds_of
from tracejit.explorer.story import Story
from tracejit.ir.subgraph import every_node
from tracejit.ops.control.branches import DECIDE
from tracejit.ops.control.control_flow import is_condition
from tracejit.runtime.dispatch import Entry
from tracejit.runtime.single_flight import Mutex
from tracejit.specialise.callee import Findings
from tracejit.specialise.kernel_table import CompiledCall, KernelTable
from tracejit.specialise.reasons import (
    Reason,
    labels_of,
    newest_recording,
    reason_for,
    settled,
    words_of,
)
from tracejit.specialise.uncompiled import UncompiledCalls
from tracejit.support.errors import TracejitWarning
from tracejit.support.event_log import log
from tracejit.trace.arguments.free_dimensions import Axis
from tracejit.trace.arguments.signature import Call
from tracejit.trace.guards.access_paths import AccessPath
from tracejit.trace.guards.guards import (
    HasKeys,
    Is,
    Length,
    SameBytes,
    SameText,
    SameValue,
    Static,
)
from tracejit.trace.recording.reruns import CHOSEN, CONDITION, WHILE, GivenUp
from tracejit.trace.source import places

TOO_MANY = 5
MEGABYTE = 2**20
# So many of an array and as many of its copy: what memory gives one thread.
BYTES_IN_A_MILLISECOND = 10 * MEGABYTE
MOST_LINES = 4
MOST_VALUES = 8
NO_NAME = "what it reads"
LOOPS = ("for ", "while ", "async for ")
GONE = "a kernel that is gone"


_VALUES = (Is, Static, SameValue, SameText, SameBytes, Length, HasKeys)
_CODE = (CodeType, FunctionType, BuiltinFunctionType, ModuleType, type, type(None))
"""Objects that programs are made of, which seldom change."""


class CacheInfo(NamedTuple):
    """The number of kernels of a function, of recordings of its Python for them, and of kernels
    that are files. Calls are not counted: that would cost each of them a tenth of itself."""

    kernels: int
    recordings: int
    files: int


# What else there is to say of a kernel


def contents_compared(entry: Entry, kernel: str) -> Iterator[str]:
    """The arrays whose contents are compared at each call, and how to save that."""
    arrays = entry.guard.compared(labels_of(entry.call)) if entry.guard else ()
    for name, number in arrays:
        size, cost = f"{number} B", ""
        if number >= MEGABYTE:
            size = f"{number / MEGABYTE:.1f} MB"
            cost = f", about {number / BYTES_IN_A_MILLISECOND:.1f} ms"
        yield (
            f"At each call the contents of {name} ({size}) are compared with a copy{cost}. "
            "To avoid this: use tj.function(freeze=True), make it read-only with "
            ".setflags(write=False), pass it as an argument, or hold it in a tj.Variable."
        )


def values_tested(entry: Entry, kernel: str) -> Iterator[str]:
    """The values that a kernel depends on because its function has read them, and the time that
    all tests of what was read take."""
    if entry.guard is None or newest_recording(entry).reads is None:
        return
    labels = entry.guard.labels(labels_of(entry.call))
    read = [one for one in entry.guard.conditions if not isinstance(one.guard.wanted, _CODE)]
    read = [one for one in read if not _is_of_function(one.path)]
    of = [labels.of(one.path) for one in read if type(one.guard) in _VALUES]
    known = dict.fromkeys(name.removeprefix("the global ") for name in of)
    names = [x for x in known if not any(y.startswith((f"{x}.", f"{x}[")) for y in known)]
    if names:
        more = f" and {len(names) - MOST_VALUES} more" if len(names) > MOST_VALUES else ""
        cost = f"{1e6 * seconds_of(entry.guard):.2f} us"
        told = ", ".join(names[:MOST_VALUES]) + more
        yield f"At each call {kernel} checks the values that it reads, in {cost}: {told}."


def _is_of_function(path: AccessPath) -> bool:
    """Return whether a path leads to the defaults of a function."""
    return type(path.root) is FunctionType and path.argument in ("__defaults__", "__kwdefaults__")


def traces_recorded(entry: Entry, kernel: str) -> Iterator[str]:
    """The number of traces that a kernel has joined, and the lines of their decisions."""
    lines = _decisions(entry)
    if lines:
        told = ", ".join(lines[:MOST_LINES]) + (", ..." if len(lines) > MOST_LINES else "")
        yield f"{_capitalised(kernel)} has {_traces(entry)}, with decisions at {told}."


def _traces(entry: Entry) -> str:
    count = len(entry.traces.traces)
    return f"{count} recorded trace{'s' if count > 1 else ''}"


def _decisions(entry: Entry) -> list[str]:
    """The lines at which Python looks at what is recorded."""
    nodes = entry.traces.recorded().graph.nodes
    lines = [node.where for node in nodes if node.op is DECIDE and node.where is not None]
    return list(dict.fromkeys(f"`{line.text}` ({line.short})" for line in lines))


def decided_each_trip(entry: Entry, given_up: Iterable[GivenUp]) -> tuple[str, str] | None:
    """The line at which the newest trace of a kernel was decided again and again, with the reason
    for that if it was `given_up`, and what to do instead."""
    known = {one.where: one for one in given_up}
    nodes = newest_recording(entry).recording.graph.nodes
    tests = [node.where for node in nodes if node.op is DECIDE and node.where is not None]
    counted = Counter((where, getattr(where, "instruction", None)) for where in tests)
    for (line, _), count in counted.items():
        found = known.get(line)
        if count > 2 or (count > 1 and found is not None):
            because = "" if found is None else f" ({found.reason})"
            text = f"`{line.text}` ({line.short})" if line.text else line.short
            detail = f"Python decides at each trip of a loop, {text}{because}"
            cure = (WHILE if line.text.startswith(LOOPS) else CONDITION).cure
            return f"{detail}, and each way through is recorded separately", f"{cure}."
    return None


def loops_recorded(entry: Entry, kernel: str) -> Iterator[str]:
    """The loops of Python's that are loops in a kernel, too, and why others are written out."""
    for trace in entry.traces.traces:
        for note in trace.one.recording.loop_notes[:MOST_LINES]:
            where, steps, reason = note
            if where is None:
                yield f"Loops are written out step by step in {kernel}, because {reason}."
                continue
            line = f"`{where.text}` ({where.short})"
            if steps:
                yield f"{_capitalised(kernel)} has a loop of {steps} steps with {line}."
            else:
                yield f"The loop with {line} is written out in {kernel}, because {reason}."


def conditions_recorded(entry: Entry, kernel: str) -> Iterator[str]:
    """The conditions of Python's of which a kernel has both sides, in its loops too."""
    recordings = [trace.one.recording for trace in entry.traces.traces]
    nodes = [node for one in recordings for node in every_node(one.graph.nodes[: one.forward])]
    counted = Counter(node.where for node in nodes if is_condition(node) and node.where is not None)
    for where, count in [*counted.items()][:MOST_LINES]:
        times = f", {count} times" if count > 1 else ""
        yield f"{_capitalised(kernel)} has both sides of `{where.text}` ({where.short}){times}."


# The history of a function


class History:
    """The reasons for which the kernels in the table of one function were made, in their order.

    The user can ask a function that `is_held`; of another nobody is told how many kernels it has.
    """

    def __init__(
        self,
        name: str,
        table: KernelTable,
        is_held: bool = True,
        findings: Findings | None = None,
    ) -> None:
        """Begin with no recording of the function `name`, of which there are `findings`."""
        self.name = name
        self.findings = findings or Findings()
        self.table = table
        self.is_held = is_held
        self.reasons: dict[Kernel, Reason] = {}
        self.again: dict[Kernel, tuple[int, Reason]] = {}
        self.successors: WeakKeyDictionary[Kernel, Kernel] = WeakKeyDictionary()
        self.uncompiled = UncompiledCalls(name, is_held)
        self.has_warned = False
        self._mutex = Mutex()

    def clear(self) -> None:
        """Forget everything."""
        with self._mutex.here():
            self.reasons.clear()
            self.again.clear()
            self.successors.clear()
            self.has_warned = False
        self.uncompiled.clear()

    def note(
        self,
        made: CompiledCall,
        reason: Reason,
        joined: Kernel | None = None,
        fixed: Mapping[Axis, Any] = MappingProxyType({}),
    ) -> None:
        """Note that `made` was compiled for a reason, in the place of the kernel that it has
        `joined`, and warn when there are too many. `fixed` are the dimensions that cannot be
        free."""
        entry, kernel, _ = made
        lasting = self.table.kernel_of(entry) is not None
        if joined is not None and joined not in self.table.kernels:
            self.move(joined, kernel)
        else:
            reason = settled(reason, entry, lasting, fixed)
            self.add(kernel, reason)
        if not lasting:
            self._note_changing(reason)
        elif joined is not None and (found := decided_each_trip(entry, self.given_up)):
            self.uncompiled.note("trips", *found)
        elif kernel in self.again:
            fixes = " ".join(reason.fixes())
            self.uncompiled.note("again", reason.because(self._number), fixes)
        if self.is_held:
            self._warn()

    def log_guards(self, reason: Reason) -> None:
        """Log the guards of the nearest kernel that a call has failed."""
        if reason.differences:
            log("guards", lambda: f"{self.name}: {reason.because(self._number)} ({places.line()})")

    def log_kernel(self, kernel: Kernel, reason: Reason, seconds: tuple[float, float]) -> None:
        """Log a kernel, why it was made, and the seconds of recording and of making it."""

        def text() -> str:
            recorded, made = seconds
            where = "read from the cache" if kernel.is_cached else "generated"
            where += "" if kernel.path else ", kept in memory"
            because = f"because {reason.because(self._number)}"
            if not reason.differences:
                because = f"for the first call: {reason.call}"
            took = f"recorded in {recorded:.3f} s, {where} in {made:.3f} s"
            return f"{self.name}: {kernel.name} made {because} ({took}; {places.line()})"

        log("compile", text)

    def add(self, kernel: Kernel, reason: Reason) -> None:
        """Note why `kernel` was made, or the function recorded once more for it."""
        with self._mutex.here():
            if kernel in self.reasons:
                self.again[kernel] = self.again.get(kernel, (0, reason))[0] + 1, reason
            else:
                self.reasons[kernel] = reason

    def move(self, kernel: Kernel, other: Kernel) -> None:
        """`other` has taken the place of `kernel`, which it has joined."""
        with self._mutex.here():
            self.reasons = {other if one is kernel else one: x for one, x in self.reasons.items()}
            self.again = {other if one is kernel else one: x for one, x in self.again.items()}
            self.successors[kernel] = other

    def tell(self) -> str:
        """The whole explanation, a line per kernel."""
        kernels = self.table.kernels
        if not kernels:
            told = [*self.uncompiled.tell(), *self.findings.as_written]
            none = f"{self.name} has no kernel"
            return "\n".join(
                [f"{none}.", *told] if told else [f"{none} yet: the first call makes one."]
            )
        plural = "s" if len(kernels) > 1 else ""
        lines = [f"{self.name} has {len(kernels)} kernel{plural}."]
        lines += [self.told(one) for one in kernels if one in self.reasons]
        notes = (text for entry, its, _ in self.table.compiled for text in self._notes(entry, its))
        more = dict.fromkeys([*notes, *self._not_merged()])
        return "\n".join([*lines, *more, *self.uncompiled.tell(), *self.findings.as_written])

    @property
    def given_up(self) -> list[GivenUp]:
        """The conditions and loops on data that are recorded for what a call does."""
        found = (self.findings.forks or {}).values()
        return [one for one in found if one.recorded is not CHOSEN]

    def _not_merged(self) -> Iterator[str]:
        """A line for each of these, or one for all."""
        if self.findings.forks is None:
            yield (
                f"Conditions and loops on data in {self.name} are recorded for each way through "
                f"them, because {self.findings.merged}. To record both sides at once: give each "
                f"number the same type on both sides, and do not write to an array that they "
                f"choose."
            )
        for one in self.given_up:
            yield one.tell()

    def stories(self, root: CodeType | None) -> list[Story]:
        """Every kernel of the function with the code `root`, with what there is to tell of it."""
        entries = {kernel: entry for entry, kernel, _ in self.table.compiled}
        stories = []
        for kernel in self.table.kernels:
            entry = entries.get(kernel)
            reason = self.told(kernel) if kernel in self.reasons else ""
            notes = [] if entry is None else list(self._notes(entry, kernel))
            stories.append(Story(kernel, root, reason, notes, entry, words_of))
        return stories

    def _notes(self, entry: Entry, kernel: Kernel) -> Iterator[str]:
        """Explain what else there is to know of a kernel and its entry."""
        notes = (
            traces_recorded,
            loops_recorded,
            conditions_recorded,
            values_tested,
            contents_compared,
        )
        for note in notes:
            yield from note(entry, self._number(kernel))

    def foresee(self, call: Call, static: Mapping[str, str]) -> str:
        """Foresee a call: the kernel that takes it, or why it would be recorded. `static`
        names the row of `SENTENCES` for arguments whose numbers are never dynamic."""
        for entry, kernel, _ in reversed(self.table.compiled):
            if entry.fits(call):
                told = f"{_capitalised(self._number(kernel))} takes this call"
                if not _decisions(entry):
                    return f"{told}."
                return f"{told} if it follows one of {_traces(entry)}; another is recorded as well."
        reason = reason_for(call, self.table.compiled, static, None)
        because = reason.because(self._number)
        return f"No kernel takes this call, because {because}. {reason.advice()}"

    def _number(self, kernel: Kernel) -> str:
        """The name of a kernel: its place in the table, or that of the one which has joined it."""
        while kernel in self.successors:
            kernel = self.successors[kernel]
        kernels = self.table.kernels
        return f"kernel {kernels.index(kernel) + 1}" if kernel in kernels else GONE

    def told(self, kernel: Kernel) -> str:
        """The reason why one kernel was made."""
        is_first = kernel is next(iter(list(self.reasons)), None)
        reason, subject = self.reasons[kernel], _capitalised(self._number(kernel))
        if is_first:
            parts = [f"{subject} was made for the first call: {reason.call}."]
            if reason.differences:
                parts.append(_capitalised(f"{reason.because(self._number)}."))
        else:
            parts = [f"{subject} was made because {reason.because(self._number)}."]
        parts.append(reason.advice())
        if kernel in self.again:
            times, last = self.again[kernel]
            count = "once more" if times == 1 else f"{times} times more"
            cause = last.because(self._number)
            parts.append(f"It was recorded {count} than needed, because {cause}.")
            parts.append(last.advice())
        return " ".join(filter(None, parts))

    def _note_changing(self, reason: Reason) -> None:
        """Count a recording that gave no kernel for later calls."""
        whats = [one for one in reason.differences if one.row in ("changing", "iterator")]
        row, detail = "changing", " and ".join(one.tell("changed") for one in whats) or NO_NAME
        if any(one.row == "iterator" for one in whats):
            row, detail = "iterator", ""
        self.uncompiled.note(row, detail)

    def _warn(self) -> None:
        """Warn once, at the user's line, when there are too many kernels."""
        count = len(self.table.compiled)
        with self._mutex.here():
            if count < TOO_MANY or self.has_warned:
                return
            self.has_warned = True
            reasons = list(self.reasons.values())
        told = [one for reason in reasons for one in reason.differences[:1]]
        text = f"{self.name} has made {count} kernels"
        if told:
            counted = Counter((one.row, one.what) for one in told)
            common, times = counted.most_common(1)[0]
            last = next(one for one in reversed(told) if (one.row, one.what) == common)
            of_them = f"{times} of them" if times > 1 else "the last"
            what = last.what or "what it reads"
            text += f", {of_them} because {what} differed. {last.tell('then')}"
            text += f" To avoid it: {last.tell('fix')}" if last.tell("fix") else ""
        else:
            text += "."
        text += f" {self.name}.explain() says why each was made."
        warnings.warn(" ".join(text.split()), TracejitWarning, stacklevel=places.user_depth())


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
