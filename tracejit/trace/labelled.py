"""Arrays with labels: objects of pandas and xarray as arguments.

The function gets the array that np.asarray makes of them; index, columns, dimensions and attributes
stay outside, and results are NumPy's. Neither package is imported: their classes say where they
come from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.trace.trees import flatten, map_tree

PACKAGES = frozenset(("pandas", "xarray"))


def is_labelled(cls: type) -> bool:
    """Return whether objects of a class are arrays with labels: of pandas, xarray, or derived from
    these."""
    origins = {base.__module__.partition(".")[0] for base in cls.__mro__}
    return hasattr(cls, "__array__") and not PACKAGES.isdisjoint(origins)


def has_labelled_inside(value: Any) -> bool:
    """Return whether a container holds an array with labels."""
    leaves = flatten(value)[0]
    return any(is_labelled(type(leaf)) for leaf in leaves if leaf is not value)


def unlabelled(value: Any) -> Any:
    """The arrays of what has labels; a container that holds none is itself."""
    if is_labelled(type(value)) or has_labelled_inside(value):
        return map_tree(lambda leaf: np.asarray(leaf) if is_labelled(type(leaf)) else leaf, value)
    return value
