"""Sparse matrices of SciPy's in recorded functions.

A matrix that is captured multiplies as SciPy has it: it hands over to a Tensor, which records the
product. What is made of it while recording (`S.T`, `2 * S`) is SciPy's, too, and lasts as long as
the contents of what it was made of, which the guard compares.

A matrix that is an argument is a RecordedMatrix: it can be multiplied and transposed; what would
compute with its numbers while recording is refused.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from tracejit.ir.types import HANDLE
from tracejit.ops.base.op import answer
from tracejit.ops.indexing.sparse import sparse_product
from tracejit.support.errors import fail
from tracejit.trace.recording.eager import handle_tensor
from tracejit.trace.recording.record import current_recording
from tracejit.trace.source import places
from tracejit.trace.source.instead import not_recorded
from tracejit.trace.structure.sparse_products import (
    PARTS,
    RECORDED,
    format_of,
    is_sparse,
    multiplies,
    times,
)
from tracejit.trace.structure.wrapped import dtype_refused
from tracejit.trace.tensor.tensor import Tensor


def _product(left: Any, right: Any) -> Any:
    is_left = is_sparse(type(left))
    matrix, array = (left, right) if is_left else (right, left)
    if is_sparse(type(array)):
        _refuse("a product of two sparse matrices", "compute it outside, and pass it.")
    if type(matrix) is not RecordedMatrix:
        matrix = RecordedMatrix(_handle_of(matrix), matrix)
    if np.ndim(array) == 0:
        _refuse("a product of a sparse matrix and a number", "multiply the other factor.")
    return matrix.product(array, is_left)


answer(times, _product)


def _handle_of(matrix: Any) -> Tensor:
    """The Tensor that stands for a matrix from outside, or made while recording."""
    recording = current_recording()
    if recording is None:
        return handle_tensor(matrix)
    for hidden in recording.hidden.values():
        if hidden.value.type is HANDLE and same_memory(hidden.holder, matrix):
            return Tensor(hidden.value, recording)
    return Tensor(recording.hide(matrix, _name_of(matrix), HANDLE), recording)


def _name_of(matrix: Any) -> str:
    """The name of a user's variable that holds the matrix, or "matrix" if there is none."""
    frame = places.user_frame()
    known = {} if frame is None else {**frame.f_globals, **frame.f_locals}
    found = (name for name, value in known.items() if value is matrix)
    return next((x for x in found if x.isidentifier() and not keyword.iskeyword(x)), "matrix")


def same_memory(one: Any, other: Any) -> bool:
    """Return whether two objects are one matrix: of one class and shape, its numbers in one
    memory."""
    if type(one) is not type(other) or not is_sparse(type(one)) or one.shape != other.shape:
        return False
    pairs = [(vars(one).get(name), vars(other).get(name)) for name in {*vars(one), *vars(other)}]
    arrays = [pair for pair in pairs if type(pair[0]) is np.ndarray]
    return bool(arrays) and all(
        type(b) is np.ndarray and a.__array_interface__ == b.__array_interface__ for a, b in arrays
    )


class RecordedMatrix:
    """A sparse matrix whose products are recorded."""

    # Without slots: an object that shows a Tensor in its __dict__ is refused as a result.

    __array_ufunc__ = None
    __tracejit_sparse__ = True

    part_names: tuple[str, ...] | None = None

    def __init__(self, handle: Any, matrix: Any, transposed: bool = False) -> None:
        """The matrix that the Tensor `handle` stands for, or its transpose; of `matrix` only class,
        shape and dtype are known."""
        if len(matrix.shape) != 2:
            _refuse("a sparse array of one dimension", "make it a matrix of one row.")
        if matrix.dtype.kind not in "biufc":
            raise dtype_refused(places.here(), matrix.dtype, "a matrix", "A")
        self._handle = handle
        self._matrix = matrix
        self._transposed = transposed
        self.kind = type(matrix)
        self.dtype = matrix.dtype
        self.shape = matrix.shape[::-1] if transposed else matrix.shape
        self.ndim = 2

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class of the matrix that it stands for: the user's isinstance holds."""
        return self.kind

    def __repr__(self) -> str:
        return f"<{self.kind.__name__} of shape {self.shape}, being recorded>"

    def product(self, array: Any, left: bool) -> Any:
        """The product with an array on its right, or on its left."""
        words = {"shape": tuple(map(int, self._matrix.shape)), "dtype": str(self.dtype)}
        return sparse_product(self._handle, array, left=left, transposed=self._transposed, **words)

    @property
    def T(self) -> RecordedMatrix:
        """The transpose."""
        return RecordedMatrix(self._handle, self._matrix, not self._transposed)

    def transpose(self, axes: Any = None, copy: bool = False) -> RecordedMatrix:
        """The transpose."""
        return self.T

    def __matmul__(self, other: Any) -> Any:
        return self._times("@", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._times("@", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._times("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._times("*", other, self)

    def dot(self, other: Any) -> Any:
        """The product with an array on its right."""
        return self @ other

    def _times(self, symbol: str, left: Any, right: Any) -> Any:
        array = right if left is self else left
        if not multiplies(symbol, self) or np.ndim(array) == 0:
            _refuse(f"{symbol} of a sparse matrix", "compute it outside, and pass it.")
        if hasattr(type(array), "__tracejit_record__"):
            return array._handle(times, (left, right), {})
        if is_sparse(type(array)):
            _refuse("a product of two sparse matrices", "compute it outside, and pass it.")
        return self.product(np.asarray(array), left is self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(self.kind, name):
            raise AttributeError(f"'{self.kind.__name__}' object has no attribute {name!r}")
        raise _unsupported(f"{self.kind.__name__}.{name}")


def _unsupported(function: str) -> Exception:
    return not_recorded(places.here(), function)


def _refuse(what: str, fix: str) -> NoReturn:
    problem = "its result would be of this one call"
    raise fail("unsupported-call", places.here(), function=what, problem=problem, fix=fix)


class MatrixOfParts(RecordedMatrix):
    """A sparse matrix whose parts are recorded."""

    def __init__(self, kind: type, parts: Sequence[Any], shape: tuple[int, ...]) -> None:
        """The matrix of class `kind` that SciPy would make of these parts."""
        self.kind, self.shape, self.ndim = kind, shape, 2
        self.part_names = PARTS[format_of(kind)]
        self.dtype = parts[0].dtype
        vars(self).update(zip(self.part_names, parts, strict=True))


RECORDED.append(MatrixOfParts)
