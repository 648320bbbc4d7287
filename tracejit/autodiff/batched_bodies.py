"""Batching of loops and conditions: the node for a whole batch, whose bodies are batched in their
turn.

A value that a loop carries has the batch in front where any step gives it one; what differs between
elements in no step stays a result of the loop for one element. Where the condition of a loop
differs, the loop goes on until it holds for no element; where the number of steps differs, it takes
the largest. Elements that are done keep their values, by `np.where`. Where the choice of a
condition differs, all sides are computed for all elements, and `np.where` chooses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from tracejit.ir.graph import Node, Value, replace_values
from tracejit.ir.subgraph import Subgraph
from tracejit.ir.types import HANDLE, ArrayType
from tracejit.ops.control_flow import While, is_condition, loop_inputs
from tracejit.trace.conditions import emit_condition, record_side
from tracejit.trace.loops import (
    LoopInputs,
    LoopRange,
    Side,
    emit_loop,
    emit_while,
    placeholder,
    take_out,
)
from tracejit.trace.tensor import Tensor

Results = Sequence[Any]
"""The results of a node for the whole batch; None where the node for one element has them."""


def batched_node(batch: Any, node: Node, moved: Sequence[bool], operands: Sequence[Any]) -> Results:
    """The results of a loop or condition whose operands are `moved` where they have the batch."""
    kind = BatchedCondition if is_condition(node) else BatchedLoop
    return kind(batch, node, moved, operands).results()


class _Batched:
    """A node that owns bodies, for a whole batch."""

    def __init__(
        self, batch: Any, node: Node, moved: Sequence[bool], operands: Sequence[Any]
    ) -> None:
        """The node for a batch, applied to `operands`."""
        self.batch = batch
        self.recording = batch.recording
        self.node = node
        self.moved = moved
        self.operands = operands

    def _inside(self, body: Subgraph, known: Mapping[Value, Value]) -> Any:
        """The batch inside a body, of which `known` are the values with the batch so far, after its
        nodes have been recorded for all elements."""
        inner = self.batch.nested(known)
        inner.extend(body.nodes)
        return inner

    def _is_moved(self, columns: Sequence[Any]) -> bool:
        """Return whether a result has the batch: what has an effect is done for all."""
        return self.node.op.effect or any(one is not None for one in columns)

    @staticmethod
    def _unbatched(body: Subgraph) -> list[Node]:
        """The nodes of a body that may stay as they are: effects take place for all elements."""
        return [node for node in body.nodes if not node.op.effect]


class BatchedLoop(_Batched):
    """A loop for a whole batch."""

    def results(self) -> Results:
        """The results with the batch in front."""
        recording, params = self.recording, self.node.params
        body: Subgraph = params["body"]
        inputs, count = loop_inputs(self.node), params["carried"]
        first = params["invariants"]
        self.around = dict(zip(body.inputs, self.operands, strict=False))
        carried = {k for k in range(count) if self.moved[first + k]}
        is_masked = self._is_masked(carried)
        while True:
            start = len(recording.graph.nodes)
            if is_masked:
                carried = set(range(count))
            known = self._known(carried)
            inner = self._inside(body, known)
            wholes = [inner.whole(Tensor(value, recording)) for value in body.outputs]
            new = {k for k in range(count) if wholes[k] is not None} - carried
            if not new and is_masked == (is_masked or self._is_masked(carried)):
                break
            take_out(recording, start)
            carried |= new
            is_masked = is_masked or self._is_masked(carried)
        new_inputs = LoopInputs(
            [known.get(value, value) for value in inputs.carried],
            [known.get(value, value) for value in inputs.sliced],
            body.inputs[-1],
        )
        outputs: list[Any] = []
        for k, value in enumerate(body.outputs):
            one = Tensor(value, recording)
            is_moved = k in carried if k < count else self._is_moved([wholes[k]])
            outputs.append(inner.everywhere(one) if is_moved else one)
        if is_masked:
            going = self._going(known)
            for k, value in enumerate(new_inputs.carried):
                outputs[k] = _chosen(going, outputs[k], Tensor(value, recording))
        made = take_out(recording, start)
        step = Side([*self._unbatched(body), *made], [x._value for x in outputs])
        initial = [
            self._whole(first + k) if k in carried else self.operands[first + k]
            for k in range(count)
        ]
        found = self._emitted(new_inputs, step, initial, known, is_masked)
        return [
            self._in_front(found[k], value)
            if (k in carried if k < count else self._is_moved([wholes[k]]))
            else None
            for k, value in enumerate(body.outputs)
        ]

    def _known(self, carried: set[int]) -> dict[Value, Value]:
        """What the inputs of the body are for the whole batch, where they have it."""
        inputs, first = loop_inputs(self.node), self.node.params["invariants"]
        known = {
            value: operand._value
            for value, operand, there in zip(
                inputs.invariants, self.operands, self.moved, strict=False
            )
            if there
        }
        moving = [inputs.carried[k] for k in sorted(carried)]
        second = first + len(inputs.carried)
        moving += [v for v, there in zip(inputs.sliced, self.moved[second:], strict=False) if there]
        for value in moving:
            type = ArrayType((self.batch.size, *value.type.shape), value.type.dtype)
            if value.type.form == "list":
                type = type.with_form("list")
            known[value] = placeholder(self.recording, type, value.label)._value
        return known

    def _is_masked(self, carried: set[int]) -> bool:
        """Return whether some elements are done before others."""
        if not isinstance(self.node.op, While):
            return len(self.moved) == len(self.node.params["body"].inputs) and self.moved[-1]
        start = len(self.recording.graph.nodes)
        differs = self._test(self._known(carried))[0]
        take_out(self.recording, start)
        return differs

    def _test(self, known: Mapping[Value, Value]) -> tuple[bool, Any]:
        """The condition of the loop, and whether it differs between elements."""
        condition: Subgraph = self.node.params["condition"]
        mine = dict(zip(self.node.params["body"].inputs, condition.inputs, strict=True))
        inner = self._inside(condition, {mine[value]: whole for value, whole in known.items()})
        one = Tensor(condition.outputs[0], self.recording)
        whole = inner.whole(one)
        return whole is not None, one if whole is None else whole

    def _going(self, known: Mapping[Value, Value]) -> Any:
        """Where elements take this step."""
        if isinstance(self.node.op, While):
            return self._test(known)[1]
        step: Any = Tensor(self.node.params["body"].inputs[-1], self.recording)
        return step < self.operands[-1]

    def _whole(self, place: int) -> Any:
        """An operand with the batch in front."""
        operand: Any = self.operands[place]
        if self.moved[place]:
            return operand
        return np.broadcast_to(operand, (self.batch.size, *operand.shape))

    def _emitted(
        self,
        inputs: LoopInputs,
        step: Side,
        initial: Sequence[Any],
        known: Mapping[Value, Value],
        is_masked: bool,
    ) -> list[Tensor]:
        recording, params = self.recording, self.node.params
        body: Subgraph = params["body"]
        if isinstance(self.node.op, While):
            condition: Subgraph = params["condition"]

            def test() -> list[Any]:
                differs, found = self._test(known)
                return [np.any(found) if differs else found]

            made = record_side(recording, test)
            whole = Side([*self._unbatched(condition), *made.nodes], made.outputs)
            return emit_while(recording, body.name, inputs, whole, step, initial, self.around)
        first = params["invariants"] + params["carried"]
        sliced = []
        for place in range(first, len(body.inputs) - 1):
            operand = self.operands[place]
            is_array = self.moved[place] and operand.type.form != "list"
            sliced.append(np.moveaxis(operand, 0, 1) if is_array else operand)
        number: Any = self.operands[-1] if params["length"] is None else None
        number = np.max(number) if is_masked else number
        steps = LoopRange(params["length"], params["reverse"], number)
        return emit_loop(recording, body.name, steps, inputs, step, initial, sliced, self.around)

    def _in_front(self, found: Any, value: Value) -> Any:
        """A result with the batch in front: the rows of a stacked array have it."""
        is_stack = found.type.form == "array" and found.ndim > value.type.ndim + 1
        return np.moveaxis(found, 1, 0) if is_stack else found


class BatchedCondition(_Batched):
    """A condition for a whole batch."""

    def results(self) -> Results:
        """The results with the batch in front."""
        bodies: Sequence[Subgraph] = self.node.params["bodies"]
        if self.moved[0]:
            computed = [self._computed(body) for body in bodies]
            return [self._selected(column) for column in zip(*computed, strict=True)]
        around: dict[Value, Any] = {}
        wholes = []
        for body in bodies:
            around.update(zip(body.inputs, self.operands[1:], strict=True))
            start = len(self.recording.graph.nodes)
            inner = self._inside(body, self._known(body))
            wholes.append([inner.whole(Tensor(v, self.recording)) for v in body.outputs])
            take_out(self.recording, start)
        is_moved = [self._is_moved(column) for column in zip(*wholes, strict=True)]
        kept = [k for k, there in enumerate(is_moved) if there]

        def outputs(body: Subgraph) -> list[Any]:
            inner = self._inside(body, self._known(body))
            return [inner.everywhere(Tensor(body.outputs[k], self.recording)) for k in kept]

        sides = []
        for body in bodies:
            made = record_side(self.recording, partial(outputs, body))
            sides.append(Side([*self._unbatched(body), *made.nodes], made.outputs))
        name = bodies[0].name
        found = emit_condition(self.recording, name, self.operands[0], sides, around)
        results: list[Any] = [None] * len(is_moved)
        for k, result in zip(kept, found, strict=True):
            results[k] = result
        return results

    def _known(self, body: Subgraph) -> dict[Value, Value]:
        """What the inputs of a side are for the whole batch, where they have it."""
        pairs = zip(body.inputs, self.operands[1:], self.moved[1:], strict=True)
        return {value: operand._value for value, operand, there in pairs if there}

    def _computed(self, body: Subgraph) -> list[Any]:
        """The results of a side for all elements, computed in the graph."""
        recording = self.recording
        pairs = zip(body.inputs, self.operands[1:], self.moved[1:], strict=True)
        same = {value: operand._value for value, operand, there in pairs if not there}
        known = self._known(body)
        moving = set(known)
        for node in body.nodes:
            if not node.op.effect and moving.isdisjoint(node.operands):
                made = recording.copy(
                    node, replace_values(node.operands, same), node.where, node.region
                )
                same.update(zip(node.results, made.results, strict=True))
            else:
                moving.update(node.results)
        with self._substituting(same):
            inner = self._inside(body, known)
            return [inner.everywhere(Tensor(value, recording)) for value in body.outputs]

    @contextmanager
    def _substituting(self, same: Mapping[Value, Value]) -> Iterator[None]:
        """Let other values stand for those of a side that are the same for all elements."""
        outer = self.recording.substitutes
        with self.recording.substituting({**outer, **same}):
            yield

    def _selected(self, column: Sequence[Any]) -> Any:
        """One result of all sides, chosen for each element."""
        choice = self.operands[0]
        *others, found = column
        if choice.dtype.kind == "b":
            return _chosen(choice, others[0], found)
        for number, one in reversed([*enumerate(others)]):
            found = _chosen(choice <= number, one, found)
        return found


def _chosen(mask: Any, first: Any, second: Any) -> Any:
    """The elements of `first` where `mask` holds, and of `second` elsewhere."""
    if first.type is HANDLE:
        return first
    missing = tuple(range(1, first.ndim))
    return np.where(np.expand_dims(mask, missing) if missing else mask, first, second)
