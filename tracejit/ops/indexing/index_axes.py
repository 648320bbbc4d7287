"""Axes of indexing, of what it writes, and of their adjoints, for the trait `axes`.

Whole slices keep their axes, arrays of integers bring their own; parts of axes are mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from tracejit.ir.dims import dims_in, key_of
from tracejit.ir.types import ArrayType
from tracejit.ops.base.axes import Types, letters_of, mixed, named, text_of
from tracejit.ops.base.op import OPS


def _axes_selected(types: Types, index: tuple[Any, ...]) -> list[Any] | None:
    """For each axis of x[index], the axis of x that it is, if it is whole; None for a part of one
    or a new one; "{k}" for number k of the axes that index arrays are broadcast to. None if a
    free size says which part."""
    x, *indices = types
    rest = x.ndim - sum(entry is not None and entry != "..." for entry in index)
    found: list[Any] = []
    fancy: list[tuple[int, int]] = []
    axis = 0
    for number, entry in enumerate(index):
        if entry is None:
            found.append(None)
            continue
        if entry == "...":
            found += range(axis, axis + rest)
            axis += rest
            continue
        if isinstance(entry, tuple) and is_whole(entry, x.shape[axis]):
            found.append(axis)
        elif any(dims_in(entry)):
            return None
        elif isinstance(entry, tuple):
            found.append(None)
        else:
            fancy.append((number, len(found)))
        axis += 1
    found += range(axis, x.ndim)
    if indices:
        together = fancy[-1][0] - fancy[0][0] == len(fancy) - 1
        place = fancy[0][1] if together else 0
        count = max(type.ndim for type in indices)
        found[place:place] = [f"{{{k}}}" for k in range(count)]
    return found


def is_whole(entry: Any, size: Any) -> bool:
    """Return whether a slice in an index is all of an axis of this size, in its order."""
    start, stop, step = entry[1:]
    first = start is None or (type(start) is int and start == 0)
    last = stop is None or key_of(stop) == key_of(size)
    return first and last and (step is None or (type(step) is int and step == 1))


Letters = list[str]


def _indexed(types: Types, index: tuple[Any, ...]) -> tuple[Letters, list[Letters], Letters] | None:
    """The letters of x, of the index arrays, and of x[index]."""
    x, *indices = types
    selected = _axes_selected(types, index)
    if selected is None:
        return None
    whole = {axis for axis in selected if type(axis) is int}
    own = [letter if k in whole else "_" for k, letter in enumerate(letters_of(x))]
    count = max((type.ndim for type in indices), default=0)
    names = ascii_letters[x.ndim : x.ndim + count]
    arrays = [named(names, type.shape) for type in indices]
    used = {letter for array in arrays for letter in array}
    made = []
    for axis in selected:
        letter = "_" if axis is None else own[axis] if type(axis) is int else names[int(axis[1:-1])]
        made.append(letter if type(axis) is int or letter in used else "_")
    return own, arrays, made


def selected(types: Types, index: tuple[Any, ...], **params: Any) -> str | None:
    """x[index], of x and index arrays."""
    found = _indexed(types, index)
    if found is None:
        return None
    own, arrays, made = found
    return text_of([own, *arrays], made)


# x[np.arange(n), labels]: an element of each row, which is taken along the other axis


def _places_in_rows(indices: Sequence[Any], index: tuple[Any, ...], shape: Sequence[Any]) -> Any:
    """The numbers along the second axis, with as many axes as there are; None if the first index
    array does not number the rows."""
    if index != ("{1}", "{2}") or np.ndim(indices[1]) != 1:
        return None
    node = getattr(getattr(indices[0], "_value", None), "node", None)
    if node is None or node.op.name != "arange" or type(node.params["start"]) is not int:
        return None
    if node.params["start"] or key_of(node.params["stop"]) != key_of(shape[0]):
        return None
    return np.expand_dims(indices[1], (*range(1, len(shape)),))


def taken_in_rows(x: Any, *indices: Any, index: tuple[Any, ...], unique: bool) -> Any:
    """The formula of x[np.arange(n), labels]; NotImplemented for other indices."""
    places = _places_in_rows(indices, index, x.shape)
    if places is None:
        return NotImplemented
    return np.squeeze(np.take_along_axis(x, places, axis=1), 1)


def placed_in_rows(v: Any, *indices: Any, shape: Sequence[Any], index: tuple[Any, ...]) -> Any:
    """The formula of its adjoint."""
    places = _places_in_rows(indices, index, shape)
    if places is None:
        return NotImplemented
    column = np.expand_dims(v, 1) if v.ndim else np.broadcast_to(v, (shape[0], 1))
    return OPS["add_along_axis"](column, places, shape=shape, axis=1)


def taken(types: Types, axis: int, **params: Any) -> str:
    """Elements by their numbers along an axis."""
    x, indices = types
    letters, names = letters_of(x), letters_of(indices, x.ndim)
    made = [*letters[:axis], *names, *letters[axis + 1 :]]
    return text_of([mixed(letters, axis), names], made)


def placed(types: Types, shape: Sequence[Any], index: tuple[Any, ...]) -> str | None:
    """Values, or a number, at x[index], x being zeros: places that different blocks name are added
    up, or are different ones."""
    v, *indices = types
    found = _indexed((ArrayType(tuple(shape), v.dtype), *indices), index)
    if found is None or v.ndim not in (0, len(found[2])):
        return None
    own, arrays, made = found
    return text_of([named(made, v.shape) if v.ndim else [], *arrays], own)


def taken_along(types: Types, axis: int, **params: Any) -> str:
    """Elements by their numbers along an axis, for each place along the others."""
    x, indices = types
    letters = ascii_letters[: x.ndim]
    first, second = mixed(named(letters, x.shape), axis), named(letters, indices.shape)
    made = [two if one == "_" else one for one, two in zip(first, second, strict=True)]
    return text_of([first, second], made)


def placed_along(types: Types, shape: Sequence[Any], axis: int) -> str:
    """Values at places along an axis of zeros."""
    v, indices = types
    letters = letters_of(v)
    return text_of([letters, named(letters, indices.shape)], mixed(named(letters, shape), axis))


def updated(types: Types, index: tuple[Any, ...], **params: Any) -> str | None:
    """x with values at x[index]. Places that arrays name are anywhere; a mask that a number is
    written under selects places block by block."""
    x, *indices, v = types
    if any(type.dtype.kind == "b" for type in indices):
        return _under_mask(types, index)
    found = _indexed((x, *indices), index)
    if found is None:
        return None
    own, arrays, made = found
    names = {letter for array in arrays for letter in array}
    made = ["_" if letter in names else letter for letter in made]
    values = named(["_"] * v.ndim + made, v.shape)
    return text_of([own, *["_" * type.ndim for type in indices], values], own)


def _under_mask(types: Types, index: tuple[Any, ...]) -> str | None:
    x, *indices, v = types
    if index != ("{1}",) or len(indices) != 1 or v.ndim:
        return None
    own = letters_of(x)
    return text_of([own, own[: indices[0].ndim], ""], own)
