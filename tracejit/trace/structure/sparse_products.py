"""Sparse matrices of SciPy's: their parts, and their products with a Tensor.

A matrix by rows, by columns or by coordinates is its parts and its shape: the data, and integer
arrays of the places. `matrix_of` puts parts together.

SciPy's product asks an operand for its array, and hands over to the operand where it has none: so a
Tensor has none there. `times` stands for the product in the table of handlers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}
"""The parts of a matrix, by its format."""

DISPATCH = "_matmul_dispatch"
"""The method of SciPy's that hands over to what it cannot take for an array."""


def is_sparse(cls: type) -> bool:
    """Return whether objects of a class are sparse matrices or arrays of SciPy's, or stand for
    one."""
    if hasattr(cls, "__tracejit_sparse__"):
        return True
    library = sys.modules.get("scipy.sparse")
    return library is not None and issubclass(cls, (library.spmatrix, library.sparray))


def format_of(cls: type) -> str:
    """The format of the matrices of a class, such as "csr"."""
    names = (base.__name__.partition("_") for base in cls.__mro__)
    return next((name for name, _, kind in names if kind in ("array", "matrix")), "")


def recorded_matrix(
    cls: type, names: Sequence[str], parts: Sequence[Any], shape: tuple[int, ...]
) -> Any:
    """A matrix of parts that are recorded."""
    raise NotImplementedError


RECORDED: list[Callable[..., Any]] = [recorded_matrix]
"""The function that makes a matrix of parts that are recorded, last."""


def matrix_of(cls: type, names: Sequence[str], parts: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """The matrix of a class that has the parts of these names: of arrays SciPy's own, else one that
    is recorded."""
    if not all(type(part) is np.ndarray for part in parts):
        return RECORDED[-1](cls, names, parts, shape)
    data, *places = parts
    return cls((data, tuple(places)) if "row" in names else (data, *places), shape=shape)


def matrix_text(
    cls: str, names: Sequence[str], parts: Sequence[str], shape: tuple[int, ...]
) -> str:
    """The Python that makes it."""
    data, *places = parts
    rest = f"({', '.join(places)})" if "row" in names else ", ".join(places)
    return f"{cls}(({data}, {rest}), shape={shape})"


def places_by_rows(matrix: Any) -> list[tuple[str, Any]]:
    """The integer arrays that say where a matrix has elements, each with the Python that reads it
    from the matrix."""
    kind = format_of(type(matrix))
    if kind in PARTS:
        return [(name, getattr(matrix, name)) for name in PARTS[kind][1:]]
    rows = matrix.tocsr()
    return [(f"tocsr().{name}", getattr(rows, name)) for name in PARTS["csr"][1:]]


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


COMBINED = frozenset("+-*/")
"""The operators between a matrix and what is recorded that are none of products."""


def is_matrix(cls: type) -> bool:
    """Return whether objects of a class are SciPy's own sparse matrices or arrays."""
    return is_sparse(cls) and not hasattr(cls, "__tracejit_sparse__")


def is_operator(frame: FrameType | None) -> bool:
    """Return whether the code that asks what an operand is is an operator of SciPy's matrices,
    which leaves to the other operand what it does not know."""
    if frame is not None and frame.f_code.co_name == "__instancecheck__":
        frame = frame.f_back
    asking = None if frame is None or frame.f_code.co_name != "issparse" else frame.f_back
    if asking is None or asking.f_code.co_name not in _OPERATORS:
        return False
    return str(asking.f_globals.get("__name__")).startswith("scipy.sparse")


_OPERATORS = frozenset((DISPATCH, "_divide", "__add__", "__sub__"))


def combined(symbol: str, left: Any, right: Any) -> Any:
    """The result of an operator between a sparse matrix and what is recorded, in either order."""
    raise NotImplementedError


def multiplies(symbol: str, matrix: Any) -> bool:
    """Return whether an operator between `matrix` and an array is the matrix product."""
    if not is_sparse(type(matrix)):
        return False
    return symbol == "@" or (
        symbol == "*" and isinstance(matrix, sys.modules["scipy.sparse"].spmatrix)
    )
