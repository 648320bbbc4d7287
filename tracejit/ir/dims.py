"""Dim: a size that is not known before the call, a polynomial in symbols with integer factors.

It is not an int, so nothing reads its number unnoticed. Arithmetic with ints and other Dims gives
Dims; what else is asked of it, its `sizes` answer (`ir/sizes.py`), which note it. What leaves the
sizes, a quotient or an array times it, is recorded as what happens to a Python int.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

_WITHOUT_SIZES = frozenset((int, str, type(None)))
ESTIMATE: Final = 256
"""The size that planners assume for a free dimension, whatever the call: the text must not depend
on it."""

Monomial = tuple[int, ...]
Terms = dict[Monomial, int]


class Dim:
    """A size in a recording: a polynomial in symbols with integer factors.

    The user meets it as an int; type() tells the truth.
    """

    __slots__ = ("key", "sizes")

    def __init__(self, sizes: Any, terms: Terms) -> None:
        """Use `Sizes.symbol` and arithmetic instead."""
        self.sizes = sizes
        self.key = tuple(sorted(terms.items(), key=_in_order))

    # What tracejit asks

    @property
    def number(self) -> int:
        """Its number in this call; no condition is recorded."""
        symbols: list[Any] = self.sizes.symbols
        values = [factor * math.prod([symbols[k].number for k in one]) for one, factor in self.key]
        return int(sum(values))

    @property
    def estimate(self) -> int:
        """The size that planners assume."""
        return max(_estimated(self), 0)

    def least(self) -> float:
        """A lower bound, -inf if none is known."""
        total: float = 0
        for one, factor in self.key:
            if not one:
                total += factor
                continue
            symbols = [self.sizes.symbols[index] for index in one]
            if any((-1 if symbol.least is None else symbol.least) < 0 for symbol in symbols):
                return -np.inf
            bounds = [symbol.least if factor > 0 else symbol.most for symbol in symbols]
            total += -np.inf if None in bounds else factor * math.prod(bounds)
        return total

    @property
    def place(self) -> int:
        """The place of its first symbol among those of all sizes."""
        index: int = self.key[0][0][0]
        return index

    @property
    def symbol(self) -> Any:
        """The free dimension that this is, and nothing more."""
        if len(self.key) == 1 and self.key[0][1] == 1 and len(self.key[0][0]) == 1:
            symbol = self.sizes.symbols[self.place]
            return symbol if symbol.definition is None else None
        return None

    def __tracejit_record__(
        self, op: Any, operands: tuple[Any, ...], params: dict[str, Any]
    ) -> Any:
        """Record `op`; called by the op when it meets a Dim."""
        if self.sizes.recording is None:
            number = self.sizes.pin(self)
            return op(*[number if x is self else x for x in operands], **params)
        return self.sizes.recording.record(op, operands, params)

    def _lifted(self) -> Any:
        """A Tensor that stands for it, or its number where nothing is recorded."""
        recording = self.sizes.recording
        return self.sizes.pin(self) if recording is None else recording.tensor_of_size(self)

    def __tracejit_read__(self) -> Any:
        """The number in a recording; called where an array is expected."""
        return self._lifted()

    @property
    def type(self) -> Any:
        """That of a Python int."""
        return self._lifted().type

    # What the user asks

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """int, for the user's isinstance."""
        return int

    def __repr__(self) -> str:
        if self.sizes.is_over:
            return repr(self.number)
        if not self.sizes.is_asked:
            return code_text(self)
        if self.sizes.recording is None:
            return f"Dim({size_text(self)})"
        return repr(self.sizes.pin(self))

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if not spec and not self.sizes.is_asked and not self.sizes.is_over:
            return code_text(self)
        return format(self.sizes.pin(self), spec)

    def __hash__(self) -> int:
        return hash(self.sizes.pin(self))

    def __index__(self) -> int:
        return int(self.sizes.pin(self))

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.sizes.pin(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Its number as an array."""
        return np.asarray(self.sizes.pin(self), dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """A ufunc was called with a size among its operands."""
        lifted = [x._lifted() if type(x) is Dim else x for x in inputs]
        return getattr(ufunc, method)(*lifted, **kwargs)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A NumPy function was called with a size as an array."""
        lifted = [x._lifted() if type(x) is Dim else x for x in args]
        named = {name: x._lifted() if type(x) is Dim else x for name, x in kwargs.items()}
        return function(*lifted, **named)

    def __getattr__(self, name: str) -> Any:
        """Any other attribute: an int's own, or what a Tensor of it has."""
        if name.startswith("__"):
            raise AttributeError(f"'int' object has no attribute {name!r}")
        if hasattr(int, name):
            return getattr(self.sizes.pin(self), name)
        return getattr(self._lifted(), name)

    def __bool__(self) -> bool:
        return not self.sizes.are_equal(self, 0)

    def __eq__(self, other: object) -> Any:
        if not _is_size(other):
            return self._compared("__eq__", other)
        return self.sizes.are_equal(self, other)

    def __ne__(self, other: object) -> Any:
        if not _is_size(other):
            return self._compared("__ne__", other)
        return not self.sizes.are_equal(self, other)

    def __lt__(self, other: Any) -> Any:
        if not _is_size(other):
            return self._compared("__lt__", other)
        return self.sizes.is_less(self, other)

    def __gt__(self, other: Any) -> Any:
        if not _is_size(other):
            return self._compared("__gt__", other)
        return self.sizes.is_less(other, self)

    def __le__(self, other: Any) -> Any:
        if not _is_size(other):
            return self._compared("__le__", other)
        return not self.sizes.is_less(other, self)

    def __ge__(self, other: Any) -> Any:
        if not _is_size(other):
            return self._compared("__ge__", other)
        return not self.sizes.is_less(self, other)

    def _compared(self, method: str, other: Any) -> Any:
        """Compared to what is not a size."""
        if type(other) is float or isinstance(other, np.generic):
            return getattr(self.sizes.pin(self), method)(other)
        return NotImplemented

    def _joined(self, other: Any, sign: int) -> Any:
        terms = dict(self.key)
        for one, factor in terms_of(other).items():
            terms[one] = terms.get(one, 0) + sign * factor
        return self.sizes.resolved(self.sizes.size(terms))

    def __add__(self, other: Any) -> Any:
        return self._joined(other, 1) if _is_size(other) else self._lifted_with(other, "__add__")

    def __radd__(self, other: Any) -> Any:
        return self + other if _is_size(other) else self._lifted_with(other, "__radd__")

    def __sub__(self, other: Any) -> Any:
        return self._joined(other, -1) if _is_size(other) else self._lifted_with(other, "__sub__")

    def __rsub__(self, other: Any) -> Any:
        return -self + other if _is_size(other) else self._lifted_with(other, "__rsub__")

    def __neg__(self) -> Any:
        return self.sizes.size({one: -factor for one, factor in self.key})

    def __mul__(self, other: Any) -> Any:
        if not _is_size(other):
            return self._lifted_with(other, "__mul__")
        terms: Terms = {}
        for one, factor in self.key:
            for two, count in terms_of(other).items():
                both = tuple(sorted((*one, *two)))
                terms[both] = terms.get(both, 0) + factor * count
        return self.sizes.resolved(self.sizes.size(terms))

    def __rmul__(self, other: Any) -> Any:
        return self * other if _is_size(other) else self._lifted_with(other, "__rmul__")

    def __floordiv__(self, other: Any) -> Any:
        if not _is_size(other):
            return self._lifted_with(other, "__floordiv__")
        return self.sizes.divided(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        if not _is_size(other):
            return self._lifted_with(other, "__rfloordiv__")
        return self.sizes.divided(other, self)

    def __mod__(self, other: Any) -> Any:
        if not _is_size(other):
            return self._lifted_with(other, "__mod__")
        return self.sizes.remainder(self, other)

    def __rmod__(self, other: Any) -> Any:
        if not _is_size(other):
            return self._lifted_with(other, "__rmod__")
        return self.sizes.remainder(other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and 0 < other < 8:
            return self if other == 1 else self * self ** (other - 1)
        return self._lifted_with(other, "__pow__")

    def __rpow__(self, other: Any) -> Any:
        return self._lifted_with(other, "__rpow__")

    def __truediv__(self, other: Any) -> Any:
        return self._lifted_with(other, "__truediv__")

    def __rtruediv__(self, other: Any) -> Any:
        return self._lifted_with(other, "__rtruediv__")

    def __round__(self, ndigits: int | None = None) -> int:
        return int(round(self.sizes.pin(self), ndigits))

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def _lifted_with(self, other: Any, method: str) -> Any:
        """Arithmetic that leaves the sizes: Python's, on a number that is recorded."""
        if not (_is_size(other) or type(other) in (bool, float, complex)):
            if not hasattr(type(other), "__tracejit_record__"):
                return NotImplemented
        other = other._lifted() if type(other) is Dim else other
        return getattr(self._lifted(), method)(other)


class FreeShape(tuple[Any, ...]):
    """A shape in which there are Dims. Shapes of other lengths differ, whatever the sizes."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and len(self) == len(other) and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def _of_the_number(name: str) -> Any:
    """A method of int's, which needs the number."""

    def method(self: Dim, *others: Any) -> Any:
        numbers = [operator.index(x) if type(x) is Dim else x for x in others]
        return getattr(self.sizes.pin(self), name)(*numbers)

    return method


_BITS = "pos and or xor lshift rshift rand ror rxor rlshift rrshift invert"
for _name in _BITS.split():
    setattr(Dim, f"__{_name}__", _of_the_number(f"__{_name}__"))


def size_text(size: Any, prefix: str = "") -> str:
    """A size as it is printed in types, with a prefix before the names of symbols."""
    if type(size) is not Dim:
        return str(size)
    words = [_term_text(size.sizes, one, factor, prefix) for one, factor in size.key]
    if len(words) == 1 and words[0].startswith("("):
        return words[0][1:-1]
    return "+".join(words).replace("+-", "-")


def symbol_of(size: Any) -> Any:
    """The symbol that a size is, and nothing more; None of any other size."""
    return size.symbol if type(size) is Dim else None


def whole(size: Any) -> Any:
    """A size as it is; anything else as a Python int, if it is one."""
    return size if type(size) is Dim else operator.index(size)


def code_text(size: Any, prefix: str = "") -> str:
    """A size as it stands in code, with a prefix before the names of symbols."""
    text = size_text(size, prefix)
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def estimated(shape: Sequence[Any]) -> int:
    """The number of elements that planners expect of an array of this shape."""
    total = 1
    for size in shape:
        total *= size.estimate if type(size) is Dim else size
    return total


def spelled(value: Any) -> str:
    """A parameter of a node, in which sizes may stand, as source."""
    if type(value) is Dim:
        return code_text(value)
    if type(value) not in (tuple, FreeShape) or _WITHOUT_SIZES.issuperset(map(type, value)):
        return repr(value)
    words = ", ".join(map(spelled, value))
    return f"({words},)" if len(value) == 1 else f"({words})"


def dims_in(value: Any) -> Iterator[Dim]:
    """The Dims in a parameter of a node."""
    if type(value) is Dim:
        yield value
    elif type(value) in (tuple, list, FreeShape):
        for one in value:
            yield from dims_in(one)


def resolved(value: Any) -> Any:
    """A parameter of a node with what is known of sizes by now."""
    if type(value) is Dim:
        return value.sizes.resolved(value)
    if type(value) in (tuple, list, FreeShape):
        return type(value)(map(resolved, value))
    return value


def _is_size(value: Any) -> bool:
    return type(value) is int or type(value) is Dim or type(value) is bool


def in_numbers(value: Any) -> Any:
    """Parameters of a node with the sizes in them as they are in this call."""
    if type(value) is Dim:
        return value.number
    if type(value) is dict:
        return {name: in_numbers(one) for name, one in value.items()}
    is_list = type(value) in (tuple, list, FreeShape)
    return type(value)(map(in_numbers, value)) if is_list else value


def terms_of(size: Any) -> Terms:
    """The monomials of a size with their factors."""
    return dict(size.key) if type(size) is Dim else {(): int(size)}


def key_of(size: Any) -> Any:
    """A hashable key that is equal for equal sizes of one recording."""
    return size.key if type(size) is Dim else size


def number_of(size: Any) -> int:
    """The number that a size is in this call."""
    return size.number if type(size) is Dim else int(size)


def _estimated(size: Any) -> int:
    if type(size) is not Dim:
        return int(size)
    total = 0
    for one, factor in size.key:
        for index in one:
            symbol = size.sizes.symbols[index]
            if symbol.most is not None:
                factor *= (symbol.least + symbol.most) // 2
            elif symbol.definition is None:
                factor *= max(ESTIMATE, symbol.least)
            else:
                sign, left, right = symbol.definition[0], *map(_estimated, symbol.definition[1:])
                factor *= left // max(right, 1) if sign == "//" else max(right, 1) // 2
        total += factor
    return total


def _in_order(term: tuple[Monomial, int]) -> tuple[int, Monomial]:
    return -len(term[0]), term[0]


def quotient_of(monomial: Monomial, part: Monomial) -> Monomial | None:
    """A monomial divided by another; None if it is not a multiple."""
    rest = list(monomial)
    for index in part:
        if index not in rest:
            return None
        rest.remove(index)
    return tuple(rest)


def _term_text(sizes: Any, monomial: Monomial, factor: int, prefix: str) -> str:
    words = []
    for index in monomial:
        symbol = sizes.symbols[index]
        if symbol.definition is None:
            words.append(prefix + symbol.name)
        else:
            relation, *sides = symbol.definition
            left, right = (code_text(side, prefix) for side in sides)
            words.append(f"({left}{relation}{right})")
    if not words:
        return str(factor)
    text = "*".join(words)
    return text if factor == 1 else f"-{text}" if factor == -1 else f"{factor}*{text}"
