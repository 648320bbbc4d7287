"""Fallback: a call made by Python itself, where no kernel may answer it, or the error as the user
sees it.

A kernel touches nothing outside until it has succeeded, so whatever raises in it can be asked of
Python from the start: the user's own `except` clauses, partial effects and tracebacks are Python's
then. A gradient is computed by eager Tensors in that case. A kernel with a callback is never called
again: its error is the call's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tracejit.debug.notes import add_note, is_of_kernel
from tracejit.ir.subgraph import every_node
from tracejit.ops.control.effects import CALLBACK
from tracejit.ops.control.routines import is_routine
from tracejit.runtime.identity import NotApart
from tracejit.specialise import eager_mode
from tracejit.specialise.arguments import check_containers, eager_source, write_plainly
from tracejit.specialise.callee import Callee, Form
from tracejit.specialise.kernel_table import KernelTable
from tracejit.specialise.results import CommitFailed, own, taped_result
from tracejit.specialise.strict_mode import python_must_raise
from tracejit.specialise.tracer import takes_gradients
from tracejit.specialise.uncompiled import UncompiledCalls
from tracejit.support.errors import (
    NotImportableError,
    TracejitError,
    fail,
    placed,
    without_frames,
)
from tracejit.trace.recording.before import Before
from tracejit.trace.recording.decisions import Failed
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.record import current_recording
from tracejit.trace.recording.tape_window import Whole
from tracejit.trace.source import places
from tracejit.trace.source.places import PACKAGE
from tracejit.trace.structure.trees import flatten, map_tree
from tracejit.trace.structure.wrapped import has_wrapped_inside, unwrapped
from tracejit.trace.tensor.tensor import TENSORS
from tracejit.trace.tensor.writes import refusal_behind

Outcome = tuple[Any, BaseException | None]
"""The answer of a call, or the error as the user sees it."""


def shown(error: TracejitError) -> BaseException:
    """`error` as users see it: at the line that called, if none was known, and without frames of
    tracejit."""
    error.__suppress_context__ = True
    return without_frames(placed(error, places.here()), PACKAGE)


def apart_from(error: BaseException, first: BaseException) -> BaseException:
    """`error` without `first`, which tracejit was handling when it was raised: a program that
    Python runs by itself has met no such error."""
    one = error
    while one.__context__ not in (None, first):
        one = one.__context__
    one.__context__ = None
    return error


class Fallback(NamedTuple):
    """Makes the calls of one function by Python itself, where its kernels and what its recordings
    have shown allow that, and counts them in `uncompiled`."""

    callee: Callee
    table: KernelTable
    uncompiled: UncompiledCalls

    def is_switched_off(self) -> bool:
        """True if calls are made by Python itself, gradients by eager Tensors."""
        if current_recording() is not None or not eager_mode.way_out():
            return False
        return not self.callee.is_transform

    def after(
        self,
        error: BaseException,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        before: Before | None = None,
    ) -> Outcome:
        """The outcome of a call after an error, of which Python itself may know better; `before` is
        what the function read before it was recorded for the call."""
        if self._may_answer(error, args, kwargs):
            if before is not None and not before.restore():
                return None, shown(fail("not-twice", places.here(), function=self.callee.name))
            is_loud = isinstance(error, Failed) and error.row == "floating"
            if is_loud:  # whether Python raises, too, or goes on
                self.uncompiled.note_fallback(error)
            try:
                with python_must_raise(self._cause(error), self.callee.name):
                    answer = self.call(args, kwargs, error)
                found = _own_results(answer, args, kwargs)
                if not is_loud:
                    self.uncompiled.note_fallback(error)
                return found, None
            except Exception as other:
                error = apart_from(other, error)
        return None, self._problem(error, args, kwargs)

    def answer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make the call by Python, with results as a kernel has them: another thread is recording
        it, or it takes one branch too many."""
        try:
            return _own_results(self.call(args, kwargs), args, kwargs)
        except Exception as error:
            problem = self._problem(error, args, kwargs)
        raise problem

    def call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], error: BaseException | None = None
    ) -> Any:
        """Make the call by Python itself; `error` is why. By eager Tensors: a gradient, and where
        the function takes gradients by its arguments itself."""
        callee = self.callee
        if callee.form is Form.RECORDED:
            cause = error.__cause__ if isinstance(error, Failed) else error
            raise cause or shown(fail("not-compiled", places.here(), function=callee.name))
        on_tensors = self._takes_gradients(args, kwargs)
        if callee.form is Form.PLAIN and not on_tensors:
            named = {name: unwrapped(value) for name, value in kwargs.items()}
            return callee.python(*map(unwrapped, args), **named)
        is_text = isinstance(error, Failed) and error.row == "text" and bool(error.__cause__)
        if is_text and not on_tensors:
            named = {name: unwrapped(value) for name, value in kwargs.items()}
            callee.python(*map(unwrapped, args), **named)  # which raises, and has no gradient
        call, _ = callee.take_apart(callee.bind(args, kwargs))
        taken = callee.differentiated(call)
        windows = EAGER.windows
        if on_tensors:
            taken |= {leaf.name for leaf in call.leaves if leaf.role != "number"}
            windows = (*windows, Whole())
        values = [eager_source(leaf, leaf.name in taken) for leaf in call.leaves]
        taped = EAGER.is_watched or any(type(leaf.value) in TENSORS for leaf in call.leaves)
        arguments = call.rebuild(values)
        try:
            with EAGER.seen_by(windows):
                found = callee.run_eagerly(arguments)
            check_containers(callee.signature, arguments, call, values)
        except Exception as problem:
            if not (taped or TENSORS.isdisjoint(map(type, problem.args))):
                problem.args = map_tree(own, problem.args)
            raise
        finally:
            write_plainly(call, values)
        return found if taped else map_tree(own, found)

    def _may_answer(
        self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> bool:
        """Return whether a call that raised is made again by Python itself: where a kernel raised,
        or a recording with effects, none of which has taken place."""
        if current_recording() is not None or isinstance(error, CommitFailed):
            return False
        if self.is_switched_off():
            return False  # it was Python that raised
        if type(error).__module__ == "bdb":
            return False  # the user has left the debugger
        if isinstance(error, NotApart):
            wrapped = map(has_wrapped_inside, (*args, *kwargs.values()))
            return self.callee.form is Form.PLAIN and not any(wrapped)
        if isinstance(error, (Failed, NotImportableError)):
            return True
        if isinstance(error, TracejitError) and error.row == "labelled":
            return self.callee.form is not Form.RECORDED
        if isinstance(error, TracejitError) or isinstance(error.__cause__, TracejitError):
            return False
        if self.callee.form is not Form.PLAIN and self._calls_routines():
            return False  # a solver found nothing that has a derivative
        effects = self.callee.findings.effects
        if CALLBACK.name in effects or self.callee.misfit(error, args, kwargs) is not None:
            return False
        return bool(effects) or is_of_kernel(error)

    def _calls_routines(self) -> bool:
        """Return whether a kernel calls a routine of SciPy's with functions of the user's."""
        nodes = (node for kernel in self.table.kernels for node in kernel.graph.nodes)
        return any(map(is_routine, every_node(nodes)))

    def _cause(self, error: BaseException) -> BaseException | None:
        """The error that Python has to meet, too, when it makes a call again after `error`; None
        where Python is asked for another reason: overlapping arguments, or a result of a shape that
        depends on data, or arguments with labels."""
        if isinstance(error, (Failed, NotImportableError)):
            return error.__cause__
        if isinstance(error, RuntimeError) and self._calls_routines():
            return None  # SciPy says of what it has not found that it has not, and returns it
        if isinstance(error, ValueError):
            nodes = (node for kernel in self.table.kernels for node in kernel.graph.nodes)
            return None if any(node.op.assumes_shape for node in nodes) else error
        return None if isinstance(error, (NotApart, TracejitError)) else error

    def _problem(
        self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> BaseException:
        """The error that the user sees."""
        if isinstance(error, TracejitError):
            return shown(error)
        if isinstance(error, NotApart):
            words = {"function": self.callee.name, "problem": error, "fix": error.fix}
            return shown(fail("not-apart", places.here(), **words))
        if isinstance(error, CommitFailed):
            assert error.__cause__ is not None
            return error.__cause__
        if refusal := refusal_behind(error):
            return shown(refusal)
        misfit = self.callee.misfit(error, args, kwargs)
        if misfit is not None:
            return shown(misfit)
        if isinstance(error, Exception):
            add_note(error)
        is_bug = places.is_ours(error) and not places.stands_for_numpys(error)
        return error if is_bug else without_frames(error, PACKAGE)

    def _takes_gradients(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Return whether the function takes gradients by its arguments itself, as recordings know
        or its code spells."""
        callee = self.callee
        if self.callee.findings.takes_gradients is None:
            try:
                call, _ = callee.take_apart(callee.bind(args, kwargs))
                self.callee.findings.takes_gradients = takes_gradients(callee.python, call)
            except (TracejitError, Failed):
                return False
        return self.callee.findings.takes_gradients


def _own_results(result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Turn what Python has answered into what a kernel answers: for eager Tensors eager Tensors,
    and arrays that share no memory."""
    taped = EAGER.is_watched or not TENSORS.isdisjoint(map(type, flatten((args, kwargs))[0]))
    return map_tree(taped_result if taped else own, result)
