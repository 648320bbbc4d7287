"""Loops: what a loop need not compute, carry, stack or read is dropped, and what is the same at
each step is computed before it.

- `merge_loops` makes one loop of a loop and those that extend it by further stacks;
- `prune_loops` drops results that nothing reads with all that only they need, takes a carried value
  that never changes for an invariant, and puts constants in the place of inputs;
- `sink_fills` takes arrays full of one number into the bodies that read them, where passes see
  that they are zeros;
- `hoist_invariants` computes before the loop what depends on invariants alone.

`in_bodies` applies a pass to the bodies. All of them are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import NamedTuple

from tracejit.ir.graph import Constant, Graph, Node, Value, replace_values
from tracejit.ir.subgraph import Subgraph, needed_for
from tracejit.ops.branches import may_raise
from tracejit.ops.control_flow import LOOP
from tracejit.ops.creation import full
from tracejit.passes.dce import drop_dead
from tracejit.passes.rebuild import rebuild


def has_loops(graph: Graph) -> bool:
    """Return whether there is a loop in a graph."""
    return any(node.op is LOOP for node in graph.nodes)


def in_bodies(graph: Graph, run: Callable[[Graph], Graph]) -> Graph:
    """`graph` with `run` applied to the body of each loop."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        body = node.params["body"].graph
        better = run(body)
        return None if better is body else emit_like(new, node, operands, better).results

    return rebuild(graph, rewrite, ops=("loop",)) if has_loops(graph) else graph


def with_constants(graph: Graph, run: Callable[[Graph], Graph]) -> Graph:
    """`graph` with constants in the bodies of the loops that take them for an input, and `run`
    applied to these bodies."""
    if not has_loops(graph):
        return graph
    old = {node.params["body"] for node in graph.nodes if node.op is LOOP}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node.params["body"] in old:
            return None
        body = with_constants(run(node.params["body"].graph), run)
        return emit_like(new, node, operands, drop_dead(body)).results

    return rebuild(prune_loops(graph), rewrite, ops=("loop",))


def emit_like(
    graph: Graph,
    node: Node,
    operands: Sequence[Value],
    body: Graph,
    invariants: int | None = None,
    carried: int | None = None,
) -> Node:
    """A loop like `node` with another body, at its place."""
    params = {**node.params, "body": Subgraph.of(body)}
    if invariants is not None:
        params["invariants"] = invariants
    if carried is not None:
        params["carried"] = carried
    types = LOOP.result_types([value.type for value in operands], params)
    place = node.where, node.region, node.tapes, node.segment
    return graph.emit(LOOP, tuple(operands), params, types, *place)


# Loops that extend others


def merge_loops(graph: Graph) -> Graph:
    """`graph` with each loop and those that extend it as one, which stands where the first does."""
    if not any(n.op is LOOP and n.params["body"].base is not None for n in graph.nodes):
        return graph
    firsts: dict[tuple[Subgraph, tuple[Value, ...]], Node] = {}
    groups: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        if node.op is LOOP:
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

    return rebuild(graph, rewrite, ops=("loop",))


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


def prune_loops(graph: Graph) -> Graph:
    """`graph` with no more in its loops than what is read needs."""
    if not has_loops(graph):
        return graph
    reads = set(graph.outputs)
    needs: dict[Node, _Needs] = {}
    for node in reversed(graph.nodes):
        if node.op is LOOP:
            needs[node] = _needs_of(node, reads)
            reads.update(needs[node].operands)
        else:
            reads.update(node.operands)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        return _pruned(new, node, operands, needs[node])

    return rebuild(graph, rewrite, ops=("loop",))


class _Needs(NamedTuple):
    """The parts of a loop that its readers need.

    `nodes` are those of its body, `places` the numbers of operands that these read, `invariants` of
    which are the same at each step; `outputs` are the numbers of results that are read, or carried
    for them, `constants` the inputs that constants take the place of. `operands` are the values
    that are read of the graph around the loop.
    """

    nodes: list[Node]
    places: list[int]
    invariants: int
    outputs: list[int]
    constants: dict[Value, Value]
    operands: list[Value]


def _needs_of(node: Node, reads: Set[Value]) -> _Needs:
    """The parts of a loop that are needed where some values are read."""
    body = node.params["body"].graph
    operands = node.operands
    first, count = node.params["invariants"], node.params["carried"]
    carried = body.inputs[first : first + count]
    constants: dict[Value, Value] = {
        value: operand
        for value, operand in zip(body.inputs[:first], operands, strict=False)
        if isinstance(operand, Constant)
    }
    fixed = [k for k in range(count) if body.outputs[k] is carried[k]]
    needed = {k for k, value in enumerate(node.results) if value in reads and k not in fixed}
    while True:
        outputs = [body.outputs[k] for k in sorted(needed)]
        nodes = needed_for(outputs, body.nodes, body.inputs)
        read = {value for inner in nodes for value in inner.operands}.union(outputs)
        new = {k for k, value in enumerate(carried) if value in read and k not in fixed} - needed
        if not new:
            break
        needed |= new
    places = [k for k in range(first) if body.inputs[k] in read and body.inputs[k] not in constants]
    places += [first + k for k in fixed if carried[k] in read]
    invariants = len(places)
    places += [first + k for k in range(count) if k in needed]
    places += [k for k in range(first + count, len(operands)) if body.inputs[k] in read]
    around = [operands[k] for k in places] + [operands[first + k] for k in fixed]
    return _Needs(nodes, places, invariants, sorted(needed), constants, around)


def _pruned(
    graph: Graph, node: Node, operands: tuple[Value, ...], needs: _Needs
) -> Sequence[Value]:
    """The results of a loop without what nothing reads; the initial value stands for a result that
    is dropped."""
    body = node.params["body"].graph
    first, count = node.params["invariants"], node.params["carried"]
    results = [*operands[first : first + count], *node.results[count:]]
    if not needs.outputs and not any(inner.op.effect for inner in needs.nodes):
        return results
    is_whole = len(needs.places) == len(operands) and len(needs.outputs) == len(node.results)
    if is_whole and not needs.constants and len(needs.nodes) == len(body.nodes):
        return graph.take(node, operands).results
    inputs = [*[body.inputs[k] for k in needs.places], body.inputs[-1]]
    outputs = [body.outputs[k] for k in needs.outputs]
    shrunk = with_inputs(body, inputs, needs.nodes, outputs, needs.constants)
    kept = sum(k < count for k in needs.outputs)
    read = [operands[k] for k in needs.places]
    made = emit_like(graph, node, read, shrunk, needs.invariants, kept).results
    for place, value in zip(needs.outputs, made, strict=True):
        results[place] = value
        value.take_name(node.results[place])
    return results


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
        better = sink_fills(better)
        if better is body:
            return None
        kept = [x for x in operands[:first] if not _is_fill(x)]
        return emit_like(new, node, [*kept, *operands[first:]], better, len(kept)).results

    return rebuild(graph, rewrite, ops=("loop",)) if has_loops(graph) else graph


def _is_fill(value: Value) -> bool:
    return value.node is not None and value.node.op is full


def hoist_invariants(graph: Graph, with_fills: bool = True) -> Graph:
    """`graph` with what depends on invariants alone computed before each loop; arrays full of one
    number stay in bodies, unless `with_fills`."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        return _hoisted(new, node, operands, with_fills)

    return rebuild(graph, rewrite, ops=("loop",)) if has_loops(graph) else graph


def _hoisted(
    graph: Graph, node: Node, operands: tuple[Value, ...], with_fills: bool
) -> Sequence[Value] | None:
    body = node.params["body"].graph
    first = node.params["invariants"]
    known = dict(zip(body.inputs[:first], operands, strict=False))
    moved: list[Node] = []
    for inner in body.nodes:
        if inner.op.effect or inner.op is LOOP or may_raise(inner):
            continue
        if inner.op is full and not with_fills:
            continue
        if all(value in known or isinstance(value, Constant) for value in inner.operands):
            place = {"segment": node.segment, "region": node.region, "tapes": node.tapes}
            made = graph.copy_node(inner, replace_values(inner.operands, known), **place)
            known.update(zip(inner.results, made.results, strict=True))
            moved.append(inner)
    if not moved:
        return None
    gone = set(moved)
    nodes = [inner for inner in body.nodes if inner not in gone]
    read = dict.fromkeys([*(v for n in nodes for v in n.operands), *body.outputs])
    new = [value for inner in moved for value in inner.results if value in read]
    inputs = [*body.inputs[:first], *new, *body.inputs[first:]]
    shrunk = with_inputs(body, inputs, nodes, body.outputs, {})
    places = [*operands[:first], *[known[value] for value in new], *operands[first:]]
    return emit_like(graph, node, places, shrunk, first + len(new)).results
