"""Batching of loops: the loop for a whole batch is one loop, whose body is batched.

Which carried values differ between the elements is found first: those that begin so, and all that
depend on them in whatever step. The body is then recorded for all elements on placeholders for
these, by a batch of its own. What is the same for all elements stays as it was recorded.

Steps are along the first axis of what is sliced and stacked, and the batch along the second.
A loop that extends another is batched as an extension of what that has become.

Where the condition of a loop differs between the elements, the loop goes on until it holds for
none; where the number of steps differs, it is the largest. Elements that are done keep what they
have, by `np.where`. In a step that may do harm, such an element is replaced by one that is not
done, as in the side of a condition that it does not take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.autodiff.batch.batched_conditions import chosen_by, guarded, is_harmless
from tracejit.ir.graph import Node, Value
from tracejit.ir.location import NOWHERE
from tracejit.ir.subgraph import Subgraph, dependents, needed_for, values_around
from tracejit.ir.types import ArrayType
from tracejit.ops.control.control_flow import loop_inputs
from tracejit.trace.control_flow.loops import Side, most_of, placeholder, results_of, take_out
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor


class BatchedBody(NamedTuple):
    """A body for all elements, what the values of the body for one have become in it, and the
    operands of its loop; the condition of the loop, if it has one."""

    body: Subgraph
    known: dict[Value, Value]
    operands: Sequence[Any]
    condition: Subgraph | None


class BatchedLoops:
    """The loops of one batch of `size` elements; `nested` makes a batch for the body of one."""

    def __init__(
        self, recording: Recording, size: int, nested: Callable[[], Any], is_in_body: bool
    ) -> None:
        """Begin with no loop. Where this is in the body of another loop, which is itself batched,
        no loop for one element is left."""
        self.recording = recording
        self.size = size
        self.nested = nested
        self.is_in_body = is_in_body
        self._bodies: dict[tuple[Subgraph | None, tuple[Value, ...]], BatchedBody] = {}

    def has_base_of(self, node: Node) -> bool:
        """Return whether the loop that `node` extends was batched."""
        return (node.params["body"].base, node.operands) in self._bodies

    def results(
        self, node: Node, moved: Sequence[bool], operands: Sequence[Any]
    ) -> list[Tensor | None]:
        """The results for all elements; None if they are the same for all, and the loop for one
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
        if batched.condition is not None:
            params["condition"] = batched.condition
        found = results_of(node.op(*batched.operands, **params))
        replaces = self.is_in_body or node.op.effect
        carried = loop_inputs(node).carried
        values = [*carried, *body.outputs[len(carried) :]]
        return [
            self._result(result, value in batched.known, k >= len(carried), replaces)
            for k, (result, value) in enumerate(zip(found, values, strict=True))
        ]

    def _result(self, result: Any, differs: bool, is_stacked: bool, replaces: bool) -> Any:
        """A result of the batched loop with the batch in front."""
        with self.recording.at(NOWHERE):  # no line of the user's is about the batch
            if result.type.form == "list":
                return result if differs else None
            if differs:
                return np.moveaxis(result, 1, 0) if is_stacked else result
            return np.broadcast_to(result, (self.size, *result.shape)) if replaces else None

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
        test: Subgraph | None = node.params.get("condition")
        first, count = node.params["invariants"], node.params["carried"]
        carried = body.inputs[first : first + count]
        replaces = self.is_in_body or node.op.effect
        differing, is_masked = _differing(
            node, moved, replaces and node.params.get("length") is None
        )
        batch = self.nested()
        pairs = list(zip(body.inputs[:-1], operands, strict=False))
        batch.known.update((v, x._value) for v, x in pairs[:first] if v in differing)
        start = len(recording.graph.nodes)
        inputs = [self._input(value, batch.known, differing) for value, _ in pairs[first:]]
        inputs.append(body.inputs[-1])
        state = dict(batch.known)
        tests = self.nested()
        tests.known.update(state)
        if is_masked:
            going = self._going(node, operands, tests)
            if self.size != 0 and not is_harmless(body.nodes):
                wholes = zip(state, self._tensors(*state.values()), strict=True)
                batch.known.update((value, guarded(going, x)._value) for value, x in wholes)
        batch.extend(body.nodes)
        outputs = [
            self._next(batch, out, value) if value in differing else out
            for out, value in zip(body.outputs, carried, strict=False)
        ]
        if is_masked:
            outputs = [
                chosen_by(going, *self._tensors(out, state[value]))._value
                for out, value in zip(outputs, carried, strict=True)
            ]
        outputs += [batch.known.get(value, value) for value in body.outputs[count:]]
        originals = [*body.nodes, *(test.nodes if test is not None else ())]
        inside = [value for each in originals for value in each.results]
        given = [*inputs, *inside] if test is None else None
        made = take_out(recording, start, given, node.params.get("size"))
        same = [
            each
            for each in originals
            if (batch.known.keys() | tests.known.keys()).isdisjoint(each.results)
        ]
        nodes = needed_for([*outputs, *batch.known.values()], [*same, *made], inputs)
        bodies = [Side(nodes, outputs)]
        if test is not None:
            bodies.append(self._test(test, tests.known, inputs, is_masked))
        fixed = values_around(
            [each for side in bodies for each in side.nodes],
            [value for side in bodies for value in side.outputs],
            inputs,
        )
        around: dict[Value, Any] = {v: x for v, x in pairs[:first] if v not in differing}
        arguments = [around.get(value, Tensor(value, recording)) for value in fixed]
        with recording.at(NOWHERE):
            arguments += [
                self._initial(x, is_moved) if value in differing else x
                for (value, x), is_moved in zip(
                    pairs[first : first + count], moved[first:], strict=False
                )
            ]
            arguments += [
                np.moveaxis(x, 0, 1) if value in differing and x.type.form != "list" else x
                for value, x in pairs[first + count :]
            ]
            arguments += [most_of(x) if is_masked else x for x in operands[len(pairs) :]]
        whole, *conditions = [
            Subgraph(recording.graph, body.name, [*fixed, *inputs], *side) for side in bodies
        ]
        return BatchedBody(whole, batch.known, arguments, *(conditions or (None,)))

    def _going(self, node: Node, operands: Sequence[Any], tests: Any) -> Any:
        """The mask of the elements that take a step, of which some are done."""
        if "condition" not in node.params:
            step: Any = Tensor(node.params["body"].inputs[-1], self.recording)
            return step < operands[-1]
        test: Subgraph = node.params["condition"]
        tests.extend(test.nodes)
        return tests.whole(Tensor(test.outputs[0], self.recording))

    def _test(
        self,
        test: Subgraph,
        known: dict[Value, Value],
        inputs: Sequence[Value],
        is_masked: bool,
    ) -> Side:
        """The condition of a loop for all elements: that it holds for one."""
        if not is_masked:
            return Side(test.nodes, test.outputs)
        recording = self.recording
        start = len(recording.graph.nodes)
        batch = self.nested()
        batch.known.update((value, known[value]) for value in test.inputs if value in known)
        batch.extend(test.nodes)
        found: Any = np.any(batch.whole(Tensor(test.outputs[0], recording)))
        same = [each for each in test.nodes if batch.known.keys().isdisjoint(each.results)]
        outputs = [found._value]
        return Side(needed_for(outputs, [*same, *take_out(recording, start)], inputs), outputs)

    def _tensors(self, *values: Value) -> list[Tensor]:
        return [Tensor(value, self.recording) for value in values]

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

    def _initial(self, x: Any, is_moved: bool) -> Any:
        """An initial value for all elements."""
        return x if is_moved else np.broadcast_to(x, (self.size, *x.shape))


def _differing(node: Node, moved: Sequence[bool], is_whole: bool) -> tuple[set[Value], bool]:
    """The inputs of a body that differ between the elements in some step; whether some elements are
    done before others, so that all that is carried differs. So it does if the lists that may be
    stacked of it are to replace those for one element (`is_whole`)."""
    body: Subgraph = node.params["body"]
    test: Subgraph | None = node.params.get("condition")
    first, count = node.params["invariants"], node.params["carried"]
    carried = body.inputs[first : first + count]
    found = {v for v, is_moved in zip(body.inputs[:-1], moved, strict=False) if is_moved}
    is_masked = len(moved) == len(body.inputs) and moved[-1]
    while True:
        found.update(carried if is_masked or is_whole else ())
        within = _reached(body.nodes, found)
        new = {v for v, out in zip(carried, body.outputs, strict=False) if out in within} - found
        if test is not None and not is_masked:
            is_masked = test.outputs[0] in _reached(test.nodes, found)
        if not new and (not is_masked or found.issuperset(carried)):
            return found, is_masked
        found |= new


def _reached(nodes: Sequence[Node], found: set[Value]) -> set[Value]:
    """`found`, and what depends on it or has an effect."""
    return found.union(value for node in dependents(nodes, found) for value in node.results)
