"""Replacement of the steps of loops by nodes that own a body: `loop_search.py` has found them.

The nodes of the first step become the body. Results of steps that something else reads are results
of the loop, or rows of what it stacks; rows that are stacked or added again are the stacked array
or its sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.step_sizes import StepSizes
from tracejit.ir.subgraph import Subgraph, opened_params
from tracejit.ir.types import WEAK_TYPES, ArrayType
from tracejit.ops.base.creation import full
from tracejit.ops.control.control_flow import OWNERS, element_type
from tracejit.ops.elementwise.weak import BINARY_OPS
from tracejit.ops.shapes.joining import stack
from tracejit.support.cost_model import costs
from tracejit.trace.control_flow.loops import (
    LoopInputs,
    LoopRange,
    Side,
    emit_loop,
    placeholder,
    step_number,
)
from tracejit.trace.recording.record import Recording
from tracejit.trace.rerolling.inner_loops import InnerLoop, is_inner
from tracejit.trace.rerolling.loop_search import LoopSearch
from tracejit.trace.rerolling.moving_numbers import Moving, replaced
from tracejit.trace.rerolling.stacked_rows import StackedRow, part_of, slice_of, stretches_of
from tracejit.trace.rerolling.step_columns import Body
from tracejit.trace.rerolling.step_operands import Along, Carried, Column, Fixed, Inside, Listed
from tracejit.trace.tensor.tensor import Tensor


class Replacement:
    """The replacement of steps by loops."""

    def __init__(
        self,
        recording: Recording,
        search: LoopSearch,
        bodies: Sequence[Body],
        places: dict[Value, Value],
    ) -> None:
        """Nothing is replaced yet."""
        self.recording = recording
        self.search = search
        self.bodies = bodies
        self.places = places
        self.known: dict[Value, Value] = {}
        self.rows: dict[Value, StackedRow] = {}
        self.bodies_opened: dict[Any, Subgraph] = {}

    def run(self, start: int) -> None:
        """Replace the nodes of the graph from number `start` on, and the values that are held."""
        recording, search = self.recording, self.search
        graph = recording.graph
        nodes = search.nodes
        graph.cut(start)
        outside = [search.read_outside(body) for body in self.bodies]
        gone = np.zeros(len(nodes), dtype=bool)
        for body in self.bodies:
            gone[body.positions.ravel()] = True
            gone[body.extras] = True
        begins = {int(body.positions[0].min()): k for k, body in enumerate(self.bodies)}
        for number, node in enumerate(nodes):
            if number in begins:
                body = self.bodies[begins[number]]
                for extra in body.extras:
                    if search.needed[extra]:
                        self.keep(nodes[extra])
                self._emit(body, outside[begins[number]])
            if not gone[number] and search.needed[number]:
                self.keep(node)
        for value, now in self.places.items():
            self.places[value] = self.resolved(now)
        graph.cut(len(graph.nodes))
        # A node and its results hold each other. Long recordings are not left to the collector.
        kept = set(graph.nodes)
        for node in nodes:
            if node not in kept:
                node.operands = node.results = ()

    def keep(self, node: Node) -> None:
        """Put a node that is in no loop at the end of the graph."""
        if node.op is stack and self._is_stacked(node):
            return
        operands = self._all_resolved(node.operands)
        if operands != node.operands:
            node.params = self.opened(node, operands)
            node.operands = operands
        self.recording.graph.nodes.append(node)

    def opened(self, node: Node, operands: Sequence[Value]) -> dict[str, Any]:
        """The parameters of a node that is applied to other operands, which its bodies read."""
        if node.op.name not in OWNERS:
            return node.params
        return opened_params(self.recording.graph, node.params, operands, self.bodies_opened)

    def _all_resolved(self, values: Iterable[Value]) -> tuple[Value, ...]:
        return tuple([self.resolved(value) for value in values])

    def resolved(self, value: Value) -> Value:
        """A value, or what stands in its place; a row is read here."""
        found = self.known.get(value)
        if found is None:
            row = self.rows.get(value)
            if row is None:
                return value
            with self.recording.at(row.stacked._value.node.where):  # type: ignore[union-attr]
                element: Any = row.stacked[row.number]
            found = self.known[value] = element._value
            if value.is_named:
                found.take_name(value)
        return found

    def _is_stacked(self, node: Node) -> bool:
        """Let rows of a loop that are stacked anew be taken from the array that the loop stacks;
        whether that is what the node does."""
        rows = [self.rows.get(value) for value in node.operands]
        parts = stretches_of(rows)
        if max(len(part) for part in parts) < costs().least_rolled_steps:
            return False
        axis, made, at = node.params["axis"], [], 0
        with self.recording.at(node.where):
            for part in parts:
                row = rows[at]
                if row is not None and len(part) > 1:
                    made.append(np.moveaxis(part_of(row.stacked, part), 0, axis))
                else:
                    values = self._all_resolved(node.operands[at : at + len(part)])
                    made.append(stack(*[Tensor(one, self.recording) for one in values], axis=axis))
                at += len(part)
            whole: Any = made[0] if len(made) == 1 else np.concatenate(made, axis=axis)
        result = node.results[0]
        if whole.type is not result.type:
            return False
        self.known[result] = whole._value
        if result.is_named and whole._value.node is not None:
            whole._value.take_name(result)
        return True

    def _emit(self, body: Body, outside: dict[tuple[int, int], Value]) -> None:
        """Record the loop, and what it takes rows of."""
        _Emission(self, body, outside).run()


class _Emission:
    """The recording of one loop."""

    def __init__(
        self, around: Replacement, body: Body, outside: dict[tuple[int, int], Value]
    ) -> None:
        """Begin without inputs."""
        self.around = around
        self.recording = around.recording
        self.body = body
        self.outside = outside
        nodes = around.search.nodes
        self.pattern = [nodes[k] for k in body.positions[0].tolist()]
        self.step = step_number(self.recording)._value
        self.carried: list[Value] = []
        self.initial: list[Tensor] = []
        self.following: list[Value] = []
        self.sliced: list[Value] = []
        self.arrays: list[Tensor] = []
        self.inner: dict[Column, Value] = {}
        self.taken: dict[Value, Value] = {}
        self.nodes: list[Node] = []
        self.counts: dict[tuple[int, int], Value] = {}
        sizes_differ = body.sizes or (body.moving and around.search.word.sizes_differ)
        self.size = self._new_size() if sizes_differ else None

    def run(self) -> None:
        """Record the loop; know what stands for the results of its steps."""
        body, recording = self.body, self.recording
        where = self.pattern[body.kept[0]].where
        with recording.at(where):
            if self.around.search.adds_rows(body) and self._add_rows():
                return
            self._keep_rows()
            finals: list[tuple[int, int]] = []
            for one in body.carried:
                finals += self._carry(one)
            for number in body.kept:
                self._take_node(number)
            read = {key[1] for key in self.outside if key not in finals}
            slots = sorted(slot for slot in read if not self._is_row(slot))
            returned = [self.taken.get(value, value) for value in self.following]
            outputs = [*returned, *[self._result(slot) for slot in slots]]
            inputs = LoopInputs(self.carried, self.sliced, self.step)
            symbol = None if self.size is None else self.size.place
            steps = LoopRange(body.length, False, size=symbol)
            made = emit_loop(
                recording,
                "step",
                steps,
                inputs,
                Side(self.nodes, outputs),
                self.initial,
                self.arrays,
            )
        stacked = dict(zip(slots, made[len(self.carried) :], strict=True))
        last = dict(zip(finals, made, strict=False))
        for slot, tensor in stacked.items():
            value = self._result(slot)
            if tensor._value.node is not None and not tensor._value.is_named:
                tensor._value.derived = value, "_all"
        for (step, slot), value in self.outside.items():
            if slot in stacked:
                self.around.rows[value] = StackedRow(stacked[slot], step)
            if (step, slot) in last:
                result = last[step, slot]._value
                self.around.known[value] = result
                if value.is_named:
                    result.take_name(value)

    def _is_row(self, slot: int) -> bool:
        return self.body.column_of(slot) in self.body.rows

    def _result(self, slot: int) -> Value:
        """The result of the body."""
        column = self.body.column_of(slot)
        value: Value = self.pattern[column].results[slot - self.body.slots[column]]
        return self.taken.get(value, value)

    def _add_rows(self) -> bool:
        """Let the sum of all rows be one sum, if that has the same type."""
        ((_, rows),) = self.body.rows.items()
        (one,) = self.body.carried
        ((_, value),) = self.outside.items()
        total: Any = np.sum(self._sliced(rows), axis=0)
        whole = Tensor(self.around.resolved(one.initial[0]), self.recording) + total
        if whole.type is not value.type:
            return False
        self.around.known[value] = whole._value
        if value.is_named:
            whole._value.take_name(value)
        return True

    def _keep_rows(self) -> None:
        """Keep the nodes that take rows which something else reads."""
        nodes = self.around.search.nodes
        for step, slot in sorted(self.outside):
            if self._is_row(slot):
                self.around.keep(nodes[int(self.body.positions[step, self.body.column_of(slot)])])

    def _carry(self, one: Carried) -> list[tuple[int, int]]:
        """Inputs for a result of an earlier step; the steps whose results they are in the end."""
        column = self.body.column_of(one.slot)
        result = self.pattern[column].results[one.slot - self.body.slots[column]]
        distance = len(one.initial)
        following = result
        finals = []
        for number in range(distance):
            made = placeholder(self.recording, result.type, result.label)._value
            self.carried.append(made)
            self.following.append(following)
            initial = self.around.resolved(one.initial[distance - 1 - number])
            self.initial.append(self._promoted(initial, result.type))
            finals.append((self.body.length - 1 - number, one.slot))
            following = made
        self.inner[one] = following
        return finals

    def _promoted(self, initial: Value, type: ArrayType) -> Tensor:
        """The initial value of a carried one; a number as numbers of its type."""
        if initial.type is not type:
            assert isinstance(initial, Constant)
            number = type.dtype.type(initial.data)
            if type.shape:
                params = {"shape": type.shape, "fill": number.item(), "dtype": type.dtype}
                whole: Tensor = self.recording.record(full, (), params)
                return whole
            initial = self.recording.graph.constant(number)
        return Tensor(initial, self.recording)

    def _take_node(self, number: int) -> None:
        """Let the like of a node of the first step be in the body, or an element of what is
        sliced."""
        node = self.pattern[number]
        if number in self.body.rows:
            self.taken[node.results[0]] = self._element(self.body.rows[number], node.results[0])
            return
        operands = [self._operand(column, node) for column in self.body.operands[number]]
        params = self.around.opened(node, operands)
        moving = self.body.moving.get(number)
        if moving is not None and is_inner(node):
            assert self.size is not None
            inner = InnerLoop(self.recording.graph, moving, self.size, self._count)
            params, extra = inner.params(params)
            first = node.params["invariants"]
            operands[first:first] = extra
        elif moving is not None:
            params = self._moved(params, moving, operands)
        slot = self.body.slots[number]
        types = [self._type(value, slot + k) for k, value in enumerate(node.results)]
        made = Node(node.op, tuple(operands), params, types, node.where, 0, ())
        for old, new in zip(node.results, made.results, strict=True):
            new.label, new.derived = old.label, old.derived
            self.taken[old] = new  # a Tensor that stands for the old one may still be held
        self.nodes.append(made)

    def _new_size(self) -> Dim:
        """The number of the step, as sizes have it."""
        graph = self.recording.graph
        if graph.sizes is None:
            graph.sizes = StepSizes(self.recording)
        assert type(graph.sizes) is StepSizes
        return graph.sizes.step(self.body.length)

    def _type(self, value: Value, slot: int) -> ArrayType:
        """The type of a result in the body."""
        moving = self.body.sizes.get(slot)
        if moving is None:
            return value.type
        shape = [moving.size(axis, self.size) for axis in range(value.type.ndim)]
        return ArrayType(tuple(shape), value.type.dtype, value.type.form)

    def _moved(
        self, params: dict[str, Any], moving: Moving, operands: list[Value]
    ) -> dict[str, Any]:
        """Parameters whose numbers go on from step to step; those of an index are operands."""
        numbers = count()
        counts: list[Value] = []

        def entry(number: int) -> Any:
            k = next(numbers)
            if not moving.strides[k]:
                return number
            counts.append(self._count(moving.first[k], moving.strides[k]))
            return f"{{{len(counts)}}}"

        made = replaced(params, entry, lambda number: moving.size(next(numbers), self.size))
        operands[1:1] = counts
        return made

    def _operand(self, column: Column, node: Node) -> Value:
        if type(column) is Inside:
            return self._result(column.slot)
        if type(column) is Carried:
            return self.inner[column]
        if type(column) is Fixed:
            return self.around.resolved(column.value)
        if type(column) is Along:
            return self._element(column, None)
        assert type(column) is Listed
        return self._listed(column)

    def _element(self, rows: Along, value: Value | None) -> Value:
        """The input that is one row of an array after the other."""
        known = self.inner.get(rows)
        if known is not None:
            return known
        sliced = self._sliced(rows)
        return self._slice(rows, sliced, element_type(sliced.type), value)

    def _sliced(self, rows: Along) -> Any:
        """The rows as an array, in the order of the steps."""
        array: Any = Tensor(self.around.resolved(rows.array), self.recording)
        entries = [*rows.entries]
        axis = sum(entry is not None for entry in entries[: rows.place])
        size = array.shape[axis]
        first = entries[rows.place] % size
        entries[rows.place] = slice_of(first, rows.stride, self.body.length, size)
        items = [slice(*one[1:]) if type(one) is tuple else one for one in entries]
        sliced: Any = array if items == [slice(None)] else array[tuple(items)]
        ahead = sum(type(one) is slice or one is None for one in items[: rows.place])
        return np.moveaxis(sliced, ahead, 0) if ahead else sliced

    def _slice(self, key: Column, array: Tensor, type: ArrayType, value: Value | None) -> Value:
        label = value.label if value is not None else ""
        made = self.inner[key] = placeholder(self.recording, type, label)._value
        self.sliced.append(made)
        self.arrays.append(array)
        return made

    def _listed(self, column: Listed) -> Value:
        """The input that is one constant after the other; integers that go on by one number are
        computed from the number of the step."""
        known = self.inner.get(column)
        if known is not None:
            return known
        data = [constant.data for constant in column.constants]
        type = column.constants[0].type
        if column.stride is not None:
            made = self.inner[column] = self._count(data[0], column.stride)
            return made
        table = self.recording.graph.constant(np.array(data, dtype=type.dtype))
        return self._slice(column, Tensor(table, self.recording), type, None)

    def _count(self, first: int, stride: int) -> Value:
        """A number that begins as `first` and goes on by `stride`, as nodes of the body."""
        if (first, stride) not in self.counts:
            found = self.step
            if stride != 1:
                found = self._computed("*", found, stride)
            if first:
                found = self._computed("+", found, first)
            self.counts[first, stride] = found
        return self.counts[first, stride]

    def _computed(self, symbol: str, left: Value, right: int) -> Value:
        operands = left, self.recording.graph.constant(right)
        where = self.recording.where
        node = Node(BINARY_OPS[symbol], operands, {}, (WEAK_TYPES[int],), where, 0, ())
        self.nodes.append(node)
        return node.results[0]
