"""Emission: what the rules of every pass are made with.

A rule is called as rule(graph, node, operands), the operands being values of the graph that is
built, and returns the value that stands for the node's result, or None if it does not apply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base.op import OPS, Op
from tracejit.ops.control.control_flow import ControlFlow
from tracejit.support.cost_model import costs


class OutOfRange(Exception):
    """Constants that a rewrite would merge are not constant: it must leave them as they are."""


Rule = Callable[[Graph, Node, tuple[Value, ...]], Value | None]


class Places:
    """The places of nodes that a pass has made: each in the line of the node that it was made for,
    whenever the pass came to make it."""

    def __init__(self, graph: Graph) -> None:
        """The nodes of `graph` stand as they do."""
        self._places = {node: place for place, node in enumerate(graph.nodes)}

    def put(self, node: Node, like: Node) -> None:
        """Let `node` stand where `like` does, or before it. What it reads stands there, too."""
        place = self._places[like]
        self._places[node] = min(self._places.get(node, place), place)

    def sort(self, nodes: list[Node], origin: dict[Value, Value]) -> None:
        """Bring `nodes`, in an order in which they can be computed, into that of their places. One
        that a pass may not touch stands where that of its `origin` did."""
        for node in nodes:
            if node not in self._places:
                like = origin[node.results[0]].node
                assert like is not None
                self.put(node, like)
        nodes.sort(key=self._places.__getitem__)


def emit(
    graph: Graph, like: Node, op: str | Op, operands: tuple[Value, ...], **params: Any
) -> Value:
    """The value of a new single-result node at the place of `like`, folded where it is constant."""
    record = OPS[op] if isinstance(op, str) else op
    types = record.result_types([value.type for value in operands], params)
    folded = fold(graph, record, operands, params, types[0])
    if folded is not None:
        return folded
    place = like.where, like.region, like.tapes, like.segment
    node = graph.emit(record, operands, params, types, *place)
    value = node.results[0]
    value.base = value.base or like.results[0].base
    return value


def fold(
    graph: Graph, op: Op, operands: tuple[Value, ...], params: dict[str, Any], type: ArrayType
) -> Value | None:
    """A small result of constants alone is a constant; loops and conditions run at each call, and
    a view of an array that the user named stays one."""
    for value in operands:
        if not isinstance(value, Constant):
            return None
    if not operands or type.sizes is not None or type.size > costs().folded_elements:
        return None
    if op.effect or isinstance(op, ControlFlow):
        return None
    if op.view_of is not None and operands[op.view_of].label:
        return None
    numbers = [value.data for value in operands]
    try:
        with np.errstate(all="ignore"):
            constant = graph.constant(op.evaluate(*numbers, **params))
    except (ArithmeticError, ValueError, IndexError):
        return None  # every call is to raise, not the compiler
    return constant if constant.type is type else None


def check_merged(parts: Iterable[Any], merged: Any, dtype: np.dtype[Any]) -> None:
    """Raise OutOfRange if finite `parts`, of which none is zero, make a constant that is no
    normal number of `dtype`: it overflows, or loses digits.

    Where a part is infinite, nan or zero, so may be what is merged.

    >>> check_merged([2.0, np.array([1e300, np.inf])], np.array([2e300, np.inf]), np.dtype("f8"))
    >>> check_merged([2.0, 1e308], np.inf, np.dtype("f8"))
    Traceback (most recent call last):
    tracejit.passes.framework.emission.OutOfRange
    """
    limits = np.finfo(dtype)
    are_plain: Any = True
    for part in parts:
        are_plain &= np.isfinite(part) & (np.asarray(part) != 0)
    size = np.abs(merged)
    if np.any(are_plain & ~((size >= limits.smallest_normal) & (size <= limits.max))):
        raise OutOfRange


def check_scaled(number: float, constant: Constant, dtype: np.dtype[Any]) -> None:
    """Raise OutOfRange if `number` times `constant` is to be no constant of `dtype`."""
    with np.errstate(all="ignore"):
        merged = number * np.asarray(constant.data, dtype="f8")
    check_merged((number, constant.data), merged, dtype)


def note_of(node: Node) -> str:
    """The note of the marker that a node passed, which its line shows."""
    return node.where.note if node.where else ""


def has_constant(values: Iterable[Value]) -> bool:
    """Return whether one of `values` is a constant."""
    for value in values:
        if isinstance(value, Constant):
            return True
    return False


def made_by(value: Value, *ops: str) -> Node | None:
    """The node that makes `value`, if it is one of `ops`."""
    return value.node if value.node is not None and value.node.op.name in ops else None


def number_of(value: Value) -> float | None:
    """The real number that a constant without axes is."""
    if not isinstance(value, Constant) or value.type.shape or value.type.dtype.kind not in "fi":
        return None
    return float(value.data)


def is_real(value: Value) -> bool:
    """Return whether a value is a float32 or float64 scalar or an array with axes of such:
    arithmetic on them gives the same type again."""
    return value.type.is_real


def is_spread(value: Value, shape: Shape) -> bool:
    """Return whether an array of several elements is broadcast to `shape`."""
    return value.type.size > 1 and value.type.shape != shape


def readers_of(graph: Graph) -> Counter[Value]:
    """The number of readers of each value; an output counts once more."""
    read = chain.from_iterable([node.operands for node in graph.nodes])
    return Counter(chain(read, graph.outputs))
