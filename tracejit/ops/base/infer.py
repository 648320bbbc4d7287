"""Result types that several areas of ops share: broadcasting, promotion, axes, reductions.

Errors are ValueError with the problem alone; the recorder adds the user's call and line.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from tracejit.ir.dims import Dim
from tracejit.ir.types import PYTHON_TYPES, ArrayType, Shape, type_of
from tracejit.support.memo import Table


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that `shapes` broadcast to."""
    first = shapes[0]
    if all(shape == () or are_alike(shape, first) for shape in shapes):
        return first
    result: list[int] = []
    for position in range(-max(map(len, shapes)), 0):
        found = 1
        for shape in shapes:
            size = shape[position] if len(shape) >= -position else 1
            if is_repeated(size):
                continue
            if is_repeated(found):
                found = size
            elif found != size:
                listed = " and ".join(map(str, shapes))
                raise ValueError(f"shapes {listed} cannot be broadcast together")
        result.append(found)
    return tuple(result)


def _stays_free(size: Any) -> bool:
    """Return whether a size is a dimension that stays free, whatever is asked of it."""
    return type(size) is Dim and size.sizes.stay_free


def is_repeated(size: Any) -> bool:
    """Return whether broadcasting repeats an axis of this size: it is 1.

    A dimension that stays free is not: one row broadcasts with others of its size as several do.
    """
    return not _stays_free(size) and size == 1


def are_alike(one: Shape, other: Shape) -> bool:
    """Return whether two shapes are equal, neither being repeated to become the other."""
    pairs = zip(one, other, strict=False)
    if len(one) != len(other) or any(_stays_free(a) != _stays_free(b) for a, b in pairs):
        return False
    return one == other


def promotion_key(type: ArrayType) -> Any:
    """The key by which a ufunc promotes: the dtype, or the Python type of a weak number."""
    if type.form == "weak" and type.dtype.kind != "b":
        return PYTHON_TYPES[type.dtype.kind]
    return type.dtype


@cache
def _ufunc_dtypes(ufunc: np.ufunc, keys: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    if not any(isinstance(key, np.dtype) for key in keys):
        keys = tuple(np.dtype(key) for key in keys)
    dtypes = ufunc.resolve_dtypes((*keys, *[None] * ufunc.nout))
    return tuple(dtypes[ufunc.nin :])


def ufunc_dtypes(ufunc: np.ufunc, *types: ArrayType) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the ufunc's results, by NumPy's own promotion."""
    try:
        return _ufunc_dtypes(ufunc, tuple(map(promotion_key, types)))
    except TypeError as error:
        dtypes = ", ".join(str(type.dtype) for type in types)
        raise TypeError(f"{ufunc.__name__} is not defined for dtype {dtypes}") from error


def ufunc_dtype(ufunc: np.ufunc, *types: ArrayType) -> np.dtype[Any]:
    """The dtype of the ufunc's (first) result, by NumPy's own promotion."""
    return ufunc_dtypes(ufunc, *types)[0]


def promote(*types: ArrayType) -> np.dtype[Any]:
    """The common dtype of values that are put side by side, weak numbers giving way."""
    keys = [type.dtype if type.form != "weak" else _sample(type) for type in types]
    return np.result_type(*keys)


def _sample(type: ArrayType) -> Any:
    return PYTHON_TYPES[type.dtype.kind](0)


def ufunc_type(ufunc: np.ufunc) -> Callable[..., ArrayType]:
    """The infer of an elementwise ufunc: broadcast shape, promoted dtype; 0-d gives a NumPy
    scalar."""

    known = Table()

    def infer(*types: ArrayType) -> ArrayType:
        result: ArrayType | None = known.get(types)
        if result is None:
            shape = broadcast_shapes(*[type.shape for type in types])
            dtype = ufunc_dtype(ufunc, *types)
            result = ArrayType(shape, dtype, "array" if shape else "scalar")
            if all(type.sizes is None for type in types):
                known.keep(types, result)
        return result

    return infer


def normalize_axis(axis: Any, ndim: int) -> int:
    """`axis` as a number from 0 on; AxisError if there is no such axis."""
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise AxisError(number, ndim)
    return number % ndim


def strict_axis(axis: Any, ndim: int) -> int:
    """`normalize_axis` as NumPy's C functions have it: True is not a number of an axis.

    >>> normalize_axis(True, 2), strict_axis(-1, 2)
    (1, 1)
    >>> strict_axis(True, 2)
    Traceback (most recent call last):
    TypeError: an integer is required for the axis
    """
    if isinstance(axis, bool):
        raise TypeError("an integer is required for the axis")
    return normalize_axis(axis, ndim)


def strict_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """`normalize_axes` as NumPy's C functions have it: a list is not an axis, nor is True one."""
    for number in axis if isinstance(axis, tuple) else (axis,):
        if number is not None or isinstance(axis, tuple):
            strict_axis(number, ndim)
    return normalize_axes(axis, ndim)


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """`axis` (None, a number or a sequence) as a sorted tuple of numbers from 0 on."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    numbers = tuple(sorted(normalize_axis(number, ndim) for number in axes))
    if len(set(numbers)) != len(numbers):
        raise ValueError("duplicate value in 'axis'")
    return numbers


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """`shape` without `axes`, or with ones in their place."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def slice_length(size: int, start: int | None, stop: int | None, step: int | None) -> int:
    """The number of elements of `size` that a slice selects, as in Python; also of free dimensions.

    >>> slice_length(10, 1, -1, None), slice_length(10, None, None, -3), slice_length(3, 5, 9, 1)
    (8, 4, 0)
    """
    if step is None and start is None and stop is None:
        return size
    step = 1 if step is None else operator.index(step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first = _clipped(start, size, low, high) if start is not None else (low if step > 0 else high)
    last = _clipped(stop, size, low, high) if stop is not None else (high if step > 0 else low)
    distance = last - first if step > 0 else first - last
    return 0 if distance < 0 else (distance + abs(step) - 1) // abs(step)


def _clipped(bound: int, size: int, low: int, high: int) -> int:
    """A bound of a slice counted from the front, within the array."""
    bound = bound + size if bound < 0 else bound
    return low if bound < low else high if bound > high else bound


def ones_of(type: ArrayType) -> Any:
    """Ones of a type: an array, a NumPy scalar or a Python number."""
    if type.form == "weak":
        return PYTHON_TYPES[type.dtype.kind](1)
    return type.dtype.type(1) if type.form == "scalar" else np.ones(type.shape, type.dtype)


@lru_cache(4096)
def _answered(
    function: Callable[..., Any], types: tuple[ArrayType, ...], params: tuple[tuple[str, Any], ...]
) -> tuple[ArrayType, ...]:
    with np.errstate(all="ignore"):
        answered = function(*map(ones_of, types), **dict(params))
    results = answered if isinstance(answered, tuple) else (answered,)
    kinds = [type_of(result) for result in results]
    return tuple([kind for kind in kinds if kind is not None])


def answered(function: Callable[..., Any], *types: ArrayType, **params: Any) -> ArrayType:
    """The type that a function answers to ones of these types; raises what it raises."""
    return answers(function, *types, **params)[0]


def answers(
    function: Callable[..., Any], *types: ArrayType, **params: Any
) -> tuple[ArrayType, ...]:
    """The types of the results of a function of ones."""
    return _answered(function, types, tuple(params.items()))


def few(x: ArrayType, size: int = 1) -> ArrayType:
    """The type of a short vector with the dtype of `x`."""
    return ArrayType((size,), x.dtype)


@cache
def _reduced_dtype(ufunc: np.ufunc, dtype: np.dtype[Any]) -> np.dtype[Any]:
    result: np.dtype[Any] = ufunc.reduce(np.ones(1, dtype)).dtype
    return result


def reduction_type(ufunc: np.ufunc) -> Callable[..., ArrayType]:
    """The infer of ufunc.reduce over a tuple of axes; a full reduction gives a NumPy scalar."""

    def infer(x: ArrayType, axis: tuple[int, ...], keepdims: bool = False) -> ArrayType:
        shape = reduced_shape(x.shape, axis, keepdims)
        return ArrayType(shape, _reduced_dtype(ufunc, x.dtype), "array" if shape else "scalar")

    return infer
