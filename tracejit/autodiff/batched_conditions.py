"""Batching of conditions: a condition whose sides are batched, where the choice is the same for all
elements; where it differs, all sides are computed for all elements, and `np.where` chooses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tracejit.ir.graph import Node, Value, replace_values
from tracejit.ir.subgraph import Subgraph
from tracejit.trace.conditions import emit_condition, record_side
from tracejit.trace.loops import Side, take_out
from tracejit.trace.tensor import Tensor


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
        """The results with the batch in front; None where they are the same for all elements, and
        the condition for one element has them."""
        bodies: Sequence[Subgraph] = self.node.params["bodies"]
        if self.moved[0]:
            computed = [self._computed(body) for body in bodies]
            return [self._selected(column) for column in zip(*computed, strict=True)]
        start = len(self.recording.graph.nodes)
        wholes = [self._wholes(body) for body in bodies]
        take_out(self.recording, start)
        is_effect = self.node.op.effect  # which takes place for all elements
        columns = zip(*wholes, strict=True)
        differing = [is_effect or any(x is not None for x in column) for column in columns]
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

    def _inside(self, body: Subgraph) -> Any:
        """The batch inside a side, after its nodes have been recorded for all elements."""
        inner = self.batch.nested()
        pairs = zip(body.inputs, self.operands[1:], self.moved[1:], strict=True)
        inner.known.update((value, whole._value) for value, whole, there in pairs if there)
        inner.extend(body.nodes)
        return inner

    def _wholes(self, body: Subgraph) -> list[Tensor | None]:
        inner = self._inside(body)
        return [inner.whole(Tensor(value, self.recording)) for value in body.outputs]

    def _outputs(self, body: Subgraph, kept: Sequence[int]) -> list[Any]:
        """The results `kept` of a side for all elements."""
        inner = self._inside(body)
        return [inner.everywhere(Tensor(body.outputs[k], self.recording)) for k in kept]

    def _computed(self, body: Subgraph) -> list[Any]:
        """The results of a side for all elements, computed in the graph."""
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
            return self._outputs(body, range(len(body.outputs)))

    def _selected(self, column: Sequence[Any]) -> Any:
        """One result of all sides, chosen for each element."""
        choice = self.operands[0]
        *others, found = column
        if choice.dtype.kind == "b":
            return chosen_by(choice, others[0], found)
        for number, one in reversed([*enumerate(others)]):
            found = chosen_by(choice <= number, one, found)
        return found


def chosen_by(mask: Any, first: Any, second: Any) -> Any:
    """The elements of `first` where `mask` holds, and of `second` elsewhere."""
    missing = tuple(range(mask.ndim, first.ndim))
    return np.where(np.expand_dims(mask, missing) if missing else mask, first, second)
