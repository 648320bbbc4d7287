"""Loops and conditions: values that are the same at each step are computed before the loop, and
loops with the same body are merged. `loops/bodies/prune.py` drops values that are not needed.

`hoist_invariants` computes before the loop what depends on invariants alone. Nothing leaves the
side of a condition: it may raise, or be expensive. `in_bodies` applies a pass to the bodies. Both
are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.ir.graph import PLACE, Constant, Graph, Node, Value, replace_values
from tracejit.ir.subgraph import Subgraph, bodies_of, differs_in_size
from tracejit.ir.value_names import ValueNames
from tracejit.ops.base.creation import full
from tracejit.ops.control.branches import may_raise
from tracejit.ops.control.control_flow import (
    LOOPS,
    OWNERS,
    ControlFlow,
    is_condition,
    is_counted,
)
from tracejit.passes.framework.rebuild import Rewrite, rebuild


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
        params.update(zip([name for name, _ in bodies_of(node)], made, strict=False))
    types = node.op.result_types([value.type for value in operands], params)
    place = node.where, node.region, node.tapes, node.segment
    return graph.emit(node.op, tuple(operands), params, types, *place)


# Other inputs


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
    made = {value.name for node in nodes for value in node.results}
    names = ValueNames(made.union(value.name for value in new.inputs))
    for value in new.inputs:
        if value.name in made:  # it comes from another body of the node
            names.give(value, value.base)
            value.label = value.name
    for node in nodes:
        copied = new.copy_node(node, replace_values(node.operands, known))
        known.update(zip(node.results, copied.results, strict=True))
    new.outputs = list(replace_values(outputs, known))
    new.complete_names()
    return new


def moved_node(graph: Graph, node: Node, operands: tuple[Value, ...], **place: Any) -> Node:
    """A copy of a node of another graph, whose results are yet to be given names in this one."""
    count = len(graph.nodes)
    types = [value.type for value in node.results]
    found = {name: getattr(node, name) for name in PLACE} | place
    made = graph.emit(node.op, operands, node.params, types, **found)
    if len(graph.nodes) > count:
        for old, result in zip(node.results, made.results, strict=True):
            result.take_name(old)
            result.name = ""
    return made


# What does not depend on the step


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
            if differs_in_size(inner):
                continue
            if inner.op is full and not with_fills:
                continue
            if all(value in known or isinstance(value, Constant) for value in inner.operands):
                place = {"segment": node.segment, "region": node.region, "tapes": node.tapes}
                made = moved_node(graph, inner, replace_values(inner.operands, known), **place)
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
