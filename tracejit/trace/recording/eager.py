"""The eager recorder: operations on Tensors that hold their numbers are computed at once.

Every result is a new value with its data, read-only. Where an open window sees the operation, a
node is kept in the window, and nowhere else: values do not know their nodes, so what a tape has
forgotten is free. While a function is recorded on this thread, its recording takes the operations
of eager Tensors, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracejit.ir.graph import Graph, Held, Node, Value
from tracejit.ir.location import Location
from tracejit.ir.types import HANDLE, WEAK_TYPES, ArrayType, canonical, type_of
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import Op
from tracejit.ops.control.marker_ops import OVERRIDE
from tracejit.ops.shapes.shapes import copy
from tracejit.support.errors import TracejitError, fail
from tracejit.support.memo import Table
from tracejit.trace.guards.contents import can_change
from tracejit.trace.recording.probes import Probe
from tracejit.trace.recording.record import active, current_recording
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.replays import RegionRun, Replay
from tracejit.trace.recording.scipy_calls import ON_TAPE, value_refused
from tracejit.trace.recording.tape_window import Window, parameters_as_text
from tracejit.trace.source import places
from tracejit.trace.tensor.memory import owner_of_view, seal
from tracejit.trace.tensor.tensor import TENSORS, Tensor

# The index of a value that was computed in the forward run of a recompute region.
OUT_OF_SIGHT = -1
# The index of a value whose array is the user's.
BORROWED = -2
# From `_locate` up to a method of Tensor's that the user called: these are tracejit's.
KNOWN_FRAMES = 5

_Compiled = tuple[tuple[ArrayType, ...], Callable[..., Any]]
_compiled = Table()


class Eager(threading.local, Recorder):
    """The recorder of all that is computed outside recorded functions; per thread its windows."""

    def __init__(self) -> None:
        """Begin with no window open."""
        Recorder.__init__(self, Graph("eager"))
        self.runs: tuple[RegionRun, ...] = ()
        self.replay: Replay | None = None
        self.hides = False
        self.follows = False
        self.refusal: TracejitError | None = None

    def __reduce__(self) -> str:
        return "EAGER"

    @property
    def is_watched(self) -> bool:
        """True if a tape, or a custom gradient looking for Variables, must see every operation."""
        return bool(self.windows or self.logs)

    def record(self, op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """`op` computed on the data of Tensors, arrays and numbers: a Tensor, or a tuple of
        them."""
        if active.stack:
            return active.stack[-1].record(op, operands, params)
        values = [
            operand._value
            if type(operand) in TENSORS and operand._recording is self
            else self.lift(operand)
            for operand in operands
        ]
        if self.logs:
            self.note_uses(values)
        if op is OVERRIDE:
            return self._override(values, params)
        text = repr(params) if params else ""
        key = (op, text, *[value.type for value in values])
        types, compute = _compiled.get(key) or self._compile(key, op, values, params)
        if op.view_of is not None and type(operands[op.view_of]) not in TENSORS:
            values[op.view_of] = snapshot(values[op.view_of])
        data = compute(*[value.data for value in values])
        results: tuple[Value, ...]
        if len(types) == 1:
            results = (_held(types[0], data),)
        else:
            results = tuple(map(_held, types, data))
        windows = self.windows
        if self.runs and self._is_reached(values):
            for value in results:
                value.index = OUT_OF_SIGHT
        if windows:
            self._show(windows, op, values, params, text, results)
        if len(results) == 1:
            tensor = Tensor(results[0], self)
            if op.view_of is not None:
                tensor._owner = owner_of_view(tensor, op, operands, params)
            return tensor
        return tuple([Tensor(value, self) for value in results])

    def _override(self, values: Sequence[Value], params: dict[str, Any]) -> Any:
        """The values of a marker, as new ones: what they were computed from does not reach them."""
        count = params["outputs"]
        results = tuple([_held(v.type, snapshot(v).data) for v in values[:count]])
        marker = params["grad"]
        text = parameters_as_text(OVERRIDE, params)
        node, seen = self._show(self.windows, OVERRIDE, values, params, text, results)
        if marker.sight is not None and node is not None:
            marker.sight.note(node, seen)
        tensors = tuple([Tensor(value, self) for value in results])
        return tensors[0] if count == 1 else tensors

    def _show(
        self,
        windows: Sequence[Window],
        op: Op,
        values: Sequence[Value],
        params: dict[str, Any],
        text: str,
        results: tuple[Value, ...],
    ) -> tuple[Node | None, Sequence[Window]]:
        """Hand the operation to the windows that see it; `text` is its parameters."""
        if self.hides and not self.runs:
            self._refuse_hidden(values)
        inputs = values[params["outputs"] :] if op is OVERRIDE else values
        seen = [window for window in windows if window.sees(inputs)]
        if not seen:
            return None, seen
        kept = tuple([snapshot(v) if v.index == BORROWED else v for v in values])
        node = Node.of(op, kept, params, results, self._locate())
        for window in seen:
            window.hold(node, text)
        return node, seen

    def _is_reached(self, values: Sequence[Value]) -> bool:
        """Return whether results of `values` would be on a tape, were they not computed out of
        sight."""
        return any(
            value.index == OUT_OF_SIGHT or any(window.reaches(value) for window in self.windows)
            for value in values
        )

    def _refuse_hidden(self, values: Sequence[Value]) -> None:
        if any(value.index == OUT_OF_SIGHT for value in values):
            raise fail("out-of-sight", self.here())

    def _compile(
        self, key: tuple[Any, ...], op: Op, values: Sequence[Value], params: dict[str, Any]
    ) -> _Compiled:
        """The types of the results, and the function that computes them; remembered by `key`."""
        types = [value.type for value in values]
        try:
            made = op.result_types(types, params), op.computation(types, params)
        except TracejitError:
            raise
        except (ValueError, TypeError, IndexError) as error:
            raise self.misfit(op, values, params, error) from None
        _compiled.keep(key, made, 1 + len(key[1]) // 1000)
        return made

    def lift(self, operand: Any) -> Value:
        """The value of an operand: a Tensor's own, a Variable's now, or an array or number."""
        if type(operand) in TENSORS:
            if operand._recording is not self:
                operand._recording.check_alive()
                other = operand._recording.graph.name
                raise fail("two-recordings", self.here(), function="eager code", other=other)
            value: Value = operand._value
            return self.substitutes[value] if value in self.substitutes else value
        if type(operand) in WEAK_TYPES:
            return Held(WEAK_TYPES[type(operand)], operand)
        if type(operand) in (list, tuple):
            operand = as_array(operand)
            if type(operand) in TENSORS:
                return self.lift(operand)
        kind = type_of(operand)
        if kind is None:
            read = getattr(type(operand), "__tracejit_read__", None)
            if read is not None:
                return self.lift(read(operand))
            return self.lift(self.plain_operand(operand))
        if kind.dtype.kind not in "biufc" or not kind.dtype.isnative:
            raise self.dtype_refused(operand, kind.dtype)
        value = Held(kind, canonical(operand))
        if kind.form == "array":
            value.index = BORROWED
        if self.probes and not np.any(operand):
            value = snapshot(value)
            for probe in self.probes:
                probe.note_zeros(value, operand)
        return value

    def keep(self, tensor: Tensor) -> Value:
        """As every recorder; with data that cannot change any more."""
        tensor._held = value = snapshot(self.lift(tensor))
        return value

    @contextmanager
    def recording_from(self, sources: Sequence[Tensor]) -> Iterator[list[Node]]:
        """The nodes computed meanwhile on `sources`."""
        window = Window(accessed=False)
        for source in sources:
            window.watch(source._value)
        with self.seen_by((*self.windows, window)):
            yield window.nodes

    @contextmanager
    def probing(
        self, function: str, reads: Sequence[Any], sources: Sequence[Tensor]
    ) -> Iterator[Probe]:
        """As every recorder; the probe sees all that is computed, as a window."""
        probe = Probe(function, reads, [source._value for source in sources])
        with self.asking(probe), self.seen_by((*self.windows, probe)):
            yield probe

    # Variables

    def version(self, variable: Any) -> Value:
        """The value that a Variable has now, or had when what runs again ran first."""
        value = self._held_by(variable)
        for run in self.runs:
            run.note(variable, value)
        return value

    def _held_by(self, variable: Any) -> Value:
        replay = self.replay
        if replay is None or not replay.knows(variable):
            held: Value = variable.held
            return held
        value = replay.version(variable)
        if value is None:
            problem = f"it assigns {variable.name or 'a Variable'} once more"
            raise fail("two-runs", self.here(), function=replay.run.name, problem=problem)
        return value

    def created(self, variable: Any) -> None:
        """A Variable is being made."""
        for run in self.runs:
            run.made[id(variable)] = variable

    def assign(self, variable: Any, new: Any) -> None:
        """Give a Variable the value of `new`; nothing flows from there. In a second run it gets the
        value that it got in the first."""
        self.version(variable)
        if self.replay is not None and self.replay.knows(variable):
            self.replay.assign(variable)
        else:
            variable.commit(snapshot(self.lift(new)).data)
        self.version(variable)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Meanwhile a call that could not be compiled is made: Python goes by what it would go by
        in plain Python."""
        outer, self.follows = self.follows, True
        try:
            yield
        finally:
            self.follows = outer

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """No tape sees what is computed or read meanwhile."""
        outer, self.logs = self.logs, ()
        try:
            with self.seen_by(()):
                yield
        finally:
            self.logs = outer

    def once(self, effect: Callable[[], Any]) -> Any:
        """The answer of `effect`; in a second run, its answer in the first."""
        if self.replay is None:
            answer = effect()
        else:
            run = self.replay.run
            found = next(self.replay.answers, None)
            if found is None:
                problem = "it calls back once more"
                raise fail("two-runs", self.here(), function=run.name, problem=problem)
            answer, states = found
            run.generators.restore(states)
        for run in self.runs:
            run.answers.append((answer, run.generators.now()))
        return answer

    @contextmanager
    def logging_run(self, run: RegionRun) -> Iterator[None]:
        """Meanwhile `run` takes note of what a recompute region meets."""
        self.hides = True
        outer, self.runs = self.runs, (*self.runs, run)
        try:
            yield
        finally:
            self.runs = outer

    @contextmanager
    def replaying(self, run: RegionRun) -> Iterator[None]:
        """Meanwhile Variables have the values, and callbacks the answers, of `run`."""
        outer, self.replay = self.replay, Replay(run)
        try:
            yield
        finally:
            self.replay = outer

    # Writes

    def check_writable(self, tensor: Tensor, call: str) -> None:
        """As all recorders; and while a function is recorded, what was made outside stays as it
        is."""
        if active.stack:
            target = "a Tensor from outside of the function that is being recorded"
            fix = "pass it as an argument, or write into a copy."
            raise fail("write", self.here(), call=call, target=target, fix=fix)
        super().check_writable(tensor, call)

    def laid_like(self, value: Value, tensor: Tensor) -> Value:
        """`value`, its data in memory as those of `tensor` are."""
        before: np.ndarray = tensor._held.data
        if before.ndim < 2 or (before.flags.c_contiguous and value.data.flags.c_contiguous):
            return value
        data = np.empty_like(before, dtype=value.data.dtype)
        if data.strides == value.data.strides:
            return value
        moved: Value = copy(Tensor(value, self), order="K")._held
        moved.data = data
        moved.data[...] = value.data
        moved.data.flags.writeable = False
        return moved

    def gives_numbers(self) -> bool:
        """True if nothing is recorded and no tape is open."""
        return not self.windows and not active.stack

    def note_constant(self, tensor: Tensor) -> None:
        """A recorded function has read them: they must not change any more."""
        if active.stack:
            seal(tensor, "a Tensor that a recorded function has read")

    # What Python reads

    def value_of(self, value: Value, call: str, fix: str, decides: bool = False) -> Any:
        """The data; refused, unless for a decision, where an open tape records it."""
        if decides:
            return value.data
        if current_recording() is not None or any(window.knows(value) for window in self.windows):
            name = self.name_of(value)
            name = "t" if name == "an array" else name
            refusal = value_refused("taped", self.here(), call.format(name), ON_TAPE, name=name)
            self.refusal = refusal if self.windows else None
            raise refusal
        return value.data

    def refusal_at(self, error: BaseException | None) -> TracejitError | None:
        """The refusal of a number in the user's call that raised `error`: a routine in C may raise
        an error of its own for one of a function that it calls."""
        trace, refusal = getattr(error, "__traceback__", None), self.refusal
        if refusal is None or refusal.where is None or isinstance(error, TracejitError):
            return None
        place = refusal.where.filename, refusal.where.lineno
        while trace is not None:
            if (trace.tb_frame.f_code.co_filename, trace.tb_lineno) == place:
                return refusal
            trace = trace.tb_next
        return None

    def decide(self, value: Value, convert: Callable[[Any], Any], call: str, fix: str) -> Any:
        """Of the data; an integer of floating numbers only where no tape of the user's records
        them."""
        decides = convert is bool or not value.type.is_inexact or self.follows
        return convert(self.value_of(value, call, fix, decides))

    def reduced(self, value: Value, data: Any) -> tuple[Any, ...]:
        """A Tensor of the data, of any form."""
        return eager_tensor, (data, value.type)

    def numpy(self, value: Value) -> np.ndarray:
        """A copy of the data; a NumPy scalar is its own."""
        data: np.ndarray = value.data
        return data.copy() if hasattr(data, "copy") else np.asarray(data)[()]

    def name_of(self, value: Value) -> str:
        """The user's name for a value, for errors."""
        frame = places.user_frame()
        for name, local in (frame.f_locals if frame is not None else {}).items():
            if type(local) in TENSORS and local._held is value:
                return name
        return super().name_of(value)

    def _locate(self) -> Location | None:
        if self.where is not None:
            return self.where
        frame = places.user_frame(KNOWN_FRAMES)
        if frame is None:
            return None
        found = places.location(frame)
        self.graph.files[found.location] = found.file
        return found.location


EAGER = Eager()


def nobody_watches() -> bool:
    """Return whether Variables and Tensors may be read unseen: no tape is open, no function
    recorded."""
    return not (EAGER.windows or EAGER.logs) and current_recording() is None


def eager_tensor(data: Any, type: ArrayType) -> Tensor:
    """A Tensor of `data`, which nobody else may write to."""
    return Tensor(_held(type, data), EAGER)


def handle_tensor(thing: Any) -> Tensor:
    """A Tensor that stands for an object that is not an array."""
    return Tensor(_held(HANDLE, thing), EAGER)


def _held(type: ArrayType, data: Any) -> Value:
    """A new value with its data."""
    if type.form == "array":
        data.flags.writeable = False
    return Held(type, data)


def snapshot(value: Value) -> Value:
    """`value` with data that cannot change any more: a copy of an array that can be written to."""
    if value.index != BORROWED or not can_change(value.data):
        return value
    return _held(value.type, value.data.copy())
