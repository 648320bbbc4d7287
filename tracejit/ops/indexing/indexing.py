"""Elements by position: `x[index]`, take, take_along_axis.

`x[index]` is one of two ops. `getitem` is basic indexing, a view: numbers, slices, None, Ellipsis.
`take_at` gathers with integer arrays, recorded or not, possibly mixed with slices; a boolean mask
that is known now counts as the integer arrays of its places. Both keep the index as a tuple of

    3   None   "..."   ("slice", start, stop, step)   "{1}": operand 1, an integer or integer array

Their adjoints place a cotangent in zeros: `put_slice` and `put_at` assign, `add_at` adds, for
arrays in which a place may occur twice. All are linear, and each is the adjoint of its own adjoint.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.dims import whole
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base.creation import (
    as_array,
    filled,
    followed,
    is_recorded,
    settled,
    type_in_call,
)
from tracejit.ops.base.infer import broadcast_shapes, normalize_axis, slice_length, strict_axis
from tracejit.ops.base.op import Op, answer, defop
from tracejit.ops.elementwise.python_numbers import CONVERSIONS
from tracejit.ops.indexing import batched_indices, index_axes
from tracejit.ops.indexing.index_text import added, assigned, index_text, slice_update, taken

Index = tuple[Any, ...]

FULL = batched_indices.ALL
_PLAIN = frozenset((int, slice))
RECORDED_MASK = (
    "the number of elements that a condition selects is not known while the function is recorded; "
    "select with "
    "np.where(mask, x, 0.0), or multiply by the mask, which keep the shape"
)


# x[index]: from the user's index to the params of an op


def parsed_index(x: Any, index: Any, masks: bool = False) -> tuple[Index, list[Any]]:
    """The index of x[index], as the user wrote it, for the params of an op, and its arrays; with
    `masks`, boolean ones stay what they are."""
    items = index if type(index) is tuple else (index,)
    entries: list[Any] = []
    arrays: list[Any] = []
    axis, ndim = 0, x.ndim
    if len(items) <= ndim and _PLAIN.issuperset(map(type, items)):
        entries = [item if type(item) is int else _slice_entry(item) for item in items]
        return _simplified(entries, ndim - len(items)), arrays
    parts = [_part(item, masks) for item in items]
    taken = sum(map(_axes_taken, parts))
    if taken > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {taken} were indexed"
        )
    if sum(type(part) is str for part in parts) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    for part in parts:
        count = ndim - taken if type(part) is str else _axes_taken(part)
        if not is_recorded(part) and not isinstance(part, np.ndarray):
            entries.append(part)
        else:
            sizes = np.shape(x)[axis : axis + count]
            places = _places(part, sizes, axis, masks)
            entries += [f"{{{len(arrays) + number}}}" for number in range(1, len(places) + 1)]
            arrays += places
        axis += count
    if not _is_fancy(arrays):
        entries = list(_simplified(entries, ndim - taken))
    return tuple(entries), arrays


def _is_fancy(arrays: Sequence[Any]) -> bool:
    """Return whether indexing with these arrays gathers elements."""
    return any(type_in_call(array).form == "array" for array in arrays)


def _index_call(x: Any, index: Any) -> Any:
    """x[index] as the user wrote it."""
    if is_recorded(index) and index.dtype.kind == "b" and not index.ndim:
        flag = followed(index)
        if flag is not None:
            return np.expand_dims(x, 0)[: int(flag)]
    entries, arrays = parsed_index(x, index)
    if not arrays and None not in entries:
        return getitem(x, index=entries)
    if _is_fancy(arrays):
        return take_at(x, *arrays, index=entries, unique=is_unique(*arrays))
    if None in entries and {None, "...", FULL}.issuperset(entries):
        return np.expand_dims(x, batched_indices.new_axes(entries, np.ndim(x)))
    return getitem(x, *arrays, index=entries)


def _part(item: Any, masks: bool) -> Any:
    """One entry of an index: as in the params, or an array, or a Tensor of integers."""
    if item is None or type(item) is slice:
        return None if item is None else _slice_entry(item)
    if item is Ellipsis:
        return "..."
    item = settled(item)
    if is_recorded(item):
        if item.dtype.kind == "b" and item.ndim and not masks:
            item = followed(item)
            if item is None:
                raise TypeError(RECORDED_MASK)
            return item
        if item.type.form == "weak" and not _differs(item):
            return operator.index(item)
    elif isinstance(item, (bool, np.bool_)):
        raise TypeError("a single True or False as an index is not supported")
    elif isinstance(item, (int, np.integer)):
        return int(item)
    elif type(item) is list and any(map(_differs, item)):
        item = as_array(item)
    elif not isinstance(item, np.ndarray):
        item = np.asarray(item)
        item = item if item.size else item.astype(np.intp)
    if item.dtype.kind not in "iub":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if item.dtype.kind == "b" and not item.ndim:
        raise TypeError("a single True or False as an index is not supported")
    return item


def _differs(item: Any) -> bool:
    """Return whether a number may be another in each call, step or side, whatever the arguments."""
    is_number = is_recorded(item) and not item.shape
    return is_number and bool(item._recording.differs_in_steps(item._value))


def _slice_entry(item: slice) -> tuple[Any, ...]:
    """A slice as an entry of an index."""
    return ("slice", _bound(item.start), _bound(item.stop), _bound(item.step))


def _bound(value: Any) -> Any:
    if value is None or type(value) is int:
        return value
    return whole(value._recording.size_of(value) if hasattr(value, "_recording") else value)


def _axes_taken(part: Any) -> int:
    if part is None or type(part) is str:
        return 0
    return part.ndim if part_is_mask(part) else 1


def part_is_mask(part: Any) -> bool:
    """Return whether an entry of an index is a boolean array."""
    return not isinstance(part, (int, tuple)) and part.dtype.kind == "b"


def _places(array: Any, sizes: Shape, axis: int, masks: bool) -> Sequence[Any]:
    """An index array itself; of a boolean one, unless `masks`, the integer arrays of its places."""
    if array.dtype.kind != "b":
        return (array,)
    for number, (size, selected) in enumerate(zip(sizes, array.shape, strict=True), start=axis):
        if size != selected:
            raise IndexError(
                f"boolean index did not match indexed array along axis {number}; size of axis is "
                f"{size} but size of corresponding boolean axis is {selected}"
            )
    places: tuple[Any, ...] = (array,) if masks else array.nonzero()
    return places


def _simplified(entries: list[Any], rest: int) -> Index:
    """A basic index without what is implied; an Ellipsis that makes a 0-d array stays."""
    numbers = all(type(entry) in (int, str) for entry in entries)
    if rest == 0 and numbers:
        return tuple(entries)
    kept = [entry for entry in entries if entry != "..." or rest]
    while kept and (kept[-1] == "..." or (kept[-1] == FULL and "..." not in kept)):
        kept.pop()
    return tuple(kept) or ("...",)


def is_unique(*arrays: Any) -> bool:
    """True if index arrays name no place twice; False where data or the size of an axis decides.

    Among arrays of one shape, one that is known and names no place twice decides for all:
    `x[np.arange(n), labels]`.
    """
    several = [array for array in arrays if np.ndim(array)]
    if not several:
        return True
    known = [array for array in several if not is_recorded(array)]
    if len(known) < len(several):
        alike = all(np.shape(array) == np.shape(several[0]) for array in several)
        if not known or not alike:
            return alike and any(map(_counts_up, several))
    keys = np.zeros((), np.intp)
    for array in np.broadcast_arrays(*known):
        if array.size:
            low, high = int(array.min()), int(array.max())
            if low < 0 <= high:
                return False
            keys = keys * (high - low + 1) + (array.astype(np.intp) - low)
    ordered = np.sort(keys, axis=None)
    return not np.any(ordered[1:] == ordered[:-1])


def selected_type(
    x: ArrayType, *indices: ArrayType, index: Index, unique: bool = False
) -> ArrayType:
    """The type of x[index], by NumPy's rules for where the axes of index arrays go."""
    shape: list[int] = []
    fancy: list[tuple[int, int]] = []
    axis = 0
    for number, entry in enumerate(index):
        kind = type(entry)
        if kind is int:
            if not -x.shape[axis] <= entry < x.shape[axis]:
                raise IndexError(
                    f"index {entry} is out of bounds for axis {axis} with size {x.shape[axis]}"
                )
            fancy.append((number, len(shape)))
        elif kind is tuple:
            shape.append(slice_length(x.shape[axis], *entry[1:]))
        elif entry is None:
            shape.append(1)
            continue
        elif entry == "...":
            rest = x.ndim - sum(one is not None and one != "..." for one in index)
            shape += x.shape[axis : axis + rest]
            axis += rest
            continue
        else:
            fancy.append((number, len(shape)))
        axis += 1
    shape += x.shape[axis:]
    if indices:
        together = fancy[-1][0] - fancy[0][0] == len(fancy) - 1
        place = fancy[0][1] if together else 0
        shape[place:place] = broadcast_shapes(*[type.shape for type in indices])
    form = "array" if shape or "..." in index else "scalar"
    return ArrayType(tuple(shape), x.dtype, form)  # type: ignore[arg-type]


def _counts_up(array: Any) -> bool:
    """Return whether a Tensor is np.arange of a free dimension."""
    node = array._value.node
    return node is not None and node.op.name == "arange" and node.params["start"] == 0


# The ops


getitem = defop(
    name="getitem",
    infer=selected_type,
    vjp=(lambda g, y, x, *indices, index: put_slice(g, *indices, shape=x.shape, index=index),),
    jvp="linear",
    batch=batched_indices.getitem,
    source=lambda types, index: f"{{0}}[{index_text(index)}]",
    view_of=0,
    elements="taken",
    view="always",
    axes=index_axes.selected,
)
take_at = defop(
    name="take_at",
    infer=selected_type,
    vjp=(lambda g, y, x, *indices, index, unique: _placed(g, indices, x.shape, index, unique),),
    jvp="linear",
    batch=batched_indices.take_at,
    source=lambda types, index, unique: taken(types, index),
    elements="taken",
    axes=index_axes.selected,
    formula=index_axes.taken_in_rows,
)
answer(operator.getitem, _index_call)


def _placed(g: Any, indices: Sequence[Any], shape: Shape, index: Index, unique: bool) -> Any:
    """The adjoint of an indexing: g at `index` in zeros."""
    if not any(map(np.ndim, indices)):
        return put_slice(g, *indices, shape=shape, index=index)
    return (put_at if unique else add_at)(g, *indices, shape=shape, index=index)


def _in_zeros(g: ArrayType, *indices: ArrayType, shape: Shape, **params: Any) -> ArrayType:
    return ArrayType(shape, g.dtype)


def _placing(name: str, batch: Callable[[str], Any], **fields: Any) -> Op:
    """The op of an adjoint of indexing: a value placed in zeros."""
    return defop(name=name, infer=_in_zeros, jvp="linear", batch=batch(name), **fields)


add_slice: Op = defop(
    name="add_slice",
    infer=lambda x, v, index: x,
    vjp=(lambda g, y, x, v, index: g, lambda g, y, x, v, index: getitem(g, index=index)),
    jvp="linear",
    batch=batched_indices.add_slice,
    statements=lambda types, index: ("{out} = {0}.copy()", slice_update(types, index)),
    inplace=lambda types, index: slice_update(types, index),
    update="add",
    axes=index_axes.updated,
)
put_slice: Op = _placing(
    "put_slice",
    batched_indices.placing,
    vjp=(lambda g, y, v, *indices, shape, index: getitem(g, *indices, index=index),),
    statements=assigned,
    update="put",
    axes=index_axes.placed,
)
put_at: Op = _placing(
    "put_at",
    batched_indices.placing,
    vjp=(lambda g, y, v, *indices, shape, index: take_at(g, *indices, index=index, unique=True),),
    statements=assigned,
    update="put",
    axes=index_axes.placed,
    formula=index_axes.placed_in_rows,
)
add_at: Op = _placing(
    "add_at",
    batched_indices.placing,
    vjp=(lambda g, y, v, *indices, shape, index: take_at(g, *indices, index=index, unique=False),),
    statements=added,
    update="add",
    axes=index_axes.placed,
    formula=index_axes.placed_in_rows,
)


class Rows(NamedTuple):
    """Values that stand for rows `first` to `last` of an array, or for others, if there is none."""

    whole: Value | None
    first: int
    last: int


def rows_of(values: Sequence[Value]) -> list[Rows]:
    """Values in runs, each of rows of one array, in turn; others are places among the
    values."""
    found: list[Rows] = []
    for place, value in enumerate(values):
        whole, number = _row_of(value)
        number = place if whole is None else number
        before = found[-1] if found else None
        if before is not None and before.whole is whole and before.last == number - 1:
            found[-1] = before._replace(last=number)
        else:
            found.append(Rows(whole, number, number))
    return found


def _row_of(value: Value) -> tuple[Value | None, int]:
    """The array that a value is one row of, and which; an element may be a number of Python's."""
    node = value.node
    if node is not None and node.op in CONVERSIONS.values():
        node = node.operands[0].node
    if node is None or node.op is not getitem or len(node.operands) > 1:
        return None, 0
    index = node.params["index"]
    is_row = len(index) == 1 and type(index[0]) is int and index[0] >= 0
    return (node.operands[0], index[0]) if is_row else (None, 0)


# take


def _take_call(
    a: Any, indices: Any, axis: Any = None, mode: str = "raise"
) -> tuple[tuple[Any, Any], dict[str, Any]]:
    if axis is None or (not np.ndim(a) and axis in (0, -1)):
        a, axis = a if np.ndim(a) == 1 else np.reshape(a, -1), 0
    axis = strict_axis(axis, np.ndim(a))
    indices = as_array(indices)
    kind = type_in_call(indices).dtype
    if np.size(indices) and not np.can_cast(kind, np.intp):
        raise TypeError(f"indices of dtype {kind} are not integers")
    if kind.kind not in "iu":
        indices = (indices if is_recorded(indices) else np.asarray(indices)).astype(np.intp)
    size = np.shape(a)[axis]
    if mode == "clip":
        indices = np.clip(indices, 0, size - 1)
    elif mode == "wrap":
        indices = np.remainder(indices, size)
    elif mode != "raise":
        raise TypeError(f"mode={mode!r} is not supported")
    return (a, indices), {"axis": axis, "unique": is_unique(indices)}


def _take_type(x: ArrayType, indices: ArrayType, axis: int, unique: bool) -> ArrayType:
    shape = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
    return ArrayType(shape, x.dtype, "array" if shape else "scalar")


take = defop(
    np.take,
    canonical=_take_call,
    infer=_take_type,
    vjp=(
        lambda g, y, x, indices, axis, unique: _placed(
            g, (indices,), x.shape, (*(FULL,) * axis, "{1}"), unique
        ),
    ),
    jvp="linear",
    batch=batched_indices.take,
    source=lambda types, axis, unique: (
        "{0}.take({1})" if types[0].ndim == 1 else "{0}.take({1}, axis={axis})"
    ),
    elements="taken",
    axes=index_axes.taken,
)


# take_along_axis


def _along_call(arr: Any, indices: Any, axis: Any = -1) -> tuple[tuple[Any, Any], dict[str, Any]]:
    indices = as_array(indices)
    if axis is None:
        arr, axis = np.reshape(arr, -1), 0
    if np.ndim(arr) != np.ndim(indices):
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = normalize_axis(axis, np.ndim(arr))
    return (arr, indices), {"axis": axis, "unique": _is_unique_along(arr, indices, axis)}


def _is_unique_along(arr: Any, indices: Any, axis: int) -> bool:
    """Return whether no element is taken twice, as far as that is known."""
    sizes = zip(np.shape(arr), np.shape(indices), strict=True)
    if any(own < asked for number, (own, asked) in enumerate(sizes) if number != axis):
        return False
    if is_recorded(indices) or np.shape(indices)[axis] < 2:
        return bool(np.shape(indices)[axis] < 2)
    if indices.size and indices.min() < 0 <= indices.max():
        return False
    return bool(np.all(np.diff(np.sort(indices, axis=axis), axis=axis)))


def _along_type(x: ArrayType, indices: ArrayType, axis: int, unique: bool) -> ArrayType:
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    sizes = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return ArrayType(broadcast_shapes(sizes, indices.shape), x.dtype)


take_along_axis = defop(
    np.take_along_axis,
    canonical=_along_call,
    infer=_along_type,
    vjp=(
        lambda g, y, x, indices, axis, unique: (put_along_axis if unique else add_along_axis)(
            g, indices, shape=x.shape, axis=axis
        ),
    ),
    jvp="linear",
    batch=batched_indices.take_along_axis,
    source="np.take_along_axis({0}, {1}, axis={axis})",
    elements="taken",
    axes=index_axes.taken_along,
)


def _assigned_along(types: Sequence[ArrayType], shape: Shape, axis: int) -> tuple[str, str]:
    zeros = filled(shape, 0, types[0].dtype)
    return f"{{out}} = {zeros}", "np.put_along_axis({out}, {1}, {0}, axis={axis})"


def _added_along(types: Sequence[ArrayType], shape: Shape, axis: int) -> tuple[str, str]:
    zeros = filled(shape, 0, types[0].dtype)
    places = []
    for number, size in enumerate(shape):
        column = f"[:{', None' * (len(shape) - number - 1)}]" if number < len(shape) - 1 else ""
        places.append("{1}" if number == axis else f"np.arange({size}){column}")
    return f"{{out}} = {zeros}", f"np.add.at({{out}}, ({', '.join(places)},), {{0}})"


put_along_axis: Op = _placing(
    "put_along_axis",
    batched_indices.along_axis,
    vjp=(lambda g, y, v, i, shape, axis: take_along_axis(g, i, axis=axis, unique=True),),
    statements=_assigned_along,
    update="put",
    axes=index_axes.placed_along,
)
add_along_axis: Op = _placing(
    "add_along_axis",
    batched_indices.along_axis,
    vjp=(lambda g, y, v, i, shape, axis: take_along_axis(g, i, axis=axis, unique=False),),
    statements=_added_along,
    update="add",
    axes=index_axes.placed_along,
)
