"""Namespaces that are a library's own, but for what that library cannot dispatch.

NumPy hands its functions to a Tensor by its protocols. Functions of other libraries, and those of
NumPy that make an array of anything, know no such protocol: called by the name they have here,
they are recorded where a Tensor or a Variable is among their arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from tracejit.trace.trees import flatten


def recorded_argument(*args: Any) -> Any:
    """The first Tensor or Variable among `args` and in their containers; None without."""
    for arg in args:
        if hasattr(type(arg), "__tracejit_record__"):
            return arg
    for leaf in flatten(args)[0]:
        if hasattr(type(leaf), "__tracejit_record__"):
            return leaf
    return None


def _is_data(arg: Any) -> bool:
    """Whether a sequence stands for an array: a list, or a tuple that holds one; others are sizes,
    axes and their like."""
    if type(arg) is not tuple:
        return type(arg) is list
    recorded = [leaf for leaf in flatten(arg)[0] if hasattr(type(leaf), "__tracejit_record__")]
    return any(leaf.type.form != "weak" for leaf in recorded)


def recordable(
    function: Callable[..., Any], convert: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    """`function`, its calls with a Tensor or a Variable recorded, or refused by name; `convert`
    makes arrays of lists, and of tuples that hold them."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        recorded = recorded_argument(*args, *kwargs.values())
        if recorded is None:
            return function(*args, **kwargs)
        if convert is not None:
            args = tuple(convert(arg) if _is_data(arg) else arg for arg in args)
        return recorded.__array_function__(function, (), args, kwargs)

    return call


def namespace(
    library: ModuleType, wrapped: Callable[[Any], Any] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module that stands for `library`.

    What `wrapped` answers for an attribute, unless None, takes its place; functions are recordable.
    """
    known: dict[str, Any] = {}

    def attribute(name: str) -> Any:
        if name not in known:
            value = getattr(library, name)
            other = wrapped(value) if wrapped is not None else None
            if other is None and type(value) is FunctionType:
                other = recordable(value)
            if type(other) is FunctionType:
                other.__name__ = name
            known[name] = value if other is None else other
        return known[name]

    return attribute, lambda: dir(library)
