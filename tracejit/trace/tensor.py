"""Tensor: the array a user's function sees while it is recorded.

It answers NumPy's protocols (`__array_ufunc__`, `__array_function__`), Python's operators and ndarray's methods
by looking the NumPy callable up in the op table; nothing about any one operation is written here. What would
need the values of array data (`float(t)`, `np.asarray(t)`, `t[0] = 1`) is refused with the user's line.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from tracejit.errors import TracejitError, fail
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType
from tracejit.ops.op import HANDLERS
from tracejit.ops.weak import BINARY_OPS, UNARY_OPS

_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")
_NUMBERS = (bool, int, float, complex)


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
        return id(self)

    # NumPy's protocols

    def __tracejit_record__(self, op: Any, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
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
        return self._handle(function, args, kwargs)

    def _handle(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The user's call of a NumPy function, taken by the handler the op table has for it."""
        handler = HANDLERS.get(function)
        if handler is None:
            if isinstance(function, tuple):
                spelling = f"np.{function[0].__name__}.{function[1]}"
            else:
                module = getattr(function, "__module__", None) or "numpy"
                spelling = f"{module.replace('numpy', 'np', 1)}.{function.__name__}"
            raise fail("unsupported-function", self._recording.here(), function=spelling)
        try:
            return handler(*args, **kwargs)
        except TracejitError:
            raise
        except (ValueError, IndexError) as error:
            raise fail(
                "shapes", self._recording.here(), call=_spelling(function), problem=error,
                fix=f"given {self.type!r}.",
            ) from None
        except TypeError as error:
            keyword = _KEYWORD.search(str(error))
            problem = f"the keyword {keyword[1]} is not supported" if keyword else str(error)
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
            name, kind = self._recording.name_of(target._value), repr(target.type)
            fix = "write a new array: np.where, np.concatenate, a + v; in-place code is refused."
        else:
            name, kind = "a plain array", "not recorded"
            fix = "use the returned value; a plain array cannot hold recorded ones."
        raise fail("write", self._recording.here(), call=call, name=name, type=kind, fix=fix)

    def _number(self, convert: Callable[[Any], Any], call: str) -> Any:
        """A weak number's value, read under a guard; array data is refused."""
        self._recording.check_alive()
        if self.type.form == "weak":
            return convert(self._recording.read(self._value))
        self._refuse(
            call,
            "keep computing with NumPy, or return {0} and convert it outside the function.".format(
                self._recording.name_of(self._value)
            ),
        )

    def __bool__(self) -> bool:
        if self.type.form == "weak":
            return bool(self._recording.read(self._value))
        self._refuse(
            "bool({})",
            "choose with np.where(condition, a, b), which records both sides, or decide outside.",
        )

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
            return round(self._recording.read(self._value), ndigits)
        return np.round(self, ndigits or 0)  # type: ignore[call-overload]

    def __format__(self, spec: str) -> str:
        if self.type.form == "weak":
            return format(self._recording.read(self._value), spec)
        return format(repr(self), spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Refused for array data: NumPy would compute on raw values."""
        if self.type.form == "weak":
            return np.array(self._recording.read(self._value), dtype)
        self._refuse(
            "np.asarray({})",
            "pass it to NumPy functions as it is; join recorded arrays with np.stack or "
            "np.concatenate.",
        )

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

    def fill(self, value: Any) -> NoReturn:
        """Refused: writes in place."""
        self._refuse_write("fill", self)

    def sort(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: writes in place."""
        self._refuse_write("sort", self)

    def partition(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: writes in place."""
        self._refuse_write("partition", self)

    def put(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: writes in place."""
        self._refuse_write("put", self)

    # ndarray's methods whose arguments differ from the function's

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """The same elements in another shape, as np.reshape."""
        target = shape[0] if len(shape) == 1 else shape
        return self._handle(np.reshape, (self, target), {} if order == "C" else {"order": order})

    def transpose(self, *axes: Any) -> Any:
        """Axes permuted, as np.transpose."""
        order = axes[0] if len(axes) == 1 else axes or None
        return self._handle(np.transpose, (self, order), {})

    def flatten(self, order: str = "C") -> Any:
        """A 1-D copy."""
        return self._handle(np.ravel, (self,), {} if order == "C" else {"order": order})

    def astype(self, dtype: Any, **kwargs: Any) -> Any:
        """The elements cast to another dtype."""
        return self._handle(np.astype, (self, np.dtype(dtype)), kwargs)

    @property
    def T(self) -> Any:  # noqa: N802
        """The axes reversed."""
        return self._handle(np.transpose, (self,), {})

    @property
    def mT(self) -> Any:  # noqa: N802
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

    def __getitem__(self, index: Any) -> Any:
        return self._handle(operator.getitem, (self, index), {})

    def __getattr__(self, name: str) -> Any:
        """Any other attribute of ndarray, refused by name."""
        if hasattr(np.ndarray, name) and not name.startswith("__"):
            raise fail(
                "unsupported-function", self._recording.here(), function=f"ndarray.{name}"
            )
        raise AttributeError(f"'Tensor' object has no attribute {name!r}")


def _spelling(function: Any) -> str:
    if function is operator.getitem:
        return "indexing"
    if isinstance(function, tuple):
        return f"np.{function[0].__name__}.{function[1]}"
    return f"np.{function.__name__}"


def _method(function: Any) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("out") is not None:
            self._refuse_write(f"{function.__name__}(..., out=...)", kwargs["out"])
        return self._handle(function, (self, *args), kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"As np.{function.__name__}."
    return method


for _function in (
    np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std, np.any, np.all, np.argmax,
    np.argmin, np.cumsum, np.cumprod, np.dot, np.clip, np.ravel, np.squeeze, np.swapaxes,
    np.repeat, np.take, np.trace, np.diagonal, np.ptp, np.conj, np.copy, np.argsort, np.nonzero,
    np.searchsorted, np.compress, np.choose, np.round,
):  # fmt: skip
    setattr(Tensor, _function.__name__, _method(_function))
Tensor.conj = Tensor.conjugate  # type: ignore[attr-defined]


def _is_weak(operand: Any) -> bool:
    return type(operand) in _NUMBERS or (type(operand) is Tensor and operand.type.form == "weak")


def _binary(symbol: str, function: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`a SYMBOL b` and its reflection: Python's arithmetic between weak numbers, NumPy's otherwise."""

    def forward(self: Tensor, other: Any) -> Any:
        if _is_weak(self) and _is_weak(other):
            return BINARY_OPS[symbol](self, other)
        if hasattr(type(other), "__array_ufunc__") and type(other).__array_ufunc__ is None:
            return NotImplemented
        return self._handle(function, (self, other), {})

    def reflected(self: Tensor, other: Any) -> Any:
        if _is_weak(self) and _is_weak(other):
            return BINARY_OPS[symbol](other, self)
        return self._handle(function, (other, self), {})

    return forward, reflected


def _augmented(symbol: str, function: Any) -> Callable[..., Any]:
    def augmented(self: Tensor, other: Any) -> Any:
        """Rebinds a number, as Python does; would write into an array, and is refused."""
        if self.type.form == "array":
            self._refuse_write(f"{self._recording.name_of(self._value)} {symbol}= ...", self)
        return function(self, other)

    return augmented


def _unary(symbol: str, function: Any) -> Callable[..., Any]:
    def unary(self: Tensor) -> Any:
        if _is_weak(self):
            return UNARY_OPS[symbol](self)
        return self._handle(function, (self,), {})

    return unary


POWER = operator.pow
for _name, _symbol, _function in (
    ("add", "+", np.add), ("sub", "-", np.subtract), ("mul", "*", np.multiply),
    ("truediv", "/", np.divide), ("floordiv", "//", np.floor_divide), ("mod", "%", np.remainder),
    ("pow", "**", POWER), ("matmul", "@", np.matmul), ("and", "&", np.bitwise_and),
    ("or", "|", np.bitwise_or), ("xor", "^", np.bitwise_xor), ("lshift", "<<", np.left_shift),
    ("rshift", ">>", np.right_shift),
):  # fmt: skip
    _forward, _reflected = _binary(_symbol, _function)
    setattr(Tensor, f"__{_name}__", _forward)
    setattr(Tensor, f"__r{_name}__", _reflected)
    setattr(Tensor, f"__i{_name}__", _augmented(_symbol, _forward))
for _name, _symbol, _function in (
    ("lt", "<", np.less), ("le", "<=", np.less_equal), ("gt", ">", np.greater),
    ("ge", ">=", np.greater_equal), ("eq", "==", np.equal), ("ne", "!=", np.not_equal),
):  # fmt: skip
    setattr(Tensor, f"__{_name}__", _binary(_symbol, _function)[0])
for _name, _symbol, _function in (
    ("neg", "-", np.negative), ("pos", "+", np.positive), ("abs", "abs", np.absolute),
    ("invert", "~", np.invert),
):  # fmt: skip
    setattr(Tensor, f"__{_name}__", _unary(_symbol, _function))
