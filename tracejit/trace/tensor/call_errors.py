"""Errors of calls that do not fit: the call in the user's spelling, the reason, and what was given.

A rule of tracejit's may refuse what NumPy takes. An error says that NumPy refuses the call, too,
only if NumPy does, when it is asked with zeros of the same shapes.
"""

from __future__ import annotations

import inspect
import operator
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MethodDescriptorType
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.support.errors import TracejitError, fail, shape_row
from tracejit.trace.source import places
from tracejit.trace.source.instead import instead_of_test
from tracejit.trace.structure.trees import flatten, map_tree

# NumPy is asked about calls whose operands have no more elements than this.
MOST_ELEMENTS = 100_000
_CALLED = re.compile(r"^[\w.<>]+\(\) ")
_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")


def spelling(function: Any) -> str:
    """A NumPy callable as users write it: `np.sum`, `ndarray.sum`, `indexing`."""
    if function is operator.getitem:
        return "indexing"
    if function is operator.setitem:
        return "assigning to elements"
    if isinstance(function, MethodDescriptorType):
        return f"ndarray.{function.__name__}"
    if isinstance(function, tuple):
        return f"{spelling(function[0])}.{function[1]}"
    module = getattr(function, "__module__", None) or "numpy"
    if isinstance(function, np.ufunc) and function.__name__.endswith(" (vectorized)"):
        name = function.__name__.partition(" ")[0]
        return f"np.frompyfunc({name}, ...)" if name != "?" else "np.frompyfunc(...)"
    if isinstance(function, np.ufunc) and getattr(np, function.__name__, None) is not function:
        return f"the ufunc {function.__name__}"
    name = getattr(function, "__name__", "") or type(function).__name__
    module = _public_module(module, name, function)
    return f"{module.replace('numpy', 'np', 1)}.{name}"


def _public_module(module: str, name: str, function: Any) -> str:
    """The shortest module from which users take a function."""
    parts = module.split(".")
    for count in range(1, len(parts)):
        outer = ".".join(parts[:count])
        if getattr(sys.modules.get(outer), name, None) is function:
            return outer
    return module


def call_error(
    recorder: Any,
    function: Any,
    error: Exception,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> TracejitError:
    """The user's error for a call that a handler refused with `error`."""
    called, method = function if isinstance(function, tuple) else (function, "__call__")
    is_numpys = isinstance(error, IndexError) or (
        isinstance(error, ValueError) and _refuses(called, method, args, kwargs)
    )
    if is_numpys:
        fix = fix_of_shapes(error, _given(recorder, args, kwargs))
        if called is operator.getitem and type(args[1]) is str:
            fix = "columns have numbers here, x[:, 0]; or pass a dict of arrays for names."
        row, call = shape_row(error), recorder.call_text(spelling(function))
        return fail(row, recorder.here(), call=call, problem=error, fix=fix)
    keyword = _KEYWORD.search(str(error))
    problem = f"the keyword {keyword[1]} is not supported" if keyword else str(error)
    names = _parameters(called) if keyword else ()
    if keyword and keyword[1] not in names and (names := get_close_matches(keyword[1], names, 1)):
        problem = f"{problem}; did you mean {names[0]}?"
    problem, _, fix = _CALLED.sub("it ", problem).rpartition("; ")
    if not problem:
        problem, fix = fix, "leave it out, or compute the same from supported calls"
    return fail(
        "unsupported-call" if isinstance(error, TypeError) else "unsupported-values",
        recorder.here(),
        function=spelling(function),
        problem=problem,
        fix=fix if fix.endswith("?") else f"{fix.removesuffix('.')}.",
    )


def fix_of_shapes(error: Exception, given: str) -> str:
    """The advice for operands, `given` with their shapes, that do not fit."""
    advice = "change the operands"
    if isinstance(error, IndexError) and "must be of integer" in str(error):
        advice = "convert the index, i.astype(int) or int(i), or write a condition"
    return f"{advice}; given: {given}." if given else f"{advice}."


def truth_error(recorder: Any, shape: tuple[int, ...]) -> TracejitError:
    """The user's error where Python asks if an array of several elements is true."""
    test, fix = instead_of_test(places.expressions())
    what = f"an array of shape {shape}"
    test = f"{test}, {what}," if test else what
    return fail("truth", recorder.here(), test=test, fix=fix)


def _parameters(function: Any) -> list[str]:
    """The names of the parameters of a function, where it tells them."""
    try:
        return [*inspect.signature(function).parameters]
    except (TypeError, ValueError):
        return []


def _given(recorder: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The arrays among the arguments of a call, with their types."""
    found = []
    for leaf in flatten((tuple(args), dict(kwargs)))[0]:
        if hasattr(type(leaf), "__tracejit_record__"):
            found.append(f"{recorder.name_of(leaf._value)} {leaf.type!r}")
        elif isinstance(leaf, np.ndarray):
            found.append(f"an array of shape {leaf.shape}")
    return ", ".join(dict.fromkeys(found))


def _refuses(function: Any, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Return whether NumPy refuses a call, given zeros in place of recorded arrays."""
    call = tuple(args), dict(kwargs)
    if sum(getattr(leaf, "size", 0) for leaf in flatten(call)[0]) > MOST_ELEMENTS:
        return False
    positional, named = map_tree(_stand_in, call)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            getattr(function, method)(*positional, **named)
    except Exception:
        return True
    return False


def _stand_in(leaf: Any) -> Any:
    """Zeros in place of a Tensor or Variable, and a copy of an array, which may be written to."""
    if not hasattr(type(leaf), "__tracejit_record__"):
        return leaf.copy() if isinstance(leaf, np.ndarray) else leaf
    kind: ArrayType = leaf.type
    zeros = np.zeros(kind.shape, kind.dtype)
    return zeros if kind.form == "array" else zeros[()]
