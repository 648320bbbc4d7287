"""Medians, quantiles and covariances.

A quantile is linear in the sorted elements. NumPy computes its weights too: the quantile of
0, 1, 2, ... says between which two elements it is taken, and how far from the first. So the rules
hold for every method, and know no formula of any.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.creation import as_array, known
from tracejit.ops.indexing import put_along_axis
from tracejit.ops.infer import normalize_axes, reduced_shape
from tracejit.ops.joining import at_least
from tracejit.ops.op import Op, composite, defop, literal
from tracejit.ops.reductions import Axes, Call, axis_text, kept

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
    """The vjp and jvp of `function`."""

    def selected(y: Any, rows: Any, q: Any, method: str | None) -> tuple[Any, Any]:
        """Where in each row the elements are, and the weights: a row for each quantile."""
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
        keepdims: bool = False,
        **form: Any,
    ) -> Any:
        rows = _rows(x, axis)
        places, weights = selected(y, rows, q, method)
        kept_sizes = rows.shape[:-1]
        each = np.reshape(g, (weights.shape[0], *kept_sizes))
        parts = np.tensordot(each, weights, axes=((0,), (0,)))
        placed = put_along_axis(parts, places, shape=rows.shape, axis=rows.ndim - 1)
        return _from_rows(placed, x.shape, axis)

    def jvp(
        v: Any,
        y: Any,
        x: Any,
        axis: Axes,
        q: Any = 0.5,
        method: str | None = None,
        keepdims: bool = False,
        **form: Any,
    ) -> Any:
        rows = _rows(x, axis)
        places, weights = selected(y, rows, q, method)
        moved = np.take_along_axis(_rows(v, axis), places, axis=-1)
        return np.reshape(np.tensordot(weights, moved, axes=((1,), (rows.ndim - 1,))), y.shape)

    return {"vjp": vjp, "jvp": jvp, "cost": lambda x, **params: 20 * x.size}


def _count(x: ArrayType, axis: Axes) -> int:
    """How many elements a result is taken of: at least one."""
    count = math.prod(x.shape[k] for k in axis)
    if not count:
        raise ValueError("there are no elements to take a quantile of")
    return count


# The median


@cache
def _median_dtype(operand: np.dtype[Any]) -> np.dtype[Any]:
    result: np.dtype[Any] = np.median(np.ones(2, operand)).dtype
    return result


def _median_call(a: Any, axis: Any = None, *, keepdims: Any = False) -> Call:
    a = as_array(a)
    if not np.ndim(a):
        raise TypeError("the median of a number is a Python number, which needs the data")
    return (a,), {"axis": normalize_axes(axis, np.ndim(a))} | kept(keepdims)


def _median_type(x: ArrayType, axis: Axes, keepdims: bool = False) -> ArrayType:
    _count(x, axis)
    shape = reduced_shape(x.shape, axis, keepdims)
    return ArrayType(shape, _median_dtype(x.dtype), "array" if shape else "scalar")


def _median_source(types: Any, axis: Axes, keepdims: bool = False) -> str:
    arguments = [] if len(axis) == types[0].ndim else [f"axis={axis_text(axis, types[0].ndim)}"]
    arguments += ["keepdims=True"] if keepdims else []
    return f"np.median({', '.join(['{0}', *arguments])})"


median = defop(
    np.median,
    canonical=_median_call,
    infer=_median_type,
    source=_median_source,
    **_order_rules(np.median),
)


# Quantiles


def _nested(values: Any) -> Any:
    return tuple(map(_nested, values)) if isinstance(values, list) else values


def _quantile(function: Callable[..., Any]) -> Op:
    """The op of np.quantile or np.percentile. Without `dtype`, q is a Python number; `scalar` says
    that it is a NumPy scalar, which some versions of NumPy take for a Python number."""

    def canonical(
        a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: Any = False
    ) -> Call:
        a, q = as_array(a), known(q, "q")
        params: dict[str, Any] = {"axis": normalize_axes(axis, np.ndim(a)), "method": method}
        if type(q) not in (int, float):
            params["dtype"] = np.asarray(q).dtype
        if isinstance(q, np.generic):
            params["scalar"] = True
        params["q"] = _nested(np.asarray(q).tolist())
        return (a,), params | kept(keepdims)

    @lru_cache(256, typed=True)
    def result(
        operand: np.dtype[Any], q: Any, method: str, dtype: np.dtype[Any] | None, scalar: bool
    ) -> tuple[tuple[int, ...], np.dtype[Any]]:
        if dtype is not None:
            q = dtype.type(q) if scalar else np.array(q, dtype)
        found = function(np.ones(2, operand), q, method=method)
        return np.shape(found), found.dtype

    def infer(
        x: ArrayType,
        axis: Axes,
        q: Any,
        method: str,
        dtype: Any = None,
        scalar: bool = False,
        keepdims: bool = False,
    ) -> ArrayType:
        _count(x, axis)
        leading, kind = result(x.dtype, q, method, dtype, scalar)
        shape = leading + reduced_shape(x.shape, axis, keepdims)
        return ArrayType(shape, kind, "array" if shape else "scalar")

    def source(
        types: Any,
        axis: Axes,
        q: Any,
        method: str,
        dtype: Any = None,
        scalar: bool = False,
        keepdims: bool = False,
    ) -> str:
        text = repr(q)
        if dtype is not None:
            text = f"{literal(dtype)}({q!r})" if scalar else f"np.array({q!r}, {literal(dtype)})"
        whole = len(axis) == types[0].ndim
        arguments = ["{0}", text]
        arguments += [] if whole else [f"axis={axis_text(axis, types[0].ndim)}"]
        arguments += [] if method == "linear" else [f"method={method!r}"]
        arguments += ["keepdims=True"] if keepdims else []
        return f"np.{function.__name__}({', '.join(arguments)})"

    return defop(
        function, canonical=canonical, infer=infer, source=source, **_order_rules(function)
    )


quantile = _quantile(np.quantile)
percentile = _quantile(np.percentile)


# Covariances


@composite(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: int | None = None
) -> Any:
    """The covariance matrix of variables: the rows of m, or its columns."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    m = _variables(m, "m", np.float64 if y is None else y.dtype)
    rows = m if rowvar or m.ndim == 1 else np.transpose(m)
    rows = at_least(2, rows)
    if y is not None:
        y = at_least(2, _variables(y, "y", m.dtype))
        y = np.transpose(y) if not rowvar and y.shape[0] != 1 else y
        rows = np.concatenate((rows, y), axis=0)
    if not rows.size:
        raise ValueError("there are no elements to take a covariance of")
    freedom = rows.shape[1] - (ddof if ddof is not None else 0 if bias else 1)
    distances = rows - np.mean(rows, axis=1)[:, None]
    turned = np.transpose(distances)
    products = np.dot(distances, np.conj(turned) if turned.dtype.kind == "c" else turned)
    return np.squeeze(products * (1 / freedom if freedom > 0 else math.inf))


def _variables(m: Any, name: str, other: Any) -> Any:
    """m in double precision, complex where it or the other array is."""
    m = as_array(m)
    if np.ndim(m) > 2:
        raise ValueError(f"{name} has more than 2 dimensions")
    m = at_least(1, m)
    dtype = np.result_type(m.dtype, other, np.float64)
    return m if m.dtype == dtype else m.astype(dtype)


@composite(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: Any = True) -> Any:
    """The correlation coefficients of real variables."""
    c = np.cov(x, y, rowvar)
    if c.dtype.kind == "c":
        raise TypeError("correlation coefficients of complex variables are not supported")
    if not c.ndim:
        return c / c
    deviations = np.sqrt(np.diag(c))
    return np.clip(c / deviations[:, None] / deviations[None, :], -1, 1)
