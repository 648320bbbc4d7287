"""Medians and quantiles.

A quantile is linear in the sorted elements. NumPy computes its weights too: the quantile of
0, 1, 2, ... says between which two elements it is taken, and how far from the first. So the rules
hold for every method, and know no formula of any.

Where the weights depend on the data, because nan is left out or the user gave weights of the
elements, the same question is asked when the code runs: of the ranks of the elements, their places
in the sorted row. An element counts by one less its distance from the answer. `overwrite_input`
permits NumPy to spoil the array; a recorded one stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType, type_of
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, behind
from tracejit.ops.base.creation import as_array, cast, is_recorded, known, settled
from tracejit.ops.base.infer import normalize_axes, normalize_axis, reduced_shape
from tracejit.ops.base.op import Op, answer, defop, literal
from tracejit.ops.indexing.indexing import put_along_axis
from tracejit.ops.linalg.linalg import real_dtype
from tracejit.ops.reductions.reductions import Axes, Call, axis_text, kept
from tracejit.ops.statistics.statistics import aligned_weights

# Weights


@lru_cache(256)
def _weights(
    function: Callable[..., Any], size: int, q: Any, method: str | None
) -> tuple[tuple[int, ...], Any]:
    """The ranks that the result is made of, and for each quantile the weight of each."""
    options = {} if method is None else {"q": np.array(q), "method": method}
    place = np.asarray(function(np.arange(float(size)), **options))
    before = np.floor(place).astype(int)
    after = np.minimum(before + 1, size - 1)
    ranks = np.unique((before, after))
    share = (place - before)[..., None]
    weights = (1.0 - share) * (ranks == before[..., None]) + share * (ranks == after[..., None])
    used = weights.reshape(-1, len(ranks)).any(axis=0)
    return tuple(ranks[used].tolist()), weights[..., used]


def _rows(x: Any, axis: Axes) -> Any:
    """x with `axis` as its last axis."""
    keep = tuple(k for k in range(x.ndim) if k not in axis)
    size = math.prod(x.shape[k] for k in axis)
    return np.reshape(np.transpose(x, keep + axis), (*(x.shape[k] for k in keep), size))


def _from_rows(rows: Any, shape: tuple[int, ...], axis: Axes) -> Any:
    """The array that `rows` are the rows of."""
    order = (*(k for k in range(len(shape)) if k not in axis), *axis)
    apart = np.reshape(rows, tuple(shape[k] for k in order))
    return np.transpose(apart, tuple(sorted(range(len(order)), key=order.__getitem__)))


def _order_rules(function: Callable[..., Any]) -> dict[str, Any]:
    """The vjp of `function`."""

    def selected(y: Any, rows: Any, q: Any, method: str | None) -> tuple[Any, Any]:
        """The positions of the elements in each row, and their weights: a row for each quantile."""
        ranks, weights = _weights(function, rows.shape[-1], q, method)
        places = np.take(np.argsort(rows, axis=-1), np.array(ranks), axis=-1)
        return places, weights.reshape(-1, len(ranks)).astype(y.dtype)

    def vjp(
        g: Any,
        y: Any,
        x: Any,
        axis: Axes,
        q: Any = 0.5,
        method: str | None = None,
        **form: Any,
    ) -> Any:
        rows = _rows(x, axis)
        places, weights = selected(y, rows, q, method)
        kept_sizes = rows.shape[:-1]
        each = np.reshape(g, (weights.shape[0], *kept_sizes))
        parts = np.tensordot(each, weights, axes=((0,), (0,)))
        placed = put_along_axis(parts, places, shape=rows.shape, axis=rows.ndim - 1)
        return _from_rows(placed, x.shape, axis)

    return {"vjp": vjp, "cost": lambda x, **params: 20 * x.size}


def _rank_rules(function: Callable[..., Any]) -> dict[str, Any]:
    """The vjp of `function`, whose weights depend on the data."""

    def shares(
        y: Any, x: Any, axis: Axes, q: Any, method: str | None, weights: tuple[Any, ...]
    ) -> Any:
        """The weight of each element, for each quantile."""
        rows = _rows(x, axis)
        ranks = np.argsort(np.argsort(rows, axis=-1), axis=-1)
        exact = method is None and rows.shape[-1] < 2**22 and y.dtype.char in "efF"
        ranks = cast(ranks, np.dtype("f4" if exact else "f8"))
        missing = np.isnan(rows)
        numbered = _from_rows(np.where(missing, np.nan, ranks), x.shape, axis)
        far = _from_rows(np.where(missing, -2.0, ranks), x.shape, axis)
        options: dict[str, Any] = {}
        if method is not None:
            q = np.reshape(q if is_recorded(q) else np.array(q), -1)
            options = {"q": q, "method": method}
        options |= {"weights": weights[0]} if weights else {}
        places = function(numbered, axis=axis, keepdims=True, **options)
        places = np.reshape(places, (np.size(q), *reduced_shape(x.shape, axis, True)))
        share = np.fmax(1.0 - np.abs(far - places), 0.0)
        dtype = real_dtype(y.dtype)
        return share if share.dtype == dtype else cast(share, dtype)

    def vjp(
        g: Any,
        y: Any,
        x: Any,
        *weights: Any,
        axis: Axes,
        q: Any = 0.5,
        method: str | None = None,
        **form: Any,
    ) -> Any:
        each = np.reshape(g, (np.size(q), *reduced_shape(x.shape, axis, True)))
        return np.sum(each * shares(y, x, axis, q, method, weights), axis=0)

    return {"vjp": (vjp,), "cost": lambda x, *weights, **params: 30 * x.size}


# By how much faster than the count of elements the place of a quantile moves with q; where it
# jumps, a quantile is piecewise constant in q.
_MOVES = {
    "linear": -1.0,
    "interpolated_inverted_cdf": 0.0,
    "hazen": 0.0,
    "weibull": 1.0,
    "median_unbiased": 1 / 3,
    "normal_unbiased": 0.25,
}


def _recorded_rules(function: Callable[..., Any]) -> dict[str, Any]:
    """The vjp of `function` where q is recorded, too; of one that both sides of a kink
    disagree on, the mean."""
    (of_values,) = _rank_rules(function)["vjp"]
    one = 100.0 if "percentile" in function.__name__ else 1.0

    def slopes(y: Any, x: Any, q: Any, axis: Axes, method: str) -> Any:
        """The derivative of each quantile by q."""
        rows = _rows(x, axis)
        missing = np.isnan(rows)
        counts = np.sum(~missing, axis=-1, dtype=np.float64)
        order = np.argsort(np.argsort(rows, axis=-1), axis=-1)
        ranks = np.where(missing, np.nan, cast(order, np.dtype(np.float64)))
        places = function(ranks, np.reshape(q, -1), axis=-1, method=method)
        away = ranks - np.expand_dims(places, -1)
        side = np.sign(away) * ((np.abs(away) < 1.0) + 0.5 * (np.abs(away) == 1.0))
        rise = np.sum(np.where(np.isnan(side), 0.0, side) * np.where(missing, 0.0, rows), axis=-1)
        inside = (places > 0.0) & (places < counts - 1.0)
        moves = (counts + _MOVES[method]) / one if method in _MOVES else 0.0 * counts
        return np.reshape(rise * moves * inside, y.shape)

    def of_q(g: Any, y: Any, x: Any, q: Any, axis: Axes, method: str, keepdims: Any = False) -> Any:
        change = np.reshape(g * slopes(y, x, q, axis, method), (np.size(q), -1))
        return np.reshape(np.sum(change, axis=1), np.shape(q))

    return {
        "vjp": (lambda g, y, x, q, **params: of_values(g, y, x, q=q, **params), of_q),
        "cost": lambda x, q, **params: 30 * x.size,
    }


def _count(x: ArrayType, axis: Axes) -> int:
    """The number of elements that a result is taken of: at least one."""
    count = math.prod(x.shape[k] for k in axis)
    if not count:
        raise ValueError("a quantile needs at least one element")
    return count


# Medians


def _median(function: Callable[..., Any], rules: dict[str, Any]) -> Op:
    """The op of np.median or np.nanmedian."""

    @cache
    def result_dtype(operand: np.dtype[Any], whole: bool, many: bool) -> np.dtype[Any]:
        sample = np.ones(2 if whole else (2, 600 if many else 2), operand)
        result: np.dtype[Any] = function(sample, axis=-1).dtype
        return result

    def canonical(
        a: Any, axis: Any = None, *, overwrite_input: Any = False, keepdims: Any = False
    ) -> Call:
        a = as_array(a)
        if not np.ndim(a) and function is np.median:
            raise TypeError("the median of a number is a Python number, which needs the data")
        return (a,), {"axis": normalize_axes(axis, np.ndim(a))} | kept(keepdims)

    def infer(x: ArrayType, axis: Axes, keepdims: bool = False) -> ArrayType:
        many = _count(x, axis) >= 600
        shape = reduced_shape(x.shape, axis, keepdims)
        dtype = result_dtype(x.dtype, len(axis) == x.ndim, many)
        return ArrayType(shape, dtype, "array" if shape or keepdims else "scalar")

    def source(types: Any, axis: Axes, keepdims: bool = False) -> str:
        whole = len(axis) == types[0].ndim
        arguments = [] if whole else [f"axis={axis_text(axis, types[0].ndim)}"]
        arguments += ["keepdims=True"] if keepdims else []
        return f"np.{function.__name__}({', '.join(['{0}', *arguments])})"

    def batch(moved: Moved, x: Any, axis: Axes, **params: Any) -> Any:
        if not x.size:  # NumPy takes none of several axes
            return NotImplemented
        wanted = infer(ArrayType(x.shape[1:], x.dtype), axis, **params).dtype
        found = op(x, axis=behind(axis), **params)
        return found if found.dtype == wanted else found.astype(wanted)

    op = defop(
        function,
        canonical=canonical,
        infer=infer,
        batch=batch,
        source=source,
        axes=axes.over,
        **rules,
    )
    return op


median = _median(np.median, _order_rules(np.median))
nanmedian = _median(np.nanmedian, _rank_rules(np.nanmedian))


# Quantiles


def _nested(values: Any) -> Any:
    return tuple(map(_nested, values)) if isinstance(values, list) else values


def _aligned(weights: Any, a: Any, axis: Any) -> Any:
    """Weights of all elements, or of those along the axes in growing order."""
    weights = as_array(weights)
    aligned_weights(weights, a, axis)  # raises where they do not fit
    if np.shape(weights) == np.shape(a) or not isinstance(axis, tuple):
        return weights
    axes = [normalize_axis(k, np.ndim(a)) for k in axis]
    return np.transpose(weights, sorted(range(len(axes)), key=axes.__getitem__))


def _quantile_axes(
    types: Sequence[ArrayType], axis: Axes, q: Any = None, keepdims: bool = False, **params: Any
) -> str:
    """The axes of what is asked for come first; weights have those that are reduced, or all."""
    x, *others = types
    letters = axes.mixed(axes.letters_of(x), axis)
    result = axes.without(letters, axis, keepdims)
    if q is None:
        asked = axes.letters_of(others[0], x.ndim)
        return axes.text_of([letters, asked], asked + result)
    operands = [
        axes.named(letters, other.shape) if other.ndim == x.ndim else "_" * other.ndim
        for other in others
    ]
    return axes.text_of([letters, *operands], ["_"] * np.ndim(q) + result)


def _quantile(function: Callable[..., Any], rules: dict[str, Any]) -> Op:
    """The op of np.quantile or its kin. Without `dtype`, q is a Python number; `scalar` says that
    it is a NumPy scalar, which some versions of NumPy take for a Python number. With weights there
    is a second op: a second operand."""

    def canonical(
        a: Any,
        q: Any,
        axis: Any = None,
        *,
        overwrite_input: Any = False,
        method: str = "linear",
        keepdims: Any = False,
    ) -> Call:
        a, q = as_array(a), known(q, "q")
        params: dict[str, Any] = {"axis": normalize_axes(axis, np.ndim(a)), "method": method}
        if type(q) not in (int, float):
            params["dtype"] = np.asarray(q).dtype
        if isinstance(q, np.generic):
            params["scalar"] = True
        params["q"] = _nested(np.asarray(q).tolist())
        return (a,), params | kept(keepdims)

    def check_shape(x: ArrayType, q: tuple[int, ...], axis: Axes, keepdims: bool) -> None:
        if len(q) > 1 and keepdims and len(axis) < x.ndim and "nan" in function.__name__:
            raise TypeError("a two-dimensional q with keepdims is not supported")

    @lru_cache(256, typed=True)
    def result(
        operand: np.dtype[Any],
        q: Any,
        method: str,
        dtype: np.dtype[Any] | None,
        scalar: bool,
        weighted: bool,
    ) -> ArrayType:
        if dtype is not None:
            q = dtype.type(q) if scalar else np.array(q, dtype)
        options = {"weights": np.ones(2)} if weighted else {}
        found = type_of(function(np.ones(2, operand), q, method=method, **options))
        assert found is not None
        return found

    def infer(
        x: ArrayType,
        *others: ArrayType,
        axis: Axes,
        method: str,
        q: Any = None,
        dtype: Any = None,
        scalar: bool = False,
        keepdims: bool = False,
    ) -> ArrayType:
        _count(x, axis)
        asked = others[0] if q is None else None
        if asked is not None and asked.form != "weak":
            dtype, scalar = asked.dtype, asked.form == "scalar"
        weighted = asked is None and bool(others)
        found = result(x.dtype, 0.5 if q is None else q, method, dtype, scalar, weighted)
        places = found.shape if asked is None else asked.shape
        check_shape(x, places, axis, keepdims)
        shape = places + reduced_shape(x.shape, axis, keepdims)
        return ArrayType(shape, found.dtype, "array" if shape or keepdims else found.form)

    def source(
        types: Any,
        axis: Axes,
        method: str,
        q: Any = None,
        dtype: Any = None,
        scalar: bool = False,
        keepdims: bool = False,
    ) -> str:
        text = "{1}" if q is None else repr(q)
        if dtype is not None:
            text = f"{literal(dtype)}({q!r})" if scalar else f"np.array({q!r}, {literal(dtype)})"
        whole = len(axis) == types[0].ndim
        arguments = ["{0}", text]
        arguments += [] if whole else [f"axis={axis_text(axis, types[0].ndim)}"]
        arguments += [] if method == "linear" else [f"method={method!r}"]
        arguments += ["weights={1}"] if q is not None and len(types) == 2 else []
        arguments += ["keepdims=True"] if keepdims else []
        return f"np.{function.__name__}({', '.join(arguments)})"

    def batch(moved: Moved, x: Any, *asked: Any, axis: Axes, **params: Any) -> Any:
        ndim = asked[0].ndim if asked else np.ndim(params["q"])
        refused = ndim > 1 and "keepdims" in params and "nan" in function.__name__
        if any(moved[1:]) or refused or not x.size:  # NumPy takes none of several axes
            return NotImplemented
        found = (at_recorded if asked else op)(x, *asked, axis=behind(axis), **params)
        return np.moveaxis(found, ndim, 0)

    name = function.__name__
    shared: dict[str, Any] = {"infer": infer, "source": source, "axes": _quantile_axes}
    op = defop(name=name, batch=batch, **shared, **rules)
    weighted = defop(name=f"weighted_{name}", **shared, **_rank_rules(function))
    at_recorded = defop(name=f"{name}_at", batch=batch, **shared, **_recorded_rules(function))

    def handler(a: Any, q: Any, axis: Any = None, *, weights: Any = None, **options: Any) -> Any:
        q = settled(as_array(q))
        if is_recorded(q) and weights is None:
            (a,), params = canonical(a, 0.5, axis, **options)
            del params["q"]
            return at_recorded(a, q, **params)
        (a,), params = canonical(a, q, axis, **options)
        if weights is None:
            return op(a, **params)
        if params["method"] != "inverted_cdf":
            raise ValueError("Only method 'inverted_cdf' supports weights.")
        return weighted(a, _aligned(weights, a, axis), **params)

    answer(function, handler)
    return op


quantile = _quantile(np.quantile, _order_rules(np.quantile))
percentile = _quantile(np.percentile, _order_rules(np.percentile))
nanquantile = _quantile(np.nanquantile, _rank_rules(np.nanquantile))
nanpercentile = _quantile(np.nanpercentile, _rank_rules(np.nanpercentile))
