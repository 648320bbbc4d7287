"""scipy.stats: entropy, means and scores of samples, without policies for nan."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special as sc
from scipy import stats

from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import answer
from tracejit.ops.scipy.stats.families import as_real


def entropy(
    pk: Any, qk: Any = None, base: float | None = None, axis: int = 0, *, keepdims: bool = False
) -> Any:
    """The entropy of distributions that are first normalized, or that relative to others."""
    pk = as_real(pk)
    pk = pk / np.sum(pk, axis=axis, keepdims=True)
    if qk is None:
        terms = sc.entr(pk)
    else:
        qk = as_real(qk)
        terms = sc.rel_entr(pk, qk / np.sum(qk, axis=axis, keepdims=True))
    total = np.sum(terms, axis=axis, keepdims=keepdims)
    return total if base is None else total / np.log(base)


def sem(a: Any, axis: Any = 0, ddof: int = 1, *, keepdims: bool = False) -> Any:
    """The standard error of the mean."""
    a = as_array(a)
    count = np.size(a) if axis is None else np.shape(a)[axis]
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / np.sqrt(float(count))


def gmean(
    a: Any, axis: Any = 0, dtype: Any = None, weights: Any = None, *, keepdims: bool = False
) -> Any:
    """The geometric mean."""
    logs = np.log(as_array(a) if dtype is None else as_array(a).astype(dtype))
    average: Any = np.average  # its overloads know no keepdims that is not a literal
    return np.exp(average(logs, axis=axis, weights=weights, keepdims=keepdims))


def hmean(a: Any, axis: Any = 0, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """The harmonic mean of positive numbers."""
    a = as_array(a) if dtype is None else as_array(a).astype(dtype)
    return 1.0 / np.mean(1.0 / a, axis=axis, keepdims=keepdims)


def zscore(a: Any, axis: Any = 0, ddof: int = 0) -> Any:
    """Distances to the mean in units of the standard deviation; nan where that is zero."""
    return zmap(a, a, axis, ddof)


def zmap(scores: Any, compare: Any, axis: Any = 0, ddof: int = 0) -> Any:
    """Distances of `scores` to the mean of `compare`, in units of its standard deviation."""
    scores, compare = as_array(scores), as_array(compare)
    center = np.mean(compare, axis=axis, keepdims=True)
    spread = np.std(compare, axis=axis, ddof=ddof, keepdims=True)
    return (scores - center) / np.where(spread == 0, np.nan, spread)


answer(stats.entropy, entropy)
answer(stats.sem, sem)
answer(stats.gmean, gmean)
answer(stats.hmean, hmean)
answer(stats.zscore, zscore)
answer(stats.zmap, zmap)
