"""Random generators in a recorded function: every draw is an operation with an effect.

A RecordedGenerator stands for a NumPy Generator that is an argument of the kernel. Its methods are
those of the Generator; what they draw is drawn anew at each call, in program order, with NumPy's
numbers, dtypes and errors. Passed twice, one generator is two objects here, which draw from it in
turn.

Parameters of a distribution may be recorded. What else a method takes (`SETTINGS`), and n where it
draws from the numbers below n, decides the shape or the algorithm: it becomes a literal of the
generated line. A dynamic number is read for it, under a guard; recorded array data is refused.

`normal` and `uniform` have gradients with respect to their parameters; those with respect to the
scale where it is 0, and to the bounds where they are equal, are those of the draw 0 of the
standard distribution. Where a parameter is a recorded NumPy float, hence may be differentiated,
every method answers np.float64 where NumPy's answers a Python float, which carries no derivative.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tracejit.ir.types import type_of
from tracejit.ops.base.creation import as_array, is_recorded, type_in_call
from tracejit.ops.base.forms import as_scalar
from tracejit.ops.base.op import Op, literal
from tracejit.ops.control.effects import (
    DRAW,
    NORMAL,
    POPULATIONS,
    SETTINGS,
    UNIFORM,
    signature_of_draw,
)
from tracejit.support.errors import TracejitError, fail, shape_row
from tracejit.trace.recording.numbers import may_be_differentiated
from tracejit.trace.source import places
from tracejit.trace.source.instead import not_recorded

DIFFERENTIABLE = {"normal": NORMAL, "uniform": UNIFORM}
PICKING = frozenset(("choice", "permutation"))
"""The methods that pick elements of an array, as they pick numbers below its length."""


@cache
def draws() -> frozenset[str]:
    """The methods of a Generator that draw; not `shuffle`, which writes in place. NumPy imports
    np.random when it is first asked for."""
    others = ("bit_generator", "shuffle", "spawn")
    names = (name for name in dir(np.random.Generator) if not name.startswith("_"))
    return frozenset(name for name in names if name not in others)


class RecordedGenerator:
    """A NumPy Generator whose draws are recorded."""

    # Without slots: an object that shows a Tensor in its __dict__ is refused as a result.

    def __init__(self, handle: Any) -> None:
        """The generator that the Tensor `handle` stands for."""
        self._handle = handle

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class that it stands for, for the user's isinstance."""
        return np.random.Generator

    def __repr__(self) -> str:
        return "<Generator, being recorded>"

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Refused: it writes in place."""
        fix = "write x = rng.permutation(x), which returns a new array."
        raise fail("write", places.here(), call="rng.shuffle(x)", target="its argument", fix=fix)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or not hasattr(np.random.Generator, name):
            raise AttributeError(f"'Generator' object has no attribute {name!r}")
        if name not in draws():
            raise not_recorded(places.here(), f"Generator.{name}")

        def method(*args: Any, **kwargs: Any) -> Any:
            if name in PICKING and may_be_differentiated(args[0] if args else None):
                return picked(getattr(self, name), name, args, kwargs)
            op, operands, params = self._call(name, args, kwargs)
            drawn = op(*operands, **params)
            may_carry = drawn.type.is_inexact and any(map(may_be_differentiated, operands))
            if drawn.type.form == "weak" and may_carry:
                return as_scalar(drawn, dtype=drawn.dtype)
            return drawn

        return method

    def _call(
        self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Op, list[Any], dict[str, Any]]:
        """A call of `method` as an op with operands and parameters, which fit."""
        try:
            bound = _bound(method, args, kwargs)
            given = dict(zip(bound.signature.parameters, args, strict=False)) | kwargs
            given = {name: _read(method, name, value) for name, value in given.items()}
            op, operands, params = DRAW, [self._handle], {}
            if method in DIFFERENTIABLE and any(map(may_be_differentiated, given.values())):
                op = DIFFERENTIABLE[method]
                bound.arguments.update(given)
                bound.apply_defaults()
                params["size"] = bound.arguments.pop("size")
                operands += bound.arguments.values()
            else:
                words = [_word(value, operands) for value in given.values()]
                named = zip(list(given)[len(args) :], words[len(args) :], strict=True)
                words[len(args) :] = [f"{name}={word}" for name, word in named]
                params["call"] = f"{method}({', '.join(words)})"
            op.result_types([type_in_call(operand) for operand in operands], params)
        except TracejitError:
            raise
        except (TypeError, ValueError) as error:
            raise _misfit(f"Generator.{method}", error) from None
        return op, operands, params


# Errors call it what the user passed.
RecordedGenerator.__name__ = "Generator"


def picked(draw: Callable[..., Any], name: str, args: Sequence[Any], kwargs: Any) -> Any:
    """Elements of an array at the places that `draw` picks below its length, so with gradients."""
    population, *rest = signature_of_draw(name).bind(*args, **kwargs).arguments.items()
    options = dict(rest)
    axis = options.pop("axis", 0)
    return np.take(population[1], draw(np.shape(population[1])[axis], **options), axis)


# What the arguments come to


def _bound(method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
    """The arguments by parameter; the error of NumPy's, in its words, where they do not fit."""
    try:
        return signature_of_draw(method).bind(*args, **kwargs)
    except TypeError:
        getattr(np.random.default_rng(0), method)(*args, **kwargs)
        raise


def _read(method: str, name: str, value: Any) -> Any:
    """An argument as it is recorded: a parameter of the distribution as it is, but for lists;
    another as a plain value, which is read."""
    if value is None:
        return None
    if name == "out":
        call, fix = f"rng.{method}(out=...)", "leave out= out, and use the array that it returns."
        raise fail("write", places.here(), call=call, target="the array given", fix=fix)
    if name in SETTINGS:
        return READ[name](value)
    value = value if isinstance(value, str) else as_array(value)
    if (method, name) in POPULATIONS and method != "permuted":
        kind = type_in_call(value)
        if kind.dtype.kind in "iu" and not kind.shape:
            return operator.index(value)
    return value


def _sizes(size: Any) -> int | tuple[int, ...]:
    """A size given as a number or a sequence."""
    if isinstance(size, (tuple, list)) or np.ndim(size):
        return tuple(operator.index(each) for each in size)
    return operator.index(size)


def _choice(text: Any) -> str:
    """One of several words."""
    if type(text) is not str or not text.isidentifier():
        raise TypeError(f"{text!r} is not one of the words that it takes")
    return text


def _dtype(dtype: Any) -> Any:
    """A dtype; `int` and `bool` as they are, for which NumPy answers Python numbers."""
    return dtype if dtype in (int, bool) else np.dtype(dtype)


READ: dict[str, Callable[[Any], Any]] = {
    "size": _sizes,
    "axis": operator.index,
    "replace": bool,
    "shuffle": bool,
    "endpoint": bool,
    "tol": float,
    "method": _choice,
    "check_valid": _choice,
    "dtype": _dtype,
}


def _word(value: Any, operands: list[Any]) -> str:
    """An argument as it stands in the call: a literal, or the place of an operand."""
    if type(value) is float and not math.isfinite(value):
        return f"float('{value}')"
    if value is int or value is bool:
        return "int" if value is int else "bool"
    kind = type_of(value)
    if is_recorded(value) or (kind is not None and kind.form != "weak"):
        operands.append(value)
        return f"{{{len(operands) - 1}}}"
    return literal(value)


def _misfit(function: str, error: Exception) -> TracejitError:
    """The error for a call that NumPy refuses whatever the numbers are."""
    fix = "call it as NumPy's Generator is called."
    if isinstance(error, TypeError):
        words = {"function": function, "problem": error, "fix": fix}
        return fail("unsupported-call", places.here(), **words)
    row = shape_row(error)
    return fail(row, places.here(), call=function, problem=error, fix=fix)
