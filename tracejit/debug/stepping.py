"""Stepping into kernels: debuggers that skip the checks between a call and its kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

PACKAGES = (
    "api", "autodiff", "cache", "codegen", "compiler", "debug", "eager", "ir", "ops", "passes",
    "runtime", "schedule", "specialise", "support", "trace",
)  # fmt: skip
OWN = tuple(f"tracejit.{package}.*" for package in PACKAGES)
"""Patterns of the modules that a debugger skips: all of tracejit but its kernels."""


def set_trace(header: str | None = None) -> None:
    """Enter pdb at the calling line. One `step` from the call of a compiled function leads straight
    to its kernel.

    `pdb.set_trace` stops in the checks between them, too. `PYTHONBREAKPOINT=tracejit.set_trace`
    lets `breakpoint()` mean this one.
    """
    debugger = _debugger()
    if header is not None:
        debugger.message(header)
    debugger.set_trace(sys._getframe(1))


def run_in_pdb(function: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    """function(*arrays), in pdb from its first line on."""
    return _debugger().runcall(function, *arrays)


def _debugger() -> Any:
    """A pdb that skips tracejit."""
    return import_module("pdb").Pdb(skip=OWN)
