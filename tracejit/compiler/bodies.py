"""The functions of a kernel: `forward`, `backward` and `value_and_grad`.

A kernel may join several traces of a function in one graph; without decisions there is one trace.
`forward` and `value_and_grad` are that graph, with an `if` for every decision. The residuals differ
from trace to trace, so `backward` has a part for each; the first residual is the number of the
trace that `forward` took.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tracejit.autodiff.partition.partition import Partition, partition
from tracejit.autodiff.partition.residuals import choose
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.control.branches import LEAVE
from tracejit.passes.algebra.simplify import simplify, simplify_exactly
from tracejit.passes.framework.dce import drop_dead
from tracejit.passes.framework.rematerialise import Late, recompute
from tracejit.support.cost_model import costs
from tracejit.targets.numpy.lower.improve import improve
from tracejit.targets.numpy.plan.plan import plan_body, plan_tile
from tracejit.targets.numpy.plan.tile_loops import TileLoop
from tracejit.targets.numpy.plan.tiling import Tiling
from tracejit.targets.numpy.text.module import Body


class GraphTrace(NamedTuple):
    """One trace of a joined graph: its end, its nodes and outputs as a graph, and the number of
    outputs that are `results`. A single result that `is_bare` is returned without a tuple."""

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
    """The arguments of the function, the cotangent of its result and the default of that, and the
    names of the gradients."""

    arguments: Sequence[Value]
    seed: Value
    one: Any
    bars: Sequence[str]

    @property
    def names(self) -> str:
        """The text of the tuple that backward returns."""
        return self.bars[0] if len(self.bars) == 1 else f"({', '.join(self.bars)})"


def ended(graph: Graph) -> Graph:
    """A graph without decisions, ended as its only trace."""
    results = tuple(graph.outputs)
    params = {"path": 0, "results": len(results)}
    types = LEAVE.result_types([value.type for value in results], params)
    trace = drop_dead(graph)
    trace.nodes.append(Node(LEAVE, results, params, types, None, 0, ()))
    trace.outputs = []
    return trace


def traces_of(graph: Graph, counts: Sequence[int], is_numbered: bool) -> list[GraphTrace]:
    """The traces of `graph`, which have that many results each, in the order of the text. Where
    they are numbered, the last result of each is its number."""
    precedes = graph.branches.precedes
    traces = []
    for end in graph.nodes:
        if end.op is not LEAVE:
            continue
        trace = Graph(graph.name)
        trace.sizes = graph.sizes
        trace.inputs = graph.inputs
        trace.nodes = [
            node
            for node in graph.nodes
            if node.op is not LEAVE and precedes(node.segment, end.segment)
        ]
        trace.outputs = list(end.operands)
        count = counts[end.params["path"]]
        traces.append(GraphTrace(end, trace, count, count == 1 and not is_numbered))
    return traces


def forward_alone(
    graph: Graph,
    arguments: Sequence[Value],
    traces: Sequence[GraphTrace],
    exact: bool,
    tiling: Tiling,
) -> Body:
    """The function of a kernel that is not differentiated."""
    nodes = tiling.of(graph.nodes, branches=graph.branches)
    plan = plan_body(arguments, nodes, [], (), not exact, graph.branches)
    groups = {trace.path: [(trace.results, trace.is_bare)] for trace in traces}
    return Body("forward", "Return {results}.", plan, groups)


def partitions_of(traces: Sequence[GraphTrace], seed: Value) -> dict[int, Partition]:
    """The forward and the reverse pass of each trace, by its number."""
    return {trace.path: partition(trace.graph, trace.results, [seed]) for trace in traces}


class Repeating(NamedTuple):
    """A graph that computes values `again` where backward reads them, and the most bytes of
    forward's values that backward then has at once."""

    graph: Graph
    again: Sequence[Value]
    bytes: int


def repeating(
    graph: Graph, traces: Sequence[GraphTrace], parts: dict[int, Partition], budget: int | None
) -> Repeating:
    """`graph` with the values that are cheaper to compute again than to keep; within `budget` bytes
    if possible."""
    late: dict[int, Late] = {}
    most = 0
    for trace in traces:
        part = parts[trace.path]
        plan = choose(part, trace.graph.outputs[trace.results :], budget)
        forward = set(part.forward)
        readers = [node for node in part.backward if node not in forward]
        segment = trace.end.segment
        late[segment] = Late([node for node in readers if node.segment == segment], plan.again)
        most = max(most, plan.bytes)
    return Repeating(*recompute(graph, late), most)


def is_for_halves(graph: Graph, tiling: Tiling) -> bool:
    """Return whether a third function, with both halves in one, would cost more than it saves.

    It saves the tuple of residuals and a few products with a cotangent of one; among thousands of
    statements that is a few hundredths of a call at most, and generating and compiling it would be
    a third of the first call. Not so where tiles go through both halves at once.
    """
    return len(graph.nodes) > costs().many_nodes and not tiling.loops


def forward_and_backward(
    graph: Graph,
    given: Differentiated,
    traces: Sequence[GraphTrace],
    parts: dict[int, Partition],
    exact: bool,
    tiling: Tiling,
) -> tuple[list[Body], list[Value]]:
    """The functions of a kernel that is differentiated in two halves, and all residuals."""
    names = given.names
    gradients = len(given.bars), len(given.bars) == 1
    results = {trace.path: (trace.results, trace.is_bare) for trace in traces}
    nodes = tiling.of(_forward_nodes(graph, traces, parts), branches=graph.branches)
    forward = Body(
        "forward",
        "Return ({results}, residuals).",
        plan_body(given.arguments, nodes, [], (), not exact, graph.branches),
        {
            path: [results[path], (len(part.residuals) + (len(traces) > 1), False)]
            for path, part in parts.items()
        },
    )
    backward = [
        Body(
            "backward",
            f"Return {names}, the gradients, from forward's residuals.",
            plan_body(
                [*parts[trace.path].residuals, given.seed],
                tiling.of(parts[trace.path].backward, trace.graph.outputs[trace.results :]),
                trace.graph.outputs[trace.results :],
                in_place=not exact,
            ),
            [gradients],
            len(parts[trace.path].residuals),
            {given.seed: given.one},
            trace.path if len(traces) > 1 else None,
        )
        for trace in traces
    ]
    residuals = dict.fromkeys(value for part in parts.values() for value in part.residuals)
    return [forward, *backward], list(residuals)


def in_one(
    whole: Graph,
    given: Differentiated,
    seed: Value,
    traces: Sequence[GraphTrace],
    exact: bool,
    tiling: Tiling,
) -> Body:
    """The function that is both halves of `whole`, where the cotangent `seed` is one."""
    results = {trace.path: (trace.results, trace.is_bare) for trace in traces}
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


def tile_body(loop: TileLoop) -> Body:
    """The function that a tile loop calls for each tile."""
    plan, late = plan_tile(loop)
    count = len(loop.totals)
    what = "Return {results} of" if count else "Compute"
    docstring = f"{what} the rows from start to stop."
    groups = [(count, count == 1)] if count else []
    return Body(loop.name, docstring, plan, groups, sliced=loop.axes, late=late)


def _forward_nodes(
    graph: Graph, traces: Sequence[GraphTrace], parts: dict[int, Partition]
) -> list[Node]:
    """The nodes that some trace needs forward; each trace ends in its results and residuals."""
    needed = {node for part in parts.values() for node in part.forward}
    ends = {trace.end: trace for trace in traces}
    nodes = []
    for node in graph.nodes:
        trace = ends.get(node)
        if trace is not None:
            nodes.append(_end(graph, trace, parts[trace.path].residuals, len(traces) > 1))
        elif node in needed:
            nodes.append(node)
    return nodes


def _end(graph: Graph, trace: GraphTrace, residuals: Sequence[Value], numbered: bool) -> Node:
    """The end of `trace` in forward: its results, its number, its residuals."""
    path = [graph.constant(trace.path)] if numbered else []
    operands = (*trace.graph.outputs[: trace.results], *path, *residuals)
    params = {"path": trace.path, "results": trace.results}
    types = [value.type for value in trace.end.results]
    return Node(LEAVE, operands, params, types, None, 0, (), trace.end.segment)
