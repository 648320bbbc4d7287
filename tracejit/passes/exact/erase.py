"""Erase markers: once a graph is differentiated, an `override` is just its values, and what
derivatives of its gradient would look at is spelled out.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> graph = parse_graph('''graph f(x: f8[3]) -> out: f8
...   q_1  f8[3] = rint x
...   q    f8[3] = override q_1 <- x  outputs=1 grad=rint
...   out  f8    = sum q  axis=(0,)
... ''', OPS)
>>> print(print_graph(erase_markers(graph)), end="")
graph f(x: f8[3]) -> out: f8
  q_1  f8[3] = rint x
  out  f8    = sum q_1  axis=(0,)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.control.marker_ops import IDENTITY, OVERRIDE
from tracejit.ops.elementwise.complex import bent
from tracejit.ops.elementwise.lengths import length, radial, unknown_slope
from tracejit.passes.framework.emission import emit, made_by
from tracejit.passes.framework.rebuild import rebuild


def erase_markers(graph: Graph) -> Graph:
    """`graph` with every override and identity replaced by its values, and gradients of lengths
    by quotients."""
    if not any(node.op in _ERASED for node in graph.nodes):
        return graph
    return rebuild(graph, _erase)


_FIRST = (IDENTITY, unknown_slope, length)
"""Operations that are their first operand, with derivatives of their own."""
_ERASED = (OVERRIDE, radial, bent, *_FIRST)


def _erase(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
    if node.op in _FIRST:
        return operands[:1]
    if node.op is OVERRIDE:
        return operands[: node.params["outputs"]]
    if node.op is radial:
        g, y, x = operands
        if node.params.get("axis"):
            return (emit(graph, node, "multiply", (_over_length(graph, node, g, y), x)),)
        return (emit(graph, node, "multiply", (g, _over_length(graph, node, x, y))),)
    if node.op is bent:
        g, _, x = operands
        sign = emit(graph, node, "complex_sign" if x.type.dtype.kind == "c" else "sign", (x,))
        sign = emit(graph, node, "conjugate", (sign,)) if x.type.dtype.kind == "c" else sign
        return (emit(graph, node, "multiply", (g, sign)),)
    return None


def _over_length(graph: Graph, node: Node, g: Value, y: Value) -> Value:
    """g / y, zero where y is; new axes come last."""
    one, other = made_by(g, "expand_dims"), made_by(y, "expand_dims")
    if one is not None and other is not None and one.params == other.params:
        inner = _over_length(graph, node, one.operands[0], other.operands[0])
        return emit(graph, node, "expand_dims", (inner,), **one.params)
    is_zero = emit(graph, node, "equal", (y, graph.constant(0)))
    length = emit(graph, node, "where", (is_zero, graph.constant(math.inf), y))
    return emit(graph, node, "divide", (g, length))
