"""The split of a differentiated graph into forward and backward, and the choice of residuals
between them.

Forward is what the outputs need; backward is what the gradients need beyond that. A residual is a
value forward has and backward reads: an input of the function or the result of a forward node.
Three kinds are not kept: views, which backward makes again from what they view, constants, which
the module holds anyway, and sizes, which the arrays have. An effect takes place in forward, unless
it needs a cotangent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tracejit.ir.dims import dims_in, size_text
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.types import WEAK_TYPES
from tracejit.ops.elementwise.weak import SIZE
from tracejit.passes.framework.dce import needed_nodes


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
    """Split the nodes: forward computes `outputs`, backward the `gradients` from forward's values
    and the seeds."""
    forward = needed_nodes(_before(graph.nodes, seeds), outputs)
    kept = {
        value
        for node in forward
        for value in node.results
        if node.op is not SIZE and (node.op.view_of is None or value.type.form != "array")
    }
    kept.update(value for value in graph.inputs if value not in seeds)
    backward = needed_nodes(graph.nodes, gradients, kept.union(seeds))
    used = {value for node in backward for value in node.operands}
    used.update(gradients)
    residuals = [value for value in graph.values() if value in kept and value in used]
    assert not any(isinstance(value, Constant) for value in residuals)
    sizes = _sizes_beside(graph, backward, [*residuals, *seeds])
    return Partition([*forward, *sizes], backward, [*residuals, *[n.results[0] for n in sizes]])


def _sizes_beside(graph: Graph, backward: Sequence[Node], arrays: Sequence[Value]) -> list[Node]:
    """The free dimensions that backward mentions and none of its arrays has, as nodes."""
    if graph.sizes is None:
        return []
    words: set[str] = set()
    for node in backward:
        types = [value.type for value in node.operands]
        lines = node.op.statement_lines(types, node.params) if node.op.statements else []
        lines += [] if lines else [node.op.template(types, node.params)]
        words.update(re.findall(r"\w+", " ".join(lines)))
    words -= {size_text(size) for value in arrays for size in dims_in(value.type.shape)}
    found = []
    for index in graph.sizes.free():
        size = graph.sizes.dim(index)
        if size_text(size) in words:
            node = graph.emit(SIZE, (), {"value": size}, [WEAK_TYPES[int]], None)
            node.results[0].name = size_text(size)
            found.append(node)
    return found


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
