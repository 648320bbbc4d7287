"""Functions that are never converted: those that users exclude, and some libraries.

The standard library and NumPy's own Python get only values from the operators, so there is nothing
in them to convert. A user excludes a function, a class or a module by `as_is`, and packages by the
setting of this name.
"""

from __future__ import annotations

import sys
from functools import cached_property, lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, TypeVar

from tracejit.support.config import setting
from tracejit.support.errors import fail
from tracejit.support.memo import ByIdentity

LIBRARIES = frozenset((*sys.stdlib_module_names, "numpy", "tracejit"))
CONVERTED = ("numpy.polynomial", "numpy.lib._polynomial_impl")
"""Modules of these whose classes keep arrays of the user's."""
MATRICES = "scipy.sparse._"
"""Modules of sparse matrices, which hand over to the other factor where NumPy does not know it."""


class Reason(NamedTuple):
    """A reason for which a function is not converted, and the user's cure, as clauses."""

    why: str
    cure: str


MARKED = Reason("it is marked with as_is", "Remove the mark")
SET = Reason("the setting as_is names its package", "Take the package out of the setting")
LIBRARY = Reason("it is part of Python, NumPy or tracejit", "Write its computation in a function")

Marked = TypeVar("Marked")
_WRAPPERS = (classmethod, staticmethod, property, cached_property)

_marked: ByIdentity[CodeType, bool] = ByIdentity()
_modules: set[str] = set()


def as_is(marked: Marked) -> Marked:
    """Let a function run without conversion.

    Parameters
    ----------
    marked : function, class, module or str
        A function, or a class for its methods. A module, or the name of a package, is for all
        functions in it.

    Returns
    -------
    function, class, module or str
        `marked` itself, so that `as_is` is also a decorator.

    Raises
    ------
    ArgumentError
        If `marked` cannot be called, and is neither a module nor a name. A TypeError.

    Notes
    -----
    In code that is not converted, a call is recorded if NumPy hands it to a recorded
    array: `np.zeros_like(x)` can be filled with recorded values, and `np.zeros(3)` cannot.
    `explain()` names each function that ran without conversion. The setting `as_is` names packages
    without any change of code. Existing kernels are kept.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> @tj.as_is
    ... def energy(x):
    ...     return np.sum(x * x)
    >>> tj.grad(lambda x: energy(x))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    if isinstance(marked, str | ModuleType):
        _modules.add(marked if isinstance(marked, str) else marked.__name__)
    elif isinstance(marked, type):
        for member in vars(marked).values():
            _mark(member)
    elif callable(marked) or isinstance(marked, _WRAPPERS):
        _mark(marked)
    else:
        raise fail("not-callable", None, decorator="tj.as_is", kind=type(marked).__name__)
    return marked


def _mark(member: Any) -> None:
    """Mark a function, and what it wraps."""
    if isinstance(member, FunctionType):
        _marked[member.__code__] = True
    for word in ("__func__", "__wrapped__", "fget", "func"):
        wrapped = getattr(member, word, None)
        if isinstance(wrapped, FunctionType) and wrapped.__code__ not in _marked:
            _mark(wrapped)


def is_never_converted(function: FunctionType) -> bool:
    """Return whether a function is a part of Python, NumPy or tracejit, or of sparse matrices."""
    return _is_never_converted(_module_of(function))


@lru_cache(4096)
def _is_never_converted(name: str) -> bool:
    is_library = name.split(".", 1)[0] in LIBRARIES and not name.startswith(CONVERTED)
    return is_library or name.startswith(MATRICES)


def _module_of(function: FunctionType) -> str:
    module = function.__globals__.get("__name__")
    return module if isinstance(module, str) else ""


def exclusion(function: FunctionType) -> Reason | None:
    """The reason for which a function runs as it is written, whatever its source."""
    if is_never_converted(function):
        return LIBRARY
    packages = _packages(_module_of(function))
    if function.__code__ in _marked or not _modules.isdisjoint(packages):
        return MARKED
    return None if set(setting("as_is")).isdisjoint(packages) else SET


def _packages(name: str) -> list[str]:
    """A module and the packages that it is in.

    >>> _packages("scipy.stats._fit")
    ['scipy', 'scipy.stats', 'scipy.stats._fit']
    """
    parts = name.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]
