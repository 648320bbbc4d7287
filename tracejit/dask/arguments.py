"""Dask arrays among the arguments of a call: the axis that they are split along, and blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import dask.array as da
import numpy as np

from tracejit.support.errors import fail
from tracejit.trace.source import places


class Split(NamedTuple):
    """The Dask arrays of a call that are split: the axis of the rows of each, by leaf name, and
    how many rows each block has. Dask arrays of one block that have other rows are `whole`."""

    axes: Mapping[str, int]
    chunks: tuple[int, ...]
    whole: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return sum(self.chunks)


def is_dask(value: Any) -> bool:
    """Return whether an argument is a Dask array."""
    return isinstance(value, da.Array)


def split_of(function: str, arrays: Mapping[str, Any]) -> Split:
    """The blocks of the Dask arrays of a call. Raises ArgumentError if they are not the same
    rows."""
    for name, array in arrays.items():
        _check(function, name, array)
    cut = {name: axis for name, array in arrays.items() if (axis := _cut_axis(array)) is not None}
    first = next(iter(cut), None)
    if first is None:
        # One block each: rows are the first axis of the first array that has one.
        first = next((name for name, array in arrays.items() if array.ndim), None)
        if first is None:
            _refuse(function, "no Dask array has rows", "call the function on NumPy arrays.")
        rows = arrays[first].chunks[0]
        axes = {name: 0 for name, array in arrays.items() if array.chunks[:1] == (rows,)}
    else:
        rows = arrays[first].chunks[cut[first]]
        for name, axis in cut.items():
            _check_same(function, first, rows, name, arrays[name].chunks[axis], axis)
        axes = cut
    return Split(axes, rows, tuple([name for name in arrays if name not in axes]))


def _cut_axis(array: Any) -> int | None:
    """The axis along which an array is in several blocks."""
    return next((axis for axis, sizes in enumerate(array.chunks) if len(sizes) > 1), None)


def _check(function: str, name: str, array: Any) -> None:
    """Refuse a Dask array that is not a row of NumPy arrays of known sizes."""
    if any(math.isnan(size) for sizes in array.chunks for size in sizes):
        words = f"the number of rows in the blocks of {name} is not known"
        _refuse(function, words, f"let Dask count them first: {name}.compute_chunk_sizes().")
    if type(array._meta) is not np.ndarray:
        kind = type(array._meta).__name__
        _refuse(function, f"the blocks of {name} are of {kind}", "pass blocks of NumPy arrays.")
    if array.dtype.kind not in "biufc" or not array.dtype.isnative:
        _refuse(function, f"{name} has dtype {array.dtype}", "convert it with .astype(...).")
    axes = [axis for axis, sizes in enumerate(array.chunks) if len(sizes) > 1]
    if len(axes) > 1:
        words = f"{name} is split along the axes {', '.join(map(str, axes))}"
        _refuse(function, words, f"split it along one axis: {name}.rechunk({{{axes[1]}: -1}}).")


def _check_same(
    function: str,
    first: str,
    rows: tuple[int, ...],
    name: str,
    sizes: tuple[int, ...],
    axis: int,
) -> None:
    """Refuse an array that has other blocks along its axis than the first one."""
    if sum(sizes) != sum(rows):
        words = f"{first} has {sum(rows)} rows, {name} has {sum(sizes)}"
        _refuse(function, words, "pass arrays with the same rows.")
    if sizes != rows:
        words = f"{first} and {name} have their rows in different blocks"
        chunks = f"{first}.chunks[0]" if not axis else f"the blocks of {first}"
        _refuse(function, words, f"rechunk one: {name}.rechunk({{{axis}: {chunks}}}).")


def refuse_tensor(function: str, name: str) -> NoReturn:
    """Refuse a Tensor beside Dask arrays: a tape or a transform would lose its derivative."""
    words = f"{name} is a Tensor, but tapes and transforms do not see computations on Dask arrays"
    _refuse(function, words, f"use tracejit.dask.value_and_grad, or pass {name}.numpy().")


def _refuse(function: str, problem: str, fix: str) -> NoReturn:
    raise fail("dask-arguments", places.here(), function=function, problem=problem, fix=fix)
