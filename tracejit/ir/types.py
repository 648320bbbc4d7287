"""The type of every value in a graph: shape, dtype and form.

`form` is what NumPy treats differently although shape and dtype agree:

    array    an ndarray, 0-d included              printed f8[8,3], f8[]
    scalar   a NumPy scalar such as np.float64      printed f8
    weak     a Python bool, int, float or complex   printed ~f8
    list     a list of arrays or numbers of this shape and dtype, of any length: what a loop
             stacks that runs an unknown number of times    printed *f8[3]
    handle   an object that is not an array: a random generator, a function    printed handle

Types are interned, so equal types are the same object and are compared with `is`.

>>> ArrayType((8, 3), np.dtype("f8"))
f8[8,3]
>>> ArrayType((8, 3), np.dtype("f8")) is ArrayType((8, 3), np.dtype("f8"))
True
>>> parse_type("~i8")
~i8

A shape may hold Dims (`ir/sizes.py`): such a type belongs to one recording, whose types are
interned among themselves.

>>> ArrayType((Sizes().symbol(64), 3), np.dtype("f8"))
f8[n,3]
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, Protocol

import numpy as np

from tracejit.ir.dims import Dim, FreeShape, dims_in, estimated, in_numbers, resolved, size_text
from tracejit.ir.size_parser import parse_sizes
from tracejit.ir.sizes import Sizes
from tracejit.support.errors import fail

Form = Literal["array", "scalar", "weak", "list", "handle"]
Shape = tuple[int, ...]

WEAK_DTYPES: Final[dict[type, np.dtype[Any]]] = {
    bool: np.dtype("b1"),
    int: np.dtype("i8"),
    float: np.dtype("f8"),
    complex: np.dtype("c16"),
}
_REAL: Final = (np.dtype("f4"), np.dtype("f8"))
PYTHON_TYPES: Final[dict[str, type]] = {"b": bool, "i": int, "f": float, "c": complex}


def numpys(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """NumPy's own object for a dtype of numbers."""
    return np.dtype(dtype.type) if dtype.kind in "biufc" and dtype.isnative else dtype


class ArrayType:
    """Shape, dtype and form of a value; interned."""

    __slots__ = ("_size", "dtype", "form", "is_inexact", "is_real", "ndim", "shape", "sizes")
    shape: Shape
    dtype: np.dtype[Any]
    form: Form
    ndim: int
    """Number of dimensions."""
    is_inexact: bool
    """True if values are floating or complex, so that derivatives exist."""
    is_real: bool
    """True if values are float32 or float64 scalars, or arrays with axes of such: arithmetic on
    them gives the same type again."""
    sizes: Sizes | None
    """The record of the free dimensions of the shape; None if every size is a number."""
    _size: int | None

    _interned: ClassVar[dict[tuple[Shape, np.dtype[Any], Form], ArrayType]] = {}

    def __new__(cls, shape: Shape, dtype: np.dtype[Any], form: Form = "array") -> ArrayType:
        """The one type with this shape, dtype and form."""
        size: Any
        for size in shape:
            if type(size) is Dim:
                return cls._with_sizes(shape, dtype, form)
        key = (shape, dtype, form)
        known = cls._interned.get(key)
        if known is None:
            made = cls._made(shape, numpys(dtype), form, None)
            known = cls._interned.setdefault(key, made)
        return known

    @classmethod
    def _with_sizes(cls, shape: Any, dtype: np.dtype[Any], form: Form) -> ArrayType:
        """The one type of a recording with this shape, in which there are Dims."""
        shape = resolved(FreeShape(shape))
        owners = [size.sizes for size in dims_in(shape)]
        if not owners:
            return cls(tuple(shape), dtype, form)
        sizes = owners[0]
        assert all(other is sizes for other in owners)
        key = (tuple(getattr(size, "key", size) for size in shape), dtype, form)
        known: ArrayType | None = sizes.types.get(key)
        if known is None:
            known = sizes.types[key] = cls._made(shape, dtype, form, sizes)
        return known

    @classmethod
    def _made(
        cls, shape: Shape, dtype: np.dtype[Any], form: Form, sizes: Sizes | None
    ) -> ArrayType:
        made = object.__new__(cls)
        made.shape, made.dtype, made.form, made.sizes = shape, dtype, form, sizes
        made.ndim = len(shape)
        made.is_inexact = dtype.kind in "fc"
        is_number = form == "weak" or (form == "array" and not shape)
        made.is_real = not is_number and form != "list" and dtype in _REAL
        made._size = math.prod(shape) if sizes is None else None
        return made

    def __reduce__(self) -> tuple[type[ArrayType], tuple[Shape, np.dtype[Any], Form]]:
        return ArrayType, (self.shape, self.dtype, self.form)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape) if self._size is None else self._size

    @property
    def in_numbers(self) -> ArrayType:
        """The type with the sizes of the call that is being recorded."""
        return self if self.sizes is None else ArrayType((*in_numbers(self.shape),), self.dtype)

    @property
    def estimated_size(self) -> int:
        """The number of elements that planners expect."""
        return estimated(self.shape) if self._size is None else self._size

    @property
    def estimated_bytes(self) -> int:
        """The memory that planners expect an array to take; nothing for what is not an array."""
        return self.estimated_size * self.dtype.itemsize if self.form == "array" else 0

    def with_form(self, form: Form) -> ArrayType:
        """The same shape and dtype in another form."""
        return ArrayType(self.shape, self.dtype, form)

    def with_dtype(self, dtype: np.dtype[Any]) -> ArrayType:
        """The same shape and form with another dtype."""
        return ArrayType(self.shape, dtype, self.form)

    def __repr__(self) -> str:
        if self.form == "handle":
            return "handle"
        letters = dtype_letters(self.dtype)
        if self.form == "weak":
            return "~" + letters
        if self.form == "scalar":
            return letters
        star = "*" if self.form == "list" else ""
        return f"{star}{letters}[{','.join(map(size_text, self.shape))}]"


HANDLE: Final = ArrayType((), np.dtype(object), "handle")


FLOATING = frozenset((np.dtype("f4"), np.dtype("f8")))


def dtype_letters(dtype: np.dtype[Any]) -> str:
    """The short spelling of a dtype: f8, i4, b1, c16."""
    letters: str = dtype.str.lstrip("<>|=")
    return letters


WEAK_TYPES: Final = {kind: ArrayType((), dtype, "weak") for kind, dtype in WEAK_DTYPES.items()}
"""The type of a Python number, by its class."""


def canonical(value: Any) -> Any:
    """An array with NumPy's own dtype object: with another, as arrays have out of a pickle,
    np.add.at is 30 times slower. Anything else is itself."""
    if type(value) is not np.ndarray or value.dtype is numpys(value.dtype):
        return value
    return value.view(numpys(value.dtype))


def type_of(value: object) -> ArrayType | None:
    """The type of an ndarray, NumPy scalar or Python number; None of anything else.

    Classes are compared exactly: np.float64 is a subclass of float, and IntEnum of int.
    """
    kind = type(value)
    if kind is np.ndarray:
        return ArrayType(value.shape, value.dtype)  # type: ignore[attr-defined]
    if kind in WEAK_TYPES:
        return WEAK_TYPES[kind]
    if issubclass(kind, np.generic):
        return ArrayType((), value.dtype, "scalar")  # type: ignore[attr-defined]
    return None


def is_number(value: object) -> bool:
    """Return whether a value is of a subclass of a Python number: an IntEnum, a float with
    attributes. NumPy takes it for a NumPy scalar, not for a weak number.

    >>> is_number(np.float64(1.0)), is_number(1.0), is_number(type("F", (float,), {})(1.0))
    (False, False, True)
    """
    return issubclass(type(value), (int, float, complex)) and type_of(value) is None


def parse_type(text: str, sizes: Mapping[str, Dim] | None = None) -> ArrayType:
    """The type that prints as `text`, in which there may be `sizes`."""
    if text == "handle":
        return HANDLE
    match = re.fullmatch(r"([~*]?)([a-z]\d+)(\[([^\[\]]*)\])?", text)
    if match is None:
        raise fail("graph", None, problem=f"{text!r} is not a type")
    dtype = np.dtype(match[2])
    if match[1] == "~":
        return ArrayType((), dtype, "weak")
    if match[3] is None:
        return ArrayType((), dtype, "scalar")
    words = [word for word in match[4].split(",") if word]
    shape = tuple(parse_sizes(word, sizes or {}) for word in words)
    if any(size is None for size in shape):
        raise fail("graph", None, problem=f"{text!r} is not a type")
    return ArrayType(shape, dtype, "list" if match[1] else "array")


class Operation(Protocol):
    """The part of an op record that the graph uses."""

    @property
    def name(self) -> str:
        """The op's name in the printed form."""

    @property
    def effect(self) -> bool:
        """Return whether a node must stay even when nothing uses its results, once per
        occurrence."""

    def result_types(
        self, operands: Sequence[ArrayType], params: Mapping[str, Any]
    ) -> tuple[ArrayType, ...]:
        """The types of the results for operands of these types."""
