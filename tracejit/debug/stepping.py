"""Stepping into kernels: debuggers that skip the checks between a call and its kernel, and checks
that any debugger passes in few steps."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any, TypeVar, cast

from tracejit.support.imports import import_module
from tracejit.trace.guards.conditions import TEXT_OF_GUARD

F = TypeVar("F", bound=Callable[..., object])

# Objects/locations.md of CPython: an entry without columns, for at most 8 units of code.
_NO_COLUMNS = 0x80 | 13 << 3
_MOST_UNITS = 8
# Objects/lnotab_notes.txt of CPython 3.10: at most 254 bytes of code a pair.
_MOST_BYTES = 254
PACKAGES = (
    "api", "autodiff", "cache", "compiler", "debug", "eager", "ir", "loops", "ops", "passes",
    "runtime", "specialise", "support", "targets", "text", "trace",
)  # fmt: skip
OWN = tuple(f"tracejit.{package}.*" for package in PACKAGES)
"""Patterns of the modules that a debugger skips: all of tracejit but its kernels."""


def set_trace(header: str | None = None) -> None:
    """Enter pdb at the calling line, so that one `step` leads into the kernel.

    `pdb.set_trace` would stop in the checks before the kernel, too. Set
    `PYTHONBREAKPOINT=tracejit.set_trace` to use it for `breakpoint()`.

    Parameters
    ----------
    header : str, default None
        A line to print first.

    Returns
    -------
    None
        The program goes on when pdb does.
    """
    debugger = _debugger()
    if header is not None:
        debugger.message(header)
    debugger.set_trace(sys._getframe(1))


def run_in_pdb(function: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    """function(*arrays), in pdb from its first line on."""
    return _debugger().runcall(function, *arrays)


class PastGuards:
    """A base of debuggers that pass guards, which run among the globals of what they read."""

    def stop_here(self, frame: FrameType) -> bool:
        """Return whether to stop in a frame."""
        is_guard = frame.f_code.co_filename == TEXT_OF_GUARD
        return not is_guard and super().stop_here(frame)  # type: ignore[misc]


def _debugger() -> Any:
    """A pdb that skips tracejit."""
    return type("Debugger", (PastGuards, import_module("pdb").Pdb), {})(skip=OWN)


def on_one_line(function: F) -> F:
    """`function`, all of whose code is on the line below the decorator: stepping with pdb stops
    there once and then in what it calls. Speed and behaviour are the same.

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
    below = 1  # the line of `def` is that of the decorator and one
    table = bytearray()
    if sys.version_info >= (3, 11):
        for start in range(0, length // 2, _MOST_UNITS):
            units = min(_MOST_UNITS, length // 2 - start)
            table += bytes((_NO_COLUMNS | (units - 1), 0 if start else 2 * below))
    else:
        for start in range(0, length, _MOST_BYTES):
            table += bytes((min(_MOST_BYTES, length - start), 0 if start else below))
    made.__code__ = code.replace(co_linetable=bytes(table))
    return function
