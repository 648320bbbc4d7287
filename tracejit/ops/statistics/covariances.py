"""Covariances and correlations: formulas, with NumPy's own order of operations and so its bits.

That weights are not negative numbers, and leave degrees of freedom, is checked where they are known
while recording.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.ops.base.creation import as_array, cast, is_recorded, settled
from tracejit.ops.base.op import composite
from tracejit.ops.shapes.joining import at_least


@composite(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariance matrix of variables: the rows of m, or its columns."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    m, y = _variables(m, "m"), None if y is None else _variables(y, "y")
    kinds = [x.dtype for x in (m, y) if x is not None]
    kind = np.dtype(dtype) if dtype is not None else np.result_type(*kinds, np.float64)
    rows = m if rowvar or m.ndim == 1 else np.transpose(m)
    rows = _as(at_least(2, rows), kind)
    if y is not None:
        y = _as(at_least(2, y), kind)
        y = np.transpose(y) if not rowvar and y.shape[0] != 1 else y
        rows = np.concatenate((rows, y), axis=0)
    if not rows.size:
        raise ValueError("a covariance needs at least one element")
    ddof = ddof if ddof is not None else 0 if bias else 1
    counts, shares = (
        None if w is None else _weights(w, name, rows)
        for w, name in ((fweights, "fweights"), (aweights, "aweights"))
    )
    w = shares if counts is None else counts if shares is None else counts * shares
    freedom: Any = rows.shape[1] - ddof
    if w is None:
        center = np.mean(rows, axis=1)
    else:
        center, total = np.average(rows, axis=1, weights=w, returned=True)
        freedom = total[0]
        if ddof and shares is None:
            freedom = freedom - ddof
        elif ddof:
            freedom = freedom - ddof * np.sum(w * shares) / total[0]
    distances = _as(rows - center[:, None], kind)
    turned = np.transpose(distances if w is None else distances * w)
    products = np.dot(distances, np.conj(turned) if turned.dtype.kind == "c" else turned)
    return np.squeeze(_as(products * _inverse(freedom), products.dtype))


def _inverse(freedom: Any) -> Any:
    if is_recorded(freedom):
        return np.true_divide(1, np.where(freedom <= 0, 0.0, freedom)[()])
    return np.true_divide(1, freedom) if freedom > 0 else math.inf


def _as(x: Any, dtype: np.dtype[Any]) -> Any:
    return x if x.dtype == dtype else cast(x, dtype)


def _variables(m: Any, name: str) -> Any:
    m = as_array(m)
    if np.ndim(m) > 2:
        raise ValueError(f"{name} has more than 2 dimensions")
    return at_least(1, m)


def _weights(w: Any, name: str, rows: Any) -> Any:
    """Weights of the observations, as floating numbers."""
    w = settled(as_array(w))
    if np.ndim(w) > 1:
        raise ValueError(f"cannot handle multidimensional {name}")
    if np.shape(w)[0] != rows.shape[1]:
        raise ValueError(f"incompatible numbers of samples and {name}")
    whole = name == "fweights"
    if is_recorded(w) and whole and w.dtype.kind not in "biu":
        raise TypeError("fweights must be integer, and recorded ones of an integer dtype")
    if not is_recorded(w):
        if whole and not np.all(w == np.around(w)):
            raise TypeError("fweights must be integer")
        if np.any(w < 0):
            raise ValueError(f"{name} cannot be negative")
    return _as(w, np.dtype(np.float64))


@composite(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> Any:
    """The correlation coefficients of real variables."""
    c = np.cov(x, y, rowvar, dtype=dtype)
    if c.dtype.kind == "c":
        raise TypeError("correlation coefficients of complex variables are not supported")
    if not c.ndim:
        return c / c
    deviations = np.sqrt(np.diag(c))
    return np.clip(c / deviations[:, None] / deviations[None, :], -1, 1)
