"""Functions that are never converted: what users exclude, and the libraries that run as they are.

The standard library and NumPy's own Python never see anything but what the operators give them, so
there is nothing in them to convert. A user excludes a function, a module or a package by `as_is`,
and everything by setting TRACEJIT_CONVERT to 0.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

from tracejit.convert.source import Reason
from tracejit.support.memo import ByIdentity

VARIABLE = "TRACEJIT_CONVERT"
LIBRARIES = frozenset((*sys.stdlib_module_names, "numpy", "tracejit"))

SWITCHED_OFF = Reason(f"{VARIABLE} is 0", f"Unset {VARIABLE}")
MARKED = Reason("it was marked with as_is", "Remove the mark")
LIBRARY = Reason("it is part of Python, NumPy or tracejit", "Write what it does in a function")

Marked = TypeVar("Marked")

_marked: ByIdentity[CodeType, bool] = ByIdentity()
_modules: set[str] = set()


def as_is(marked: Marked) -> Marked:
    """Exclude a function, a class with its methods, a module, or a package by its name.

    >>> import json
    >>> as_is(json).__name__
    'json'
    """
    match marked:
        case ModuleType():
            _modules.add(marked.__name__)
        case str():
            _modules.add(marked)
        case type():
            for member in vars(marked).values():
                _mark(member)
        case _:
            _mark(marked)
    return marked


def _mark(member: Any) -> None:
    function = getattr(member, "__func__", getattr(member, "fget", member))
    if isinstance(function, FunctionType):
        _marked[function.__code__] = True


def exclusion(function: FunctionType) -> Reason | None:
    """The reason for which a function runs as it is written, whatever its source."""
    module = function.__globals__.get("__name__")
    name = module if isinstance(module, str) else ""
    if name.split(".", 1)[0] in LIBRARIES:
        return LIBRARY
    if os.environ.get(VARIABLE) == "0":
        return SWITCHED_OFF
    is_excluded = bool(_modules) and any(map(_modules.__contains__, _packages(name)))
    if is_excluded or function.__code__ in _marked:
        return MARKED
    return None


def _packages(name: str) -> list[str]:
    """A module and the packages that it is in.

    >>> _packages("scipy.stats._fit")
    ['scipy', 'scipy.stats', 'scipy.stats._fit']
    """
    parts = name.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]
