"""scipy.spatial.distance: distances between the points in the rows of arrays, as formulas.

A distance is computed as in SciPy's C code, and its gradient is zero if two points are the same.
Distances between two vectors are Python in SciPy, which is converted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance as sd
from scipy import special as sc

from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import composite
from tracejit.ops.elementwise.lengths import flat, length

Metric = Callable[..., Any]


def _root(powers: Any, difference: Any, exponent: float = 0.5) -> Any:
    """Roots of what is zero where a difference along the last axis is; there they have no slope."""
    is_zero = powers == 0.0
    known = np.where(is_zero, 1.0, powers)
    roots = np.sqrt(known) if exponent == 0.5 else known**exponent
    none = flat(np.where(np.expand_dims(is_zero, -1), difference, 0.0))
    return np.where(is_zero, np.sum(none, axis=-1), roots)


def _length(u: Any, v: Any, w: Any = None) -> Any:
    difference = u - v
    if w is None:
        return length(np.sqrt(np.sum(difference**2, axis=-1)), difference)
    return _along(difference, w * difference)


def _along(difference: Any, other: Any) -> Any:
    return length(np.sqrt(np.sum(other * difference, axis=-1)), difference, other)


def _total(terms: Any, w: Any) -> Any:
    """The sum along the last axis, weighted."""
    return np.sum(terms if w is None else w * terms, axis=-1)


def _squares(u: Any, v: Any, w: Any = None) -> Any:
    return _total((u - v) ** 2, w)


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    return 1.0 - _total(u * v, w) / np.sqrt(_total(u * u, w) * _total(v * v, w))


def _correlation(u: Any, v: Any, w: Any = None) -> Any:
    share = 1.0 / np.shape(u)[-1] if w is None else w / np.sum(w)
    u, v = (x - np.sum(share * x, axis=-1, keepdims=True) for x in (u, v))
    return _cosine(u, v, w)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    scale = np.abs(u) + np.abs(v)
    is_zero = scale == 0.0
    return _total(np.where(is_zero, 0.0, np.abs(u - v) / np.where(is_zero, 1.0, scale)), w)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    differences = np.abs(u - v)
    return np.max(differences if w is None else (w > 0) * differences, axis=-1)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return _total(np.abs(u - v), w) / _total(np.abs(u + v), w)


def _minkowski(u: Any, v: Any, w: Any = None, p: Any = 2) -> Any:
    if not p > 0:
        raise ValueError("p must be greater than 0")
    if p == 2:
        return _length(u, v, w)
    if p == math.inf:
        return _chebyshev(u, v, w)
    total = _total(np.abs(u - v) ** p, w)
    if p == 1:
        return total
    return _root(total, u - v, 1.0 / p)


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    difference = u - v
    return _along(difference, difference @ np.atleast_2d(as_array(VI)))


def _jensenshannon(u: Any, v: Any) -> Any:
    p, q = (x / np.sum(x, axis=-1, keepdims=True) for x in (u, v))
    middle = (p + q) / 2.0
    entropy = np.sum(sc.rel_entr(p, middle) + sc.rel_entr(q, middle), axis=-1)
    return _root(entropy / 2.0, p - q)


METRICS: dict[str, Metric] = {
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "chebyshev": _chebyshev,
    "cityblock": lambda u, v, w=None: _total(np.abs(u - v), w),
    "correlation": _correlation,
    "cosine": _cosine,
    "euclidean": _length,
    "jensenshannon": _jensenshannon,
    "mahalanobis": _mahalanobis,
    "minkowski": _minkowski,
    "seuclidean": lambda u, v, V: _length(u, v, 1.0 / as_array(V)),
    "sqeuclidean": _squares,
}
"""The distances between the points along the last axis, by their names in SciPy."""


def _distances(u: Any, v: Any, samples: Any, metric: Any, options: dict[str, Any]) -> Any:
    """The distances between the last axes of two arrays; `samples` give the spread that a metric
    takes by default."""
    name = metric.lower() if type(metric) is str else ""
    if name not in METRICS:
        raise TypeError(
            f"only the metrics {', '.join(METRICS)} are recorded; write other distances in NumPy"
        )
    if name == "seuclidean" and options.get("V") is None:
        options = options | {"V": np.var(samples(), axis=0, ddof=1)}
    if name == "mahalanobis" and options.get("VI") is None:
        options = options | {"VI": np.linalg.inv(np.atleast_2d(np.cov(samples().T))).T}
    given = {key: as_array(value) if key == "w" else value for key, value in options.items()}
    return METRICS[name](u, v, **given)


def _points(x: Any) -> Any:
    x = as_array(x)
    if np.ndim(x) != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    return x if x.dtype == np.float64 else x.astype(float)


@composite(sd.cdist)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: None = None, **options: Any) -> Any:
    """The distances between the rows of two arrays."""
    a, b = _points(XA), _points(XB)
    if np.shape(a)[1] != np.shape(b)[1]:
        raise ValueError("XA and XB must have the same number of columns.")
    samples = lambda: np.concatenate([a, b])  # noqa: E731
    return _distances(a[:, None, :], b[None, :, :], samples, metric, options)


@composite(sd.pdist)
def pdist(X: Any, metric: Any = "euclidean", *, out: None = None, **options: Any) -> Any:
    """The distances between the rows of an array, each pair once."""
    points = _points(X)
    first, second = np.triu_indices(np.shape(points)[0], 1)
    return _distances(points[first], points[second], lambda: points, metric, options)


@composite(sd.squareform)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """A matrix of distances from those of the pairs, or the other way round."""
    x = as_array(X)
    if force.lower() not in ("no", "tomatrix", "tovector"):
        raise ValueError(f"force={force!r} is not known")
    if np.ndim(x) not in (1, 2) or (np.ndim(x), force.lower()) in (
        (1, "tovector"),
        (2, "tomatrix"),
    ):
        raise ValueError(
            "Forcing a conversion needs a vector for a matrix, or a matrix for a vector."
        )
    if np.ndim(x) == 2:
        return x[np.triu_indices(np.shape(x)[0], 1)]
    size = (1 + math.isqrt(1 + 8 * np.shape(x)[0])) // 2
    if size * (size - 1) // 2 != np.shape(x)[0]:
        raise ValueError(
            "Incompatible vector size. It must be a binomial coefficient n choose 2 for some "
            "integer n >= 2."
        )
    first, second = np.triu_indices(size, 1)
    places_of = np.zeros((size, size), dtype=np.intp)
    places_of[first, second] = places_of[second, first] = np.arange(first.size)
    if not np.shape(x)[0]:
        return np.zeros((1, 1), x.dtype)
    return np.where(np.eye(size, dtype=bool), x.dtype.type(0), x[places_of])
