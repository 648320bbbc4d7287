"""Rules of classes: `type(x)`, and the methods of a class that Python's C code calls.

Python makes an instance, adds, compares, reads a property in C, which calls the special method
itself. So while a function is recorded, those methods of the classes that it uses run their
converted code.
"""

from __future__ import annotations

import builtins
import functools
from types import FunctionType
from typing import Any

from tracejit.convert.converter import Converter
from tracejit.trace.convert.rules import rule

_LEFT = frozenset(
    "__repr__ __str__ __hash__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __del__ "
    "__getattribute__ __init_subclass__ __class_getitem__ __set_name__ __dir__ __sizeof__".split()
)
"""Special methods that compute nothing with arrays."""
_WRITTEN_IN_PYTHON = 1 << 9
"""The flag of classes that may have members written in Python, which no type of C's has."""


@rule(builtins.type)
def _type(*args: Any) -> Any:
    return args[0].__class__ if len(args) == 1 else type(*args)


def lend_methods(cls: type, converter: Converter, seen: dict[int, Any]) -> None:
    """Let the special methods and properties of a class, and of those it derives from, run their
    converted code."""
    for base in cls.__mro__:
        if id(base) in seen:
            continue
        seen[id(base)] = base, None
        if not base.__flags__ & _WRITTEN_IN_PYTHON:
            continue
        for name, member in list(vars(base).items()):
            function = _special(name, member)
            if type(function) is FunctionType:
                converter.lend(function)


def _special(name: str, member: Any) -> Any:
    """The function that C code calls for a member of a class, or something else."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, functools.cached_property):
        return member.func
    is_special = name.startswith("__") and name.endswith("__")
    return member if is_special and name not in _LEFT else None
