'''Solves: all that is solved for, and the inverse, of one matrix at once.

LAPACK factors the matrix in every call, and a call for a small matrix costs more than what it does.
The columns of all right sides, and those of the identity where the inverse is asked for, are solved
for together; each column is treated as before.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> graph = parse_graph("""graph f(a: f8[2,2], b: f8[2,3], v: f8[2]) -> x: f8[2,3], y: f8[2]
...   x  f8[2,3] = solve a b
...   y  f8[2]   = solve_vector a v
... """, OPS)
>>> print(print_graph(solve_together(graph)), end="")
graph f(a: f8[2,2], b: f8[2,3], v: f8[2]) -> x: f8[2,3], y: f8[2]
  x_1  f8[2,1] = expand_dims v  axis=(1,)
  x_2  f8[2,4] = concatenate b x_1  axis=1
  x_3  f8[2,4] = solve a x_2
  x    f8[2,3] = getitem x_3  index=(('slice', None, None, None), ('slice', None, 3, None))
  y    f8[2]   = getitem x_3  index=(('slice', None, None, None), 3)
'''

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.indexing.indexing import FULL
from tracejit.passes.framework.emission import emit
from tracejit.passes.framework.rebuild import rebuild

SOLVES = ("solve", "solve_vector", "inv")


def solve_together(graph: Graph) -> Graph:
    """`graph` with what is solved for one matrix solved for at once."""
    groups = _groups(graph)
    if not groups:
        return graph
    known: dict[Value, Value] = {}
    made: dict[Node, Value] = {}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value]:
        if not known:
            known.update(zip(graph.inputs, new.inputs, strict=True))
        known.update(zip(node.operands, operands, strict=True))
        if node in groups:
            made.update(_solved(new, groups[node], known))
        results = (made[node],) if node in made else new.take(node, operands).results
        known.update(zip(node.results, results, strict=True))
        return results

    return rebuild(graph, rewrite)


def _groups(graph: Graph) -> dict[Node, list[Node]]:
    """The nodes that solve for one matrix and can be one, by the first of them."""
    together: dict[object, list[Node]] = {}
    for node in graph.nodes:
        if node.op.name in SOLVES and _is_plain(node):
            place = node.operands[0], node.region, node.segment, node.tapes
            together.setdefault(place, []).append(node)
    numbers = {node: number for number, node in enumerate(graph.nodes)}
    groups = {}
    pending = list(together.values())
    while pending:
        first, *others = pending.pop()
        ready = [node for node in others if _is_there(node.operands[-1], numbers[first], numbers)]
        if ready:
            groups[first] = [first, *ready]
        if len(ready) < len(others):
            pending.append([node for node in others if node not in ready])
    return groups


def _is_plain(node: Node) -> bool:
    """Return whether a node solves for one matrix, and columns of its dtype."""
    matrix = node.operands[0].type
    return matrix.ndim == 2 and all(
        value.type.ndim <= 2
        and value.type.size > 0
        and value.type.sizes is None
        and value.type.dtype == node.results[0].type.dtype
        for value in node.operands
    )


def _is_there(value: Value, number: int, numbers: Mapping[Node, int]) -> bool:
    """Return whether a value is computed before node `number`, or is a view of such a value."""
    node = value.node
    if node is None or numbers[node] < number:
        return True
    return node.op.view_of is not None and all(
        _is_there(operand, number, numbers) for operand in node.operands
    )


def _solved(graph: Graph, nodes: Sequence[Node], known: Mapping[Value, Value]) -> dict[Node, Value]:
    """The solution of each of `nodes`, a part of one joint solution."""
    first = nodes[0]
    matrix = known[first.operands[0]]
    sides = [_side(graph, first, node, known) for node in nodes]
    whole = emit(graph, first, "concatenate", tuple(sides), axis=1)
    solution = emit(graph, first, "solve", (matrix, whole))
    found = {}
    start = 0
    for node, side in zip(nodes, sides, strict=True):
        stop = start + side.type.shape[1]
        last = stop if stop < whole.type.shape[1] else None
        columns = start if node.op.name == "solve_vector" else ("slice", start or None, last, None)
        found[node] = emit(graph, node, "getitem", (solution,), index=(FULL, columns))
        start = stop
    return found


def _side(graph: Graph, first: Node, node: Node, known: Mapping[Value, Value]) -> Value:
    """The right side of a node as columns."""
    if node.op.name == "inv":
        type = node.results[0].type
        identity = graph.constant(np.eye(type.shape[0], dtype=type.dtype))
        identity.name = identity.name or f"identity_{type.shape[0]}"
        return identity
    value = _moved(graph, first, node.operands[1], known)
    if node.op.name == "solve":
        return value
    return emit(graph, first, "expand_dims", (value,), axis=(1,))


def _moved(graph: Graph, first: Node, value: Value, known: Mapping[Value, Value]) -> Value:
    """The value of the new graph that stands for `value`, a view taken again where that is not
    there yet."""
    if value in known or value.node is None:
        return known.get(value, value)
    node = value.node
    operands = tuple([_moved(graph, first, operand, known) for operand in node.operands])
    return emit(graph, first, node.op, operands, **node.params)
