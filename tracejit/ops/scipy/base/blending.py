"""Interpolation on grids: sums of a few values for each point, weighted along each axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ops.indexing.indexing import take

Weights = tuple[Any, list[Any]]
"""The places along an axis that points read, in a new first axis, and their weights, None for 1."""


def with_axes(x: Any, count: int) -> Any:
    """`x` with so many axes of length one behind its own."""
    return np.reshape(x, (*np.shape(x), *(1,) * count)) if count else x


def in_a_row(first: Any, weights: list[Any]) -> Weights:
    """The places from the first of them on."""
    return first + np.arange(len(weights)).reshape(-1, *(1,) * np.ndim(first)), weights


def blended(values: Any, along: Sequence[Weights]) -> Any:
    """The sums of the values that each point reads, weighted; points come first, then the axes of
    the values behind those of the grid."""
    count = len(along)
    shape = np.shape(values)
    ndim = np.ndim(along[0][0]) - 1
    flat = np.reshape(values, (-1, *shape[count:]))
    index: Any = 0
    for axis, (places, _) in enumerate(along):
        behind = (slice(None), *(None,) * (count - 1 - axis))
        index = index * shape[axis] + places[behind]
    found = take.record_call(flat, index, axis=0)
    for axis in range(count - 1, -1, -1):
        rest = np.ndim(found) - axis - 1 - ndim
        parts = along[axis][1]
        total: Any = None
        for place, weight in enumerate(parts):
            term = found[(slice(None),) * axis + (place,)]
            term = term if weight is None else term * with_axes(weight, rest)
            total = term if total is None else total + term
        found = total
    return found
