"""Rounds: a loop `for` of Python's of which one step is recorded for all.

The body runs on placeholders, as that of a loop `while` does (`turns.py`); the element is computed
from the number of the step, or is one row of an array. A loop that a step may leave becomes a loop
that runs as long as none has left it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from tracejit.convert.glue import UNBOUND
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Node, Value
from tracejit.ir.step_sizes import NotForAllSteps, StepSizes
from tracejit.ir.subgraph import bodies_of
from tracejit.ir.types import PYTHON_TYPES, ArrayType
from tracejit.ops.base.op import WITH_MATRICES
from tracejit.ops.control.control_flow import element_type
from tracejit.ops.elementwise.python_numbers import CONVERSIONS
from tracejit.support.cost_model import costs
from tracejit.trace.control_flow.elements import Elements, exhaust
from tracejit.trace.control_flow.forks import Watch, is_leaf
from tracejit.trace.control_flow.loops import (
    LoopInputs,
    LoopRange,
    Side,
    emit_loop,
    emit_while,
    placeholder,
    step_number,
    take_out,
)
from tracejit.trace.control_flow.turns import Leaf, Turns, Variable
from tracejit.trace.recording.numbers import origins_of
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.reruns import FOR, BetterApart, OnceMore, Refused
from tracejit.trace.structure.trees import flatten, unflatten
from tracejit.trace.tensor.memory import held_by
from tracejit.trace.tensor.tensor import TENSORS, Tensor


class Rounds(Turns):
    """One loop over elements whose step is being recorded. The first of what is carried are
    `flags`, which are true from the step on that has left it."""

    recorded = FOR

    def __init__(
        self,
        recording: Recording,
        carried: Sequence[Any],
        watch: Watch,
        place: tuple[int, int],
        elements: Elements,
        has_loop: bool,
        flags: int,
        new: int,
    ) -> None:
        """Begin with no step. So many `new` variables have no value before the loop, which may
        have another one in it."""
        super().__init__(recording, carried, watch, place)
        self.elements = elements
        self.has_loop = has_loop
        self.arrays_of_rows = [
            Tensor(recording.lift(one), recording) if type(one) is np.ndarray else one
            for one in elements.arrays
        ]
        self.flags = self.variables[:flags]
        self.is_open_ended = bool(flags) or type(elements.count) is not int
        self.may_be_empty = type(elements.count) in TENSORS
        self.count = elements.count
        if type(self.count) is Dim:
            self.count = Tensor(recording.lift(self.count), recording)
            self.first = len(recording.graph.nodes)
        for variable in self.flags:
            variable.initial, variable.label = False, "is_over"
        self.variables += [Variable(UNBOUND) for _ in range(new)]
        self.size: Dim | None = None
        self.length = self._length()
        self.first_values: tuple[Any, ...] = ()
        self.lists: dict[int, list[Any]] = {}
        self.lasts: dict[int, Variable] = {}
        self.appended: dict[int, list[Any]] = {}
        self.names = len(self.variables)

    def __iter__(self) -> Iterator[Any]:
        """The element of each step that is recorded."""
        while not self.is_over:
            self.first_values = super().begin()
            self.appended.clear()
            self.watch.hide(self.lists)
            yield self.element()

    def _length(self) -> Any:
        """The number of steps, be it another in each step of a loop around; None where it is
        recorded, or the loop may be left."""
        if self.flags or type(self.elements.count) not in (int, *TENSORS):
            return None
        count = self.elements.count
        size = count if type(count) is int else self.recording.size_of(count)
        with suppress(NotForAllSteps):  # it may be below zero in some
            return size if type(size) in (int, Dim) and not size < 0 else None
        return None

    def size_of_step(self) -> Any:
        """The number of the step, as sizes have it."""
        if self.size is None:
            graph = self.recording.graph
            if graph.sizes is None:
                graph.sizes = StepSizes(self.recording)
            assert type(graph.sizes) is StepSizes
            self.size = graph.sizes.step(self.length, graph.sizes.most(self.length))
        return self.size

    def element(self) -> Any:
        """The element of a step."""
        recording = self.recording
        self.number = step_number(recording)
        if recording.rolls_sizes and self.length is not None:
            recording.steps[self.number._value] = self.size_of_step
        self.rows: list[Any] = []
        for array, type in zip(self.arrays_of_rows, self.elements.types, strict=True):
            if self.is_open_ended and type is not None:
                raise Refused("it goes over Python's numbers")
            if self.is_open_ended:
                row = array[self.number]
            else:
                row = placeholder(recording, type or element_type(array.type))
            recording.placed[row._held] = False
            self.rows.append(row)
        self.row_values = [row._held for row in self.rows]
        return self.elements.element(self.number, iter(self.rows))

    def begin(self) -> tuple[Any, ...]:
        """Begin a step: the values that variables have; none has left the loop."""
        of_flags = (False,) * len(self.flags)
        return of_flags + self.first_values[len(self.flags) : len(self.carried)]

    def close(self) -> Mapping[int, Any]:
        """As every attempt; lists are what they were."""
        self.watch.show(self.lists)
        return super().close()

    def outcome(self) -> Any:
        """Record the step once more if that is what is raised, or give up."""
        if type(sys.exc_info()[1]) is OnceMore:
            self.abandon()
            return self
        return super().outcome()

    def append_to(self, o: list[Any]) -> Callable[[Any], None]:
        """The function that appends to a list from outside, at each step."""

        def append(value: Any, /) -> None:
            if self.is_open_ended:
                raise Refused("it changes an object that it did not make")
            if id(o) not in self.lists:
                self.lists[id(o)] = o
                raise OnceMore
            self.appended.setdefault(id(o), []).append(value)

        return append

    def last_of(self, o: list[Any]) -> Any:
        """The last element of a list that each step appends to."""
        if id(o) in self.appended:
            return self.appended[id(o)][-1]
        if id(o) not in self.lasts:
            if not o:
                raise Refused("it reads a list that it appends to")
            self.lasts[id(o)] = Variable(o[-1])
            self.variables.append(self.lasts[id(o)])
            raise OnceMore
        return self.lasts[id(o)].now

    def kept_rows(self) -> list[Value]:
        """The values that a step appends to lists."""
        if self.appended.keys() != self.lists.keys():
            raise Refused("it appends to a list at some steps")
        rows = [self.row_of(one) for several in self.appended.values() for one in several]
        return [value for row in rows for value in row]

    def row_of(self, appended: Any) -> list[Value]:
        """The values in what is appended: numbers, and arrays that nothing writes to."""
        leaves = flatten(appended)[0]
        if not leaves or not all(map(is_leaf, leaves)):
            raise Refused("it appends an object to a list")
        values = [*map(self.recording.lift, leaves)]
        written = self.recording.side_writes[-1].values()
        held = {value for tensor, former, _ in written for value in (former, *held_by(tensor))}
        for leaf, value in zip(leaves, values, strict=True):
            is_zero_d = value.type.form == "array" and not value.type.shape
            if value in self.recording.mixed or is_zero_d:
                raise Refused("it appends numbers of several types to a list")
            if type(leaf) in TENSORS and not held.isdisjoint(held_by(leaf)):
                raise Refused("it appends an array that it writes to")
        return values

    def keep_rows(self, stacked: Sequence[Tensor]) -> None:
        """Append to the lists what all steps have appended."""
        merged = self.recording.merged
        merged.update(one._held for one in stacked if one.ndim > 1)
        remaining = iter(stacked)
        for key, several in self.appended.items():
            rows: list[Callable[[int], Any]] = []
            for value in several:
                leaves, structure = flatten(value)
                arrays = [one for one in leaves if type(one) in TENSORS and one.shape]
                merged.update(*map(held_by, arrays))
                types = [self.recording.lift(one).type for one in leaves]
                columns = [_column(type, next(remaining)) for type in types]
                rows.append(partial(_row, structure, columns))
            self.lists[key] += [row(t) for t in range(self.elements.count) for row in rows]

    def turned(self, *values: Any) -> tuple[Any, ...]:
        """End a step, after which variables have these values; the last ones have had none."""
        self.check_rows()
        lasts = [self.appended.get(key, [one.now])[-1] for key, one in self.lasts.items()]
        found = super().turned(*values, *lasts)
        if self.is_over:
            exhaust(self.elements.over)
        return found[: self.names]

    def check_rows(self) -> None:
        """Raise Refused if an array is written to while the loop goes over it."""
        if any(self.recording.placed[one] for one in self.row_values):
            raise Refused("it writes to a row of the array that it goes over")
        rows = {value for one in self.arrays_of_rows for value in held_by(one)}
        for tensor, former, _ in self.recording.side_writes[-1].values():
            if not rows.isdisjoint((former, *held_by(tensor))):
                raise Refused("it writes to the array that it goes over")

    def restarted(self) -> tuple[Any, ...]:
        """Let the next step begin with what this one has had."""
        return tuple(variable.now for variable in self.variables)

    def taken_out(self) -> list[Node]:
        """The nodes of a step; what is the same at each stays before the loop."""
        inputs = None if self.is_open_ended else self.inputs
        found = take_out(self.recording, self.start, inputs, self.symbol)
        self.check_sizes(found)
        return found

    @property
    def symbol(self) -> int | None:
        """The symbol of sizes that differ in the steps."""
        return None if self.size is None else self.size.place

    @property
    def inputs(self) -> list[Value]:
        """The placeholders of a step."""
        found = [x for one in self.carried_on for leaf in one.leaves or () for x in leaf.inputs]
        return [*self.placed, *found, *self.row_values, self.number._value]

    @property
    def is_short(self) -> bool:
        """Return whether its steps, with no other loop in them, may be recorded one by one, too."""
        count = self.elements.count
        return type(count) is int and count <= costs().recorded_known_steps and not self.has_loop

    def knows(self, value: Value) -> bool:
        """Return whether Python would know a number at each step of a short loop."""
        return self.is_short and origins_of(value) == {self.number._value}

    def check_sizes(self, nodes: Sequence[Node]) -> None:
        """Raise BetterApart if the steps of a loop are few and small, or those of a short one
        compute large arrays: that is quicker one by one."""
        count, model = self.elements.count, costs()
        most = model.least_rolled_steps if self.watch.around(self) else model.recorded_steps
        if type(count) is int and count <= most:
            if count * _written_out(nodes) <= model.recorded_nodes:
                raise BetterApart("its steps are few and small")
        if not self.is_short:
            return
        computing = [node for node in nodes if node.op.statements is None]
        types = [value.type for node in computing for value in node.results]
        if max([type.estimated_size for type in types], default=0) <= model.most_rolled_elements:
            return
        has_tiles = max(type.estimated_bytes for type in types) >= model.tiled_bytes
        if has_tiles or not self.multiplies_carried(nodes):
            raise BetterApart("its steps are few, and its arrays large")

    def multiplies_carried(self, nodes: Sequence[Node]) -> bool:
        """Return whether a step multiplies a matrix by what the step before it has made: then
        nothing is gained by several steps at once."""
        leaves = [leaf for one in self.variables for leaf in one.leaves or ()]
        carried = {leaf.value for leaf in leaves if leaf.value is not None}
        for node in nodes:
            if carried.isdisjoint(node.operands):
                continue
            if node.op.product in WITH_MATRICES:
                return True
            carried.update(node.results)
        return False

    def kinds_after(self, leaf: Leaf) -> tuple[ArrayType, ...]:
        """The types that a step gives a number."""
        return super().kinds_after(leaf) if self.may_be_empty else leaf.kinds_after

    def check_test(self) -> None:
        """The test of a loop over elements does not raise."""

    def emit(self, carried: list[Value], step: Side, initial: list[Any]) -> list[Tensor]:
        """Emit the node."""
        recording, count = self.recording, self.count
        name = recording.graph.name
        if not self.flags:
            steps = LoopRange(count, False, size=self.symbol)
            rows, arrays = self.row_values, self.arrays_of_rows
            if self.is_open_ended:
                rows, arrays = [], []
                number = count if self.length is None else None
                steps = LoopRange(self.length, False, number, size=self.symbol)
            inputs = LoopInputs(carried, rows, self.number._value)
            return emit_loop(recording, name, steps, inputs, step, initial, arrays)
        start = len(recording.graph.nodes)
        goes_on: Any = self.number < count
        for flag in [*self.flags, *([] if self.failed is None else [self.failed])]:
            left = Tensor(flag.leaves[0].value, recording)  # type: ignore[index]
            goes_on = np.logical_and(goes_on, np.logical_not(left))
        test = Side(take_out(recording, start), [goes_on._value])
        inputs = LoopInputs(carried, [], step_number(recording)._value)
        return emit_while(recording, name, inputs, test, step, initial, counted=self.number)


def _written_out(nodes: Sequence[Node]) -> int:
    """The number of nodes with the steps of loops among them written out, as far as their number is
    known."""
    total = 0
    for node in nodes:
        length = node.params.get("length") or 1
        steps = max(length.estimate if type(length) is Dim else length, 1)
        total += 1 + steps * sum(_written_out(body.nodes) for _, body in bodies_of(node))
    return total


def _row(structure: Any, columns: Sequence[Callable[[int], Any]], t: int) -> Any:
    """The object that a step appends, whose leaves `columns` answer for each."""
    return unflatten(structure, [element(t) for element in columns])


def _column(type: ArrayType, stacked: Any) -> Callable[[int], Any]:
    """The function that takes the element of a step, of a type, of what is stacked."""
    if type.form != "weak":
        return lambda t: stacked[t]
    convert = CONVERSIONS[PYTHON_TYPES[type.dtype.kind]]
    return lambda t: convert(stacked[t])
