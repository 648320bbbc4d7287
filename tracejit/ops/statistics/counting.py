"""Counts and histograms: how many elements fall where, or the sum of their weights.

Counts are piecewise constant in the elements and linear in the weights. The edges of a histogram
that is given the number of its bins lie evenly between the least and the greatest element, and have
a gradient; so has a density by them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.ir.types import PYTHON_TYPES, ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, in_front, size_of
from tracejit.ops.base.creation import (
    as_array,
    followed,
    is_recorded,
    known,
    settled,
    type_in_call,
)
from tracejit.ops.base.op import Op, Rule, answer, composite, defop

_INTP = np.dtype(np.intp)

# bincount


def _sum_type(x: ArrayType, *weights: ArrayType, size: int, minlength: int = 0) -> ArrayType:
    return ArrayType((size,), np.dtype(np.float64) if weights and x.size else _INTP)


def _sum_source(types: Sequence[ArrayType], size: int, minlength: int = 0) -> str:
    return "np.bincount({operands}" + (", minlength={minlength})" if minlength else ")")


def _sum_batch(moved: Moved, x: Any, *weights: Any, size: int, minlength: int = 0) -> Any:
    """One count for all elements, each in a range of numbers of its own."""
    batch = size_of(moved, (x, *weights))
    found = np.float64 if weights and math.prod(x.shape[moved[0] :]) else _INTP
    numbers = x + size * np.arange(batch)[:, None]
    wholes = [in_front(each, there, batch) for each, there in zip(weights, moved[1:], strict=True)]
    operands = [np.ravel(each) for each in (numbers, *wholes)]
    sums = bincount(*operands, size=batch * size, minlength=batch * size)
    return np.reshape(sums if sums.dtype == found else sums.astype(found), (batch, size))


def _bincount_axes(types: Sequence[ArrayType], size: int, minlength: int = 0) -> str:
    """As many sums for every block where there are as many as are asked for."""
    letters = "a" if type(minlength) is int and size == minlength else "_"
    return axes.text_of([letters] * len(types), "_")


bincount: Op = defop(
    name="bincount",
    infer=_sum_type,
    vjp=(None, lambda g, y, x, weights, size, minlength=0: np.take(g, x)),
    linear_in=(1,),
    batch=_sum_batch,
    source=_sum_source,
    axes=_bincount_axes,
)


def _in_double(weights: Any) -> Any:
    """Weights as np.bincount adds them."""
    kind = type_in_call(weights).dtype
    if not np.can_cast(kind, np.float64):
        raise TypeError(f"weights of dtype {kind} cannot be added in double precision")
    return weights


def _bincount_call(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    x = followed(settled(as_array(x) if np.shape(x) != (0,) else np.asarray(x, np.intp)))
    if x is None:
        raise TypeError(
            "the length of the result depends on the values of x, which are not known yet; for n "
            "counts write np.sum(x[:, None] == np.arange(n), axis=0)"
        )
    least = operator.index(known(minlength, "minlength"))
    counts = np.bincount(x, minlength=least)
    if weights is None:
        return counts
    weights = _in_double(as_array(weights))
    if np.ndim(weights) != 1:
        raise ValueError("object of too small depth for desired array")
    if np.shape(weights) != np.shape(x):
        raise ValueError("The weights and list don't have the same length.")
    options = {"minlength": least} if least else {}
    return bincount(x, weights, size=counts.size, **options)


answer(np.bincount, _bincount_call)


# digitize


def _digitize_call(x: Any, bins: Any, right: Any = False) -> tuple[tuple[Any, Any], dict[str, Any]]:
    if type_in_call(as_array(x)).dtype.kind == "c":
        raise TypeError("x may not be complex")
    if np.ndim(bins) != 1:
        raise ValueError("object of too small depth for desired array")
    return (as_array(x), as_array(bins)), {"right": True} if right else {}


def _digitize_batch(moved: Moved, x: Any, bins: Any, **params: Any) -> Any:
    return NotImplemented if moved[1] else digitize(x, bins, **params)


digitize: Op = defop(
    np.digitize,
    canonical=_digitize_call,
    infer=lambda x, bins, right=False: ArrayType(x.shape, _INTP, "array" if x.shape else "scalar"),
    vjp=(),
    batch=_digitize_batch,
    source=lambda types, right=False: "np.digitize({0}, {1}" + (", right=True)" if right else ")"),
    axes="...,_->...",
)


# Edges of histograms


def _outer(a: Any) -> tuple[Any, Any]:
    """The shares of each element of `a` in the least of them, and in the greatest."""
    lowest, highest = (np.equal(a, end).astype(a.dtype) for end in (np.min(a), np.max(a)))
    return lowest / np.sum(lowest), highest / np.sum(highest)


def _fractions(y: Any) -> Any:
    """The position of each edge between the first and the last, from 0 to 1."""
    return np.linspace(0.0, 1.0, y.shape[0], dtype=y.dtype)


def _elements_vjp(g: Any, y: Any, a: Any, *ends: Any, bins: int) -> Any:
    if ends:
        return None
    lowest, highest = _outer(a)
    upward = _fractions(y)
    return np.sum(g * (1.0 - upward)) * lowest + np.sum(g * upward) * highest


_FIRST_AND_LAST: tuple[Rule, ...] = (
    lambda g, y, a, first, last, bins: g * (1.0 - _fractions(y)),
    lambda g, y, a, first, last, bins: g * _fractions(y),
)


@lru_cache(4096)
def _edges_type(a: ArrayType, *ends: ArrayType, bins: int) -> ArrayType:
    """By NumPy's own promotion."""
    range = tuple(
        PYTHON_TYPES[end.dtype.kind](number) if end.form == "weak" else end.dtype.type(number)
        for number, end in enumerate(ends)
    )
    edges = np.histogram_bin_edges(np.zeros(0, a.dtype), 1, range or None)
    return ArrayType((bins + 1,), edges.dtype)


def _edges_axes(types: Sequence[ArrayType], bins: int) -> str:
    """The least and greatest of all elements decide, or ends alone, which are the same for all."""
    return "a,,->_ by maximum" if len(types) > 1 else "_->_"


def _edges_formula(a: Any, *ends: Any, bins: int) -> Any:
    """Between the least and the greatest element."""
    return NotImplemented if ends else even_edges(a, np.min(a), np.max(a), bins=bins)


even_edges = defop(
    name="histogram_bin_edges",
    infer=_edges_type,
    vjp=(_elements_vjp, *_FIRST_AND_LAST),
    source=lambda types, bins: (
        "np.histogram_bin_edges({0}, {bins}" + (", range=({1}, {2}))" if len(types) > 1 else ")")
    ),
    axes=_edges_axes,
    formula=_edges_formula,
)


def _number_of_bins(bins: Any) -> int:
    count = operator.index(known(bins, "bins"))
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    return count


def _flat(a: Any) -> Any:
    a = as_array(a)
    kind = type_in_call(a).dtype.kind
    if kind == "c":
        raise TypeError("complex numbers have no histogram")
    a = a if np.ndim(a) == 1 else np.ravel(a)
    return a.astype(np.uint8) if kind == "b" else a


def _bins(bins: Any) -> Any:
    """The number of bins, or an array of edges."""
    if isinstance(bins, str):
        raise TypeError(f"the number of bins that bins={bins!r} makes depends on the data")
    bins = as_array(bins)
    if np.ndim(bins) > 1:
        raise ValueError("`bins` must be 1d, when an array")
    return bins


def _given_edges(edges: Any) -> Any:
    if not is_recorded(edges) and np.any(edges[:-1] > edges[1:]):
        raise ValueError("`bins` must increase monotonically, when an array")
    return edges


def _even_edges(a: Any, bins: Any, range: Any) -> Any:
    """Edges of a number of bins; a plain array where the elements do not matter."""
    ends = () if range is None else tuple(range)
    if (is_recorded(a) and np.size(a) and not ends) or any(map(is_recorded, ends)):
        return even_edges(a, *ends, bins=_number_of_bins(bins))
    elements = np.zeros(0, a.dtype) if is_recorded(a) else a
    return np.histogram_bin_edges(elements, _number_of_bins(bins), range)


@composite(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins of a histogram."""
    bins = _bins(bins)
    return _given_edges(bins) if np.ndim(bins) else _even_edges(_flat(a), bins, range)


# Histograms


def _histogram_source(
    types: Sequence[ArrayType], bins: int = 0, ranged: bool = False, weighted: bool = False
) -> str:
    places = [f"{{{number}}}" for number in range(len(types))]
    weights = places.pop(0) if weighted else ""
    arguments = [places[0], str(bins) if bins else places[1]]
    arguments += [f"range=({places[1]}, {places[2]})"] if ranged else []
    arguments += [f"weights={weights}"] if weighted else []
    return f"np.histogram({', '.join(arguments)})[0]"


def _histogram_type(
    *types: ArrayType, bins: int = 0, ranged: bool = False, weighted: bool = False
) -> ArrayType:
    size = bins or types[-1].size - 1
    return ArrayType((size,), types[0].dtype if weighted else _INTP)


def _bin_of_each(
    a: Any, *edges: Any, bins: int = 0, ranged: bool = False, weighted: bool = False
) -> tuple[Any, Any]:
    """The number of each element's bin, any number where it has none; whether it has one."""
    if bins:
        return _even_bin_of_each(a, histogram_bin_edges(a, bins, edges if ranged else None), bins)
    (ends,) = edges
    last = np.shape(ends)[0] - 1
    below, upto = np.searchsorted(ends, a), np.searchsorted(ends, a, side="right")
    return np.clip(upto - 1, 0, last - 1), (upto > 0) & (below <= last)


def _even_bin_of_each(a: Any, ends: Any, bins: int) -> tuple[Any, Any]:
    """The same of bins of one width: as NumPy, by a division, and then by the edges beside it."""
    first, last = ends[0], ends[-1]
    within = (a >= first) & (a <= last)
    place = np.where(within, (a - first) / (last - first) * bins, 0.0)
    number = np.minimum(place.astype(np.intp), bins - 1)
    number = number - (a < np.take(ends, number))
    is_above = (a >= np.take(ends, number + 1)) & (number != bins - 1)
    return np.where(within, number + is_above, 0), within


def _weights_vjp(g: Any, y: Any, weights: Any, a: Any, *edges: Any, **params: Any) -> Any:
    number, within = _bin_of_each(a, *edges, **params)
    return np.where(within, np.take(g, number), 0.0)


def _histogram_axes(
    types: Sequence[ArrayType], bins: int = 0, ranged: bool = False, weighted: bool = False
) -> str:
    """Counts are added where the edges do not depend on the elements."""
    letter = "a" if ranged or not bins else "_"
    rest = ["_" * type.ndim for type in types[1 + weighted :]]
    return axes.text_of([letter] * (1 + weighted) + rest, "_")


def _histogram_formula(
    *operands: Any, bins: int = 0, ranged: bool = False, weighted: bool = False
) -> Any:
    """Between the least and the greatest element."""
    if ranged or not bins:
        return NotImplemented
    ends = np.min(operands[-1]), np.max(operands[-1])
    op, params = (histogram_of_weights, {"weighted": True}) if weighted else (counts, {})
    return op(*operands, *ends, bins=bins, ranged=True, **params)


histogram_of_weights: Op = defop(
    name="histogram_of_weights",
    infer=_histogram_type,
    vjp=(_weights_vjp,),
    jvp=(None,),
    linear_in=(0,),
    source=_histogram_source,
    axes=_histogram_axes,
    formula=_histogram_formula,
)
counts: Op = defop(
    name="histogram",
    infer=_histogram_type,
    vjp=(),
    source=_histogram_source,
    axes=_histogram_axes,
    formula=_histogram_formula,
)


@composite(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """The number of elements in each bin, or the sum of their weights; and the bins' edges."""
    shape = np.shape(a)
    a, bins = _flat(a), _bins(bins)
    edges = histogram_bin_edges(a, bins, range)
    params: dict[str, Any] = {}
    operands = [a]
    if np.ndim(bins):
        operands.append(edges)
    else:
        params["bins"] = _number_of_bins(bins)
        if range is not None:
            params["ranged"] = True
            operands += range
    if weights is None:
        n = counts(*operands, **params)
    else:
        weights = as_array(weights)
        if np.shape(weights) != shape:
            raise ValueError("weights should have the same shape as a.")
        weights = weights if np.ndim(weights) == 1 else np.ravel(weights)
        n = histogram_of_weights(weights, *operands, weighted=True, **params)
    if not density:
        return n, edges
    widths = np.diff(edges)
    widths = widths if widths.dtype == np.float64 else widths.astype(np.float64)
    return n / widths / np.sum(n), edges


@composite(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, list[Any]]:
    """The number of points in each cell of a grid, or the sum of their weights; and the edges."""
    if np.ndim(as_array(sample)) != 2 or isinstance(sample, (list, tuple)):
        sample = np.transpose(np.atleast_2d(as_array(sample)))
    if sample.dtype.kind == "c":
        raise TypeError("complex numbers have no histogram")
    columns = list(np.transpose(sample))
    axes = len(columns)
    several = bins if isinstance(bins, (list, tuple)) or np.ndim(bins) else (bins,) * axes
    if len(several) != axes:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = (None,) * axes if range is None else range
    if len(ranges) != axes:
        raise ValueError("range argument must have one entry per dimension")
    edges = [_edges_of(*each) for each in zip(columns, several, ranges, strict=True)]
    sizes = tuple(np.shape(each)[0] + 1 for each in edges)
    place: Any = None
    for column, ends, size in zip(columns, edges, sizes, strict=True):
        number = np.searchsorted(ends, column, side="right")
        number = number - np.equal(column, ends[-1])
        place = number if place is None else place * size + number
    operands = (place,) if weights is None else (place, _in_double(as_array(weights)))
    cells = math.prod(sizes)
    grid = np.reshape(bincount(*operands, size=cells, minlength=cells), sizes)
    grid = (grid if grid.dtype == np.float64 else grid.astype(np.float64))[(slice(1, -1),) * axes]
    if density:
        total = np.sum(grid)
        for axis, ends in enumerate(edges):
            widths = np.diff(ends)
            grid = grid / np.reshape(widths, (-1,) + (1,) * (axes - axis - 1))
        grid = grid / total
    return grid, edges


def _edges_of(column: Any, bins: Any, range: Any) -> Any:
    """The edges along one axis of a grid."""
    bins = _bins(bins)
    if np.ndim(bins):
        return _given_edges(bins)
    if range is None and column.shape[0]:
        return _even_edges(column, bins, None)
    return _even_edges(np.zeros(0, np.int8), bins, range)  # of a dtype that has no say
