"""Functions that a debugger passes in one step, for the checks between a call and its kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])

# Objects/locations.md of CPython: an entry without columns, for at most 8 units of code.
_NO_COLUMNS = 0x80 | 13 << 3
_MOST_UNITS = 8
# Objects/lnotab_notes.txt of CPython 3.10: at most 254 bytes of code a pair.
_MOST_BYTES = 254


def on_one_line(function: F) -> F:
    """`function`, all of whose code is on the line of its `def`: stepping with pdb stops there once
    and then in what it calls. Speed and behaviour are the same.

    >>> @on_one_line
    ... def double(x):
    ...     y = x + x
    ...     return y
    >>> double(2), len({line for _, _, line in double.__code__.co_lines()})
    (4, 1)
    """
    made = cast(FunctionType, function)
    code = made.__code__
    length = len(code.co_code)
    table = bytearray()
    if sys.version_info >= (3, 11):
        for start in range(0, length // 2, _MOST_UNITS):
            units = min(_MOST_UNITS, length // 2 - start)
            table += bytes((_NO_COLUMNS | (units - 1), 0))
    else:
        for start in range(0, length, _MOST_BYTES):
            table += bytes((min(_MOST_BYTES, length - start), 0))
    made.__code__ = code.replace(co_linetable=bytes(table))
    return function
