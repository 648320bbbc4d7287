"""Rules of SciPy, and of other libraries that are C inside.

Distances and norms are recorded by what they compute, distributions by the formulas of
`tracejit.ops.scipy.stats`. Solvers are refused by name where what they solve depends on something
recorded; so is C code, which knows nothing of Tensors.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any

import numpy as np

from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import HANDLERS
from tracejit.support.errors import fail
from tracejit.support.imports import import_module
from tracejit.trace.convert.numbers import python_number
from tracejit.trace.convert.rules import where_recorded
from tracejit.trace.guards.reads import module_name
from tracejit.trace.recording.numbers import origins_of
from tracejit.trace.recording.scipy_calls import scipy_called
from tracejit.trace.source import places
from tracejit.trace.source.instead import SOLVERS, is_closed, not_recorded
from tracejit.trace.structure.trees import flatten, map_tree
from tracejit.trace.tensor.call_errors import spelling
from tracejit.trace.tensor.namespaces import recordable, recorded_argument
from tracejit.trace.tensor.tensor import TENSORS


def without_overwriting(call: Callable[..., Any]) -> Callable[..., Any]:
    """`call` without the keywords by which SciPy may write into its arguments."""

    @functools.wraps(call)
    def without(*args: Any, **kwargs: Any) -> Any:
        if recorded_argument(*args, *kwargs.values()) is not None:
            kwargs = {k: v for k, v in kwargs.items() if not k.startswith("overwrite_")}
        return call(*args, **kwargs)

    return without


def is_foreign(called: Any, kind: type) -> bool:
    """Return whether what is called is C code of a library, which knows nothing of Tensors."""
    if type(getattr(kind, _CALL, None)) is FunctionType:
        return False
    module = getattr(called, "__module__", None) or getattr(kind, "__module__", "")
    package = str(module).partition(".")[0]
    return kind.__name__ == "fortran" or package not in _OWN


_CALL = "__call__"
_OWN = frozenset((*sys.stdlib_module_names, "numpy", "tracejit"))


def refusing(called: Any) -> Callable[..., Any]:
    """`called`, refused by the name that the user's line has for it where something recorded is
    given, unless that is made of constants and captured arrays alone: then it gets the numbers."""

    def call(*args: Any, **kwargs: Any) -> Any:
        tensors = [leaf for leaf in flatten((args, kwargs))[0] if type(leaf) in TENSORS]
        numbers = {id(tensor): number_of(tensor) for tensor in tensors}
        if any(number is None for number in numbers.values()):
            name = scipy_called() or spelling(called)
            raise not_recorded(places.here(), name)
        before = {key: array.copy() for key, array in numbers.items()}
        given, named = map_tree(lambda leaf: numbers.get(id(leaf), leaf), (args, kwargs))
        result = called(*given, **named)
        for tensor in tensors:
            if not np.array_equal(numbers[id(tensor)], before[id(tensor)], equal_nan=True):
                tensor[...] = numbers[id(tensor)]
        return result

    return where_recorded(called, call)


def refuse_closed(called: Any, args: Any, kwargs: Any) -> None:
    """UnsupportedError where a function or class that draws, or that makes tables, is given
    floating numbers that are recorded."""
    library = str(called.__module__).partition(".")[0]
    if is_closed(library):
        leaves = flatten((args, kwargs))[0]
        if any(type(leaf) in TENSORS and leaf.type.is_inexact for leaf in leaves):
            raise not_recorded(places.here(), spelling(called))


def number_of(tensor: Any) -> Any:
    """The number of a Tensor that is the same in all calls of a kernel, which then compares the
    arrays that it is computed from; None where it may not be."""
    origins = origins_of(tensor._value)
    if origins == set():
        return np.array(tensor)
    recording = tensor._recording
    reader = getattr(getattr(recording, "captures", None), "reader", None)
    if origins is None or reader is None:
        return None
    captured = {hidden.value: hidden.holder for hidden in recording.hidden.values()}
    arrays = [captured.get(origin) for origin in origins]
    if any(type(array) is not np.ndarray for array in arrays):
        return None
    for array in arrays:
        reader.hand_array(array)
    return np.array(recording.decisions.prefix[tensor._value])


def _is_of_stats(owner: Any) -> bool:
    return "scipy.stats" in sys.modules and module_name(type(owner)).startswith("scipy.stats.")


def method_of_distribution(called: Any) -> Callable[..., Any] | None:
    """A method of a distribution, or of one with given parameters, that is recorded by a formula;
    or None."""
    owner, name = called.__self__, called.__func__.__name__
    if not _is_of_stats(owner):
        return None
    import_module("tracejit.ops.scipy.stats")
    if called in HANDLERS:
        return recordable(called)
    family = getattr(
        sys.modules["scipy.stats"], getattr(getattr(owner, "dist", None), "name", ""), None
    )
    method = getattr(family, name, None)
    if method is None or method not in HANDLERS:
        return None
    given, keywords = owner.args, owner.kwds
    recorded = recordable(method)

    def call(*args: Any, **kwargs: Any) -> Any:
        if recorded_argument(*args, *kwargs.values(), *given, *keywords.values()) is None:
            return called(*args, **kwargs)
        return recorded(*args, *given, **kwargs, **keywords)

    return call


class FrozenDistribution:
    """A distribution with its parameters, some of which are recorded."""

    def __init__(self, family: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """`args` and `keywords` are the parameters of `family`."""
        self.dist, self.args, self.kwds = family, args, keywords

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.dist, name)
        if not callable(method):
            return method
        if method not in HANDLERS:
            called = f"scipy.stats.{getattr(self.dist, 'name', type(self.dist).__name__)}.{name}"
            raise not_recorded(places.here(), called)
        recorded = recordable(method)
        return lambda *args, **kwargs: recorded(*args, *self.args, **kwargs, **self.kwds)


def frozen(called: Any) -> Callable[..., Any] | None:
    """The call of a distribution, which gives it parameters that are recorded; or None."""
    if not _is_of_stats(called) or not hasattr(
        called, "_parse_args" if hasattr(called, "shapes") else "_logpdf"
    ):
        return None
    import_module("tracejit.ops.scipy.stats")
    return where_recorded(called, lambda *args, **kwargs: FrozenDistribution(called, args, kwargs))


Metric = Callable[[Any, Any], Any]


def _root(squares: Any) -> Any:
    """Square roots, with no slope where nothing is to be taken the root of."""
    is_zero = squares == 0.0
    return np.where(is_zero, 0.0, np.sqrt(np.where(is_zero, 1.0, squares)))


def _squares(u: Any, v: Any) -> Any:
    return np.sum((u - v) ** 2, axis=-1)


def _cosine(u: Any, v: Any) -> Any:
    lengths = _root(np.sum(u * u, axis=-1)) * _root(np.sum(v * v, axis=-1))
    return 1.0 - np.sum(u * v, axis=-1) / lengths


def _correlation(u: Any, v: Any) -> Any:
    centered = [w - np.mean(w, axis=-1, keepdims=True) for w in (u, v)]
    return _cosine(*centered)


def _canberra(u: Any, v: Any) -> Any:
    scale = np.abs(u) + np.abs(v)
    return np.sum(
        np.where(scale == 0.0, 0.0, np.abs(u - v) / np.where(scale == 0.0, 1.0, scale)), axis=-1
    )


METRICS: dict[str, Metric] = {
    "braycurtis": lambda u, v: np.sum(np.abs(u - v), axis=-1) / np.sum(np.abs(u + v), axis=-1),
    "canberra": _canberra,
    "chebyshev": lambda u, v: np.max(np.abs(u - v), axis=-1),
    "cityblock": lambda u, v: np.sum(np.abs(u - v), axis=-1),
    "correlation": _correlation,
    "cosine": _cosine,
    "euclidean": lambda u, v: _root(_squares(u, v)),
    "sqeuclidean": _squares,
}
"""The distances between the points along the last axis, by their names in scipy.spatial."""


def _metric(name: Any, options: dict[str, Any], function: str) -> Metric:
    if name == "minkowski" and options.keys() <= {"p"}:
        p = options.get("p", 2)
        return lambda u, v: np.sum(np.abs(u - v) ** p, axis=-1) ** (1.0 / p)
    if type(name) is str and name.lower() in METRICS and not options:
        return METRICS[name.lower()]
    problem = f"of its metrics it records {', '.join(METRICS)} and minkowski, without weights"
    words = {"function": function, "problem": problem, "fix": "write the distance in NumPy."}
    raise fail("unsupported-call", places.here(), **words)


def _points(x: Any) -> Any:
    x = as_array(x)
    return x if x.dtype.kind == "f" else x.astype(float)


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    """scipy.spatial.distance.cdist."""
    distance = _metric(metric, options, "scipy.spatial.distance.cdist")
    return distance(_points(XA)[:, None, :], _points(XB)[None, :, :])


def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    """scipy.spatial.distance.pdist."""
    distance = _metric(metric, options, "scipy.spatial.distance.pdist")
    points = _points(X)
    first, second = np.triu_indices(points.shape[0], 1)
    return distance(points[first], points[second])


def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """scipy.spatial.distance.squareform."""
    x = as_array(X)
    if x.ndim == 2:
        return x[np.triu_indices(x.shape[0], 1)]
    size = (1 + math.isqrt(1 + 8 * x.shape[0])) // 2
    first, second = np.triu_indices(size, 1)
    places_of = np.zeros((size, size), dtype=np.intp)
    places_of[first, second] = places_of[second, first] = np.arange(first.size)
    return np.where(np.eye(size, dtype=bool), 0.0, x[places_of])


def of_norm(norm: Callable[..., Any]) -> Callable[..., Any]:
    """scipy.linalg.norm, which answers a Python float for what BLAS and LAPACK compute."""
    recorded = recordable(norm, as_array)

    def call(
        a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, **options: Any
    ) -> Any:
        found = recorded(a, ord, axis, keepdims, **options)
        a = as_array(a)
        by_blas = ord in (None, 2) and a.ndim == 1
        by_lapack = ord in (1, np.inf) and a.ndim == 2
        is_number = axis is None and not keepdims and (by_blas or by_lapack)
        return python_number(found, float) if is_number else found

    return where_recorded(norm, call)


def of_solver(solver: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A solver, refused where its arguments, or what its functions enclose, are recorded."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        enclosed = [_enclosed(one) for one in given if type(one) is FunctionType]
        if recorded_argument(*given, *enclosed) is not None:
            raise not_recorded(places.here(), name)
        return solver(*args, **kwargs)

    return call


def _enclosed(function: FunctionType) -> list[Any]:
    """The objects that a function encloses."""
    found = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty one
            found.append(cell.cell_contents)
    return found


def of_function(called: Any) -> Callable[..., Any] | None:
    """The callable that records a function of SciPy's by these rules, or None."""
    area = called.__module__.split(".")[1]
    name = called.__name__
    if area == "spatial" and name in ("cdist", "pdist", "squareform"):
        return where_recorded(called, globals()[name])
    if area == "linalg" and name == "norm":
        return of_norm(called)
    if area in ("optimize", "integrate") and name in SOLVERS:
        return of_solver(called, f"scipy.{area}.{name}")
    return None
