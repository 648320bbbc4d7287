"""Objects that are not plain arrays although they hold one: arrays that map a file, masked arrays,
objects of pandas, xarray, polars and Dask.

An array that maps a file is the array. What has rules of its own (labels are aligned, gaps left
out) is not an argument of a kernel: Python makes the call, or the call is refused. What stands for
an array of Dask is refused, because its elements need not fit into memory. No package is imported:
their classes say where they come from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.support.errors import TracejitError, Where, fail
from tracejit.support.words import a
from tracejit.trace.structure.trees import flatten, map_tree

PACKAGES = frozenset(("pandas", "xarray", "polars"))
DASK = frozenset(("dask", "dask_expr"))


def has_wrapped_inside(value: Any) -> bool:
    """Return whether a container holds an array that maps a file."""
    return any(type(leaf) is np.memmap for leaf in flatten(value)[0] if leaf is not value)


def unwrapped(value: Any) -> Any:
    """The arrays of what maps a file; a container that holds none is itself."""
    if type(value) is np.memmap or has_wrapped_inside(value):
        return map_tree(lambda leaf: np.asarray(leaf) if type(leaf) is np.memmap else leaf, value)
    return value


def _package(cls: type) -> str:
    """The package whose rules objects of a class follow, or a class made from one; or nothing."""
    if not hasattr(cls, "__array__") or issubclass(cls, np.ndarray):
        return ""
    origins = [base.__module__.partition(".")[0] for base in cls.__mro__]
    return next((name for name in origins if name in PACKAGES), "")


def is_labelled(cls: type) -> bool:
    """Return whether objects of a class compute by rules of pandas, xarray or polars."""
    return bool(_package(cls))


def labelled(value: Any, what: str, path: str) -> TracejitError:
    """The error about an object with labels where an array is wanted; the caller raises it."""
    return fail(
        "labelled", None, what=what, kind=noun_of(value), fix=f"pass {array_of(value, path)}."
    )


def not_an_array(value: Any, what: str, path: str) -> TracejitError:
    """The error about an object that is neither array nor number; the caller raises it."""
    if hasattr(value, "__dict__") and not callable(getattr(value, "__iter__", None)):
        fix = f"pass its arrays, for example vars({path}), or make its class a dataclass."
        return fail("not-an-array", None, what=what, kind=noun_of(value), fix=fix)
    plain = next((one.__name__ for one in (dict, list, tuple) if isinstance(value, one)), "")
    array = f"{plain}({path})" if plain else array_of(value, path)
    beside = "" if isinstance(value, np.ndarray) else ", or keep it outside the function"
    fix = f"pass {array}{beside}."
    return fail("not-an-array", None, what=what, kind=noun_of(value), fix=fix)


def dtype_refused(where: Where | None, dtype: Any, what: str, path: str = "x") -> TracejitError:
    """The error about an array of text, of objects, of dates or of foreign byte order."""
    fixes = {
        "O": f"make it an array of numbers, np.array({path}, dtype=float), or keep a list.",
        "U": f"number the words before the call: np.unique({path}, return_inverse=True)[1].",
        "M": f"count from a day: ({path} - {path}[0]) / np.timedelta64(1, 'D').",
        "m": f"count in a unit: {path} / np.timedelta64(1, 'D').",
    }
    fix = fixes.get(dtype.kind, f"convert it before the call: {path}.astype(float).")
    return fail("unsupported-dtype", where, what=what, dtype=dtype, fix=fix)


def noun_of(value: Any) -> str:
    """The user's words for an object: a Series of pandas."""
    kind = type(value)
    if value is None:
        return "None"
    if isinstance(value, np.ma.MaskedArray):
        return "a masked array"
    package = _package(kind)
    return a(kind.__name__) + (f" of {package}" if package else "")


def array_of(value: Any, path: str) -> str:
    """The expression for the array of an object."""
    if isinstance(value, np.ma.MaskedArray):
        return f"{path}.filled(0.0), or {path}.data and the mask apart"
    if hasattr(type(value), "to_dataarray"):  # a Dataset
        return f"{path}.to_dataarray().to_numpy()"
    return f"{path}.to_numpy()" if is_labelled(type(value)) else f"np.asarray({path})"


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
