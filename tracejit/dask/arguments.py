"""Dask arrays among the arguments of a call: along which axis they are split, and into which
blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dask.array as da
import numpy as np

from tracejit.support.errors import fail
from tracejit.trace import places


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
    """The blocks of the Dask arrays of a call. Raises ArgumentError where they are not the same
    rows."""
    for name, array in arrays.items():
        _check(function, name, array)
    cut = {
        name: [axis for axis, sizes in enumerate(array.chunks) if len(sizes) > 1]
        for name, array in arrays.items()
    }
    for name, axes in cut.items():
        if len(axes) > 1:
            words = f"{name} is cut along the axes {', '.join(map(str, axes))}"
            _refuse(function, words, f"cut it along one: {name}.rechunk({{{axes[1]}: -1}}).")
    chunks = {name: arrays[name].chunks[axes[0]] for name, axes in cut.items() if axes}
    if not chunks:
        first = next(array for array in arrays.values())
        chunks = {"": first.chunks[0] if first.ndim else ()}
    first_name, rows = next(iter(chunks.items()))
    for name, sizes in chunks.items():
        if sum(sizes) != sum(rows):
            words = f"{first_name} has {sum(rows)} rows, {name} has {sum(sizes)}"
            _refuse(function, words, "pass arrays of the same rows.")
        if sizes != rows:
            words = f"the rows of {first_name} and {name} are in other blocks"
            fix = f"rechunk one: {name}.rechunk({{{cut[name][0]}: {first_name}.chunks[{cut[first_name][0]}]}})."
            _refuse(function, words, fix)
    axes = {name: axes[0] for name, axes in cut.items() if axes}
    whole = []
    for name, array in arrays.items():
        if name in axes:
            continue
        if array.ndim and array.shape[0] == sum(rows) and len(rows) == 1:
            axes[name] = 0
        else:
            whole.append(name)
    if not axes:
        _refuse(function, "no Dask array has rows", "call the function on NumPy arrays.")
    return Split({name: axes[name] for name in arrays if name in axes}, rows, tuple(whole))


def _check(function: str, name: str, array: Any) -> None:
    """Refuse a Dask array whose blocks are no NumPy arrays of known sizes."""
    if any(math.isnan(size) for sizes in array.chunks for size in sizes):
        words = f"the number of rows in the blocks of {name} is not known"
        _refuse(function, words, f"let Dask count them first: {name}.compute_chunk_sizes().")
    if type(array._meta) is not np.ndarray:
        kind = type(array._meta).__name__
        _refuse(function, f"the blocks of {name} are of {kind}", "pass blocks of NumPy arrays.")
    if array.dtype.kind not in "biufc" or not array.dtype.isnative:
        _refuse(function, f"{name} has dtype {array.dtype}", "convert it with .astype(...).")


def _refuse(function: str, problem: str, fix: str) -> None:
    raise fail("dask-arguments", places.here(), function=function, problem=problem, fix=fix)


def cumulative(chunks: Sequence[int]) -> list[int]:
    """The number of the first row of each block."""
    return [0, *np.cumsum(chunks[:-1]).tolist()] if chunks else []
