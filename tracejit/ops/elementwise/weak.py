"""Python arithmetic between dynamic Python numbers, such as `lr * 0.5 ** step`.

Results are Python numbers again (weak under NEP 50). They carry no derivative: a number that is
differentiated is recorded as a float64 scalar, never as a weak one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tracejit.ir.types import PYTHON_TYPES, WEAK_DTYPES, WEAK_TYPES, ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.op import Op, defop


def _python_type(function: Callable[..., Any]) -> Callable[..., ArrayType]:
    """The infer of a Python operator: the type it gives for ones of the operand types."""

    def infer(*types: ArrayType) -> ArrayType:
        result = function(*[PYTHON_TYPES[type.dtype.kind](1) for type in types])
        return ArrayType((), WEAK_DTYPES[type(result)], "weak")

    return infer


BINARY: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
UNARY: dict[str, Callable[..., Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "abs": operator.abs,
}


SIZE: Op = defop(
    name="size",
    infer=lambda value: WEAK_TYPES[int],
    vjp=(),
    batch=lambda moved, value: SIZE(value=value),
    source="{value}",
    cost=lambda value: 0,
    axes="->",
)
"""A free dimension, or what is computed from such, as a Python int."""


def _declare(function: Callable[..., Any], source: str) -> Op:
    name = "python_" + function.__name__.strip("_")
    return defop(
        name=name,
        infer=_python_type(function),
        vjp=(),
        batch=lambda moved, *operands: function(*operands),
        source=source,
        axes=axes.broadcasting,
    )


BINARY_OPS = {
    symbol: _declare(function, f"{{0}} {symbol} {{1}}") for symbol, function in BINARY.items()
}
UNARY_OPS = {
    symbol: _declare(function, "abs({0})" if symbol == "abs" else symbol + "{0}")
    for symbol, function in UNARY.items()
}
