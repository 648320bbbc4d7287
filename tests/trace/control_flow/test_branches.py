"""Control flow of which both sides are recorded, against what Python does."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.convert.running import define

NUMBERS = (2.5, 0.3, -1.5, 0.3, 2.5)


def same(text: str, *given: Any) -> None:
    """Compare a program with plain Python, for several numbers: results by type and bits, errors,
    what it leaves in its arguments, and what it logs."""
    for kind in (np.float64, float):
        log: list[Any] = []
        plain, other = (define(textwrap.dedent(text), np=np, tj=tj, log=log)["f"] for _ in range(2))
        compiled = tj.function(other, exact=True, cache=False)
        for number in NUMBERS:
            expected, found = ([_shown(f, kind(number), given, log)] for f in (plain, compiled))
            assert found == expected, (text, number)


def _shown(function: Any, number: Any, given: Any, log: list[Any]) -> Any:
    arguments = [one.copy() if isinstance(one, np.ndarray) else one for one in given]
    log.clear()
    try:
        result = repr(function(number, *arguments))
    except tj.TracejitError:
        raise
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    return result, repr(arguments), repr(log)


PROGRAMS = {
    "functions of NumPy's make its numbers of Python's": """
        def f(x):
            c = x if x > 0.5 else 1.5
            if x > 1.0: c = np.float64(2.5)
            return np.exp(c), np.maximum(c, 0.5), np.add(c, 1.0), np.abs(c), c + 1.0, -c, abs(c)
    """,
    "a division by a number of Python's raises where it is zero": """
        def f(x):
            y = 0.0 if x > 0.5 else np.float64(0.0)
            try: return 1.0 / y, 1.0 % (y + 1.0)
            except ZeroDivisionError: return 'zero'
    """,
    "truth values of Python's are integers in arithmetic": """
        def f(x):
            y = np.bool_(True) if x > 0.5 else False
            return y + y, y * y, y & True, y == False, y + 1, (-y if x < 0.5 else 3)
    """,
    "an inverted truth value": """
        def f(x):
            y = np.bool_(True) if x > 0.5 else False
            return ~y
    """,
    "a power of integers of Python's is a float": """
        def f(x):
            y = 1 if x > 0.5 else 2.0
            k = -1 if x > 1.0 else -2
            return y ** -1, y ** 2, 2 ** k, k ** 2
    """,
    "rounded to digits, Python's number is one of its own": """
        def f(x):
            y = 0.5 if x > 0.5 else np.float64(2.0)
            return round(y, 1), round(y)
    """,
    "the text of a number of two types": """
        def f(x):
            y = 0.5 if x > 0.5 else np.float64(2.0)
            return repr([y]), f"{y!r}"
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    same(PROGRAMS[name])
