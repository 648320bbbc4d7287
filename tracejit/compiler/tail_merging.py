"""The functions of a kernel with many long ways: loops that are left after a number of rounds that
depends on data.

To write the reverse pass of every way would take as many statements as all of them have together.
But they go on alike from where they have come back to what the ways have in common
(`autodiff/tail_matching.py`): backward is the longest of them, with the own statements of each
other way before the statement at which it joins. What forward keeps stands in one tuple inside
another, one for each segment, so that a segment is written once there, too. `value_and_grad` calls
both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tracejit.autodiff.partition import Partition
from tracejit.autodiff.tail_matching import Tail, tails
from tracejit.codegen.branches import SegmentLevel, Stages, passing
from tracejit.codegen.module import Body, Composed
from tracejit.compiler.bodies import Branch, Differentiated
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import HANDLE, WEAK_TYPES
from tracejit.ops.branches import DECIDE, KEEP, LEAVE, MOVE
from tracejit.schedule.plan import plan_body
from tracejit.support.cost_model import costs


def is_long(parts: Mapping[int, Partition]) -> bool:
    """Tell if the reverse passes are better written as one."""
    lengths = [len(part.backward) for part in parts.values()]
    return len(lengths) > 1 and sum(lengths) > max(costs().few_nodes, 2 * max(lengths))


class TailMerging:
    """The ways of one graph, numbered so that those that join the longest reverse pass late have
    the small numbers."""

    def __init__(
        self,
        graph: Graph,
        given: Differentiated,
        ways: Sequence[Branch],
        parts: Mapping[int, Partition],
    ) -> None:
        """`parts` are the forward and the reverse pass of each way, by its path."""
        self.graph = graph
        self.given = given
        self.ways = ways
        self.parts = parts
        passes = [parts[way.path].backward for way in ways]
        outputs = [way.graph.outputs[way.results :] for way in ways]
        self.longest, self.tails = tails(passes, outputs)
        joining = [tail.number for tail in self.tails]
        alone = [k for k in range(len(ways)) if k != self.longest and k not in joining]
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
        """What is kept of each segment's values, by its number."""
        found: dict[int, dict[Value, None]] = {}
        for part in self.parts.values():
            for value in part.residuals:
                segment = value.node.segment if value.node is not None else 0
                found.setdefault(segment, {})[value] = None
        return {segment: list(values) for segment, values in sorted(found.items())}

    @property
    def residuals(self) -> list[Value]:
        """All that is kept."""
        return [value for values in self.kept.values() for value in values]

    # Forward

    def forward(self, exact: bool) -> Body:
        """The function that keeps a tuple for each segment."""
        nodes = list(self._forward_nodes())
        plan = plan_body(
            self.given.arguments, nodes, [], self.residuals, not exact, self.graph.branches
        )
        groups = {way.path: [(way.results, way.is_bare), (2, False)] for way in self.ways}
        return Body("forward", "Return ({results}, residuals).", plan, groups)

    def _forward_nodes(self) -> Iterator[Node]:
        needed = {node for part in self.parts.values() for node in part.forward}
        ends = {way.end: k for k, way in enumerate(self.ways)}
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
        way = self.ways[k]
        number = self.graph.constant(self.numbers[k])
        nothing = [] if kept else [self.graph.constant(0)]
        operands = (*way.graph.outputs[: way.results], number, *kept, *nothing)
        params = {"path": way.path, "results": way.results}
        types = [value.type for value in way.end.results]
        return Node(LEAVE, operands, params, types, None, 0, (), way.end.segment)

    # Backward

    def backward(self, exact: bool) -> Body:
        """The function for all ways."""
        nodes: list[Node] = []
        stages: dict[Node, int] = {}
        paths: list[str] = []

        def add(stage: Sequence[Node], ways: Sequence[int]) -> None:
            numbers = [self.numbers[k] for k in ways]
            stages.update(dict.fromkeys(stage, len(paths)))
            paths.append(passing(numbers, len(self.ways)))
            nodes.extend(stage)

        for k in self.alone:
            way = self.ways[k]
            outputs = tuple(way.graph.outputs[way.results :])
            params = {"path": way.path, "results": len(outputs)}
            end = Node(LEAVE, outputs, params, [WEAK_TYPES[bool]], None, 0, ())
            add([*self.parts[way.path].backward, end], [k])
        longest = self.ways[self.longest]
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
        """What each segment has kept, the last segment first, and on which paths."""
        precedes = self.graph.branches.precedes
        levels: list[SegmentLevel] = []
        for segment, values in reversed(self.kept.items()):
            through = [
                self.numbers[k]
                for k, way in enumerate(self.ways)
                if precedes(segment, way.end.segment)
            ]
            before = any(precedes(other, segment) for other in self.kept if other < segment)
            levels.append(SegmentLevel(passing(through, len(self.ways)), values, before))
        return levels


def called_in_turn(given: Differentiated) -> Composed:
    """The function that calls forward, then backward."""
    doc = f"Return the value and {given.names}: forward, then backward."
    lines = ["value, residuals = forward({parameters})", "return value, backward(residuals)"]
    return Composed("value_and_grad", doc, lines)


def _keep(values: Sequence[Value], segment: int) -> Node:
    node = Node(KEEP, tuple(values), {}, [HANDLE], None, 0, (), segment)
    node.results[0].label = node.results[0].base = node.results[0].name = "saved"
    return node


def _move(tail: Tail) -> list[Node]:
    """The statement with which a way joins the longest."""
    if not tail.moves:
        return []
    operands = (*[target for target, _ in tail.moves], *[value for _, value in tail.moves])
    return [Node(MOVE, operands, {}, [WEAK_TYPES[bool]], None, 0, ())]
