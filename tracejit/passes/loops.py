"""Loops and conditions: what they need not compute, carry, stack or read is dropped, and what is
the same at each step is computed before the loop.

- `merge_loops` makes one loop of a loop and those that extend it by further stacks;
- `prune_bodies` drops results that nothing reads with all that only they need, takes a carried
  value that never changes for an invariant, puts constants in the place of inputs, and the side
  that is taken in the place of a condition on a constant;
- `sink_fills` takes arrays full of one number into the bodies that read them, where passes see
  that they are zeros;
- `hoist_invariants` computes before the loop what depends on invariants alone. Nothing leaves the
  side of a condition: it may raise, or be expensive.

`in_bodies` applies a pass to the bodies. All of them are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import NamedTuple

from tracejit.ir.graph import Constant, Graph, Node, Value, replace_values
from tracejit.ir.subgraph import Subgraph, bodies_of, needed_for
from tracejit.ops.branches import may_raise
from tracejit.ops.control_flow import (
    LOOPS,
    OWNERS,
    ControlFlow,
    chosen,
    is_condition,
    is_counted,
    is_loop,
)
from tracejit.ops.creation import full
from tracejit.passes.dce import drop_dead
from tracejit.passes.rebuild import Rewrite, rebuild


def has_bodies(graph: Graph) -> bool:
    """Return whether there is a loop or a condition in a graph."""
    return any(isinstance(node.op, ControlFlow) for node in graph.nodes)


def in_bodies(graph: Graph, run: Callable[[Graph], Graph]) -> Graph:
    """`graph` with `run` applied to each body."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        bodies = graphs_of(node)
        better = [run(body) for body in bodies]
        if all(one is body for one, body in zip(better, bodies, strict=True)):
            return None
        return emit_like(new, node, operands, *better).results

    return rebuild(graph, rewrite, ops=OWNERS) if has_bodies(graph) else graph


def rebuild_loops(graph: Graph, rewrite: Rewrite) -> Graph:
    """`graph` with every loop of a known number of steps rewritten."""

    def counted(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        return rewrite(new, node, operands) if is_counted(node) else None

    is_there = any(map(is_counted, graph.nodes))
    return rebuild(graph, counted, ops=("loop",)) if is_there else graph


def with_constants(graph: Graph, run: Callable[[Graph], Graph]) -> Graph:
    """`graph` with constants in the bodies that take them for an input, and `run` applied to these
    bodies."""
    if not has_bodies(graph):
        return graph
    old = {body for node in graph.nodes for _, body in bodies_of(node)}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if not old.isdisjoint(body for _, body in bodies_of(node)):
            return None
        better = [drop_dead(with_constants(run(body), run)) for body in graphs_of(node)]
        return emit_like(new, node, operands, *better).results

    return rebuild(prune_bodies(graph), rewrite, ops=OWNERS)


def graphs_of(node: Node) -> list[Graph]:
    """The bodies of a node as graphs: that of a loop first, and then its condition."""
    return [body.graph for _, body in bodies_of(node)]


def emit_like(
    graph: Graph, node: Node, operands: Sequence[Value], *bodies: Graph, **numbers: int
) -> Node:
    """A node like `node` with these bodies, at its place; a condition that is not given stays.
    `numbers` are those of a loop's invariants and carried values, where they change."""
    made = [Subgraph.of(body) for body in bodies]
    params = {**node.params, **numbers}
    if is_condition(node):
        params["bodies"] = tuple(made)
    else:
        params.update(zip(("body", "condition"), made, strict=False))
    types = node.op.result_types([value.type for value in operands], params)
    place = node.where, node.region, node.tapes, node.segment
    return graph.emit(node.op, tuple(operands), params, types, *place)


# Loops that extend others


def merge_loops(graph: Graph) -> Graph:
    """`graph` with each loop and those that extend it as one, which stands where the first does."""
    if not any(is_loop(n) and n.params["body"].base is not None for n in graph.nodes):
        return graph
    firsts: dict[tuple[Subgraph, tuple[Value, ...]], Node] = {}
    groups: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        if is_loop(node):
            key = _first(node.params["body"]), node.operands
            first = firsts.setdefault(key, node)
            if not graph.branches.precedes(first.segment, node.segment):
                first = firsts[key] = node
            groups.setdefault(first, []).append(node)
    widest = {n: (first, group) for first, group in groups.items() for n in group if group[1:]}
    made: dict[Node, dict[Value, Value]] = {}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node not in widest:
            return None
        first, group = widest[node]
        if node is first:
            made[first] = _merged(new, group, operands)
        return [made[first][value] for value in node.results]

    return rebuild(graph, rewrite, ops=LOOPS)


def _first(body: Subgraph) -> Subgraph:
    while body.base is not None:
        body = body.base
    return body


def _merged(graph: Graph, group: Sequence[Node], operands: tuple[Value, ...]) -> dict[Value, Value]:
    """Map the results of loops with one body to those of one loop that returns all of them."""
    first = group[0]
    carried = first.params["carried"]
    body = _first(first.params["body"])
    outputs = dict.fromkeys(v for n in group for v in n.params["body"].outputs[carried:])
    whole = Subgraph(
        body.parent, body.name, body.inputs, body.nodes, [*body.outputs[:carried], *outputs]
    )
    made = emit_like(graph, first, operands, whole.graph).results
    places = {value: carried + number for number, value in enumerate(outputs)}
    known: dict[Value, Value] = {}
    for node in group:
        rows = [made[places[value]] for value in node.params["body"].outputs[carried:]]
        for old, new in zip(node.results, (*made[:carried], *rows), strict=True):
            known[old] = new
            new.take_name(old)
    return known


# What is not needed


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
            needs[node] = (_needs_of_sides if is_condition(node) else _needs_of)(node, reads)
            reads.update(needs[node].operands)
        elif node.op.effect:  # it stays, and with it a result that tells where its effects are
            reads.update(node.operands)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node not in needs:
            return None if node.op.effect else node.results
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
    made = emit_like(graph, node, [choice, *[read[k] for k in needs.places]], *shrunk).results
    return _put([*node.results], needs.outputs, node, made)


def _inlined(graph: Graph, node: Node, body: Graph, known: dict[Value, Value]) -> Sequence[Value]:
    """The outputs of a body whose nodes stand in the place of the node that owns it."""
    place = {"segment": node.segment, "region": node.region, "tapes": node.tapes}
    for inner in body.nodes:
        made = graph.copy_node(inner, replace_values(inner.operands, known), **place)
        known.update(zip(inner.results, made.results, strict=True))
    return replace_values(body.outputs, known)


def with_inputs(
    body: Graph,
    inputs: Sequence[Value],
    nodes: Sequence[Node],
    outputs: Sequence[Value],
    known: dict[Value, Value],
) -> Graph:
    """A body with these inputs, nodes and outputs; values are replaced by what is `known`."""
    new = Graph(body.name)
    new.adopt(body)
    known = {**known, **{value: new.add_input(value.name, value.type) for value in inputs}}
    return _filled(new, nodes, outputs, known)


def _filled(
    graph: Graph, nodes: Sequence[Node], outputs: Sequence[Value], known: dict[Value, Value]
) -> Graph:
    """`graph` with these nodes and outputs, applied to what is `known`."""
    for node in nodes:
        made = graph.copy_node(node, replace_values(node.operands, known))
        known.update(zip(node.results, made.results, strict=True))
    graph.outputs = list(replace_values(outputs, known))
    graph.complete_names()
    return graph


# What does not depend on the step


def sink_fills(graph: Graph) -> Graph:
    """`graph` with arrays full of one number made in the bodies that read them."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        body = node.params["body"].graph
        first = node.params["invariants"]
        fills = {v: x for v, x in zip(body.inputs[:first], operands, strict=False) if _is_fill(x)}
        better = body
        if fills:
            better = Graph(body.name)
            better.adopt(body)
            known = {v: better.add_input(v.name, v.type) for v in body.inputs if v not in fills}
            for value, whole in fills.items():
                assert whole.node is not None
                made = better.copy_node(whole.node, (), segment=0, region=0, tapes=())
                known[value] = made.results[0]
            _filled(better, body.nodes, body.outputs, known)
        if better is body:
            return None
        kept = [x for x in operands[:first] if not _is_fill(x)]
        read = [*kept, *operands[first:]]
        return emit_like(new, node, read, better, invariants=len(kept)).results

    return rebuild_loops(graph, rewrite)


def _is_fill(value: Value) -> bool:
    return value.node is not None and value.node.op is full


def hoist_invariants(graph: Graph, with_fills: bool = True) -> Graph:
    """`graph` with what depends on invariants alone computed before each loop; arrays full of one
    number stay in bodies, unless `with_fills`."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        return _hoisted(new, node, operands, with_fills)

    return rebuild(graph, rewrite, ops=LOOPS) if has_bodies(graph) else graph


def _hoisted(
    graph: Graph, node: Node, operands: tuple[Value, ...], with_fills: bool
) -> Sequence[Value] | None:
    bodies = graphs_of(node)
    first = node.params["invariants"]
    known: dict[Value, Value] = {}
    moved: dict[Node, None] = {}
    for body in bodies:
        known.update(zip(body.inputs[:first], operands, strict=False))
        for inner in body.nodes:
            if inner.op.effect or isinstance(inner.op, ControlFlow) or may_raise(inner):
                continue
            if inner.op is full and not with_fills:
                continue
            if all(value in known or isinstance(value, Constant) for value in inner.operands):
                place = {"segment": node.segment, "region": node.region, "tapes": node.tapes}
                made = graph.copy_node(inner, replace_values(inner.operands, known), **place)
                known.update(zip(inner.results, made.results, strict=True))
                moved[inner] = None
    if not moved:
        return None
    left = [[inner for inner in body.nodes if inner not in moved] for body in bodies]
    read = {
        value
        for body, nodes in zip(bodies, left, strict=True)
        for value in [*(v for n in nodes for v in n.operands), *body.outputs]
    }
    new = [value for inner in moved for value in inner.results if value in read]
    shrunk = [
        with_inputs(
            body, [*body.inputs[:first], *new, *body.inputs[first:]], nodes, body.outputs, {}
        )
        for body, nodes in zip(bodies, left, strict=True)
    ]
    places = [*operands[:first], *[known[value] for value in new], *operands[first:]]
    return emit_like(graph, node, places, *shrunk, invariants=first + len(new)).results
