"""Strength reduction: powers and other functions by cheaper arithmetic.

`RULES` maps an op to its rewrites. Each says which bound it keeps; all keep inf, nan, dtype,
shape and form. Only float32 and float64 are rewritten, and only values that are more than a Python
number.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[900]) -> y: f8[900], z: f8[900]
...   y  f8[900] = pow_to x  exponent=3
...   z  f8[900] = logaddexp 0.0 x
... ''', OPS)
>>> print(print_graph(drop_dead(strengthen(graph))), end="")
graph f(x: f8[900]) -> y: f8[900], z: f8[900]
  y_1  f8[900] = multiply x x
  y    f8[900] = multiply y_1 x
  z_1  f8[900] = absolute x
  z_2  f8[900] = negative z_1
  z_3  f8[900] = exp z_2
  z_4  f8[900] = log1p z_3
  z_5  f8[900] = maximum 0.0 x
  z    f8[900] = add z_5 z_4
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ops import reductions
from tracejit.ops.arithmetic import pow_to, power_to, reciprocal, square
from tracejit.ops.diagonals import tril, triu
from tracejit.ops.exponential import logaddexp
from tracejit.ops.op import Op
from tracejit.passes.emission import Rule, emit, is_real, made_by, number_of
from tracejit.passes.ranges import is_nonnegative
from tracejit.passes.rebuild import rebuild
from tracejit.support.cost_model import costs


def strengthen(graph: Graph) -> Graph:
    """`graph` with cheaper arithmetic; sums and products of the same two values are one."""
    pairs: dict[tuple[object, ...], Node] = {}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        rules = RULES.get(node.op, ())
        if not (rules or node.op.commutative) or not is_real(node.results[0]):
            return None
        for rule in rules:
            value = rule(new, node, operands)
            if value is not None and value.type is node.results[0].type:
                return (value,)
        if not node.op.commutative:
            return None
        # Only the payload of a nan depends on the order of the two.
        pair = node.op, frozenset(operands), node.region
        known = pairs.get(pair)
        if known is not None and new.branches.precedes(known.segment, node.segment):
            return known.results
        pairs[pair] = known = new.take(node, operands)
        return known.results

    return rebuild(graph, rewrite)


def _power(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """x ** n by products, square roots and at most one division.

    Within (n - 1) / 2 ulp for products, 4 ulp at most. Where a product of factors overflows or
    underflows, so does the power: |x ** 2| lies between 1 and |x ** n|.
    """
    x, exponent = operands[0], node.params["exponent"]
    if not is_real(x) or x.type.dtype != node.results[0].type.dtype or type(exponent) is complex:
        return None
    whole, half = divmod(abs(exponent), 1)
    if half == 0.5:
        return _half_power(graph, node, x, int(whole), exponent < 0)
    if half or not whole:
        return None
    if exponent < 0:
        if whole > costs().most_factors_of_reciprocal:
            return None
        x = emit(graph, node, "divide", (graph.constant(1.0), x))
        return _product(graph, node, x, int(whole))
    if not 2 <= whole <= costs().most_factors_of_power:
        return None
    return _product(graph, node, x, int(whole))


def _product(graph: Graph, node: Node, x: Value, count: int) -> Value:
    """x multiplied `count` times, by squares."""
    if count == 1:
        return x
    if count % 2:
        return emit(graph, node, "multiply", (_product(graph, node, x, count - 1), x))
    half = _product(graph, node, x, count // 2)
    return emit(graph, node, "multiply", (half, half))


def _half_power(graph: Graph, node: Node, x: Value, whole: int, below: bool) -> Value | None:
    """x ** 0.5, 1.5, 2.5, 3.5, or one over it.

    NumPy itself takes the square root for `**` of arrays. Elsewhere the two differ where x is -0.0
    or -inf, so it must be known that x is neither. Within 4 ulp. Each is x times the one before,
    which is what its derivative needs.
    """
    if whole > costs().most_factors_of_reciprocal - 1:
        return None
    if not whole and not below and node.op is pow_to and x.type.shape:
        return emit(graph, node, "sqrt", (x,))
    if not is_nonnegative(x):
        return None
    if not whole:
        root = emit(graph, node, "sqrt", (x,))
        return emit(graph, node, "divide", (graph.constant(1.0), root)) if below else root
    if below:
        x = emit(graph, node, "divide", (graph.constant(1.0), x))
    value = emit(graph, node, "sqrt", (x,))
    for _ in range(whole):
        value = emit(graph, node, "multiply", (x, value))
    return value


def _square(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """square(x) is x * x, to the bit."""
    return emit(graph, node, "multiply", (operands[0], operands[0]))


def _reciprocal(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """reciprocal(x) is 1 / x, to the bit."""
    return emit(graph, node, "divide", (graph.constant(1.0), operands[0]))


def _logaddexp(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """logaddexp(x, y) of arrays is max(x, y) + log1p(exp(-|x - y|)), as NumPy computes it.

    Within 2 ulp, for exp and log1p over arrays are not those over numbers. Where both are the same
    infinity the difference is nan, which fmin takes for the infinity it would be if they were not.
    """
    if node.results[0].type.estimated_size < costs().least_logaddexp_elements:
        return None
    numbers = [number_of(operand) for operand in operands]
    result = node.results[0].type
    if any(v.type.dtype != result.dtype and v.type.form != "weak" for v in operands):
        return None
    if numbers[0] is None and numbers[1] is None:
        difference = emit(graph, node, "subtract", operands)
        distance = emit(graph, node, "absolute", (difference,))
        distance = emit(graph, node, "fmin", (distance, graph.constant(math.inf)))
    else:
        number, x = (numbers[0], operands[1]) if numbers[1] is None else (numbers[1], operands[0])
        if number is None or not math.isfinite(number) or isinstance(x, Constant):
            return None
        difference = x if number == 0 else emit(graph, node, "subtract", operands)
        distance = emit(graph, node, "absolute", (difference,))
    less = emit(graph, node, "exp", (emit(graph, node, "negative", (distance,)),))
    more = emit(graph, node, "log1p", (less,))
    return emit(graph, node, "add", (emit(graph, node, "maximum", operands), more))


def _triangle(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """tril(x) and triu(x) choose by a mask, as NumPy does, which is made once."""
    type, k = node.results[0].type, node.params["k"]
    if type.sizes is not None:
        return None
    rows, columns = type.shape[-2:]
    if not 0 < rows * columns <= costs().most_mask_elements:
        return None
    is_lower = node.op is tril
    mask = graph.constant(np.tri(rows, columns, k if is_lower else k - 1, dtype=bool))
    zero = graph.constant(0.0)
    choices = (operands[0], zero) if is_lower else (zero, operands[0])
    return emit(graph, node, "where", (mask, *choices))


def _sum_of_spread(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """A sum over axes along which a number was spread is so many times the number.

    It is a constant other than zero: a sum of -0.0 is 0.0.
    """
    made, result = made_by(operands[0], "broadcast_to"), node.results[0].type
    if made is None or not is_real(operands[0]) or operands[0].type.sizes is not None:
        return None
    shape, axes = operands[0].type.shape, node.params["axis"]
    if not number_of(made.operands[0]) or 0 in shape:
        return None
    count = graph.constant(float(math.prod(shape[axis] for axis in axes)))
    value = emit(graph, node, "multiply", (made.operands[0], count))
    if value.type.shape != result.shape:
        value = emit(graph, node, "broadcast_to", (value,), shape=result.shape)
    return value if value.type is result else None


RULES: dict[Op, tuple[Rule, ...]] = {
    pow_to: (_power,),
    power_to: (_power,),
    square: (_square,),
    reciprocal: (_reciprocal,),
    logaddexp: (_logaddexp,),
    reductions.sum: (_sum_of_spread,),
    tril: (_triangle,),
    triu: (_triangle,),
}
