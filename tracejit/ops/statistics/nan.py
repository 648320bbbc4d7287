"""Reductions and scans that leave nan out: formulas, with NumPy's own order of operations and so
its bits.

Counts are known only with the data, so the warnings about slices of nothing but nan are not given;
the results are the same. The extrema are ops, next to the other reductions; the medians and
quantiles are in `nan_quantiles`. `options` are the where= and initial= of NumPy's own reductions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ops.base.creation import as_array, cast
from tracejit.ops.base.op import composite
from tracejit.ops.statistics.statistics import freedom, root_of_variance


def _is_nan(a: Any) -> Any:
    """True where a is nan; None if its dtype has none."""
    return np.isnan(a) if a.dtype.kind in "fc" else None


def _over(total: Any, count: Any) -> Any:
    """total / count, in the dtype of the total."""
    quotient = total / count
    return quotient if quotient.dtype == total.dtype else quotient.astype(total.dtype)


def _counted(missing: Any, axis: Any, keepdims: Any, options: dict[str, Any]) -> Any:
    return np.sum(~missing, axis=axis, dtype=np.intp, keepdims=keepdims, **options)


def _without_nan(a: Any, instead: Any) -> Any:
    """a with a number in place of nan."""
    a = as_array(a)
    missing = _is_nan(a)
    return a if missing is None else np.where(missing, instead, a)


@composite(np.nansum)
def nansum(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, **options: Any
) -> Any:
    """The sum of the elements that are not nan."""
    return np.sum(_without_nan(a, 0), axis=axis, dtype=dtype, keepdims=keepdims, **options)


@composite(np.nanprod)
def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, **options: Any
) -> Any:
    """The product of the elements that are not nan."""
    return np.prod(_without_nan(a, 1), axis=axis, dtype=dtype, keepdims=keepdims, **options)


@composite(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The running sum, in which nan counts as zero."""
    return np.cumsum(_without_nan(a, 0), axis=axis, dtype=dtype)


@composite(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The running product, in which nan counts as one."""
    return np.cumprod(_without_nan(a, 1), axis=axis, dtype=dtype)


def _check_inexact(dtype: Any) -> None:
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")


@composite(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, **options: Any
) -> Any:
    """The mean of the elements that are not nan."""
    a = as_array(a)
    missing = _is_nan(a)
    if missing is None:
        return np.mean(a, axis=axis, dtype=dtype, keepdims=keepdims, **options)
    _check_inexact(dtype)
    numbers = np.where(missing, 0, a)
    total = np.sum(numbers, axis=axis, dtype=dtype, keepdims=keepdims, **options)
    return _over(total, _counted(missing, axis, keepdims, options))


@composite(np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: Any = False,
    correction: Any = None,
    **options: Any,
) -> Any:
    """The variance of the elements that are not nan."""
    less = freedom(ddof, correction)
    a = as_array(a)
    if a.dtype.kind not in "fc":
        return np.var(a, axis=axis, dtype=dtype, ddof=less, keepdims=keepdims, **options)
    return _variance(a, axis, dtype, less, keepdims, options)[0]


def _variance(
    a: Any, axis: Any, dtype: Any, less: Any, keepdims: Any, options: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """The variance, the distances, and what their squares are divided by."""
    missing = np.isnan(a)
    _check_inexact(dtype)
    numbers = np.where(missing, 0, a)
    center = options.pop("mean", None)
    if center is None:
        total = np.sum(numbers, axis=axis, dtype=dtype, keepdims=True, **options)
        center = _over(total, _counted(missing, axis, True, options))
    distances = numbers - center
    if distances.dtype != a.dtype:
        distances = cast(distances, a.dtype)
    distances = np.where(missing, 0, distances)
    if a.dtype.kind == "c":
        squares = np.real(distances * np.conj(distances))
    else:
        squares = distances * distances
    count = _counted(missing, axis, keepdims, options) - less
    total = np.sum(squares, axis=axis, dtype=dtype, keepdims=keepdims, **options)
    count = np.where(count <= 0, np.nan, count)
    if options.get("where", True) is not True:
        distances = np.where(options["where"], distances, 0)
    return _over(total, count), distances, count


@composite(np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: Any = 0,
    keepdims: Any = False,
    correction: Any = None,
    **options: Any,
) -> Any:
    """The standard deviation of the elements that are not nan; where zero, of slope zero."""
    less = freedom(ddof, correction)
    a = as_array(a)
    if a.dtype.kind not in "fc":
        return np.std(a, axis=axis, dtype=dtype, ddof=less, keepdims=keepdims, **options)
    return root_of_variance(*_variance(a, axis, dtype, less, keepdims, options), axis)
