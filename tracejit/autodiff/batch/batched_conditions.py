"""Batching of conditions: a condition whose sides are batched, where the choice is the same for all
elements; where it differs, each side is computed for all elements, and `np.where` chooses.

A side that may do harm is computed only if an element takes it. Each element that does not is
replaced by the first that does. So the side neither raises, warns nor runs for ever because of
elements that do not take it, and their nan reach no derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tracejit.ir.graph import Constant, Node, Value, replace_values
from tracejit.ir.subgraph import Subgraph
from tracejit.ops.control.branches import may_raise
from tracejit.ops.control.marker_ops import OVERRIDE, Marker, stop
from tracejit.trace.control_flow.conditions import emit_condition, record_side, zeros
from tracejit.trace.control_flow.loops import Side, take_out
from tracejit.trace.tensor.tensor import Tensor


class BatchedCondition:
    """A condition for a whole batch."""

    def __init__(
        self, batch: Any, node: Node, moved: Sequence[bool], operands: Sequence[Any]
    ) -> None:
        """The condition `node`, applied to `operands`, which have the batch where they are
        `moved`."""
        self.batch = batch
        self.recording = batch.recording
        self.node = node
        self.moved = moved
        self.operands = operands

    def results(self) -> list[Any]:
        """The results with the batch in front; None if they are the same for all elements, and
        the condition for one element has them."""
        bodies: Sequence[Subgraph] = self.node.params["bodies"]
        if self.moved[0]:
            computed = [self._guarded(number) for number in range(len(bodies))]
            return [self._selected(column) for column in zip(*computed, strict=True)]
        start = len(self.recording.graph.nodes)
        wholes = [self._wholes(body) for body in bodies]
        take_out(self.recording, start)
        replaces = self.batch.is_in_body or self.node.op.effect  # no node for one element is left
        columns = zip(*wholes, strict=True)
        differing = [replaces or any(x is not None for x in column) for column in columns]
        kept = [k for k, differs in enumerate(differing) if differs]
        around: dict[Value, Any] = {}
        sides = []
        for body in bodies:
            around.update(zip(body.inputs, self.operands[1:], strict=True))
            made = record_side(self.recording, partial(self._outputs, body, kept))
            same = [node for node in body.nodes if not node.op.effect]
            sides.append(Side([*same, *made.nodes], made.outputs))
        name = bodies[0].name
        found = iter(emit_condition(self.recording, name, self.operands[0], sides, around))
        return [next(found) if differs else None for differs in differing]

    def _inside(self, body: Subgraph, mask: Any = None) -> Any:
        """The batch inside a side, after its nodes have been recorded for all elements; those
        outside of a `mask` have no part in it."""
        inner = self.batch.nested()
        pairs = zip(body.inputs, self.operands[1:], self.moved[1:], strict=True)
        wholes = {value: whole for value, whole, there in pairs if there}
        if mask is not None:
            wholes = {value: guarded(mask, whole) for value, whole in wholes.items()}
        inner.known.update((value, whole._value) for value, whole in wholes.items())
        inner.extend(body.nodes)
        return inner

    def _wholes(self, body: Subgraph) -> list[Tensor | None]:
        inner = self._inside(body)
        return [inner.whole(Tensor(value, self.recording)) for value in body.outputs]

    def _outputs(self, body: Subgraph, kept: Sequence[int], mask: Any = None) -> list[Any]:
        """The results `kept` of a side for all elements."""
        inner = self._inside(body, mask)
        return [inner.everywhere(Tensor(body.outputs[k], self.recording)) for k in kept]

    def _guarded(self, number: int) -> list[Any]:
        """The results of a side for all elements; for none that does not take it, if that may do
        harm."""
        bodies = self.node.params["bodies"]
        body = bodies[number]
        if is_harmless(body.nodes) or self.batch.size == 0 or len(bodies) == 1:
            return self._computed(body)
        mask = self._takes(number)
        taken = record_side(self.recording, partial(self._computed, body, mask))
        types = [value.type for value in taken.outputs]
        other = record_side(self.recording, lambda: [zeros(self.recording, x) for x in types])
        is_taken: Any = np.any(mask)
        return emit_condition(self.recording, body.name, is_taken, [taken, other])

    def _takes(self, number: int) -> Any:
        """The mask of the elements that take a side."""
        choice = self.operands[0]
        if choice.dtype.kind == "b":
            return np.logical_not(choice) if number else choice
        last = len(self.node.params["bodies"]) - 1
        if number in (0, last):
            return choice >= last if number else choice <= 0
        return choice == number

    def _computed(self, body: Subgraph, mask: Any = None) -> list[Any]:
        """The results of a side for all elements, computed where it is recorded."""
        recording = self.recording
        pairs = zip(body.inputs, self.operands[1:], self.moved[1:], strict=True)
        same = {value: operand._value for value, operand, there in pairs if not there}
        moving = {v for v, there in zip(body.inputs, self.moved[1:], strict=True) if there}
        for node in body.nodes:
            if node.op.effect or not moving.isdisjoint(node.operands):
                moving.update(node.results)
                continue
            operands = replace_values(node.operands, same)
            made = recording.copy(node, operands, node.where, node.region)
            same.update(zip(node.results, made.results, strict=True))
        with recording.substituting({**recording.substitutes, **same}):
            return self._outputs(body, range(len(body.outputs)), mask)

    def _selected(self, column: Sequence[Any]) -> Any:
        """One result of all sides, chosen for each element."""
        choice = self.operands[0]
        *others, found = column
        if choice.dtype.kind == "b":
            return chosen_by(choice, others[0], found)
        for number, one in reversed([*enumerate(others)]):
            found = chosen_by(choice <= number, one, found)
        return found


def guarded(mask: Any, whole: Any) -> Any:
    """The elements of `whole` where `mask` holds for one; elsewhere that of the first for which it
    does, which gets no derivative from there."""
    if whole.type.form != "array":
        return whole
    first = whole[np.argmax(mask)]
    if first.type.is_inexact:
        first = OVERRIDE(first, outputs=1, grad=Marker("stop_gradient", "", stop))
    return chosen_by(mask, whole, first)


def is_harmless(nodes: Sequence[Node]) -> bool:
    """Return whether nodes can be computed for any number: they are linear, so that they do not
    raise, and a derivative of zero stays one."""
    return all(
        not may_raise(node)
        and (
            node.op.linear_in == "jointly"
            or (node.op.linear_in == "each" and any(isinstance(x, Constant) for x in node.operands))
            or (node.op.elementwise and node.results[0].type.dtype.kind == "b")
        )
        for node in nodes
    )


def chosen_by(mask: Any, first: Any, second: Any) -> Any:
    """The elements of `first` where `mask` holds, and of `second` elsewhere."""
    missing = tuple(range(mask.ndim, first.ndim))
    return np.where(np.expand_dims(mask, missing) if missing else mask, first, second)
