"""Rules of NumPy's classes and methods, and of plain arrays indexed by what is recorded."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tracejit.ops.base.creation import as_array
from tracejit.ops.base.forms import as_element
from tracejit.support.errors import fail
from tracejit.trace.convert.rules import rule, where_recorded
from tracejit.trace.recording.record import current_recording
from tracejit.trace.source import places
from tracejit.trace.source.instead import not_recorded
from tracejit.trace.tensor.memory import Sealed, View, lies_in_order
from tracejit.trace.tensor.namespaces import NUMPY, ListUfunc, recorded_argument
from tracejit.trace.tensor.tensor import ROUTED, TENSORS, Tensor

CONSTANT = "an array from outside of the function"


def as_tensor(array: np.ndarray) -> Any:
    """A plain array as one that is recorded, which nothing is written to."""
    recording = current_recording()
    if recording is None:
        return array
    tensor = Tensor(recording.lift(array), recording)
    tensor._owner = Sealed(CONSTANT)
    return tensor


def item(o: Any, key: Any, /) -> Any:
    """`o[key]`; of a plain array by what is recorded, an operation."""
    if type(o) is np.ndarray and o.dtype.kind in "biufc" and recorded_argument(key) is not None:
        return as_tensor(o)[key]
    if type(key) is tuple and type(o) in _BRACKETS and recorded_argument(key) is not None:
        return _BRACKETS[type(o)][key]
    return o[key]


_BRACKETS = {
    type(one): next(found for find in NUMPY if (found := find(one)) is not None)
    for one in (np.r_, np.c_)
}


def method_of_array(called: Any) -> Callable[..., Any] | None:
    """The method of a Tensor in place of one of a plain array's, where it is given a Tensor."""
    array, name = called.__self__, called.__name__
    if type(array) is not np.ndarray or array.dtype.kind not in "biufc":
        return None

    def call(*args: Any, **kwargs: Any) -> Any:
        if recorded_argument(*args, *kwargs.values()) is None:
            return called(*args, **kwargs)
        recording = current_recording()
        if recording is not None and name in ("fill", "put"):
            recording.made_arrays.write(array)
        return getattr(as_tensor(array), name)(*args, **kwargs)

    return call


class Flags:
    """The flags of an array that is recorded, as far as Python may know them."""

    def __init__(self, array: Any) -> None:
        """Tell of one array."""
        self._array = array
        self.writeable = array.type.form == "array" and type(array._owner) is not Sealed

    @property
    def c_contiguous(self) -> bool:
        """True if the array lies in C order."""
        in_order: bool = lies_in_order(self._array)
        return in_order

    @property
    def f_contiguous(self) -> bool:
        """True if the array lies in Fortran order."""
        if not self.c_contiguous:
            return False
        return len([size for size in self._array.shape if size > 1]) < 2

    contiguous = c_contiguous
    fortran = f_contiguous
    aligned = True

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name.lower())

    def __getattr__(self, name: str) -> Any:
        raise not_recorded(places.here(), f"the flag {name} of an array")


def _view(x: Any) -> Callable[..., Any]:
    def view(dtype: Any = None, type: Any = None) -> Any:
        is_same = dtype is None or dtype is np.ndarray or np.dtype(dtype) == x.dtype
        if is_same and type in (None, np.ndarray):
            return x[...]
        problem = "it shows the same memory as another dtype"
        fix = "write x[..., ::2] + 1j * x[..., 1::2], or np.stack([z.real, z.imag], -1)."
        words = {"function": f"{x._called()}.view", "problem": problem, "fix": fix}
        raise fail("unsupported-call", places.here(), **words)

    return view


def _setflags(x: Any) -> Callable[..., Any]:
    return lambda write=None, align=None, uic=None: None


ROUTED["flags"] = Flags
ROUTED["view"] = _view
ROUTED["setflags"] = _setflags
ROUTED["base"] = lambda x: x._owner.base if type(x._owner) is View else None


def _memory(x: Any) -> Any:
    """The array whose memory an array shows."""
    while type(x) in TENSORS and type(x._owner) is View:
        x = x._owner.base
    return x


@rule(np.may_share_memory, np.shares_memory)
def _share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    return _memory(a) is _memory(b)


def _strides(x: Any) -> tuple[int, ...]:
    """The steps from element to element in memory, in bytes, of an array in C order."""
    if not lies_in_order(x):
        name, problem = f"{x._called()}.strides", "the layout of the array in memory is not known"
        words = {"function": name, "problem": problem, "fix": "use a copy, x.copy()."}
        raise fail("unsupported-call", places.here(), **words)
    sizes = tuple(map(int, x.shape))
    return tuple(x.itemsize * math.prod(sizes[axis + 1 :]) for axis in range(x.ndim))


ROUTED["strides"] = _strides


@rule(np.lib.stride_tricks.as_strided)
def _as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True
) -> Any:
    """Windows along all axes, in steps of any length."""
    own, ndim = _strides(x), x.ndim
    shape = x.shape if shape is None else tuple(map(operator.index, shape))
    strides = own if strides is None else tuple(map(operator.index, strides))
    counts, window, steps = shape[:ndim], shape[ndim:], strides[:ndim]
    if len(window) == ndim and strides[ndim:] == own and min(counts, default=0) > 0:
        hops = [max(1, step // size) for step, size in zip(steps, own, strict=True)]
        rows = sliding_window_view(x, window, writeable=writeable)
        chosen = rows[
            tuple(slice(0, (n - 1) * hop + 1, hop) for n, hop in zip(counts, hops, strict=True))
        ]
        if chosen.shape == shape and all(
            h * s == step for h, s, step in zip(hops, own, steps, strict=True)
        ):
            return chosen
    words = {"problem": "only windows along all axes are recorded", "fix": "index by arrays."}
    raise fail(
        "unsupported-call", places.here(), function="np.lib.stride_tricks.as_strided", **words
    )


@rule(np.from_dlpack)
def _from_dlpack(x: Any, /, **options: Any) -> Any:
    return as_array(x)


@rule(np.arange)
def _arange(*args: Any, **kwargs: Any) -> Any:
    known = [_known(arg) for arg in args]
    named = {name: _known(arg) for name, arg in kwargs.items()}
    return next(found for find in NUMPY if (found := find(np.arange)) is not None)(*known, **named)


def _known(size: Any) -> Any:
    """An integer that Python goes by; anything else as it is."""
    is_whole = type(size) in TENSORS and size.dtype.kind in "iu" and not size.ndim
    return operator.index(size) if is_whole else size


def of_ufunc(called: Any) -> Callable[..., Any]:
    """The method of a ufunc, which takes lists of Tensors, too."""
    method: Callable[..., Any] = getattr(ListUfunc(called.__self__, as_array), called.__name__)
    return method


def method_of_number(called: Any) -> Callable[..., Any] | None:
    """An operator or method of Python's numbers by its class, `float.__add__(x, 1.0)`; or None."""
    if called.__objclass__ not in (float, int, complex, bool):
        return None
    name = called.__name__
    recorded = getattr(operator, name, None) or operator.methodcaller(name)
    return where_recorded(called, recorded)


def _scalar_of(kind: type[Any]) -> Callable[..., Any]:
    """The rule of a scalar class, np.float64(x), which makes an array of what has axes."""

    def make(value: Any = 0.0, /) -> Any:
        value = as_array(value)
        if value.type.form == "weak" or not value.ndim:
            number = np.multiply(value, kind(1)) if value.type.form == "weak" else value
            number = number.astype(kind) if number.dtype != np.dtype(kind) else number
            return as_element(number) if number.type.form == "array" else number
        return value.astype(kind)

    return make


for _kind in (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128,
):  # fmt: skip
    rule(_kind)(_scalar_of(_kind))


@rule(np.fromiter, of_iterables=True)
def _fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, **options: Any) -> Any:
    elements = list(iter)
    return as_array(elements if count < 0 else elements[:count]).astype(dtype)


@rule(np.asfortranarray)
def _asfortranarray(a: Any, dtype: Any = None, **options: Any) -> Any:
    a = as_array(a)
    return np.atleast_1d(a if dtype is None else a.astype(dtype))


@rule(np.asarray_chkfinite)
def _asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    array = as_array(a) if dtype is None else as_array(a).astype(dtype)
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise ValueError("array must not contain infs or NaNs")
    return array


def _of_domain(ufunc: np.ufunc, inside: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of np.emath, which is complex where an element is out of the domain."""

    def call(x: Any) -> Any:
        x = as_array(x)
        is_real = x.dtype.kind == "c" or np.all(inside(x))
        return ufunc(x if is_real else x.astype(np.result_type(x.dtype, np.complex64)))

    return call


for _ufunc in (np.sqrt, np.log, np.log2, np.log10):
    rule(getattr(np.emath, _ufunc.__name__))(_of_domain(_ufunc, lambda x: x >= 0))
for _inverse in (np.arccos, np.arcsin, np.arctanh):
    rule(getattr(np.emath, _inverse.__name__))(_of_domain(_inverse, lambda x: np.abs(x) <= 1))


@rule(Tensor.__array__)
def _array(self: Any, dtype: Any = None, **options: Any) -> Any:
    return self if dtype is None else self.astype(dtype)


for _name in dir(np.ndarray):
    _method = getattr(np.ndarray, _name)
    if not _name.startswith("_") and callable(_method) and _name not in ("item", "tolist"):

        def _of_name(name: str) -> Callable[..., Any]:
            return lambda self, *args, **kwargs: getattr(self, name)(*args, **kwargs)

        rule(_method)(_of_name(_name))
