"""Constant folding: compute values that depend only on constants once, when the module is imported.

Small results are folded wherever they are emitted, and written as numbers. An array is a constant
of its own, which is spelled at the head of the module as the operation that makes it; a view of
another costs nothing, and is written where it is read.

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[20]) -> z: f8[20]
...   y  f8[20] = exp x
...   z  f8[20] = multiply y x
... ''', OPS)
>>> twenty = graph.constant(np.arange(20.0))
>>> graph.nodes[0].operands = (twenty,)
>>> folded = drop_dead(fold_constants(graph))
>>> [node.op.name for node in folded.nodes], folded.constants()[0].made.op.name
(['multiply'], 'exp')
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.passes.framework.rebuild import rebuild
from tracejit.support.cost_model import costs


def fold_constants(graph: Graph) -> Graph:
    """`graph` with arrays that are made of constants alone as constants."""
    if not any(_is_constant(node, node.operands) for node in graph.nodes):
        return graph

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if not _is_constant(node, operands):
            return None
        try:
            with np.errstate(all="raise"):
                data = node.op.evaluate(*[value.data for value in operands], **node.params)
        except (ArithmeticError, ValueError, IndexError):
            return None  # every call is to raise or warn, not the import
        constant = new.constant(data)
        if constant.type is not node.results[0].type:
            return None
        is_new = constant.made is None and not constant.name
        if is_new and not any(_is_made_of(value, constant) for value in operands):
            results = (constant,)
            constant.made = Node.of(node.op, operands, node.params, results, node.where)
        return (constant,)

    return rebuild(graph, rewrite)


def _is_constant(node: Node, operands: Sequence[Value]) -> bool:
    """Return whether a node makes an array of constants, in one expression."""
    for value in operands:
        if not isinstance(value, Constant):
            return False
    if not operands or node.op.effect or node.op.statements is not None or len(node.results) != 1:
        return False
    type = node.results[0].type
    if type.form != "array" or type.sizes is not None:
        return False
    return 0 < type.size <= costs().most_folded_elements


def _is_made_of(value: Value, part: Constant) -> bool:
    """Return whether a constant is another, or computed from it: twice transposed it is itself."""
    parts = value.made.operands if isinstance(value, Constant) and value.made is not None else ()
    return value is part or any(_is_made_of(one, part) for one in parts)
