"""Reductions that leave nan out: formulas, with NumPy's own order of operations and so its bits.

Counts are known only with the data, so the warnings about slices of nothing but nan are not given;
the results are the same. The extrema are ops, next to the other reductions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ops.creation import as_array
from tracejit.ops.op import composite
from tracejit.ops.statistics import freedom


def _is_nan(a: Any) -> Any:
    """Where a is nan; None where its dtype has none."""
    return np.isnan(a) if a.dtype.kind in "fc" else None


def _over(total: Any, count: Any) -> Any:
    """total / count, in the dtype of the total."""
    quotient = total / count
    return quotient if quotient.dtype == total.dtype else quotient.astype(total.dtype)


def _counted(missing: Any, axis: Any, keepdims: Any) -> Any:
    return np.sum(~missing, axis=axis, dtype=np.intp, keepdims=keepdims)


@composite(np.nansum)
def nansum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False) -> Any:
    """The sum of the elements that are not nan."""
    a = as_array(a)
    missing = _is_nan(a)
    numbers = a if missing is None else np.where(missing, 0, a)
    return np.sum(numbers, axis=axis, dtype=dtype, keepdims=keepdims)


@composite(np.nanmean)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False) -> Any:
    """The mean of the elements that are not nan."""
    a = as_array(a)
    missing = _is_nan(a)
    if missing is None:
        return np.mean(a, axis=axis, dtype=dtype, keepdims=keepdims)
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")
    total = np.sum(np.where(missing, 0, a), axis=axis, dtype=dtype, keepdims=keepdims)
    return _over(total, _counted(missing, axis, keepdims))


@composite(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: Any = False, correction: Any = None
) -> Any:
    """The variance of the elements that are not nan."""
    a = as_array(a)
    missing = _is_nan(a)
    less = freedom(ddof, correction)
    if missing is None:
        return np.var(a, axis=axis, ddof=less, keepdims=keepdims)
    numbers = np.where(missing, 0, a)
    center = _over(np.sum(numbers, axis=axis, keepdims=True), _counted(missing, axis, True))
    distances = np.where(missing, 0, numbers - center)
    if a.dtype.kind == "c":
        squares = np.real(distances * np.conj(distances))
    else:
        squares = distances * distances
    count = _counted(missing, axis, keepdims) - less
    total = np.sum(squares, axis=axis, keepdims=keepdims)
    return _over(total, np.where(count <= 0, np.nan, count))


@composite(np.nanstd)
def nanstd(
    a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: Any = False, correction: Any = None
) -> Any:
    """The standard deviation of the elements that are not nan; where zero, of slope zero."""
    v = np.nanvar(a, axis=axis, ddof=ddof, keepdims=keepdims, correction=correction)
    return np.sqrt(np.where(v == 0, 1, v)) * (v != 0)
