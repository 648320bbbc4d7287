"""Rules of Python numbers: `float(x)`, `x.item()`, `round(x, 2)`, and the functions of `math`.

What they give is recorded as a Python number. Python reads its value where it goes by it: `if`,
`range` and an index into a list then follow one path, as they do for any recorded number.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tracejit.ir.types import PYTHON_TYPES
from tracejit.ops.elementwise.python_math import (
    MATH_OPS,
    UFUNCS,
    math_fsum,
    python_sum,
    python_sumprod,
)
from tracejit.ops.elementwise.python_numbers import (
    CONVERSIONS,
    python_complex_of_parts,
    python_round,
)
from tracejit.support.imports import import_module
from tracejit.trace.convert.rules import RULES, rule
from tracejit.trace.recording.variable import Variable
from tracejit.trace.tensor.namespaces import recorded_argument
from tracejit.trace.tensor.tensor import ROUTED, TENSORS, Tensor


def python_number(x: Any, kind: type) -> Any:
    """`kind(x)`, a Python number; what Python refuses, it is asked to refuse."""
    if type(x) not in TENSORS:
        return kind(x)
    if x.type.form == "weak" and PYTHON_TYPES[x.dtype.kind] is kind:
        return x
    if x.ndim or (x.dtype.kind == "c" and kind in (int, float)):
        kind(np.ones(tuple(map(int, x.shape)), x.dtype)[()])
        x = np.reshape(np.real(x) if kind in (int, float) else x, ())
    return CONVERSIONS[kind](x)


def element(x: Any) -> Any:
    """A number or an array without axes as a Python number of its own type."""
    return python_number(x, PYTHON_TYPES["i" if x.dtype.kind == "u" else x.dtype.kind])


@rule(builtins.float)
def _float(x: Any = 0.0, /) -> Any:
    return python_number(x, float)


@rule(builtins.int)
def _int(x: Any = 0, /, base: Any = None) -> Any:
    return python_number(x, int) if base is None else int(x, base)


@rule(builtins.bool)
def _bool(x: Any = False, /) -> Any:
    return python_number(x, bool)


@rule(builtins.complex)
def _complex(real: Any = 0.0, imag: Any = None) -> Any:
    if imag is None:
        return python_number(real, complex)
    parts: list[Any] = [part if type(part) in TENSORS else float(part) for part in (real, imag)]
    if any(type(part) in TENSORS and part.dtype.kind == "c" for part in parts):
        return parts[0] + 1j * parts[1]
    return python_complex_of_parts(*parts)


@rule(builtins.round)
def _round(number: Any, ndigits: Any = None) -> Any:
    if type(number) not in TENSORS or number.type.form == "array" or number.dtype.kind == "c":
        return round(number, ndigits)
    if number.type.form != "weak":
        if ndigits is not None:
            number._recording.check_kind(number)
        rounded = np.rint(number) if ndigits is None else np.round(number, ndigits)
        return python_number(rounded, int) if ndigits is None else rounded
    return python_round(number, digits=None if ndigits is None else operator.index(ndigits))


@rule(builtins.pow)
def _pow(base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is None:
        return base**exp
    operands = (base, exp, mod)
    if any(type(one) in TENSORS and one.type.form != "weak" for one in operands):
        return pow(np.int64(1), 1, 1)  # which NumPy refuses
    return pow(*map(operator.index, operands))


@rule(Tensor.item, Variable.item, np.ndarray.item, np.generic.item)
def _item(self: Any, *place: Any) -> Any:
    if len(place) == 1 and type(place[0]) is not tuple:
        return element(np.reshape(self, -1)[place[0]])
    if place:
        return element(self[place[0] if type(place[0]) is tuple else place])
    if self.size != 1:
        np.ones(2).item()
    return element(np.reshape(self, ()))


@rule(Tensor.tolist, Variable.tolist, np.ndarray.tolist, np.generic.tolist)
def _tolist(self: Any) -> Any:
    if not self.ndim:
        return element(self)
    return [_tolist(one) for one in self]


@rule(Tensor.conjugate)
def _conjugate(self: Any) -> Any:
    is_complex = self.type.form == "weak" and self.dtype.kind == "c"
    return python_number(np.conjugate(self), complex) if is_complex else self.conjugate()


def _is_integer(x: Any) -> Callable[[], Any]:
    return lambda: python_number(x == np.floor(x), bool)


ROUTED["is_integer"] = _is_integer


# math


def operand(x: Any) -> Any:
    """An operand of `math`, which takes no arrays with axes and no complex numbers."""
    if type(x) in TENSORS and (x.ndim or x.dtype.kind == "c"):
        return python_number(x, float)
    return x if type(x) in TENSORS else float(x)


def _of_special(name: str) -> Callable[..., Any]:
    """A function whose derivative SciPy has."""

    def call(x: Any) -> Any:
        module = import_module("tracejit.ops.scipy.special.python_functions")
        return module.SPECIAL_OPS[name](operand(x))

    return call


def _of_op(name: str) -> Callable[..., Any]:
    op = MATH_OPS[name]
    count = getattr(UFUNCS.get(name), "nin", None)

    def call(*operands: Any) -> Any:
        if count not in (None, len(operands)):
            getattr(math, name)(*[1.0] * len(operands))  # says how many it takes
        return op(*map(operand, operands))

    return call


@rule(math.log)
def _log(x: Any, *base: Any) -> Any:
    log = MATH_OPS["log"]
    return log(operand(x)) / log(operand(base[0])) if base else log(operand(x))


@rule(math.ldexp)
def _ldexp(x: Any, i: Any) -> Any:
    return MATH_OPS["ldexp"](operand(x), i)


for _name in MATH_OPS:
    if getattr(math, _name) not in RULES:
        rule(getattr(math, _name))(_of_op(_name))
for _name in ("erf", "erfc", "gamma", "lgamma"):
    rule(getattr(math, _name))(_of_special(_name))


def _as_bool(test: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: python_number(test(operand(x)), bool)


def _as_int(rounded: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: python_number(rounded(operand(x)), int)


rule(math.isnan)(_as_bool(np.isnan))
rule(math.isinf)(_as_bool(np.isinf))
rule(math.isfinite)(_as_bool(np.isfinite))
rule(math.floor)(_as_int(np.floor))
rule(math.ceil)(_as_int(np.ceil))
rule(math.trunc)(_as_int(np.trunc))


@rule(math.isclose)
def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    a, b = operand(a), operand(b)
    bound = np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)
    near = (np.abs(a - b) <= bound) & np.isfinite(a) & np.isfinite(b)
    return python_number((a == b) | near, bool)


@rule(math.modf)
def _modf(x: Any) -> Any:
    return tuple(python_number(part, float) for part in np.modf(operand(x)))


@rule(math.frexp)
def _frexp(x: Any) -> Any:
    mantissa, exponent = np.frexp(operand(x))
    return python_number(mantissa, float), python_number(exponent, int)


@rule(math.fsum, of_iterables=True)
def _fsum(seq: Iterable[Any]) -> Any:
    return math_fsum(*map(operand, seq))


@rule(math.prod, of_iterables=True)
def _prod(iterable: Iterable[Any], *, start: Any = 1) -> Any:
    return functools.reduce(operator.mul, iterable, start)


@rule(math.dist)
def _dist(p: Iterable[Any], q: Iterable[Any]) -> Any:
    return MATH_OPS["hypot"](*[operand(a) - operand(b) for a, b in zip(p, q, strict=True)])


def sumprod(p: Iterable[Any], q: Iterable[Any], /) -> Any:
    """`math.sumprod` of numbers that are recorded."""
    pairs = [*zip(p, q, strict=True)]
    first = _pythons_first([one for pair in pairs for one in pair], floats=2)
    count, total = len(first) // 2, 0
    if count > 1:
        total = python_sumprod(*first[: 2 * count : 2], *first[1 : 2 * count : 2])
        pairs = pairs[count:]
    return sum([a * b for a, b in pairs], total)


if hasattr(math, "sumprod"):
    rule(math.sumprod)(sumprod)


COMPENSATES = sum((1e16, 1.0, -1e16)) != 0.0
"""Whether `sum` of floats keeps what rounding loses at each addition, as from Python 3.12 on."""


def added_up(numbers: list[Any], start: Any) -> Any:
    """`sum(numbers, start)` of numbers that are recorded, or plain."""
    if recorded_argument(start, *numbers) is None:
        return sum(numbers, start)
    compensates = COMPENSATES and type(start) is not bool
    if compensates and (first := _pythons_first([start, *numbers], floats=3)):
        start, numbers = python_sum(*first), numbers[len(first) - 1 :]
    return functools.reduce(operator.add, numbers, start)


def is_pythons(x: Any) -> bool:
    """Return whether a number is Python's own, on one side of a condition at least."""
    if type(x) not in TENSORS:
        return type(x) in CONVERSIONS
    return x.type.form == "weak" or x._value in getattr(x._recording, "mixed", ())


def _pythons_first(numbers: list[Any], floats: int) -> list[Any]:
    """The numbers before the first that is none of Python's own; none without so many floats."""
    first = [*itertools.takewhile(is_pythons, numbers)]
    are_recorded = [type(one) in TENSORS for one in first]
    kinds = [
        one.dtype.kind if is_recorded else np.result_type(type(one)).kind
        for one, is_recorded in zip(first, are_recorded, strict=True)
    ]
    if not any(are_recorded) or sum(kind in "fc" for kind in kinds) < floats:
        return []
    for one in itertools.compress(first, are_recorded):
        one._recording.check_kind(one)
    return first


_COMPLEX = {
    cmath.exp: np.exp, cmath.log: np.log, cmath.log10: np.log10, cmath.sqrt: np.sqrt,
    cmath.sin: np.sin, cmath.cos: np.cos, cmath.tan: np.tan, cmath.sinh: np.sinh,
    cmath.cosh: np.cosh, cmath.tanh: np.tanh, cmath.asin: np.arcsin, cmath.acos: np.arccos,
    cmath.atan: np.arctan, cmath.asinh: np.arcsinh, cmath.acosh: np.arccosh,
    cmath.atanh: np.arctanh,
}  # fmt: skip


def _of_complex(ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda x: python_number(ufunc(python_number(x, complex)), complex)


for _plain, _ufunc in _COMPLEX.items():
    rule(_plain)(_of_complex(_ufunc))


@rule(cmath.phase)
def _phase(x: Any) -> Any:
    return python_number(np.angle(python_number(x, complex)), float)


@rule(cmath.polar)
def _polar(x: Any) -> Any:
    return python_number(np.abs(python_number(x, complex)), float), _phase(x)


@rule(cmath.rect)
def _rect(r: Any, phi: Any) -> Any:
    return python_number(r * np.exp(1j * phi), complex)
