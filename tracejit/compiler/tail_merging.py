"""Tail merging: one reverse pass for a kernel of many long traces.

Such traces come from loops whose number of iterations depends on data. Their reverse passes would
fill the module if each were written out, but they end alike (`autodiff/tail_matching.py`). So
`backward` is the longest of them; each other trace has its own statements before the statement at
which it joins. The residuals are nested tuples, one for each segment, so that `forward` too writes
each segment once. `value_and_grad` calls both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tracejit.autodiff.partition import Partition
from tracejit.autodiff.tail_matching import Tail, tails
from tracejit.codegen.branches import SegmentLevel, Stages, passing
from tracejit.codegen.module import Body, Composed
from tracejit.compiler.bodies import Differentiated, GraphTrace
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import HANDLE, WEAK_TYPES
from tracejit.ops.branches import DECIDE, KEEP, LEAVE, MOVE
from tracejit.schedule.plan import plan_body
from tracejit.support.cost_model import costs


def is_long(parts: Mapping[int, Partition]) -> bool:
    """Return whether the reverse passes are better merged into one."""
    lengths = [len(part.backward) for part in parts.values()]
    return len(lengths) > 1 and sum(lengths) > max(costs().few_nodes, 2 * max(lengths))


class TailMerging:
    """The merged reverse pass of the traces of one graph, numbered so that those that join the
    longest late have the small numbers."""

    def __init__(
        self,
        graph: Graph,
        given: Differentiated,
        traces: Sequence[GraphTrace],
        parts: Mapping[int, Partition],
    ) -> None:
        """`parts` are the forward and the reverse pass of each trace, by its number."""
        self.graph = graph
        self.given = given
        self.traces = traces
        self.parts = parts
        passes = [parts[trace.path].backward for trace in traces]
        outputs = [trace.graph.outputs[trace.results :] for trace in traces]
        self.longest, self.tails = tails(passes, outputs)
        joining = [tail.number for tail in self.tails]
        alone = [k for k in range(len(traces)) if k != self.longest and k not in joining]
        self.alone = alone
        order = [*alone, *reversed(joining), self.longest]
        self.numbers = {k: number for number, k in enumerate(order)}
        self.kept = self._kept()
        self._parents = {
            segment: decision.segment
            for decision in graph.branches.decisions
            for _, segment in decision.sides
        }

    def _kept(self) -> dict[int, list[Value]]:
        """The residuals that each segment computes, by its number."""
        found: dict[int, dict[Value, None]] = {}
        for part in self.parts.values():
            for value in part.residuals:
                segment = value.node.segment if value.node is not None else 0
                found.setdefault(segment, {})[value] = None
        return {segment: list(values) for segment, values in sorted(found.items())}

    @property
    def residuals(self) -> list[Value]:
        """The residuals of all segments."""
        return [value for values in self.kept.values() for value in values]

    # Forward

    def forward(self, exact: bool) -> Body:
        """The function `forward`, which returns the residuals as a nested tuple."""
        nodes = list(self._forward_nodes())
        plan = plan_body(
            self.given.arguments, nodes, [], self.residuals, not exact, self.graph.branches
        )
        groups = {trace.path: [(trace.results, trace.is_bare), (2, False)] for trace in self.traces}
        return Body("forward", "Return ({results}, residuals).", plan, groups)

    def _forward_nodes(self) -> Iterator[Node]:
        needed = {node for part in self.parts.values() for node in part.forward}
        ends = {trace.end: k for k, trace in enumerate(self.traces)}
        kept: dict[int, tuple[Value, ...]] = {}
        for node in self.graph.nodes:
            segment = node.segment
            if node.op in (DECIDE, LEAVE):
                kept[segment] = kept[self._parents[segment]] if segment else ()
                values = self.kept.get(segment)
                if values:
                    keep = _keep([*kept[segment], *values], segment)
                    kept[segment] = keep.results
                    yield keep
            if node in ends:
                yield self._end(ends[node], kept[segment])
            elif node in needed:
                yield node

    def _end(self, k: int, kept: Sequence[Value]) -> Node:
        trace = self.traces[k]
        number = self.graph.constant(self.numbers[k])
        nothing = [] if kept else [self.graph.constant(0)]
        operands = (*trace.graph.outputs[: trace.results], number, *kept, *nothing)
        params = {"path": trace.path, "results": trace.results}
        types = [value.type for value in trace.end.results]
        return Node(LEAVE, operands, params, types, None, 0, (), trace.end.segment)

    # Backward

    def backward(self, exact: bool) -> Body:
        """The function `backward`, for all traces."""
        nodes: list[Node] = []
        stages: dict[Node, int] = {}
        paths: list[str] = []

        def add(stage: Sequence[Node], traces: Sequence[int]) -> None:
            numbers = [self.numbers[k] for k in traces]
            stages.update(dict.fromkeys(stage, len(paths)))
            paths.append(passing(numbers, len(self.traces)))
            nodes.extend(stage)

        for k in self.alone:
            trace = self.traces[k]
            outputs = tuple(trace.graph.outputs[trace.results :])
            params = {"path": trace.path, "results": len(outputs)}
            end = Node(LEAVE, outputs, params, [WEAK_TYPES[bool]], None, 0, ())
            add([*self.parts[trace.path].backward, end], [k])
        longest = self.traces[self.longest]
        whole, place, passed = self.parts[longest.path].backward, 0, [self.longest]
        for tail in self.tails:
            add(whole[place : tail.joins], passed)
            add([*tail.own, *_move(tail)], [tail.number])
            place = tail.joins
            passed = [*passed, tail.number]
        add(whole[place:], [*passed, *self.alone])
        targets = [target for tail in self.tails for target, _ in tail.moves]
        bars = len(self.given.bars)
        gradients = bars, bars == 1
        results = longest.graph.outputs[longest.results :]
        plan = plan_body([*self.residuals, self.given.seed], nodes, results, targets, not exact)
        return Body(
            "backward",
            f"Return {self.given.names}, the gradients, from forward's residuals.",
            plan,
            [gradients],
            len(self.residuals),
            {self.given.seed: self.given.one},
            stages=Stages(self._levels(), stages, paths),
        )

    def _levels(self) -> list[SegmentLevel]:
        """The residuals of each segment, the last segment first, and the traces that have them."""
        precedes = self.graph.branches.precedes
        levels: list[SegmentLevel] = []
        for segment, values in reversed(self.kept.items()):
            through = [
                self.numbers[k]
                for k, trace in enumerate(self.traces)
                if precedes(segment, trace.end.segment)
            ]
            before = any(precedes(other, segment) for other in self.kept if other < segment)
            levels.append(SegmentLevel(passing(through, len(self.traces)), values, before))
        return levels


def called_in_turn(given: Differentiated) -> Composed:
    """The function `value_and_grad`, which calls forward, then backward."""
    doc = f"Return the value and {given.names}: forward, then backward."
    lines = ["value, residuals = forward({parameters})", "return value, backward(residuals)"]
    return Composed("value_and_grad", doc, lines)


def _keep(values: Sequence[Value], segment: int) -> Node:
    node = Node(KEEP, tuple(values), {}, [HANDLE], None, 0, (), segment)
    node.results[0].label = node.results[0].base = node.results[0].name = "saved"
    return node


def _move(tail: Tail) -> list[Node]:
    """The statement that renames a trace's values to those of the longest, which it joins."""
    if not tail.moves:
        return []
    operands = (*[target for target, _ in tail.moves], *[value for _, value in tail.moves])
    return [Node(MOVE, operands, {}, [WEAK_TYPES[bool]], None, 0, ())]
