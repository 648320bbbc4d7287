"""Elements repeated, inserted, left out, and put in another order."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, behind, rows, spread
from tracejit.ops.base.creation import as_array, cast, is_recorded, known
from tracejit.ops.base.infer import normalize_axis, strict_axis
from tracejit.ops.base.op import Op, answer, composite, defop
from tracejit.ops.shapes.joining import at_least

# Repeating


def _tiled(shape: Shape, reps: Sequence[int]) -> list[tuple[int, int]]:
    """Repetitions and size along each axis of the result."""
    ndim = max(len(shape), len(reps))
    padded = (1,) * (ndim - len(reps)) + tuple(reps), (1,) * (ndim - len(shape)) + shape
    return list(zip(*padded, strict=True))


def _untiled(g: Any, y: Any, x: Any, reps: tuple[int, ...]) -> Any:
    """The sum over all repetitions."""
    pairs = _tiled(x.shape, reps)
    return np.sum(
        np.reshape(g, tuple(size for pair in pairs for size in pair)),
        axis=tuple(range(0, 2 * len(pairs), 2)),
    )


def _tile_batch(moved: Moved, x: Any, reps: tuple[int, ...]) -> Any:
    x = spread(x, True, len(reps))
    return np.tile(x, (1,) * (x.ndim - len(reps)) + reps)


def _tile_axes(types: Sequence[ArrayType], reps: tuple[int, ...]) -> str:
    """Axes that are there once stay."""
    pairs = _tiled(types[0].shape, reps)
    letters = axes.letters_of(ArrayType(tuple(size for _, size in pairs), types[0].dtype))
    repeated = tuple(k for k, (count, _) in enumerate(pairs) if not axes.is_one(count))
    made = axes.mixed(letters, repeated)
    return axes.text_of([made[len(pairs) - types[0].ndim :]], made)


tile = defop(
    np.tile,
    canonical=lambda A, reps: ((A,), {"reps": _repetitions(reps)}),
    infer=lambda x, reps: ArrayType(tuple(map(math.prod, _tiled(x.shape, reps))), x.dtype),
    vjp=_untiled,
    jvp="linear",
    batch=_tile_batch,
    source=lambda types, reps: (
        f"np.tile({{0}}, {reps[0]})" if len(reps) == 1 else "np.tile({0}, {reps})"
    ),
    elements="spread",
    axes=_tile_axes,
)


def _repetitions(reps: Any) -> tuple[int, ...]:
    reps = known(reps, "reps")
    return tuple(map(operator.index, reps if np.ndim(reps) else (reps,)))


def _repeat_type(x: ArrayType, repeats: int, axis: int) -> ArrayType:
    if repeats < 0:
        raise ValueError("repeats may not contain negative values.")
    shape = (*x.shape[:axis], x.shape[axis] * repeats, *x.shape[axis + 1 :])
    return ArrayType(shape, x.dtype)


repeat: Op = defop(
    name="repeat",
    infer=_repeat_type,
    vjp=lambda g, y, x, repeats, axis: np.sum(
        np.reshape(g, (*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :])), axis=axis + 1
    ),
    jvp="linear",
    batch=lambda moved, x, repeats, axis: repeat(x, repeats=repeats, axis=axis + 1),
    source=lambda types, repeats, axis: (
        "{0}.repeat({repeats}, axis={axis})" if types[0].ndim > 1 else "{0}.repeat({repeats})"
    ),
    elements="spread",
    axes=lambda types, repeats, axis: axes.along(types, () if type(repeats) is int else axis),
)


def _repeat_call(a: Any, repeats: Any, axis: Any = None) -> Any:
    if axis is None or (not np.ndim(a) and axis in (0, -1)):
        a, axis = a if np.ndim(a) == 1 else np.reshape(at_least(1, a), -1), 0
    axis = strict_axis(axis, np.ndim(a))
    counts = np.asarray(known(repeats, "repeats"))
    if counts.size == 1:
        return repeat(a, repeats=operator.index(counts.item()), axis=axis)
    return np.take(a, np.repeat(np.arange(a.shape[axis]), counts), axis=axis)


answer(np.repeat, _repeat_call)


# Inserting


@composite(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """`arr` without the slices at the places `obj`."""
    if axis is None:
        arr, axis = np.reshape(arr, -1), 0
    axis = normalize_axis(axis, np.ndim(arr))
    kept = np.delete(np.arange(np.shape(arr)[axis]), known(obj, "obj"))
    return np.take(arr, kept, axis=axis)


@composite(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """`values` before the places `obj` of `arr`, cast to its dtype."""
    if axis is None:
        arr, axis = np.reshape(arr, -1), 0
    axis = normalize_axis(axis, np.ndim(arr))
    size = arr.shape[axis]
    places = np.asarray(np.arange(size)[obj] if isinstance(obj, slice) else known(obj, "obj"))
    if places.dtype == bool:
        places = np.flatnonzero(places)
    elif not places.size:
        places = places.astype(np.intp)
    values = as_array(values)
    if is_recorded(values):
        values = cast(at_least(1, values), arr.dtype)
    else:
        values = np.array(values, arr.dtype, ndmin=1)
    values = np.reshape(values, (1,) * (arr.ndim - np.ndim(values)) + np.shape(values))
    if not places.ndim:
        values = np.moveaxis(values, 0, axis)
    count = values.shape[axis] if places.size == 1 else places.size
    room = np.broadcast_to(values, (*arr.shape[:axis], count, *arr.shape[axis + 1 :]))
    before = np.broadcast_to(places.reshape(-1), (count,))
    order = np.insert(np.arange(size), before, np.arange(size, size + count))
    return np.take(np.concatenate((arr, room), axis=axis), order, axis=axis)


# Rearranging


def _roll_call(a: Any, shift: Any, axis: Any = None) -> tuple[tuple[Any], dict[str, Any]]:
    shifts = known(shift, "shift")
    if axis is None:
        return (a,), {"shift": int(np.sum(shifts)), "axis": None}
    numbers = axis if isinstance(axis, (tuple, list)) else (axis,)
    pairs = [*np.broadcast(shifts, [normalize_axis(number, np.ndim(a)) for number in numbers])]
    amounts, axes = (tuple(operator.index(pair[k]) for pair in pairs) for k in (0, 1))
    if len(pairs) == 1:
        return (a,), {"shift": amounts[0], "axis": axes[0]}
    return (a,), {"shift": amounts, "axis": axes}


def _negated(shift: Any) -> Any:
    return tuple(-amount for amount in shift) if isinstance(shift, tuple) else -shift


def _roll_batch(moved: Moved, x: Any, shift: Any, axis: Any) -> Any:
    if axis is None:
        return np.reshape(np.roll(rows(x), shift, 1), x.shape)
    return np.roll(x, shift, behind(axis))


roll = defop(
    np.roll,
    canonical=_roll_call,
    infer=lambda x, shift, axis: ArrayType(x.shape, x.dtype),
    vjp=lambda g, y, x, shift, axis: np.roll(g, _negated(shift), axis),
    jvp="linear",
    batch=_roll_batch,
    source=lambda types, shift, axis: (
        "np.roll({0}, {shift})" if axis is None else "np.roll({0}, {shift}, axis={axis})"
    ),
    elements="permuted",
    axes=axes.along,
)
