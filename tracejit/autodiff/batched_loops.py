"""Batching of loops: the loop for a whole batch is one loop, whose body is batched.

Which carried values differ between the elements is found first: those that begin so, and all that
depend on them in whatever step. The body is then recorded for all elements on placeholders for
these, by a batch of its own. What is the same for all elements stays as it was recorded.

Steps are along the first axis of what is sliced and stacked, and the batch along the second.
A loop that extends another is batched as an extension of what that has become.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ir.location import NOWHERE
from tracejit.ir.subgraph import Subgraph, dependents, needed_for, values_around
from tracejit.ir.types import ArrayType
from tracejit.ops.control_flow import loop_inputs
from tracejit.trace.loops import placeholder, results_of, take_out
from tracejit.trace.record import Recording
from tracejit.trace.tensor import Tensor


class BatchedBody(NamedTuple):
    """A body for all elements, what the values of the body for one have become in it, and the
    operands of its loop."""

    body: Subgraph
    known: dict[Value, Value]
    operands: Sequence[Any]


class BatchedLoops:
    """The loops of one batch of `size` elements; `nested` makes a batch for the body of one."""

    def __init__(self, recording: Recording, size: int, nested: Callable[[], Any]) -> None:
        """Begin with no loop."""
        self.recording = recording
        self.size = size
        self.nested = nested
        self._bodies: dict[tuple[Subgraph | None, tuple[Value, ...]], BatchedBody] = {}

    def has_base_of(self, node: Node) -> bool:
        """Return whether the loop that `node` extends was batched."""
        return (node.params["body"].base, node.operands) in self._bodies

    def results(
        self, node: Node, moved: Sequence[bool], operands: Sequence[Any]
    ) -> list[Tensor | None]:
        """The results for all elements; None where they are the same for all, and the loop for one
        element has them."""
        body: Subgraph = node.params["body"]
        batched = self._bodies.get((body.base, node.operands))
        if batched is None:
            batched = self._batched(node, moved, operands)
        else:
            batched = batched._replace(body=self._extended(node, batched))
        self._bodies[body, node.operands] = batched
        invariants = len(batched.body.inputs) - len(body.inputs) + node.params["invariants"]
        params = {**node.params, "body": batched.body, "invariants": invariants}
        found = results_of(node.op(*batched.operands, **params))
        carried = loop_inputs(node).carried
        values = [*carried, *body.outputs[len(carried) :]]
        return [
            self._result(result, value in batched.known, k >= len(carried), node.op.effect)
            for k, (result, value) in enumerate(zip(found, values, strict=True))
        ]

    def _result(self, result: Any, differs: bool, is_stacked: bool, is_wanted: bool) -> Any:
        """A result of the batched loop with the batch in front."""
        with self.recording.at(NOWHERE):  # no line of the user's is about the batch
            if differs:
                return np.moveaxis(result, 1, 0) if is_stacked else result
            return np.broadcast_to(result, (self.size, *result.shape)) if is_wanted else None

    def _extended(self, node: Node, batched: BatchedBody) -> Subgraph:
        """The body of a loop that extends one that was batched."""
        base, count = batched.body, node.params["carried"]
        rows = [batched.known.get(v, v) for v in node.params["body"].outputs[count:]]
        outputs = [*base.outputs[:count], *rows]
        return Subgraph(base.parent, base.name, base.inputs, base.nodes, outputs, base)

    def _batched(self, node: Node, moved: Sequence[bool], operands: Sequence[Any]) -> BatchedBody:
        """The body of a loop for all elements, and what that loop is applied to."""
        recording = self.recording
        body: Subgraph = node.params["body"]
        first, count = node.params["invariants"], node.params["carried"]
        differing = _differing(body, moved, first, count)
        batch = self.nested()
        pairs = list(zip(body.inputs, operands, strict=False))
        batch.known.update((v, x._value) for v, x in pairs[:first] if v in differing)
        start = len(recording.graph.nodes)
        inputs = [self._input(value, batch.known, differing) for value, _ in pairs[first:]]
        inputs.append(body.inputs[-1])
        batch.extend(body.nodes)
        outputs = [
            self._next(batch, out, value) if value in differing else out
            for out, value in zip(body.outputs, body.inputs[first : first + count], strict=False)
        ]
        outputs += [batch.known.get(value, value) for value in body.outputs[count:]]
        inside = [value for each in body.nodes for value in each.results]
        made = take_out(recording, start, [*inputs, *inside])
        same = [each for each in body.nodes if batch.known.keys().isdisjoint(each.results)]
        nodes = needed_for([*outputs, *batch.known.values()], [*same, *made], inputs)
        fixed = values_around(nodes, outputs, inputs)
        around: dict[Value, Any] = {v: x for v, x in pairs[:first] if v not in differing}
        arguments = [around.get(value, Tensor(value, recording)) for value in fixed]
        with recording.at(NOWHERE):
            arguments += [
                self._initial(x, value, is_moved) if value in differing else x
                for (value, x), is_moved in zip(
                    pairs[first : first + count], moved[first:], strict=False
                )
            ]
            arguments += [
                np.moveaxis(x, 0, 1) if value in differing else x
                for value, x in pairs[first + count :]
            ]
        whole = Subgraph(recording.graph, body.name, [*fixed, *inputs], nodes, outputs)
        return BatchedBody(whole, batch.known, arguments)

    def _input(self, value: Value, known: dict[Value, Value], differing: set[Value]) -> Value:
        """The input of the body that stands for a carried value or an element."""
        if value not in differing:
            return value
        found = placeholder(self.recording, self._type(value))._value
        found.label, found.derived = value.label, value.derived
        known[value] = found
        return found

    def _type(self, value: Value) -> ArrayType:
        return ArrayType((self.size, *value.type.shape), value.type.dtype)

    def _next(self, batch: Any, out: Value, value: Value) -> Value:
        """The next carried value for all elements."""
        found: Value = batch.everywhere(Tensor(out, self.recording))._value
        return found

    def _initial(self, x: Any, value: Value, is_moved: bool) -> Any:
        """An initial value for all elements."""
        return x if is_moved else np.broadcast_to(x, (self.size, *x.shape))


def _differing(body: Subgraph, moved: Sequence[bool], first: int, count: int) -> set[Value]:
    """The inputs of a body that differ between the elements in some step."""
    inputs, carried = body.inputs[:-1], body.inputs[first : first + count]
    found = {value for value, is_moved in zip(inputs, moved, strict=True) if is_moved}
    while True:
        within = found.union(
            value for node in dependents(body.nodes, found) for value in node.results
        )
        pairs = zip(carried, body.outputs, strict=False)
        new = {value for value, out in pairs if out in within} - found
        if not new:
            return found
        found |= new
