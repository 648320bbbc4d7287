"""Windows that slide over axes of an array: views in which an element stands many times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import along_axis
from tracejit.ops.base.creation import as_array, is_routed, known
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import answer, defop

Sizes = tuple[int, ...]


def _windows_type(x: ArrayType, window_shape: Sizes, axis: Sizes) -> ArrayType:
    sizes = list(x.shape)
    for window, number in zip(window_shape, axis, strict=True):
        sizes[number] -= window - 1
    if min(window_shape, default=0) < 0:
        raise ValueError("`window_shape` cannot contain negative values")
    if any(sizes[number] < 1 for number in axis):
        raise ValueError("window shape cannot be larger than input array shape")
    return ArrayType((*sizes, *window_shape), x.dtype)


def _windows_source(types: Sequence[ArrayType], window_shape: Sizes, axis: Sizes) -> str:
    window, along = (each[0] if len(each) == 1 else each for each in (window_shape, axis))
    rest = "" if axis == tuple(range(types[0].ndim)) else f", axis={along}"
    return f"np.lib.stride_tricks.sliding_window_view({{0}}, {window}{rest})"


def _overlapped(g: Any, y: Any, x: Any, window_shape: Sizes, axis: Sizes) -> Any:
    """The sum over the windows that an element stands in, one axis after the other."""
    for number in reversed(axis):
        g = _summed(np.moveaxis(g, number, -1), number)
    return g


def _summed(g: Any, axis: int) -> Any:
    """The sum over windows along one axis of g[..., place in the window, number of the window].

    With as many zeros behind each row as the window is wide, and read as rows one shorter, row k
    is shifted by k places.
    """
    *others, window, count = g.shape
    if not window:
        return np.zeros_like(g, shape=(*others[:axis], count - 1, *others[axis:]))
    size = count + window - 1
    padded = np.pad(g, [(0, 0)] * (len(others) + 1) + [(0, window)])
    flat = np.reshape(padded, (*others, window * (size + 1)))
    shifted = np.reshape(flat[..., : window * size], (*others, window, size))
    return np.moveaxis(np.sum(shifted, axis=-2), -1, axis)


def _windows_axes(types: Sequence[ArrayType], window_shape: Any, axis: tuple[int, ...]) -> str:
    letters = axes.mixed(axes.letters_of(types[0]), axis)
    return axes.text_of([letters], [*letters, *"_" * len(window_shape)])


windows = defop(
    name="sliding_window_view",
    infer=_windows_type,
    vjp=_overlapped,
    jvp="linear",
    batch=along_axis("sliding_window_view"),
    source=_windows_source,
    view_of=0,
    cost=lambda *types, **params: 0,
    elements="spread",
    view="read-only",
    axes=_windows_axes,
)


def _windows_call(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    if writeable and not is_routed(x):
        raise TypeError("writeable=True is not supported")
    sizes = tuple(np.atleast_1d(np.asarray(known(window_shape, "window_shape"))).tolist())
    x = as_array(x)
    ndim = np.ndim(x)
    if axis is None:
        if len(sizes) != ndim:
            raise ValueError(
                f"Since axis is None, must provide window_shape for all dimensions of `x`; got "
                f"{len(sizes)} window_shape elements and `x.ndim` is {ndim}."
            )
        return windows(x, window_shape=sizes, axis=tuple(range(ndim)))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(axes) != len(sizes):
        raise ValueError(
            f"Must provide matching length window_shape and axis; got {len(sizes)} window_shape "
            f"elements and {len(axes)} axes elements."
        )
    numbers = tuple(normalize_axis(number, ndim) for number in axes)
    return windows(x, window_shape=sizes, axis=numbers)


answer(sliding_window_view, _windows_call)
