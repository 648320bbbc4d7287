"""ArrayMethods: the attributes and methods of ndarray for every array type of tracejit.

Operators and methods say which NumPy callable they are and hand over to `_handle`; what is done
with it is for the class: a Tensor records it, a Variable is read first.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.trace.tensor.iteration import FlatIterator
from tracejit.trace.tensor.memory import seal
from tracejit.trace.tensor.operators import POWER, binary, method_of, refused, unary

if TYPE_CHECKING:
    from tracejit.trace.tensor.array_signatures import ArraySignatures, Tensor
else:
    ArraySignatures = object


class ArrayMethods(ArraySignatures):
    """The attributes, methods and operators of an ndarray, in terms of `type` and `_handle`."""

    __slots__ = ()

    @property
    def type(self) -> ArrayType:
        """Shape, dtype and form."""
        raise NotImplementedError

    def _handle(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        """The user's call of a NumPy function."""
        raise NotImplementedError

    def _refuse_write(self, call: str, target: Any, fix: str = "") -> NoReturn:
        """Raise: `call` would write in place into `target`."""
        raise NotImplementedError

    def _write_part(self, name: str, value: Any) -> None:
        """x.real = value, or x.imag = value."""
        self._refuse_write(f"x.{name} = ...", self)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, a tuple of ints."""
        return self.type.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._refuse_write("x.shape = ...", self, "write x = x.reshape(shape).")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return self.type.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self._refuse_write("x.dtype = ...", self, "write x = x.astype(dtype), which converts.")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.type.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.type.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    # Writes

    if not TYPE_CHECKING:
        fill = method_of(np.ndarray.fill)
        sort = method_of(np.ndarray.sort)
        partition = method_of(np.ndarray.partition)
        put = method_of(np.ndarray.put)
    resize = refused("resize")

    # ndarray's methods whose arguments differ from the function's

    def reshape(self, *shape: Any, **kwargs: Any) -> Tensor:
        """The same elements in another shape, as np.reshape."""
        target = shape[:1] if len(shape) == 1 else (shape,) if shape else ()
        return self._handle(np.reshape, (self, *target), kwargs)

    def copy(self, order: str = "C") -> Tensor:
        """A copy; a NumPy scalar stays one."""
        if order == "C" or self.type.form != "array":
            return self._handle(np.ndarray.copy, (self,), {})
        return self._handle(np.copy, (self, order), {})

    def transpose(self, *axes: Any) -> Tensor:
        """Axes permuted, as np.transpose."""
        order = axes[0] if len(axes) == 1 else axes or None
        return self._handle(np.transpose, (self, order), {})

    def flatten(self, order: str = "C") -> Tensor:
        """A 1-D copy."""
        raveled = self._handle(np.ravel, (self,), {} if order == "C" else {"order": order})
        return raveled if raveled.type.form != "array" else raveled.copy()

    def compress(self, condition: Any, axis: int | None = None) -> Tensor:
        """The elements where a condition holds, as np.compress."""
        return self._handle(np.compress, (condition, self), {"axis": axis})

    def astype(self, dtype: Any, **kwargs: Any) -> Tensor:
        """The elements cast to another dtype."""
        return self._handle(np.astype, (self, np.dtype(dtype)), kwargs)

    @property
    def T(self) -> Tensor:
        """The axes reversed."""
        return self._handle(np.transpose, (self,), {})

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped."""
        return self._handle(np.matrix_transpose, (self,), {})

    @property
    def real(self) -> Tensor:
        """The real part."""
        return self._handle(np.real, (self,), {})

    @real.setter
    def real(self, value: Any) -> None:
        self._write_part("real", value)

    @property
    def imag(self) -> Tensor:
        """The imaginary part; that of real numbers cannot be written to."""
        part = self._handle(np.imag, (self,), {})
        if self.dtype.kind != "c":
            seal(part, "the imaginary part of real numbers")
        return part

    @imag.setter
    def imag(self, value: Any) -> None:
        self._write_part("imag", value)

    @property
    def flat(self) -> FlatIterator:
        """The elements in C order, to be read, indexed and written."""
        return FlatIterator(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        FlatIterator(self)[...] = value

    # ndarray's methods that are NumPy's functions

    if not TYPE_CHECKING:
        sum = method_of(np.sum)
        mean = method_of(np.mean)
        prod = method_of(np.prod)
        max = method_of(np.max)
        min = method_of(np.min)
        var = method_of(np.var)
        std = method_of(np.std)
        any = method_of(np.any)
        all = method_of(np.all)
        argmax = method_of(np.argmax)
        argmin = method_of(np.argmin)
        cumsum = method_of(np.cumsum)
        cumprod = method_of(np.cumprod)
        dot = method_of(np.dot)
        clip = method_of(np.clip)
        ravel = method_of(np.ravel)
        squeeze = method_of(np.squeeze)
        swapaxes = method_of(np.swapaxes)
        repeat = method_of(np.repeat)
        take = method_of(np.take)
        trace = method_of(np.trace)
        diagonal = method_of(np.diagonal)
        argsort = method_of(np.argsort)
        argpartition = method_of(np.argpartition)
        nonzero = method_of(np.nonzero)
        searchsorted = method_of(np.searchsorted)
        choose = method_of(np.choose)
        round = method_of(np.round)
        conj = conjugate = method_of(np.ndarray.conj)

        # Python's operators

        __add__, __radd__, __iadd__ = binary("+", np.add)
        __sub__, __rsub__, __isub__ = binary("-", np.subtract)
        __mul__, __rmul__, __imul__ = binary("*", np.multiply)
        __truediv__, __rtruediv__, __itruediv__ = binary("/", np.divide)
        __floordiv__, __rfloordiv__, __ifloordiv__ = binary("//", np.floor_divide)
        __mod__, __rmod__, __imod__ = binary("%", np.remainder)
        __pow__, __rpow__, __ipow__ = binary("**", POWER)
        __matmul__, __rmatmul__, __imatmul__ = binary("@", np.matmul)
        __and__, __rand__, __iand__ = binary("&", np.bitwise_and)
        __or__, __ror__, __ior__ = binary("|", np.bitwise_or)
        __xor__, __rxor__, __ixor__ = binary("^", np.bitwise_xor)
        __lshift__, __rlshift__, __ilshift__ = binary("<<", np.left_shift)
        __rshift__, __rrshift__, __irshift__ = binary(">>", np.right_shift)
        __lt__ = binary("<", np.less)[0]
        __le__ = binary("<=", np.less_equal)[0]
        __gt__ = binary(">", np.greater)[0]
        __ge__ = binary(">=", np.greater_equal)[0]
        __eq__ = binary("==", np.equal)[0]
        __ne__ = binary("!=", np.not_equal)[0]
        __neg__ = unary("-", np.negative)
        __pos__ = unary("+", np.positive)
        __abs__ = unary("abs", operator.abs)
        __invert__ = unary("~", np.invert)

        def __divmod__(self, other: Any) -> Any:
            return self // other, self % other

        def __rdivmod__(self, other: Any) -> Any:
            return other // self, other % self

        def __getitem__(self, index: Any) -> Any:
            return self._handle(operator.getitem, (self, index), {})


class ArrayContainer(ArrayMethods):
    """An array along whose first axis Python iterates, as it does not along a NumPy scalar."""

    __slots__ = ()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return self._elements()

    def _elements(self) -> Iterator[Tensor]:
        for k in range(self.shape[0]):  # asked for where the first is taken
            yield self[k]

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(np.equal(self, value)))  # type: ignore[call-overload]
