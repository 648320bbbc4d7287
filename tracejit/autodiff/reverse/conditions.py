"""Derivatives of conditions: each is another condition, on the same choice.

A side of the new condition is the derivative of that side of the first, which it computes anew from
what the side reads. So only the side that is taken is computed, and an infinite derivative on the
other side does not matter. What a side has made with an effect is a result of the first condition,
and not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from tracejit.autodiff.reverse.fitting import derivative_type, like
from tracejit.autodiff.reverse.loops import Derive, LoopDerivative
from tracejit.ir.graph import Node, Value
from tracejit.ir.subgraph import Subgraph, needed_for
from tracejit.ops.control.control_flow import is_condition
from tracejit.ops.control.routines import Routine
from tracejit.trace.control_flow.conditions import emit_condition, record_side, zeros
from tracejit.trace.control_flow.loops import Side
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor


class Derivative(Protocol):
    """The derivative of a node that owns bodies."""

    def pulled_back(self, cotangents: Sequence[Any], gradients: Derive, /) -> Sequence[Any]:
        """The cotangent of each operand for those of the results, None if there is none."""

    def pushed_forward(self, dots: Sequence[Any], tangents: Derive, /) -> Sequence[Any]:
        """The tangent of each result for those of the operands, None if there is none."""


class ConditionDerivative:
    """The derivative of one condition, which is applied to `operands`."""

    def __init__(
        self, recording: Recording, node: Node, operands: Sequence[Tensor], wanted: Sequence[bool]
    ) -> None:
        """The operands that are `wanted` move, and all that depends on them."""
        self.recording = recording
        self.where = recording.where
        self.node = node
        self.operands = operands
        self.bodies: Sequence[Subgraph] = node.params["bodies"]
        self.moving = [
            number
            for number, (operand, is_wanted) in enumerate(zip(operands, wanted, strict=True))
            if number and is_wanted and operand.type.is_inexact
        ]

    def pulled_back(self, cotangents: Sequence[Any], gradients: Derive) -> list[Any]:
        """The cotangent of each operand for those of the results, None if there is none."""
        given = [k for k, g in enumerate(cotangents) if g is not None]

        def derivative(body: Subgraph) -> list[Any]:
            outs = self._tensors([body.outputs[k] for k in given])
            xs = self._tensors([body.inputs[number - 1] for number in self.moving])
            return gradients(outs, xs, [cotangents[k] for k in given], body.nodes)

        sources = [self.operands[number] for number in self.moving]
        found = self._of_sides(derivative, sources, "_bar")
        by_place = dict(zip(self.moving, found, strict=True))
        return [by_place.get(number) for number in range(len(self.operands))]

    def pushed_forward(self, dots: Sequence[Any], tangents: Derive) -> list[Any]:
        """The tangent of each result for those of the operands, None if there is none."""
        results = self.node.results
        places = [k for k, value in enumerate(results) if value.type.is_inexact]

        def derivative(body: Subgraph) -> list[Any]:
            outs = self._tensors([body.outputs[k] for k in places])
            xs = self._tensors([body.inputs[number - 1] for number in self.moving])
            return tangents(outs, xs, [dots[number] for number in self.moving], body.nodes)

        sources = self._tensors([results[k] for k in places])
        found = self._of_sides(derivative, sources, "_dot")
        by_place = dict(zip(places, found, strict=True))
        return [by_place.get(number) for number in range(len(results))]

    def _of_sides(
        self,
        derivative: Callable[[Subgraph], list[Any]],
        sources: Sequence[Tensor],
        suffix: str,
    ) -> list[Tensor | None]:
        """The results of a condition whose sides are the derivatives of the sides, for each of the
        `sources`; None if it is none on every side."""
        recording = self.recording
        missing: list[list[bool]] = []

        def outputs(body: Subgraph) -> list[Tensor]:
            answers = derivative(body)
            missing.append([answer is None for answer in answers])
            return [
                zeros(recording, derivative_type(source.type))
                if answer is None
                else like(answer, source, suffix)
                for answer, source in zip(answers, sources, strict=True)
            ]

        sides = [record_side(recording, partial(outputs, body)) for body in self.bodies]
        kept = [k for k, column in enumerate(zip(*missing, strict=True)) if not all(column)]
        known: dict[Value, Tensor] = {}
        whole = []
        for body, side in zip(self.bodies, sides, strict=True):
            known.update(zip(body.inputs, self.operands[1:], strict=True))
            effects = [value for node in body.nodes if node.op.effect for value in node.results]
            made = dict(zip(body.outputs, self._tensors(self.node.results), strict=True))
            known.update((value, made[value]) for value in effects if value in made)
            chosen = [side.outputs[k] for k in kept]
            whole.append(Side(needed_for(chosen, [*body.nodes, *side.nodes], effects), chosen))
        found: list[Tensor | None] = [None] * len(sources)
        if kept:
            with recording.at(self.where):
                name = self.bodies[0].name + suffix
                results = emit_condition(recording, name, self.operands[0], whole, known)
            for k, result in zip(kept, results, strict=True):
                found[k] = result
                result._value.derived = sources[k]._value, suffix
        return found

    def _tensors(self, values: Sequence[Value]) -> list[Tensor]:
        return [Tensor(value, self.recording) for value in values]


def derivative_of(
    recording: Any,
    node: Node,
    operands: Sequence[Tensor],
    wanted: Sequence[bool],
    known: Sequence[Any] = (),
) -> Derivative:
    """The derivative of a loop, a condition or a routine by the operands that are `wanted`;
    cotangents of invariants go on from those that are `known`."""
    if is_condition(node):
        return ConditionDerivative(recording, node, operands, wanted)
    if isinstance(node.op, Routine):
        made: Derivative = node.op.derivative(recording, node, operands, wanted)
        return made
    return LoopDerivative(recording, node, operands, wanted, known)
