"""Operations with effects: draws from a random generator, and calls of the user's functions.

Their first operand is a handle, an argument of the kernel that is no array but an object: it is
called where the node stands, once, in program order, also when nothing reads the result.

draw(generator, *operands, call="normal(size=(3,))") is a method of the generator; {1}, {2}, ... in
`call` are the operands. callback(function, *operands, results=("f8[3]",)) is what the function
answers. Neither has a gradient; `normal` and `uniform` with recorded bounds are arithmetic on
draws, see `trace/generators.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.ir.types import PYTHON_TYPES, ArrayType, parse_type, type_of
from tracejit.ops.op import defop


@lru_cache(1024)
def _draw_type(*types: ArrayType, call: str) -> ArrayType:
    """The type of a draw: that of one from another generator, on ones."""
    operands = [_ones(type) for type in types[1:]]
    names = {f"_{number}": operand for number, operand in enumerate(operands, start=1)}
    text = call.format("", *names)
    generator = np.random.default_rng(0)
    found = type_of(eval(f"_0.{text}", {"np": np, "_0": generator, **names}))
    if found is None:
        raise TypeError(f"the draw {text} is neither an array nor a number")
    return found


def _ones(type: ArrayType) -> Any:
    if type.form == "weak":
        return PYTHON_TYPES[type.dtype.kind](1)
    ones = np.ones(type.shape, type.dtype)
    return ones if type.form == "array" else ones[()]


def answers(*types: ArrayType, results: tuple[str, ...], call: Any = None) -> tuple[ArrayType, ...]:
    """The infer of a call whose results have these types, as printed."""
    return tuple(parse_type(text) for text in results)


def call_source(types: Sequence[ArrayType], **params: Any) -> str:
    """The spelling of a call of operand 0 with the others."""
    places = ", ".join(f"{{{number}}}" for number in range(1, len(types)))
    return f"{{0}}({places})"


DRAW = defop(
    name="draw",
    infer=_draw_type,
    source=lambda types, call: "{0}." + call,
    effect=True,
)
CALLBACK = defop(name="callback", infer=answers, source=call_source, effect=True)
