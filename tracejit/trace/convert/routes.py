"""Calls under their own names: what the user's code calls, and what records it instead.

A function of another library is converted only in calls that give it something recorded, because
most of what a library does is not about the user's arrays.

NumPy hands most of its functions to a Tensor. It has no protocol for those that make arrays, nor
for lists of arrays; SciPy and `math` have none at all. Where the user's function is converted, each
call asks here what to call: NumPy's functions as `tracejit.numpy` has them, SciPy's that have a
rule, ufuncs for `math`, and the user's own functions, converted in turn.

This is not finished, and happens only where TRACEJIT_CONVERT is 1.
"""

from __future__ import annotations

import functools
import math
import os
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

import numpy as np

from tracejit.convert.converter import Converter
from tracejit.convert.exclusions import LIBRARY, Reason, exclusion
from tracejit.convert.operators import LASTING, Operators
from tracejit.ops.base.op import HANDLERS
from tracejit.trace.tensor.namespaces import NUMPY, recordable, recorded_argument

_INSTALLED = (sysconfig.get_path("purelib") + os.sep, sysconfig.get_path("platlib") + os.sep)
LASTING.update((np.ufunc, type(np.sum)))
_FUNCTIONS = frozenset((FunctionType, BuiltinFunctionType, np.ufunc, type(np.sum)))
MOST_LINES = 3_000
"""Lines with instructions of libraries that one call of theirs may have converted: 0.3 s."""

TOO_LONG = Reason(
    f"the call of a library around it runs more than {MOST_LINES:,} lines",
    "Call less of the library, or write what it does in a function",
)
_SAME_NAME = (
    "acos acosh asin asinh atan atan2 atanh cos cosh degrees exp expm1 fabs hypot "
    "log1p log2 log10 pow radians sin sinh sqrt tan tanh"
).split()
_NAMES_OF_NUMPY = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "pow": "power",
}  # fmt: skip
"""The functions of `math` that are ufuncs under another name."""


def _log(x: Any, base: Any = math.e) -> Any:
    return np.log(x) if base is math.e else np.log(x) / np.log(base)


def _of_recorded(plain: Callable[..., Any], recorded: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `math`, and the one that takes its place where something recorded is given."""

    @functools.wraps(plain)
    def call(*args: Any) -> Any:
        if len(args) == 1 and type(args[0]) is float:
            return plain(args[0])
        return plain(*args) if recorded_argument(*args) is None else recorded(*args)

    return call


MATH = {
    getattr(math, name): _of_recorded(
        getattr(math, name), getattr(np, _NAMES_OF_NUMPY.get(name, name))
    )
    for name in _SAME_NAME
} | {math.log: _of_recorded(math.log, _log)}


@contextmanager
def routed(python: Any, refused: dict[str, None]) -> Iterator[Callable[..., Any]]:
    """A function to be recorded, with its calls routed; sentences on the functions that run as they
    are written are added to `refused`."""

    def route(called: Any) -> Any:
        found = _route(called)
        return libraries.if_recorded(called) if found is None and _is_library(called) else found

    with Converter(Operators(), calls=True, route=route) as converter:
        libraries = _Libraries(converter)
        try:
            yield (converter.function if type(python) is FunctionType else converter.convert)(
                python
            )
        finally:
            refused |= dict.fromkeys(map(str, converter.refusals.values()))


def _is_library(called: Any) -> bool:
    """Return whether a function was installed, rather than written by the user."""
    is_function = type(called) is FunctionType
    is_installed = is_function and called.__code__.co_filename.startswith(_INSTALLED)
    return is_installed and exclusion(called) is not LIBRARY


class _Libraries:
    """The functions of libraries, which are converted in calls that give them something recorded.

    Each call from the user's code may have up to `MOST_LINES` converted. A line counts in each call
    anew, although it is rewritten once, so that the same call is always converted alike.
    """

    def __init__(self, converter: Converter) -> None:
        """Begin outside of a library."""
        self.converter = converter
        self.depth = self.lines = 0
        self.counted: dict[int, CodeType] = {}

    def if_recorded(self, called: FunctionType) -> Callable[..., Any]:
        """A function, converted for each call that gives it something recorded."""

        @functools.wraps(called)
        def call(*args: Any, **kwargs: Any) -> Any:
            if recorded_argument(*args, *kwargs.values()) is None:
                return called(*args, **kwargs)
            if not self.depth:
                self.lines = 0
                self.counted.clear()
            self.depth += 1
            try:
                return self._converted(called)(*args, **kwargs)
            finally:
                self.depth -= 1

        return call

    def _converted(self, called: FunctionType) -> FunctionType:
        code = called.__code__
        if id(code) not in self.counted:
            lines = len({code.co_firstlineno, *(line for _, _, line in code.co_lines())})
            if self.lines + lines > MOST_LINES:
                return self.converter.refuse(called, TOO_LONG)
            self.lines += lines
            self.counted[id(code)] = code
        return self.converter.function(called)


def _route(called: Any) -> Any:
    """The callable that records a function of NumPy, SciPy or `math`, or None."""
    if type(called) not in _FUNCTIONS:
        return None
    if called in MATH:
        return MATH[called]
    module = _module_of(called)
    if isinstance(called, np.ufunc) or module.startswith("numpy."):
        return next((found for find in NUMPY if (found := find(called)) is not None), None)
    return _of_scipy(called) if module.startswith("scipy.") else None


def _module_of(called: Any) -> str:
    """The module that defines a function, whatever it wraps; a dot follows it."""
    names = getattr(called, "__globals__", None)
    module = getattr(called, "__module__", None) if names is None else names.get("__name__")
    return f"{module}."


def _of_scipy(called: Any) -> Any:
    area = called.__module__.split(".")[1]
    with suppress(ImportError):
        import_module(f"tracejit.ops.scipy.{area}")
    return recordable(called) if called in HANDLERS else None
