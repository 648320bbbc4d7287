"""The options of `function`, and the values that they may have."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple


class Options(NamedTuple):
    """The options of `tj.function(...)`.

    - `static_argnums`, `static_argnames`: arguments, by number or name, whose Python numbers always
      select a kernel, instead of becoming inputs of one from their second value on.
    - `cache`: keep kernels as files, for the next process; False keeps them in memory.
    - `exact`: True promises NumPy's bits for ever. No rewrite that changes rounding is made.
    - `name`: the function's name in generated code and in files; without it, its own.
    - `max_paths`: where Python goes by values of arrays, record up to so many traces of the
      function. Calls that take yet other branches run as plain Python.
    - `dynamic_shapes`: "auto" leaves a dimension of an argument free from its second size on, and
      so does True; False makes a kernel for every shape.
    - `input_signature`: one `TensorSpec` for each argument. Dimensions that are None in it are free
      from the first call on.
    - `threads`: run the tiles of a kernel, where it has any, on up to so many threads, whose number
      changes no bit. None follows `tj.config(threads=...)`.
    - `memory_budget`: bound the bytes of intermediate arrays that a gradient keeps for its backward
      part and computes again there, at once. Arrays that do not fit are computed again, up to once
      for each array; arguments do not count.
    - `recycle`: True hands arrays of 32 MiB and more that tiles fill out again, to a later call,
      when no Python object holds them or a view of them any more. Keep no raw pointers to results.
    - `freeze`: True makes arrays that the function reads besides its arguments read-only while a
      kernel relies on them, and does not compare them at each call. Writing to one raises, but
      through views that were made before.

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
    freeze: bool = False


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


FLAGS = ("cache", "exact", "recycle", "freeze")


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
