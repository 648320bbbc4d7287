"""The functions of `math` that return floats, and `sum`, spelled as the user wrote them.

Python computes them to other last bits than NumPy, and raises errors where NumPy has nan and inf.
Their derivatives, and what is computed of a batch, are those of a ufunc of the same meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.types import WEAK_TYPES, ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.op import OPS, Each, Op, Rules, defop
from tracejit.ops.elementwise import arithmetic as arithmetic  # whose records are read
from tracejit.ops.elementwise import exponential as exponential
from tracejit.ops.elementwise import trigonometric as trigonometric
from tracejit.ops.elementwise.lengths import along_length

UFUNCS: dict[str, np.ufunc] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt,
    "copysign": np.copysign, "cos": np.cos, "cosh": np.cosh, "degrees": np.degrees, "exp": np.exp,
    "exp2": np.exp2, "expm1": np.expm1, "fabs": np.fabs, "fmod": np.fmod, "ldexp": np.ldexp,
    "log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "nextafter": np.nextafter,
    "pow": np.power, "radians": np.radians, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt,
    "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip


def _places(first: int, end: int) -> str:
    """The places of some operands in a template."""
    return ", ".join(f"{{{number}}}" for number in range(first, end))


def of_math(name: str, count: int, rules: Rules, batch: Callable[..., Any]) -> Op:
    """The op of a function of `math` that takes `count` numbers, or any number of them if 0, and of
    a batch is computed by `batch`."""
    places = _places(0, count) if count else "{operands}"
    return defop(
        name=f"math_{name}",
        infer=lambda *types: WEAK_TYPES[float],
        vjp=rules,
        jvp=None if isinstance(rules, Each) else rules,
        batch=lambda moved, *operands: batch(*operands),
        source=f"math.{name}({places})",
        cost=lambda *types: 20,
        raises="always",
        axes=axes.broadcasting,
    )


def _remainder(x: Any, y: Any) -> Any:
    return x - y * np.rint(x / y)


def _length(*operands: Any) -> Any:
    return np.sqrt(sum(x * x for x in operands))


def _of_length(k: int, g: Any, z: Any, *operands: Any) -> Any:
    return along_length(g, z, operands[k])


MATH_OPS: dict[str, Op] = {
    **{
        name: of_math(name, ufunc.nin, OPS[ufunc.__name__].vjp, ufunc)
        for name, ufunc in UFUNCS.items()
        if hasattr(math, name)
    },
    "remainder": of_math(
        "remainder", 2, (lambda g, z, x, y: g, lambda g, z, x, y: -g * np.rint((x - z) / y)),
        _remainder,
    ),
    "hypot": of_math("hypot", 0, Each(_of_length), _length),
}  # fmt: skip
"""The ops by the names of their functions."""

math_fsum = defop(
    name="math_fsum",
    infer=lambda *types: WEAK_TYPES[float],
    vjp=Each(lambda k, g, y, *operands: g),
    batch=lambda moved, *operands: sum(operands),
    source="math.fsum(({operands},))",
    axes=axes.broadcasting,
)


def _number_type(*types: ArrayType, **params: Any) -> ArrayType:
    return WEAK_TYPES[complex if any(type.dtype.kind == "c" for type in types) else float]


python_sum = defop(
    name="python_sum",
    infer=_number_type,
    vjp=Each(lambda k, g, y, *operands: g),
    batch=lambda moved, *operands: sum(operands),
    source=lambda types: f"sum(({_places(1, len(types))},), {{0}})",
    axes=axes.broadcasting,
)
"""A start and numbers added to it by `sum`, which keeps what rounding loses from Python 3.12 on."""


def _of_product(k: int, g: Any, y: Any, *operands: Any) -> Any:
    half = len(operands) // 2
    return g * operands[k + half if k < half else k - half]


def _products(moved: Any, *operands: Any) -> Any:
    half = len(operands) // 2
    return sum(x * y for x, y in zip(operands[:half], operands[half:], strict=True))


python_sumprod = defop(
    name="python_sumprod",
    infer=_number_type,
    vjp=Each(_of_product),
    batch=_products,
    source=lambda types: (
        f"math.sumprod(({_places(0, len(types) // 2)},), ({_places(len(types) // 2, len(types))},))"
    ),
    axes=axes.broadcasting,
)
"""The sum of products of the first half of the operands with the second, rounded once."""
