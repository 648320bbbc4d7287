"""Pruning of loops and conditions: drop values that they need not compute, carry, stack or read.

`prune_bodies` drops results that nothing reads with all that only they need, takes a carried value
that never changes for an invariant, puts constants in the place of inputs, and the side that is
taken in the place of a condition on a constant. Not a bit changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from tracejit.ir.graph import Constant, Graph, Node, Value, replace_values
from tracejit.ir.subgraph import Subgraph, bodies_of, needed_for
from tracejit.loops.bodies.loops import (
    emit_like,
    graphs_of,
    has_bodies,
    moved_node,
    with_inputs,
)
from tracejit.ops.control.control_flow import OWNERS, ControlFlow, chosen, is_condition
from tracejit.ops.control.routines import functions_of, is_routine
from tracejit.passes.framework.rebuild import rebuild


def prune_bodies(graph: Graph) -> Graph:
    """`graph` with no more in its loops and conditions than what is read needs."""
    if not has_bodies(graph):
        return graph
    reads = set(graph.outputs)
    needs: dict[Node, _Needs] = {}
    for node in reversed(graph.nodes):
        if not isinstance(node.op, ControlFlow):
            reads.update(node.operands)
            continue
        if not reads.isdisjoint(node.results):
            needs[node] = _needs(node, reads)
            reads.update(needs[node].operands)
        elif node.op.effect:  # it stays, and with it a result that tells where its effects are
            reads.update(node.operands)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node not in needs:
            return None if node.op.effect else node.results
        if is_routine(node):
            return _pruned_routine(new, node, operands, needs[node])
        pruned = _pruned_condition if is_condition(node) else _pruned
        return pruned(new, node, operands, needs[node])

    return rebuild(graph, rewrite, ops=OWNERS)


class _Needs(NamedTuple):
    """The parts of a loop or condition that its readers need.

    `nodes` are those of each of its bodies, `places` the numbers of the inputs that these read,
    `invariants` of which are the same at each step; `outputs` are the numbers of results that are
    read, or carried for them, `constants` the inputs that constants take the place of. `operands`
    are the values that are read of the graph around the node.
    """

    nodes: list[list[Node]]
    places: list[int]
    invariants: int
    outputs: list[int]
    constants: dict[Value, Value]
    operands: list[Value]

    def is_all_of(self, bodies: Sequence[Graph], operands: int, outputs: int) -> bool:
        """Return whether nothing is dropped."""
        return (
            not self.constants
            and (len(self.places), len(self.outputs)) == (operands, outputs)
            and [len(nodes) for nodes in self.nodes] == [len(body.nodes) for body in bodies]
        )


def _needs(node: Node, reads: Set[Value]) -> _Needs:
    """The parts of a node that are needed where some values are read."""
    if is_routine(node):
        return _needs_of_functions(node, reads)
    return (_needs_of_sides if is_condition(node) else _needs_of)(node, reads)


def _constants(bodies: Iterable[Graph], operands: Sequence[Value]) -> dict[Value, Value]:
    """The inputs of bodies that are constants."""
    return {
        value: operand
        for body in bodies
        for value, operand in zip(body.inputs, operands, strict=False)
        if isinstance(operand, Constant)
    }


def _read(body: Graph, nodes: Sequence[Node], outputs: Sequence[Value]) -> set[int]:
    """The numbers of the inputs of a body that nodes read or it returns."""
    read = {value for node in nodes for value in node.operands}.union(outputs)
    return {place for place, value in enumerate(body.inputs) if value in read}


def _needs_of(node: Node, reads: Set[Value]) -> _Needs:
    """The parts of a loop that are needed where some values are read."""
    body, *tests = bodies = graphs_of(node)
    operands = node.operands[: len(body.inputs) - 1]
    first, count = node.params["invariants"], node.params["carried"]
    carried = body.inputs[first : first + count]
    constants = _constants(bodies, operands[:first])
    tested = set[int]().union(*[_read(test, test.nodes, test.outputs) for test in tests])
    fixed = [k for k in range(count) if body.outputs[k] is carried[k]]
    needed = {k for k, value in enumerate(node.results) if value in reads and k not in fixed}
    while True:
        outputs = [body.outputs[k] for k in sorted(needed)]
        nodes = needed_for(outputs, body.nodes, body.inputs)
        read = _read(body, nodes, outputs) | tested
        new = {k for k in range(count) if first + k in read and k not in fixed} - needed
        if not new:
            break
        needed |= new
    places = [k for k in range(first) if k in read and body.inputs[k] not in constants]
    places += [first + k for k in fixed if first + k in read]
    invariants = len(places)
    places += [first + k for k in range(count) if k in needed]
    places += [k for k in range(first + count, len(operands)) if k in read]
    around = [operands[k] for k in places] + [operands[first + k] for k in fixed]
    around += node.operands[len(operands) :]
    kept = [nodes, *[test.nodes for test in tests]]
    return _Needs(kept, places, invariants, sorted(needed), constants, around)


def _pruned(
    graph: Graph, node: Node, operands: tuple[Value, ...], needs: _Needs
) -> Sequence[Value]:
    """The results of a loop without what nothing reads; the initial value stands for a result that
    is dropped."""
    bodies = graphs_of(node)
    first, count = node.params["invariants"], node.params["carried"]
    results = [*operands[first : first + count], *node.results[count:]]
    if not needs.outputs and not node.op.effect:
        return results
    number = len(bodies[0].inputs) - 1
    if not needs.outputs or needs.is_all_of(bodies, number, len(node.results)):
        return graph.take(node, operands).results
    returned = [[bodies[0].outputs[k] for k in needs.outputs], *[b.outputs for b in bodies[1:]]]
    places = [*needs.places, -1]
    shrunk = [
        with_inputs(body, [body.inputs[k] for k in places], nodes, outputs, needs.constants)
        for body, nodes, outputs in zip(bodies, needs.nodes, returned, strict=True)
    ]
    shrunk = [prune_bodies(body) for body in shrunk] if needs.constants else shrunk
    numbers = {"invariants": needs.invariants, "carried": sum(k < count for k in needs.outputs)}
    read = [*[operands[k] for k in needs.places], *operands[number:]]
    made = emit_like(graph, node, read, *shrunk, **numbers).results
    return _put(results, needs.outputs, node, made)


def _put(
    results: list[Value], places: Sequence[int], node: Node, made: Sequence[Value]
) -> list[Value]:
    """`results` with what was `made` for some results of a node."""
    for place, value in zip(places, made, strict=True):
        results[place] = value
        value.take_name(node.results[place])
    return results


def _needs_of_sides(node: Node, reads: Set[Value]) -> _Needs:
    """The parts of a condition that are needed where some values are read."""
    bodies, operands = graphs_of(node), node.operands[1:]
    kept = [k for k, value in enumerate(node.results) if value in reads]
    constants = _constants(bodies, operands)
    nodes, read = [], set[int]()
    for body in bodies:
        outputs = [body.outputs[k] for k in kept]
        nodes.append(needed_for(outputs, body.nodes, ()))
        read |= _read(body, nodes[-1], outputs)
    places = [k for k in sorted(read) if not isinstance(operands[k], Constant)]
    around = [node.operands[0], *[operands[k] for k in places]]
    return _Needs(nodes, places, 0, kept, constants, around)


def _pruned_condition(
    graph: Graph, node: Node, operands: tuple[Value, ...], needs: _Needs
) -> Sequence[Value]:
    """The results of a condition without what nothing reads."""
    bodies = graphs_of(node)
    choice, *read = operands
    if isinstance(choice, Constant):
        body = bodies[chosen(choice.data, len(bodies))]
        return _inlined(graph, node, body, dict(zip(body.inputs, read, strict=True)))
    if needs.is_all_of(bodies, len(read), len(node.results)):
        return graph.take(node, operands).results
    shrunk = [
        with_inputs(
            body,
            [body.inputs[k] for k in needs.places],
            nodes,
            [body.outputs[k] for k in needs.outputs],
            needs.constants,
        )
        for body, nodes in zip(bodies, needs.nodes, strict=True)
    ]
    shrunk = [prune_bodies(body) for body in shrunk] if needs.constants else shrunk
    made = emit_like(graph, node, [choice, *[read[k] for k in needs.places]], *shrunk).results
    return _put([*node.results], needs.outputs, node, made)


def _needs_of_functions(node: Node, reads: Set[Value]) -> _Needs:
    """The parts of a routine that are needed: the functions that it is given, and what they read
    of what is around them."""
    bodies = [body.graph for body in functions_of(node).values()]
    first = node.params["invariants"]
    constants = _constants(bodies, node.operands[:first])
    nodes, read = [], set[int]()
    for body in bodies:
        nodes.append(needed_for(body.outputs, body.nodes, body.inputs))
        read |= _read(body, nodes[-1], body.outputs)
    places = [k for k in range(first) if k in read and not isinstance(node.operands[k], Constant)]
    around = [*[node.operands[k] for k in places], *node.operands[first:]]
    outputs = [k for k, value in enumerate(node.results) if value in reads]
    if node.op.first_alone is None or outputs != [0]:
        outputs = [*range(len(node.results))]
    return _Needs(nodes, places, len(places), outputs, constants, around)


def _pruned_routine(
    graph: Graph, node: Node, operands: tuple[Value, ...], needs: _Needs
) -> Sequence[Value]:
    """The results of a routine without the functions that it is not given."""
    functions, first = functions_of(node), node.params["invariants"]
    bodies = [body.graph for body in functions.values()]
    is_whole = len(functions) == len(graphs_of(node))
    if is_whole and needs.is_all_of(bodies, first, len(node.results)):
        return graph.take(node, operands).results
    dropped = [name for name, _ in bodies_of(node) if name not in functions]
    shrunk = []
    for body, nodes in zip(bodies, needs.nodes, strict=True):
        inputs = [*[body.inputs[k] for k in needs.places], *body.inputs[first:]]
        shrunk.append(with_inputs(body, inputs, nodes, body.outputs, needs.constants))
    shrunk = [prune_bodies(body) for body in shrunk] if needs.constants else shrunk
    params = {name: value for name, value in node.params.items() if name not in dropped}
    params |= {name: Subgraph.of(body) for name, body in zip(functions, shrunk, strict=True)}
    params["invariants"] = len(needs.places)
    read = (*[operands[k] for k in needs.places], *operands[first:])
    op = node.op if len(needs.outputs) == len(node.results) else node.op.first_alone
    types = [node.results[k].type for k in needs.outputs]
    place = node.where, node.region, node.tapes, node.segment
    made = graph.emit(op, read, params, types, *place).results
    return _put([*node.results], needs.outputs, node, made)


def _inlined(graph: Graph, node: Node, body: Graph, known: dict[Value, Value]) -> Sequence[Value]:
    """The outputs of a body whose nodes stand in the place of the node that owns it."""
    place = {"segment": node.segment, "region": node.region, "tapes": node.tapes}
    for inner in body.nodes:
        made = moved_node(graph, inner, replace_values(inner.operands, known), **place)
        known.update(zip(inner.results, made.results, strict=True))
    return replace_values(body.outputs, known)
