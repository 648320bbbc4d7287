"""Linear maps in a recording: `LinearMap(recording, ys, xs, nodes)` proves that the ys are linear
in the xs, and transposes.

The gradient rule of a custom function takes the cotangents of its results to those of its inputs.
Forward mode needs it the other way round, and only a linear map has a transpose. What proves that
a map is linear is its nodes, never its values:

- an op whose jvp is "linear" is, in all of its operands together: each must depend on the xs, or
  be zeros that are known, lest a constant be added;
- an op whose jvp is "bilinear" is linear in each operand by itself: exactly one may depend;
- an op with rules is linear in an operand if that operand, taken for its own tangent, has the
  op itself for a tangent: a rule is linear in the tangent;
- an override is its values. What flows through it when the map is transposed is what flowed in
  the forward direction; its own rule counts where the transposed map is differentiated;
- every other op that depends on the xs is not linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.autodiff.adjoint import ReversePass
from tracejit.ir.graph import NOWHERE, Constant, Node, Value
from tracejit.ir.types import PYTHON_TYPES, ArrayType
from tracejit.ops.creation import full
from tracejit.ops.markers import OVERRIDE
from tracejit.ops.op import Op
from tracejit.trace.record import Recording
from tracejit.trace.recorder import Recorder
from tracejit.trace.tensor import TENSORS, Tensor

# What the rules of these ops do not show: those of a sum leave out the operands that stand still
# instead of putting zeros for them, that of +x answers with the tangent itself, and those of a
# product write its factors in another order.
WORDS = {
    **dict.fromkeys(("add", "subtract", "where", "linspace", "positive"), "linear"),
    "multiply": "bilinear",
}


class LinearMap:
    """The nodes on the way from some values to others.

    `obstacle` says in words why the map is not linear, and is empty if it is.
    """

    def __init__(
        self,
        recording: Recorder,
        ys: Sequence[Tensor],
        xs: Sequence[Tensor],
        nodes: Sequence[Node],
    ) -> None:
        """The map from `xs` to `ys`; all that depends on the xs is among `nodes`."""
        self.recording = recording
        self.ys = ys
        self.xs = [x._value for x in xs]
        self.dependent = set(self.xs)
        self.nodes = [node for node in nodes if self._reaches(node)]
        self.obstacle = next(self._obstacles(), "")

    def _reaches(self, node: Node) -> bool:
        """Whether a node depends on the xs; its results are then noted."""
        if self.dependent.isdisjoint(values_of(node)):
            return False
        results: Sequence[Value] = node.results
        if node.op is OVERRIDE:
            pairs = zip(values_of(node), results, strict=True)
            results = [result for value, result in pairs if value in self.dependent]
        self.dependent.update(results)
        return True

    def _obstacles(self) -> Iterator[str]:
        needed = {y._value for y in self.ys}
        on_the_way = []
        for node in reversed(self.nodes):
            if needed.intersection(node.results):
                needed.update(values_of(node))
                on_the_way.append(node)
        for node in reversed(on_the_way):
            if node.op is not OVERRIDE:
                yield from obstacles_at(node, self.dependent)
        for y in self.ys:
            if y._value not in self.dependent and not is_zero(y._value):
                yield "a gradient that is returned does not depend on it"

    def transposed(self, seeds: Sequence[Tensor]) -> list[Tensor | None]:
        """The transpose applied to one seed for each y: a value for each x, None where no y
        depends on it."""
        return _Transpose(self).run(self.ys, seeds)


class _Transpose(ReversePass):
    """A reverse pass that goes through an override to its values, and computes nothing again."""

    def __init__(self, linear: LinearMap) -> None:
        super().__init__(linear.recording, linear.xs, linear.nodes)
        self.regions = {}
        self.dependent = linear.dependent

    def _active(self) -> set[Value]:
        return self.dependent

    def _override(self, node: Node, gs: Sequence[Tensor | None], active: set[Value]) -> None:
        for value, g in zip(values_of(node), gs, strict=True):
            if g is not None and value in active:
                self._add(value, g)

    def _name(self, cotangent: Tensor, value: Value) -> None:
        """No names: forward mode knows nothing of these cotangents."""


def values_of(node: Node) -> tuple[Value, ...]:
    """The operands that a node's results are computed from: of an override its values alone."""
    return node.operands[: node.params["outputs"]] if node.op is OVERRIDE else node.operands


def obstacles_at(node: Node, dependent: set[Value]) -> Iterator[str]:
    """Why a node is not linear in those of its operands that are `dependent`."""
    op = node.op
    places = [k for k, operand in enumerate(node.operands) if operand in dependent]
    differentiable = all(op.vjp_rule(place) is not None for place in places)
    if not differentiable or not all(result.type.is_inexact for result in node.results):
        yield f"it goes into {op.name}"
    elif word_for(op) == "linear":
        others = [o for k, o in enumerate(node.operands) if k not in places and op.vjp_rule(k)]
        if not all(map(is_zero, others)):
            yield f"{op.name} joins it with what does not depend on it"
    elif len(places) > 1:
        yield f"it goes into {op.name} more than once"
    elif word_for(op) != "bilinear" and not is_own_tangent(node, places[0]):
        yield f"it goes into {op.name}"


def word_for(op: Op) -> Any:
    """What the op says of its tangents, or is known of it: "linear", "bilinear", or rules."""
    return WORDS.get(op.name, op.jvp)


def is_own_tangent(node: Node, place: int) -> bool:
    """Whether the op's rule for the operand at `place`, given that operand for its tangent, answers
    with the op itself: found by recording both apart, where equal nodes are one."""
    rule = node.op.jvp_rule(place)
    if rule is None or len(node.results) > 1:
        return False
    probe = Recording("probe")
    with probe.at(NOWHERE):
        operands = [_stand_in(probe, number, o.type) for number, o in enumerate(node.operands)]
        out: Any = node.op(*operands, **node.params)
        tangent = rule(operands[place], out, *operands, **node.params)
    return type(tangent) in TENSORS and tangent._value is out._value


def _stand_in(probe: Recording, number: int, type: ArrayType) -> Any:
    if type.form == "weak":
        return PYTHON_TYPES[type.dtype.kind](1)
    return probe.argument(f"x_{number}", type)


def is_zero(value: Value) -> bool:
    """Whether a value is known to be zero everywhere: zeros, and what linear ops make of them."""
    pending = [value]
    seen: set[Value] = set()
    while pending:
        one = pending.pop()
        if one not in seen:
            seen.add(one)
            sources = _zero_if(one)
            if sources is None:
                return False
            pending += sources
    return True


def _zero_if(value: Value) -> list[Value] | None:
    """The values that must be zero for `value` to be so; None where nothing makes it zero."""
    node = value.node
    if isinstance(value, Constant):
        return None if np.any(value.data) else []
    if node is None:
        return None if value.data is None or np.any(value.data) else []
    if node.op is full:
        return None if node.params["fill"] else []
    if word_for(node.op) == "linear":
        return [o for k, o in enumerate(node.operands) if node.op.vjp_rule(k)]
    if word_for(node.op) == "bilinear":
        factors = [o for o in node.operands if isinstance(o, Constant)]
        return [] if any(not np.any(factor.data) for factor in factors) else None
    return None
