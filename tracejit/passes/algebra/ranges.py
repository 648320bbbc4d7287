"""Range analysis: which numbers a value may hold, as far as follows from how it is made.

An array of `tanh(x)` holds numbers between -1 and 1 and nan, and no infinity. `exp(-x * x)` and
`1.0 / (1.0 + exp(x))` lie between 0 and 1; sums and products of such have bounds, too. Sign
questions are asked of the same analysis: `x * x` and `exp(x)` are nowhere below zero, nor -0.0.

A `Range` says nothing of nan. Bounds hold but for rounding; signs hold to the bit.

>>> from tracejit.ir.printer import parse_graph
>>> from tracejit.ops.base.op import OPS
>>> graph = parse_graph('''graph f(x: f8[3], y: f8[3]) -> e: f8[3]
...   a  f8[3] = tanh x
...   b  f8[3] = exp y
...   c  f8[3] = add 2.0 b
...   d  f8[3] = divide 3.0 c
...   e  f8[3] = subtract d a
... ''', OPS)
>>> for value in list(graph.values())[2:]:
...     print(value.name, *range_of(value))
a -1.0 1.0 True
b 0.0 inf False
c 2.0 inf False
d 0.0 1.5 False
e -1.0 2.5 True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ops.base.op import Op
from tracejit.ops.elementwise.arithmetic import (
    add,
    divide,
    multiply,
    negative,
    sqrt,
    square,
    subtract,
)
from tracejit.ops.elementwise.choices import maximum, minimum, or_zero, where
from tracejit.ops.elementwise.complex import absolute
from tracejit.ops.elementwise.exponential import exp
from tracejit.ops.reductions import reductions
from tracejit.passes.framework.emission import made_by, number_of
from tracejit.support.cost_model import costs

ROUNDING = 2.0**-18
"""More than what rounding takes of terms that cancel, in proportion to them."""


class Range(NamedTuple):
    """The bounds of the numbers in a value, and `has_sign` unless none is below zero or -0.0."""

    low: float
    high: float
    has_sign: bool

    @property
    def largest(self) -> float:
        """The largest size of a number; infinity where there may be an infinity."""
        return max(-self.low, self.high)


ANYTHING = Range(-math.inf, math.inf, True)
Known = dict[Value, Range]
Rule = Callable[..., Range]


def range_of(value: Value, known: Known | None = None, steps: int | None = None) -> Range:
    """The range of a value. Where `known` is given, ranges are looked up in it, and kept."""
    if steps is None:
        steps = costs().range_depth if known is None else costs().kept_range_depth
    if value.node is None:
        number = number_of(value)
        if number is None or not math.isfinite(number):
            return ANYTHING
        return Range(number, number, math.copysign(1.0, number) < 0)
    found = known.get(value) if known is not None else None
    if found is None:
        found = ANYTHING
        if steps and value.type.dtype.kind == "f":
            operands = [range_of(one, known, steps - 1) for one in value.node.operands]
            rule = RULES.get(value.node.op, _declared)
            found = _representable(rule(value.node, *operands), value.type.dtype)
        if known is not None:
            known[value] = found
    return found


def is_nonnegative(value: Value) -> bool:
    """Return whether a value is known to have no element below zero, nor -0.0; it may have nan."""
    return not range_of(value).has_sign


def may_bound(node: Node) -> bool:
    """Return whether a node may bound what is not bounded; or what it divides by is bounded
    from below."""
    if node.op is divide:
        return node.operands[1].node is not None or number_of(node.operands[0]) is not None
    return node.op.bound is not None or node.op in (exp, minimum, where)


def _representable(found: Range, dtype: np.dtype[Any]) -> Range:
    """A range of numbers of `dtype`: those that are too small become zero, or infinity."""
    limits = np.finfo(dtype)
    low, high, has_sign = found
    if 0.0 < low < limits.smallest_normal:
        low = 0.0
    return Range(
        low if low >= limits.min else -math.inf, high if high <= limits.max else math.inf, has_sign
    )


def _declared(node: Node, *operands: Range) -> Range:
    """The range that an operation declares of its results."""
    if len(node.results) > 1:
        return ANYTHING
    if node.op.elements is not None:
        return operands[0]
    bound = math.inf if node.op.bound is None else node.op.bound
    is_kept = node.op.sign == "kept" and not any([one.has_sign for one in operands])
    if is_kept or node.op.sign == "nonnegative":
        return Range(0.0, bound, False)
    return Range(-bound, bound, True)


def _sum(node: Node, first: Range, second: Range) -> Range:
    low, high = first.low + second.low, first.high + second.high
    lost = 0.0
    if math.isfinite(low) and first.low * second.low < 0.0:
        lost = ROUNDING * max(abs(first.low), abs(second.low))
    return Range(low - lost, high, first.has_sign or second.has_sign)


def _difference(node: Node, first: Range, second: Range) -> Range:
    return _sum(node, first, _negative(node, second))


def _negative(node: Node, operand: Range) -> Range:
    return Range(-operand.high, -operand.low, True)


def _times(one: float, other: float) -> float:
    """The product of two bounds: nothing times infinity is nan, if it is there at all."""
    return one * other if one and other else 0.0


def _product(node: Node, first: Range, second: Range) -> Range:
    one, other = node.operands
    if one is other:
        return _square(node, first)
    for value, rest in ((one, other), (other, one)):
        opposite = made_by(value, "negative")
        if opposite is not None and opposite.operands[0] is rest:
            return _negative(node, _square(node, first))
    ends = [_times(a, b) for a in first[:2] for b in second[:2]]
    return Range(min(ends), max(ends), first.has_sign or second.has_sign)


def _square(node: Node, operand: Range) -> Range:
    least = 0.0 if operand.low <= 0.0 <= operand.high else min(map(abs, operand[:2]))
    return Range(least * least, operand.largest**2, False)


def _quotient(node: Node, above: Range, below: Range) -> Range:
    if below.low > 0.0:
        ends = [a / b if math.isfinite(b) else 0.0 for a in above[:2] for b in below[:2]]
        return Range(min(ends), max(ends), above.has_sign)
    if below.has_sign:
        return ANYTHING
    low, high = (0.0 if end == 0.0 else end * math.inf for end in above[:2])
    return Range(min(low, 0.0), max(high, 0.0), above.has_sign)


def _absolute(node: Node, operand: Range) -> Range:
    least = 0.0 if operand.low <= 0.0 <= operand.high else min(map(abs, operand[:2]))
    return Range(least, operand.largest, False)


def _exp(node: Node, operand: Range) -> Range:
    low, high = (math.exp(min(end, 709.0)) for end in operand[:2])
    return Range(low, high if operand.high <= 709.0 else math.inf, False)


def _root(node: Node, operand: Range) -> Range:
    low, high = (math.sqrt(max(end, 0.0)) for end in operand[:2])
    return Range(low, high, operand.has_sign)


def _maximum(node: Node, first: Range, second: Range) -> Range:
    low, high = max(first.low, second.low), max(first.high, second.high)
    return Range(low, high, low <= 0.0 and (first.has_sign or second.has_sign))


def _minimum(node: Node, first: Range, second: Range) -> Range:
    low, high = min(first.low, second.low), min(first.high, second.high)
    return Range(low, high, first.has_sign or second.has_sign)


def _choice(node: Node, mask: Range, *choices: Range) -> Range:
    lows, highs, signs = zip(*choices, strict=True)
    return Range(min(lows), max(highs), any(signs))


def _or_zero(node: Node, mask: Range, operand: Range) -> Range:
    return Range(min(operand.low, 0.0), max(operand.high, 0.0), operand.has_sign)


def _total(node: Node, operand: Range) -> Range:
    if node.params.keys() - {"axis", "keepdims"}:
        return ANYTHING
    type, result = node.operands[0].type, node.results[0].type
    count = math.inf
    if type.sizes is None:
        count = type.size // max(result.size, 1)
    return Range(_times(operand.low, count), _times(operand.high, count), operand.has_sign)


RULES: dict[Op, Rule] = {
    absolute: _absolute,
    add: _sum,
    subtract: _difference,
    negative: _negative,
    multiply: _product,
    square: _square,
    divide: _quotient,
    exp: _exp,
    sqrt: _root,
    maximum: _maximum,
    minimum: _minimum,
    where: _choice,
    or_zero: _or_zero,
    reductions.sum: _total,
}
"""Bounds that follow from those of operands; the rest is what operations declare."""
