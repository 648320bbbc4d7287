"""Python's operators and ndarray's methods for Tensor, each made from the NumPy callable it
stands for."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.types import WEAK_DTYPES, is_number, type_of
from tracejit.ops.base.creation import is_routed
from tracejit.ops.elementwise.weak import BINARY, UNARY_OPS, arithmetic
from tracejit.trace.structure.sparse_products import (
    COMBINED,
    combined,
    is_matrix,
    multiplies,
    times,
)
from tracejit.trace.tensor.selected import Selected
from tracejit.trace.tensor.writes import out_by_name, write_result, write_update

_ARRAYS = frozenset((np.ndarray, list, tuple, str))
_REPEATED = (list, tuple, str, bytes, bytearray)

Method = Callable[..., Any]

POWER = operator.pow


def is_weak(operand: Any) -> bool:
    """Return whether an operand is a Python number, recorded or not."""
    kind = type(operand)
    return kind in WEAK_DTYPES or (
        hasattr(kind, "__tracejit_record__") and operand.type.form == "weak"
    )


def is_foreign(number: Any, other: Any) -> bool:
    """Return whether Python must decide between a Python number and `other`: 2 == "text", 2 *
    [x]."""
    if number.type.form != "weak" or hasattr(type(other), "__tracejit_record__"):
        return False
    return type_of(other) is None


def _is_object(other: Any) -> bool:
    """Return whether NumPy takes an operand for an object, of which it makes no array."""
    kind = type(other)
    if kind in _ARRAYS or hasattr(kind, "__tracejit_record__") or hasattr(kind, "__array__"):
        return False
    return type_of(other) is None and hasattr(kind, "__dict__") and not hasattr(kind, "__len__")


def _is_repeated(symbol: str, other: Any, number: Any) -> bool:
    """Return whether Python repeats a sequence: `[0.0] * n` with a NumPy scalar, which NumPy leaves
    to it."""
    return (
        symbol == "*"
        and isinstance(other, _REPEATED)
        and number.type.form == "scalar"
        and is_routed(number)
    )


def _operated(tensor: Any, function: Any, operands: tuple[Any, ...]) -> Any:
    """The result of an operator: one of Python's, if all operands are its numbers."""
    recording: Any = getattr(tensor, "_recording", None)  # a Variable has none
    if not getattr(recording, "mixed", None):
        return tensor._handle(function, operands, {})
    recording.operates = True
    try:
        return tensor._handle(function, operands, {})
    except Exception:
        recording.check_kind(*operands)  # those of Python's may raise none
        raise
    finally:
        recording.operates = False


def binary(symbol: str, function: Any) -> tuple[Method, Method, Method]:
    """`a + b`, its reflection, and `a += b`.

    Between Python numbers it is Python's arithmetic, otherwise NumPy's. The augmented form
    rebinds a number, as Python does, and writes into an array.
    """

    def forward(self: Any, other: Any) -> Any:
        if self.type.form != "weak" and (type(other) is type(self) or type(other) in WEAK_DTYPES):
            return _operated(self, function, (self, other))
        if is_weak(self) and is_weak(other):
            return arithmetic(symbol, self, other)
        if type(other) is Selected:
            return NotImplemented
        if type(other) is not np.ndarray and multiplies(symbol, other):
            return self._handle(times, (self, other), {})
        if symbol in COMBINED and is_matrix(type(other)):
            return self._handle(combined, (symbol, self, other), {})
        if getattr(type(other), "__array_ufunc__", other) is None and other is not None:
            return NotImplemented
        if is_foreign(self, other):
            if is_number(other):
                return self._number(lambda number: BINARY[symbol](number, other), symbol)
            return NotImplemented
        if self.type.form == "scalar" and is_routed(self) and _is_object(other):
            return NotImplemented  # as Python asks for a number and an object
        if _is_repeated(symbol, other, self):
            return NotImplemented
        return _operated(self, function, (self, other))

    def reflected(self: Any, other: Any) -> Any:
        if type(other) is not np.ndarray and multiplies(symbol, other):
            return self._handle(times, (other, self), {})
        if symbol in COMBINED and is_matrix(type(other)):
            return self._handle(combined, (symbol, other, self), {})
        if is_weak(self) and is_weak(other):
            return arithmetic(symbol, other, self)
        if is_foreign(self, other):
            if is_number(other):
                return self._number(lambda number: BINARY[symbol](other, number), symbol)
            return NotImplemented
        if _is_repeated(symbol, other, self):
            return NotImplemented
        if type(other) is complex and self.type.form == "scalar":
            # complex.__mul__ takes np.float64 for a float and answers a Python complex, which
            # would carry no gradient: complex128 is that number and NumPy's.
            other = np.result_type(other, self.dtype).type(other)
        return _operated(self, function, (other, self))

    def augmented(self: Any, other: Any) -> Any:
        if self.type.form == "array":
            return write_update(self, symbol, forward, other)
        return forward(self, other)

    return forward, reflected, augmented


def unary(symbol: str, function: Any) -> Method:
    """`-a` and its kin."""

    def method(self: Any) -> Any:
        if is_weak(self):
            return UNARY_OPS[symbol](self)
        return _operated(self, function, (self,))

    return method


def method_of(function: Any) -> Method:
    """The ndarray method that does what a NumPy function does."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        given: tuple[Any, ...] = (self, *args)
        if len(given) > 2:
            given, kwargs = out_by_name(function, given, kwargs)
        if kwargs.get("out") is not None:
            return write_result(function, given, kwargs)
        kwargs.pop("out", None)
        return self._handle(function, given, kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"As np.{function.__name__}."
    return method


def refused_update(symbol: str) -> Method:
    """`a += b` where it would neither write nor rebind."""

    def method(self: Any, other: Any) -> Any:
        self._refuse_write(f"{self._called()} {symbol}= ...", self)

    return method


def refused(name: str) -> Method:
    """An ndarray method that writes in place."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._refuse_write(name, self)

    method.__name__ = name
    method.__doc__ = "Refused: writes in place."
    return method
