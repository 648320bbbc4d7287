"""Merging of loops with the same body on the same operands, and of loops that extend another.

A derivative records the values that it reads of a loop as another loop, with the same body, which
stacks more values. A function that is called twice is recorded twice. Such loops become one, which
returns all that any of them does. Loops with an effect are one only where one extends the other,
and loops of different recompute regions stay apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tracejit.ir.dims import key_of
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.printer import body_text
from tracejit.ir.subgraph import Subgraph, bodies_of
from tracejit.loops.bodies.loops import emit_like
from tracejit.ops.control.control_flow import LOOPS, is_loop
from tracejit.passes.framework.rebuild import rebuild


def merge_loops(graph: Graph) -> Graph:
    """`graph` with each loop, its like and those that extend it as one, which stands where the
    first does."""
    loops = [node for node in graph.nodes if is_loop(node)]
    calls = Counter(map(_call, loops))
    if len(calls) == len(loops):
        return graph
    firsts: dict[tuple[Any, ...], Node] = {}
    groups: dict[Node, list[Node]] = {}
    for node in loops:
        call = _call(node)
        key = call, _identity(node) if calls[call] > 1 else None
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


def _call(node: Node) -> tuple[Any, ...]:
    """All that makes a loop what it is but for its bodies."""
    bodies = {name for name, _ in bodies_of(node)}
    params = [(name, key_of(value)) for name, value in node.params.items() if name not in bodies]
    return node.op, node.operands, node.region, *params


def _identity(node: Node) -> Any:
    """The bodies of a loop, or of the one that it extends, by what they do; those with an effect
    differ from each other."""
    first = _first(node.params["body"])
    if node.op.effect or not first.is_recorded:
        return first
    return body_text(first), *[body_text(body) for name, body in bodies_of(node) if name != "body"]


def _first(body: Subgraph) -> Subgraph:
    while body.base is not None:
        body = body.base
    return body


def _merged(graph: Graph, group: Sequence[Node], operands: tuple[Value, ...]) -> dict[Value, Value]:
    """The results of loops with one body in one loop that returns all of them."""
    first = group[0]
    carried = first.params["carried"]
    body = _first(first.params["body"])
    bodies = [node.params["body"] for node in group]
    bodies = [each if _first(each) is body else each.extended_from(body) for each in bodies]
    outputs = dict.fromkeys(value for each in bodies for value in each.outputs[carried:])
    whole = Subgraph(
        body.parent, body.name, body.inputs, body.nodes, [*body.outputs[:carried], *outputs]
    )
    made = emit_like(graph, first, operands, whole.graph).results
    places = {value: carried + number for number, value in enumerate(outputs)}
    known: dict[Value, Value] = {}
    for node, each in zip(group, bodies, strict=True):
        rows = [made[places[value]] for value in each.outputs[carried:]]
        for old, new in zip(node.results, (*made[:carried], *rows), strict=True):
            known[old] = new
            new.take_name(old)
    return known
