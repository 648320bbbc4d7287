"""Names of autograd.util: tuples with other elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def subvals(x: Iterable[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """Return `x` as a tuple, with other elements at these positions.

    >>> subvals((1, 2, 3), [(0, 10), (2, 30)])
    (10, 2, 30)
    """
    elements = list(x)
    for position, value in ivs:
        elements[position] = value
    return tuple(elements)


def subval(x: Iterable[Any], i: int, v: Any) -> tuple[Any, ...]:
    """Return `x` as a tuple, with `v` at position `i`.

    >>> subval((1, 2), 1, 20)
    (1, 20)
    """
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """Return `f`.

    >>> func(len) is len
    True
    """
    return f
