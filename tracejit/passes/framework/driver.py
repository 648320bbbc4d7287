"""The pass driver: passes in their fixed order, each where it is legal, to a fixed point.

A `Pass` is a record: its function, the ops that it needs, and where it is legal. The driver asks a
pass about a graph that has one of these ops. It asks again in another round where later passes have
made more of them, so that the order of the passes decides who is first and not who is heard: more
of any of them where the pass has found something before, for it may find more in what that has
become; more of all together where it has not. The rounds are bounded (`costs().pass_rounds`): a
pass may always find something new in what others leave.

In a graph with decisions, a pass is legal unless it gathers along a branch: the results of a branch
must not change when another is joined to it, and branches that end alike must stay alike. Nodes
that only a decision reads are protected from every pass that may change bits, so that a decision
has the same outcome in the kernel as in Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from tracejit.ir.graph import Graph, Node
from tracejit.ir.verify import verify
from tracejit.ops.control.branches import DECIDE
from tracejit.ops.control.control_flow import is_condition
from tracejit.passes.framework.dce import drop_dead
from tracejit.support.config import setting
from tracejit.support.cost_model import costs


class Pass(NamedTuple):
    """One rewrite of graphs.

    `run` returns the graph that it is given where it finds nothing to do. Without any of the ops
    `needs` it never finds anything; an empty collection says nothing. A pass that is not legal
    `along_decisions` leaves graphs alone that decide. One that `is_exact` changes no bit.
    """

    run: Callable[[Graph], Graph]
    needs: Collection[str] = ()
    along_decisions: bool = True
    is_exact: bool = False

    def applied(self, graph: Graph, verifies: bool) -> Graph:
        """`graph` after this pass, which leaves alone what it may not touch; checked if somebody
        `verifies`."""
        decides = bool(graph.branches.decisions)
        if not (decides or any(map(is_condition, graph.nodes))):
            better = self.run(graph)
        elif decides and not self.along_decisions:
            return graph
        else:
            graph.protected = frozenset() if self.is_exact else only_decided(graph)
            better = self.run(graph)
            graph.protected = frozenset()
        if verifies:
            verify(better)
        return better

    def may_find(
        self, ops: Mapping[str, int], before: Mapping[str, int] | None, had_found: bool
    ) -> bool:
        """Return whether there is something to do in a graph of so many `ops`, which had so many
        `before`, when the pass had run, and whether it `had_found` something; None if it has not
        run."""
        if before is ops:
            return False
        if before is None:
            return not self.needs or not ops.keys().isdisjoint(self.needs)
        more = [ops.get(name, 0) - before.get(name, 0) for name in self.needs or ops]
        return (sum(more) if self.needs and not had_found else max(more, default=0)) > 0


def run_in_turn(graph: Graph, passes: Iterable[Pass]) -> Graph:
    """`graph` after each of `passes`, once."""
    verifies = bool(setting("verify"))
    for each in passes:
        graph = each.applied(graph, verifies)
    return graph


def run_to_fixed_point(graph: Graph, passes: Sequence[Pass]) -> Graph:
    """`graph`, of which nobody else holds anything, after `passes`, until none finds more."""
    ops = ops_of(graph)
    seen: list[Mapping[str, int] | None] = [None] * len(passes)
    found = [False] * len(passes)
    verifies = bool(setting("verify"))
    graph.is_passing = True
    for _ in range(costs().pass_rounds):
        before = graph
        for number, each in enumerate(passes):
            if not each.may_find(ops, seen[number], found[number]):
                continue
            better = each.applied(graph, verifies)
            found[number] = better is not graph
            if better is not graph:
                graph = drop_dead(better)
                graph.is_passing = True
                ops = ops_of(graph)
            seen[number] = ops
        if graph is before:
            break
    graph.is_passing = False
    return graph


def ops_of(graph: Graph) -> Mapping[str, int]:
    """The number of nodes of each op in a graph."""
    return Counter([node.op.name for node in graph.nodes])


def only_decided(graph: Graph) -> frozenset[Node]:
    """The nodes that nothing but a decision reads, or the choice of a condition."""
    wanted = {output.node for output in graph.outputs}
    for node in reversed(graph.nodes):
        if node in wanted or (node.op.effect and node.op is not DECIDE):
            wanted.add(node)
            read = node.operands[1:] if is_condition(node) else node.operands
            wanted.update(value.node for value in read)
    return frozenset(graph.nodes) - wanted
