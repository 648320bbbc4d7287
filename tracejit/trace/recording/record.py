"""A recording: the graph that the Tensors of one run of a user's function append to.

Nothing is computed while recording: `Recording.record` infers types and emits a node. What Python
may read without freezing anything is the value of a weak number (`Recording.read`); a read
becomes a guard of the kernel. A recording belongs to one thread and ends with the function;
Tensors that outlive it are refused.

What the function reads besides its arguments becomes a hidden argument of the kernel: captured
arrays, eager Tensors, and Variables, which have one value after another here as they are assigned.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from typing import Any

import numpy as np

from tracejit.ir.graph import Constant, Graph, Node, Value, change_sizes
from tracejit.ir.location import NOWHERE, Location
from tracejit.ir.subgraph import Placeholder
from tracejit.ir.types import HANDLE, PYTHON_TYPES, WEAK_TYPES, ArrayType, type_of
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import Op
from tracejit.ops.control.branches import AS_DIGEST, AS_PATTERN, of_pattern
from tracejit.ops.control.control_flow import ControlFlow
from tracejit.ops.control.marker_ops import OVERRIDE, Marker, stop
from tracejit.ops.elementwise.python_numbers import (
    CONVERSIONS,
    OPERATORS,
    as_python_if,
    differs_in_python,
    divides,
)
from tracejit.ops.elementwise.weak import SIZE
from tracejit.ops.indexing.indexing import rows_of
from tracejit.ops.indexing.updates import as_update, set_item
from tracejit.ops.shapes.joining import stack
from tracejit.support.config import setting
from tracejit.support.cost_model import costs
from tracejit.support.errors import TracejitError, Where, fail
from tracejit.trace.capture.captures import Captures
from tracejit.trace.capture.views import view_between
from tracejit.trace.recording.active import active as active
from tracejit.trace.recording.active import outside_recordings as outside_recordings
from tracejit.trace.recording.decisions import FROZEN, Decisions, Hidden, Unknown
from tracejit.trace.recording.events import Event
from tracejit.trace.recording.floating import STATE, Handling
from tracejit.trace.recording.namer import Namer
from tracejit.trace.recording.numbers import note_reads, origins_of, readable_origins, size_in_steps
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.reruns import GivenUp, MustNotFork, Refused
from tracejit.trace.recording.scipy_calls import ON_TAPE, value_refused
from tracejit.trace.recording.tape_window import Window
from tracejit.trace.source import places
from tracejit.trace.source.instead import NUMBERS
from tracejit.trace.tensor.memory import View, held_by, owner_of_view, seal
from tracejit.trace.tensor.tensor import TENSORS, Tensor, tensor_of

LONGEST_PATTERN = 4096
"""The number of elements of the longest array by whose elements Python goes."""
_FIX_OF_LENGTH = (
    "select with np.where(mask, x, 0.0), or multiply by the mask, which keep the shape."
)

MOST_KINDS = 16
"""The most combinations of types that the operands of one operation may have."""

KNOWN_FRAMES = 4
"""The number of frames of tracejit between the user's frame and the question for its place."""
NOT_SEEN: tuple[list[Window], tuple[int, ...]] = [], ()


def current_recording() -> Recording | None:
    """The recording that runs on this thread, if any."""
    return active.stack[-1] if active.stack else None


def note_draw() -> None:
    """Know the user's running line as one that calls a random generator."""
    recording = current_recording()
    if recording is not None and recording.drawn is None:
        recording.drawn = places.here()


class Recording(Recorder):
    """One run of a function under the recorder; one that `keeps_apart` takes nothing for equal,
    one that `rolls_sizes` rolls loops in which sizes differ from step to step."""

    def __init__(
        self, name: str, captures: Captures | None = None, forced: Sequence[Any] = ()
    ) -> None:
        """A recording of the function `name`, which reads `captures` besides its arguments. The
        first decisions have the outcomes `forced`."""
        super().__init__(Graph(name))
        self.hidden: dict[int, Hidden] = {}
        self.calls: dict[tuple[Any, ...], Any] = {}
        self.decisions = Decisions(self.graph, self.hidden, forced)
        self.captures = captures
        self.versions: dict[int, list[Value]] = {}
        self.events: list[Event] = []
        self.thread = threading.get_ident()
        self.reopened_by: tuple[int, int] | None = None
        self.open = True
        self.forward = 0
        self.keeps_apart = self.rolls_sizes = False
        self.is_routed = bool(setting("convert"))
        self.apart: tuple[int, ...] = ()
        self.moved: dict[Value, Value] = {}
        self.loop_notes: list[Any] = []
        self.as_written: dict[str, None] = {}
        self.reads: dict[Value, tuple[Any, Where | None]] = {}
        self.scalars: dict[Value, Any] = {}
        self.in_order: set[Value] = set()
        self.gone: set[Value] = set()
        self.relied_on: set[Value] = set()
        self.handling = Handling()
        self.forks: dict[tuple[int, int], GivenUp] | None = None
        self.raising: set[tuple[int, int]] = set()  # the places of those in which this call raises
        self.sides = self.side_nodes = 0
        self.side_writes: list[dict[int, Any]] = []
        self.side_views: list[dict[int, Any]] = []
        self.merged: set[Value] = set()
        self.placed: dict[Value, bool] = {}
        self.pythons: dict[Value, Any] = {}
        self.mixed: dict[Value, tuple[ArrayType, ...]] = {}
        self.steps: dict[Value, Callable[[], Any]] = {}  # sizes for the numbers of steps of loops
        self.operates = False
        self.drawn: Where | None = None
        self._namer = Namer(self.graph)

    def __enter__(self) -> Recording:
        self.handling = Handling()  # it may go on at another moment than it was made at
        active.stack.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._leave()

    def _leave(self) -> None:
        """Run no more on this thread."""
        if self in active.stack:
            active.stack.remove(self)

    def stand_in(self, example: Any) -> Tensor:
        """As every recorder; nothing that is computed from it has numbers."""
        result = super().stand_in(example)
        self.decisions.prefix.hide(result._value)
        return result

    def argument(self, name: str, type: ArrayType, known: Any = None) -> Tensor:
        """A new input as a Tensor; `known` is what it stands for in this run."""
        value = self.graph.add_input(name, type)
        if type_of(known) is type.in_numbers or type is HANDLE:
            self.decisions.given[value] = known
        is_array = isinstance(known, np.ndarray) and not isinstance(known, Tensor)
        if type.form == "weak":
            self.known[value] = known
        elif not is_array or known.flags.c_contiguous:
            self.in_order.add(value)
        return Tensor(value, self)

    def record(self, op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """`op` applied to Tensors, arrays and numbers: a Tensor, or a tuple of them."""
        if not self.open or threading.get_ident() != self.thread:
            self.check_alive()
        handling = self.handling
        if STATE() is not handling.state or warnings.filters is not handling.filters:
            handling.check_change(self.here)
        if self.moved or self.substitutes:
            values = tuple([self.lift(operand) for operand in operands])
        else:
            values = tuple(
                [
                    x._held
                    if type(x) in TENSORS and x._owner is None and x._recording is self
                    else self.lift(x)
                    for x in operands
                ]
            )
        if self.assigned_values and self.logs:
            self.note_uses(values)
        if op is set_item:
            op, values = as_update(values, params)
        if op is stack and len(values) > costs().recorded_steps and params["axis"] == 0:
            whole = self._stacked(values)
            if whole is not None:
                return whole
        try:
            types = op.result_types([value.type for value in values], params)
        except TracejitError:
            raise
        except (ValueError, TypeError, IndexError) as error:
            raise self.misfit(op, values, params, error) from None
        if types[0].form == "weak" and op is not SIZE and self._knows(op, values):
            try:
                number = op.evaluate(*map(self.known_value, values), **params)
            except (ArithmeticError, ValueError):
                number = None
            if type_of(number) is not types[0]:  # or it raises again, for these numbers alone
                return op.evaluate(*map(self.read, values), **params)
            node = self._emit(op, values, params, types)
            self.known[node.results[0]] = number
        else:
            node = self._emit(op, values, params, types)
            if self.mixed and not self.mixed.keys().isdisjoint(values):
                self._check_mixed(node)
        if len(node.results) == 1:
            tensor = tensor_of(node.results[0], self)
            if op.view_of is not None:
                tensor._owner = owner_of_view(tensor, op, operands, params)
            return tensor
        return tuple(Tensor(value, self) for value in node.results)

    def _stacked(self, values: Sequence[Value]) -> Any:
        """An array of values most of which are rows of others, in turn, made of slices;
        None if they are not."""
        runs = rows_of(values)
        is_long = len(values) > costs().recorded_steps * len(runs)
        if not is_long or all(whole is None for whole, *_ in runs):
            return None
        parts: list[Any] = []
        remaining = iter(values)
        for whole, first, last in runs:
            run = [next(remaining) for _ in range(first, last + 1)]
            if whole is not None and len(run) > 1:
                array: Any = Tensor(whole, self)
                parts.append(array if len(run) == len(array) else array[first : last + 1])
            else:
                parts.append(np.stack([Tensor(value, self) for value in run]))
        return np.concatenate(parts) if len(parts) > 1 else np.copy(parts[0])

    def kinds_of(self, value: Value) -> tuple[ArrayType, ...]:
        """The types that Python may give a value."""
        return self.mixed.get(value, (value.type,))

    def is_python(self, value: Value) -> Any:
        """A truth value, maybe recorded, that says if a number is one of Python's; None if
        nobody knows."""
        if value in self.mixed:
            return self.pythons.get(value)
        return value.type.form == "weak"

    def told_apart(self, leaf: Any) -> Any:
        """A result in the type that Python gives it."""
        if type(leaf) not in TENSORS or leaf._value not in self.mixed:
            return leaf
        value = leaf._value
        others = [kind for kind in self.mixed[value] if kind is not value.type]
        is_python = self.pythons.get(value)
        if is_python is None or len(others) > 1:
            raise MustNotFork
        kind = PYTHON_TYPES[others[0].dtype.kind].__name__
        with self.at(NOWHERE):
            return as_python_if(leaf, is_python, kind=kind)

    def in_python(self, value: Value, number: Any) -> Any:
        """The number that a value is in this call, in the type that Python gives it."""
        if value not in self.mixed:
            return number
        flag: Any = self.pythons.get(value)
        is_python = self.decisions.prefix[flag._value] if type(flag) in TENSORS else flag
        kinds = [kind for kind in self.mixed[value] if kind.form == "weak"]
        if is_python is None or (is_python and len(kinds) > 1):
            raise MustNotFork
        return PYTHON_TYPES[kinds[0].dtype.kind](number) if is_python else number

    def check_kind(self, *operands: Any) -> None:
        """Raise MustNotFork if one of these is Python's number on one side of a condition."""
        if any(type(one) in TENSORS and one._value in self.mixed for one in operands):
            raise MustNotFork

    def _check_mixed(self, node: Node) -> None:
        """Raise MustNotFork if an operation would tell NumPy's numbers from those of Python that
        they are on one side of a condition; its result may be of both kinds, too."""
        if isinstance(node.op, ControlFlow):
            return  # its bodies were looked at
        mixed = self.mixed
        kinds = [self.kinds_of(value) for value in node.operands]
        if math.prod(map(len, kinds)) > MOST_KINDS:
            raise MustNotFork
        for types in product(*kinds):
            are_pythons = all(type.form == "weak" for type in types)
            if are_pythons and (node.op.raises is not None or divides(node)):
                self._check_divisor(node)
            try:
                others = node.op.result_types(types, node.params)
            except (ValueError, TypeError, IndexError):
                raise MustNotFork from None
            if node.op.name in OPERATORS and are_pythons:
                if not self.operates or differs_in_python(node, types):
                    raise MustNotFork  # np.add(x, y) may be the very node of x + y
                others = [WEAK_TYPES[PYTHON_TYPES[one.dtype.kind]] for one in others]
            for value, other in zip(node.results, others, strict=True):
                if other.form != "weak" and other.dtype != value.type.dtype:
                    raise MustNotFork
                if other.form != value.type.form and other not in self.kinds_of(value):
                    mixed[value] = (*self.kinds_of(value), other)
        if not mixed.keys().isdisjoint(node.results):
            flags = [self.is_python(value) for value in node.operands]
            if not any(flag is None for flag in flags):
                both = self._both([flag for flag in flags if flag is not True])
                self.pythons.update(dict.fromkeys(node.results, both))

    def _check_divisor(self, node: Node) -> None:
        """Raise MustNotFork if Python would raise for its own numbers, in this call."""
        last = node.operands[-1]
        divisor: Any = last.data if isinstance(last, Constant) else Tensor(last, self)
        if not divides(node) or not divisor != 0:
            raise MustNotFork

    def _both(self, flags: Sequence[Any]) -> Any:
        """A truth value that says if all of these hold."""
        found = flags[0]
        for flag in flags[1:]:
            found = found if flag is found else np.logical_and(found, flag)
        return CONVERSIONS[bool](found) if found.type.form != "weak" else found

    def _knows(self, op: Op, values: Sequence[Value]) -> bool:
        """Return whether an op on these numbers can be computed now: none depends on a draw."""
        if op.effect or isinstance(op, ControlFlow):
            return False
        return all(isinstance(value, Constant) or value in self.known for value in values)

    def _emit(
        self, op: Op, values: tuple[Value, ...], params: dict[str, Any], types: Sequence[ArrayType]
    ) -> Node:
        """The node in the graph, and in every window that sees it."""
        seen, tapes = self._seen(op, values, params) if self.windows else NOT_SEEN
        graph, before = self.graph, len(self.graph.nodes)
        tapes = (*tapes, -before) if self.keeps_apart else tapes + self.apart
        node = graph.emit(op, values, params, types, self._locate(), self.region, tapes)
        if len(graph.nodes) > before:
            for window in seen:
                window.add(node)
        else:
            self.shared.update(node.results)
        return node

    def _seen(
        self, op: Op, values: tuple[Value, ...], params: dict[str, Any]
    ) -> tuple[list[Window], tuple[int, ...]]:
        """The windows that see an operation, and their numbers."""
        inputs = values[params["outputs"] :] if op is OVERRIDE else values
        seen = [window for window in self.windows if window.sees(inputs)]
        return seen, tuple([window.number for window in seen])

    def copy(
        self, node: Node, operands: tuple[Value, ...], where: Location | None, region: int
    ) -> Node:
        """A node of the graph applied to other operands, at its end and in a region of its own."""
        seen, tapes = self._seen(node.op, operands, node.params)
        seen = [window for window in seen if window.sees(node.results)]
        made = self.graph.copy_node(node, operands, where=where, region=region, tapes=tapes)
        for window in seen:
            window.add(made)
        return made

    def lift(self, operand: Any) -> Value:
        """The value of an operand: a Tensor's own, a Variable's now, or a constant."""
        if type(operand) in TENSORS:
            if operand._recording is not self:
                return self._foreign(operand)
            value: Value = operand._value
            if self.moved:
                value = self.moved.get(value, value)
            if self.substitutes and value in self.substitutes:
                value = self.substitutes[value]
            return value
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
        if type(operand) is np.ndarray and self.captures is not None:
            sources = self.captures.sources_of(operand)
            if sources:
                return self._captured(operand, kind, sources)
        return self.graph.constant(operand)

    def _captured(
        self, array: np.ndarray, kind: ArrayType, sources: Sequence[tuple[str, np.ndarray]]
    ) -> Value:
        """The input for a captured array, or an operation on it for a view; `sources` are captured
        in the same memory. A view that cannot be expressed is an input of its own."""
        for name, source in sources:
            view = None if source is array else view_between(source, array)
            whole = None if view is None else type_of(source)
            if view is not None and whole is not None:
                return self.lift(view.of(Tensor(self.hide(source, name, whole), self)))
        return self.hide(array, sources[0][0], kind)

    def _foreign(self, tensor: Tensor) -> Value:
        """The input that stands for an eager Tensor; Tensors of other recordings are refused."""
        tensor._recording.check_alive()
        value = tensor._value
        seal(tensor, "a Tensor that a recorded function has read")
        if value.data is None:
            other = tensor._recording.graph.name
            raise fail("two-recordings", self.here(), function=self.graph.name, other=other)
        return self.hide(value, self._label(tensor, "captured"), value.type, ".data")

    def _label(self, thing: Any, otherwise: str) -> str:
        """The name under which `thing` was captured."""
        labels = self.captures.labels if self.captures is not None else {}
        return labels.get(id(thing)) or otherwise

    def hide(self, holder: Any, name: str, type: ArrayType, path: str = "") -> Value:
        """The input for what `holder` holds: at each call it is read anew by `path`."""
        known = self.hidden.get(id(holder))
        if known is None:
            known = self.hidden[id(holder)] = Hidden(self.graph.add_input(name, type), holder, path)
        return known.value

    def first_call(self, call: Any, operands: Sequence[Any]) -> Any:
        """The first call of the same function with equal operands, at whichever line: `call`, or
        one before it."""
        return self.calls.setdefault((call.call, *map(self.lift, operands)), call)

    # Variables

    def version(self, variable: Any) -> Value:
        """The value that a Variable has now."""
        value = self.versions_of(variable)[-1]
        return self.substitutes[value] if value in self.substitutes else value

    def versions_of(self, variable: Any) -> list[Value]:
        """The values that a Variable has had, from the one before the call on."""
        known = self.versions.get(id(variable))
        if known is None:
            name = self._label(variable, variable.name or "variable")
            value = self.hide(variable, name, variable.type, ".data")
            known = self.versions[id(variable)] = [value]
        return known

    def assign(self, variable: Any, new: Any) -> None:
        """Give a Variable the value of `new`, from here on; nothing flows from there."""
        marker = Marker("assign", "assigned", stop)
        value = self.lift(OVERRIDE(Tensor(self.lift(new), self), outputs=1, grad=marker))
        versions = self.versions_of(variable)
        value.name_result(versions[0].label)
        versions.append(value)
        self.events.append(Event(variable, None, [value]))

    def effects(self) -> set[str]:
        """The names of the operations with effects, and "events" where there are any."""
        names = {node.op.name for node in self.graph.nodes if node.op.effect}
        return names | {"events"} if self.events or self.writes else names

    # Memory

    def starts_in_order(self, value: Value) -> bool:
        """Return whether an argument lies in C order, which is then checked at each call."""
        if value in self.in_order:
            self.relied_on.add(value)
        return value in self.in_order

    # What Python reads

    def value_of(self, value: Value, call: str, fix: str, decides: bool = False) -> Any:
        """The value of a number that is known in this call, read under a guard; what depends on
        array data is refused."""
        if value in self.mixed:
            raise MustNotFork
        if value in self.known:
            return self.read(value)
        self.check_sides()
        origins = readable_origins(self, value)
        if origins is not None:
            with suppress(Unknown):
                number = self.decisions.number(value)
                note_reads(self, origins)
                return number
        if self.is_routed and value.type.form == "weak" and value.type.dtype.kind in "bi":
            return self.decide(value, PYTHON_TYPES[value.type.dtype.kind], call, fix)
        raise self._needed(value, call, fix or NUMBERS)

    def check_sides(self) -> None:
        """Raise Refused if a side of a condition asks for a number: it may not be taken."""
        if self.sides:
            raise Refused("a number is needed")

    def check_writable(self, tensor: Tensor, call: str) -> None:
        """As every recorder; what conditions have merged may share memory."""
        super().check_writable(tensor, call)
        if not self.merged.isdisjoint(held_by(tensor)):
            raise MustNotFork("an array that they choose is written to")
        for value in held_by(tensor) if self.placed else ():
            if value in self.placed:
                self.placed[value] = True
        if self.side_writes and tensor._scope < self.scope and type(tensor._owner) is not View:
            former = tensor, tensor._value, tensor._owner
            self.side_writes[-1].setdefault(id(tensor), former)

    def retype(self) -> None:
        """As every recorder; what is recorded of a body that is not whole yet, too."""
        super().retype()
        change_sizes(self.gone, {value.node for value in self.gone if value.node is not None})

    def refusal(self, why: str) -> Refused:
        """The error that gives up one node for all steps of a loop, for the reason `why`."""
        return Refused(why)

    def note_view(self, tensor: Any) -> None:
        """A side of a condition gives it back as it was."""
        if self.side_views:
            former = tensor, tensor._held, tensor._owner.seen
            self.side_views[-1].setdefault(id(tensor), former)

    def _needed(self, value: Value, call: str, fix: str, why: str = FROZEN) -> TracejitError:
        name, type = self.name_of(value), value.type
        call = call.format(name if name != "an array" else "t")
        words = {"name": name, "type": type, "why": why}
        return value_refused("value-needed", self.here(), call, fix, **words)

    def decide(self, value: Value, convert: Callable[[Any], Any], call: str, fix: str) -> Any:
        """`convert` of what `value` is in this call: what is recorded from here on is recorded for
        that outcome.

        Raises ValueNeededError if it is not known: of what is only described, of one element of
        a batch, of a cotangent.
        """
        if convert is not bool and value in self.mixed:
            raise MustNotFork
        if convert is not bool and value in self.known:
            return convert(self.read(value))
        if origins_of(value) == set():
            return convert(self.decisions.prefix[value])
        self.check_sides()
        try:
            return self.decisions.decide(Tensor(value, self), convert)
        except Unknown as unknown:
            raise self._needed(value, call, fix, unknown.why) from None

    def followed(self, tensor: Tensor) -> np.ndarray | None:
        """The elements of `tensor`: of an array of few integers or booleans, where calls are
        routed."""
        kind = tensor.type
        if not self.is_routed or kind.dtype.kind not in "biu" or type(kind.size) is not int:
            return None
        if not 0 < kind.size <= LONGEST_PATTERN:
            return None if kind.size else np.zeros(kind.shape, kind.dtype)
        pattern = AS_PATTERN(tensor)
        call = "the number of elements that {} selects"
        return of_pattern(self.decide(pattern._value, int, call, _FIX_OF_LENGTH), kind)

    def fixed(self, tensor: Tensor, call: str) -> np.ndarray:
        """The elements of an array of integers or booleans, however many, by which the recording
        goes from here. Raises ValueNeededError as `decide` does."""
        if origins_of(tensor._value) is None:
            raise self._needed(tensor._value, call, "")
        self.decide(AS_DIGEST(tensor)._value, int, call, "")
        data: np.ndarray = self.decisions.prefix[tensor._value]
        return data

    def made_of_nothing(self, tensor: Tensor) -> Any:
        """As every recorder; what a tape watches is not a constant."""
        value = tensor._value
        is_fixed = self.is_routed and self.graph.sizes is None
        if not is_fixed or any(window.knows(value) for window in self.windows):
            return tensor
        return self.decisions.prefix[value] if origins_of(value) == set() else tensor

    def differs_in_steps(self, value: Value) -> bool:
        """Return whether a number is another at each step of a loop that is being recorded, on
        each side of a condition that was, or for other elements of arrays."""
        origins = origins_of(value)
        if value not in self.known and origins != set():
            return True
        return any(type(one) is Placeholder for one in origins or ())

    def size_of(self, tensor: Tensor) -> Any:
        """As every recorder."""
        size = size_in_steps(tensor._value, self.steps) if self.steps else None
        return tensor if size is None else size

    def numpy(self, value: Value) -> np.ndarray:
        """Refused: there is no array yet."""
        return np.array(self.value_of(value, "{}.numpy()", "return it from the function."))

    def read(self, value: Value) -> Any:
        """The number a weak value stands for; every argument it depends on becomes a guard."""
        note_reads(self, origins_of(value) or ())
        if self.reopened_by is not None:  # for another call than the one that was recorded
            return self.decisions.number(value)
        return self.known_value(value)

    def known_value(self, value: Value) -> Any:
        """The number a weak value or constant stands for in this run."""
        return value.data if isinstance(value, Constant) else self.known[value]

    def as_sources(self, values: Sequence[Value]) -> Sequence[Value]:
        """As all recorders; nothing is differentiated by what Python has read for a number."""
        for value in values:
            if value in self.reads:
                line, name = self.reads[value][1], self.name_of(value)
                words = {"call": f"reading {name}", "name": name, "fix": ON_TAPE}
                raise fail("taped", line or self.here(), **words)
        return super().as_sources(values)

    # Regions

    @contextmanager
    def recording_from(self, sources: Sequence[Tensor]) -> Iterator[list[Node]]:
        """The nodes recorded meanwhile, complete at the end."""
        start, nodes = len(self.graph.nodes), list[Node]()
        yield nodes
        nodes += self.graph.nodes[start:]

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

    def move(self, places: Mapping[Value, Value]) -> None:
        """Let Tensors stand for other values than those they were made with."""
        self.moved = {old: places.get(new, new) for old, new in self.moved.items()} | dict(places)
        for known in (self.mixed, self.pythons):
            known.update({new: known[old] for old, new in places.items() if old in known})
        self.merged.update(new for old, new in places.items() if old in self.merged)

    def settle_names(self) -> None:
        """Read the names that the user gave so far, and let go of the frames that have ended."""
        self._namer.settle()

    # The end

    def check_alive(self) -> None:
        """Raise LeakedTensorError after the end of the recording or on another thread."""
        if not self.open:
            raise fail("leaked", self.here(), function=self.graph.name)
        if threading.get_ident() != self.thread:
            raise fail("other-thread", self.here(), function=self.graph.name)

    def finish(self, outputs: Sequence[Value]) -> Graph:
        """End the recording: its graph with these outputs and every name the user gave.

        It runs no more by the time it takes no more: a signal handler may record at any
        instruction.
        """
        self._namer.finish()
        self._leave()
        self.open = False
        self.graph.outputs = list(outputs)
        if self.gone:
            _check_bodies(self.graph, self.gone)
        self.graph.assign_names()
        return self.graph

    def abandon(self) -> None:
        """End the recording without a graph."""
        self._namer.forget()
        self.open = False

    def name_of(self, value: Value) -> str:
        """The user's name for a value, for errors."""
        self._namer.catch_up()
        return super().name_of(value)

    def _locate(self) -> Location | None:
        if self.where is not None and not self.in_rule:
            return None if self.where is NOWHERE else self.where
        frame = places.user_frame(KNOWN_FRAMES)
        if frame is None:
            return None
        place = self._namer.visit(frame, self.in_rule).location
        note = self.where.note if self.where is not None else ""
        return place._replace(note=note) if note else place


def _check_bodies(graph: Graph, gone: Collection[Value]) -> None:
    """Raise LeakedTensorError if `graph` reads values of a body, which were taken out of it."""
    gone = frozenset(gone)
    reads = [(node.where, node.operands) for node in graph.nodes]
    for where, values in [*reads, (None, tuple(graph.outputs))]:
        if not gone.isdisjoint(values):
            raise fail("leaked-body", places.where_of(where, graph.files), function=graph.name)
