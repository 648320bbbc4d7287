"""Products of a Tensor and a sparse matrix of SciPy's.

SciPy's product asks an operand for its array, and hands over to the operand where it has none: so a
Tensor has none there. `times` stands for the product in the table of handlers.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np

DISPATCH = "_matmul_dispatch"
"""The method of SciPy's that hands over to what it cannot take for an array."""


def is_sparse(cls: type) -> bool:
    """Return whether objects of a class are sparse matrices or arrays of SciPy's, or stand for
    one."""
    if hasattr(cls, "__tracejit_sparse__"):
        return True
    library = sys.modules.get("scipy.sparse")
    return library is not None and issubclass(cls, (library.spmatrix, library.sparray))


def hands_over(frame: FrameType) -> bool:
    """Return whether the code that asks is SciPy's product, which then gets no array from a
    Tensor."""
    if frame.f_code.co_name != DISPATCH:
        return False
    return str(frame.f_globals.get("__name__")).startswith("scipy.sparse")


def no_array() -> np.ndarray:
    """A 0-d array of None, which SciPy does not take for an array operand."""
    return np.array(None, dtype=object)


def times(left: Any, right: Any) -> Any:
    """The product of a sparse matrix and an array, in either order, one of which is recorded."""
    raise NotImplementedError


def multiplies(symbol: str, matrix: Any) -> bool:
    """Return whether an operator between `matrix` and an array is the matrix product."""
    if not is_sparse(type(matrix)):
        return False
    return symbol == "@" or (
        symbol == "*" and isinstance(matrix, sys.modules["scipy.sparse"].spmatrix)
    )
