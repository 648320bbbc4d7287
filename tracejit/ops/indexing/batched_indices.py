"""Batching of indexing: from the index of one element to an index for the whole batch.

Where the indices are the same for all elements, the batch is one more slice in front. Otherwise it
is one more index array, `x[np.arange(n), i]`, if the array has the batch, too. NumPy puts the axes
of index arrays where the first of them stands, or in front of all where they do not stand side by
side: a `Selection` moves axes to where one element has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ops.base.batching import Moved, element_ndim, in_front, size_of, spread
from tracejit.ops.base.creation import cast
from tracejit.ops.base.op import OPS

ALL = ("slice", None, None, None)


def new_axes(entries: tuple[Any, ...], ndim: int) -> tuple[int, ...]:
    """The axes of length one in x[index], which takes all of x."""
    whole = [ALL] * (ndim - entries.count(ALL))
    parts = [part for entry in entries for part in (whole if entry == "..." else [entry])]
    return tuple(axis for axis, part in enumerate(parts) if part is None)


class Selection(NamedTuple):
    """An index for all elements, with its arrays: the axes `source` of what NumPy selects are the
    axes `target` of what the elements select, of `ndim` axes each."""

    entries: tuple[Any, ...]
    arrays: Sequence[Any]
    source: tuple[int, ...]
    target: tuple[int, ...]
    ndim: int

    def read(self, found: Any) -> Any:
        """The selected elements, with the batch in front."""
        same = self.source == self.target
        return found if same else np.moveaxis(found, self.source, self.target)

    def written(self, v: Any, there: bool) -> Any:
        """The written value, as NumPy takes it: its elements broadcast to the selected ones."""
        extra = element_ndim(v, there) - self.ndim
        if extra > 0:
            v = np.reshape(v, (*v.shape[:there], *v.shape[there + extra :]))
        if not there:
            if self.source == self.target or not v.ndim:
                return v
            v, there = np.expand_dims(v, 0), True
        v = spread(v, there, self.ndim)
        same = self.source == self.target
        return v if same else np.moveaxis(v, self.target, self.source)


def _is_fancy(entry: Any) -> bool:
    return type(entry) is int or (type(entry) is str and entry != "...")


def _next_operand(entry: Any) -> Any:
    """An entry of an index in which one operand has been put before all."""
    return f"{{{int(entry[1:-1]) + 1}}}" if str(entry).startswith("{") else entry


def batched(
    index: tuple[Any, ...], arrays: Sequence[Any], moved: Moved, ndim: int, size: int, whole: bool
) -> Selection:
    """The index into an array whose elements have `ndim` axes, with the batch in front if `whole`;
    `moved` is of the arrays."""
    rank = max([element_ndim(x, there) for x, there in zip(arrays, moved, strict=True)], default=0)
    fancy = [number for number, entry in enumerate(index) if _is_fancy(entry)]
    together = bool(fancy) and fancy[-1] - fancy[0] == len(fancy) - 1
    place = 0
    if together:
        before = index[: fancy[0]]
        rest = ndim - sum(entry is not None and entry != "..." for entry in index)
        place = sum(rest if entry == "..." else 1 for entry in before)
    selected = ndim - len(fancy) + index.count(None) + rank
    if not any(moved):
        source = 0 if together or not fancy else rank
        return Selection((ALL, *index), arrays, (source,), (0,), selected)
    lined = [spread(x, there, rank) for x, there in zip(arrays, moved, strict=True)]
    if not whole:
        return Selection(index, lined, (place,), (0,), selected)
    numbers = np.arange(size).reshape(size, *(1,) * rank)
    own = tuple(range(1, rank + 1))
    theirs = tuple(place + axis for axis in own)
    shifted = tuple(map(_next_operand, index))
    return Selection(("{1}", *shifted), [numbers, *lined], own, theirs, selected)


# x[index]


def getitem(moved: Moved, x: Any, *arrays: Any, index: tuple[Any, ...]) -> Any:
    """The rule of basic indexing, which with an index for each element gathers."""
    if not any(moved[1:]):
        return OPS["getitem"](x, *arrays, index=(ALL, *index))
    return take_at(moved, x, *arrays, index=index, unique=True)


def take_at(moved: Moved, x: Any, *arrays: Any, index: tuple[Any, ...], unique: bool) -> Any:
    """The rule of gathering: elements of one array may gather the same place."""
    size = size_of(moved, (x, *arrays))
    where = batched(index, arrays, moved[1:], element_ndim(x, moved[0]), size, moved[0])
    unique = unique and moved[0]
    found = OPS["take_at"](x, *where.arrays, index=where.entries, unique=unique)
    return where.read(found)


def take(moved: Moved, x: Any, places: Any, axis: int, unique: bool) -> Any:
    """The rule of np.take."""
    if not moved[1]:
        return OPS["take"](x, places, axis=axis + 1, unique=unique)
    if moved[0]:
        return take_at(moved, x, places, index=(*(ALL,) * axis, "{1}"), unique=unique)
    found = OPS["take"](x, places, axis=axis, unique=False)
    return np.moveaxis(found, axis, 0) if axis else found


def placing(name: str) -> Callable[..., Any]:
    """The rule of an adjoint of indexing, the op `name`, which places a value in zeros."""

    def rule(
        moved: Moved, v: Any, *arrays: Any, shape: tuple[int, ...], index: tuple[Any, ...]
    ) -> Any:
        size = size_of(moved, (v, *arrays))
        where = batched(index, arrays, moved[1:], len(shape), size, True)
        v = where.written(in_front(v, moved[0], size), True)
        op = OPS["put_at" if name == "put_slice" and any(moved[1:]) else name]
        return op(v, *where.arrays, shape=(size, *shape), index=where.entries)

    return rule


# Updates


def updating(name: str) -> Callable[..., Any]:
    """The rule of an op that replaces elements or adds to them, by its name."""

    def rule(moved: Moved, x: Any, *operands: Any, index: tuple[Any, ...], unique: bool) -> Any:
        *arrays, v = operands
        size = size_of(moved, (x, *operands))
        if any(array.dtype.kind == "b" for array in arrays):
            return _under_mask(moved, x, arrays, v, index, size)
        x = in_front(x, moved[0], size)
        where = batched(index, arrays, moved[1:-1], x.ndim - 1, size, True)
        v = where.written(v, moved[-1])
        return OPS[name](x, *where.arrays, v, index=where.entries, unique=unique)

    return rule


def _under_mask(
    moved: Moved, x: Any, arrays: Sequence[Any], v: Any, index: tuple[Any, ...], size: int
) -> Any:
    """The value written under a mask: the elements that the mask selects, or as many numbers as it
    selects."""
    whole = in_front(x, moved[0], size)
    number = not element_ndim(v, moved[-1])
    rows = not number and arrays[0].ndim < whole.ndim - 1
    if not any(moved[1:-1]) and not (number and moved[-1]) and not rows:
        v = v if number else in_front(v, moved[-1], size)
        return OPS["set_item"](whole, *arrays, v, index=(ALL, *index), unique=True)
    others = [entry for entry in index if entry != "{1}"]
    if not number or len(arrays) > 1 or any(entry not in (ALL, "...") for entry in others):
        return NotImplemented
    mask, there = arrays[0], moved[1]
    ndim, rank = whole.ndim - 1, element_ndim(mask, there)
    before = index[: index.index("{1}")]
    place = sum(ndim - rank - len(others) + 1 if entry == "..." else 1 for entry in before)
    ones = [there + axis for axis in range(ndim) if not place <= axis < place + rank]
    mask = np.expand_dims(mask, tuple(ones)) if ones else mask
    return np.where(mask, spread(cast(v, x.dtype), moved[-1], ndim), whole)


def take_under(
    moved: Moved, x: Any, *arrays: Any, index: tuple[Any, ...], shape: tuple[int, ...]
) -> Any:
    """The rule of reading under a mask that is the same for all."""
    if any(moved[1:]):
        return NotImplemented
    return OPS["take_under"](x, *arrays, index=(ALL, *index), shape=(x.shape[0], *shape))


def add_slice(moved: Moved, x: Any, v: Any, index: tuple[Any, ...]) -> Any:
    """The rule of adding to a slice of a copy."""
    size = size_of(moved, (x, v))
    x = in_front(x, moved[0], size)
    where = batched(index, (), (), x.ndim - 1, size, True)
    return OPS["add_slice"](x, where.written(v, moved[1]), index=where.entries)


# Along an axis


def take_along_axis(moved: Moved, x: Any, places: Any, axis: int, unique: bool) -> Any:
    """The rule of np.take_along_axis, whose operands have as many axes."""
    x, places = (
        each if there else np.expand_dims(each, 0)
        for each, there in zip((x, places), moved, strict=True)
    )
    return OPS["take_along_axis"](x, places, axis=axis + 1, unique=unique and moved[0])


def along_axis(name: str) -> Callable[..., Any]:
    """The rule of an adjoint of take_along_axis, the op `name`."""

    def rule(moved: Moved, v: Any, places: Any, shape: tuple[int, ...], axis: int) -> Any:
        size = size_of(moved, (v, places))
        places = places if moved[1] else np.expand_dims(places, 0)
        v = in_front(v, moved[0], size)
        return OPS[name](v, places, shape=(size, *shape), axis=axis + 1)

    return rule
