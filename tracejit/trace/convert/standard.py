"""Functions of the standard library without a rule, which are given something recorded.

Many take a Tensor for the number that it stands for, by `__index__` or by its operators. Those
whose C code looks at types (`json.dumps`, `struct.pack`, `datetime.timedelta`) raise a TypeError,
which is none of the user's: they are given the number, where it is known, and refused elsewhere.
"""

from __future__ import annotations

import struct
import sys
import sysconfig
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from tracejit.support.errors import TracejitError
from tracejit.trace.convert.rules import where_recorded
from tracejit.trace.recording.variable import read_leaf
from tracejit.trace.source import places
from tracejit.trace.structure.trees import map_tree
from tracejit.trace.tensor.tensor import TENSORS

_FOLDERS = (places.PACKAGE, sysconfig.get_path("stdlib"), "<frozen ")
_OF_ANYTHING = frozenset(
    "builtins itertools functools collections operator abc types sys warnings".split()
)
"""Modules whose functions in C take objects of any type, but for `_BUFFERS`, or count frames."""
_BUFFERS = frozenset((bytes, bytearray, memoryview))
_FRAMES = frozenset(("sys", "_sys", "warnings", "_warnings"))
"""Names of modules by which a function finds the frame that calls it."""
OUTSIDE = (
    "keep the call outside the function; or write tj.callback(f, x), which calls f with the "
    "numbers of x, at each call."
)


def by_type(called: Any, kind: type) -> Callable[..., Any] | None:
    """A function, class or method of the standard library, refused where it raises a TypeError for
    something recorded; None for what never looks at types, or may look at the frame that calls."""
    if kind is MethodType:
        looks = type(called.__func__) is FunctionType and _looks_at_types(called.__func__)
    elif kind is FunctionType:
        looks = _looks_at_types(called)
    elif kind is BuiltinFunctionType:
        owner = called.__self__
        of = owner if isinstance(owner, (type, ModuleType)) else type(owner)
        looks = of not in _BUFFERS and _is_standard(getattr(of, "__module__", of.__name__))
    else:
        is_in_c = kind is type and type(called.__init__) is not FunctionType
        is_in_c = is_in_c and type(called.__new__) is BuiltinFunctionType
        looks = called in _BUFFERS or (is_in_c and _is_standard(called.__module__))
    return where_recorded(called, _refused_by_type(called)) if looks else None


def _looks_at_types(function: FunctionType) -> bool:
    names = function.__globals__
    return _FRAMES.isdisjoint(names) and _is_standard(names.get("__name__"))


def _is_standard(module: Any) -> bool:
    name = str(module).partition(".")[0]
    return name in sys.stdlib_module_names and name.lstrip("_") not in _OF_ANYTHING


def _refused_by_type(called: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return called(*args, **kwargs)
        except TracejitError:
            raise
        except (TypeError, struct.error) as error:
            if not _is_of_python(error):
                raise
        name = places.called()[0] or f"{called.__module__}.{called.__qualname__}"
        given, named = map_tree(lambda leaf: _number(leaf, name), (args, kwargs))
        return called(*given, **named)

    return call


def _number(leaf: Any, name: str) -> Any:
    leaf = read_leaf(leaf)
    return leaf._number(_same, name, OUTSIDE) if type(leaf) in TENSORS else leaf


def _same(number: Any) -> Any:
    return number


def _is_of_python(error: BaseException) -> bool:
    """Return whether `error` went through no function but of the standard library."""
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_FOLDERS):
            return False
        trace = trace.tb_next
    return True
