"""Python arithmetic between dynamic Python numbers, such as `lr * 0.5 ** step`.

Results are Python numbers again (weak under NEP 50). They have derivatives: a Python float may be
differentiated by, and `float(x)` is one that depends on an array. Those of powers are computed as
NumPy does, which raises no error at 0.

Python's power of a negative float is complex where the exponent is no integer. Such a power is that
of `math`, which is real or raises ValueError.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tracejit.ir.types import PYTHON_TYPES, WEAK_DTYPES, WEAK_TYPES, ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.forms import as_scalar
from tracejit.ops.base.op import Op, Rules, defop
from tracejit.ops.elementwise.arithmetic import pow, slope_of_power
from tracejit.ops.elementwise.complex import absolute
from tracejit.ops.elementwise.python_math import MATH_OPS


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
    "**": (
        lambda g, z, x, y: pow.vjp[0](g, z, _strong(x), _strong(y)),
        lambda g, z, x, y: pow.vjp[1](g, z, _strong(x), _strong(y)),
    ),
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


def _strong(x: Any) -> Any:
    return as_scalar(x, dtype=x.dtype)


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
power_of_number = defop(
    name="python_pow_to",
    infer=lambda x, exponent: _python_type(operator.pow)(x, WEAK_TYPES[type(exponent)]),
    vjp=lambda g, z, x, exponent: (
        2.0 * g * x if exponent == 2 else slope_of_power(g, z, _strong(x), exponent)
    ),
    batch=lambda moved, x, exponent: x**exponent,
    source="{0} ** {exponent}",
    axes=axes.broadcasting,
)


def arithmetic(symbol: str, x: Any, y: Any) -> Any:
    """What Python's operator of this symbol answers for two numbers, some of which are recorded."""
    kinds = [getattr(number, "dtype", None) or WEAK_DTYPES[type(number)] for number in (x, y)]
    if symbol != "**" or kinds[0].kind not in "fi" or kinds[1].kind not in "fi":
        return BINARY_OPS[symbol](x, y)
    if kinds[0].kind == "f" and type(y) in (int, float) and float(y).is_integer():
        return power_of_number(x, exponent=y)
    return (BINARY_OPS[symbol] if kinds[1].kind == "i" else MATH_OPS["pow"])(x, y)
