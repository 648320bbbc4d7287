"""Formulas: ops that need all rows at once, written in ops that combine.

The standard deviation of rows, say, is not combined of those of blocks; the mean is, and then the
mean of squared distances to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.location import NOWHERE
from tracejit.ops.base.axes import MIXED, axis_rule
from tracejit.passes.framework.rebuild import rebuild
from tracejit.sharding.analysis import row_axis
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor


def expand_formulas(graph: Graph) -> Graph:
    """`graph` with the formula in the place of every op that has one and mixes rows."""
    recording = Recording(graph.name)
    recording.use_sizes(graph.sizes)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node.op.formula is None or not _mixes_rows(node):
            return None
        recording.graph = new
        with recording, recording.at(node.where or NOWHERE):
            tensors = [Tensor(value, recording) for value in operands]
            result = node.op.formula(*tensors, **node.params)
        if result is NotImplemented:
            return None
        results = result if type(result) is tuple else (result,)
        return [one._value for one in results]

    return rebuild(graph, rewrite)


def _mixes_rows(node: Node) -> bool:
    """Return whether an op does not say how it computes block by block."""
    sides = node.operands, node.results
    try:
        operands, results = ([row_axis(value.type) for value in side] for side in sides)
    except ValueError:  # which the analysis refuses
        return False
    if operands == [None] * len(operands):
        return False
    rule = axis_rule(node.op, [value.type for value in node.operands], node.params)
    if rule is None:
        return True
    pairs = [*zip(rule.operands, operands, strict=True), *zip(rule.results, results, strict=True)]
    return any(axis is not None and text[axis] == MIXED for text, axis in pairs)
