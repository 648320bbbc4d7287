"""Pickling and copying of a `Function`: what finds it in another process, or makes it there.

One that is what its module calls it, as a decorated function is, is found by that name. Any other
is made again from what it was made of: the Python function and the request, or the call of the
transform. Kernels do not travel with it, as the worker's cache has them, or records them.

pickle refuses functions that have no name in a module (closures, lambdas), in its own words.
cloudpickle takes them by value, and those of `__main__`, too: then so does the Function.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

from tracejit.support.memo import Memo

F = TypeVar("F", bound=Callable[..., Any])
PARTS = "_parts"
MADE = "__tracejit_made__"


class Recipe(NamedTuple):
    """The call of a transform that makes a Function: its module and name, and its arguments."""

    module: str
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def transform(self) -> Callable[..., Any]:
        """The transform, as its module has it."""
        called: Callable[..., Any] = getattr(sys.modules[self.module], self.name)
        return called


def recallable(transform: F) -> F:
    """`transform`, whose results know how they were made."""

    @functools.wraps(transform)
    def called(*args: Any, **kwargs: Any) -> Any:
        made = transform(*args, **kwargs)
        made.recipe = Recipe(transform.__module__, transform.__name__, args, kwargs)
        made.python.__dict__[MADE] = made
        return made

    return called  # type: ignore[return-value]


def found_by_name(thing: Any) -> Any:
    """The object that the module and name of `thing` lead to; None if there is none."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    return _found(module, name) if module and name else None


def _found(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for word in name.split("."):
        found = getattr(found, word, None)
    return found


def reduced(function: Any, protocol: Any) -> Any:
    """Reduce a Function, as `__reduce_ex__` does."""
    cls = type(function)
    if found_by_name(function) is function:
        if protocol < 4:  # which spells the name of an attribute as a call on the whole
            return vars(function)["__qualname__"]
        return unpickled, (cls, function._parts)
    recipe = function.recipe
    if recipe is not None:
        return remade, (cls, recipe.transform, recipe.args, recipe.kwargs)
    python, request, options = function.python, function.request, function.options
    for made in (getattr(python, MADE, None), found_by_name(python)):
        # What holds this very Python function travels in its place.
        if isinstance(made, cls) and made.python is python:
            return restored, (cls, made, True, request, options)
    return restored, (cls, python, False, request, options)


def parts_of(function: Any) -> Callable[[], tuple[Any, ...]]:
    """A function that returns what a Function is made of: as its attribute it is found by name, and
    what takes functions by value takes the parts with it."""

    def make() -> Callable[[], tuple[Any, ...]]:
        values = function.python, function.request, function.options

        def parts() -> tuple[Any, ...]:
            return values

        parts.__module__ = function.__module__
        parts.__name__, parts.__qualname__ = PARTS, f"{vars(function)['__qualname__']}.{PARTS}"
        return parts

    known: Callable[[], tuple[Any, ...]] = Memo.of(function).get(PARTS, make)
    return known


def deeply_copied(function: Any, memo: Any) -> Any:
    """A Function itself, as of any function; of a method, or of an object that is called, that of
    the copy."""
    recipe = function.recipe
    before: Any = function.python if recipe is None else recipe.args
    after = copy.deepcopy(before, memo)
    if after is before:
        return function
    if recipe is None:
        return type(function)(after, function.request, function.options)
    return recipe.transform(*after, **recipe.kwargs)


def unpickled(cls: Any, parts: Callable[[], tuple[Any, ...]]) -> Any:
    """The Function that has these parts here, or a new one."""
    owner = _found(parts.__module__, parts.__qualname__.rpartition(".")[0])
    if isinstance(owner, cls) and getattr(owner, PARTS) is parts:
        return owner
    return cls(*parts())


def restored(cls: Any, source: Any, undecorated: bool, request: Any, options: Any) -> Any:
    """The Function for `source`, or for what it decorates: one as long as that lives."""
    python = source.python if undecorated else source
    if not isinstance(source, (FunctionType, cls)):
        return cls(python, request, options)
    key = "restored", undecorated, request, options
    return Memo.of(source).get(key, lambda: cls(python, request, options))


def remade(cls: Any, transform: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a Function by its transform: one as long as the function that it is of lives."""
    source = args[0] if args else None
    if not isinstance(source, (FunctionType, cls)):
        return transform(*args, **kwargs)
    key = "remade", transform, repr(args[1:]), repr(sorted(kwargs.items()))
    return Memo.of(source).get(key, lambda: transform(*args, **kwargs))
