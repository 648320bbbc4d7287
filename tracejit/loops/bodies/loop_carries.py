"""Carried values that are known before a loop, at each step.

What a step hands on may depend on no other step: it is what the next step begins with, so that the
values of all steps are those shifted by a step. Or it is the value that the step began with and
terms that are known: the values of all steps are cumulative sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tracejit.ir.graph import Constant, Value
from tracejit.ops.elementwise.arithmetic import add, subtract


class KnownCarry(NamedTuple):
    """The carried value number `number`: what steps add to it, or subtract from it; where there
    are no `terms`, it is what the step before returns as `out`."""

    number: int
    out: Value
    terms: tuple[tuple[Value, bool], ...]

    @property
    def sources(self) -> list[Value]:
        """The values that are needed for all steps."""
        return [value for value, _ in self.terms] or [self.out]


def known_carry(
    number: int, value: Value, out: Value, is_there: Callable[[Value], bool]
) -> KnownCarry | None:
    """A carried value of which `out` is the next, if it follows from what is there before the
    loop; None where it does not."""
    kind = out.type
    if kind.dtype.kind not in "fc" and kind.dtype.name != "int64":
        return None
    if is_there(out):
        return KnownCarry(number, out, ())
    terms: list[tuple[Value, bool]] = []
    total = out
    while total is not value:
        node = total.node
        if node is None or node.op not in (add, subtract) or node.results[0].type is not kind:
            return None
        first, second = node.operands
        if node.op is add and is_there(first):
            first, second = second, first
        is_number = isinstance(second, Constant) and second.type.form == "weak"
        if not is_there(second) or not (is_number or second.type.shape == kind.shape):
            return None
        if second.type.form != "weak" and second.type.dtype != kind.dtype:
            return None
        terms.append((second, node.op is subtract))
        total = first
    return KnownCarry(number, out, tuple(terms[::-1])) if terms else None
