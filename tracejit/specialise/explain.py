"""Why a function has the kernels it has: `f.explain()`, `f.cache_info()`, and the warning of many.

`reasons.py` finds and tells what made each kernel. Whatever else is worth knowing of a kernel has
its function in `NOTES`.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from tracejit.autodiff.request import Request
from tracejit.compiler.kernel import Kernel
from tracejit.ops.branches import DECIDE
from tracejit.runtime.dispatch import Entry, Space
from tracejit.runtime.single_flight import Mutex
from tracejit.specialise import eager_mode, purity_check
from tracejit.specialise.kernel_table import KernelTable, Made
from tracejit.specialise.reasons import Reason, labels_of, reason_for, settled
from tracejit.specialise.uncompiled import UncompiledCalls
from tracejit.support.errors import TracejitError, TracejitWarning, placed, without_frames
from tracejit.trace import places
from tracejit.trace.capture.changes import compared_arrays
from tracejit.trace.decisions import Failed
from tracejit.trace.free_dimensions import SeenShapes
from tracejit.trace.mutable_attributes import changes_by_others
from tracejit.trace.places import PACKAGE
from tracejit.trace.record import current_recording
from tracejit.trace.signature import Call, bind_arguments, static_names, take_apart
from tracejit.trace.tensor import TENSORS
from tracejit.trace.trees import map_tree
from tracejit.trace.variable import read_leaf

S = TypeVar("S", bound=Callable[..., Any])
TOO_MANY = 5
MEGABYTE = 2**20
# So many of an array and as many of its copy: what memory gives one thread.
BYTES_IN_A_MILLISECOND = 10 * MEGABYTE
MOST_LINES = 4
NO_NAME = "what it reads"


class CacheInfo(NamedTuple):
    """How many kernels a function has, how often its Python was recorded for them, and how many of
    them are files. Calls are not counted: that would cost each of them a tenth of itself."""

    kernels: int
    recordings: int
    files: int


# What else there is to say of a kernel


def contents_compared(entry: Entry, kernel: str) -> Iterator[str]:
    """The arrays whose contents are compared at each call, and how to save that."""
    arrays = compared_arrays(entry.guard, labels_of(entry.call)) if entry.guard else ()
    for array in arrays:
        size, cost = f"{array.bytes} B", ""
        if array.bytes >= MEGABYTE:
            size = f"{array.bytes / MEGABYTE:.1f} MB"
            cost = f", about {array.bytes / BYTES_IN_A_MILLISECOND:.1f} ms"
        yield (
            f"At each call the contents of {array.what} ({size}) are compared with a copy{cost}. "
            "To save that: tj.function(freeze=True), or make it read-only, .setflags(write=False), "
            "or pass it as an argument, or hold it in a tj.Variable."
        )


def ways_recorded(entry: Entry, kernel: str) -> Iterator[str]:
    """The ways through the function that a kernel knows, and where they part."""
    lines = _decisions(entry)
    if lines:
        told = ", ".join(lines[:MOST_LINES]) + (", ..." if len(lines) > MOST_LINES else "")
        yield f"{_capitalised(kernel)} knows {_ways(entry)}, which may part at {told}."


def _ways(entry: Entry) -> str:
    count = len(entry.ways.ways)
    return f"{count} way{'s' if count > 1 else ''} through the function"


def _decisions(entry: Entry) -> list[str]:
    """The lines at which Python looks at what is recorded."""
    nodes = entry.ways.recorded().graph.nodes
    lines = [node.where for node in nodes if node.op is DECIDE and node.where is not None]
    return list(dict.fromkeys(f"`{line.text}` ({line.short})" for line in lines))


NOTES: list[Callable[[Entry, str], Iterator[str]]] = [ways_recorded, contents_compared]
"""Sentences about a kernel as it is now: each function is given its entry and how it is called."""


# The history of a function


class History:
    """Why the kernels of one function were made, in their order."""

    def __init__(self, name: str) -> None:
        """Nothing recorded yet."""
        self.name = name
        self.reasons: dict[Kernel, Reason] = {}
        self.again: dict[Kernel, tuple[int, Reason]] = {}
        self.successors: WeakKeyDictionary[Kernel, Kernel] = WeakKeyDictionary()
        self.uncompiled = UncompiledCalls(name)
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

    def numbering(self, kernels: Sequence[Kernel]) -> Callable[[Kernel], str]:
        """The function that names a kernel by its place in the list, or by that of the one which
        has taken its place."""
        places_of = {kernel: place for place, kernel in enumerate(kernels, 1)}

        def number(kernel: Kernel) -> str:
            while kernel in self.successors:
                kernel = self.successors[kernel]
            place = places_of.get(kernel)
            return f"kernel {place}" if place else "a kernel that is gone"

        return number

    def tell(self, kernels: Sequence[Kernel], made: Sequence[Made]) -> str:
        """Everything, a line per kernel."""
        if not kernels:
            told = self.uncompiled.tell()
            none = f"{self.name} has no kernel"
            return "\n".join(
                [f"{none}.", *told] if told else [f"{none} yet: the first call makes one."]
            )
        number = self.numbering(kernels)
        plural = "s" if len(kernels) > 1 else ""
        lines = [f"{self.name} has {len(kernels)} kernel{plural}."]
        first = next(iter(list(self.reasons)), None)
        lines += [
            self._told(kernel, self.reasons[kernel], number, kernel is first)
            for kernel in kernels
            if kernel in self.reasons
        ]
        notes = (
            text for entry, its, _ in made for note in NOTES for text in note(entry, number(its))
        )
        return "\n".join([*lines, *dict.fromkeys(notes), *self.uncompiled.tell()])

    def _told(
        self, kernel: Kernel, reason: Reason, number: Callable[[Kernel], str], is_first: bool
    ) -> str:
        """Why one kernel was made."""
        subject = _capitalised(number(kernel))
        if is_first:
            parts = [f"{subject} was made for the first call: {reason.call}."]
            if reason.differences:
                parts.append(_capitalised(f"{reason.because(number)}."))
        else:
            parts = [f"{subject} was made because {reason.because(number)}."]
        parts.append(reason.advice())
        if kernel in self.again:
            times, last = self.again[kernel]
            count = "once more" if times == 1 else f"{times} times more"
            cause = last.because(number)
            parts.append(f"It was recorded {count}, to no effect, because {cause}.")
            parts.append(last.advice())
        return " ".join(filter(None, parts))

    def warn_of(self, kernels: Sequence[Kernel]) -> None:
        """Warn once, at the user's line, when there are too many."""
        with self._mutex.here():
            if len(kernels) < TOO_MANY or self.has_warned:
                return
            self.has_warned = True
            reasons = list(self.reasons.values())
        told = [one for reason in reasons for one in reason.differences[:1]]
        counted = Counter((one.row, one.what) for one in told)
        common, count = counted.most_common(1)[0] if counted else (("", ""), 0)
        text = f"{self.name} has made {len(kernels)} kernels"
        last = next((one for one in reversed(told) if (one.row, one.what) == common), None)
        if last is not None:
            times = f"{count} of them" if count > 1 else "the last"
            what = last.what or "what it reads"
            text += f", {times} because {what} differed. {last.tell('then')}"
            text += f" To avoid it: {last.tell('fix')}" if last.tell("fix") else ""
        else:
            text += "."
        text += f" {self.name}.explain() says why each was made."
        warnings.warn(" ".join(text.split()), TracejitWarning, stacklevel=places.user_depth())


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


class Explained:
    """A function that knows why it has its kernels: the part of `Function` that answers for it."""

    name: str
    python: Callable[..., Any]
    signature: inspect.Signature
    request: Request
    _shapes: SeenShapes
    options: Any
    is_derived: bool
    is_held = True  # by the user, who can ask it
    _static: frozenset[str]
    _shelf: KernelTable
    _history: History

    def explain(self, /, *args: Any, **kwargs: Any) -> str:
        """Why each kernel was made, in sentences, and how to have fewer; of a call with these
        arguments, which kernel takes it, or why it would be recorded. Nothing is run.

        >>> import numpy as np
        >>> import tracejit as tj
        >>> @tj.function
        ... def scaled(x):
        ...     return x * 2.0
        >>> y = scaled(np.ones(3))
        >>> print(scaled.explain())
        scaled has 1 kernel.
        Kernel 1 was made for the first call: x f8[3].
        >>> print(scaled.explain(np.ones(3, np.float32)))
        No kernel takes this call, because x had dtype float32; kernel 1 has float64. \
To avoid it: convert it before the call, x.astype(np.float64).
        """
        if not args and not kwargs:
            told = self._history.tell(self._shelf.kernels, self._shelf.made)
            budget = self.options.memory_budget
            if budget is not None:
                told += f"\nGradients of {self.name} have a memory_budget of {budget} bytes; "
                told += "the head of each module says what it needs."
            return told
        try:
            return self._foreseen(args, kwargs)
        except TracejitError as error:
            raise without_frames(placed(error, places.here()), PACKAGE) from None

    def cache_info(self) -> CacheInfo:
        """How many kernels there are, how many recordings made them, and how many are files.

        >>> import tracejit as tj
        >>> tj.function(lambda x: x).cache_info()
        CacheInfo(kernels=0, recordings=0, files=0)
        """
        kernels = self._shelf.kernels
        files = sum(kernel.path is not None for kernel in kernels)
        return CacheInfo(len(kernels), self._shelf.recordings, files)

    def _static_rows(self) -> dict[str, str]:
        """The row of `SENTENCES` for each argument whose numbers are static: the user has said so,
        or Python wants the numbers themselves."""
        options = self.options
        chosen = static_names(self.signature, options.static_argnums, options.static_argnames)
        return {name: "static" if name in chosen else "wanted" for name in self._static}

    def _is_switched_off(self) -> bool:
        """Tell if calls are made by Python itself."""
        raise NotImplementedError

    def _foreseen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """What a call with these arguments would do."""
        arguments = bind_arguments(self.signature, self.name, args, kwargs)
        running = current_recording()
        if running is not None:
            return f"This call would be recorded as part of {running.graph.name}."
        if self._is_switched_off():
            return f"This call would run as plain Python, because {eager_mode.way_out()}."
        known = {name: map_tree(self._numbers, value) for name, value in arguments.items()}
        call = take_apart(known, self.name, Space(self.signature.parameters).bind)
        number = self._history.numbering(self._shelf.kernels)
        for entry, kernel, _ in reversed(self._shelf.made):
            if entry.fits(call):
                told = f"{_capitalised(number(kernel))} takes this call"
                if not _decisions(entry):
                    return f"{told}."
                return f"{told}, if it goes by {_ways(entry)}; another is recorded as well."
        reason = reason_for(call, self._shelf.made, self._static_rows(), None)
        return f"No kernel takes this call, because {reason.because(number)}. {reason.advice()}"

    def _note_uncompiled(self, entry: Entry, kernel: Kernel, reason: Reason) -> None:
        """Count a recording that gave no kernel for later calls."""
        note = functools.partial(self._history.uncompiled.note, is_held=self.is_held)
        if not self._shelf.holds(entry):
            whats = [one for one in reason.differences if one.row in ("changing", "iterator")]
            if any(one.row == "iterator" for one in whats):
                note("iterator")
            else:
                note("changing", " and ".join(one.tell("changed") for one in whats) or NO_NAME)
        elif kernel in self._history.again:
            number = self._history.numbering(self._shelf.kernels)
            note("again", reason.because(number), " ".join(reason.fixes()))

    def _numbers(self, leaf: Any) -> Any:
        """What a kernel would be given of a leaf: the numbers of eager Tensors and of Variables."""
        leaf = read_leaf(leaf) if self.request.transform else leaf
        return leaf._value.data if type(leaf) in TENSORS else leaf


def explained(specialise: S) -> S:
    """`specialise`, the method of a `Function` that records for a call: why is kept, and a function
    with many kernels warns. With TRACEJIT_CHECK=1 it records once before, to compare."""

    @functools.wraps(specialise)
    def specialised(
        self: Explained,
        call: Call,
        space: Space,
        onto: Entry | None = None,
        *rest: Any,
    ) -> Made:
        shelf = self._shelf
        known = next((kernel for entry, kernel, _ in shelf.made if entry is onto), None)
        reason = reason_for(call, shelf.made, self._static_rows(), known)
        others = changes_by_others()
        first = (
            _recorded_apart(specialise, self, call, space, *rest) if purity_check.is_on() else None
        )
        before = shelf.state()
        made: Made = specialise(self, call, space, onto, *rest)
        entry, kernel, _ = made
        if first is not None:
            try:
                purity_check.compare(self.name, self.python, first, entry)
            except TracejitError:
                shelf.restore(before)
                raise
        if known is not None and known not in shelf.kernels:
            self._history.move(known, kernel)
        else:
            reason = settled(reason, entry, shelf.holds(entry), self._shapes.fixed)
            self._history.add(kernel, reason)
        if changes_by_others() == others:
            self._note_uncompiled(entry, kernel, reason)
        if self.is_held:
            self._history.warn_of([one.kernel for one in shelf.made])
        return made

    return specialised  # type: ignore[return-value]


def _recorded_apart(
    specialise: Callable[..., Any], function: Explained, call: Call, space: Space, *rest: Any
) -> Entry | BaseException:
    """What recording `call` gives, or raises; nothing of it stays."""
    apart: Explained = object.__new__(type(function))
    own: dict[str, Any] = {"_shelf": KernelTable(), "_effects": set()}
    vars(apart).update(vars(function) | own)
    names = Space(function.signature.parameters)
    names.names |= space.names
    try:
        entry: Entry = specialise(apart, call, names, None, *rest).entry
        return entry
    except (Exception, Failed) as error:
        return error
