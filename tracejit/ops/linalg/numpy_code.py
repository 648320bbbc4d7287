"""Composites in NumPy's own words: functions that NumPy writes in Python by calling others.

The installed code runs on Tensors, so its values, checks and messages are NumPy's. Only
`np.asarray` and its kin, which would ask a Tensor for its numbers, are replaced. A function belongs
here if it slices, reshapes and calls what is recorded, and neither writes in place nor asks for
numbers. One that a version of NumPy does not write in Python is not recorded there.

>>> from tracejit.ops.base.op import HANDLERS
>>> HANDLERS[np.rot90](np.array([[1, 2], [3, 4]]))
array([[2, 4],
       [1, 3]])
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tracejit.ops.base.creation import as_array, cast, is_recorded
from tracejit.ops.base.op import HANDLERS, answer, composite
from tracejit.ops.linalg.products import not_a_number

_FUNCTIONS = (
    *(np.moveaxis, np.rollaxis, np.matrix_transpose, np.linalg.matrix_transpose),
    *(np.flip, np.fliplr, np.flipud, np.rot90, np.resize),
    *(np.atleast_1d, np.atleast_2d, np.atleast_3d),
    *(np.vstack, np.hstack, np.dstack, np.column_stack),
    *(np.tensordot, np.linalg.tensordot, np.linalg.tensorinv, np.linalg.multi_dot),
    *(np.linalg.outer, np.linalg.cross, np.linalg.trace),
    *(np.linalg.vector_norm, np.linalg.matrix_norm),
    *(np.diff, np.trapezoid, np.angle, np.apply_over_axes),
    *(np.polyadd, np.polysub, np.polyder, np.polyint, np.polyval),
    *(np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn, np.fft.hfft, np.fft.ihfft),
    *(np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2),
    *(np.fft.fftshift, np.fft.ifftshift, np.fft.fftfreq, np.fft.rfftfreq),
    *(np.isposinf, np.isneginf, np.isreal, np.iscomplex, np.isclose, np.histogram2d),
)


def _asarray(a: Any, dtype: Any = None, **layout: Any) -> Any:
    """np.asarray of a Tensor, or of a list that holds some, as well."""
    a = as_array(a)
    if not is_recorded(a):
        return np.asanyarray(a, dtype, **layout)
    a = not_a_number(a)
    return a if dtype is None or a.dtype == dtype else cast(a, np.dtype(dtype))


def _array(a: Any, dtype: Any = None, *, ndmin: int = 0, **layout: Any) -> Any:
    """np.array of what is not written to."""
    a = _asarray(a, dtype)
    return np.reshape(a, (1,) * (ndmin - a.ndim) + a.shape) if a.ndim < ndmin else a


_REPLACED = {"asarray": _asarray, "asanyarray": _asarray, "array": _array}


class _Module:
    """A module of NumPy's as its code reads it."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value: Any = _REPLACED.get(name) or getattr(self._module, name)
        return _on_tensors(value) if _is_of_numpy(value) else value


def _is_of_numpy(value: Any) -> bool:
    """Return whether `value` is a function that NumPy writes in Python and does not dispatch."""
    return type(value) is FunctionType and _module_of(value).startswith("numpy.")


def _module_of(function: FunctionType) -> str:
    """The name of the module whose global names a function reads."""
    name: str = function.__globals__["__name__"]
    return name


@cache
def _names(module: str) -> dict[str, Any]:
    """The global names of a module of NumPy's, for code that runs on Tensors."""
    names = dict(vars(sys.modules[module])) | _REPLACED
    for name, value in list(names.items()):
        if isinstance(value, ModuleType):
            names[name] = _Module(value)
        elif type(value) is FunctionType and value in HANDLERS:
            names[name] = HANDLERS[value]
        elif name.startswith("_") and _is_of_numpy(value) and _module_of(value) == module:
            names[name] = _on_tensors(value, names)
    return names


def _on_tensors(function: FunctionType, names: dict[str, Any] | None = None) -> Callable[..., Any]:
    """The code of a function for Tensors, `names` being its global ones."""
    names = _names(_module_of(function)) if names is None else names
    code, defaults = function.__code__, function.__defaults__
    made = FunctionType(code, names, function.__name__, defaults, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def as_written(function: Any) -> Callable[..., Any] | None:
    """NumPy's own code of a function, for Tensors; None if it is not written in Python."""
    written = inspect.unwrap(function)
    return _on_tensors(written) if type(written) is FunctionType else None


def _of_vectors(join: Callable[..., Any], axis: int) -> Callable[..., Any]:
    """`join`, by np.stack for vectors of one length: the code is shorter, and loops are found."""

    def call(tup: Any, **options: Any) -> Any:
        arrays = [*map(as_array, tup)] if type(tup) in (list, tuple) else []
        shapes = {np.shape(array) for array in arrays}
        if len(shapes) == 1 and np.ndim(arrays[0]) == 1:
            return np.stack(arrays, axis, **options)
        return join(tup, **options)

    return call


for _function in _FUNCTIONS:
    if (_code := as_written(_function)) is not None:
        of_vectors = {np.vstack: 0, np.column_stack: 1}.get(_function)
        composite(_function)(_code if of_vectors is None else _of_vectors(_code, of_vectors))
if (row_stack := getattr(np, "row_stack", None)) is not None:  # until NumPy 2.5
    answer(row_stack, HANDLERS[np.vstack])
