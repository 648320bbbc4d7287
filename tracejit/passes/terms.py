"""Terms: values as a factor times the rest, and what it costs to apply a factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.passes.emission import check_merged

CALL = 256
"""What a call costs, in elements."""
NUMBER = CALL + 1
"""What it costs to multiply a number."""


class Term(NamedTuple):
    """A value as a factor times the rest: how much is saved where the factor is left out, how much
    it costs to apply another in its place, and `times(number)`, which makes the rest times a
    number."""

    factor: float
    saved: int
    place: int
    depth: int
    times: Callable[[float], Value]

    @property
    def gain(self) -> int:
        """What is saved where the factor is applied in the cheapest place."""
        return self.saved - (0 if self.factor == 1.0 else self.place)

    def whole(self) -> Value:
        """The value, the factor in the cheapest place."""
        return self.times(self.factor)

    def scaled(self, factor: float, saved: int) -> Term:
        """The term with another factor, where that saves so much more."""
        return Term(factor, self.saved + saved, self.place, self.depth, self.times)

    def placed(self) -> Term:
        """The term again, of the value that it has become: left out, its factor saves its place."""
        saved = 0 if self.factor == 1.0 else self.place
        return Term(self.factor, saved, self.place, self.depth, self.times)


def cost(type: ArrayType) -> int:
    """What an elementwise operation costs that makes this type."""
    return CALL + type.estimated_size


def fits(value: Value, node: Node) -> bool:
    """Tell if a value has the dtype of the result of `node`, so that a factor of either is one of
    the other."""
    type, result = value.type, node.results[0].type
    return type.is_real and (type is result or type.dtype == result.dtype)


def number_term(graph: Graph, constant: Value, like: Node) -> Term:
    """A constant of `graph`, which is multiplied by a number at no cost, of the dtype of `like`.
    Where there is no such number, `times` raises OutOfRange."""
    assert isinstance(constant, Constant)
    weak, dtype = constant.type.form == "weak", like.results[0].type.dtype

    def times(number: float) -> Value:
        check_merged((constant.data,), number, dtype)
        return graph.constant(number if weak else dtype.type(number))

    return Term(float(constant.data), 0, 0, 0, times)
