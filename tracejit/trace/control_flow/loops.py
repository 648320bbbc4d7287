"""Recording of loops: the body once, on placeholders, and the node that owns it.

What the body records that does not depend on a placeholder stays in the graph around it, before
the loop: it is computed once. Effects are of the body: a draw takes place at each step. Of a loop
that may not run at all, and of the side of a condition, everything is of the body: it may raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ir.subgraph import Placeholder, Subgraph, dependents, needed_for, values_around
from tracejit.ir.types import WEAK_TYPES, ArrayType
from tracejit.ops.control.branches import DECIDE
from tracejit.ops.control.control_flow import LOOP, WHILE, op_for
from tracejit.ops.indexing.indexing import getitem
from tracejit.trace.recording.record import Recording
from tracejit.trace.structure.draws import generators_around, refusing_draws
from tracejit.trace.tensor.tensor import Tensor


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
    """The steps of a loop: how many, and whether from the last to the first. Where `length` is
    None, it is a `number` that is recorded. With `checkpoint` nothing is kept for the derivative
    but what each step began with. `size` is the symbol of sizes that differ in steps."""

    length: Any
    reverse: bool
    number: Tensor | None = None
    checkpoint: bool = False
    size: int | None = None


class Side(NamedTuple):
    """The contents of a body: nodes that were recorded, and the values that it returns."""

    nodes: Sequence[Node]
    outputs: Sequence[Value]


def placeholder(recording: Recording, type: ArrayType, label: str = "") -> Tensor:
    """A value that stands for a different array or number at each step: Python may not read it."""
    value = Placeholder(type)
    value.label = label
    recording.decisions.prefix.hide(value)
    recording.gone.add(value)
    return Tensor(value, recording)


@contextmanager
def in_region(recording: Recording, region: int) -> Iterator[None]:
    """Nodes recorded meanwhile belong to this recompute region."""
    outer, recording.region = recording.region, region
    try:
        yield
    finally:
        recording.region = outer


def step_number(recording: Recording, label: str = "t") -> Tensor:
    """The number of a step, as a Python int."""
    return placeholder(recording, WEAK_TYPES[int], label)


@contextmanager
def inside_body(recording: Recording, *functions: Any) -> Iterator[None]:
    """Record the body that these functions are of: it may not write to what was made before, nor
    draw random numbers that are not recorded, which would be the same at each step."""
    held: dict[str, Any] = {}
    for function in functions:
        held |= generators_around(function)
    name = getattr(functions[0], "__name__", "the body")
    with recording.inside_scope(), refusing_draws(name, held):
        yield


def take_out(
    recording: Recording,
    start: int,
    inputs: Sequence[Value] | None = None,
    size: int | None = None,
    leaves_rows: bool = False,
) -> list[Node]:
    """The nodes from number `start` on that depend on `inputs`, or on the symbol `size`, or have an
    effect: they belong to a body, and are taken out of the graph. Without `inputs` all of them do,
    but for decisions and what these are made from; one that `leaves_rows` lets stay what takes
    elements of arrays from outside by numbers."""
    graph = recording.graph
    nodes = graph.nodes[start:]
    found = _but_decisions(nodes) if inputs is None else dependents(nodes, inputs, size)
    if leaves_rows:
        found = _but_rows(found)
    graph.remove(found)
    recording.decisions.prefix.rewind(start)
    recording.gone.update(value for node in found for value in node.results)
    return found


def _but_decisions(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that no decision depends on."""
    decided: set[Value] = set()
    found = []
    for node in reversed(nodes):
        if node.op is DECIDE or not decided.isdisjoint(node.results):
            decided.update(node.operands)
        else:
            found.append(node)
    return found[::-1]


def _but_rows(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that do more than take elements, by numbers, of arrays that none of these makes."""
    found: list[Node] = []
    made = set[Value]()
    for node in nodes:
        if node.op is not getitem or len(node.operands) > 1 or node.operands[0] in made:
            found.append(node)
            made.update(node.results)
    return found


def emit_loop(
    recording: Recording,
    name: str,
    steps: LoopRange,
    inputs: LoopInputs,
    step: Side,
    initial: Sequence[Any],
    sliced: Sequence[Any],
    around: dict[Value, Any] | None = None,
) -> list[Tensor]:
    """The last carried values and what is stacked of a loop over a `step`. `around` maps values
    that the body reads from outside to what they are here."""
    kept = needed_for(step.outputs, step.nodes, inputs.all)
    made = [value for node in kept if node.op.effect for value in node.results]
    outputs = step.outputs or made[:1]  # a node without results could not be told to be over
    invariants = values_around(kept, outputs, inputs.all)
    body = Subgraph(recording.graph, name, [*invariants, *inputs.all], kept, outputs)
    fixed = _here(recording, invariants, around)
    params = {
        "body": body,
        "invariants": len(invariants),
        "carried": len(initial),
        "length": steps.length,
        "reverse": steps.reverse,
        **({"checkpoint": True} if steps.checkpoint else {}),
        **({} if steps.size is None else {"size": steps.size}),
    }
    tail = () if steps.number is None else (steps.number,)
    found = op_for(LOOP, kept)(*fixed, *initial, *sliced, *tail, **params)
    return _called_after(results_of(found), inputs.carried)


def emit_while(
    recording: Recording,
    name: str,
    inputs: LoopInputs,
    test: Side,
    step: Side,
    initial: Sequence[Any],
    around: dict[Value, Any] | None = None,
    counted: Tensor | None = None,
) -> list[Tensor]:
    """The last carried values, and what is stacked, of a loop over a `step` that runs as long as a
    `test` holds. `around` maps values that they read from outside to what they are here. The last
    value that the node carries is the number of steps, for the derivative: a placeholder that is
    `counted`, if they read it."""
    start = len(recording.graph.nodes)
    count: Any = step_number(recording, "count") if counted is None else counted
    following = (count + 1)._value
    number = len(initial)
    outputs = [*step.outputs[:number], following, *step.outputs[number:]]
    step = Side([*step.nodes, *take_out(recording, start)], outputs)
    inputs = inputs._replace(carried=[*inputs.carried, count._value])
    initial = [*initial, 0]
    bodies = [
        Side(needed_for(side.outputs, side.nodes, inputs.all), side.outputs)
        for side in (test, step)
    ]
    nodes = [node for side in bodies for node in side.nodes]
    invariants = values_around(nodes, [*test.outputs, *step.outputs], inputs.all)
    condition, body = [
        Subgraph(recording.graph, called, [*invariants, *inputs.all], *side)
        for called, side in zip((f"{name}_condition", name), bodies, strict=True)
    ]
    params = {
        "body": body,
        "condition": condition,
        "invariants": len(invariants),
        "carried": len(initial),
    }
    fixed = _here(recording, invariants, around)
    found = op_for(WHILE, nodes)(*fixed, *initial, **params)
    results = _called_after(results_of(found), inputs.carried)
    return [*results[:number], *results[number + 1 :]]


def _here(
    recording: Recording, values: Sequence[Value], around: dict[Value, Any] | None
) -> list[Any]:
    """Values that a body reads from outside as Tensors."""
    known = around or {}
    return [known.get(value, Tensor(value, recording)) for value in values]


def _called_after(results: list[Tensor], carried: Sequence[Value]) -> list[Tensor]:
    """The results of a loop, called after what the body calls them."""
    for result, value in zip(results, carried, strict=False):
        result._value.derived = value.derived or (value, "")
    return results


def most_of(counts: Any) -> Any:
    """The largest of the numbers of steps of the elements of a batch, which may be empty."""
    return np.max(counts, initial=0) if 0 in counts.shape else np.max(counts)


def results_of(found: Any) -> list[Tensor]:
    """The results of a node as a list."""
    return list(found) if isinstance(found, tuple) else [found]
