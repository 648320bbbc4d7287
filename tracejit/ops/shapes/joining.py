"""Joining and splitting of arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, everywhere
from tracejit.ops.base.creation import as_array, cast, type_in_call
from tracejit.ops.base.infer import normalize_axis, promote, strict_axis
from tracejit.ops.base.op import OPS, Each, composite, defop

ALL = slice(None)


# Joining


def _alike(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Operands of a join that is linear in all: integers cast where the result is inexact."""
    dtype = np.result_type(*[type_in_call(array).dtype for array in arrays])
    if dtype.kind not in "fc":
        return tuple(arrays)
    return tuple(
        array if type_in_call(array).is_inexact else _inexact(array, dtype) for array in arrays
    )


def _inexact(array: Any, dtype: np.dtype[Any]) -> Any:
    return float(array) if type(array) is int else cast(array, dtype)


def _operands(arrays: Any, dtype: Any, casting: Any) -> list[Any]:
    """The arrays to join, cast to the dtype that the user asked for, if any."""
    operands = [as_array(array) for array in arrays]
    if dtype is None:
        return operands
    target = np.dtype(dtype)
    for operand in operands:
        own = type_in_call(operand).dtype
        if not np.can_cast(own, target, casting):
            raise TypeError(f"cannot cast {own} to {target} according to the rule {casting!r}")
    return [_of_dtype(operand, target) for operand in operands]


def _of_dtype(operand: Any, dtype: np.dtype[Any]) -> Any:
    kind = type_in_call(operand)
    if kind.form == "weak":
        return cast(np.copy(operand), dtype)
    return operand if kind.dtype == dtype else cast(operand, dtype)


def _concatenate_call(
    arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: Any = "same_kind"
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    operands = _operands(arrays, dtype, casting)
    if not operands:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        kinds = [type_in_call(operand) for operand in operands]
        dtype = promote(*kinds)
        operands = [
            cast(np.stack((operand,)), dtype) if kind.form == "weak" else np.reshape(operand, -1)
            for operand, kind in zip(operands, kinds, strict=True)
        ]
    return _alike(operands), {
        "axis": strict_axis(0 if axis is None else axis, np.ndim(operands[0]))
    }


def _joined_type(*types: ArrayType, axis: int) -> ArrayType:
    first = types[0].shape
    for number, type in enumerate(types):
        if type.ndim != len(first):
            raise ValueError(
                f"all the input arrays must have same number of dimensions, but array 0 has "
                f"{len(first)} and array {number} has {type.ndim}"
            )
        for place, (size, wanted) in enumerate(zip(type.shape, first, strict=True)):
            if place != axis and size != wanted:
                raise ValueError(
                    f"all dimensions but the one joined must match exactly, but along dimension "
                    f"{place} array 0 has size {wanted} and array {number} has size {size}"
                )
    length = sum(type.shape[axis] for type in types)
    dtype = np.result_type(*[type.dtype for type in types])
    return ArrayType((*first[:axis], length, *first[axis + 1 :]), dtype)


def _of_several(call: str, types: Sequence[ArrayType], axis: int) -> str:
    """Source of a call of a tuple of operands."""
    comma = "," if len(types) == 1 else ""
    return f"{call}(({{operands}}{comma})" + (", axis={axis})" if axis else ")")


def _piece(number: int, g: Any, y: Any, *operands: Any, axis: int) -> Any:
    """The part of a joined array that came from operand `number`."""
    start = sum(operand.shape[axis] for operand in operands[:number])
    last = number == len(operands) - 1
    part = slice(start or None, None if last else start + operands[number].shape[axis])
    return g[(ALL,) * axis + (part,)]


def _join_batch(name: str) -> Callable[..., Any]:
    """The batching rule of np.concatenate or np.stack."""

    def rule(moved: Moved, *operands: Any, axis: int) -> Any:
        return OPS[name](*everywhere(moved, operands), axis=axis + 1)

    return rule


concatenate = defop(
    np.concatenate,
    canonical=_concatenate_call,
    infer=_joined_type,
    vjp=Each(_piece),
    jvp="linear",
    batch=_join_batch("concatenate"),
    source=lambda types, axis: _of_several("np.concatenate", types, axis),
    cost=lambda *types, axis: sum(type.size for type in types),
    sign="kept",
    moves=True,
    axes=axes.joined,
)


def _windows_type(x: ArrayType, size: int, first: int, step: int, count: int) -> ArrayType:
    return ArrayType((*x.shape[:-1], count, size), x.dtype)


def _windows_source(
    types: Sequence[ArrayType], size: int, first: int, step: int, count: int
) -> str:
    stop = first + (count - 1) * step + 1
    view = f"np.lib.stride_tricks.sliding_window_view({{0}}, {size}, axis=-1)"
    return f"{view}[..., {first or ''}:{stop}:{step}, :]"


windows = defop(
    name="windows",
    infer=_windows_type,
    source=_windows_source,
    view_of=0,
    cost=lambda *types, **params: 0,
    axes="..._->...__",
)
"""`count` windows of `size` elements of the last axis, from `first` on, each a `step` further."""


def _stack_call(
    arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: Any = "same_kind"
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    operands = _operands(arrays, dtype, casting)
    if not operands:
        raise ValueError("need at least one array to stack")
    return _alike(operands), {"axis": normalize_axis(axis, np.ndim(operands[0]) + 1)}


def _stacked_type(*types: ArrayType, axis: int) -> ArrayType:
    shape = types[0].shape
    if any(type.shape != shape for type in types):
        raise ValueError("all input arrays must have the same shape")
    dtype = np.result_type(*[type.dtype for type in types])
    return ArrayType((*shape[:axis], len(types), *shape[axis:]), dtype)


stack = defop(
    np.stack,
    canonical=_stack_call,
    infer=_stacked_type,
    vjp=Each(lambda number, g, y, *operands, axis: g[(ALL,) * axis + (number,)]),
    jvp="linear",
    batch=_join_batch("stack"),
    source=lambda types, axis: _of_several(
        "np.stack" if types[0].shape and (axis or len({*types}) > 1) else "np.array", types, axis
    ),
    cost=lambda *types, axis: sum(type.size for type in types),
    sign="kept",
    moves=True,
    axes=axes.stacked,
)


def at_least(ndim: int, array: Any) -> Any:
    """`array` with axes added where np.atleast_1d, 2d and 3d add them."""
    if not np.ndim(array):
        array = np.stack((array,))
    if np.ndim(array) == 1 and ndim > 1:
        array = array[None]
    return array[..., None] if np.ndim(array) == 2 and ndim == 3 else array


def bracketed(key: Any, axis: int, ndmin: int, place: int) -> Any:
    """The array that np.r_ or np.c_ makes of the entries in its brackets: arrays of at least
    `ndmin` axes, joined along `axis`; of the axes that are added the others stand at `place`."""
    items = list(key) if type(key) is tuple else [key]
    if items and isinstance(items[0], str):
        axis, ndmin, place = _directive(items.pop(0), axis, ndmin, place)
    parts, kinds = [], []
    for item in items:
        is_slice = isinstance(item, slice)
        array = as_array(np.r_[item] if is_slice else item)
        is_number = type_in_call(array).form != "array"
        kinds.append(array if is_number else array.dtype)
        ndim = np.ndim(array)
        array = at_least(1, array)
        added = max(ndmin - np.ndim(array), 0)
        array = array[(None,) * added]
        if is_slice and ndmin > 1 and place != -1:
            array = np.swapaxes(array, -1, place)
        elif not is_number and place != -1 and ndim < ndmin:
            array = np.transpose(array, _moved_axes(ndim, ndmin, place))
        parts.append(array)
    return np.concatenate(parts, axis=axis, dtype=np.result_type(*kinds))


def _directive(text: str, axis: int, ndmin: int, place: int) -> tuple[int, int, int]:
    """The numbers in a string that stands first in the brackets of np.r_ or np.c_."""
    try:
        given = tuple(map(int, text.split(",")))
    except ValueError:
        raise ValueError(f"unknown special directive {text!r}") from None
    axis, ndmin, place = (*given, *(axis, ndmin, place)[len(given) :])[:3]
    return axis, ndmin, place


def _moved_axes(ndim: int, ndmin: int, place: int) -> list[int]:
    """The order of axes, the first of which are added, where the own ones stand at `place`."""
    added = ndmin - ndim
    first = place + added + 1 if place < 0 else place
    axes = list(range(ndmin))
    return axes[:first] + axes[added:] + axes[first:added]


@composite(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """`values` after `arr`."""
    if axis is None:
        arr, values = (np.reshape(at_least(1, as_array(a)), -1) for a in (arr, values))
    return np.concatenate((arr, values), axis=0 if axis is None else axis)


@composite(np.block)
def block(arrays: Any) -> Any:
    """An array from nested lists of blocks: the innermost lists joined along the last axis."""
    depth = _depth(arrays)
    if not depth:
        return np.copy(arrays)
    ndim = max(depth, *(np.ndim(leaf) for leaf in _leaves(arrays)))

    def join(part: Any, level: int) -> Any:
        if type(part) is list:
            return np.concatenate([join(inner, level - 1) for inner in part], axis=-level)
        leaf = np.stack((part,)) if not np.ndim(part) else part
        return np.reshape(leaf, (1,) * (ndim - np.ndim(leaf)) + np.shape(leaf))

    return join(arrays, depth)


def _depth(part: Any) -> int:
    if type(part) is tuple:
        raise TypeError(
            "only lists can be used to arrange blocks, and np.block does not allow tuples"
        )
    if type(part) is not list:
        return 0
    depths = set(map(_depth, part))
    if len(depths) != 1:
        raise ValueError("list depths are mismatched, or a list is empty")
    return 1 + depths.pop()


def _leaves(part: Any) -> list[Any]:
    return [leaf for inner in part for leaf in _leaves(inner)] if type(part) is list else [part]


@composite(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """The coordinates of a grid, one array per axis."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    order = list(range(len(xi)))
    if indexing == "xy":
        order[:2] = order[1::-1]
    axes = [np.reshape(at_least(1, as_array(x)), -1) for x in xi]
    columns = [
        np.reshape(x, (1,) * place + (-1,) + (1,) * (len(xi) - place - 1))
        for x, place in zip(axes, order, strict=True)
    ]
    if not sparse:
        shape = tuple(axes[order.index(place)].shape[0] for place in range(len(xi)))
        columns = [np.broadcast_to(column, shape) for column in columns]
    return tuple(np.copy(column) if copy else column for column in columns)


# Taking apart


@composite(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Views of the parts between indices, or of nearly equal parts."""
    axis = normalize_axis(axis, np.ndim(ary))
    size = np.shape(ary)[axis]
    if np.ndim(indices_or_sections):
        ends = [*map(operator.index, indices_or_sections), size]
    else:
        sections = operator.index(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(size, sections)
        ends = [each * number + min(number, extra) for number in range(1, sections + 1)]
    return [
        ary[(ALL,) * axis + (slice(start, end),)]
        for start, end in zip([0, *ends], ends, strict=False)
    ]


@composite(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Views of the parts between indices, or of equal parts."""
    if not np.ndim(indices_or_sections) and np.shape(ary)[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return np.array_split(ary, indices_or_sections, axis)


def _split_along(function: Any, least: int, axis: Callable[[int], int]) -> None:
    def handler(ary: Any, indices_or_sections: Any) -> list[Any]:
        if np.ndim(ary) < least:
            raise ValueError(f"only works on arrays of {least} or more dimensions")
        return np.split(ary, indices_or_sections, axis(np.ndim(ary)))

    handler.__name__ = function.__name__
    composite(function)(handler)


_split_along(np.vsplit, 2, lambda ndim: 0)
_split_along(np.hsplit, 1, lambda ndim: int(ndim > 1))
_split_along(np.dsplit, 3, lambda ndim: 2)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices of an array along one axis."""
    axis = normalize_axis(axis, np.ndim(x))
    return tuple(x[(ALL,) * axis + (number,)] for number in range(x.shape[axis]))


if hasattr(np, "unstack"):  # NumPy 2.1
    composite(np.unstack)(unstack)
