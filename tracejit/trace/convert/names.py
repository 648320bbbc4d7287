"""Names that code without usable source reads, as it sees them: modules whose functions are what
converted code would call, functions and builtins likewise.

A class is handed out only where the code does nothing but call it: `float(x)` is recorded, and
`dtype=float` is the class.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from tracejit.convert.mapping import See, only_called
from tracejit.trace.convert.rules import RULES

_FUNCTIONS = (FunctionType, BuiltinFunctionType, np.ufunc, type(np.sum))


class SeenModule(ModuleType):
    """A module whose functions and modules are what is shown of them; all else is its own."""

    def __init__(self, module: ModuleType, shown: Callable[[Any], Any]) -> None:
        """Show `module`."""
        super().__init__(module.__name__)
        object.__setattr__(self, "_seen", (module, shown))

    def __getattribute__(self, name: str) -> Any:
        module, shown = object.__getattribute__(self, "_seen")
        return shown(getattr(module, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_seen")[0], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(object.__getattribute__(self, "_seen")[0], name)


def seen_by(convert: Callable[[Any], Any]) -> See:
    """The names of code whose functions are converted by `convert`; modules are shown, and code is
    looked at, once each."""
    modules: dict[int, tuple[ModuleType, SeenModule]] = {}
    calls: dict[tuple[int, str], tuple[CodeType, bool]] = {}

    def shown(value: Any) -> Any:
        kind = type(value)
        if kind is not ModuleType:
            return convert(value) if kind in _FUNCTIONS else value
        if value.__name__.partition(".")[0] == "tracejit":
            return value
        if id(value) not in modules:
            modules[id(value)] = value, SeenModule(value, shown)
        return modules[id(value)][1]

    def see(code: CodeType, name: str, value: Any) -> Any:
        if not isinstance(value, type):
            return shown(value)
        if value not in RULES:
            return value
        if (id(code), name) not in calls:
            calls[id(code), name] = code, only_called(code, name)
        return convert(value) if calls[id(code), name][1] else value

    return see
