"""The shape of a program that reads something besides its arguments, and of what changes it."""

from __future__ import annotations

import sys
import textwrap
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj

PROGRAMS: dict[str, Callable[[], Any]] = {}


def program(factory: Callable[[], Any]) -> Callable[[], Any]:
    """Enter a factory under its name. It makes a function of an array x and of what else it
    answers: (function, change, *arguments)."""
    assert factory.__name__ not in PROGRAMS, factory.__name__
    PROGRAMS[factory.__name__] = factory
    return factory


def module(source: str, name: str = "program") -> dict[str, Any]:
    """The globals of a new module with this text."""
    made = sys.modules[name] = types.ModuleType(name)
    vars(made).update(np=np, tj=tj)
    exec(compile(textwrap.dedent(source), f"<{name}>", "exec"), vars(made))
    return vars(made)
