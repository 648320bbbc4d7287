"""Apply the user's functions to parts of an array: along an axis, over several, piece by piece."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType
from tracejit.ops.base.batching import Moved, everywhere
from tracejit.ops.base.creation import as_array, cast, is_recorded, settled, type_in_call
from tracejit.ops.base.infer import normalize_axis, promote
from tracejit.ops.base.op import composite, defop, literal

# Along and over axes


@composite(np.apply_along_axis)
def apply_along_axis(
    func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """`func1d` of each 1-D slice along an axis: called once per slice while recording."""
    arr = as_array(arr)
    axis = normalize_axis(axis, np.ndim(arr))
    slices = np.moveaxis(arr, axis, -1)
    sizes = slices.shape[:-1]
    if 0 in sizes:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [
        as_array(func1d(slices[place], *args, **kwargs))
        for place in itertools.product(*map(range, sizes))
    ]
    first = type_in_call(results[0])
    stacked = np.stack([_like(result, first) for result in results])
    stacked = np.reshape(stacked, sizes + first.shape)
    order = list(range(len(sizes)))
    places = list(range(len(sizes), stacked.ndim))
    return np.transpose(stacked, [*order[:axis], *places, *order[axis:]])


def _like(result: Any, first: ArrayType) -> Any:
    """A result as it is written into an array of results like the first."""
    kind = type_in_call(result)
    if kind.form == "weak":
        recorded = is_recorded(result)
        result = cast(np.copy(result), first.dtype) if recorded else np.array(result, first.dtype)
    result = result if result.dtype == first.dtype else cast(result, first.dtype)
    return result if np.shape(result) == first.shape else np.broadcast_to(result, first.shape)


# Piece by piece


def _selected_batch(moved: Moved, *operands: Any) -> Any:
    x, condition = everywhere(moved, operands)
    first = np.take_along_axis(x, np.argmax(condition, axis=1, keepdims=True), axis=1)[:, 0]
    return np.where(np.any(condition, axis=1), first, x.dtype.type(1))


# One where a condition holds, or 1: what a function is asked in place of the others.
selected_element = defop(
    name="selected_element",
    infer=lambda x, condition: ArrayType((), x.dtype, "scalar"),
    vjp=(),
    batch=_selected_batch,
    source=lambda types: f"{{0}}[{{1}}.argmax()] if {{1}}.any() else {literal(types[0].dtype)}(1)",
    axes="_,_->",
)


@composite(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Of each element, what the function of the last condition that holds there makes of it.

    A function gets the elements where its condition holds, as in NumPy, if that is known while
    recording. Otherwise it gets all, an element where it holds in place of the others: it must be
    elementwise.
    """
    flat = np.reshape(as_array(x), -1)
    conditions = _conditions(condlist, np.shape(x), len(funclist))
    like = next(filter(is_recorded, [flat, *conditions]), flat)
    y = np.zeros_like(like, dtype=flat.dtype)
    for condition, function in zip(conditions, funclist, strict=True):
        call = _partial(function, args, kw)
        condition = settled(condition)
        if is_recorded(condition):
            y = _chosen(y, flat, condition, call)
        elif callable(function) or np.any(condition):
            y = _placed(y, flat, np.flatnonzero(condition), call)
    return np.reshape(y, np.shape(x))


def _conditions(condlist: Any, shape: tuple[int, ...], functions: int) -> list[Any]:
    """The conditions, flat; at the end that no other holds, where a function is left for it."""
    if np.isscalar(condlist) or (not np.ndim(as_array(condlist[0])) and shape):
        condlist = [condlist]
    conditions = [_flat_condition(condition, shape) for condition in condlist]
    if len(conditions) == functions - 1:
        none = ~conditions[0]
        for condition in conditions[1:]:
            none = none & ~condition
        conditions.append(none)
    if len(conditions) != functions:
        count = len(conditions)
        raise ValueError(
            f"with {count} condition(s), either {count} or {count + 1} functions are expected"
        )
    return conditions


def _flat_condition(condition: Any, shape: tuple[int, ...]) -> Any:
    condition = as_array(condition)
    condition = condition if is_recorded(condition) else np.asarray(condition)
    if np.shape(condition) != shape:
        raise TypeError(f"a condition of shape {np.shape(condition)} for {shape} is not supported")
    flat = np.reshape(condition, -1)
    return flat if flat.dtype == bool else flat.astype(bool)


def _partial(function: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Callable[[Any], Any]:
    """A function of the elements alone: a value is one that is constant."""
    if not callable(function):
        return lambda elements: function
    return lambda elements: function(elements, *args, **kw)


def _placed(y: Any, x: Any, places: Any, call: Callable[[Any], Any]) -> Any:
    """y with the function of the elements at known places there."""
    elements = np.take(x, places)
    pieces = as_array(call(elements)) if places.size else elements
    pieces = _like(pieces, ArrayType(places.shape, y.dtype))
    order = np.arange(x.shape[0])
    order[places] = x.shape[0] + np.arange(places.size)
    return np.take(np.concatenate((y, pieces)), order)


def _chosen(y: Any, x: Any, condition: Any, call: Callable[[Any], Any]) -> Any:
    """y with the function of the elements where a recorded condition holds."""
    if not x.shape[0]:
        return y
    elements = np.where(condition, x, selected_element(x, condition))
    pieces = as_array(call(elements))
    longer = np.concatenate((elements, elements[:1]))
    _require_elementwise(pieces, elements, as_array(call(longer)), longer)
    kind = type_in_call(y)
    if np.ndim(pieces):
        pieces = _like(pieces, kind)
    elif not is_recorded(pieces) or promote(type_in_call(pieces), kind) != y.dtype:
        fitting = _like(pieces, ArrayType((), y.dtype))
        pieces = fitting.item() if _is_plain_number(fitting) else fitting
    return np.where(condition, pieces, y)


def _is_plain_number(value: Any) -> bool:
    """Return whether a Python number stands for `value` next to any array of its dtype."""
    return not is_recorded(value) and value.dtype.kind in "fc" and bool(np.isfinite(value))


def _require_elementwise(piece: Any, given: Any, other: Any, longer: Any) -> None:
    """Refuse a function that makes of each element what depends on others, or on how many there
    are: `piece` and `other` are what it made of `given` and of `longer`, which has one more."""
    if not _is_same_formula(piece, given, other, longer):
        raise TypeError(
            "the conditions are not known yet, so a function is given all elements, and one that "
            "is not elementwise would see too many; choose with np.where(condition, a, b)"
        )


def _is_same_formula(piece: Any, given: Any, other: Any, longer: Any) -> bool:
    """Return whether two results are the same elementwise formula, each of its own operand."""
    if is_recorded(piece) != is_recorded(other):
        return False
    if not is_recorded(piece):
        return _is_same_number(piece, other)
    pending: list[tuple[Value, Value]] = [(piece._value, other._value)]
    seen: set[tuple[Value, Value]] = set()
    while pending:
        pair = one, two = pending.pop()
        if pair in seen or (one is given._value and two is longer._value):
            continue
        seen.add(pair)
        if one is two:
            if one.type.size != 1:
                return False
        elif one.node is None or two.node is None:
            if one.data is None or not _is_same_number(one.data, two.data):
                return False
        else:
            if one.node.op is not two.node.op or one.index != two.index:
                return False
            if one.node.params != two.node.params:
                return False
            if not one.node.op.elementwise and one.node.op.elements != "same":
                return False
            pending += zip(one.node.operands, two.node.operands, strict=True)
    return True


def _is_same_number(one: Any, two: Any) -> bool:
    same = type_in_call(one) is type_in_call(two) and np.size(one) == 1
    return same and np.array_equal(one, two, equal_nan=True)
