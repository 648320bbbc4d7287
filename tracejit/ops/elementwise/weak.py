"""Python arithmetic between dynamic Python numbers, such as `lr * 0.5 ** step`.

Results are Python numbers again (weak under NEP 50). They have derivatives: a Python float may be
differentiated by, and `float(x)` is one that depends on an array. Those of powers are computed as
NumPy does, which raises no error at 0.

Python's power of a negative float is complex where the exponent is not an integer. What may have a
derivative is real: there such a power is NumPy's, which is nan.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.ir.types import PYTHON_TYPES, WEAK_DTYPES, WEAK_TYPES, ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.creation import is_recorded
from tracejit.ops.base.forms import as_scalar
from tracejit.ops.base.op import Op, Rules, defop
from tracejit.ops.elementwise.arithmetic import slope_in_base, slope_in_exponent, slope_of_power
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
    "**": (
        lambda g, z, x, y: slope_in_base(g, z, _strong(x), _strong(y)),
        lambda g, z, x, y: slope_in_exponent(g, z, _strong(x), _strong(y)),
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


_BY_DIVISOR = frozenset(("/", "//", "%", "<<", ">>"))


def _declare(function: Callable[..., Any], source: str, slopes: Rules, symbol: str = "") -> Op:
    name = "python_" + function.__name__.strip("_")
    return defop(
        name=name,
        infer=_python_type(function),
        vjp=slopes,
        jvp=slopes,
        batch=lambda moved, *operands: function(*operands),
        source=source,
        raises="by divisor" if symbol in _BY_DIVISOR else "always" if symbol == "**" else None,
        axes=axes.broadcasting,
    )


BINARY_OPS = {
    symbol: _declare(function, f"{{0}} {symbol} {{1}}", _SLOPES.get(symbol, ()), symbol)
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


def _power_of_source(types: Sequence[ArrayType], exponent: Any = 0.5) -> str:
    """x ** y; of floats as NumPy has it unless the exponent is an integer."""
    if float(exponent).is_integer():
        return "{0} ** {exponent}"
    return f"float(np.float64({{0}}) ** {'{1}' if len(types) == 2 else '{exponent}'})"


power_of_number = defop(
    name="python_pow_to",
    infer=lambda x, exponent: WEAK_TYPES[float],
    vjp=lambda g, z, x, exponent: (
        2.0 * g * x if exponent == 2 else slope_of_power(g, _strong(z), _strong(x), exponent)
    ),
    batch=lambda moved, x, exponent: x**exponent,
    source=_power_of_source,
    raises="always",
    axes=axes.broadcasting,
)
power_of_numbers = defop(
    name="python_power",
    infer=lambda x, y: WEAK_TYPES[float],
    vjp=_SLOPES["**"],
    jvp=_SLOPES["**"],
    batch=lambda moved, x, y: x**y,
    source=_power_of_source,
    axes=axes.broadcasting,
)


def arithmetic(symbol: str, x: Any, y: Any) -> Any:
    """The answer of Python's operator to two numbers, some of which are recorded."""
    if symbol == "**" and not _is_known(x, y):
        kinds = [getattr(one, "dtype", None) or WEAK_DTYPES[type(one)] for one in (x, y)]
        if kinds[0].kind == "f" and type(y) in (int, float) and math.isfinite(y):
            return power_of_number(x, exponent=y)
        if kinds[0].kind in "fi" and kinds[1].kind == "f":
            return power_of_numbers(x, y)
    return BINARY_OPS[symbol](x, y)


def _is_known(*numbers: Any) -> bool:
    """Return whether the recording knows what it is computing with, and that it has no slope."""
    return all(not is_recorded(one) or one._value in one._recording.known for one in numbers)
