"""Names of autograd.wrap_util: operators on functions of one argument, for functions of several."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def unary_to_nary(unary_operator: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operator on functions of several arguments.

    `unary_operator(fun, x, ...)` works at x on a function of one argument. The operator that is
    returned takes the number of the argument, or a sequence of numbers, as `argnum`.

    >>> @unary_to_nary
    ... def at(fun, x):
    ...     return fun(x + 1.0)
    >>> at(lambda a, b: a * b, 1)(2.0, 3.0)
    8.0
    """

    @functools.wraps(unary_operator)
    def nary_operator(fun: Any, argnum: Any = 0, *options: Any, **words: Any) -> Any:
        def nary(*args: Any, **kwargs: Any) -> Any:
            several = not isinstance(argnum, int)
            x = tuple([args[number] for number in argnum]) if several else args[argnum]
            if len(args) == 1 and not several and not kwargs:
                return unary_operator(fun, x, *options, **words)

            def unary(x: Any) -> Any:
                given = list(args)
                chosen = zip(argnum, x, strict=True) if several else ((argnum, x),)
                for number, value in chosen:
                    given[number] = value
                return fun(*given, **kwargs)

            return unary_operator(unary, x, *options, **words)

        return nary

    return nary_operator


def wraps(fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **words: Any) -> Any:
    """Give a function the name and the docstring of another, in these templates.

    >>> @wraps(len, "{fun}_of_all")
    ... def f(): ...
    >>> f.__name__
    'len_of_all'
    """

    def named(made: Any) -> Any:
        made.__name__ = namestr.format(fun=get_name(fun), **words)
        made.__doc__ = docstr.format(fun=get_name(fun), doc=get_doc(fun), **words)
        return made

    return named


def get_name(fun: Any) -> str:
    """Return the name of a function.

    >>> get_name(len)
    'len'
    """
    return getattr(fun, "__name__", "[unknown name]")


def get_doc(fun: Any) -> str:
    """Return the docstring of a function, "" where it has none."""
    return getattr(fun, "__doc__", None) or ""
