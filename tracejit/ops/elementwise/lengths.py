"""Lengths: the gradient of a function f of a length y of x, the root of a sum of squares.

It is f'(y) x / y. Where y is zero, x is the tip of a cone, and the gradient is zero by convention.
What is computed from the gradient is right there, or nan:

- where f'(y) is a product with the factor y, as of y ** 2, the gradient is written without y;
- else it is `radial`, whose derivative by x at the tip is the limit of f'(y) / y. If f'(0) is zero
  and the graph shows f'(y) as a function of y, this is f''(0), by l'Hospital's rule. Otherwise it
  is nan for every x that moves. So is the derivative of the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.graph import Constant, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.base.batching import in_front, size_of
from tracejit.ops.base.infer import ufunc_type
from tracejit.ops.base.op import Each, Op, defop

MOST_VALUES = 2000
"""So many values of a graph are looked at for the limit of one quotient."""


def length_to_divide_by(z: Any) -> Any:
    """A length to divide by: infinite in place of zero."""
    return np.where(z == 0, np.inf, z)


# The derivative of what is not known: nan for every direction but zero


unknown_slope = defop(
    name="unknown_slope",
    infer=lambda x: x,
    vjp=lambda g, y, x: np.where(g == 0, 0.0, np.nan),
    batch="elementwise",
    source="{0}",
    elements="same",
)


flat = defop(
    name="flat",
    infer=lambda x: x,
    vjp=lambda g, y, x: unknown_slope(x),
    batch="elementwise",
    source="0.0 * {0}",
)
"""Zeros of which it is only known that they have no slope."""


# Quotients that need no division


def _node_of(x: Any) -> Any:
    value = getattr(x, "_value", None)
    return None if value is None else value.node


def without_factor(g: Any, y: Any, depth: int = 0) -> Any:
    """g / y where g is a product with the factor y, or a sum of such products; else None."""
    node = _node_of(g)
    if node is None or node.op.name not in _OF_FACTORS or depth > DEEPEST:
        return None
    operands = [y._beside(operand) for operand in node.operands]
    if node.op.name in ("pow_to", "power_to"):
        exponent = node.params["exponent"]
        is_power = operands[0]._value is y._value and exponent in (2, 3, 4)
        return y ** (exponent - 1) if is_power else None
    for place in range(_OF_FACTORS[node.op.name]):
        if operands[place]._value is y._value and node.op.name == "multiply":
            return operands[1 - place]
        rest = without_factor(operands[place], y, depth + 1)
        if node.op.name in ("add", "subtract"):
            if rest is None:
                return None
            operands[place] = rest
        elif rest is not None:
            operands[place] = rest
            return node.op(*operands)
    return node.op(*operands) if node.op.name in ("add", "subtract") else None


_OF_FACTORS = {
    **{"multiply": 2, "add": 2, "subtract": 2, "divide": 1, "negative": 1},
    **{"pow_to": 1, "power_to": 1},
}
"""Ops that can have a factor, and how many of their operands may."""
DEEPEST = 10
"""So many operations are looked through for a factor."""


# The limit of a quotient at the tip


class _Unknown(Exception):
    """The graph does not show a number as a function of the length alone."""


class _Quotients:
    """Limits of quotients by `y`, a length of `x`, where it is zero."""

    def __init__(self, y: Any, x: Any) -> None:
        """`y` and `x` are Tensors of one recording."""
        self.tensor = y._beside
        self.inputs = set(y._recording.graph.inputs)
        self.left = MOST_VALUES
        self.slopes: dict[Value, Any] = {y._value: np.ones_like(y)}
        self.movers = self._sources(x._value)

    def limit(self, value: Value, depth: int = 0) -> Any:
        """The limit of `value` over the length, nan where the value is not zero there; None if
        it is not known."""
        try:
            slope = self._slope(value)
        except _Unknown:
            return self._of_parts(value, depth + 1)
        return None if slope is None else np.where(self.tensor(value) == 0, slope, np.nan)

    def _of_parts(self, value: Value, depth: int) -> Any:
        """The limit of a sum of what has one, or of a product of one such factor with others."""
        node = value.node
        if node is None or node.op.name not in _OF_FACTORS or node.params or depth > DEEPEST:
            return None
        if node.op.name in ("add", "subtract"):
            limits = [self.limit(one, depth) for one in node.operands]
            return None if any(one is None for one in limits) else node.op(*limits)
        for place in range(_OF_FACTORS[node.op.name]):
            if (limit := self.limit(node.operands[place], depth)) is not None:
                operands = [self.tensor(one) for one in node.operands]
                operands[place] = limit
                return node.op(*operands)
        return None

    def _slope(self, value: Value) -> Any:
        """The derivative of `value` by the length; None if it has none."""
        if value not in self.slopes:
            self.slopes[value] = None if self._is_fixed(value) else self._chained(value)
        return self.slopes[value]

    def _chained(self, value: Value) -> Any:
        """The derivative of what an elementwise operation makes."""
        node = value.node
        if node is None or not node.op.elementwise or isinstance(node.op.jvp, str):
            raise _Unknown
        self.left -= MOST_VALUES // 200
        operands = [self.tensor(one) for one in node.operands]
        total = None
        for number, operand in enumerate(node.operands):
            slope, rule = self._slope(operand), node.op.jvp_rule(number)
            if slope is not None and rule is not None:
                part = rule(slope, self.tensor(value), *operands, **node.params)
                total = part if total is None else total + part
        return total

    def _is_fixed(self, value: Value) -> bool:
        """Return whether nothing that moves the length moves `value`."""
        return self.movers.isdisjoint(self._sources(value))

    def _sources(self, value: Value) -> set[Value]:
        """The inputs that a value is computed from."""
        found: set[Value] = set()
        pending = [value]
        while pending:
            one = pending.pop()
            if one in found or isinstance(one, Constant):
                continue
            found.add(one)
            self.left -= 1
            if one.node is not None:
                pending += one.node.operands
            elif one not in self.inputs:
                raise _Unknown
            if self.left < 0:
                raise _Unknown
        return {one for one in found if one.node is None and one.type.is_inexact}


def limit_at_tip(g: Any, y: Any, x: Any) -> Any:
    """The limit of g / y where y, a length of x, is zero; None if it is not known."""
    nodes = _node_of(g), _node_of(y)
    if None in nodes:
        return None
    axes = [node.params["axis"] for node in nodes if node.op.name == "expand_dims"]
    if len(axes) == 2 and axes[0] == axes[1]:
        g, y = (y._beside(node.operands[0]) for node in nodes)
        limit = limit_at_tip(g, y, x)
        return None if limit is None else np.expand_dims(limit, axes[0])
    try:
        return _Quotients(y, x).limit(g._value)
    except _Unknown:
        return None


# The gradient of a function of a length


def _by_x(v: Any, z: Any, g: Any, y: Any, x: Any, axis: tuple[int, ...] = ()) -> Any:
    """v g / y: at the tip v times the limit of g / y, but zero for all x that do not move."""
    limit = limit_at_tip(g, y, x)
    at_tip = np.nan * y if limit is None else limit
    if axis:
        at_tip = np.where(np.any(v != 0, axis=axis, keepdims=True), at_tip, 0.0)
    return v * np.where(y == 0, unknown_slope(at_tip), g / length_to_divide_by(y))


def _radial_type(g: ArrayType, y: ArrayType, x: ArrayType, axis: Any = ()) -> ArrayType:
    return _product(_quotient(g, y), x)


_product: Callable[..., ArrayType] = ufunc_type(np.multiply)
_quotient: Callable[..., ArrayType] = ufunc_type(np.divide)

radial: Op = defop(
    name="radial",
    infer=_radial_type,
    vjp=(
        lambda v, z, g, y, x, axis=(): radial(np.ones_like(g), y, v * x, axis=axis),
        lambda v, z, g, y, x, axis=(): -v * z / length_to_divide_by(y),
        _by_x,
    ),
    batch="elementwise",
    source="{0} * ({2} / np.where({1} == 0, np.inf, {1}))",
    linear_in=(0, 2),
)
"""g x / y, where g is the cotangent of y, a length of x; zero where y is. `axis` are the axes of x,
counted from the last, that the length is taken over; without them it may be of other x, too."""


def along_length(g: Any, y: Any, x: Any, axis: tuple[int, ...] = ()) -> Any:
    """The cotangent of x, of the cotangent g of y, a length of x over these axes."""
    known = without_factor(g, y)
    return radial(g, y, x, axis=axis) if known is None else known * x


def _of_vector(k: int, g: Any, y: Any, root: Any, *vectors: Any) -> Any:
    """The cotangent of the vector k, of two the half of each."""
    g, y = np.expand_dims(g, -1), np.expand_dims(y, -1)
    return along_length(g, y, vectors[-k], axis=(-1,)) / len(vectors)


length: Op = defop(
    name="length",
    infer=lambda root, *vectors: root,
    vjp=Each(_of_vector, first=1),
    batch=lambda moved, root, *vectors: length(
        in_front(root, moved[0], size_of(moved, (root, *vectors))), *vectors
    ),
    source="{0}",
    cost=lambda *types: 0,
)
"""A root of the product of a vector with itself or another, along the last axis, with the
derivative of a length."""
