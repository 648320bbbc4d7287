"""A recording: the graph that Tensors of one run of a user's function write themselves into.

Nothing is computed while recording: `Recording.record` infers types and emits a node. What Python
may read without freezing anything is the value of a weak number (`Recording.read`); a read
becomes a guard of the kernel. A recording belongs to one thread and ends with the function;
Tensors that outlive it are refused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from tracejit.errors import TracejitError, Where, fail
from tracejit.ir.graph import NOWHERE, Constant, Graph, Location, Value
from tracejit.ir.printer import constant_text
from tracejit.ir.types import ArrayType, dtype_letters, type_of
from tracejit.ops.forms import as_scalar
from tracejit.ops.markers import IDENTITY
from tracejit.ops.op import Op
from tracejit.trace import places
from tracejit.trace.captures import Captures
from tracejit.trace.tensor import Tensor

_active = threading.local()


def current_recording() -> Recording | None:
    """The recording that runs on this thread, if any."""
    stack = getattr(_active, "stack", None)
    return stack[-1] if stack else None


class Recording:
    """One run of a function under the recorder."""

    def __init__(self, name: str, captures: Captures | None = None) -> None:
        """A recording of the function `name`, which reads `captures` besides its arguments."""
        self.graph = Graph(name)
        self.captures = captures
        self.hidden: dict[int, tuple[Value, np.ndarray]] = {}
        self.thread = threading.get_ident()
        self.open = True
        self.region = 0
        self.regions = 0
        self.identities = 0
        self.tapes: tuple[int, ...] = ()
        self.where: Location | None = None
        self.in_rule = False  # a rule of the user's is running: its line, not the one it is for
        self.substitutes: Mapping[Value, Value] = {}
        self.known: dict[Value, Any] = {}
        self.reads: dict[Value, Any] = {}
        self._namer = Namer()

    def __enter__(self) -> Recording:
        if not hasattr(_active, "stack"):
            _active.stack = []
        _active.stack.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _active.stack.remove(self)

    def argument(self, name: str, type: ArrayType, known: Any = None) -> Tensor:
        """A new input as a Tensor; `known` is the number a weak one stands for in this run."""
        value = self.graph.add_input(name, type)
        if type.form == "weak":
            self.known[value] = known
        return Tensor(value, self)

    def record(self, op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """`op` applied to Tensors, arrays and numbers: a Tensor, or a tuple of them."""
        self.check_alive()
        values = tuple([self.lift(operand) for operand in operands])
        try:
            types = op.result_types([value.type for value in values], params)
        except TracejitError:
            raise
        except (ValueError, TypeError, IndexError) as error:
            raise self._misfit(op, values, params, error) from None
        if types[0].form == "weak":
            number = op.evaluate(*map(self.known_value, values), **params)
            if type_of(number) is not types[0]:
                return op.evaluate(*map(self.read, values), **params)
        node = self.graph.emit(op, values, params, types, self._locate(), self.region, self.tapes)
        results = node.results
        if types[0].form == "weak":
            self.known[results[0]] = number
        if len(results) == 1:
            return Tensor(results[0], self)
        return tuple(Tensor(value, self) for value in results)

    def lift(self, operand: Any) -> Value:
        """The value of an operand: a Tensor's own, or a constant."""
        if type(operand) is Tensor:
            if operand._recording is not self:
                operand._recording.check_alive()
                other = operand._recording.graph.name
                raise fail("two-recordings", self.here(), function=self.graph.name, other=other)
            value: Value = operand._value
            return self.substitutes[value] if value in self.substitutes else value
        if type(operand) in (list, tuple):
            operand = np.asarray(operand)
        kind = type_of(operand)
        if kind is None:
            raise fail(
                "not-an-array",
                self.here(),
                what="an operand",
                article="a",
                kind=type(operand).__name__,
                fix="convert it with np.asarray before the call.",
            )
        if kind.dtype.kind not in "biufc" or not kind.dtype.isnative:
            raise fail("unsupported-dtype", self.here(), what="an operand", dtype=kind.dtype)
        if type(operand) is np.ndarray and self.captures is not None:
            name = self.captures.name_of(operand)
            if name is not None:
                return self._hidden_argument(operand, name)
        return self.graph.constant(operand)

    def _hidden_argument(self, array: np.ndarray, name: str) -> Value:
        """The input that stands for a captured array."""
        known = self.hidden.get(id(array))
        if known is None:
            value = self.graph.add_input(name, ArrayType(array.shape, array.dtype))
            known = self.hidden[id(array)] = (value, array)
        return known[0]

    def source(self, argument: Any, name: str) -> Any:
        """Argument `name`, to differentiate by, as a value of its own; a Python float as float64.

        What has no derivative stays as it is, for the caller to refuse.
        """
        if type(argument) is not Tensor and type_of(argument) is None:
            return argument
        value = self.lift(argument)
        if not value.type.is_inexact:
            return argument
        tensor: Any = Tensor(value, self)
        if value.type.form == "weak":
            tensor = as_scalar(tensor, dtype=value.type.dtype)
        self.identities += 1
        distinct: Tensor = IDENTITY(tensor, number=self.identities)
        distinct._value.label = name
        return distinct

    def read(self, value: Value) -> Any:
        """The number a weak value stands for; every argument it depends on becomes a guard."""
        pending = [value]
        while pending:
            one = pending.pop()
            if one.node is not None:
                pending.extend(one.node.operands)
            elif not isinstance(one, Constant):
                self.reads[one] = self.known[one]
        return self.known_value(value)

    def known_value(self, value: Value) -> Any:
        """The number a weak value or constant stands for in this run."""
        return value.data if isinstance(value, Constant) else self.known[value]

    @contextmanager
    def inside_region(self) -> Iterator[int]:
        """Nodes recorded meanwhile belong to a new recompute region, unless one is open already."""
        outer = self.region
        if not outer:
            self.regions += 1
            self.region = self.regions
        try:
            yield self.region
        finally:
            self.region = outer

    @contextmanager
    def at(self, where: Location | None) -> Iterator[None]:
        """Nodes recorded meanwhile are cited at `where`, not at the running line; NOWHERE: at
        none."""
        outer, self.where = self.where, where
        try:
            yield
        finally:
            self.where = outer

    @contextmanager
    def substituting(self, values: Mapping[Value, Value]) -> Iterator[None]:
        """Operands recorded meanwhile are replaced by what `values` maps them to, at that
        moment."""
        outer, self.substitutes = self.substitutes, values
        try:
            yield
        finally:
            self.substitutes = outer

    def check_alive(self) -> None:
        """Raise LeakedTensorError after the end of the recording or on another thread."""
        if not self.open:
            raise fail("leaked", self.here(), function=self.graph.name)
        if threading.get_ident() != self.thread:
            raise fail("other-thread", self.here(), function=self.graph.name)

    def finish(self, outputs: Sequence[Value]) -> Graph:
        """End the recording: its graph with these outputs and every name the user gave."""
        self._namer.finish()
        self.open = False
        self.graph.outputs = list(outputs)
        self.graph.assign_names()
        return self.graph

    def abandon(self) -> None:
        """End the recording after an error."""
        self._namer.forget()
        self.open = False

    def here(self) -> Where | None:
        """The user's running line, or the line being differentiated, for errors."""
        if self.where is not None and not self.in_rule:
            return places.where_of(self.where, self.graph.files)
        return places.where(places.user_frame())

    def name_of(self, value: Value) -> str:
        """What the user calls a value, for errors."""
        self._namer.catch_up()
        if isinstance(value, Constant):
            return constant_text(value)
        return value.label or value.name or "an array"

    def _locate(self) -> Location | None:
        if self.where is not None:
            return None if self.where is NOWHERE else self.where
        frame = places.user_frame()
        if frame is None:
            return None
        self._namer.visit(frame)
        place, file = places.location(frame)
        self.graph.files.setdefault(place, file)
        return place

    def _misfit(
        self, op: Op, values: Sequence[Value], params: dict[str, Any], error: Exception
    ) -> TracejitError:
        """The user's error for operands that do not fit: their spelling, every shape, NumPy's
        reason."""
        try:
            template = op.template([value.type for value in values], params).replace("np.", "")
        except (ValueError, TypeError, IndexError):
            template = f"{op.name}({', '.join(f'{{{k}}}' for k in range(len(values)))})"
        call = template.format(*map(self.name_of, values))
        shapes = ", ".join(
            f"{self.name_of(value)} {dtype_letters(value.type.dtype)}{list(value.type.shape)}"
            for value in values
            if not isinstance(value, Constant) or value.type.shape
        )
        if isinstance(error, TypeError):
            return fail(
                "unsupported-call",
                self.here(),
                function=call,
                problem=error,
                fix=f"given {shapes}.",
            )
        return fail("shapes", self.here(), call=call, problem=error, fix=f"given {shapes}.")


class Namer:
    """Finds what the user calls the values: reads the locals of a frame when its statement is
    over."""

    LOCALS_LIMIT = 500

    def __init__(self) -> None:
        """No frame seen yet."""
        self._position: dict[FrameType, tuple[int, int]] = {}

    def visit(self, frame: FrameType) -> None:
        """An operation is being recorded in `frame`."""
        line, instruction = frame.f_lineno, frame.f_lasti
        before = self._position.get(frame)
        if before is None:
            self._visit_callers(frame)
        elif before[0] != line or instruction <= before[1]:
            self._read(frame)
        self._position[frame] = (line, instruction)

    def catch_up(self) -> None:
        """Read the locals of every frame as they are now."""
        for frame in self._position:
            self._read(frame)

    def finish(self) -> None:
        """Read the last locals of every frame and let the frames go."""
        self.catch_up()
        self.forget()

    def forget(self) -> None:
        """Let the frames go."""
        self._position.clear()

    def _visit_callers(self, frame: FrameType) -> None:
        """Take note of the user's functions that called this one: their names go before its own."""
        caller = frame.f_back
        found: list[FrameType] = []
        while caller is not None and caller not in self._position:
            if places.is_internal(caller):
                break
            found.append(caller)
            caller = caller.f_back
        if caller in self._position:
            self._read(caller)
        for one in reversed(found):
            self._position[one] = (one.f_lineno, one.f_lasti)

    def _read(self, frame: FrameType) -> None:
        if len(frame.f_code.co_varnames) > self.LOCALS_LIMIT:
            return
        for name, local in frame.f_locals.items():
            if type(local) is Tensor and not local._value.label and local._value.node is not None:
                local._value.label = name
