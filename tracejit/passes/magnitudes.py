"""Magnitudes: how large the numbers in an array may be, where that follows from how they are made.

An array of `tanh(x)` holds numbers up to 1 and nan, and no infinity. So do `exp(-x * x)` and
`1.0 / (1.0 + exp(x))`, and what is made of such by sums and products has a limit, too.

>>> from tracejit.ir.printer import parse_graph
>>> from tracejit.ops.op import OPS
>>> graph = parse_graph('''graph f(x: f8[3], y: f8[3]) -> e: f8[3]
...   a  f8[3] = tanh x
...   b  f8[3] = exp y
...   c  f8[3] = add 2.0 b
...   d  f8[3] = divide 3.0 c
...   e  f8[3] = subtract d a
... ''', OPS)
>>> limits = limits_of(graph)
>>> [(value.name, limits.get(value)) for value in graph.values()][2:]
[('a', 1.0), ('b', None), ('c', None), ('d', 1.5), ('e', 2.5)]
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tracejit.ir.graph import Graph, Value
from tracejit.passes.emission import VIEWS, is_nonnegative, is_real, made_by, number_of
from tracejit.passes.factors import LARGEST

Limits = dict[Value, float]


def limits_of(graph: Graph) -> Limits:
    """The values of `graph` without an infinity, each with what no number in it exceeds, whatever
    its sign, but by rounding. It is not above LARGEST."""
    limits: Limits = {}
    for node in graph.nodes:
        rule = RULES.get(node.op.name)
        if rule is not None and is_real(node.results[0]):
            limit = rule(limits, node.operands)
            if limit <= LARGEST:
                limits[node.results[0]] = limit
    return limits


def limit_of(limits: Limits, value: Value) -> float:
    """The limit of a value; infinity where none is known."""
    known = limits.get(value)
    if known is None and value.node is None:
        number = number_of(value)
        return math.inf if number is None else abs(number)
    return math.inf if known is None else known


def least_of(value: Value, depth: int = 6) -> float:
    """A positive number that no number in a value is below; zero where none is known."""
    number = number_of(value)
    if number is not None:
        return max(number, 0.0)
    made = made_by(value, "add", "maximum", "multiply", "sqrt")
    if made is None or not depth:
        return 0.0
    if made.op.name == "sqrt":
        return math.sqrt(least_of(made.operands[0], depth - 1))
    if made.op.name == "add" and not all(map(is_nonnegative, made.operands)):
        return 0.0
    first, second = (least_of(operand, depth - 1) for operand in made.operands)
    return first * second if made.op.name == "multiply" else max(first, second)


def is_nonpositive(value: Value, depth: int = 6) -> bool:
    """Tell if no number in a value is known to be above zero."""
    number = number_of(value)
    if number is not None:
        return number <= 0
    made = made_by(value, "negative", "subtract", "multiply", "divide")
    if made is None or not depth:
        return False
    if made.op.name == "negative":
        return is_nonnegative(made.operands[0])
    first, second = made.operands
    if is_nonpositive(first, depth - 1) and is_nonnegative(second):
        return True
    if made.op.name != "multiply":
        return False
    if is_nonpositive(second, depth - 1) and is_nonnegative(first):
        return True
    opposites = made_by(first, "negative"), made_by(second, "negative")
    return any(
        opposite is not None and opposite.operands[0] is other
        for opposite, other in zip(opposites, (second, first), strict=True)
    )


Operands = tuple[Value, ...]


def _one(limits: Limits, operands: Operands) -> float:
    return 1.0


def _exp(limits: Limits, operands: Operands) -> float:
    return 1.0 if is_nonpositive(operands[0]) else math.inf


def _sum(limits: Limits, operands: Operands) -> float:
    first = limit_of(limits, operands[0])
    return first + limit_of(limits, operands[1]) if first < math.inf else math.inf


def _product(limits: Limits, operands: Operands) -> float:
    first = limit_of(limits, operands[0])
    if first == math.inf:
        return math.inf
    second = limit_of(limits, operands[1])
    return first * second if second < math.inf else math.inf


def _quotient(limits: Limits, operands: Operands) -> float:
    above = limit_of(limits, operands[0])
    least = least_of(operands[1]) if above < math.inf else 0.0
    return above / least if least else math.inf


def _same(limits: Limits, operands: Operands) -> float:
    return limit_of(limits, operands[0])


def _choice(limits: Limits, operands: Operands) -> float:
    return max(limit_of(limits, operand) for operand in operands[1:])


RULES: dict[str, Callable[[Limits, Operands], float]] = {
    **dict.fromkeys(("tanh", "sin", "cos", "sign"), _one),
    **dict.fromkeys(("add", "subtract"), _sum),
    **dict.fromkeys(("negative", "absolute", *VIEWS), _same),
    **dict.fromkeys(("where", "or_zero"), _choice),
    "exp": _exp,
    "multiply": _product,
    "divide": _quotient,
}
