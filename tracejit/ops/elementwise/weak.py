"""Python arithmetic between dynamic Python numbers, such as `lr * 0.5 ** step`.

Results are Python numbers again (weak under NEP 50). An argument that is differentiated is recorded
as a float64 scalar, never as a weak one; but `float(x)` of what depends on it is weak, and so is
what is computed from that, so these operations have derivatives.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tracejit.ir.types import PYTHON_TYPES, WEAK_DTYPES, WEAK_TYPES, ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.op import Op, Rules, defop
from tracejit.ops.elementwise.arithmetic import pow
from tracejit.ops.elementwise.complex import absolute


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
_SLOPES: dict[str, Rules] = {
    "+": (lambda g, z, x, y: g, lambda g, z, x, y: g),
    "-": (lambda g, z, x, y: g, lambda g, z, x, y: -g),
    "*": (lambda g, z, x, y: g * y, lambda g, z, x, y: g * x),
    "/": (lambda g, z, x, y: g / y, lambda g, z, x, y: -g * z / y),
    "%": (lambda g, z, x, y: g, lambda g, z, x, y: -g * (x // y)),
    "**": pow.vjp,
}
_SLOPES_OF_ONE: dict[str, Rules] = {
    "-": (lambda g, y, x: -g,),
    "+": (lambda g, y, x: g,),
    "abs": absolute.vjp,
}
"""The rules of those that are not piecewise constant."""


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


def _declare(function: Callable[..., Any], source: str, slopes: Rules) -> Op:
    name = "python_" + function.__name__.strip("_")
    return defop(
        name=name,
        infer=_python_type(function),
        vjp=slopes,
        jvp=slopes,
        batch=lambda moved, *operands: function(*operands),
        source=source,
        axes=axes.broadcasting,
    )


BINARY_OPS = {
    symbol: _declare(function, f"{{0}} {symbol} {{1}}", _SLOPES.get(symbol, ()))
    for symbol, function in BINARY.items()
}
UNARY_OPS = {
    symbol: _declare(
        function,
        "abs({0})" if symbol == "abs" else symbol + "{0}",
        _SLOPES_OF_ONE.get(symbol, ()),
    )
    for symbol, function in UNARY.items()
}
