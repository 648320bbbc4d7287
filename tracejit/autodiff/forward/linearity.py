"""Linear maps in a recording: `LinearMap(recording, ys, xs, nodes)` proves that the ys are linear
in the xs, and transposes the map.

The gradient rule of a custom function takes the cotangents of its results to those of its inputs.
Forward mode needs it the other way round, and only a linear map has a transpose. What proves that
a map is linear is its nodes, never its values:

- an op that is `linear_in` its operands "jointly": each must depend on the xs, or be zeros that are
  known, lest a constant be added;
- an op that is linear in "each" operand by itself, or in some: exactly one may depend;
- an op with a rule for tangents is linear in an operand if that operand, taken for its own tangent,
  has the op itself for a tangent: a rule is linear in the tangent;
- a loop or condition is linear if its bodies are, in what depends on the xs in any step; what is
  carried that does, must begin with zero or with what does;
- an override is its values. What flows through it when the map is transposed is what flowed in
  the forward direction; its own rule counts where the transposed map is differentiated. Where its
  values were computed out of sight (a call of a kernel, a recompute region), the marker answers
  for itself;
- Python may have decided nothing by what depends on the xs: another side was not recorded;
- every other op that depends on the xs is not linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any

import numpy as np

from tracejit.autodiff.reverse.adjoint import ReversePass, conjugate, fit, gradients
from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.location import NOWHERE
from tracejit.ir.subgraph import Subgraph
from tracejit.ir.types import PYTHON_TYPES
from tracejit.ops.base.creation import full
from tracejit.ops.base.op import Each
from tracejit.ops.control.branches import DECIDE
from tracejit.ops.control.control_flow import ControlFlow, is_condition
from tracejit.ops.control.marker_ops import (
    OVERRIDE,
    LinearCall,
    Marker,
    dependent_results,
    inputs_of,
    values_of,
)
from tracejit.ops.control.routines import is_routine
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.tensor.tensor import TENSORS, Tensor


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
        zeros: Set[Value] = frozenset(),
    ) -> None:
        """The map from `xs` to `ys`; all that depends on the xs is among `nodes`. Of constants
        that were lifted eagerly, `zeros` are known to be zero whatever the data."""
        self.recording = recording
        self.ys = ys
        self.xs = [x._value for x in xs]
        self.dependent = set(self.xs)
        self.origins = Origins(nodes, zeros)
        self.nodes = [node for node in nodes if self._reaches(node)]
        self.calls: dict[Node, LinearCall] = {}
        self.obstacle = next(self._obstacles(), "")

    def _reaches(self, node: Node) -> bool:
        """Return whether a node depends on the xs; its results are then noted."""
        results = dependent_results(node, self.dependent)
        self.dependent.update(results)
        return bool(results)

    def _obstacles(self) -> Iterator[str]:
        needed = {y._value for y in self.ys}
        on_the_way = []
        for node in reversed(self.nodes):
            if needed.intersection(node.results):
                needed.update(values_of(node))
                on_the_way.append(node)
            elif node.op is DECIDE:
                yield "Python branches on it"
        for node in reversed(on_the_way):
            if node.op is not OVERRIDE:
                yield from obstacles_at(node, self.dependent, self.origins, needed)
            elif (marker := node.params["grad"]).linear is not None:
                yield from self._obstacles_in(node, marker, needed)
        for y in self.ys:
            if y._value not in self.dependent and not self.origins.is_zero(y._value):
                yield "a gradient that is returned does not depend on it"

    def _obstacles_in(self, node: Node, marker: Marker, needed: set[Value]) -> Iterator[str]:
        """The reasons why an opaque call is not linear; its transpose is noted."""
        assert marker.linear is not None
        moving = [operand in self.dependent for operand in inputs_of(node)]
        call = self.calls[node] = marker.linear(moving, [y in needed for y in node.results])
        if call.obstacle:
            yield f"in {marker.name}: {call.obstacle}"

    def transposed(self, seeds: Sequence[Tensor]) -> list[Tensor | None]:
        """The transpose applied to one seed for each y: a value for each x, None if no y
        depends on it."""
        pass_back = _Transpose(self.recording, self.xs, self.nodes, self.dependent, self.calls)
        return pass_back.run(self.ys, seeds)


class _Transpose(ReversePass):
    """A reverse pass that goes through an override to its values, and computes nothing again."""

    def __init__(
        self,
        recording: Recorder,
        xs: Sequence[Value],
        nodes: Sequence[Node],
        dependent: set[Value],
        calls: dict[Node, LinearCall],
    ) -> None:
        super().__init__(recording, xs, nodes)
        self.regions = {}
        self.dependent = dependent
        self.calls = calls

    def _active(self) -> set[Value]:
        return self.dependent

    def _override(self, node: Node, gs: Sequence[Tensor | None], active: set[Value]) -> None:
        found = gs
        if (call := self.calls.get(node)) is not None:
            answers = call.transposed([None if g is None else conjugate(g) for g in gs])
            found = [None if g is None else conjugate(g) for g in answers]
        for value, g in zip(values_of(node), found, strict=True):
            if g is not None and value in active:
                self._add(value, g)

    def _gradients(
        self, ys: Any, xs: Any, grad_ys: Any, nodes: Any = None, known: Any = ()
    ) -> list[Tensor | None]:
        """In the bodies of loops and conditions, an override is its values, too."""

        def transpose(recorder: Any, xs: Sequence[Value], nodes: Sequence[Node]) -> ReversePass:
            return _Transpose(recorder, xs, nodes, _reached(nodes, set(xs)), {})

        return gradients(ys, xs, grad_ys, nodes, known, transpose)

    def _name(self, cotangent: Tensor, value: Value) -> None:
        """No names: forward mode knows nothing of these cotangents."""


def pushed_by_vjp(
    recording: Recorder,
    node: Node,
    operands: Sequence[Any],
    results: Sequence[Any],
    dots: Sequence[Any],
    needed: Set[Value],
) -> tuple[Tensor | None, ...]:
    """The tangents of those results of `node` that are `needed`, for tangents of its operands: the
    transpose of its op's reverse rules, which are linear in the cotangent.

    The rules are recorded on a placeholder for each cotangent. Transposed, they depend on none of
    them any more, and what was recorded on them dies as dead code.
    """
    gs = [
        recording.stand_in(zeros_like(result))
        if value in needed and value.type.is_inexact
        else None
        for value, result in zip(node.results, results, strict=True)
    ]
    xs = [g for g in gs if g is not None]
    several = len(results) > 1
    answers: list[Tensor] = []
    seeds: list[Tensor] = []
    with recording.probing(node.op.name, (), xs) as probe:
        for number, (operand, dot) in enumerate(zip(operands, dots, strict=True)):
            rule = None if dot is None else node.op.vjp_rule(number)
            if rule is None:
                continue
            g, y = (gs, results) if several else (gs[0], results[0])
            answer = rule(g, y, *operands, **node.params)
            if answer is not None:
                answers.append(fit(answer, operand.type, recording))
                seeds.append(dot)
    dependent = {x._value for x in xs}
    for recorded in probe.recorded:
        dependent.update(dependent_results(recorded, dependent))
    pass_back = _Transpose(recording, [x._value for x in xs], probe.recorded, dependent, {})
    found = iter(pass_back.pulled_back(answers, seeds))
    return tuple(None if g is None else next(found) for g in gs)


def zeros_like(operand: Tensor) -> Any:
    """Zeros, of its form, in place of an operand that does not move; itself if it cannot move."""
    if not operand.type.is_inexact:
        return operand
    if operand.type.form == "weak":
        return PYTHON_TYPES[operand.dtype.kind](0)
    if operand.type.form == "scalar":
        return operand.dtype.type(0)
    return np.zeros_like(operand)


def obstacles_at(
    node: Node, dependent: Set[Value], origins: Origins, needed: Set[Value] = frozenset()
) -> Iterator[str]:
    """The reasons why a node is not linear in those of its operands that are `dependent`; of
    several results, why those that are `needed` are not."""
    op = node.op
    results = node.results if len(node.results) == 1 else needed & {*node.results}
    places = [k for k, operand in enumerate(node.operands) if operand in dependent]
    if isinstance(op, ControlFlow):
        yield from _obstacles_in_bodies(node, dependent, origins, needed)
        return
    differentiable = all(op.vjp_rule(place) is not None for place in places)
    if not differentiable or not all(result.type.is_inexact for result in results):
        yield f"it goes into {op.name}"
    elif op.linear_in == "jointly":
        if not all(o in dependent or origins.is_zero(o) for o in summands(node)):
            yield f"{op.name} joins it with a value that does not depend on it"
    elif len(places) > 1:
        yield f"it goes into {op.name} more than once"
    elif op.is_linear_in(places[0]):
        if len(node.results) > 1 and results != {node.results[0]}:
            yield f"it goes into {op.name}"
    elif not is_own_tangent(node, places[0]):
        yield f"it goes into {op.name}"


def summands(node: Node) -> Sequence[Value]:
    """The operands that have a part in the result of an op that is linear "jointly": not those that
    say where it takes or writes."""
    if isinstance(node.op.vjp, Each) and "index" in node.params:
        return [node.operands[0], *([node.operands[-1]] if node.op.update else [])]
    return [o for k, o in enumerate(node.operands) if node.op.vjp_rule(k)]


def _obstacles_in_bodies(
    node: Node, dependent: Set[Value], origins: Origins, needed: Set[Value]
) -> Iterator[str]:
    """The reasons why a loop or condition is not linear; a routine never is."""
    if is_routine(node):
        yield f"it goes into {node.op.name}"
        return
    if is_condition(node):
        choice, *operands = node.operands
        if choice in dependent:
            yield "it decides which side of a condition runs"
        for body in node.params["bodies"]:
            pairs = zip(body.inputs, operands, strict=True)
            moving = {one for one, operand in pairs if operand in dependent}
            wanted = zip(body.outputs, node.results, strict=True)
            yield from _obstacles_in_body(body, moving, [v for v, y in wanted if y in needed])
        return
    body, first, count = (node.params[name] for name in ("body", "invariants", "carried"))
    inputs = body.inputs[: len(node.operands)]
    moving = {one for one, o in zip(inputs, node.operands, strict=False) if o in dependent}
    carried = list(zip(inputs[first:], node.operands[first:], body.outputs[:count], strict=False))
    size = 0
    while size != len(moving):
        size = len(moving)
        reached = _reached(body.nodes, moving)
        moving.update(one for one, _, out in carried if out in reached)
    for one, begun, _ in carried:
        if one in moving and begun not in dependent and not origins.is_zero(begun):
            yield f"{body.name} carries a value that does not come from it"
    condition = node.params.get("condition")
    if condition is not None and not _reached(condition.nodes, moving).isdisjoint(
        condition.outputs
    ):
        yield f"it decides when {body.name} ends"
    outputs = [out for one, _, out in carried if one in moving]
    stacks = zip(body.outputs[count:], node.results[count:], strict=True)
    yield from _obstacles_in_body(body, moving, [*outputs, *[v for v, y in stacks if y in needed]])


def _reached(nodes: Sequence[Node], moving: Set[Value]) -> set[Value]:
    """Values that are `moving`, and all that is computed from them."""
    found = set(moving)
    for node in nodes:
        found.update(dependent_results(node, found))
    return found


def _obstacles_in_body(
    body: Subgraph, moving: Set[Value], outputs: Sequence[Value]
) -> Iterator[str]:
    """The reasons why `outputs` of a body are not linear in what is moving."""
    if not moving:
        return
    reached, origins, needed = _reached(body.nodes, moving), Origins(body.nodes), set(outputs)
    for node in reversed(body.nodes):
        if needed.intersection(node.results):
            needed.update(values_of(node))
            if node.op is OVERRIDE and node.params["grad"].linear is not None:
                yield f"it goes into {node.params['grad'].name}"
            elif node.op is not OVERRIDE and not reached.isdisjoint(node.operands):
                yield from obstacles_at(node, reached, origins, needed)
    if not all(one in reached or origins.is_zero(one) for one in outputs):
        yield f"{body.name} joins it with a value that does not depend on it"
    if not all(one.type.is_inexact for one in (*moving, *outputs)):
        yield f"it is rounded in {body.name}"


def is_own_tangent(node: Node, place: int) -> bool:
    """Return whether the op's rule for the operand at `place`, given that operand for its tangent,
    answers with the op itself. Both are recorded; equal nodes are one."""
    if len(node.results) > 1 or isinstance(node.op.jvp, str):
        return False
    probe = Recording("probe")
    with probe.at(NOWHERE):
        operands = [probe.argument(f"x_{k}", x.type) for k, x in enumerate(node.operands)]
        weak = [x for x in operands if x.type.form == "weak"]
        probe.known.update((x._value, PYTHON_TYPES[x.dtype.kind](1)) for x in weak)
        out: Any = node.op(*operands, **node.params)
        if (rule := node.op.jvp_rule(place)) is None:
            return False
        tangent: Any = rule(operands[place], out, *operands, **node.params)
    return type(tangent) in TENSORS and tangent._value is out._value


class Origins:
    """The node that computed each value. Eager values do not record it themselves."""

    def __init__(self, nodes: Sequence[Node] = (), zeros: Set[Value] = frozenset()) -> None:
        """Values are results of `nodes`, or constants, of which `zeros` are zero."""
        self._nodes = {y: node for node in nodes for y in node.results if y.node is None}
        self._zeros = zeros

    def is_zero(self, value: Value) -> bool:
        """Return whether a value is known to be zero everywhere: zeros, and what linear ops make of
        them."""
        pending = [value]
        seen: set[Value] = set()
        while pending:
            one = pending.pop()
            if one not in seen:
                seen.add(one)
                sources = self._zero_if(one)
                if sources is None:
                    return False
                pending += sources
        return True

    def _zero_if(self, value: Value) -> Sequence[Value] | None:
        """The values that must be zero for `value` to be so; None if nothing makes it zero."""
        node = value.node or self._nodes.get(value)
        if node is None:
            return [] if self._is_constant_zero(value) else None
        if node.op is full:
            return None if node.params["fill"] else []
        if node.op is OVERRIDE and node.params["grad"].linear is None:
            return [values_of(node)[node.results.index(value)]]
        if node.op.linear_in == "jointly":
            return summands(node)
        if node.op.linear_in == "each":
            return [] if any(map(self._is_constant_zero, node.operands)) else None
        return None

    def _is_constant_zero(self, value: Value) -> bool:
        """Return whether a value is a constant zero of the program, not of this call's data."""
        if isinstance(value, Constant) or (value.type.form == "weak" and value.data is not None):
            return not np.any(value.data)
        return value in self._zeros
