"""What becomes of a call that raises: another way through the function, Python itself, or the error
as the user sees it.

A kernel touches nothing outside until it has succeeded, so whatever raises in it can be asked of
Python from the start: the user's own `except` clauses, partial effects and tracebacks are Python's
then. A gradient is computed by eager Tensors in that case. A kernel with a callback is never called
again: its error is the call's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tracejit.autodiff.request import Request, run_eagerly, selected
from tracejit.compiler.kernel import Kernel
from tracejit.eager.traced_call import is_unrecorded
from tracejit.ops.effects import CALLBACK
from tracejit.runtime.dispatch import Space
from tracejit.runtime.identity import NotApart
from tracejit.runtime.notes import add_note
from tracejit.specialise import eager_mode
from tracejit.specialise.arguments import check_containers, eager_source, plain_leaf, write_plainly
from tracejit.specialise.explain import History
from tracejit.specialise.results import CommitFailed, own, taped_result
from tracejit.specialise.specialiser import takes_gradients
from tracejit.specialise.strict_mode import python_must_raise
from tracejit.specialise.trace_tree import raised_by_kernel
from tracejit.support.errors import TracejitError, Where, fail, placed, without_frames
from tracejit.trace import places
from tracejit.trace.decisions import Failed
from tracejit.trace.eager import EAGER
from tracejit.trace.free_dimensions import SeenShapes
from tracejit.trace.labelled import has_labelled_inside, unlabelled
from tracejit.trace.places import PACKAGE
from tracejit.trace.record import current_recording
from tracejit.trace.signature import Call, bind_arguments, take_apart
from tracejit.trace.tape_window import Whole
from tracejit.trace.tensor import TENSORS
from tracejit.trace.trees import flatten, map_tree
from tracejit.trace.variable import read_leaf
from tracejit.trace.writes import is_write, plain_write


def shown(error: TracejitError) -> BaseException:
    """`error` as users see it: at the line that called, if none was known, and without frames of
    tracejit."""
    error.__suppress_context__ = True
    return without_frames(placed(error, places.here()), PACKAGE)


def is_ours(error: BaseException) -> bool:
    """Tell if code of tracejit has raised `error`."""
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    return innermost is None or innermost.tb_frame.f_code.co_filename.startswith(PACKAGE)


def apart_from(error: BaseException, first: BaseException) -> BaseException:
    """`error` without `first`, which tracejit was handling when it was raised: a program that
    Python runs by itself has met no such error."""
    one = error
    while one.__context__ not in (None, first):
        one = one.__context__
    one.__context__ = None
    return error


class Recovering:
    """What a Function knows of its calls, and how it goes on after an error."""

    python: Callable[..., Any]
    signature: inspect.Signature
    request: Request
    name: str
    is_derived: bool
    _history: History
    has_eager_form: bool
    _static: frozenset[str]
    _effects: set[str]
    _takes_gradients: bool | None
    _first_numbers: dict[str, str]
    _dynamic: set[str]
    _shapes: SeenShapes

    @property
    def kernels(self) -> list[Kernel]:
        """Every kernel made so far."""
        raise NotImplementedError

    def _other_way(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that takes a way through the function which its kernel has not recorded; MISS
        where it is for Python itself."""
        raise NotImplementedError

    def _after(
        self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, BaseException | None]:
        """What a call answers after an error, where it takes a way of its own or Python itself
        knows better; or the error as the user sees it. MISS where Python is still to be asked."""
        if is_unrecorded(error):
            try:
                return self._other_way(args, kwargs), None
            except (Exception, Failed) as other:
                error = apart_from(other, error)
        if self._can_fall_back(error, args, kwargs):
            is_loud = isinstance(error, Failed) and error.row == "floating"
            if is_loud:  # whether Python raises, too, or goes on
                self._history.uncompiled.note_fallback(error)
            try:
                with python_must_raise(self._cause(error), self.name):
                    answer = self._eagerly(args, kwargs, error)
                found = _own_results(answer, args, kwargs)
                if not is_loud:
                    self._history.uncompiled.note_fallback(error)
                return found, None
            except Exception as other:
                error = apart_from(other, error)
        return None, self._problem(error, args, kwargs)

    def _problem(
        self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> BaseException:
        """The error that the user sees."""
        if isinstance(error, TracejitError):
            return shown(error)
        if isinstance(error, NotApart):
            words = {"function": self.name, "problem": error, "fix": error.fix}
            return shown(fail("not-apart", places.here(), **words))
        if isinstance(error, CommitFailed):
            assert error.__cause__ is not None
            return error.__cause__
        if type(error) is TypeError and str(error).startswith("Iterator operand is"):
            words = {"function": "np.nditer", "problem": "NumPy asks for the array itself"}
            fix = "take it from `import tracejit.numpy as np`."
            return shown(fail("unsupported-call", _line_of(error), **words, fix=fix))
        if isinstance(error.__cause__, TracejitError):
            if isinstance(error, SystemError):  # C code went on after the refusal
                return shown(error.__cause__)
            if is_write(error):
                return shown(plain_write(error.__cause__))
        misfit = self._misfit(error, args, kwargs)
        if misfit is not None:
            return shown(misfit)
        if isinstance(error, Exception):
            add_note(error)
        return error if is_ours(error) else without_frames(error, PACKAGE)

    def _can_fall_back(
        self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> bool:
        """Tell if a call that raised is made again by Python itself: where a kernel raised, or a
        recording with effects, none of which has taken place."""
        if current_recording() is not None or isinstance(error, CommitFailed):
            return False
        if self._is_switched_off():
            return False  # it was Python that raised
        if isinstance(error, NotApart):
            return not self.is_derived and not any(
                map(has_labelled_inside, (*args, *kwargs.values()))
            )
        if isinstance(error, Failed):
            return True
        if isinstance(error, TracejitError) or isinstance(error.__cause__, TracejitError):
            return False
        if CALLBACK.name in self._effects or self._misfit(error, args, kwargs) is not None:
            return False
        if self._must_record and not self.has_eager_form:
            return False
        return bool(self._effects) or raised_by_kernel(error)

    def _cause(self, error: BaseException) -> BaseException | None:
        """The error that Python has to meet, too, when it makes a call again after `error`; None
        where Python is asked for another reason: overlapping arguments, or a result of a shape that
        depends on data."""
        if isinstance(error, Failed):
            return error.__cause__
        if isinstance(error, ValueError):
            nodes = (node for kernel in self.kernels for node in kernel.graph.nodes)
            return None if any(node.op.assumes_shape for node in nodes) else error
        return None if isinstance(error, NotApart) else error

    @property
    def _must_record(self) -> bool:
        """Tell if calls cannot be made by Python itself: those of most transforms."""
        return self.is_derived and not self.request.transform

    def _is_switched_off(self) -> bool:
        """Tell if calls are made by Python itself, gradients by eager Tensors."""
        if current_recording() is not None or not eager_mode.way_out():
            return False
        return not self._must_record

    def _misfit(
        self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> TracejitError | None:
        """The ArityError for a TypeError of calling an entry, which has the user's parameters."""
        trace = error.__traceback__
        if isinstance(error, TypeError) and trace is not None and trace.tb_next is None:
            try:
                bind_arguments(self.signature, self.name, args, kwargs)
            except TracejitError as misfit:
                return misfit.with_traceback(None)
        return None

    def _eagerly(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], error: BaseException | None = None
    ) -> Any:
        """The call made by Python itself; `error` is why. By eager Tensors: a gradient, and where
        the function takes gradients by its arguments itself."""
        if self._must_record and not self.has_eager_form:
            cause = error.__cause__ if isinstance(error, Failed) else error
            line = places.here()
            raise cause or shown(fail("not-compiled", line, function=self.name))
        on_tensors = self._takes_gradients_of(args, kwargs)
        if not self.is_derived and not on_tensors:
            named = {name: unlabelled(value) for name, value in kwargs.items()}
            return self.python(*map(unlabelled, args), **named)
        arguments = self._read_sources(bind_arguments(self.signature, self.name, args, kwargs))
        call = self._take_apart(arguments, Space(self.signature.parameters))
        taken = self._roles(call)[1]
        windows = EAGER.windows
        if on_tensors:
            taken |= {leaf.name for leaf in call.leaves if leaf.role != "number"}
            windows = (*windows, Whole())
        values = [eager_source(leaf, leaf.name in taken) for leaf in call.leaves]
        taped = EAGER.is_watched or any(type(leaf.value) in TENSORS for leaf in call.leaves)
        arguments = call.rebuild(values)
        try:
            with EAGER.seen_by(windows):
                found = run_eagerly(self.python, self.signature, self.request, arguments, self.name)
            check_containers(self.signature, arguments, call, values)
        finally:
            write_plainly(call, values)
        return found if taped else map_tree(plain_leaf, found)

    def _takes_gradients_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Tell if the function takes gradients by its arguments itself: what recordings know, or
        what its code spells."""
        if self._takes_gradients is None:
            try:
                arguments = bind_arguments(self.signature, self.name, args, kwargs)
                call = take_apart(arguments, self.name, Space(self.signature.parameters).bind)
                self._takes_gradients = takes_gradients(self.python, call)
            except (TracejitError, Failed):
                return False
        return self._takes_gradients

    def _by_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call made by Python itself, with results as a kernel has them: another thread is
        recording it, or it takes one way too many."""
        try:
            return _own_results(self._eagerly(args, kwargs), args, kwargs)
        except Exception as error:
            problem = self._problem(error, args, kwargs)
        raise problem

    # The arguments of a call

    def _read_sources(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with Variables that are differentiated read."""
        if not self.request.transform:
            return arguments
        return {name: map_tree(read_leaf, value) for name, value in arguments.items()}

    def _take_apart(self, arguments: dict[str, Any], space: Space) -> Call:
        call = take_apart(arguments, self.name, space.bind)
        for leaf in call.leaves:
            if leaf.role == "number":
                spelled = repr(leaf.value)
                if self._first_numbers.setdefault(leaf.path, spelled) != spelled:
                    self._dynamic.add(leaf.path)
        self._shapes.note(call)
        return call

    def _roles(self, call: Call) -> tuple[dict[str, Any], frozenset[str]]:
        """Numbers that are static, by leaf name, and the leaves that are differentiated."""
        if self.request.transform:
            numbers = call.rebuild(range(len(call.leaves)))
            chosen = selected(self.request, self.signature, numbers, self.name)
            found = [number for _, value in chosen for number in flatten(value)[0]]
            differentiated = frozenset(call.leaves[number].name for number in found)
        else:
            differentiated = frozenset()
        fixed = {
            leaf.name: leaf.value
            for leaf in call.leaves
            if leaf.role == "number"
            and leaf.name not in differentiated
            and (leaf.path not in self._dynamic or leaf.argument in self._static)
        }
        return fixed, differentiated


def _line_of(error: BaseException) -> Where | None:
    """The line that raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return None if trace is None else places.where(trace.tb_frame)


def _own_results(result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What Python has answered, as a kernel does: for eager Tensors eager Tensors, and arrays that
    share no memory."""
    taped = EAGER.is_watched or not TENSORS.isdisjoint(map(type, flatten((args, kwargs))[0]))
    return map_tree(taped_result if taped else own, result)
