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
    """A module with the functions that converted code would call; all else is the module's own."""

    def __init__(self, module: ModuleType, convert: Callable[[Any], Any]) -> None:
        """Show `module`."""
        super().__init__(module.__name__)
        object.__setattr__(self, "_seen", (module, convert))

    def __getattribute__(self, name: str) -> Any:
        module, convert = object.__getattribute__(self, "_seen")
        return _shown(getattr(module, name), convert)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_seen")[0], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(object.__getattribute__(self, "_seen")[0], name)


def seen_by(convert: Callable[[Any], Any]) -> See:
    """The names of code whose functions are converted by `convert`."""

    def see(code: CodeType, name: str, value: Any) -> Any:
        if isinstance(value, type):
            return convert(value) if value in RULES and only_called(code, name) else value
        return _shown(value, convert)

    return see


def _shown(value: Any, convert: Callable[[Any], Any]) -> Any:
    kind = type(value)
    if kind is ModuleType and value.__name__.partition(".")[0] != "tracejit":
        return SeenModule(value, convert)
    return convert(value) if kind in _FUNCTIONS else value
