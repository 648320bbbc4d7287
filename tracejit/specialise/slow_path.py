"""Slow path: a call that no kernel in the table takes, and one that leaves the branches of its
kernel."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tracejit.eager.traced_call import Attempt, attempt, is_unrecorded
from tracejit.runtime.dispatch import MISS, Entry
from tracejit.specialise.arguments import check_unread, recording_among, without_tensors
from tracejit.specialise.callee import Callee, SpecialisationRequest
from tracejit.specialise.eager_mode import is_disabled
from tracejit.specialise.fallback import Fallback, Outcome, apart_from
from tracejit.specialise.kernel_table import CompiledCall, KernelTable
from tracejit.specialise.specialiser import Specialiser
from tracejit.support.errors import TracejitError
from tracejit.trace.recording.before import Before
from tracejit.trace.recording.decisions import Failed
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.record import current_recording
from tracejit.trace.source.instead import SOLVERS

ROUTINES = ("scipy.optimize.", "scipy.integrate.")
"""The modules of the routines that call functions of the user's."""


class SlowPath(NamedTuple):
    """Answers the calls of one function by kernels that are made for them, each with at most
    `max_paths` branches.

    An answer is MISS where another thread is recording the call: Python itself makes it then.
    """

    callee: Callee
    table: KernelTable
    specialiser: Specialiser
    fallback: Fallback
    max_paths: int

    def outcome(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], tried: Sequence[Any]
    ) -> Outcome:
        """The outcome of a call that none of the entries `tried` fits."""
        before = Before()
        try:
            return self.call(args, kwargs, tried, before), None
        except (Exception, Failed) as error:
            return self.after(error, args, kwargs, before)

    def call(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        tried: Sequence[Any],
        before: Before | None = None,
    ) -> Any:
        """Answer a call that none of the entries `tried` fits; `before` is what the function reads
        before it."""
        callee = self.callee
        callee.refresh()
        arguments = callee.bind(args, kwargs)
        recording = recording_among(arguments) or current_recording()
        if recording is not None:
            return callee.inline(arguments, recording)
        if is_disabled() and self.fallback.is_switched_off():
            return self.fallback.call(args, kwargs)
        self.specialiser.learn()
        request = self.callee.note(arguments)
        call, tensors = without_tensors(request.call)
        request = request._replace(call=call, before=before or request.before)
        exact = bool(tensors) or EAGER.is_watched
        try:
            found = self.specialiser.in_turn(request, () if exact else tried, exact)
        except TracejitError as error:
            if exact or not callee.want_constants(error):
                raise
            return self.call(args, kwargs, tried, request.before)
        if found is None:
            return MISS
        if tensors or (EAGER.is_watched and found.entry.unwatched is not None):
            leaves = [tensors.get(leaf.name, leaf.value) for leaf in call.leaves]
            return self._on_tensors(found, leaves, request)
        result = found.call(*args, **kwargs)
        if result is MISS and callee.is_transform:
            # Another thread has changed what was read while recording, or even the arguments: what
            # it has changed stays so.
            request = request._replace(before=Before())
            result = self.specialiser.alone(request).call(*args, **kwargs)
            if result is MISS:
                return self.call(args, kwargs, self.table.calls)
        return result

    def after(
        self,
        error: BaseException,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        before: Before | None = None,
    ) -> Outcome:
        """The outcome of a call after an error: it takes a branch of its own, or Python itself
        knows better."""
        before = before or Before()
        if is_unrecorded(error):
            try:
                return self._other_branch(args, kwargs, before), None
            except (Exception, Failed) as other:
                error = apart_from(other, error)
        return self.fallback.after(error, args, kwargs, before)

    def by_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call that another thread is recording, or that takes one branch too many, by
        Python itself. A routine of SciPy's takes no eager Tensors: it is recorded for this call."""
        try:
            return self.fallback.answer(args, kwargs)
        except Exception as error:
            if not _went_through_a_routine(error):
                raise
        request = self.callee.note(self.callee.bind(args, kwargs))
        return self.specialiser.alone(request).call(*args, **kwargs)

    def _on_tensors(
        self, found: CompiledCall, leaves: Sequence[Any], request: SpecialisationRequest
    ) -> Any:
        """Make a call whose leaves are eager Tensors, by the first branch in `found` or another."""

        def ask(one: CompiledCall) -> Attempt:
            check_unread(request.call, leaves, one.entry.fixed)
            attempted: Attempt = one.entry.traces.attempt(leaves)
            return attempted

        return self._by_branches(request, self.table.calls, [found], ask, exact=True)

    def _other_branch(self, args: tuple[Any, ...], kwargs: dict[str, Any], before: Before) -> Any:
        """Make a call that takes a branch which its kernel has not recorded."""
        request = self.callee.note(self.callee.bind(args, kwargs))._replace(before=before)
        seen = self.table.calls
        tried = [one for one in reversed(self.table.compiled) if one.entry.fits(request.call)]

        def ask(one: CompiledCall) -> Attempt:
            return attempt(functools.partial(one.call, *args, **kwargs), one.entry)

        return self._by_branches(request, seen, tried, ask)

    def _by_branches(
        self,
        request: SpecialisationRequest,
        seen: Sequence[Any],
        tried: list[CompiledCall],
        ask: Callable[[CompiledCall], Attempt],
        exact: bool = False,
    ) -> Any:
        """Ask those `tried` for an answer; where none has the branch that the call takes, record
        it, and ask its kernel. `seen` and `exact` are as `in_turn` takes them.

        Raises Failed if there are too many branches.
        """
        for _ in range(self.max_paths):
            onto: Entry | None = None
            outcomes: list[Any] = []
            for one in tried:
                result, decided = ask(one)
                if decided is None and result is not MISS:
                    return result
                if decided is not None and onto is None:
                    onto, outcomes = one.entry, decided
            if onto is not None and onto.traces.is_full(self.max_paths):
                raise onto.traces.failed()
            request = request._replace(onto=onto, forced=outcomes)
            found = self.specialiser.in_turn(request, seen, exact)
            if found is None:
                return MISS
            seen, tried = self.table.calls, [found]
        raise Failed("traces", str(self.max_paths))


def _went_through_a_routine(error: BaseException) -> bool:
    """Return whether an error was raised in a function that one of SciPy's called."""
    if isinstance(error, TracejitError):
        called = str(error.words.get("call"))
        return called.startswith("scipy.") and called.rpartition(".")[2] in SOLVERS
    frames = traceback.walk_tb(error.__traceback__)
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in frames]
    return any(name.startswith(ROUTINES) for name in modules)
