"""The split of a differentiated graph into forward and backward, and the choice of residuals
between them.

Forward is what the outputs need; backward is what the gradients need beyond that. A residual is a
value forward has and backward reads: an input of the function or the result of a forward node.
Two kinds are not kept: views, which backward makes again from what they view, and constants,
which the module holds anyway. An effect takes place in forward, unless it needs a cotangent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.passes.dce import needed_nodes


class Partition(NamedTuple):
    """Forward nodes, backward nodes, and the residuals that the first hand to the second."""

    forward: list[Node]
    backward: list[Node]
    residuals: list[Value]


def partition(graph: Graph, outputs: int, seeds: list[Value]) -> Partition:
    """Split `graph`, whose first `outputs` outputs are the function's and whose others are
    gradients."""
    return split(graph, graph.outputs[:outputs], graph.outputs[outputs:], seeds)


def split(
    graph: Graph, outputs: Sequence[Value], gradients: Sequence[Value], seeds: Sequence[Value]
) -> Partition:
    """What computes `outputs`, and what computes `gradients` from it and the seeds."""
    forward = needed_nodes(_before(graph.nodes, seeds), outputs)
    kept = {
        value
        for node in forward
        for value in node.results
        if node.op.alias is None or value.type.form != "array"
    }
    kept.update(value for value in graph.inputs if value not in seeds)
    backward = needed_nodes(graph.nodes, gradients, kept.union(seeds))
    used = {value for node in backward for value in node.operands}
    used.update(gradients)
    residuals = [value for value in graph.values() if value in kept and value in used]
    assert not any(isinstance(value, Constant) for value in residuals)
    return Partition(forward, backward, residuals)


def _before(nodes: list[Node], seeds: Sequence[Value]) -> list[Node]:
    """The nodes that need no cotangent."""
    later = set(seeds)
    before = []
    for node in nodes:
        if later.isdisjoint(node.operands):
            before.append(node)
        else:
            later.update(node.results)
    return before
