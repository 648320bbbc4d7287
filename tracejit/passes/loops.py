"""Loops and conditions: what they need not compute, carry, stack or read is dropped, and what is
the same at each step is computed before the loop.

- `merge_loops` makes one loop of a loop and those that extend it by further stacks;
- `prune_bodies` drops results that nothing reads with all that only they need, takes a carried
  value that never changes for an invariant, puts constants in the place of inputs, and the side
  that is taken in the place of a condition on a constant;
- `hoist_invariants` computes before the loop what depends on invariants alone. Nothing leaves the
  side of a condition: it may raise, or be expensive.

`in_bodies` applies a pass to the bodies. All of them are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from tracejit.ir.graph import Constant, Graph, Node, Value, replace_values
from tracejit.ir.subgraph import Subgraph, bodies_of, needed_for
from tracejit.ops.branches import may_raise
from tracejit.ops.control_flow import ControlFlow, chosen, is_condition, is_loop
from tracejit.passes.rebuild import rebuild

LOOPS = ("loop", "while")
OWNERS = (*LOOPS, "cond")


def has_bodies(graph: Graph) -> bool:
    """Return whether there is a loop or condition in a graph."""
    return any(isinstance(node.op, ControlFlow) for node in graph.nodes)


def in_bodies(graph: Graph, run: Callable[[Graph], Graph]) -> Graph:
    """`graph` with `run` applied to each body, the innermost first."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        bodies = [body.graph for _, body in bodies_of(node)]
        better = [run(in_bodies(body, run)) for body in bodies]
        if all(new is old for new, old in zip(better, bodies, strict=True)):
            return None
        return emit_like(new, node, operands, better).results

    return rebuild(graph, rewrite, ops=OWNERS) if has_bodies(graph) else graph


def emit_like(
    graph: Graph,
    node: Node,
    operands: Sequence[Value],
    bodies: Sequence[Graph],
    **changes: int,
) -> Node:
    """A node like `node` with these bodies, at its place; `changes` replace its numbers of
    invariants and of carried values."""
    made = [Subgraph.of(body) for body in bodies]
    params = {**node.params, **changes}
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
    """What the results of loops with one body are in one loop that returns all of them."""
    first = group[0]
    carried = first.params["carried"]
    body = _first(first.params["body"])
    outputs = dict.fromkeys(v for n in group for v in n.params["body"].outputs[carried:])
    whole = Subgraph(
        body.parent, body.name, body.inputs, body.nodes, [*body.outputs[:carried], *outputs]
    )
    others = [other.graph for _, other in bodies_of(first)][1:]
    made = emit_like(graph, first, operands, [whole.graph, *others]).results
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
    reads = Counter(value for node in graph.nodes for value in node.operands)
    reads.update(graph.outputs)
    for node in reversed(graph.nodes):
        if isinstance(node.op, ControlFlow) and not node.op.effect:
            if not any(reads[value] for value in node.results):
                reads.subtract(node.operands)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        is_read = [bool(reads[value]) for value in node.results]
        pruned = _pruned_condition if is_condition(node) else _pruned_loop
        return pruned(new, node, operands, is_read)

    return rebuild(graph, rewrite, ops=OWNERS)


def _pruned_condition(
    graph: Graph, node: Node, operands: tuple[Value, ...], is_read: Sequence[bool]
) -> Sequence[Value]:
    """The results of a condition without what nothing reads; any value stands for a result that is
    dropped."""
    bodies = [body.graph for _, body in bodies_of(node)]
    if isinstance(operands[0], Constant):
        body = bodies[chosen(operands[0].data, len(bodies))]
        known = dict(zip(body.inputs, operands[1:], strict=True))
        return _inlined(graph, node, body, known)
    kept = [k for k, read in enumerate(is_read) if read]
    nodes = [needed_for([body.outputs[k] for k in kept], body.nodes, ()) for body in bodies]
    if not kept and not any(nodes):
        return [operands[0] for _ in node.results]
    places = [
        place
        for place, operand in enumerate(operands[1:])
        if not isinstance(operand, Constant)
        and any(
            body.inputs[place] in _read(inner, [body.outputs[k] for k in kept])
            for body, inner in zip(bodies, nodes, strict=True)
        )
    ]
    unchanged = len(places) == len(operands) - 1 and len(kept) == len(is_read)
    sizes = zip(nodes, bodies, strict=True)
    if not kept or (unchanged and all(len(inner) == len(body.nodes) for inner, body in sizes)):
        return graph.take(node, operands).results
    shrunk = [
        _rebuilt(
            body,
            [body.inputs[place] for place in places],
            inner,
            [body.outputs[k] for k in kept],
            {
                value: operand
                for value, operand in zip(body.inputs, operands[1:], strict=True)
                if isinstance(operand, Constant)
            },
        )
        for body, inner in zip(bodies, nodes, strict=True)
    ]
    read = [operands[0], *[operands[place + 1] for place in places]]
    made = emit_like(graph, node, read, shrunk).results
    results: list[Value] = [operands[0] for _ in node.results]
    for place, value in zip(kept, made, strict=True):
        results[place] = value
        value.take_name(node.results[place])
    return results


def _inlined(graph: Graph, node: Node, body: Graph, known: dict[Value, Value]) -> Sequence[Value]:
    """The outputs of a body whose nodes stand in the place of the node that owns it."""
    place = {"segment": node.segment, "region": node.region, "tapes": node.tapes}
    for inner in body.nodes:
        made = graph.copy_node(inner, replace_values(inner.operands, known), **place)
        known.update(zip(inner.results, made.results, strict=True))
    return replace_values(body.outputs, known)


def _read(nodes: Sequence[Node], outputs: Sequence[Value]) -> set[Value]:
    """The values that nodes read and a body returns."""
    return {value for inner in nodes for value in inner.operands}.union(outputs)


def _pruned_loop(
    graph: Graph, node: Node, operands: tuple[Value, ...], is_read: Sequence[bool]
) -> Sequence[Value]:
    """The results of a loop without what nothing reads; the initial value stands for a result that
    is dropped."""
    if not any(is_read):  # its effects stay, and with them a result that tells where they are
        return (graph.take(node, operands) if node.op.effect else node).results
    body, *tests = [one.graph for _, one in bodies_of(node)]
    first, count = node.params["invariants"], node.params["carried"]
    operands, tail = operands[: len(body.inputs) - 1], operands[len(body.inputs) - 1 :]
    carried = body.inputs[first : first + count]
    known: dict[Value, Value] = {}
    for place, operand in enumerate(operands[:first]):
        if isinstance(operand, Constant):
            known.update((one.inputs[place], operand) for one in (body, *tests))
    fixed = [k for k in range(count) if body.outputs[k] is carried[k]]
    needed = {k for k, read in enumerate(is_read) if read and k not in fixed}
    tested = {
        place
        for test in tests
        for place, value in enumerate(test.inputs)
        if value in _read(test.nodes, test.outputs)
    }
    while True:
        outputs = [body.outputs[k] for k in sorted(needed)]
        nodes = needed_for(outputs, body.nodes, body.inputs)
        places_read = _read(nodes, outputs)
        read = {k for k, value in enumerate(body.inputs) if value in places_read} | tested
        new = {k for k in range(count) if first + k in read and k not in fixed} - needed
        if not new:
            break
        needed |= new
    kept = [k for k in range(count) if k in needed]
    rows = sorted(k for k in needed if k >= count)
    invariant = [k for k in range(first) if k in read and body.inputs[k] not in known]
    invariant += [first + k for k in fixed if first + k in read]
    sliced = [k for k in range(first + count, len(operands)) if k in read]
    places = [*invariant, *[first + k for k in kept], *sliced]
    results = [*operands[first : first + count], *node.results[count:]]
    if not kept and not rows and not node.op.effect and not tests:
        return results
    unchanged = len(places) == len(operands) and len(needed) == len(node.results) and not known
    if unchanged and len(nodes) == len(body.nodes):
        return graph.take(node, (*operands, *tail)).results
    returned = [body.outputs[k] for k in (*kept, *rows)]
    shrunk = [
        _rebuilt(one, [one.inputs[k] for k in (*places, -1)], inner, outputs, known)
        for one, inner, outputs in (
            (body, nodes, returned),
            *[(test, test.nodes, test.outputs) for test in tests],
        )
    ]
    numbers = {"invariants": len(invariant), "carried": len(kept)}
    made = emit_like(graph, node, [*[operands[k] for k in places], *tail], shrunk, **numbers)
    for place, value in zip((*kept, *rows), made.results, strict=True):
        results[place] = value
        value.take_name(node.results[place])
    return results


def _rebuilt(
    body: Graph,
    inputs: Sequence[Value],
    nodes: Sequence[Node],
    outputs: Sequence[Value],
    known: dict[Value, Value],
) -> Graph:
    """A body with these inputs, nodes and outputs; values are replaced by what is `known`."""
    new = Graph(body.name)
    new.adopt(body)
    known = dict(known)
    known.update((value, new.add_input(value.name, value.type)) for value in inputs)
    for node in nodes:
        made = new.copy_node(node, replace_values(node.operands, known))
        known.update(zip(node.results, made.results, strict=True))
    new.outputs = list(replace_values(outputs, known))
    new.complete_names()
    return new


# What does not depend on the step


def hoist_invariants(graph: Graph) -> Graph:
    """`graph` with what depends on invariants alone computed before each loop."""
    return rebuild(graph, _hoisted, ops=LOOPS) if has_bodies(graph) else graph


def _hoisted(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
    bodies = [one.graph for _, one in bodies_of(node)]
    first = node.params["invariants"]
    known: dict[Value, Value] = {}
    moved: dict[Node, None] = {}
    for body in bodies:
        known.update(zip(body.inputs[:first], operands, strict=False))
        for inner in body.nodes:
            if inner.op.effect or isinstance(inner.op, ControlFlow) or may_raise(inner):
                continue
            if all(value in known or isinstance(value, Constant) for value in inner.operands):
                place = {"segment": node.segment, "region": node.region, "tapes": node.tapes}
                made = graph.copy_node(inner, replace_values(inner.operands, known), **place)
                known.update(zip(inner.results, made.results, strict=True))
                moved[inner] = None
    if not moved:
        return None
    left = [[inner for inner in body.nodes if inner not in moved] for body in bodies]
    read = set[Value]().union(
        *[_read(nodes, body.outputs) for nodes, body in zip(left, bodies, strict=True)]
    )
    new = [value for inner in moved for value in inner.results if value in read]
    shrunk = [
        _rebuilt(body, [*body.inputs[:first], *new, *body.inputs[first:]], nodes, body.outputs, {})
        for body, nodes in zip(bodies, left, strict=True)
    ]
    places = [*operands[:first], *[known[value] for value in new], *operands[first:]]
    return emit_like(graph, node, places, shrunk, invariants=first + len(new)).results
