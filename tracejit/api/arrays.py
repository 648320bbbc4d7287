"""Array creation in `tracejit.numpy`: NumPy's own functions, which record where something is
recorded.

NumPy has no protocol for functions that make an array of numbers, or of a list. Each has a maker
here, called with the recorder; where it returns None, the call is NumPy's.
"""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy

from tracejit.api.vmap import vmap
from tracejit.ir.dims import Dim
from tracejit.ops.base.creation import as_array, full, full_like, is_routed, plain_number, shape_of
from tracejit.ops.base.op import HANDLERS
from tracejit.ops.base.sized import SIZED
from tracejit.ops.shapes.joining import bracketed
from tracejit.ops.shapes.shapes import copies, copy
from tracejit.support.errors import fail
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.record import current_recording
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.source import places
from tracejit.trace.tensor.iteration import ElementIterator, enumerated
from tracejit.trace.tensor.memory import Sealed
from tracejit.trace.tensor.namespaces import (
    NUMPY,
    ListUfunc,
    namespace,
    recordable,
    recorded_argument,
)
from tracejit.trace.tensor.tensor import TENSORS, Tensor

# These take sequences of arrays; a list that others are given is an array.
OF_SEQUENCES = frozenset(
    (
        numpy.concatenate, numpy.stack, numpy.hstack, numpy.vstack, numpy.dstack, numpy.block,
        getattr(numpy, "row_stack", numpy.vstack), numpy.lexsort,
        numpy.column_stack, numpy.select, numpy.choose, numpy.piecewise, numpy.einsum, numpy.ix_,
        numpy.broadcast_arrays, numpy.meshgrid, numpy.histogram2d, numpy.ravel_multi_index,
         numpy.linalg.multi_dot, numpy.histogramdd,
    )
)  # fmt: skip
MOST_CALLS = 256
"""The number of elements of the largest array for each of which a vectorized function with branches
is called."""
CAPTURED = "an array from outside of the function, which np.asarray does not copy"


def _recorder() -> Recorder | None:
    """The recorder of new arrays; None if nothing is recorded."""
    recording = current_recording()
    if recording is not None:
        return recording
    return EAGER if EAGER.is_watched else None


def _filled(function: Callable[..., Any], fill: int) -> Callable[..., Any]:
    """np.zeros, np.ones or np.empty."""

    def make(recorder: Recorder, shape: Any, dtype: Any = float, order: str = "C") -> Any:
        return _full(recorder, shape, fill, dtype, order)

    return _made(function, make)


def _full(
    recorder: Recorder, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C"
) -> Any:
    """np.full: of one number, or of a Tensor or array broadcast to the shape."""
    fill_value = as_array(fill_value)
    kind = numpy.dtype(dtype if dtype is not None else _dtype_of(fill_value))
    if kind.kind not in "biufc" or not _is_order(recorder, order):
        return None
    if type(fill_value) in TENSORS or numpy.ndim(fill_value):
        like = recorder.record(full, (), {"shape": shape_of(shape), "fill": 0, "dtype": kind})
        return _in_order(recorder, full_like(like, fill_value), order)
    params = {"shape": shape_of(shape), "fill": plain_number(fill_value), "dtype": kind}
    return _in_order(recorder, recorder.record(full, (), params), order)


def _is_order(recorder: Recorder, order: Any) -> bool:
    """Return whether arrays are recorded in an order of memory; in Fortran's only in code that is
    converted."""
    order = str(order or "K").upper()
    return order in ("C", "K", "A") or (order == "F" and recorder.is_routed)


def _in_order(recorder: Recorder, made: Any, order: Any) -> Any:
    """An array that is new; in Fortran's order its memory is not C's."""
    if str(order).upper() == "F" and made.ndim > 1:
        recorder.out_of_order.add(made._held)
    return made


def _constructor() -> Any:
    """np.ndarray; where something is recorded and the user's statement only calls it, what makes
    arrays that are recorded."""
    if _recorder() is None or not places.only_calls("ndarray"):
        return numpy.ndarray
    return _made(numpy.ndarray, _ndarray)


def _ndarray(
    recorder: Recorder,
    shape: Any,
    dtype: Any = float,
    buffer: Any = None,
    offset: int = 0,
    strides: Any = None,
    order: str | None = None,
) -> Any:
    """np.ndarray of a shape; of memory that exists it is NumPy's."""
    if recorded_argument(buffer) is not None:
        words = {"function": "np.ndarray", "problem": "buffer= is being recorded"}
        raise fail("unsupported-call", places.here(), **words, fix="use np.reshape on the result.")
    if buffer is not None or strides is not None:
        return None
    return _full(recorder, shape, 0, dtype, order or "C")


def _dtype_of(value: Any) -> Any:
    return value.dtype if type(value) in TENSORS else numpy.asarray(value).dtype


def _array(
    recorder: Recorder,
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: str = "K",
    ndmin: int = 0,
) -> Any:
    """np.array."""
    return _converted(recorder, object, dtype, order, copies(copy), ndmin)


def _asarray(
    recorder: Recorder, a: Any, dtype: Any = None, order: str | None = None, *, copy: Any = None
) -> Any:
    """np.asarray."""
    return _converted(recorder, a, dtype, order or "K", copies(copy), 0)


def _asanyarray(
    recorder: Recorder, a: Any, dtype: Any = None, order: str | None = None, *, copy: Any = None
) -> Any:
    """np.asanyarray; a matrix or masked array stays one."""
    return None if _is_subclass(a) else _asarray(recorder, a, dtype, order, copy=copy)


def _is_subclass(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) and type(value) not in (numpy.ndarray, *TENSORS)


def _contiguous(recorder: Recorder, a: Any, dtype: Any = None) -> Any:
    """np.ascontiguousarray."""
    made = _converted(recorder, a, dtype, "K", False, 0)
    return None if made is None else HANDLERS[numpy.ascontiguousarray](made)


def _converted(
    recorder: Recorder, thing: Any, dtype: Any, order: str, copies: bool, ndmin: int
) -> Any:
    """`thing` as an array; None if it need not be recorded."""
    if not _is_order(recorder, order):
        return None
    given = as_array(thing)
    if hasattr(type(given), "__tracejit_read__"):
        given = given.read_value()
    if type(given) not in TENSORS:
        wanted = numpy.asarray(given, dtype)
        if wanted.dtype.kind not in "fc":
            return None
        result: Any = Tensor(recorder.lift(wanted), recorder)
        if wanted is not thing:
            result = copy(result, order="K")  # which is no other constant
        if wanted is not given or copies:
            result = result._laid_like(Tensor(EAGER.lift(wanted), EAGER))
        if wanted is thing and not copies:
            result._owner = Sealed(CAPTURED)
    else:
        result = given
    if result.type.form != "array":
        result = numpy.copy(result)
    if dtype is not None and result.dtype != numpy.dtype(dtype):
        result = result.astype(dtype)
    elif copies and (result is given or result is thing or type(thing) is numpy.ndarray):
        result = numpy.copy(result)
    if order in ("F", "f") and result.ndim > 1:
        result = _in_order(recorder, numpy.copy(result), order)
    return result if result.ndim >= ndmin else result[(None,) * (ndmin - result.ndim)]


def _like(function: Callable[..., Any], fill: int) -> Callable[..., Any]:
    """np.zeros_like, np.ones_like or np.empty_like."""

    def make(
        recorder: Recorder,
        a: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
    ) -> Any:
        return _full_like(recorder, a, fill, dtype, order, subok, shape)

    return _made(function, make)


def _full_like(
    recorder: Recorder,
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
) -> Any:
    """np.full_like."""
    a = as_array(a)
    a = a if hasattr(a, "dtype") else numpy.asarray(a)
    kind = a.dtype if dtype is None else dtype
    sizes = numpy.shape(a) if shape is None else shape
    made = _full(recorder, sizes, fill_value, kind, order)
    if made is None or shape is not None or str(order).upper() in ("C", "F"):
        return made
    return made._laid_like(Tensor(EAGER.lift(a), EAGER) if type(a) is numpy.ndarray else a)


def _constant(function: Callable[..., Any]) -> Callable[..., Any]:
    """np.eye and its kin: an array of floating dtype made of numbers alone, as a constant."""

    def make(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
        if any(type(arg) is Dim for arg in args):
            return _sized(recorder, function, args, kwargs)
        if recorded_argument(*args, *kwargs.values()) is not None:
            return recordable(function, as_array)(*args, **kwargs)
        data = function(*args, **kwargs)
        if data.dtype.kind not in "fc":
            return data
        return copy(Tensor(recorder.lift(data), recorder), order="K")

    return _made(function, make)


def _sized(
    recorder: Recorder, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """np.eye and its kin of sizes that are free; None if the numbers are needed."""
    if function not in SIZED or not all(type(arg) in (int, Dim) for arg in args):
        return None
    op, params_of = SIZED[function]
    try:
        return recorder.record(op, (), params_of(*args, **kwargs))
    except (TypeError, ValueError):
        return None


def _has_branches(function: Any) -> bool:
    """Return whether a function may go by what it is given."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    names = [one.opname for one in dis.get_instructions(code)]
    return any("JUMP" in name and "IF" in name for name in names)


def _one_by_one(function: Any, arrays: Sequence[Any], shape: Any) -> Any:
    """The results of a function for each element, in the dtype of the first one's, as NumPy has
    them."""
    flat = [numpy.reshape(x, -1) for x in arrays]
    found = [function(*[x[number] for x in flat]) for number in range(flat[0].shape[0])]

    def joined(parts: Sequence[Any]) -> Any:
        dtype = _dtype_of(as_array(parts[0]))
        return numpy.reshape(as_array(list(parts)), shape).astype(dtype)

    if isinstance(found[0], tuple):
        return tuple(map(joined, zip(*found, strict=True)))
    return joined(found)


def _vectorize(pyfunc: Any, *args: Any, **options: Any) -> Callable[..., Any]:
    """np.vectorize: of recorded arrays, `pyfunc` for one element, batched."""
    plain = numpy.vectorize(pyfunc, *args, **options)

    @functools.wraps(pyfunc)
    def call(*arrays: Any, **kwargs: Any) -> Any:
        recorded = recorded_argument(*arrays, *kwargs.values())
        if recorded is None:
            return plain(*arrays, **kwargs)
        if args or options or kwargs:
            problem = "options and keyword arguments of np.vectorize are not supported"
            fix = "call it with positional arrays only."
            words = {"function": "np.vectorize", "problem": problem, "fix": fix}
            raise fail("unsupported-call", places.here(), **words)
        spread = numpy.broadcast_arrays(*map(as_array, arrays))
        shape = spread[0].shape
        if is_routed(recorded) and _has_branches(pyfunc) and spread[0].size <= MOST_CALLS:
            return _one_by_one(pyfunc, spread, shape)
        found = vmap(pyfunc)(*[numpy.reshape(x, -1) for x in spread])
        if isinstance(found, tuple):
            return tuple(numpy.reshape(one, shape) for one in found)
        return numpy.reshape(found, shape)

    return call


def _bracket(builder: Any) -> Any:
    """np.r_ or np.c_, recordable."""
    kind = type(builder)
    name = "np.r_" if builder is numpy.r_ else "np.c_"

    def joined(self: Any, key: Any) -> Any:
        if recorded_argument(key) is None:
            return kind.__getitem__(self, key)
        if type(key) is tuple and isinstance(key[0], str) and key[0] in ("r", "c"):
            words = {"function": f"{name}[{key[0]!r}, ...]", "problem": "it makes a np.matrix"}
            raise fail("unsupported-call", places.here(), **words, fix="leave the letter out.")
        return bracketed(key, self.axis, self.ndmin, self.trans1d)

    return type(kind.__name__, (kind,), {"__getitem__": joined, "__doc__": builder.__doc__})()


_BRACKETS = {id(builder): _bracket(builder) for builder in (numpy.r_, numpy.c_)}


def _made(function: Callable[..., Any], make: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, its arrays made by `make` where something is recorded, unless that answers
    None or takes no such arguments."""
    signature = inspect.signature(make)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        recorder = _recorder()
        if recorder is None:
            return recordable(function)(*args, **kwargs)
        words = {word: one for word, one in kwargs.items() if not _is_idle(word, one, args)}
        try:
            signature.bind(recorder, *args, **words)
        except TypeError:
            return function(*args, **kwargs)
        made = make(recorder, *args, **words)
        return function(*args, **kwargs) if made is None else made

    return call


def _is_idle(word: str, value: Any, args: Sequence[Any]) -> bool:
    """Return whether a keyword argument changes nothing about an array that is recorded."""
    if word == "like":
        return value is None or isinstance(value, (numpy.ndarray, *TENSORS))
    if word == "subok":
        return value is False or (value is True and not any(map(_is_subclass, args)))
    return word == "device" and value in (None, "cpu")


_MADE: dict[Any, Callable[..., Any]] = {
    numpy.zeros: _filled(numpy.zeros, 0),
    numpy.empty: _filled(numpy.empty, 0),
    numpy.ones: _filled(numpy.ones, 1),
    numpy.full: _made(numpy.full, _full),
    numpy.array: _made(numpy.array, _array),
    numpy.asarray: _made(numpy.asarray, _asarray),
    numpy.asanyarray: _made(numpy.asanyarray, _asanyarray),
    numpy.ascontiguousarray: _made(numpy.ascontiguousarray, _contiguous),
    numpy.zeros_like: _like(numpy.zeros_like, 0),
    numpy.empty_like: _like(numpy.empty_like, 0),
    numpy.ones_like: _like(numpy.ones_like, 1),
    numpy.full_like: _made(numpy.full_like, _full_like),
    **{
        function: _constant(function)
        for function in (numpy.eye, numpy.identity, numpy.arange, numpy.linspace, numpy.copy)
    },
}


def wrapped(value: Any) -> Any:
    """The replacement for an attribute of NumPy's; None for the attribute itself."""
    if isinstance(value, ModuleType):
        return _module(value) if value.__name__.startswith("numpy.") else None
    if value is numpy.vectorize:
        return _vectorize
    if id(value) in _BRACKETS:
        return _BRACKETS[id(value)]
    if value is numpy.ndarray:
        return _constructor()
    if value is numpy.ndenumerate or value is numpy.nditer:
        return _iterator(value, enumerated if value is numpy.ndenumerate else ElementIterator)
    if isinstance(value, numpy.ufunc):
        return ListUfunc(value, as_array)
    if value is numpy.isscalar or value is numpy.iterable:
        return value  # which ask isinstance, and iter()
    if isinstance(value, type) or not callable(value):
        return None
    try:
        known = value in HANDLERS
    except TypeError:  # not hashable
        return None
    if value in _MADE:
        return _MADE[value]
    if not known:
        return recordable(value)
    return recordable(value) if value in OF_SEQUENCES else recordable(value, as_array)


NUMPY.append(wrapped)


def _iterator(plain: Callable[..., Any], recorded: Callable[..., Any]) -> Callable[..., Any]:
    """np.nditer or np.ndenumerate; of recorded arrays what reads them at each step."""

    @functools.wraps(plain, updated=())
    def iterate(*args: Any, **kwargs: Any) -> Any:
        found = recorded_argument(*args, *kwargs.values())
        return (plain if found is None else recorded)(*args, **kwargs)

    return iterate


def _module(library: ModuleType) -> ModuleType:
    """A module of NumPy's, its functions recordable."""
    module = ModuleType(f"tracejit.{library.__name__}", library.__doc__)
    module.__getattr__, module.__dir__ = namespace(library, wrapped)  # type: ignore[method-assign]
    return module
