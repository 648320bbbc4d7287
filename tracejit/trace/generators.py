"""Random generators in a recorded function: every draw is an operation with an effect.

A RecordedGenerator stands for a NumPy Generator that is an argument of the kernel. Its methods are
those of the Generator; what they draw is drawn anew at each call, in program order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import fail
from tracejit.ir.types import type_of
from tracejit.ops.creation import as_array, is_recorded
from tracejit.ops.effects import DRAW
from tracejit.ops.op import literal
from tracejit.trace import places

# Not `shuffle`, which writes in place, nor what is no draw.
DRAWS = frozenset(
    name
    for name in dir(np.random.Generator)
    if not name.startswith("_") and name not in ("bit_generator", "shuffle", "spawn")
)


class RecordedGenerator:
    """A NumPy Generator whose draws are recorded."""

    __slots__ = ("_handle",)

    def __init__(self, handle: Any) -> None:
        """The generator that the Tensor `handle` stands for."""
        self._handle = handle

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What it stands for, for the user's isinstance."""
        return np.random.Generator

    def normal(self, *args: Any, **kwargs: Any) -> Any:
        """As Generator.normal; with recorded `loc` or `scale`, which are then differentiable,
        loc + scale * standard_normal."""
        loc, scale, size = _bounds(args, kwargs, ("loc", "scale"), (0.0, 1.0))
        if is_recorded(loc) or is_recorded(scale):
            return loc + scale * self._draw("standard_normal", (), {"size": size})
        return self._draw("normal", args, kwargs)

    def uniform(self, *args: Any, **kwargs: Any) -> Any:
        """As Generator.uniform; with recorded `low` or `high`, which are then differentiable,
        low + (high - low) * random."""
        low, high, size = _bounds(args, kwargs, ("low", "high"), (0.0, 1.0))
        if is_recorded(low) or is_recorded(high):
            return low + (high - low) * self._draw("random", (), {"size": size})
        return self._draw("uniform", args, kwargs)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Refused: it writes in place."""
        fix = "x = rng.permutation(x), which answers a new array."
        raise fail("write", _here(), call="rng.shuffle(x)", target="its argument", fix=fix)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in DRAWS:
            raise fail("unsupported-function", _here(), function=f"Generator.{name}")

        def method(*args: Any, **kwargs: Any) -> Any:
            return self._draw(name, args, kwargs)

        return method

    def _draw(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call of the method `name`."""
        operands = [self._handle]
        words = [_word(value, operands) for value in args]
        words += [f"{key}={_word(value, operands)}" for key, value in kwargs.items()]
        try:
            return DRAW(*operands, call=f"{name}({', '.join(words)})")
        except (TypeError, ValueError) as error:
            if type(error) not in (TypeError, ValueError):
                raise
            problem = str(error)
            fix = "call it as NumPy's Generator is called."
            words_ = {"function": f"Generator.{name}", "problem": problem, "fix": fix}
            raise fail("unsupported-call", _here(), **words_) from None


def _word(value: Any, operands: list[Any]) -> str:
    """An argument as it stands in the call: a literal, or the place of an operand."""
    if isinstance(value, type) or type(value) is np.dtype:
        return literal(np.dtype(value))
    if type(value) in (list, tuple) and any(map(is_recorded, value)):
        value = as_array(value)
    if type(value) is list:
        value = np.asarray(value)
    known = type_of(value)
    if is_recorded(value) or (known is not None and known.form != "weak"):
        operands.append(value)
        return f"{{{len(operands) - 1}}}"
    return repr(value)


def _bounds(
    args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, str], defaults: Any
) -> tuple[Any, Any, Any]:
    """The two bounds of a draw and its size, where that is None the shape they broadcast to."""
    given = {**dict(zip((*names, "size"), (*defaults, None), strict=True)), **kwargs}
    given |= dict(zip((*names, "size"), args, strict=False))
    first, second, size = (given[name] for name in (*names, "size"))
    if size is None:
        size = np.broadcast_shapes(np.shape(first), np.shape(second)) or None
    return first, second, size


def _here() -> Any:
    return places.where(places.user_frame())
