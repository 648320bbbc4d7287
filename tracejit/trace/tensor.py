"""Tensor: the array a user's function sees while it is recorded.

It answers NumPy's protocols (`__array_ufunc__`, `__array_function__`), Python's operators and
ndarray's methods by looking the NumPy callable up in the op table; nothing about any one
operation is written here. What would need the values of array data (`float(t)`, `np.asarray(t)`,
`t[0] = 1`) is refused with the user's line.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from tracejit.errors import TracejitError, fail
from tracejit.ir.graph import Value
from tracejit.ir.types import PYTHON_TYPES, ArrayType
from tracejit.ops.op import HANDLERS
from tracejit.trace.operators import POWER, binary, method_of, refused, unary

_CALLED = re.compile(r"^[\w.<>]+\(\) ")
_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")


class Tensor:
    """An array being recorded: a shape, a dtype and a place in a graph, but no numbers.

    It behaves as the ndarray, NumPy scalar or Python number it stands for.
    """

    __slots__ = ("__weakref__", "_recording", "_value")
    _value: Value
    _recording: Any

    def __init__(self, value: Value, recording: Any) -> None:
        """The user's view of `value` in `recording`."""
        self._value = value
        self._recording = recording

    # What it is

    @property
    def type(self) -> ArrayType:
        """Shape, dtype and form."""
        return self._value.type

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, a tuple of ints."""
        return self._value.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return self._value.type.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._value.type.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._value.type.size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._value.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    def __repr__(self) -> str:
        return f"<Tensor {self._recording.name_of(self._value)} {self.type!r}>"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(self.shape[0]))

    def __hash__(self) -> int:
        """A number's own, for it is equal to it; an array has none in NumPy, but may be a key
        here."""
        if self.type.form == "weak":
            return hash(self._number(lambda number: number, "hash({})"))
        return id(self)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What it stands for, for the user's isinstance; type() tells the truth.

        Nothing in tracejit may ask isinstance of a value of the user's.
        """
        form, dtype = self.type.form, self.type.dtype
        if form == "array":
            return np.ndarray
        return PYTHON_TYPES[dtype.kind] if form == "weak" else dtype.type

    def __copy__(self) -> Any:
        return self if self.type.form == "weak" else self._handle(np.copy, (self,), {})

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    # NumPy's protocols

    def __tracejit_record__(
        self, op: Any, operands: tuple[Any, ...], params: dict[str, Any]
    ) -> Any:
        """Record `op`; called by the op when it meets a Tensor."""
        return self._recording.record(op, operands, params)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """A ufunc was called with a Tensor among its operands."""
        if kwargs.get("out") is not None:
            self._refuse_write(f"np.{ufunc.__name__}(..., out=...)", kwargs["out"][0])
        if method == "at":
            self._refuse_write(f"np.{ufunc.__name__}.at", inputs[0])
        function = ufunc if method == "__call__" else (ufunc, method)
        return self._handle(function, inputs, kwargs)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A NumPy function was called with a Tensor among its arguments."""
        if kwargs.get("out") is not None:
            self._refuse_write(f"np.{function.__name__}(..., out=...)", kwargs["out"])
        kwargs.pop("out", None)
        return self._handle(function, args, kwargs)

    def _handle(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The user's call of a NumPy function, taken by the handler the op table has for it."""
        handler = HANDLERS.get(function)
        if handler is None:
            raise fail("unsupported-function", self._recording.here(), function=_spelling(function))
        try:
            return handler(*args, **kwargs)
        except TracejitError:
            raise
        except (ValueError, IndexError) as error:
            raise fail(
                "shapes",
                self._recording.here(),
                call=_spelling(function),
                problem=error,
                fix=f"given {self.type!r}.",
            ) from None
        except TypeError as error:
            keyword = _KEYWORD.search(str(error))
            problem = (
                f"the keyword {keyword[1]} is not supported"
                if keyword
                else (_CALLED.sub("it ", str(error)))
            )
            raise fail(
                "unsupported-call",
                self._recording.here(),
                function=_spelling(function),
                problem=problem,
                fix="leave it out, or compute the same from supported calls.",
            ) from None

    # What needs a value

    def _refuse(self, call: str, fix: str) -> NoReturn:
        name = self._recording.name_of(self._value)
        raise fail(
            "value-needed",
            self._recording.here(),
            call=call.format(name if name != "an array" else "t"),
            name=name,
            type=self.type,
            fix=fix,
        )

    def _refuse_write(self, call: str, target: Any) -> NoReturn:
        target = target[0] if isinstance(target, tuple) else target
        if type(target) is Tensor:
            name = self._recording.name_of(target._value)
            written = f"{name}, which is being recorded ({target.type!r})"
            fix = "write a new array: np.where, np.concatenate, a + v; in-place code is refused."
        else:
            written = "a plain array, which cannot hold what is being recorded"
            fix = "use the returned value."
        raise fail("write", self._recording.here(), call=call, target=written, fix=fix)

    def _number(self, convert: Callable[[Any], Any], call: str, fix: str = "") -> Any:
        """A weak number's value, read under a guard; array data is refused."""
        self._recording.check_alive()
        if self.type.form == "weak":
            return convert(self._recording.read(self._value))
        instead = "keep computing with NumPy, or return it and convert it outside the function."
        self._refuse(call, fix or instead)

    def __bool__(self) -> bool:
        fix = "choose with np.where(condition, a, b), which records both sides, or decide outside."
        return bool(self._number(bool, "bool({})", fix))

    def __float__(self) -> float:
        return float(self._number(float, "float({})"))

    def __int__(self) -> int:
        return int(self._number(int, "int({})"))

    def __complex__(self) -> complex:
        return complex(self._number(complex, "complex({})"))

    def __index__(self) -> int:
        return int(self._number(operator.index, "using {} as an index or size"))

    def __round__(self, ndigits: int | None = None) -> Any:
        if self.type.form == "weak":
            return self._number(lambda number: round(number, ndigits), "round({})")
        return self._handle(np.round, (self, ndigits or 0), {})

    def __format__(self, spec: str) -> str:
        if self.type.form == "weak" or spec:
            return str(self._number(lambda number: format(number, spec), f"format({{}}, {spec!r})"))
        return repr(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Refused for array data: NumPy would compute on raw values."""
        fix = "pass it to NumPy functions as it is; join recorded arrays with np.stack or "
        fix += "np.concatenate."
        array: np.ndarray = self._number(
            lambda number: np.array(number, dtype), "np.asarray({})", fix
        )
        return array

    def item(self, *args: Any) -> Any:
        """Refused: the value of one element."""
        return self._number(lambda number: number, "{}.item()")

    def tolist(self) -> Any:
        """Refused: the values of all elements."""
        return self._number(lambda number: number, "{}.tolist()")

    def numpy(self) -> NoReturn:
        """Refused while recording: the values as a plain array."""
        self._refuse("{}.numpy()", "return it from the function.")

    # Writes

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        self._refuse_write(f"{self._recording.name_of(self._value)}[...] = ...", self)

    fill = refused("fill")
    sort = refused("sort")
    partition = refused("partition")
    put = refused("put")
    resize = refused("resize")

    # ndarray's methods whose arguments differ from the function's

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """The same elements in another shape, as np.reshape."""
        target = shape[:1] if len(shape) == 1 else (shape,) if shape else ()
        return self._handle(np.reshape, (self, *target), kwargs)

    def copy(self) -> Any:
        """A copy in C order; a NumPy scalar stays one."""
        return self._handle(np.ndarray.copy, (self,), {})

    def transpose(self, *axes: Any) -> Any:
        """Axes permuted, as np.transpose."""
        order = axes[0] if len(axes) == 1 else axes or None
        return self._handle(np.transpose, (self, order), {})

    def flatten(self, order: str = "C") -> Any:
        """A 1-D copy."""
        return self._handle(np.ravel, (self,), {} if order == "C" else {"order": order})

    def compress(self, condition: Any, axis: int | None = None) -> Any:
        """The elements where a condition holds, as np.compress."""
        return self._handle(np.compress, (condition, self), {"axis": axis})

    def astype(self, dtype: Any, **kwargs: Any) -> Any:
        """The elements cast to another dtype."""
        return self._handle(np.astype, (self, np.dtype(dtype)), kwargs)

    @property
    def T(self) -> Any:
        """The axes reversed."""
        return self._handle(np.transpose, (self,), {})

    @property
    def mT(self) -> Any:
        """The last two axes swapped."""
        return self._handle(np.matrix_transpose, (self,), {})

    @property
    def real(self) -> Any:
        """The real part."""
        return self._handle(np.real, (self,), {})

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return self._handle(np.imag, (self,), {})

    # ndarray's methods that are NumPy's functions

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
    nonzero = method_of(np.nonzero)
    searchsorted = method_of(np.searchsorted)
    choose = method_of(np.choose)
    round = method_of(np.round)
    conj = conjugate = method_of(np.conjugate)

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
    __abs__ = unary("abs", np.absolute)
    __invert__ = unary("~", np.invert)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __getitem__(self, index: Any) -> Any:
        return self._handle(operator.getitem, (self, index), {})

    def __getattr__(self, name: str) -> Any:
        """Any other attribute: of a number, read under a guard; of ndarray, refused by name."""
        if self.type.form == "weak" and hasattr(PYTHON_TYPES[self.dtype.kind], name):
            return self._number(operator.attrgetter(name), f"{{}}.{name}")
        if hasattr(np.ndarray, name) and not name.startswith("__"):
            raise fail("unsupported-function", self._recording.here(), function=f"ndarray.{name}")
        raise AttributeError(f"'Tensor' object has no attribute {name!r}")


def _spelling(function: Any) -> str:
    if function is operator.getitem:
        return "indexing"
    if isinstance(function, tuple):
        return f"{_spelling(function[0])}.{function[1]}"
    module = getattr(function, "__module__", None) or "numpy"
    if isinstance(function, np.ufunc) and getattr(np, function.__name__, None) is not function:
        return f"the ufunc {function.__name__}"
    return f"{module.replace('numpy', 'np', 1)}.{function.__name__}"
