"""Choices: `where` between an array and zero without a branch for each element.

What a program chooses is hard to foresee: for `where` the processor guesses each element, and a
wrong guess costs ten times what the element does. An array and the bits of a condition, all ones
or all zeros, give the same bits in a tenth of the time. So the adjoints of `where`, of maximum and
minimum and of clip are computed. An infinite or undefined cotangent stays where it belongs.

A number where x is above zero, half of it where x is zero, and zero elsewhere, as the derivative of
the maximum of x and zero, is half the number times `fmax(sign(x), -1) + 1`, to the bit: `fmax`
takes -1 for nan. That is half of the time of two choices, and no array besides; the sign is often
there.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> graph = parse_graph('''graph f(g: f4[64,64], x: f4[64,64]) -> z: f4[64,64]
...   y  b1[64,64] = greater x 0.0
...   z  f4[64,64] = where y g 0.0
... ''', OPS)
>>> print(print_graph(choose_by_bits(graph)), end="")
graph f(g: f4[64,64], x: f4[64,64]) -> z: f4[64,64]
  y  b1[64,64] = greater x 0.0
  z  f4[64,64] = or_zero y g  chosen=True
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.emission import emit, for_decisions, made_by, number_of
from tracejit.passes.lower import FLOATING
from tracejit.passes.rebuild import rebuild

LEAST_ELEMENTS = 2000
"""From as many on a choice takes longer than the calls of two views."""
TRUTHS = frozenset(
    "equal not_equal less less_equal greater greater_equal isnan isinf isfinite signbit"
    " logical_and logical_or logical_not logical_xor".split()
)
"""The ops whose results have no bits but 0 and 1. An array of the user's may have others."""
CHOICES = ("where", "or_zero")
TURNED = {"equal": "equal", "greater_equal": "less_equal", "less_equal": "greater_equal"}
DEEPEST = 6
"""So many operations on conditions are followed."""


def step_by_sign(graph: Graph) -> Graph:
    """`graph` with steps of constant height by signs."""
    kept = for_decisions(graph)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        step = None if node in kept else _step(new, node, operands)
        return None if step is None else (step,)

    return rebuild(graph, rewrite, ops=CHOICES)


def choose_by_bits(graph: Graph) -> Graph:
    """`graph` with choices between large arrays and zero by their bits."""
    kept = for_decisions(graph)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node in kept:
            return None
        condition, first, second = operands
        for chosen, x, other in ((True, first, second), (False, second, first)):
            if _is_zero(other) and _has_bits(condition, x, node.results[0]):
                return (emit(new, node, "or_zero", (condition, x), chosen=chosen),)
        return None

    return rebuild(graph, rewrite, ops=("where",))


def _step(graph: Graph, node: Node, operands: tuple[Value, ...]) -> Value | None:
    """`where(x >= 0, where(x == 0, c / 2, c), 0)` for an array x and a number c above zero, and so
    with `x <= 0`, by the sign of x."""
    side, among = _compared(operands[0]), made_by(operands[1], "where")
    if side is None or among is None:
        return None
    if not (node.params["chosen"] if node.op.name == "or_zero" else _is_zero(operands[2])):
        return None
    (x, sense), tie = side, _compared(among.operands[0])
    half, whole = (number_of(operand) for operand in among.operands[1:])
    if tie != (x, "equal") or x.type is not node.results[0].type or half is None or whole is None:
        return None
    if x.type.dtype not in FLOATING or not 0.0 < half * 2.0 == whole < math.inf:
        return None
    number = graph.constant(x.type.dtype.type(half))
    if float(number.data) != half:
        return None
    sign, one = emit(graph, node, "sign", (x,)), graph.constant(1.0)
    if sense == "greater_equal":
        least = emit(graph, node, "fmax", (sign, graph.constant(-1.0)))
        step = emit(graph, node, "add", (least, one))
    else:
        most = emit(graph, node, "fmin", (sign, one))
        step = emit(graph, node, "subtract", (one, most))
    return step if half == 1.0 else emit(graph, node, "multiply", (number, step))


def _compared(condition: Value) -> tuple[Value, str] | None:
    """The array that is compared with zero, and how: equal, greater_equal, less_equal."""
    made = made_by(condition, *TURNED)
    if made is None:
        return None
    first, second = made.operands
    if number_of(second) == 0.0:
        return first, made.op.name
    return (second, TURNED[made.op.name]) if number_of(first) == 0.0 else None


def _is_zero(value: Value) -> bool:
    number = number_of(value)
    return number == 0.0 and math.copysign(1.0, number) > 0.0


def _is_truth(value: Value, depth: int = 0) -> bool:
    """Tell if all of an array is known to have the bits of 0 or 1."""
    node = value.node
    if node is None or node.op.name in TRUTHS:
        return node is not None
    if depth == DEEPEST or value.type.dtype.kind != "b":
        return False
    if node.op.alias is not None:
        return _is_truth(node.operands[node.op.alias], depth + 1)
    operands = node.operands if node.op.name in ("bitwise_and", "bitwise_or", "bitwise_xor") else ()
    return bool(operands) and all(_is_truth(operand, depth + 1) for operand in operands)


def _has_bits(condition: Value, x: Value, result: Value) -> bool:
    """Tell if a condition consists of ones and zeros, and `x` of numbers as the result does."""
    if not _is_truth(condition):
        return False
    if result.type.estimated_size < LEAST_ELEMENTS or x.type.dtype != result.type.dtype:
        return False
    return x.type.dtype in FLOATING and bool(x.type.shape and condition.type.shape)
