"""Softplus: the derivative of log1p(exp(-v)) from the logarithm itself.

With e = exp(-v) and l = log1p(e), `g / (1 + e) * e` is `-g * expm1(-l)`: two operations and no
array besides for three operations and two arrays, as l is computed in the place of e. It takes as
long, up to MOST_ELEMENTS. v must be known to be nowhere below zero, so that e is at most 1 and
neither overflows: 3 ulp, with the same infinities and nan.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[9], g: f8) -> l: f8[9], d: f8[9]
...   v  f8[9] = absolute x
...   v  f8[9] = negative v
...   e  f8[9] = exp v
...   l  f8[9] = log1p e
...   d  f8[9] = add e 1.0
...   d  f8[9] = divide g d
...   d  f8[9] = multiply d e
... ''', OPS)
>>> print(print_graph(drop_dead(keep_logarithms(graph))), end="")
graph f(x: f8[9], g: f8) -> l: f8[9], d: f8[9]
  v    f8[9] = absolute x
  v    f8[9] = negative v
  e    f8[9] = exp v
  l    f8[9] = log1p e
  d_1  f8[9] = negative l
  d_2  f8[9] = expm1 d_1
  d_3  f8[9] = negative d_2
  d    f8[9] = multiply g d_3
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.emission import emit, for_decisions, is_real, made_by, number_of, readers_of
from tracejit.passes.ranges import is_nonnegative
from tracejit.passes.rebuild import rebuild

MOST_ELEMENTS = 1024
"""Above that expm1 takes longer than a sum and a quotient."""
LOGARITHMS = ("log1p",)


def keep_logarithms(graph: Graph) -> Graph:
    """`graph` with derivatives of small arrays of log1p(exp(-v)) by expm1."""
    kept = for_decisions(graph)
    before = readers_of(graph)
    logarithms: dict[Value, Node] = {}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node in kept or not _is_small(node.results[0]):
            return None
        if node.op.name == "log1p":
            if before[node.operands[0]] == 3 and _is_at_most_one(operands[0]):
                logarithms[operands[0]] = copy = new.copy_node(node, operands)
                return copy.results
            return None
        for place in (0, 1):
            quotient, e = operands[place], operands[1 - place]
            known, made = logarithms.get(e), made_by(quotient, "divide")
            if known is None or made is None or before[node.operands[place]] > 1:
                continue
            if not _is_one_more(made.operands[1], e) or not _is_alike(known, made, node):
                continue
            power = emit(new, node, "negative", known.results)
            less = emit(new, node, "negative", (emit(new, node, "expm1", (power,)),))
            value = emit(new, node, "multiply", (made.operands[0], less))
            return (value,) if value.type is node.results[0].type else None
        return None

    return rebuild(graph, rewrite, ops=(*LOGARITHMS, "multiply"))


def _is_small(value: Value) -> bool:
    size = value.type.estimated_size
    return is_real(value) and bool(value.type.shape) and size <= MOST_ELEMENTS


def _is_at_most_one(value: Value) -> bool:
    """Tell if a value is an exponential of what is nowhere above zero."""
    made = made_by(value, "exp")
    power = made and made_by(made.operands[0], "negative")
    return power is not None and is_nonnegative(power.operands[0])


def _is_one_more(value: Value, than: Value) -> bool:
    """Tell if `value` is `than` and 1."""
    made = made_by(value, "add")
    if made is None or than not in made.operands or value.type is not than.type:
        return False
    return any(number_of(operand) == 1.0 for operand in made.operands)


def _is_alike(known: Node, made: Node, node: Node) -> bool:
    """Tell if three nodes are in one part of the function, and arrays of one type."""
    nodes = known, made, node
    if len({(one.region, one.segment, one.tapes) for one in nodes}) > 1:
        return False
    return known.results[0].type is made.results[0].type is node.results[0].type
