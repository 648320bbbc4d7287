"""Equations: a routine whose result x solves `residual(x) = 0`, whatever its steps are.

Several results of a routine may solve it together: a minimum and its multipliers. Results of
integers, such as the bounds that it is at, take part in the equation, and do not move.

By the implicit function theorem the derivatives of x satisfy one linear system, with the Jacobian
of the residual at the solution:

    jacobian(x) @ x_dot = -residual_dot

The residual and its Jacobian are computed at the result of the node, which has this derivative
again: so derivatives of every order are right, in either direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from tracejit.autodiff.reverse.loops import Derive
from tracejit.ir.graph import Node, Value
from tracejit.ir.subgraph import Subgraph
from tracejit.solvers.functions import inlined
from tracejit.trace.control_flow.loops import placeholder, take_out
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor


class EquationDerivative:
    """The derivative of a node that solves an equation for its results."""

    def __init__(
        self, recording: Recording, node: Node, operands: Sequence[Tensor], wanted: Sequence[bool]
    ) -> None:
        """The operands that are `wanted` move; what the routine is given does not matter."""
        self.recording = recording
        self.operands = operands
        self.residual: Subgraph = node.params["residual"]
        self.jacobian: Subgraph = node.params["jacobian"]
        self.results = self._tensors(node.results)
        self.unknown = [k for k, x in enumerate(self.results) if x.type.is_inexact]
        first = node.params["invariants"]
        self.moving = [k for k in range(first) if wanted[k] and operands[k].type.is_inexact]

    def pulled_back(self, cotangents: Sequence[Any], gradients: Derive) -> list[Any]:
        """The cotangent of each operand for that of the solution."""
        answers: list[Any] = [None] * len(self.operands)
        given = [cotangents[k] for k in self.unknown]
        if all(one is None for one in given):
            return answers
        recording = self.recording
        bar = placeholder(recording, self.residual.output_types[0])
        body = self.residual
        inputs = [body.inputs[k] for k in self.moving]
        derive = partial(gradients, self._tensors(body.outputs), self._tensors(inputs), [bar])
        weights = -self._solved(self._joined(given), transposed=True)
        found = self._at_solution(body, derive, {bar._value: weights})
        for k, answer in zip(self.moving, found, strict=True):
            answers[k] = answer
        return answers

    def pushed_forward(self, dots: Sequence[Any], tangents: Derive) -> list[Any]:
        """The tangent of the solution for those of the operands."""
        recording, body = self.recording, self.residual
        moving = [k for k in self.moving if dots[k] is not None]
        moved = [placeholder(recording, dots[k].type) for k in moving]
        inputs = self._tensors([body.inputs[k] for k in moving])
        derive = partial(tangents, self._tensors(body.outputs), inputs, moved)
        given = {x._value: dots[k] for x, k in zip(moved, moving, strict=True)}
        (found,) = self._at_solution(body, derive, given)
        answers: list[Any] = [None] * len(self.results)
        if found is not None:
            parts = self._parts(-self._solved(found, transposed=False))
            for k, part in zip(self.unknown, parts, strict=True):
                answers[k] = part
        return answers

    def _joined(self, parts: Sequence[Any]) -> Any:
        """The cotangents of the unknown results, as one; None among them are zero."""
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(
            [
                np.zeros_like(self.results[k]) if part is None else part
                for k, part in zip(self.unknown, parts, strict=True)
            ]
        )

    def _parts(self, whole: Any) -> list[Any]:
        """The tangents of the unknown results, of that of all as one."""
        if len(self.unknown) == 1:
            return [whole]
        ends = np.cumsum([0, *[self.results[k].size for k in self.unknown]])
        return [whole[a:b] for a, b in pairwise(ends.tolist())]

    def _at_solution(self, body: Subgraph, derive: Any, given: Mapping[Value, Any]) -> list[Any]:
        """The derivative of the residual, found on its placeholders, at the solution."""
        start = len(self.recording.graph.nodes)
        answers = derive(body.nodes)
        made = take_out(self.recording, start)
        outputs = [None if one is None else self.recording.lift(one) for one in answers]
        there = [one for one in outputs if one is not None]
        nodes = [*body.nodes, *made]
        found = iter(inlined(self.recording, nodes, there, {**self._known(body), **given}))
        return [None if one is None else next(found) for one in outputs]

    def _known(self, body: Subgraph) -> dict[Value, Any]:
        known = [*self.operands[: len(body.inputs) - len(self.results)], *self.results]
        return dict(zip(body.inputs, known, strict=True))

    def _solved(self, right: Any, transposed: bool) -> Any:
        """The solution of the linear system with the Jacobian, or its transpose."""
        body = self.jacobian
        (matrix,) = inlined(self.recording, body.nodes, body.outputs, self._known(body))
        if not right.shape:
            return right / matrix
        return np.linalg.solve(np.transpose(matrix) if transposed else matrix, right)

    def _tensors(self, values: Sequence[Value]) -> list[Tensor]:
        return [Tensor(value, self.recording) for value in values]
