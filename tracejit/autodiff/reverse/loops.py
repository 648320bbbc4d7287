"""Derivatives of loops: each is another loop.

The recorded body of a loop is differentiated as any nodes of the recording are, on placeholders for
the cotangents or tangents of what it returns or takes. What this records is the body of the new
loop:

- the reverse pass runs the steps the other way round. It carries the cotangents of the carried
  values, adds up those of the invariants, and stacks those of the elements of sliced arrays;
- forward mode runs the steps in their order, and carries tangents.

Either computes a step anew from the carried values that the step began with. These are stacked by a
loop that extends the first: it has the same body and returns more. What has an effect, such as a
draw, is not computed twice: its results are stacked, too. `loops/bodies/loops.py` makes one loop of
the first and its extension, and stacks more where that is cheaper than computing it anew.

A loop on a condition is extended in the same way, and stacks in lists. Its reverse pass is a loop
over these lists, whose number of steps is one of its results. In forward mode it is run again, with
the tangents beside what it carries; where it has an effect, they are made from lists, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tracejit.autodiff.reverse.fitting import derivative_type, like
from tracejit.ir.graph import Node, Value
from tracejit.ir.subgraph import Subgraph, needed_for
from tracejit.loops.arrays.loop_arrays import at_once
from tracejit.ops.control.control_flow import ZERO_ROWS, While, loop_inputs
from tracejit.ops.control.marker_ops import inputs_of
from tracejit.trace.control_flow.conditions import zeros
from tracejit.trace.control_flow.loops import (
    LoopInputs,
    LoopRange,
    Side,
    emit_loop,
    emit_while,
    in_region,
    most_of,
    placeholder,
    results_of,
    take_out,
)
from tracejit.trace.tensor.tensor import Tensor

Derive = Callable[..., list[Tensor | None]]
"""`gradients` of the adjoint or `tangents`: of results, by sources, for cotangents or tangents, of
nodes."""


class LoopDerivative:
    """The derivative of one loop, which is applied to `operands`: what moves of its body."""

    def __init__(
        self,
        recording: Any,
        node: Node,
        operands: Sequence[Tensor],
        wanted: Sequence[bool],
        known: Sequence[Any] = (),
    ) -> None:
        """The operands that are `wanted` move, and all that depends on them. Cotangents of
        invariants go on from those that are `known`."""
        self.recording = recording
        self.known = known
        self.where = recording.where
        result = recording.substitutes.get(node.results[0], node.results[0])
        self.region = result.node.region if result.node is not None else 0
        self.node = node
        self.operands = operands
        self.body: Subgraph = node.params["body"]
        self.inputs = loop_inputs(node)
        self.count = node.params["carried"]
        self.carried_out = self.body.outputs[: self.count]
        self.stacked_out = self.body.outputs[self.count :]
        moving = {
            value
            for value, is_wanted in zip(self.body.inputs[:-1], wanted, strict=False)
            if is_wanted and value.type.is_inexact
        }
        self.moving = self._spread(moving)

    def _spread(self, moving: set[Value]) -> set[Value]:
        """`moving` and all that depends on it, in whatever step."""
        while True:
            for node in self.body.nodes:
                if node.op.vjp != () and not moving.isdisjoint(inputs_of(node)):
                    moving.update(v for v in node.results if v.type.is_inexact)
            pairs = zip(self.inputs.carried, self.carried_out, strict=True)
            new = {one for one, out in pairs if out in moving} - moving
            if not new:
                return moving
            moving |= new

    def reached(self, outputs: Iterable[Value]) -> set[Value]:
        """The values that `outputs` of some step depend on."""
        found = set(outputs)
        while True:
            for node in reversed(self.body.nodes):
                if not found.isdisjoint(node.results):
                    found.update(inputs_of(node))
            pairs = zip(self.inputs.carried, self.carried_out, strict=True)
            new = {out for one, out in pairs if one in found} - found
            if not new:
                return found
            found |= new

    def pulled_back(self, cotangents: Sequence[Any], gradients: Derive) -> list[Any]:
        """The cotangent of each operand for those of the results, None if there is none; with
        what is known of it where it is."""
        recording, inputs = self.recording, self.inputs
        results = self._at_once()
        if results is not None:
            return self._of_arrays(results, cotangents, gradients)
        finals, stacks = cotangents[: self.count], cotangents[self.count :]
        reached = self.reached(
            [out for out, g in zip(self.body.outputs, cotangents, strict=True) if g is not None]
        )
        live = self.moving & reached
        carried = [
            k
            for k, value in enumerate(inputs.carried)
            if value in live or (value in self.moving and finals[k] is not None)
        ]
        given = [k for k, g in enumerate(stacks) if g is not None and self.stacked_out[k] in live]
        start = len(recording.graph.nodes)
        bars = [self._variable(inputs.carried[k], "_bar") for k in carried]
        rows = [self._variable(self.stacked_out[k], "_bar") for k in given]
        outs = [self.carried_out[k] for k in carried] + [self.stacked_out[k] for k in given]
        xs = [value for value in self.body.inputs[:-1] if value in live]
        known = dict(zip(self.body.inputs, self.known, strict=False))
        totals = {v: self._total(v) for v in inputs.invariants if v in live}
        answers = gradients(
            *self._tensors(outs, xs), [*bars, *rows], self.body.nodes, [*map(totals.get, xs)]
        )
        found: dict[Value, Any] = dict(zip(xs, answers, strict=True))
        outputs = [
            like(found.get(inputs.carried[k]), bar) for k, bar in zip(carried, bars, strict=True)
        ]
        sums = [v for v, total in totals.items() if found[v]._value is not total._value]
        outputs += [self._named(like(found[v], totals[v]), v) for v in sums]
        parts = [value for value in inputs.sliced if found.get(value) is not None]
        outputs += [found[value] for value in parts]
        initial = [
            zeros(recording, bar.type) if finals[k] is None else like(finals[k], bar)
            for k, bar in zip(carried, bars, strict=True)
        ]
        around = dict(zip(self.body.inputs, self.operands, strict=False))
        initial += [
            _nothing_yet(recording, around[v], totals[v])
            if known.get(v) is None
            else like(known[v], totals[v])
            for v in sums
        ]
        made = self._emitted(
            start,
            [*bars, *[totals[v] for v in sums]],
            rows,
            outputs,
            initial,
            [stacks[k] for k in given],
            self._steps(backwards=True),
            "_bar",
        )
        keys = [*[inputs.carried[k] for k in carried], *sums, *parts]
        found = dict(zip(keys, made, strict=True))
        return [found.get(value) for value in self.body.inputs[: len(self.operands)]]

    def _at_once(self) -> list[Tensor] | None:
        """The results as operations on whole arrays, if they can be that."""
        if self.recording.exact:
            return None
        with self.recording.at(self.where), in_region(self.recording, self.region):
            return at_once(self.recording, self.node, self.operands)

    def _of_arrays(
        self, results: Sequence[Tensor], cotangents: Sequence[Any], gradients: Derive
    ) -> list[Any]:
        """The cotangent of each operand, where the results are made of whole arrays."""
        pairs = [(y, g) for y, g in zip(results, cotangents, strict=True) if g is not None]
        seeds = [like(g, y) for y, g in pairs]
        known = [*self.known, *[None] * (len(self.operands) - len(self.known))]
        ys = [y for y, _ in pairs]
        values = [x._value for x in self.operands]
        made = needed_for([y._value for y in ys], self.recording.graph.nodes, values)
        found = gradients(ys, self.operands, seeds, made, known)
        return [
            None if v in values[:k] else g
            for k, (v, g) in enumerate(zip(values, found, strict=True))
        ]

    def pushed_forward(self, dots: Sequence[Any], tangents: Derive) -> list[Any]:
        """The tangent of each result for those of the operands, None if there is none."""
        recording, inputs = self.recording, self.inputs
        known = dict(zip(self.body.inputs, dots, strict=False))
        carried = [k for k, value in enumerate(inputs.carried) if value in self.moving]
        sliced = [v for v in inputs.sliced if v in self.moving]
        fixed = [v for v in inputs.invariants if v in self.moving]
        start = len(recording.graph.nodes)
        moved = [self._variable(inputs.carried[k], "_dot") for k in carried]
        rows = [self._variable(value, "_dot") for value in sliced]
        xs = [*[inputs.carried[k] for k in carried], *sliced, *fixed]
        outs = [value for value in self.body.outputs if value in self.moving]
        xs_dot = [*moved, *rows, *[known[value] for value in fixed]]
        answers = tangents(*self._tensors(outs, xs), xs_dot, self.body.nodes)
        found = dict(zip(outs, answers, strict=True))
        stacked = [k for k, v in enumerate(self.stacked_out) if found.get(v) is not None]
        outputs = [
            like(found.get(self.carried_out[k]), dot, "_dot")
            for k, dot in zip(carried, moved, strict=True)
        ]
        outputs += [found[self.stacked_out[k]] for k in stacked]
        initial = [
            zeros(recording, dot.type)
            if known[inputs.carried[k]] is None
            else like(known[inputs.carried[k]], dot, "_dot")
            for k, dot in zip(carried, moved, strict=True)
        ]
        whole = [known[value] for value in sliced]
        if isinstance(self.node.op, While) and not self.node.op.effect:
            made = self._beside(start, moved, outputs, initial)
        else:
            steps = self._steps()
            made = self._emitted(start, moved, rows, outputs, initial, whole, steps, "_dot")
        places = [*carried, *[self.count + k for k in stacked]]
        by_place = dict(zip(places, made, strict=True))
        return [by_place.get(number) for number in range(len(self.node.results))]

    def _emitted(
        self,
        start: int,
        carried: Sequence[Tensor],
        rows: Sequence[Tensor],
        outputs: Sequence[Tensor],
        initial: Sequence[Any],
        sliced: Sequence[Any],
        steps: LoopRange,
        suffix: str,
    ) -> list[Tensor]:
        """The results of the loop that computes `outputs`, recorded from node `start` on."""
        recording, mine = self.recording, self.inputs
        new = [tensor._value for tensor in (*carried, *rows)]
        returned = [tensor._value for tensor in outputs]
        step = self.body.inputs[-1]
        effects = [v for n in self.body.nodes if n.op.effect for v in n.results]
        given = [*new, *mine.carried, *mine.sliced, step, *effects]
        inside = [value for node in self.body.nodes for value in node.results]
        made = take_out(recording, start, [*given, *inside], steps.size)
        if not outputs:
            return []
        nodes = needed_for(returned, [*self.body.nodes, *made], given)
        read = {value for node in nodes for value in node.operands}.union(returned)
        stacked = [value for value in (*mine.carried, *effects) if value in read]
        elements = [value for value in mine.sliced if value in read]
        around = dict(zip(self.body.inputs, self.operands, strict=False))
        inputs = LoopInputs(
            [tensor._value for tensor in carried],
            [*[tensor._value for tensor in rows], *stacked, *elements],
            step,
        )
        whole = [*sliced, *self._stacks(stacked), *[around[value] for value in elements]]
        name = self.body.name + suffix
        made_of = Side(nodes, returned)
        with recording.at(self.where):
            return emit_loop(recording, name, steps, inputs, made_of, initial, whole, around)

    def _beside(
        self,
        start: int,
        carried: Sequence[Tensor],
        outputs: Sequence[Tensor],
        initial: Sequence[Any],
    ) -> list[Tensor]:
        """The results of a loop that computes `outputs`, recorded from node `start` on, beside what
        this loop on a condition computes: so it needs no stacks."""
        recording, mine = self.recording, self.inputs
        new = [tensor._value for tensor in carried]
        returned = [tensor._value for tensor in outputs]
        inside = [value for node in self.body.nodes for value in node.results]
        made = take_out(recording, start, [*new, *mine.carried, *inside])
        if not returned:
            return []
        inputs = LoopInputs([*mine.carried, *new], [], self.body.inputs[-1])
        step = Side([*self.body.nodes, *made], [*self.carried_out, *returned])
        condition: Subgraph = self.node.params["condition"]
        test = Side(condition.nodes, condition.outputs)
        first = self.node.params["invariants"]
        begun = [*self.operands[first : first + self.count], *initial]
        around = dict(zip(self.body.inputs, self.operands, strict=False))
        name = self.body.name + "_dot"
        with recording.at(self.where):
            return emit_while(recording, name, inputs, test, step, begun, around)[self.count :]

    def _steps(self, backwards: bool = False) -> LoopRange:
        """The steps of this loop, for a loop over what it stacks."""
        node, recording = self.node, self.recording
        if isinstance(node.op, While):
            count: Any = recording.lift(Tensor(node.results[self.count - 1], recording))
            count = Tensor(count, recording)
            return LoopRange(None, backwards, most_of(count) if count.shape else count)
        length, reverse = node.params["length"], node.params["reverse"] != backwards
        number = self.operands[-1] if length is None else None
        is_checkpoint, size = node.params.get("checkpoint", False), node.params.get("size")
        return LoopRange(length, reverse, number, is_checkpoint, size)

    def _stacks(self, values: Sequence[Value]) -> list[Tensor]:
        """The values of the body at each step, from a loop that extends this one, or what a
        recompute region has made of it."""
        if not values:
            return []
        body, params = self.body, self.node.params
        outputs = [*body.outputs, *values]
        graph = self.recording.graph
        extended = Subgraph(graph, body.name, body.inputs, body.nodes, outputs, body)
        wider = {**params, "body": extended}
        with self.recording.at(self.where), in_region(self.recording, self.region):
            found = results_of(self.node.op(*self.operands, **wider))[len(body.outputs) :]
        for tensor, value in zip(found, values, strict=True):
            if tensor._value.node is not None and not tensor._value.is_named:
                tensor._value.derived = value, "_all"
        return found

    def _tensors(self, *groups: Sequence[Value]) -> list[list[Tensor]]:
        return [[Tensor(value, self.recording) for value in group] for group in groups]

    def _variable(self, value: Value, suffix: str) -> Tensor:
        """A placeholder for the cotangent or tangent of a value, called after it."""
        found = placeholder(self.recording, derivative_type(value.type))
        found._value.derived = value, suffix
        return found

    def _total(self, value: Value) -> Tensor:
        """A placeholder for the sum of the cotangents of a value so far; NumPy's sums of 0-d arrays
        are scalars."""
        is_number = value.type.form != "list" and not value.type.shape
        type = value.type.with_form("scalar") if is_number else value.type
        return self._named(placeholder(self.recording, type), value)

    def _named(self, tensor: Tensor, value: Value) -> Tensor:
        """A cotangent of `value`, called after it."""
        tensor._value.derived = value, "_bar"
        return tensor


def _nothing_yet(recording: Any, operand: Tensor, total: Tensor) -> Any:
    """The beginning of a sum of cotangents of an operand."""
    if total.type.form == "list":
        return ZERO_ROWS(operand)
    return zeros(recording, total.type, negative=True)
