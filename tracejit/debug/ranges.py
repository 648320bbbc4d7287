"""Ranges: the extent of an array in words, and if all of it is finite."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.types import dtype_letters

NUMBERS = (float, np.ndarray, np.inexact, complex)


class Range(NamedTuple):
    """An operand: its name in generated code, its type as signatures write it, how many elements
    are nan and infinite, and the least and greatest of the finite ones, of absolute values where
    they are complex; None if there are none."""

    name: str
    type: str
    size: int
    nans: int
    infinities: int
    least: Any = None
    greatest: Any = None

    @property
    def counts(self) -> str:
        """The numbers of nan and inf, as `3 nan and 1 inf`; empty where there are none.

        >>> range_of("x", np.array([np.nan, 1.0, np.inf])).counts
        '1 nan and 1 inf'
        """
        pairs = (self.nans, "nan"), (self.infinities, "inf")
        return " and ".join(f"{count} {word}" for count, word in pairs if count)

    @property
    def found(self) -> str:
        """The end of a sentence on a result: `is nan`, `has 3 inf in 20 elements`."""
        if self.size == 1:
            return "is nan" if self.nans else "is infinite"
        return f"has {self.counts} in {self.size} elements"

    def __str__(self) -> str:
        """One line: name, type, extent, and what is not finite.

        >>> print(range_of("x", np.array([0.5, 2.0, np.inf])))
        x f8[3] from 0.5 to 2, 1 inf
        """
        extent = ""
        if self.least is not None:
            extent = f"from {self.least:.6g} to {self.greatest:.6g}"
            extent = f"{self.least:.6g}" if self.least == self.greatest else extent
        found = ", ".join(filter(None, (extent, self.counts)))
        return f"{self.name} {self.type} {found}".rstrip()


def range_of(name: str, value: Any) -> Range:
    """The range of an array or number."""
    array = np.asarray(value)
    sizes = ",".join(map(str, array.shape))
    kind = f"{dtype_letters(array.dtype)}[{sizes}]" if array.shape else dtype_letters(array.dtype)
    if type(value) in (int, float, complex):
        kind = type(value).__name__
    if array.dtype.kind not in "fciu":
        return Range(name, kind, array.size, 0, 0)
    nans, finite = np.isnan(array), np.isfinite(array)
    count = int(nans.sum())
    infinities = array.size - int(finite.sum()) - count
    kept = array[finite]
    if not kept.size:
        return Range(name, kind, array.size, count, infinities)
    extent = np.abs(kept) if array.dtype.kind == "c" else kept
    return Range(name, kind, array.size, count, infinities, extent.min(), extent.max())


def is_finite(value: Any) -> bool:
    """Return whether no number in `value`, or in a tuple or list of such, is nan or infinite.

    >>> is_finite(np.ones(3)), is_finite((1.0, np.inf)), is_finite("text")
    (True, False, True)
    """
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    if kind is np.ndarray:
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if isinstance(value, (tuple, list)):
        return all(map(is_finite, value))
    return not isinstance(value, NUMBERS) or bool(np.isfinite(value).all())


def is_event(operands: Sequence[Any], result: Any) -> bool:
    """Return whether an operation has made nan or inf of finite operands, or nan of operands
    without one.

    >>> is_event((0.0,), -np.inf), is_event((np.nan,), np.nan), is_event((np.inf, np.inf), np.nan)
    (True, False, True)
    """
    if is_finite(result):
        return False
    return all(map(is_finite, operands)) or (has_nan(result) and not any(map(has_nan, operands)))


def premise(operands: Sequence[Any]) -> str:
    """The end of the sentence on these operands that makes their result an event."""
    return "are finite" if all(map(is_finite, operands)) else "hold no nan"


def has_nan(value: Any) -> bool:
    """Return whether a number in `value` is nan."""
    return any(bool(np.isnan(one).any()) for one in numbers_in(value))


def numbers_in(value: Any) -> Iterator[Any]:
    """The floating and complex arrays and numbers in `value`."""
    if isinstance(value, (tuple, list)):
        for one in value:
            yield from numbers_in(one)
    elif isinstance(value, NUMBERS) and np.asarray(value).dtype.kind in "fc":
        yield value
