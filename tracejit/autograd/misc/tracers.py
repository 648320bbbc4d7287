"""Functions that are recorded once, as autograd.misc.tracers has them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tracejit.autograd.core import sharing
from tracejit.specialise.function import Function


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Function[..., Any]:
    """Return `fun` with these arguments given, recorded at its first call.

    >>> power = const_graph(lambda n, x: x**n, 3)
    >>> power(2.0)
    8.0
    """
    return sharing(functools.partial(fun, *args, **kwargs))
