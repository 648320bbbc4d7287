"""Elements of what a loop `for` goes over, of which one may stand for all.

They are numbers that follow from the number of the step, rows of arrays, or tuples of these. An
iterator that `zip`, `enumerate` or `reversed` has made counts as what these were given.
"""

from __future__ import annotations

import inspect
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import length_hint
from types import GeneratorType
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.dims import Dim
from tracejit.ir.types import WEAK_TYPES, ArrayType
from tracejit.ops.elementwise.python_numbers import CONVERSIONS
from tracejit.trace.tensor.tensor import TENSORS

ITERATORS = frozenset((zip, enumerate, reversed))
"""The builtins whose iterators count as what they were given."""

WHOLE = frozenset((range, list, tuple, int, np.ndarray, zip, enumerate, *TENSORS))
"""The types of arguments of which these are noted: of none does it matter how long it is held."""


ENDLESS = sys.maxsize
"""The number of elements of `Numbers`."""


class Numbers(NamedTuple):
    """The numbers from `start` on, without end."""

    start: int


class RecordedRange:
    """A `range` of bounds that are recorded, or sizes that are free. Where Python asks anything of
    it but to go over it in a loop, it is that of the numbers of this call."""

    rest: Iterator[int] | None = None

    def __init__(self, start: Any, stop: Any, step: int) -> None:
        """Its numbers are from `start` on."""
        self.start, self.stop, self.step = start, stop, step

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """That of a range, for the user's isinstance."""
        return range

    def count(self) -> Any:
        """The number of its elements, or less than zero."""
        first, last = (self.start, self.stop) if self.step > 0 else (self.stop, self.start)
        size = last if type(first) is int and not first else last - first
        step = abs(self.step)
        return size if step == 1 else (size + (step - 1)) // step

    def of_this_call(self) -> range:
        """That of the numbers of this call."""
        return range(self.start, self.stop, self.step)

    def __iter__(self) -> Iterator[int]:
        return iter(self.of_this_call())

    def __reversed__(self) -> Iterator[int]:
        if abs(self.step) > 1:
            return reversed(self.of_this_call())
        return ReversedRange(self.stop - self.step, self.start - self.step, -self.step)

    def __len__(self) -> int:
        return len(self.of_this_call())

    def __getitem__(self, key: Any) -> Any:
        return self.of_this_call()[key]

    def __contains__(self, x: Any) -> bool:
        return x in self.of_this_call()

    def __eq__(self, other: Any) -> bool:
        return bool(self.of_this_call() == other)

    def __hash__(self) -> int:
        return hash(self.of_this_call())

    def __repr__(self) -> str:
        return repr(self.of_this_call())

    def __getattr__(self, word: str) -> Any:
        return getattr(self.of_this_call(), word)


class ReversedRange(RecordedRange):
    """An iterator over such a range, from its end on; `rest` is what Python goes on with."""

    def __iter__(self) -> Iterator[int]:
        if self.rest is None:
            self.rest = iter(self.of_this_call())
        return self.rest

    def __next__(self) -> int:
        return next(iter(self))


def recorded_range(*bounds: Any) -> range | RecordedRange:
    """The `range` of bounds, some of which may be recorded."""
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    are_known = type(start) is type(stop) is int
    if are_known or not all(map(_is_integer, (start, stop))) or type(step) is not int or not step:
        return range(*bounds)
    return RecordedRange(_as_python(start), _as_python(stop), step)


def _is_integer(bound: Any) -> bool:
    """Return whether a bound is an integer, be it recorded."""
    if type(bound) in TENSORS:
        return bool(bound.type.form != "array" and bound.dtype.kind in "iu")
    return type(bound) in (int, Dim)


def _as_python(bound: Any) -> Any:
    """A bound as one of Python's numbers, which the elements of a range are."""
    is_numpys = type(bound) in TENSORS and bound.type.form != "weak"
    return CONVERSIONS[int](bound) if is_numpys else bound


class Elements(NamedTuple):
    """The elements of an object that a loop is `over`: how many, the arrays whose rows they have,
    with the types of rows of numbers that are Python's, and what makes an element of the number of
    a step and its rows. The number may be recorded, or a size that is free."""

    over: Any
    count: Any
    element: Callable[[Any, Iterator[Any]], Any]
    arrays: Sequence[Any] = ()
    types: Sequence[ArrayType | None] = ()


class Made(NamedTuple):
    """An iterator that a builtin has made of arguments."""

    iterator: Any
    builtin: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


def elements_of(o: Any, made: Mapping[int, Made]) -> Elements | None:
    """The elements of an object; None if one cannot stand for all. `made` has iterators by
    their ids."""
    kind = type(o)
    if kind in (RecordedRange, ReversedRange):
        return None if o.rest is not None else Elements(o, o.count(), _counting(o))
    if kind is range:
        return Elements(o, len(o), _counting(o))
    if kind in TENSORS or kind is np.ndarray:
        is_array = o.shape and o.dtype.kind in "biufc"
        return Elements(o, o.shape[0], _next_row, (o,), (None,)) if is_array else None
    if kind in (list, tuple):
        return _of_numbers(o)
    if kind is Numbers:
        return Elements(o, ENDLESS, lambda t, rows: t + o.start if o.start else t)
    known = made.get(id(o))
    if known is None or not _is_fresh(known):
        return None
    if known.builtin is reversed:
        (whole,) = known.args
        is_known = type(whole) in (range, list, tuple, np.ndarray)
        return elements_of(whole[::-1], made) if is_known else None
    parts = [elements_of(one, made) for one in _parts(known)]
    found = [one for one in parts if one is not None]
    if not found or len(found) < len(parts):
        return None
    if any(type(one.count) not in (int, Dim) for one in found):
        return None
    count = min(one.count for one in found)
    if known.kwargs.get("strict") and any(one.count != count for one in found):
        return None
    return Elements(
        o,
        count,
        lambda t, rows: tuple([one.element(t, rows) for one in found]),
        [_first(array, count) for one in found for array in one.arrays],
        [type for one in found for type in one.types],
    )


def _parts(made: Made) -> list[Any]:
    """The objects of whose elements those of an iterator are tuples."""
    if made.builtin is zip:
        return [*made.args]
    start = made.args[1] if len(made.args) > 1 else made.kwargs.get("start", 0)
    whole = made.args[0] if made.args else made.kwargs["iterable"]
    return [Numbers(start), whole] if type(start) is int else []


def _is_fresh(made: Made) -> bool:
    """Return whether nothing was taken from an iterator."""
    if made.builtin is reversed:
        return length_hint(made.iterator) == len(made.args[0])
    inner = [one for one in made.iterator.__reduce__()[1] if hasattr(type(one), "__next__")]
    parts = _parts(made)[-len(inner) :] if inner else []
    return bool(inner) and all(map(_is_unused, inner, parts))


def _is_unused(iterator: Any, whole: Any) -> bool:
    if iterator is whole:
        return True  # which is looked at in its turn
    if type(iterator) is GeneratorType:
        return inspect.getgeneratorstate(iterator) == inspect.GEN_CREATED
    return hasattr(whole, "__len__") and length_hint(iterator) == len(whole)


def _of_numbers(o: Sequence[Any]) -> Elements | None:
    """The elements of a list or tuple of Python's numbers of one type."""
    if len({*map(type, o)}) != 1 or type(o[0]) not in (int, float):
        return None
    table = np.array(o)
    is_table = table.dtype.kind in "if"
    types = (WEAK_TYPES[type(o[0])],)
    return Elements(o, len(o), _next_row, (table,), types) if is_table else None


def _next_row(_: Any, rows: Iterator[Any]) -> Any:
    return next(rows)


def _first(array: Any, count: Any) -> Any:
    """The first elements of an array, if it has more."""
    if type(count) is not int or type(array.shape[0]) is not int:
        return array
    return array[:count] if len(array) > count else array


def _counting(o: Any) -> Callable[[Any, Iterator[Any]], Any]:
    """The function that makes the elements of a range."""
    start, step = o.start, o.step

    def element(t: Any, _: Iterator[Any]) -> Any:
        found = t if step == 1 else t * step
        return found if type(start) is int and not start else found + start

    return element


def exhaust(o: Any) -> None:
    """Take from an iterator what a loop has taken."""
    if type(o) is ReversedRange:
        o.rest = iter(())
    elif type(o) in (zip, enumerate):
        for one in o.__reduce__()[1]:
            exhaust(one)
    elif type(o) is GeneratorType:
        o.close()
    elif hasattr(type(o), "__next__"):
        deque(o, maxlen=0)
