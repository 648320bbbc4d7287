"""Views of captured arrays as operations on the array: `A.T`, `X[b : b + 10]`, `data[i]`.

NumPy tells of a view only where it begins and its strides. From these and the array's own follow
the index, the order of axes, or the reshape that makes it. What was found is applied to the array
itself and compared: it is exactly this view, or no answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class CapturedView(NamedTuple):
    """The steps that make a view: index with `taken`, put the axes in `order`, insert `new_axes`.
    If `flat` is given, the view is the elements in C order between these two places, in `shape`."""

    taken: tuple[int | slice, ...] = ()
    order: tuple[int, ...] = ()
    new_axes: tuple[int, ...] = ()
    flat: tuple[int, int] | None = None
    shape: tuple[int, ...] = ()

    def of(self, array: Any) -> Any:
        """The view of an array or Tensor."""
        if self.flat is not None:
            start, stop = self.flat
            if stop - start == array.size:
                return np.reshape(array, self.shape)
            part = np.reshape(array, (-1,))[start:stop]
            return part if len(self.shape) == 1 else np.reshape(part, self.shape)
        if any(one != slice(None) for one in self.taken):
            numbers = all(type(one) is int for one in self.taken)  # of a view, a 0-d array
            array = array[(*self.taken, ...) if numbers else self.taken]
        if self.order != tuple(range(len(self.order))):
            array = np.transpose(array, self.order)
        return np.expand_dims(array, self.new_axes) if self.new_axes else array


def view_between(array: np.ndarray, view: np.ndarray) -> CapturedView | None:
    """Find the steps that make `view` from `array`; None if basic indexing, another order of
    axes and reshaping do not make it."""
    if type(array) is not np.ndarray or array.dtype != view.dtype or not view.size:
        return None
    for found in (_by_strides(array, view), _by_order(array, view)):
        if found is not None and _is_same(found.of(array), view):
            return found
    return None


def _is_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays are the same view of the same memory."""
    if one.shape != other.shape or _address(one) != _address(other):
        return False
    pairs = zip(one.shape, one.strides, other.strides, strict=True)
    return all(mine == its for size, mine, its in pairs if size > 1)


def _address(array: np.ndarray) -> int:
    """The address of the first element."""
    address: int = array.__array_interface__["data"][0]
    return address


def _by_strides(array: np.ndarray, view: np.ndarray) -> CapturedView | None:
    """The index and the order of axes: every axis of the view runs along one of the array."""
    if 0 in [step for step, size in zip(array.strides, array.shape, strict=True) if size > 1]:
        return None
    starts = _starts(array, _address(view) - _address(array))
    along = _axes_along(array, view) if starts is not None else None
    if starts is None or along is None:
        return None
    index: list[int | slice] = list(starts)
    for axis, own in along.items():
        size = array.shape[own]
        step = view.strides[axis] // array.strides[own] if view.shape[axis] > 1 else 1
        index[own] = _slice(starts[own], step, view.shape[axis], size)
    kept = sorted(along.values())
    order = tuple([kept.index(along[axis]) for axis in sorted(along)])
    new_axes = tuple([axis for axis in range(view.ndim) if axis not in along])
    return CapturedView(tuple(index), order, new_axes)


def _starts(array: np.ndarray, offset: int) -> list[int] | None:
    """The index of the element that lies `offset` bytes after the first."""
    starts = [0] * array.ndim
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    # From the lowest address on all steps lead upwards, and the longest come first.
    for axis in axes:
        offset -= min(0, array.strides[axis]) * (array.shape[axis] - 1)
    for axis in sorted(axes, key=lambda axis: -abs(array.strides[axis])):
        last, step = array.shape[axis] - 1, array.strides[axis]
        count = min(offset // abs(step), last)
        offset -= count * abs(step)
        starts[axis] = count if step > 0 else last - count
    return starts if offset == 0 and all(start >= 0 for start in starts) else None


def _axes_along(array: np.ndarray, view: np.ndarray) -> dict[int, int] | None:
    """The axis of the array that each axis of the view runs along; an axis of size 1 may be new."""
    along: dict[int, int] = {}
    long_first = sorted(range(view.ndim), key=lambda axis: -abs(view.strides[axis]))
    for axis in sorted(long_first, key=lambda axis: view.shape[axis] == 1):
        size, step = view.shape[axis], view.strides[axis]
        free = [own for own in range(array.ndim) if own not in along.values()]
        if size > 1:
            fitting = [own for own in free if _runs_along(array, own, size, step)]
            if not fitting:
                return None
        else:
            fitting = [own for own in free if array.strides[own] == step]
        if fitting:
            along[axis] = max(fitting, key=lambda own: abs(array.strides[own]))
    return along


def _runs_along(array: np.ndarray, axis: int, size: int, step: int) -> bool:
    """Return whether so many elements with this stride may lie along an axis."""
    if array.shape[axis] == 1 or not step or step % array.strides[axis]:
        return False
    return bool(abs(step // array.strides[axis]) * (size - 1) < array.shape[axis])


def _slice(start: int, step: int, count: int, size: int) -> slice:
    """The slice as a user would write it."""
    stop = start + step * count
    if step > 0:
        return slice(start or None, stop if stop < size else None, step if step > 1 else None)
    return slice(start if start < size - 1 else None, stop if stop >= 0 else None, step)


def _by_order(array: np.ndarray, view: np.ndarray) -> CapturedView | None:
    """The stretch of elements and its shape, where both lie in C order."""
    if not (array.flags.c_contiguous and view.flags.c_contiguous):
        return None
    start, rest = divmod(_address(view) - _address(array), array.itemsize)
    if rest or start < 0 or start + view.size > array.size:
        return None
    return CapturedView(flat=(start, start + view.size), shape=view.shape)
