"""The functions of a kernel: one text for what its ways have in common, of which there is one where
nothing was decided.

`forward` and `value_and_grad` are the graph as it stands, with an `if` wherever ways part. What
`forward` keeps for `backward` differs from way to way, and so `backward` has a part for each: the
first of the residuals says which way was taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tracejit.autodiff.partition import Partition, partition
from tracejit.autodiff.residuals import choose
from tracejit.codegen.module import Body
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.branches import LEAVE
from tracejit.passes.dce import drop_dead
from tracejit.passes.improve import improve
from tracejit.passes.rematerialise import Late, recompute
from tracejit.passes.simplify import simplify, simplify_exactly
from tracejit.schedule.plan import plan_body, plan_tile
from tracejit.schedule.tile_loops import TileLoop
from tracejit.schedule.tiling import Tiling
from tracejit.support.cost_model import costs


class Branch(NamedTuple):
    """One way through a graph: where it ends, its nodes and outputs as a graph, and how many of
    these are `results`, which a single one that `is_bare` is without a tuple."""

    end: Node
    graph: Graph
    results: int
    is_bare: bool

    @property
    def path(self) -> int:
        """Its number."""
        number: int = self.end.params["path"]
        return number


class Differentiated(NamedTuple):
    """The arguments of the function, the cotangent of its result with what it is by default, and
    the names of the gradients."""

    arguments: Sequence[Value]
    seed: Value
    one: Any
    bars: Sequence[str]

    @property
    def names(self) -> str:
        """What backward returns."""
        return self.bars[0] if len(self.bars) == 1 else f"({', '.join(self.bars)})"


def ended(graph: Graph) -> Graph:
    """A graph in which nothing was decided, as the one way that it is."""
    results = tuple(graph.outputs)
    params = {"path": 0, "results": len(results)}
    types = LEAVE.result_types([value.type for value in results], params)
    way = drop_dead(graph)
    way.nodes.append(Node(LEAVE, results, params, types, None, 0, ()))
    way.outputs = []
    return way


def ways_of(graph: Graph, counts: Sequence[int], is_numbered: bool) -> list[Branch]:
    """The ways through `graph`, which have that many results each, in the order of the text; the
    last of these says which way it is, where they are numbered."""
    precedes = graph.branches.precedes
    ways = []
    for end in graph.nodes:
        if end.op is not LEAVE:
            continue
        way = Graph(graph.name)
        way.sizes = graph.sizes
        way.inputs = graph.inputs
        way.nodes = [
            node
            for node in graph.nodes
            if node.op is not LEAVE and precedes(node.segment, end.segment)
        ]
        way.outputs = list(end.operands)
        count = counts[end.params["path"]]
        ways.append(Branch(end, way, count, count == 1 and not is_numbered))
    return ways


def forward_alone(
    graph: Graph, arguments: Sequence[Value], ways: Sequence[Branch], exact: bool, tiling: Tiling
) -> Body:
    """The function of a kernel that is not differentiated."""
    nodes = tiling.of(graph.nodes, branches=graph.branches)
    plan = plan_body(arguments, nodes, [], (), not exact, graph.branches)
    groups = {way.path: [(way.results, way.is_bare)] for way in ways}
    return Body("forward", "Return {results}.", plan, groups)


def parts_of(ways: Sequence[Branch], seed: Value) -> dict[int, Partition]:
    """The forward and the reverse pass of each way, by its path."""
    return {way.path: partition(way.graph, way.results, [seed]) for way in ways}


class Repeating(NamedTuple):
    """A graph that computes values `again` where backward reads them, and the most bytes of
    forward's values that backward then has at once."""

    graph: Graph
    again: Sequence[Value]
    bytes: int


def repeating(
    graph: Graph, ways: Sequence[Branch], parts: dict[int, Partition], budget: int | None
) -> Repeating:
    """`graph` with what is better computed again than kept, within `budget` bytes if possible."""
    late: dict[int, Late] = {}
    most = 0
    for way in ways:
        part = parts[way.path]
        plan = choose(part, way.graph.outputs[way.results :], budget)
        forward = set(part.forward)
        readers = [node for node in part.backward if node not in forward]
        segment = way.end.segment
        late[segment] = Late([node for node in readers if node.segment == segment], plan.again)
        most = max(most, plan.bytes)
    return Repeating(*recompute(graph, late), most)


def is_for_halves(graph: Graph, tiling: Tiling) -> bool:
    """Tell if a third text of `graph`, with both halves in one, would cost more than it saves.

    It saves the tuple of residuals and a few products with a cotangent of one; among thousands of
    statements that is a few hundredths of a call at most, and generating and compiling it would be
    a third of the first call. Not so where tiles go through both halves at once.
    """
    return len(graph.nodes) > costs().many_nodes and not tiling.sweeps


def forward_and_backward(
    graph: Graph,
    given: Differentiated,
    ways: Sequence[Branch],
    parts: dict[int, Partition],
    exact: bool,
    tiling: Tiling,
) -> tuple[list[Body], list[Value]]:
    """The functions of a kernel that is differentiated in two halves, and all residuals."""
    names = given.names
    gradients = len(given.bars), len(given.bars) == 1
    results = {way.path: (way.results, way.is_bare) for way in ways}
    nodes = tiling.of(_forward_nodes(graph, ways, parts), branches=graph.branches)
    forward = Body(
        "forward",
        "Return ({results}, residuals).",
        plan_body(given.arguments, nodes, [], (), not exact, graph.branches),
        {
            path: [results[path], (len(part.residuals) + (len(ways) > 1), False)]
            for path, part in parts.items()
        },
    )
    backward = [
        Body(
            "backward",
            f"Return {names}, the gradients, from forward's residuals.",
            plan_body(
                [*parts[way.path].residuals, given.seed],
                tiling.of(parts[way.path].backward, way.graph.outputs[way.results :]),
                way.graph.outputs[way.results :],
                in_place=not exact,
            ),
            [gradients],
            len(parts[way.path].residuals),
            {given.seed: given.one},
            way.path if len(ways) > 1 else None,
        )
        for way in ways
    ]
    residuals = dict.fromkeys(value for part in parts.values() for value in part.residuals)
    return [forward, *backward], list(residuals)


def in_one(
    whole: Graph,
    given: Differentiated,
    seed: Value,
    ways: Sequence[Branch],
    exact: bool,
    tiling: Tiling,
) -> Body:
    """The function that is both halves of `whole`, where the cotangent `seed` is one."""
    results = {way.path: (way.results, way.is_bare) for way in ways}
    gradients = len(given.bars), len(given.bars) == 1
    simpler = simplify_exactly if exact else simplify
    fused = drop_dead(simpler(whole, {seed: given.one}))
    if not exact:
        fused = improve(fused)
    return Body(
        "value_and_grad",
        f"Return {{results}} and {given.names}, as forward and backward in one.",
        plan_body(
            fused.inputs,
            tiling.of(fused.nodes, branches=fused.branches),
            [],
            (),
            not exact,
            fused.branches,
        ),
        {path: [count, gradients] for path, count in results.items()},
    )


def tile_body(sweep: TileLoop) -> Body:
    """The function that a sweep runs for each tile."""
    plan, late = plan_tile(sweep)
    count = len(sweep.totals)
    what = "Return {results} of" if count else "Compute"
    docstring = f"{what} the rows from start to stop."
    groups = [(count, count == 1)] if count else []
    return Body(sweep.name, docstring, plan, groups, sliced=sweep.axes, late=late)


def _forward_nodes(graph: Graph, ways: Sequence[Branch], parts: dict[int, Partition]) -> list[Node]:
    """What any way needs forward, each ending in its results and residuals."""
    needed = {node for part in parts.values() for node in part.forward}
    ends = {way.end: way for way in ways}
    nodes = []
    for node in graph.nodes:
        way = ends.get(node)
        if way is not None:
            nodes.append(_end(graph, way, parts[way.path].residuals, len(ways) > 1))
        elif node in needed:
            nodes.append(node)
    return nodes


def _end(graph: Graph, way: Branch, residuals: Sequence[Value], numbered: bool) -> Node:
    """The end of `way` in forward."""
    path = [graph.constant(way.path)] if numbered else []
    operands = (*way.graph.outputs[: way.results], *path, *residuals)
    params = {"path": way.path, "results": way.results}
    types = [value.type for value in way.end.results]
    return Node(LEAVE, operands, params, types, None, 0, (), way.end.segment)
