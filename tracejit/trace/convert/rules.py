"""The table of rules: what records a call where something recorded is given.

A rule takes the arguments of the call. It is entered under the callable that the user's code calls,
whatever name that has there; under a method of Tensor, for calls of that method.

Functions that call what they are given (`map(f, x)`, `sorted(x, key=f)`) are handed the functions
that converted code would call. The list of them is closed: whatever else is given a function of the
user's gets that function.
"""

from __future__ import annotations

import builtins
import functools
import itertools
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, TypeVar

import numpy as np

from tracejit.trace.recording.variable import read_leaf
from tracejit.trace.tensor.namespaces import PLAIN, recorded_argument

_NOTHING = object()
_COPIED = ("__module__", "__name__", "__qualname__", "__doc__")
"""The attributes copied from a builtin: Python 3.12 has none of the others for `type`."""
Rule = TypeVar("Rule", bound=Callable[..., Any])

RULES: dict[Any, Callable[..., Any]] = {}
"""The rules, each with the plain call around it: of what is not recorded, it is the plain one."""

LATE = {
    "statistics": "tracejit.trace.convert.samples",
    "numpy.ma": "tracejit.trace.convert.masked",
    "numpy.random": "tracejit.trace.convert.generators",
    "scipy.sparse": "tracejit.trace.convert.sparse",
}
"""The modules of rules for packages that are imported when a function of theirs is called."""


def rule(*plain: Any, of_iterables: bool = False) -> Callable[[Rule], Rule]:
    """Enter a function as the rule of these callables; of those `of_iterables`, an argument may
    be an iterator over what is recorded."""

    def enter(recorded: Rule) -> Rule:
        for one in plain:
            RULES[one] = where_recorded(one, recorded, of_iterables)
        return recorded

    return enter


def rule_of(value: Any) -> Callable[..., Any] | None:
    """The rule of a function; None for anything else."""
    return RULES.get(value) if isinstance(value, FunctionType) else None


def where_recorded(
    plain: Callable[..., Any], recorded: Callable[..., Any], of_iterables: bool = False
) -> Callable[..., Any]:
    """`recorded` where something recorded is among the arguments, which are Tensors then, not
    Variables; `plain` elsewhere."""

    @functools.wraps(plain, _COPIED, ())
    def call(first: Any = _NOTHING, /, *rest: Any, **kwargs: Any) -> Any:
        if type(first) in PLAIN and not rest and not kwargs:
            return plain(first)
        args = rest if first is _NOTHING else (first, *rest)
        if of_iterables:
            args = tuple(map(_listed, args))
            kwargs = {name: _listed(one) for name, one in kwargs.items()}
        if recorded_argument(*args, *kwargs.values()) is None:
            return plain(*args, **kwargs)
        named = {name: read_leaf(one) for name, one in kwargs.items()}
        try:
            return recorded(*map(read_leaf, args), **named)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:
                plain(*args, **kwargs)  # says what does not fit
            raise

    return call


def _listed(one: Any) -> Any:
    """The elements of an iterator; anything else as it is."""
    return list(one) if hasattr(type(one), "__next__") else one


HANDED = {
    builtins.map, builtins.filter, builtins.sorted, builtins.min, builtins.max, functools.reduce,
    itertools.accumulate, itertools.starmap, itertools.takewhile, itertools.dropwhile,
    itertools.filterfalse, itertools.groupby, np.apply_along_axis, np.apply_over_axes,
    np.vectorize, np.frompyfunc, np.fromfunction, np.piecewise,
}  # fmt: skip
_CALLABLES = (FunctionType, BuiltinFunctionType, MethodType, functools.partial, type, np.ufunc)


def handed(plain: Callable[..., Any], route: Callable[[Any], Any]) -> Callable[..., Any]:
    """`plain`, given what `route` answers for each callable among its arguments."""

    def routed(one: Any) -> Any:
        if type(one) in (list, tuple):
            return type(one)(map(routed, one))
        if type(one) is dict and any(isinstance(inner, _CALLABLES) for inner in one.values()):
            return {name: routed(inner) for name, inner in one.items()}
        return route(one) if isinstance(one, _CALLABLES) else one

    @functools.wraps(plain, _COPIED, ())
    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and PLAIN.issuperset(map(type, args)):
            return plain(*args)
        named = {name: routed(one) for name, one in kwargs.items()}
        return plain(*map(routed, args), **named)

    return call
