"""Conversions to Python numbers: `float(x)`, `int(x)`, `complex(x, y)`, `round(x, 2)`.

Each takes a number or an array without axes, and its result is a Python number (weak under NEP 50)
with the derivative that the conversion has. What `int` gives is piecewise constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.graph import Constant, Node
from tracejit.ir.types import WEAK_DTYPES, WEAK_TYPES, ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.op import Op, defop


def _conversion(kind: type, name: str) -> Op:
    dtype = WEAK_DTYPES[kind]

    def batch(moved: Moved, x: Any) -> Any:
        x = np.real(x) if dtype.kind == "f" and x.dtype.kind == "c" else x
        return x if x.dtype == dtype else x.astype(dtype)

    is_smooth = dtype.kind in "fc"
    return defop(
        name=name,
        infer=lambda x: WEAK_TYPES[kind],
        vjp=(lambda g, y, x: g,) if is_smooth else (),
        jvp=(lambda v, y, x: v,) if is_smooth else (),
        batch=batch,
        source=f"{kind.__name__}({{0}})",
        cost=lambda x: 1,
        axes=axes.broadcasting,
    )


CONVERSIONS: dict[type, Op] = {
    kind: _conversion(kind, f"python_{kind.__name__}") for kind in (bool, int, float, complex)
}
"""The conversions to each type of Python's."""

as_python_if = defop(
    name="as_python_if",
    infer=lambda x, is_python, kind: x,
    vjp=(lambda g, y, x, is_python, kind: g, None),
    jvp=(lambda v, y, x, is_python, kind: v, None),
    batch=lambda moved, x, is_python, kind: x,
    source=lambda types, kind: f"({kind}({{0}}) if {{1}} else ({{0}}))",
    axes=axes.broadcasting,
)
"""A number of NumPy's, which is one of Python's where a truth value says so."""

python_complex_of_parts = defop(
    name="python_complex_of_parts",
    infer=lambda x, y: WEAK_TYPES[complex],
    vjp=(lambda g, z, x, y: np.real(g), lambda g, z, x, y: -np.imag(g)),
    jvp=(lambda v, z, x, y: v + 0j, lambda v, z, x, y: v * 1j),
    batch=lambda moved, x, y: x + 1j * y,
    source="complex({0}, {1})",
    axes=axes.broadcasting,
)


def _rounded_type(x: ArrayType, digits: int | None) -> ArrayType:
    return WEAK_TYPES[int] if digits is None or x.dtype.kind in "bi" else WEAK_TYPES[float]


def _rounded_batch(moved: Moved, x: Any, digits: int | None) -> Any:
    return np.rint(x).astype(np.intp) if digits is None else np.round(x, digits)


python_round = defop(
    name="python_round",
    infer=_rounded_type,
    vjp=(),
    batch=_rounded_batch,
    source=lambda types, digits: "round({0})" if digits is None else "round({0}, {digits})",
    axes=axes.broadcasting,
)

_DIVISIONS = frozenset(("divide", "floor_divide", "remainder"))
_POWERS = frozenset(("power", "pow"))

OPERATORS = frozenset(
    "add subtract multiply divide floor_divide remainder power pow negative positive absolute "
    "scalar_absolute invert left_shift right_shift equal not_equal less less_equal greater "
    "greater_equal bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor".split()
)
"""Operations that Python's operators are recorded as; NumPy's functions may be, too."""

_OF_TRUTHS = frozenset(
    "equal not_equal less less_equal greater greater_equal bitwise_and bitwise_or bitwise_xor "
    "logical_and logical_or logical_xor".split()
)
"""Operations that answer a truth value of two, in Python as in NumPy."""


def divides(node: Node) -> bool:
    """Return whether an operation raises ZeroDivisionError for numbers of Python's, if its last
    operand is zero."""
    return node.op.name in _DIVISIONS or node.op.raises == "by divisor"


def differs_in_python(node: Node, types: Sequence[ArrayType]) -> bool:
    """Return whether an operator on Python's numbers may raise, other than by a zero, or answers
    another type."""
    kinds = {type.dtype.kind for type in types}
    if kinds == {"b"} and node.op.name not in _OF_TRUTHS:
        return True
    last = node.operands[-1]
    is_power = node.op.name in _POWERS and "f" not in kinds  # of integers: 2 ** -1 is a float
    return is_power and not (isinstance(last, Constant) and last.data >= 0)
