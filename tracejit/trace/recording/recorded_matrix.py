"""Sparse matrices of SciPy's in recorded functions.

A matrix that is captured multiplies as SciPy has it: it hands over to a Tensor, which records the
product. What is made of it while recording (`S.T`, `2 * S`) is SciPy's, too, and lasts as long as
the contents of what it was made of, which the guard compares.

A matrix that is an argument, or is made of recorded data, is a RecordedMatrix. As long as nothing
but products are made of an argument, it is SciPy's object, a handle; what computes with its numbers
takes it apart. Sums keep the numbers of both in turn, as by coordinates, where a place
may occur twice.
"""

from __future__ import annotations

import keyword
import operator
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from tracejit.ir.types import HANDLE
from tracejit.ops.base.creation import is_recorded, settled
from tracejit.ops.base.op import answer
from tracejit.ops.indexing.indexing import add_at, take_at
from tracejit.ops.indexing.sparse import matrix_part, matrix_size, matrix_view, sparse_product
from tracejit.support.errors import fail
from tracejit.support.imports import import_module
from tracejit.trace.recording.eager import handle_tensor
from tracejit.trace.recording.record import current_recording
from tracejit.trace.source import places
from tracejit.trace.source.instead import not_recorded
from tracejit.trace.structure.sparse_products import (
    PARTS,
    RECORDED,
    combined,
    format_of,
    is_operator,
    is_sparse,
    multiplies,
    times,
)
from tracejit.trace.structure.trees import flatten, map_tree
from tracejit.trace.structure.wrapped import dtype_refused
from tracejit.trace.tensor.tensor import Tensor


def _product(left: Any, right: Any) -> Any:
    is_left = is_sparse(type(left))
    matrix, array = (left, right) if is_left else (right, left)
    if np.ndim(array) == 0:
        return recorded(matrix).multiply(array)
    return recorded(matrix).product(array, is_left)


answer(times, _product)


def _combined(symbol: str, left: Any, right: Any) -> Any:
    pair = (recorded(one) if is_sparse(type(one)) else one for one in (left, right))
    return _OPERATORS[symbol](*pair)


_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
answer(combined, _combined)


def handle_of(matrix: Any) -> Tensor:
    """The Tensor that stands for a matrix, or its factors, from outside, or made while
    recording."""
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
    """A sparse matrix that is recorded: SciPy's own object, or its parts.

    `operands` and `form` are those of `tracejit.ops.scipy.sparse`. `kind` is the class that SciPy's
    matrix would have.
    """

    # Without slots: an object that shows a Tensor in its __dict__ is refused as a result.

    __array_ufunc__ = None
    __tracejit_sparse__ = True

    def __init__(
        self, kind: type, shape: tuple[int, ...], dtype: Any, form: str, operands: Sequence[Any]
    ) -> None:
        """A matrix of class `kind` in this form."""
        if len(shape) != 2:
            _refuse("a sparse array of one dimension", "make it a matrix of one row.")
        if dtype.kind not in "biufc":
            raise dtype_refused(places.here(), dtype, "a matrix", "A")
        self.kind, self.shape, self.dtype = kind, tuple(map(int, shape)), dtype
        self.form, self.operands = form, tuple(operands)
        self.format, self.ndim = format_of(kind), 2

    @classmethod
    def of_handle(cls, handle: Any, matrix: Any) -> RecordedMatrix:
        """The matrix that the Tensor `handle` stands for; of `matrix` only class, shape and dtype
        are known."""
        return cls(type(matrix), matrix.shape, matrix.dtype, "handle", [handle])

    @classmethod
    def of_parts(
        cls, kind: type, names: Sequence[str], parts: Sequence[Any], shape: tuple[int, ...]
    ) -> RecordedMatrix:
        """The matrix of class `kind` that SciPy would make of these parts: by coordinates, or as
        the format has them. All parts of one of SciPy's own are that matrix."""
        form = format_of(kind)
        if "row" in names and form != "coo":
            form += "*"
        whole = _whole_of(names, parts)
        form, operands = (form, parts) if whole is None else ("handle", [whole])
        dtype = getattr(parts[0], "dtype", np.dtype(float))  # or a mark in the place of data
        return cls(kind, shape, dtype, form, operands)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class of the matrix that it stands for: the user's isinstance holds. Operators of
        SciPy's leave it to this one."""
        return RecordedMatrix if is_operator(sys._getframe(1)) else self.kind

    def __repr__(self) -> str:
        return f"<{self.kind.__name__} of shape {self.shape}, being recorded>"

    # Parts

    @property
    def part_names(self) -> tuple[str, ...] | None:
        """The names of its parts as a result or an argument; None if its format has no such."""
        return PARTS.get("coo" if self.form.endswith("*") else self.format)

    def parts(self) -> RecordedMatrix:
        """The same matrix by its parts."""
        if not self.form.startswith("handle"):
            return self
        handle = self.operands[0]
        if self.form == "handle.T":
            kind, shape = _turned_class(self.kind), self.shape[::-1]
            return RecordedMatrix(kind, shape, self.dtype, "handle", [handle]).parts().T
        form = self.format if self.format in PARTS else "csr"
        before = "" if form == self.format else "tocsr()."
        names = [f"{before}{name}" for name in PARTS[form]]
        sizes = [_decided_size(handle, names[0])] * 3
        if form != "coo":
            sizes[2] = self.shape[form == "csc"] + 1
        matrix = _object_of(handle)
        matrix = matrix.tocsr() if before else matrix
        dtypes = [str(getattr(matrix, name).dtype) for name in PARTS[form]]
        found = [
            matrix_part(handle, name=name, size=size, dtype=dtype)
            for name, size, dtype in zip(names, sizes, dtypes, strict=True)
        ]
        return RecordedMatrix(self.kind, self.shape, self.dtype, form, found)

    def entries(self) -> tuple[Any, Any, Any]:
        """The data, and the row and the column of each."""
        matrix = self.parts()
        rows, columns = _sparse_ops().entries_of(matrix.operands, matrix.form, matrix.shape)
        return matrix.operands[0], rows, columns

    def _part(self, name: str) -> Any:
        """A part by SciPy's name, which nobody can write to."""
        if name not in PARTS.get(self.format, ()) or self.form.endswith("*"):
            raise _unsupported(f"{self.kind.__name__}.{name}")
        parts = self.parts()
        found = parts.operands[PARTS[self.format].index(name)]
        return matrix_view(found)

    data = property(lambda self: self._part("data"))
    indices = property(lambda self: self._part("indices"))
    indptr = property(lambda self: self._part("indptr"))
    row = property(lambda self: self._part("row"))
    col = property(lambda self: self._part("col"))

    @property
    def coords(self) -> tuple[Any, Any]:
        """The rows and columns of its numbers."""
        return self._part("row"), self._part("col")

    @property
    def nnz(self) -> int:
        """The number of numbers that it keeps."""
        if self.form.endswith("*"):
            raise _unsupported(f"{self.kind.__name__}.nnz")
        return int(self.parts().operands[0].shape[0])

    def _with(self, data: Any, kind: type | None = None) -> RecordedMatrix:
        """The matrix with other data in the same places."""
        parts = self.parts()
        operands = (data, *parts.operands[1:])
        return RecordedMatrix(kind or self.kind, self.shape, data.dtype, parts.form, operands)

    def _of_entries(self, kind: type, entries: Sequence[Any], shape: Any = None) -> RecordedMatrix:
        """The matrix of class `kind` of data, rows and columns."""
        form = format_of(kind) if format_of(kind) == "coo" else f"{format_of(kind)}*"
        return RecordedMatrix(kind, shape or self.shape, entries[0].dtype, form, entries)

    def _with_places_once(self) -> RecordedMatrix:
        """The matrix in which no place occurs twice: it decides if they do. Those that do, and
        places by coordinates, are the ones of this call."""
        matrix = self.parts()
        if matrix.form in ("csr", "csc") and _is_unknown(matrix.operands[1]):
            words = {"form": matrix.form, "shape": self.shape}
            if _decided(_sparse_ops().has_places_once(*matrix.operands, **words)):
                return matrix
        data, rows, columns = self.entries()
        lines = _followed(rows), _followed(columns)
        order = np.lexsort(lines if self.format == "csc" else lines[::-1])
        lines = lines[0][order], lines[1][order]
        is_first = np.ones(order.size, bool)
        is_first[1:] = (np.diff(lines[0]) != 0) | (np.diff(lines[1]) != 0)
        count = int(np.sum(is_first))
        if count < order.size:
            to = np.empty_like(order)
            to[order] = np.cumsum(is_first) - 1
            data = add_at(data, to, shape=(count,), index=("{1}",))
        else:
            data = np.take(data, order)
        return self._of_entries(self.kind, (data, lines[0][is_first], lines[1][is_first]))

    def _numbered(self) -> tuple[Any, Any]:
        """The data, and a matrix of SciPy's that has their positions, counted from one, in their
        places in this call."""
        matrix = self._with_places_once()
        data, rows, columns = matrix.entries()
        places_there = _followed(rows), _followed(columns)
        coordinates = _class_of(self.kind, "coo")
        numbers = coordinates((np.arange(1, data.shape[0] + 1), places_there), shape=self.shape)
        return data, numbers.asformat(self.format)

    def moved(self, move: Callable[[Any], Any]) -> Any:
        """The result of a function of SciPy's that only moves elements."""
        data, numbers = self._numbered()
        found = move(numbers)
        if not is_sparse(type(found)):
            if isinstance(found, np.matrix):
                raise _unsupported(f"elements of a {self.kind.__name__}, an np.matrix,")
            return np.take(np.concatenate([np.zeros_like(data, shape=1), data]), found)
        numbers, *lines = _entries_of(found)
        return self._of_entries(_kept(found), (np.take(data, numbers - 1), *lines), found.shape)

    def paired(self, other: Any, pair: Callable[[Any, Any], Any]) -> RecordedMatrix:
        """The result of a function of SciPy's whose elements are products of one of each matrix."""
        (mine, left), (its, right) = self._numbered(), recorded(other)._numbered()
        found = pair(left, _ones_of(right))
        numbers, *lines = _entries_of(found)
        others = _entries_of(pair(_ones_of(left), right))[0]
        data = np.take(mine, numbers - 1) * np.take(its, others - 1)
        return self._of_entries(_kept(found), (data, *lines), found.shape)

    # Products

    def product(self, array: Any, left: bool) -> Any:
        """The product with an array on its right, or on its left."""
        if self.shape[not left] == array.ndim == 1 and _is_number_of_row(self.kind):
            return self.tocsr().product(array, left)[0]
        if self.form.startswith("handle"):
            is_turned = self.form == "handle.T"
            shape = self.shape[::-1] if is_turned else self.shape
            words = {"left": left, "transposed": is_turned, "dtype": str(self.dtype)}
            return sparse_product(self.operands[0], array, shape=shape, **words)
        if not left:
            found = self.T.product(array if array.ndim < 2 else array.T, True)
            return found if array.ndim < 2 else found.T
        form = "coo" if self.form.endswith("*") else self.form
        return _sparse_ops().matrix_product(*self.operands, array, form=form, shape=self.shape)

    @property
    def T(self) -> RecordedMatrix:
        """The transpose."""
        kind, shape = _turned_class(self.kind), self.shape[::-1]
        operands, words = _sparse_ops().turned(self.operands, self.form, self.shape)
        return RecordedMatrix(kind, shape, self.dtype, words["form"], operands)

    def transpose(self, axes: Any = None, copy: bool = False) -> RecordedMatrix:
        """The transpose."""
        return self.T

    def __matmul__(self, other: Any) -> Any:
        return self._times(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._times(other, self)

    def dot(self, other: Any) -> Any:
        """The product with an array on its right, or with a number."""
        return self * other if np.ndim(other) == 0 and not is_sparse(type(other)) else self @ other

    def _times(self, left: Any, right: Any) -> Any:
        array = right if left is self else left
        if is_sparse(type(array)):
            return matrices_multiplied(recorded(left), recorded(right))
        if is_recorded(array):
            return array._handle(times, (left, right), {})
        array = np.asarray(array)
        if array.ndim == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self.product(array, left is self)

    # Element by element

    def __mul__(self, other: Any) -> Any:
        if multiplies("*", self) and np.ndim(other):
            return self @ other
        return self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        if multiplies("*", self) and np.ndim(other):
            return other @ self
        return self.multiply(other)

    def __rtruediv__(self, other: Any) -> Any:
        raise _unsupported(f"1 / {self.kind.__name__}")

    def multiply(self, other: Any) -> Any:
        """The product element by element with a number or an array."""
        if is_sparse(type(other)):
            return self.paired(other, lambda one, two: one.multiply(two))
        data, rows, columns = self.entries()
        if np.ndim(other) == 0:
            kind = _class_of_multiples(self.kind)
            if kind is self.kind:
                return self._with(data * other)
            return self._of_entries(kind, (data * other, rows, columns))
        spread = np.broadcast_to(other, self.shape)
        there = take_at(spread, rows, columns, index=("{1}", "{2}"), unique=False)
        return self._of_entries(_class_of(self.kind, "coo"), (data * there, rows, columns))

    def __truediv__(self, other: Any) -> Any:
        if is_sparse(type(other)):
            _refuse("the quotient of two sparse matrices", "divide by an array.")
        if np.ndim(other):
            return self.multiply(1.0 / other)
        data = self.entries()[0]
        if np.can_cast(self.dtype, np.float64):
            data = data.astype(np.float64)
        return self._with(data * (1.0 / other))

    def __neg__(self) -> RecordedMatrix:
        return self._with(-self.entries()[0])

    def __abs__(self) -> RecordedMatrix:
        return self._mapped(np.abs)

    def __pow__(self, power: Any) -> RecordedMatrix:
        if multiplies("*", self) or np.ndim(power):
            raise _unsupported(f"{self.kind.__name__} ** n")
        return self.power(power)

    def power(self, n: Any, dtype: Any = None) -> RecordedMatrix:
        """Each number to a power."""
        if not n:
            raise NotImplementedError("zero power is not supported as it would densify the matrix")
        return self._mapped(lambda data: data**n)

    def _mapped(self, function: Callable[[Any], Any]) -> RecordedMatrix:
        """The matrix of what a function that keeps zero makes of each number."""
        matrix = self._with_places_once()
        return matrix._with(function(matrix.operands[0]))

    def astype(self, dtype: Any, casting: Any = "unsafe", copy: bool = True) -> RecordedMatrix:
        """The matrix in another dtype."""
        return self._with(self.entries()[0].astype(dtype))

    def conj(self, copy: bool = True) -> RecordedMatrix:
        """The matrix of conjugate numbers."""
        return self._with(np.conj(self.entries()[0]))

    conjugate = conj

    def copy(self) -> RecordedMatrix:
        """The matrix itself: nobody can write to it."""
        return self

    def __add__(self, other: Any) -> Any:
        return self._sum(other, 1.0)

    def __radd__(self, other: Any) -> Any:
        return self._sum(other, 1.0)

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, -1.0)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._sum(other, 1.0)

    def _sum(self, other: Any, sign: float) -> Any:
        """The sum with another matrix, or with an array, which is an array."""
        if not is_sparse(type(other)):
            if np.ndim(other) == 0 and (is_recorded(other) or other):
                raise NotImplementedError(
                    "adding a nonzero scalar to a sparse array is not supported"
                )
            if np.ndim(other) == 0:
                return self
            if multiplies("*", self):
                raise _unsupported(f"the sum of a {self.kind.__name__} and an array, an np.matrix,")
            return self.toarray() + (other if sign > 0 else -other)
        other = recorded(other)
        if other.shape != self.shape:
            raise ValueError(f"inconsistent shapes, got {self.shape} and {other.shape}")
        kind = self.kind if self.format != "coo" else _class_of(self.kind, "csr")
        mine, its = self.entries(), other.entries()
        if all(_same(one, two) for one, two in zip(mine[1:], its[1:], strict=True)):
            return self._with(mine[0] + its[0] if sign > 0 else mine[0] - its[0], kind)
        data = its[0] if sign > 0 else -its[0]
        joined = [np.concatenate(pair) for pair in zip(mine, (data, *its[1:]), strict=True)]
        return self._of_entries(kind, joined)

    # Arrays

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """The array with all its zeros."""
        data, rows, columns = self.entries()
        return add_at(data, rows, columns, shape=self.shape, index=("{1}", "{2}"))

    def todense(self, order: Any = None, out: Any = None) -> Any:
        """The same."""
        if multiplies("*", self):
            raise _unsupported(f"{self.kind.__name__}.todense(), an np.matrix,")
        return self.toarray()

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The sum of all elements, or along an axis."""
        data, *places_of = self.entries()
        if axis is None:
            return np.sum(data)
        if multiplies("*", self):
            raise _unsupported(f"{self.kind.__name__}.sum(axis), an np.matrix,")
        axis = axis % 2
        kept = places_of[1 - axis]
        return add_at(data, kept, shape=(self.shape[1 - axis],), index=("{1}",))

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The mean of all elements, or along an axis."""
        count = self.shape[0] * self.shape[1] if axis is None else self.shape[axis]
        return self.sum(axis) / count

    def trace(self, offset: int = 0) -> Any:
        """The sum along a diagonal."""
        return np.sum(self.diagonal(offset))

    def diagonal(self, k: int = 0) -> Any:
        """The elements on a diagonal."""
        data, rows, columns = self.entries()
        size = max(0, min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0)))
        if not size:
            return np.zeros_like(data, shape=(0,))
        is_there = columns - rows == k
        places_there = np.where(is_there, rows if k >= 0 else columns, 0)
        return add_at(np.where(is_there, data, 0), places_there, shape=(size,), index=("{1}",))

    def tocoo(self, copy: bool = True) -> RecordedMatrix:
        """The matrix by coordinates."""
        return self._in("coo")

    def tocsr(self, copy: bool = False) -> RecordedMatrix:
        """The matrix by rows."""
        return self._in("csr")

    def tocsc(self, copy: bool = False) -> RecordedMatrix:
        """The matrix by columns."""
        return self._in("csc")

    def asformat(self, format: Any, copy: bool = False) -> RecordedMatrix:
        """The matrix in another format."""
        return self._in(format or self.format)

    def _in(self, form: str) -> RecordedMatrix:
        if form == self.format:
            return self
        if form not in PARTS:
            raise _unsupported(f"{self.kind.__name__}.to{form}")
        return self._of_entries(_class_of(self.kind, form), self.entries())

    def __getitem__(self, index: Any) -> Any:
        known = map_tree(settled, index)
        if any(map(is_recorded, flatten(known)[0])):
            raise _unsupported(
                f"an element or a part of a {self.kind.__name__} by a recorded index"
            )
        return self.moved(lambda matrix: matrix[known])

    def getrow(self, i: int) -> Any:
        """One row, as a matrix."""
        return self.moved(lambda matrix: matrix.getrow(i))

    def getcol(self, j: int) -> Any:
        """One column, as a matrix."""
        return self.moved(lambda matrix: matrix.getcol(j))

    def reshape(self, *args: Any, **kwargs: Any) -> Any:
        """The same elements in another shape."""
        return self.moved(lambda matrix: matrix.reshape(*args, **kwargs))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise _unsupported(f"an assignment to a part of a {self.kind.__name__}")

    def __eq__(self, other: object) -> Any:
        raise _unsupported(f"a comparison of a {self.kind.__name__}")

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise ValueError("The truth value of an array with more than one element is ambiguous.")

    def __imul__(self, other: Any) -> Any:
        _refuse("a matrix that is changed in place", "make another one: A = A * c.")

    __itruediv__ = __imul__

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name, None)
        if hasattr(self.kind, name) and isinstance(function, np.ufunc) and function.nin == 1:
            return lambda: self._mapped(function)  # one that keeps zero, or SciPy had it not
        if name.startswith("__") or not hasattr(self.kind, name):
            raise AttributeError(f"'{self.kind.__name__}' object has no attribute {name!r}")
        raise _unsupported(f"{self.kind.__name__}.{name}")


_TURNED_FORMAT = {"csr": "csc", "csc": "csr"}


def _sparse_ops() -> Any:
    return import_module("tracejit.ops.scipy.sparse")


def _family(kind: type) -> str:
    """The word "array" or "matrix", as the class has it."""
    names = [base.__name__ for base in kind.__mro__]
    return "matrix" if "spmatrix" in names else "array"


@cache
def _class_of_multiples(kind: Any) -> type:
    """The class of a matrix times a number: SciPy 1.13 makes csr of coo."""
    return type(kind((1, 1)) * 2.0)


@cache
def _is_number_of_row(kind: Any) -> bool:
    """Return whether the product of one row with a vector is a number: of coo_array in SciPy
    1.17."""
    return np.ndim(kind((1, 1)) @ np.zeros(1)) == 0


def _class_of(kind: type, form: str) -> Any:
    """The class of matrices in another format."""
    return getattr(sys.modules["scipy.sparse"], f"{form}_{_family(kind)}")


def _turned_class(kind: type) -> Any:
    """The class of the transpose."""
    form = format_of(kind)
    return _class_of(kind, _TURNED_FORMAT[form]) if form in _TURNED_FORMAT else kind


def _object_of(handle: Any) -> Any:
    """SciPy's object in this call."""
    value = handle._value
    if value.data is not None:
        return value.data
    return handle._recording.decisions.prefix[value]


def _decided_size(handle: Any, name: str) -> int:
    """The number of numbers that a matrix keeps: the kernel is for so many. `name` is that of its
    data."""
    size = matrix_size(handle, name=name)
    if size._value.data is not None:
        return int(size._value.data)
    number: int = handle._recording.decide(size._value, int, "the number of its elements", "")
    return number


def _decided(condition: Any) -> bool:
    """The truth of a condition in this call: the kernel is for it."""
    if condition._value.data is not None:
        return bool(condition._value.data)
    found: bool = condition._recording.decide(condition._value, bool, "its places", "")
    return found


def _ones_of(matrix: Any) -> Any:
    """A matrix of SciPy's that has ones where another has numbers."""
    ones = matrix.copy()
    ones.data[:] = 1
    return ones


def _entries_of(matrix: Any) -> tuple[Any, Any, Any]:
    """The numbers of a matrix of SciPy's that are not zero, with their rows and columns."""
    entries = matrix.tocoo()
    is_there = entries.data != 0
    return entries.data[is_there], entries.row[is_there], entries.col[is_there]


def _kept(matrix: Any) -> type:
    """The class of a matrix of SciPy's, by coordinates where its own is not recorded."""
    kind = type(matrix)
    return kind if format_of(kind) in PARTS else _class_of(kind, "coo")


def _whole_of(names: Sequence[str], parts: Sequence[Any]) -> Any:
    """The handle that these are the parts of, as they are; None if there is none."""
    nodes = [getattr(getattr(part, "_value", None), "node", None) for part in parts]
    for name, node in zip(names, nodes, strict=True):
        if node is None or node.op is not matrix_part or node.params["name"] != name:
            return None
    handles = {node.operands[0] for node in nodes if node is not None}
    return Tensor(handles.pop(), parts[0]._recording) if len(handles) == 1 else None


def _same(one: Any, other: Any) -> bool:
    """Return whether two arrays of places are the same one."""
    if is_recorded(one):
        return getattr(other, "_value", None) is one._value
    return one is other or (type(other) is np.ndarray and np.array_equal(one, other))


def recorded(matrix: Any) -> RecordedMatrix:
    """A matrix of SciPy's as one that is recorded."""
    if type(matrix) is RecordedMatrix:
        return matrix
    return RecordedMatrix.of_handle(handle_of(matrix), matrix)


def apart(leaf: Any) -> Any:
    """A matrix of SciPy's by its parts, if it has floating numbers; anything else as it is."""
    form = format_of(type(leaf)) if is_sparse(type(leaf)) else ""
    if form not in PARTS or type(leaf) is RecordedMatrix or leaf.dtype.kind not in "fc":
        return leaf
    parts = [getattr(leaf, name) for name in PARTS[form]]
    return RecordedMatrix(type(leaf), leaf.shape, leaf.dtype, form, parts)


def matrices_multiplied(left: RecordedMatrix, right: RecordedMatrix) -> RecordedMatrix:
    """The product of two matrices: for their patterns in this call alone."""
    if left.shape[1] != right.shape[0]:
        raise ValueError(f"dimension mismatch of {left.shape} and {right.shape}")
    mine, its = left.entries(), right.entries()
    rows, inner, other, columns = (_followed(one) for one in (*mine[1:], *its[1:]))
    order = np.argsort(other, kind="stable")
    starts = np.searchsorted(other[order], np.arange(right.shape[0] + 1))
    counts = np.diff(starts)[inner]
    first = np.repeat(np.arange(inner.size), counts)
    within = np.arange(first.size) - np.repeat(np.cumsum(counts) - counts, counts)
    second = order[starts[inner[first]] + within]
    data = np.take(mine[0], first) * np.take(its[0], second)
    kind = _class_of(left.kind, "csc" if left.format == "csc" else "csr")
    shape = left.shape[0], right.shape[1]
    return left._of_entries(kind, (data, rows[first], columns[second]), shape)


def _is_unknown(indices: Any) -> bool:
    """Return whether the numbers of an array are another at each call."""
    return is_recorded(indices) and indices._value.data is None


def _followed(indices: Any) -> Any:
    """The numbers of an integer array, by which the recording goes from here."""
    if not _is_unknown(indices):
        return indices._value.data if is_recorded(indices) else indices
    return indices._recording.fixed(indices, "the product of two sparse matrices")


def _unsupported(function: str) -> Exception:
    return not_recorded(places.here(), function)


def _refuse(what: str, fix: str) -> NoReturn:
    problem = "its result would belong to this one call"
    raise fail("unsupported-call", places.here(), function=what, problem=problem, fix=fix)


RECORDED.append(RecordedMatrix.of_parts)
