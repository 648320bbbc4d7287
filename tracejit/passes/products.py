"""Products: the call that is fastest for small matrices and vectors.

`a.dot(b)` computes what `a @ b` computes, to the bit where operands lie in order, in half the time
where the call is what costs: matmul finds its loop by the general rules of ufuncs, dot asks the
BLAS at once. From dot_operations on the two take the same time, and `@` reads better, but for a
column times a row, for which matmul has no BLAS and takes five times as long. Operands of one
element are left alone: dot scales by them, and for it 0.0 times infinity is 0.0.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> graph = parse_graph('''graph f(a: f8[4,3], b: f8[3,2], x: f8[2]) -> z: f8[4]
...   y  f8[4,2] = matmul a b
...   z  f8[4]   = matmul_vector y x
... ''', OPS)
>>> print(print_graph(dot_small(graph)), end="")
graph f(a: f8[4,3], b: f8[3,2], x: f8[2]) -> z: f8[4]
  y  f8[4,2] = dot_matrix a b
  z  f8[4]   = dot_vector y x
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.products import (
    dot,
    dot_matrix,
    dot_vector,
    matmul,
    matmul_vector,
    vector_dot,
    vector_matmul,
    vectors_matmul,
)
from tracejit.passes.rebuild import rebuild
from tracejit.support.cost_model import costs

DOTS = {
    matmul.name: dot_matrix,
    matmul_vector.name: dot_vector,
    vector_matmul.name: vector_dot,
    vectors_matmul.name: dot,
}


def dot_small(graph: Graph) -> Graph:
    """`graph` with small products of matrices and vectors by `dot`."""

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        return _dot_small(new, node, operands)

    return rebuild(graph, rewrite, ops=DOTS)


def _dot_small(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
    types = [value.type for value in operands]
    if any(type.ndim > 2 or type.sizes is not None or type.size == 1 for type in types):
        return None
    if types[0].dtype != types[1].dtype or types[0].dtype.kind not in "fc":
        return None
    is_outer = types[0].ndim == 2 and types[0].shape[1] == 1
    if node.op.cost(*types) > costs().dot_operations and not is_outer:
        return None
    place = node.where, node.region, node.tapes, node.segment
    return graph.emit(DOTS[node.op.name], operands, {}, [node.results[0].type], *place).results
