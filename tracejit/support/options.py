"""The options of `function`, and the values that they may have."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple


class Options(NamedTuple):
    """The options of `tj.function`.

    Parameters
    ----------
    static_argnums : int or tuple of int, default ()
        Positions of arguments whose Python numbers always select a kernel. Other numbers become
        inputs of one kernel from their second value on.
    static_argnames : str or tuple of str, default ()
        The same, by name.
    cache : bool, default True
        If True, keep kernels as files for the next process. If False, keep them in memory.
    exact : bool, default False
        If True, make no rewrite that changes rounding. Results then have NumPy's bits.
    name : str, default None
        The name of the function in generated code and in files. None takes its own name.
    max_paths : int, default 64
        The most recordings of a function that branches on data. Calls that take yet other branches
        run as plain Python.
    dynamic_shapes : "auto" or bool, default "auto"
        If "auto" or True, a dimension becomes free at its second size. If False, each shape has a
        kernel.
    input_signature : sequence of TensorSpec, default None
        The types of the arguments. Dimensions that are None are free from the first call on.
    threads : int, default None
        The most threads for the tiles of a kernel. The number of threads changes no bit. None takes
        the setting of `tj.config(threads=...)`.
    memory_budget : int, default None
        The most bytes of intermediate arrays that a gradient may keep for its backward part. Arrays
        that do not fit are computed again, at most once each. Arguments do not count.
    recycle : bool, default False
        If True, use large result arrays (32 MiB or more) again in a later call, after no Python
        object holds them. Keep no raw pointers to results.
    readable : bool, default False
        If True, leave out rewrites that make the generated code longer and save less than 5 % of
        the time. The head of each module says what this costs.
    freeze : bool, default False
        If True, make arrays that the function reads from outside read-only instead of comparing
        them at each call. Views that were made before can still be written to.
    share : bool, default False
        If True, functions with the same code share kernels, such as a closure that is made for each
        fit. They may hold different arrays, but everything else that they read must be the same.
        The last two functions of each code are kept for this, with their arrays.

    Examples
    --------
    >>> import tracejit as tj
    >>> @tj.function(static_argnames="order", exact=True)
    ... def power(x, order):
    ...     return x**order
    >>> power.options.exact
    True
    """

    static_argnums: int | tuple[int, ...] = ()
    static_argnames: str | tuple[str, ...] = ()
    cache: bool = True
    exact: bool = False
    name: str | None = None
    max_paths: int = 64
    dynamic_shapes: Literal["auto"] | bool = "auto"
    input_signature: Sequence[Any] | None = None
    threads: int | None = None
    memory_budget: int | None = None
    recycle: bool = False
    readable: bool = False
    freeze: bool = False
    share: bool = False


def nearest(word: str, choices: Iterable[str]) -> str:
    """A hint at the choice that is spelled most like `word`, or at all of them.

    >>> nearest("exakt", Options._fields)
    'Did you mean exact?'
    """
    choices = list(choices)
    close = difflib.get_close_matches(word, choices, n=1)
    return f"Did you mean {close[0]}?" if close else f"Choose from {', '.join(choices)}."


def is_count(given: Any) -> bool:
    """Return whether `given` is a whole number of at least one, and no bool."""
    return type(given) is int and given > 0


FLAGS = ("cache", "exact", "recycle", "readable", "freeze", "share")


def misfit(options: dict[str, Any]) -> tuple[str, str] | None:
    """The first option whose value is none that it may have, and the words for those that are."""
    for name, given in options.items():
        if name in FLAGS and not isinstance(given, bool):
            return name, "True or False"
        if name == "dynamic_shapes" and not (given == "auto" or isinstance(given, bool)):
            return name, '"auto", True or False'
        if name == "max_paths" and not is_count(given):
            return name, "a whole number of at least 1"
        if name == "name" and not isinstance(given, str | None):
            return name, "a string"
    return None


def unknown_option(
    function: Callable[..., Any], given: Iterable[str], error: TypeError
) -> dict[str, str] | None:
    """The words for a call that names an option which `function` does not have, after the error
    that Python raises for it; None after any other."""
    own, trace = inspect.unwrap(function).__code__, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is own:  # it has begun
            return None
        trace = trace.tb_next
    known = inspect.signature(function).parameters
    unknown = next((name for name in given if name not in known), None)
    if unknown is None:
        return None
    fix = nearest(unknown, known)
    return {"function": f"tj.{function.__name__}", "option": unknown, "fix": fix}
