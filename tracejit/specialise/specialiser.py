"""Specialiser: records a function for a call, compiles the kernel, and enters it in the table."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tracejit.compiler.kernel import make_kernel
from tracejit.ir.step_sizes import NotForAllSteps
from tracejit.runtime.dispatch import Entry, make_entry
from tracejit.runtime.single_flight import SingleFlight
from tracejit.specialise import purity_check
from tracejit.specialise.callee import Callee, SpecialisationRequest
from tracejit.specialise.explain import History
from tracejit.specialise.kernel_table import CompiledCall, KernelTable
from tracejit.specialise.read_guards import guard_of, repaired
from tracejit.specialise.reasons import reason_for
from tracejit.specialise.strict_mode import is_mistake, is_strict
from tracejit.specialise.trace_tree import RecordedCall, Trace, TraceTree
from tracejit.specialise.tracer import Tracer
from tracejit.specialise.twins import Member, adopted, learn, made_for, note, twins_of
from tracejit.support.options import Options
from tracejit.trace.arguments.free_dimensions import RanOnce
from tracejit.trace.arguments.signature import NUMBERS
from tracejit.trace.recording.before import Before
from tracejit.trace.recording.eager import nobody_watches

MOST_CONSTANTS = 8
"""Recordings of a function for the contents of its arguments. Other contents are for Python."""


class Specialiser(NamedTuple):
    """Makes kernels for the calls of one function.

    They go into `table`, the reasons for them into `history`. `flights` are the calls that are
    being recorded. Where it `checks_purity`, each is recorded twice, and must be the same.
    """

    callee: Callee
    options: Options
    table: KernelTable
    history: History
    flights: SingleFlight
    checks_purity: bool = False

    def learn(self) -> None:
        """Know what is known of functions made of the same code, before the first kernel."""
        if not self.table.compiled:
            learn(self.callee, self.options)

    def in_turn(
        self, request: SpecialisationRequest, seen: Sequence[Any], exact: bool = False
    ) -> CompiledCall | None:
        """Specialise for a call, unless that was done since the calls of the table were `seen`.
        Where another thread is recording it: None, or, of a transform, what serves this call
        alone. No dimension is free where it must be `exact`."""
        with self.flights.at(request.call, request.fixed) as is_first:
            if not is_first:
                return self.alone(request) if self.callee.is_transform else None
            if self.table.calls is not seen:
                found = self.table.find(request.call, exact)
                if found is not None:
                    return found
            if request.onto is None:
                known = self._mended(request, exact) or self._adopted(request, exact)
                if known is not None:
                    return known
                if self.callee.findings.takes_constants and self.table.recordings >= MOST_CONSTANTS:
                    return self.alone(request) if self.callee.is_transform else None
            if request.onto is not None and self.table.kernel_of(request.onto) is None:
                request = request._replace(onto=None, forced=())
            return self.specialise(request) if exact else self.generalise(request)

    def _mended(self, request: SpecialisationRequest, exact: bool) -> CompiledCall | None:
        """A kernel for the call whose guard holds once it is repaired."""
        for one in self.table.for_call(request.call, exact):
            entry = one.entry
            with entry.traces.mutex.here():
                guard = repaired(entry.traces)
                if guard is None or not guard():
                    continue
                hidden = [(each.holder, each.path) for each in entry.traces.hidden]
                entry = replace(entry, guard=guard, hidden=hidden)
                made = make_entry(entry, request.space, self.callee.name)
                return self.table.enter(CompiledCall(entry, one.kernel, made), one.entry)
        return None

    def _adopted(self, request: SpecialisationRequest, exact: bool) -> CompiledCall | None:
        """A kernel for the call that was made for a function of the same code."""
        if self.checks_purity or purity_check.is_on():
            return None
        for twin, pairs in twins_of(self.callee, self.options, self.table):
            for one in twin.table.compiled:
                objects = [*pairs]
                entry = made_for(one.entry, request.call, objects)
                is_new = objects or twin.table is not self.table
                if entry is None or not is_new or (exact and entry.sizes is not None):
                    continue
                entry = adopted(entry, self.callee, objects)
                if entry is None:
                    continue
                self.callee.findings.effects |= twin.callee.findings.effects
                if twin.table is not self.table and one.kernel in twin.history.reasons:
                    self.history.add(one.kernel, twin.history.reasons[one.kernel])
                made = make_entry(entry, request.space, self.callee.name)
                return self.table.enter(CompiledCall(entry, one.kernel, made))
        return None

    def generalise(self, request: SpecialisationRequest) -> CompiledCall:
        """Specialise with the dimensions free that change; as they are, where that fails."""
        call, shapes = request.call, self.callee.shapes
        if shapes.freed(call)[1] is None:
            return self.specialise(request)
        try:
            return self.specialise(request, free=True)
        except RanOnce as error:
            assert error.__cause__ is not None
            raise error.__cause__ from None
        except Exception as error:
            problem = error
            if is_strict() and is_mistake(error):
                raise
        for leaf in call.leaves:
            shapes.check_spec(leaf, None)
        found = self.specialise(request)
        shapes.give_up(call, problem)
        return found

    def specialise(self, request: SpecialisationRequest, free: bool = False) -> CompiledCall:
        """Record and compile a call, enter it in front of the others, and note why.

        With TRACEJIT_CHECK=1, too, the call is recorded twice.
        """
        known = self.table.kernel_of(request.onto)
        rows = self.callee.static_rows()
        reason = reason_for(request.call, self.table.compiled, rows, known)
        self.history.log_guards(reason)
        began = time.perf_counter()
        if self.checks_purity or purity_check.is_on():
            recorded = purity_check.recorded_twice(
                self.callee, lambda: self._record(request._replace(before=Before()), free)
            )
        else:
            recorded = self._record(request, free)
        recorded_at = time.perf_counter()
        try:
            found = self._compiled(recorded, request)
        except NotForAllSteps:
            self.callee.findings.rolls_sizes = False
            return self.specialise(request, free)
        seconds = recorded_at - began, time.perf_counter() - recorded_at
        self.history.note(found, reason, known, self.callee.shapes.fixed)
        self.history.log_kernel(found.kernel, reason, seconds)
        return found

    def alone(self, request: SpecialisationRequest) -> CompiledCall:
        """Record and compile a call for this one time, whatever branch it takes."""
        request = request._replace(onto=None, forced=())
        return self._compiled(self._record(request), request, keep=False)

    def _record(self, request: SpecialisationRequest, free: bool = False) -> RecordedCall:
        """Record a call, with the dimensions `free` that change, and with the numbers fixed that
        the kernel to join has fixed."""
        call, onto = request.call, request.onto
        if free:
            call, sizes = self.callee.shapes.freed(call)
            request = request._replace(call=call, sizes=sizes)
        if onto is not None:
            numbers = [leaf for leaf in call.leaves if leaf.role in NUMBERS]
            fixed = {leaf.name: leaf.value for leaf in numbers if leaf.name in onto.baked}
            request = request._replace(fixed=fixed)
        return Tracer(self.callee, self.options).record(request)

    def _compiled(
        self, recorded: RecordedCall, request: SpecialisationRequest, keep: bool = True
    ) -> CompiledCall:
        """Compile what was recorded, joined to other branches of the request if it is for the same
        calls; to keep it, enter it in the table."""
        self.table.count()
        onto = request.onto
        if onto is not None and onto.traces.mutex.is_mine():
            onto = None  # a signal handler: what it has interrupted joins a trace
        make = functools.partial(make_kernel, options=self.options)
        target = "value_and_grad" if self.callee.request.transform else "forward"
        alone = TraceTree(Trace(recorded, make, target))
        # A function that changes what it reads (a counter, a list that it appends to) has a kernel
        # for this one call, and no branch in the kernel of others.
        guard = guard_of(recorded, ())
        lasting = keep and (guard is None or guard())
        with (alone if onto is None else onto.traces).mutex.here():
            traces = alone if onto is None or not lasting else alone.joined_to(onto.traces)
            if traces is not alone:
                guard = guard_of(recorded, traces.traces)
                lasting = guard is None or guard()
            kernel = make(traces.recorded())
            answers, which = traces.answers()
            entry = Entry(
                signature=self.callee.signature,
                call=self.callee.shapes.settled(recorded.call, recorded.recording.graph),
                target=getattr(kernel, target),
                fixed=recorded.fixed,
                baked=recorded.baked,
                differentiated=recorded.differentiated,
                hidden=[(each.holder, each.path) for each in traces.hidden],
                captured=[array for _, array in recorded.captures.arrays.values()],
                guard=guard if lasting else None,
                in_order=traces.in_order,
                identity=recorded.identity,
                answers=answers,
                which=which,
                traces=traces,
                decisions=traces.tree.decisions,
                sizes=recorded.sizes,
                unwatched=nobody_watches if traces.read_variables() else None,
            )
            found = CompiledCall(entry, kernel, make_entry(entry, request.space, self.callee.name))
            if lasting:
                note(Member(self.callee, self.table, self.history), self.options)
                return self.table.enter(found, None if traces is alone else onto)
        if keep:
            self.table.add(kernel)
        return found
