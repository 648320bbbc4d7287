"""Re-rolling: the steps of a recorded loop of Python's become one node, which owns its body.

A Python loop leaves a copy of its body at each step in a recording. After the function has run, and
before it is differentiated, `reroll` looks for these copies. `periods.py` finds where nodes repeat,
`step_columns.py` proves which of the repetitions are loops. The nodes of the first step become the
body, and those of the other steps go. Results of steps that something else reads are results of
the loop: the last ones, or rows of what it stacks. Loops in loops become nodes first, and are then
parts of the steps around them.

A Tensor that the user still holds stands for its value wherever that is now: `reroll` finds what is
held by counting references.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from sys import getrefcount
from typing import Any

from tracejit.ir.graph import Node, Value
from tracejit.ir.subgraph import Subgraph, bodies_of
from tracejit.ir.types import WEAK_TYPES
from tracejit.ops.indexing.indexing import getitem
from tracejit.ops.indexing.updates import set_item
from tracejit.support.cost_model import costs
from tracejit.trace.recording.record import Recording
from tracejit.trace.rerolling.loop_search import LoopNote, LoopSearch, weight_of
from tracejit.trace.rerolling.rolled_loops import Replacement
from tracejit.trace.tensor.tensor import TENSORS


def reroll(recording: Recording, start: int, results: Sequence[Any]) -> None:
    """Let loops among the nodes from number `start` on be one node each. `results` are Tensors that
    stand for their values afterwards; so do those that the user holds."""
    graph = recording.graph
    sizes_differ = recording.rolls_sizes and _sizes_differ(graph.nodes[start:])
    least = costs().least_sized_nodes if sizes_differ else costs().least_rolled_nodes
    if sum(map(weight_of, graph.nodes[start:])) < least:
        return
    problem = _problem(recording) if recording.rolls_sizes else "its steps do not fit together"
    if problem:
        recording.loop_notes.append(LoopNote(None, 0, problem))
        return
    graph.forget_keys()
    recording.settle_names()
    held = _held(recording, graph.nodes[start:])
    events = [value for event in recording.events for value in event.values]
    places = {value: value for value in (*held, *events, *[t._value for t in results])}
    while True:
        search = LoopSearch(recording, graph.nodes[start:], places, sizes_differ)
        bodies = search.bodies()
        if sizes_differ and not bodies:
            search = LoopSearch(recording, graph.nodes[start:], places)
            bodies = search.bodies()
        recording.loop_notes += search.notes
        if not bodies:
            break
        Replacement(recording, search, bodies, places).run(start)
    recording.loop_notes[:] = {(x.where, bool(x.steps)): x for x in recording.loop_notes}.values()
    for tensor in results:
        tensor._held = places.get(tensor._held, tensor._held)
    for event in recording.events:
        event.values[:] = [places.get(value, value) for value in event.values]
    recording.move({old: new for old, new in places.items() if old is not new})


def _sizes_differ(nodes: Sequence[Node]) -> bool:
    """Return whether slices that one line takes differ in size or place, as in loops they may, or
    a line updates so many parts that it may be in a loop in another loop."""
    slices: dict[Any, set[Any]] = {}
    updates: Counter[Any] = Counter()
    for node in nodes:
        if node.op is getitem:
            bounds = tuple([entry for entry in node.params["index"] if type(entry) is tuple])
            slices.setdefault(node.where, set()).add((node.results[0].type, bounds))
        elif node.op is set_item:
            updates[node.where] += 1
    least = costs().least_rolled_steps
    return any(len(found) >= least for found in slices.values()) or any(
        number >= least * least for number in updates.values()
    )


def _problem(recording: Recording) -> str:
    """The reason why no loop of a recording becomes one node; empty where loops may."""
    sizes = recording.graph.sizes
    if recording.exact:
        return "with exact=True every sum is in NumPy's order"
    if len(recording.decisions):
        return "the function branches on values"
    if recording.probes or recording.reopened_by is not None:
        return "a derivative is being recorded"
    if sizes is not None and sizes.free():
        return "sizes of arrays are free"
    return ""


def _held(recording: Recording, nodes: Sequence[Node]) -> list[Value]:
    """The results of nodes that something refers to besides nodes."""
    uses = _uses(recording, nodes)
    own = _references([Node(getitem, (), {}, (WEAK_TYPES[int],), None, 0, ())])[0]
    found = iter(_references(nodes))
    return [
        value
        for node in nodes
        for value in node.results
        if next(found) > own + (uses[value] + 1 if value in uses else 0)
    ]


def _uses(recording: Recording, nodes: Sequence[Node]) -> dict[Value, int]:
    """The number of references from nodes, from names, and from what the recording knows."""
    bodies = [*_bodies_in(nodes)]
    inside = [node for body in bodies for node in body.nodes]
    tuples = {id(node.operands): node.operands for node in (*nodes, *inside)}
    pairs = {id(x.derived): x.derived for node in nodes for x in node.results if x.derived}
    stores: list[Iterable[Value]] = [recording.known, recording.shared, recording.out_of_order]
    stores += [recording.merged, recording.mixed, recording.placed, recording.pythons]
    counted = Counter(value for operands in tuples.values() for value in operands)
    counted.update(primal for primal, _ in pairs.values())
    counted.update(value for store in stores for value in store)
    flags = [one for one in recording.pythons.values() if type(one) in TENSORS]
    counted.update(one._held for one in flags)
    counted.update(value for body in bodies for value in (*body.inputs, *body.outputs))
    return counted


def _bodies_in(nodes: Sequence[Node]) -> Iterator[Subgraph]:
    """The bodies of nodes, and those in them."""
    for node in nodes:
        for _, body in bodies_of(node):
            yield body
            yield from _bodies_in(body.nodes)


def _references(nodes: Sequence[Node]) -> list[int]:
    return [getrefcount(value) for node in nodes for value in node.results]
