"""State of the thread or process that library functions read: a guard compares it where the code
reaches such a function.

NumPy's error handling and print options, and the context of decimal, are arguments that nobody
passes. What code reaches is told by the names it spells and by the modules that the objects in its
reach come from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from tracejit.trace.guards.reads import module_name


class Ambient(NamedTuple):
    """One state: what the user calls it, and how to read it."""

    label: str
    read: Callable[[], Any]


class Reach(NamedTuple):
    """The signs that code reaches a state: names that it spells, or modules whose objects it holds.
    If it `shows`, making text of any object is a sign as well."""

    ambient: Ambient
    names: frozenset[str]
    modules: frozenset[str] = frozenset()
    shows: bool = False


def decimal_context() -> Any:
    """The settings of the current decimal context that arithmetic depends on."""
    context = sys.modules["decimal"].getcontext()
    kept = (context.prec, context.rounding, context.Emin, context.Emax)
    return kept, context.capitals, context.clamp, dict(context.traps)


STATES = (
    Reach(Ambient("np.geterr()", np.geterr), frozenset(("geterr",))),
    Reach(Ambient("np.geterrcall()", np.geterrcall), frozenset(("geterrcall",))),
    Reach(Ambient("np.getbufsize()", np.getbufsize), frozenset(("getbufsize",))),
    Reach(
        Ambient("np.get_printoptions()", np.get_printoptions),
        frozenset(("get_printoptions", "printoptions", "array2string", "array_repr", "array_str")),
        shows=True,
    ),
    Reach(
        Ambient("the context of decimal", decimal_context),
        frozenset(("decimal", "Decimal", "getcontext", "localcontext")),
        frozenset(("decimal", "_decimal", "_pydecimal")),
    ),
)


def module_of(value: Any) -> str:
    """The name of the module that an object comes from."""
    if isinstance(value, ModuleType):
        return value.__name__
    owner = value if isinstance(value, (type, FunctionType, BuiltinFunctionType)) else type(value)
    return module_name(owner)


def ambient_states(names: set[str], modules: set[str], shows: bool) -> list[Ambient]:
    """The states that code with these names reads, of objects from these modules."""
    return [
        state.ambient
        for state in STATES
        if not (state.modules and state.modules.isdisjoint(sys.modules))
        and (
            (state.shows and shows)
            or not (state.names.isdisjoint(names) and state.modules.isdisjoint(modules))
        )
    ]
