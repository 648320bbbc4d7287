"""Sorting, searching, and selection by conditions.

How many elements a condition finds is known only for conditions that are known while recording.
`np.compress` and `np.extract` take those; `np.nonzero` and its kin of a recorded array are refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, along_axis, broadcasting, everywhere
from tracejit.ops.base.creation import as_array, followed, is_recorded, known, type_in_call
from tracejit.ops.base.infer import broadcast_shapes, normalize_axis, promote, strict_axis
from tracejit.ops.base.op import Each, Op, answer, composite, defop
from tracejit.ops.indexing.indexing import RECORDED_MASK, put_along_axis

_INTP = np.dtype(np.intp)


# Order


def _require_no_fields(order: Any) -> None:
    if order is not None:
        raise TypeError(f"order={order!r} names fields, and no dtype with fields is supported")


def _order_call(
    a: Any,
    axis: Any = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
) -> tuple[tuple[Any], dict[str, Any]]:
    _require_no_fields(order)
    if axis is None:
        a, axis = np.reshape(a, -1), 0
    if kind is not None and stable is not None:
        raise ValueError("`kind` and `stable` parameters can't be provided at the same time.")
    params = {"axis": normalize_axis(axis, np.ndim(a)), "kind": "stable" if stable else kind}
    return (a,), params


def _order_source(call: str, **defaults: Any) -> Any:
    """The source of a call whose axis is left out where it is the last one."""

    def source(types: Sequence[ArrayType], axis: int, kind: str | None = None, **kth: Any) -> str:
        options = ["{0}"] * call.startswith("np.") + ["{kth}"] * bool(kth)
        options += ["axis={axis}"] * (axis != types[0].ndim - 1)
        options += ["kind={kind}"] * (kind is not None)
        return f"{call}({', '.join(options)})"

    return source


def _positions_call(a: Any, axis: Any = -1, *args: Any, **keywords: Any) -> Any:
    a = a if np.ndim(a) else np.reshape(a, 1)
    if axis is not None:
        strict_axis(axis, np.ndim(a))
    return _order_call(a, axis, *args, **keywords)


def _positions_type(x: ArrayType, axis: int, **params: Any) -> ArrayType:
    return ArrayType(x.shape, _INTP)


argsort = defop(
    np.argsort,
    canonical=_positions_call,
    infer=_positions_type,
    vjp=(),
    batch=along_axis("argsort"),
    source=_order_source("{0}.argsort"),
    axes=axes.along,
)
sort = defop(
    np.sort,
    canonical=_order_call,
    infer=lambda x, axis, kind: ArrayType(x.shape, x.dtype),
    vjp=lambda g, y, x, axis, kind: put_along_axis(
        g, np.argsort(x, axis=axis, kind=kind), shape=x.shape, axis=axis
    ),
    batch=along_axis("sort"),
    source=_order_source("np.sort"),
    axes=axes.along,
)


def _partition_call(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: None = None
) -> tuple[tuple[Any], dict[str, Any]]:
    if kind != "introselect":
        raise ValueError(f"kind must be 'introselect', not {kind!r}")
    _require_no_fields(order)
    kth = known(kth, "kth")
    if axis is None:
        a, axis = np.reshape(a, -1), 0
    ranks: Any = kth if np.ndim(kth) else (kth,)
    kth, axis = tuple(map(operator.index, ranks)), normalize_axis(axis, np.ndim(a))
    size = np.shape(a)[axis]
    for rank in kth:
        if np.size(a) and not -size <= rank < size:
            raise ValueError(f"kth(={rank}) out of bounds ({size})")
    return (a,), {"kth": kth, "axis": axis}


def _position_partition_call(a: Any, kth: Any, axis: Any = -1, *args: Any, **keywords: Any) -> Any:
    if axis is not None:
        strict_axis(axis, np.ndim(a))
    return _partition_call(a, kth, axis, *args, **keywords)


def _moved(values: Any, before: Any, after: Any, axis: int) -> Any:
    """`values`, one per element of `before`, at the places of the same elements in `after`."""
    ranked = np.take_along_axis(values, np.argsort(before, axis=axis), axis=axis)
    places = np.argsort(after, axis=axis)
    return put_along_axis(ranked, places, shape=after.shape, axis=axis)


partition = defop(
    np.partition,
    canonical=_partition_call,
    infer=lambda x, kth, axis: ArrayType(x.shape, x.dtype),
    vjp=lambda g, y, x, kth, axis: _moved(g, y, x, axis),
    jvp=lambda v, y, x, kth, axis: _moved(v, x, y, axis),
    batch=along_axis("partition"),
    source=_order_source("np.partition"),
    axes=axes.along,
)
argpartition = defop(
    np.argpartition,
    canonical=_position_partition_call,
    infer=_positions_type,
    vjp=(),
    batch=along_axis("argpartition"),
    source=_order_source("np.argpartition"),
    axes=axes.along,
)


@composite(np.sort_complex)
def sort_complex(a: Any) -> Any:
    """The elements in order of their real part, then of their imaginary part; complex."""
    y = np.sort(as_array(a))
    if y.dtype.kind == "c":
        return y
    return y.astype(
        np.complex64 if y.dtype in (np.int8, np.uint8, np.int16, np.uint16) else complex
    )


def _lexsort_type(*keys: ArrayType, axis: int, whole: bool) -> ArrayType:
    shape = keys[0].shape[1:] if whole else keys[0].shape
    if any(key.shape != shape for key in keys if not whole):
        raise ValueError("all keys need to be the same shape")
    return ArrayType(shape, _INTP, "array" if shape else "scalar")


def _lexsort_source(types: Sequence[ArrayType], axis: int, whole: bool) -> str:
    comma = "," if len(types) == 1 else ""
    rest = ", axis={axis})" if axis + 1 < types[0].ndim - whole else ")"
    return ("np.lexsort({0}" if whole else f"np.lexsort(({{operands}}{comma})") + rest


def _lexsort_batch(moved: Moved, *keys: Any, axis: int, whole: bool) -> Any:
    keys = tuple(everywhere(moved, keys))
    if keys[0].ndim == 1 + whole:  # one place in each
        return np.zeros_like(keys[0], dtype=_INTP, shape=keys[0].shape[:1])
    keys = (np.moveaxis(keys[0], 0, 1),) if whole else keys
    return lexsort(*keys, axis=axis + 1, whole=whole)


def _lexsort_axes(types: Sequence[ArrayType], axis: int, whole: bool) -> str:
    """The first axis of a whole array numbers the keys."""
    letters = axes.mixed(axes.letters_of(types[0])[int(whole) :], axis) if types[0].ndim else []
    return axes.text_of([["_"] * whole + letters] * len(types), letters)


lexsort: Op = defop(
    name="lexsort",
    infer=_lexsort_type,
    vjp=(),
    batch=_lexsort_batch,
    source=_lexsort_source,
    axes=_lexsort_axes,
)


def _lexsort_call(keys: Any, axis: Any = -1) -> Any:
    whole = not isinstance(keys, (list, tuple))
    operands = (keys,) if whole else tuple(map(as_array, keys))
    if not operands or (whole and not np.ndim(keys)):
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    ndim = np.ndim(operands[0]) - whole
    return lexsort(*operands, axis=normalize_axis(axis, ndim) if ndim else 0, whole=whole)


answer(np.lexsort, _lexsort_call)


# Searching


def _searchsorted_call(
    a: Any, v: Any, side: str = "left", sorter: Any = None
) -> tuple[tuple[Any, Any], dict[str, Any]]:
    if sorter is not None:
        if np.shape(sorter) != np.shape(a):
            raise ValueError("sorter.size must equal a.size")
        a = np.take(a, sorter)
    if np.ndim(a) != 1:
        raise ValueError("object of too small depth for desired array")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    return (as_array(a), as_array(v)), {"side": side}


def _searchsorted_batch(moved: Moved, a: Any, v: Any, side: str) -> Any:
    return NotImplemented if moved[0] else searchsorted(a, v, side=side)


searchsorted: Op = defop(
    np.searchsorted,
    canonical=_searchsorted_call,
    infer=lambda a, v, side: ArrayType(v.shape, _INTP, "array" if v.shape else "scalar"),
    vjp=(),
    batch=_searchsorted_batch,
    source=lambda types, side: (
        "{0}.searchsorted({1})" if side == "left" else "{0}.searchsorted({1}, {side})"
    ),
    axes="_,...->...",
)


def _of_places(function: Callable[..., Any]) -> Callable[..., Any]:
    """The handler of np.nonzero and its kin, of which each pattern is recorded for itself."""

    def handler(a: Any) -> Any:
        a = as_array(a)
        mask = followed(a if a.dtype.kind == "b" else a != 0)
        if mask is None:
            raise TypeError(
                "the number of places that it finds is not known while the array is being "
                "recorded; index "
                "with a condition, x[condition], or choose with np.where(condition, a, b)"
            )
        return function(mask)

    return handler


for _function in (np.nonzero, np.flatnonzero, np.argwhere):
    answer(_function, _of_places(_function))


# Conditions


def _places(condition: Any) -> Any:
    mask = followed(as_array(condition))
    if mask is None:
        raise TypeError(RECORDED_MASK)
    return np.flatnonzero(mask)


@composite(np.compress)
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    """The slices of `a` where a condition that is known now holds."""
    return np.take(a, _places(condition), axis=axis)


@composite(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """The elements of `arr` where a condition that is known now holds."""
    return np.take(arr, _places(condition))


@composite(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Of each place, the choice whose condition holds there first."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    conditions = [as_array(condition) for condition in condlist]
    for number, condition in enumerate(conditions):
        if type_in_call(condition).dtype.kind != "b":
            raise TypeError(f"invalid entry {number} in condlist: should be boolean ndarray")
    *choices, result = (as_array(choice) for choice in (*choicelist, default))
    dtype = promote(*map(type_in_call, (*choices, result)))
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = np.where(condition, choice, result)
    return result if result.dtype == dtype else result.astype(dtype)


def _choose_call(
    a: Any, choices: Any, mode: str = "raise"
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    options = [as_array(choice) for choice in choices]
    a = a if is_recorded(a) else np.asarray(a)
    if a.dtype.kind not in "biu":
        raise TypeError(f"choices are selected by integers, not by {a.dtype}")
    if mode == "clip":
        a = np.clip(a, 0, len(options) - 1)
    elif mode == "wrap":
        a = np.remainder(a, len(options))
    elif mode != "raise":
        raise TypeError(f"mode={mode!r} is not supported")
    return (a, *options), {}


def _choose_type(a: ArrayType, *choices: ArrayType) -> ArrayType:
    shape = broadcast_shapes(a.shape, *[choice.shape for choice in choices])
    return ArrayType(shape, promote(*choices), "array" if shape else "scalar")


choose = defop(
    np.choose,
    canonical=_choose_call,
    infer=_choose_type,
    vjp=Each(lambda number, g, y, a, *choices: np.where(a == number - 1, g, 0), first=1),
    linear_in="jointly",
    batch=broadcasting("choose"),
    source=lambda types: (
        f"np.choose({{0}}, ({', '.join(f'{{{number}}}' for number in range(1, len(types)))},))"
    ),
    axes=axes.broadcasting,
)
