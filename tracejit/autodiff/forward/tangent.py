"""Forward mode: `tangents(ys, xs, xs_dot)` appends tangent nodes to the graph being recorded.

The mirror image of `adjoint`: the nodes are walked in program order, and each op's `jvp` says what
becomes of the tangents of its operands. Everything that is common to all ops happens here and only
here:

- `"linear"` is the op itself on the tangents, zeros standing in where an operand has none;
  an op that is linear in an operand by itself, as `"bilinear"` ones are in each, is applied to its
  tangent in its place; rules are called per operand; contributions add up; without any of these
  it is the transpose of the op's `vjp`;
- a tangent is broadcast and cast to the shape and dtype of its primal;
- nothing is conjugated: a tangent is a direction, not a gradient;
- through an override goes the transpose of the user's rule. The rule is recorded on a placeholder
  for each cotangent; transposed, it depends on none of them any more, and they die as dead code.
  Only a rule that is linear in the cotangents has a transpose (see `linearity`);
- a value that is not floating or complex, or that no path connects to an x, has no tangent (None).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tracejit.autodiff.forward.linearity import LinearMap, pushed_by_vjp, zeros_like
from tracejit.autodiff.reverse import adjoint
from tracejit.autodiff.reverse.conditions import derivative_of
from tracejit.ir.graph import Node, Value
from tracejit.ir.location import NOWHERE, Location
from tracejit.ir.types import ArrayType
from tracejit.ops.base.forms import as_scalar
from tracejit.ops.base.op import Applied, Joint
from tracejit.ops.control.control_flow import ControlFlow
from tracejit.ops.control.marker_ops import OVERRIDE, Marker, inputs_of
from tracejit.ops.shapes.shapes import astype
from tracejit.support.errors import TracejitError, Where, fail, placed
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.source import places
from tracejit.trace.tensor.tensor import Tensor


def tangents(
    ys: Sequence[Tensor],
    xs: Sequence[Tensor],
    xs_dot: Sequence[Tensor],
    nodes: Sequence[Node] | None = None,
) -> list[Tensor | None]:
    """The derivative of each y when the xs move along xs_dot; None if unconnected.

    `ys`, `xs` and `xs_dot` belong to one recorder; xs_dot have the types of the xs. Only `nodes`
    are followed, by default all of the graph. Raises
    NoGradientError where the path meets an op without a rule, RuleTypeError where it meets a
    user's rule that is not linear.
    """
    recorder: Recorder = (ys or xs)[0]._recording
    if nodes is None:
        nodes = recorder.graph.nodes
    return ForwardPass(recorder, [y._value for y in ys], nodes).run(xs, xs_dot)


class ForwardPass:
    """One traversal: which nodes matter, and the tangent of each value so far."""

    def __init__(self, recording: Recorder, ys: Sequence[Value], nodes: Sequence[Node]) -> None:
        """A forward pass over `nodes` of `recording` as they are now, as far as `ys` need them."""
        self.recording = recording
        self.ys = ys
        self.tangents: dict[Value, Tensor] = {}
        needed = {y for y in ys if y.type.is_inexact}
        kept: list[Node] = []
        for node in reversed(nodes):
            if needed.intersection(node.results):
                kept.append(node)
                needed.update(sources_of(node))
        self.nodes = kept[::-1]
        self.needed = needed

    def run(self, xs: Sequence[Tensor], xs_dot: Sequence[Tensor]) -> list[Tensor | None]:
        """The tangents of the ys."""
        for x, seed in zip(xs, xs_dot, strict=True):
            if x.type.is_inexact:
                self._add(x._value, seed)
        for node in self.nodes:
            if any(operand in self.tangents for operand in sources_of(node)):
                self._step(node)
        return [self.tangents.get(y) for y in self.ys]

    def _step(self, node: Node) -> None:
        """The tangents of a node's results from those of its operands."""
        ruled = node.op.vjp is not None or node.op.jvp is not None
        is_known = ruled or isinstance(node.op, ControlFlow)
        if not is_known and not self._is_ruled(node):
            raise fail("no-rule", self._place(node), op=adjoint.spelled(node))
        with self.recording.at(noted(node)):
            try:
                for contribution in self._contributions(node):
                    parts = contribution if isinstance(contribution, tuple) else (contribution,)
                    self._add_all(node.results, parts)
            except TracejitError as error:
                raise placed(error, self.recording.here()) from None
        for result in node.results:
            if result in self.tangents:
                self._name(self.tangents[result], result)

    @staticmethod
    def _is_ruled(node: Node) -> bool:
        """Return whether a rule of the user's gives the derivative."""
        return node.op is OVERRIDE or isinstance(node.op.vjp, Joint)

    def _place(self, node: Node) -> Where | None:
        return places.where_of(node.where, self.recording.graph.files)

    def _contributions(self, node: Node) -> Iterable[Any]:
        """Summands of the tangents of a node's results, a tuple each where there are several
        results."""
        if self._is_ruled(node):
            yield self._transposed_rule(node)
            return
        if isinstance(node.op, ControlFlow):
            yield self._control_flow(node)
            return
        operands = [Tensor(operand, self.recording) for operand in node.operands]
        dots = [self.tangents.get(operand) for operand in node.operands]
        if node.op.jvp == "linear":
            moved = [
                dot if dot is not None else zeros_like(operand)
                for operand, dot in zip(operands, dots, strict=True)
            ]
            yield node.op(*moved, **node.params)
            return
        out = tuple(Tensor(result, self.recording) for result in node.results)
        if node.op.is_transposed(len(out)):
            yield pushed_by_vjp(self.recording, node, operands, out, dots, self.needed)
            return
        y: Any = out if len(out) > 1 else out[0]
        for number, dot in enumerate(dots):
            if dot is None:
                continue
            if node.op.jvp == "bilinear":
                yield node.op(*operands[:number], dot, *operands[number + 1 :], **node.params)
            elif (rule := node.op.jvp_rule(number)) is not None:
                yield rule(dot, y, *operands, **node.params)

    def _control_flow(self, node: Node) -> tuple[Tensor | None, ...]:
        """The tangents of the results of a loop or condition."""
        dots = [self.tangents.get(operand) for operand in node.operands]
        operands = [Tensor(operand, self.recording) for operand in node.operands]
        moving = [dot is not None for dot in dots]
        derivative = derivative_of(self.recording, node, operands, moving)
        with self.recording.at(NOWHERE):  # but for what rules record
            return tuple(derivative.pushed_forward(dots, tangents))

    def _transposed_rule(self, node: Node) -> tuple[Tensor | None, ...]:
        """The tangents of an override's results: the transpose of its rule, applied to the tangents
        of its inputs."""
        marker = self._marker(node)
        if marker.push is not None:
            return tuple(marker.push([self.tangents.get(x) for x in inputs_of(node)]))
        cotangents = [
            self.recording.stand_in(zeros_like(Tensor(result, self.recording)))
            if result.type.is_inexact
            else None
            for result in node.results
        ]
        answers: list[Tensor] = []
        dots: list[Tensor] = []
        xs = [cotangent for cotangent in cotangents if cotangent is not None]
        moving = [operand in self.tangents for operand in inputs_of(node)]
        with self.recording.probing(marker.name, marker.reads, xs) as probe:
            if marker.continues:
                found = marker.rule(cotangents, moving, [None] * len(moving))
            elif marker.pruned:
                found = marker.rule(cotangents, moving)
            else:
                found = marker.rule(*cotangents)
            for operand, answer in zip(inputs_of(node), found, strict=True):
                dot = self.tangents.get(operand)
                if answer is not None and dot is not None:
                    answers.append(adjoint.fit(answer, operand.type, self.recording))
                    dots.append(dot)
        rule = LinearMap(self.recording, answers, xs, probe.recorded, probe.zeros)
        obstacle = "Python asks for its value" if probe.was_read else rule.obstacle
        if obstacle:
            words = {"function": marker.name, "problem": obstacle}
            raise fail("rule-not-linear", self._place(node), **words)
        if not answers:
            return (None,) * len(cotangents)
        moved = iter(rule.transposed(dots))
        return tuple(
            None if cotangent is None else self._connected(next(moved), result)
            for cotangent, result in zip(cotangents, node.results, strict=True)
        )

    def _connected(self, tangent: Tensor | None, result: Value) -> Any:
        """The tangent of a result that a rule connects: zeros, where its gradient does not depend
        on the cotangent."""
        return zeros_like(Tensor(result, self.recording)) if tangent is None else tangent

    def _marker(self, node: Node) -> Marker:
        """The marker of an override; a registered rule as one."""
        if node.op is OVERRIDE:
            marker: Marker = node.params["grad"]
            return marker
        inputs, outputs = (
            [Tensor(value, self.recording) for value in values]
            for values in (node.operands, node.results)
        )
        applied = Applied(node.op.name, inputs, outputs, node.params)
        rule = node.op.vjp.rule
        reads = (inspect.unwrap(rule), inputs, outputs)
        return Marker(node.op.name, "", lambda *cotangents: rule(applied, *cotangents), reads=reads)

    def _add_all(self, results: Sequence[Value], parts: Sequence[Any]) -> None:
        for result, part in zip(results, parts, strict=True):
            if part is not None and result.type.is_inexact:
                self._add(result, fit(part, result.type, self.recording))

    def _add(self, value: Value, tangent: Tensor) -> None:
        known = self.tangents.get(value)
        self.tangents[value] = tangent if known is None else known + tangent

    def _name(self, tangent: Tensor, value: Value) -> None:
        result = tangent._value
        if result.node is not None and not result.label and result.derived is None:
            result.derived = (value, "_dot")


def sources_of(node: Node) -> list[Value]:
    """The operands whose tangents reach a node's results: of an override those that its rule
    answers for, none where the node disconnects."""
    if node.op.vjp == ():
        return []
    return [operand for operand in inputs_of(node) if operand.type.is_inexact]


def noted(node: Node) -> Location | None:
    """The place of a node, for an override with the note of its marker."""
    if node.where is None or node.op is not OVERRIDE:
        return node.where
    return node.where._replace(note=node.params["grad"].note)


def fit(tangent: Any, type: ArrayType, recording: Recorder) -> Tensor:
    """`tangent` broadcast and cast to the shape and dtype of `type`."""
    if not isinstance(tangent, Tensor):
        tangent = Tensor(recording.lift(tangent), recording)
    if tangent.type.form == "weak":
        tangent = as_scalar(tangent, dtype=type.dtype)
    if tangent.dtype.kind == "c" and type.dtype.kind != "c":
        tangent = np.real(tangent)
    if tangent.dtype != type.dtype:
        tangent = astype(tangent, dtype=type.dtype)
    if tangent.shape != type.shape:
        tangent = np.broadcast_to(tangent, type.shape)
    return tangent  # type: ignore[no-any-return]
