"""Helpers of generated modules: small functions for what NumPy has no name for.

A template of an op spells one `helpers.NAME(...)`; a module that uses it has the text of the
function at its head. The docstring is one line that says what it computes. A helper knows `np` and
its parameters.

>>> HELPERS.kept_where(np.array([True, False]), np.array([2.5, np.nan]), np.int64)
array([2.5, 0. ])
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

TEXTS = {
    "kept_where": '''
def kept_where(condition, x, bits):
    """Return x where the condition is true, 0.0 elsewhere: all bits of x, or none."""
    return (x.view(bits) & -condition.view(np.int8)).view(x.dtype)
''',
    "kept_unless": '''
def kept_unless(condition, x, bits):
    """Return x where the condition is false, 0.0 elsewhere: all bits of x, or none."""
    return (x.view(bits) & condition.view(np.int8) - 1).view(x.dtype)
''',
    "fill_gaps": '''
def fill_gaps(rows, size, used, length, number):
    """Put a number that changes no sum between rows that lie in one array, behind what is used."""
    rows[:size].reshape(size // length, length)[:, used:] = number
''',
    "solved": '''
def solved(result):
    """Return the solution in a result of SciPy's; raise RuntimeError if it was not found."""
    if not result.success:
        raise RuntimeError(result.message)
    return result.x
''',
    "converged": '''
def converged(result):
    """Return the root in a result of SciPy's; raise RuntimeError if it was not found."""
    if not result.converged:
        raise RuntimeError(result.flag)
    return result.root
''',
    "integrated": '''
def integrated(result):
    """Return the states in a result of solve_ivp; raise RuntimeError if it did not reach the end."""
    if not result.success:
        raise RuntimeError(result.message)
    return result.y
''',
    "successful": '''
def successful(states, report):
    """Return the states of odeint; raise RuntimeError if it did not reach the end."""
    if report["message"] != "Integration successful.":
        raise RuntimeError(report["message"])
    return states
''',
}
"""The functions, by name."""


def _functions() -> SimpleNamespace:
    space: dict[str, Any] = {"np": np}
    for name, text in TEXTS.items():
        exec(compile(text, f"<helper {name}>", "exec"), space)
    return SimpleNamespace(**{name: space[name] for name in TEXTS})


HELPERS = _functions()
