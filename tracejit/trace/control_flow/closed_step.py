"""The step and the test of a loop that is closed, as bodies of its node."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ir.subgraph import needed_for
from tracejit.ops.control.branches import may_raise
from tracejit.trace.control_flow.conditions import emit_condition, record_side
from tracejit.trace.control_flow.loop_steps import Segment, as_bool
from tracejit.trace.control_flow.loops import Side
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor


class ClosedStep(NamedTuple):
    """One step, whose nodes `inside` were taken out of the graph; `stays` is the outcome of the
    test that goes on."""

    recording: Recording
    root: Segment
    inside: Collection[Node]
    stays: bool

    def test(self, go: Tensor, parts: Sequence[Value]) -> Side:
        """Return, recorded, whether there is another step: `go`, and the other parts of the test. A
        part that may raise is asked only where those before it go on."""

        def goes_on() -> list[Any]:
            if any(map(may_raise, needed_for(parts, nodes, ()))):
                return [self._asked_in_turn(go, parts)]
            return [functools.reduce(np.logical_and, [*map(self._stays, parts), go])]

        nodes = self._own(self.root.nodes)
        return record_side(self.recording, goes_on, nodes)

    def body(self, segment: Segment, names: Sequence[str], before: Collection[Node]) -> Side:
        """The nodes of a segment and all that follows on it, and what they return; those `before`
        are there already."""
        recording = self.recording
        nodes = [node for node in self._own(segment.nodes) if node not in before]
        if segment.decision is None:
            *outputs, go = segment.outputs
            made = [segment.temporaries[name] for name in names[len(outputs) :]]
            return Side(nodes, [*outputs, *made, go])
        known = {*before, *nodes}
        sides = [self.body(segment.sides[outcome], names, known) for outcome in (True, False)]
        choice = Tensor(segment.decision, recording)
        return record_side(
            recording,
            lambda: emit_condition(recording, "side", as_bool(choice, True), sides),
            nodes,
        )

    def _stays(self, part: Value) -> Any:
        return as_bool(Tensor(part, self.recording), self.stays)

    def _asked_in_turn(self, choice: Tensor, parts: Sequence[Value]) -> Any:
        """Return, recorded, whether `choice` and all parts go on: one after the other."""
        if not parts:
            return choice
        recording = self.recording

        def rest() -> list[Any]:
            return [self._asked_in_turn(self._stays(parts[0]), parts[1:])]

        ended = Side((), [recording.lift(np.False_)])
        sides = [record_side(recording, rest, self._own(self.root.nodes)), ended]
        return emit_condition(recording, "test", choice, sides)[0]

    def _own(self, nodes: Sequence[Node]) -> list[Node]:
        """The nodes among these that were taken out of the graph, each once."""
        return [node for node in dict.fromkeys(nodes) if node in self.inside]
