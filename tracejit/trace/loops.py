"""Recording of loops: the body once, on placeholders, and the node that owns it.

What the body records that does not depend on a placeholder stays in the graph around it, before
the loop: it is computed once. Effects are of the body: a draw takes place at each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tracejit.ir.graph import Node, Value
from tracejit.ir.subgraph import Placeholder, Subgraph, dependents, needed_for, values_around
from tracejit.ir.types import WEAK_TYPES, ArrayType
from tracejit.ops.control_flow import LOOP
from tracejit.trace.record import Recording
from tracejit.trace.tensor import Tensor


class LoopInputs(NamedTuple):
    """Values that a body is recorded on: those carried, one element of each sliced array, and the
    number of the step."""

    carried: Sequence[Value]
    sliced: Sequence[Value]
    step: Value

    @property
    def all(self) -> list[Value]:
        """All of them, in the order of the inputs of a body."""
        return [*self.carried, *self.sliced, self.step]


class LoopRange(NamedTuple):
    """The steps of a loop: how many, and whether from the last to the first."""

    length: Any
    reverse: bool


def placeholder(recording: Recording, type: ArrayType, label: str = "") -> Tensor:
    """A value that stands for a different array or number at each step: Python may not read it."""
    value = Placeholder(type)
    value.label = label
    recording.decisions.prefix.hide(value)
    return Tensor(value, recording)


def step_number(recording: Recording, label: str = "t") -> Tensor:
    """The number of a step, as a Python int."""
    return placeholder(recording, WEAK_TYPES[int], label)


def take_out(recording: Recording, start: int, inputs: Sequence[Value]) -> list[Node]:
    """The nodes from number `start` on that depend on `inputs` or have an effect: they belong to a
    body, and are taken out of the graph."""
    graph = recording.graph
    found = dependents(graph.nodes[start:], inputs)
    graph.remove(found)
    return found


def emit_loop(
    recording: Recording,
    name: str,
    steps: LoopRange,
    inputs: LoopInputs,
    nodes: Sequence[Node],
    outputs: Sequence[Value],
    initial: Sequence[Any],
    sliced: Sequence[Any],
    around: dict[Value, Any] | None = None,
) -> list[Tensor]:
    """The last carried values and the stacked arrays of a loop whose body computes `outputs` by
    `nodes`. `around` maps values that the body reads from outside to what they are here."""
    kept = needed_for(outputs, nodes, inputs.all)
    invariants = values_around(kept, outputs, inputs.all)
    body = Subgraph(recording.graph, name, [*invariants, *inputs.all], kept, outputs)
    known = around or {}
    fixed = [known.get(value, Tensor(value, recording)) for value in invariants]
    params = loop_params(body, len(invariants), len(initial), steps)
    results = results_of(LOOP(*fixed, *initial, *sliced, **params))
    for result, value in zip(results, inputs.carried, strict=False):
        result._value.derived = value.derived or (value, "")
    return results


def loop_params(body: Subgraph, invariants: int, carried: int, steps: LoopRange) -> dict[str, Any]:
    """The parameters of a loop."""
    length, reverse = steps
    return {
        "body": body,
        "invariants": invariants,
        "carried": carried,
        "length": length,
        "reverse": reverse,
    }


def results_of(found: Any) -> list[Tensor]:
    """The results of a node as a list."""
    return list(found) if isinstance(found, tuple) else [found]
