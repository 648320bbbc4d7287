"""Objects that stand for an array as arguments: of pandas and xarray, and arrays that map a file.

The function gets the array that np.asarray makes of them; index, columns, dimensions and attributes
stay outside, and results are NumPy's. What stands for an array of Dask is refused, because its
elements need not fit into memory. No package is imported: their classes say where they come from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.support.errors import TracejitError, fail
from tracejit.trace.trees import flatten, map_tree

PACKAGES = frozenset(("pandas", "xarray"))
DASK = frozenset(("dask", "dask_expr"))


def is_wrapped(cls: type) -> bool:
    """Return whether objects of a class stand for an array: maps of files, and objects of pandas,
    of xarray, or derived from these."""
    if cls is np.memmap:
        return True
    origins = {base.__module__.partition(".")[0] for base in cls.__mro__}
    return hasattr(cls, "__array__") and not PACKAGES.isdisjoint(origins)


def has_wrapped_inside(value: Any) -> bool:
    """Return whether a container holds an object that stands for an array."""
    leaves = flatten(value)[0]
    return any(is_wrapped(type(leaf)) for leaf in leaves if leaf is not value)


def unwrapped(value: Any) -> Any:
    """The arrays of what stands for them; a container that holds none is itself."""
    if is_wrapped(type(value)) or has_wrapped_inside(value):
        return map_tree(lambda leaf: np.asarray(leaf) if is_wrapped(type(leaf)) else leaf, value)
    return value


def is_of_dask(cls: type) -> bool:
    """Return whether objects of a class are Dask's, computed later: arrays, tables, delayed."""
    return hasattr(cls, "__dask_graph__") and cls.__module__.partition(".")[0] in DASK


def of_dask(value: Any, what: str, path: str, is_captured: bool = False) -> TracejitError:
    """The error about an object of Dask where NumPy's are wanted; the caller raises it."""
    kind = type(value)  # a Delayed has every attribute
    if hasattr(kind, "to_dask_array"):
        fix = f"pass {path}.to_dask_array(lengths=True)"
    elif hasattr(kind, "chunks"):
        fix = f"make {path} an argument, and pass it" if is_captured else f"pass {path}"
    else:
        return fail("dask", None, what=what, kind=kind.__name__, fix=f"pass {path}.compute().")
    fix += " to td.function(f), td.value_and_grad(f) or another of `import tracejit.dask as td`."
    return fail("dask", None, what=what, kind=kind.__name__, fix=fix)
