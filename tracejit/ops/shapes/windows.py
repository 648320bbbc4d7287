"""Windows that slide over axes of an array: views in which an element appears many times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.batching import along_axis, behind
from tracejit.ops.base.creation import as_array, filled, is_routed, known
from tracejit.ops.base.infer import normalize_axis
from tracejit.ops.base.op import Op, answer, defop, literal

Sizes = tuple[int, ...]
STEPS = "ijkl"


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
    """The sum over the windows that an element stands in. Of several windows along one axis the
    last slides over the others."""
    if not axis:
        return g
    shape = [*np.shape(x), *window_shape]
    for window, number in zip(window_shape, axis, strict=True):
        shape[number] -= window - 1
    while len(set(axis)) < len(axis):
        window, number = window_shape[-1], axis[-1]
        window_shape, axis = window_shape[:-1], axis[:-1]
        shape.pop()
        shape[number] += window - 1
        g = add_windows(g, shape=tuple(shape), window_shape=(window,), axis=(number,))
    return add_windows(g, shape=np.shape(x), window_shape=window_shape, axis=axis)


def _added_lines(
    types: Sequence[ArrayType], shape: Shape, window_shape: Sizes, axis: Sizes
) -> list[str]:
    """Loops over the places in a window, or over the windows of a vector where these are fewer."""
    whole = [":"] * len(shape)
    places = [":"] * len(window_shape)
    windows, indent = [*whole], ""
    lines = [f"{{out}} = {filled(shape, 0, types[0].dtype)}"]
    for place, (window, number) in enumerate(zip(window_shape, axis, strict=True)):
        count, step = types[0].shape[number], STEPS[place] if place < len(STEPS) else f"i_{place}"
        if len(shape) == 1 and type(count) is int and count < window:
            steps, length, windows[number] = count, window, step
        else:
            steps, length, places[place] = window, count, step
        lines.append(f"{indent}for {step} in range({literal(steps)}):")
        whole[number] = f"{step}:{step} + {literal(length)}"
        indent += "    "
    to, of = (_index_text(entries) for entries in (whole, [*windows, *places]))
    return [*lines, f"{indent}{{out}}[{to}] += {{0}}[{of}]"]


def _index_text(entries: Sequence[str]) -> str:
    """The entries of an index, without what is the same without."""
    first = next(k for k, entry in enumerate(entries) if entry != ":")
    last = max(k for k, entry in enumerate(entries) if entry != ":")
    head = ["..."] if first > 1 and last == len(entries) - 1 else entries[:first]
    return ", ".join([*head, *entries[first : last + 1]])


def _windows_axes(types: Sequence[ArrayType], window_shape: Any, axis: tuple[int, ...]) -> str:
    letters = axes.mixed(axes.letters_of(types[0]), axis)
    return axes.text_of([letters], [*letters, *"_" * len(window_shape)])


def _added_axes(
    types: Sequence[ArrayType], shape: Shape, axis: tuple[int, ...], **params: Any
) -> str:
    letters = axes.mixed(axes.letters_of(types[0])[: len(shape)], axis)
    return axes.text_of([[*letters, *"_" * len(axis)]], letters)


windows: Op = defop(
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


def _added_reads(
    k: int, types: Sequence[ArrayType], integers: Any, shape: Shape, **params: Any
) -> tuple[Any, Any]:
    """The element that each is added to."""
    places = np.arange(int(np.prod(shape))).reshape(shape)
    targets = windows.evaluate(places, **params).ravel()
    return targets, np.arange(targets.size)


add_windows: Op = defop(
    name="add_windows",
    infer=lambda g, shape, **params: ArrayType(shape, g.dtype),
    vjp=lambda g, y, v, shape, **params: windows(g, **params),
    jvp="linear",
    batch=lambda moved, v, shape, axis, **params: add_windows(
        v, shape=(v.shape[0], *shape), axis=behind(axis), **params
    ),
    statements=_added_lines,
    axes=_added_axes,
    reads=_added_reads,
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
