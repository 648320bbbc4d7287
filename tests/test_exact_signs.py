"""With `exact=True` every bit is NumPy's: also the signs of zeros and of nan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tests.rows import each_row

NUMBERS = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5])
PAIRS = [grid.ravel() for grid in np.meshgrid(NUMBERS, NUMBERS)]


def in_place(x: Any, y: Any) -> Any:
    """Updates of a buffer."""
    z = x * 1.5
    z += y
    z *= x
    z -= y
    return z


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "x + y": lambda x, y: x + y,
    "y + x": lambda x, y: y + x,
    "1 + x": lambda x, y: 1.0 + x,
    "x + 1": lambda x, y: x + 1.0,
    "x + 0": lambda x, y: x + 0.0,
    "x - 0": lambda x, y: x - 0.0,
    "x * 1": lambda x, y: x * 1.0,
    "x * -1": lambda x, y: x * -1.0,
    "x / 1": lambda x, y: x / 1.0,
    "x * nan": lambda x, y: x * np.nan,
    "x + x": lambda x, y: x + x,
    "x - x": lambda x, y: x - x,
    "x + -y": lambda x, y: x + (-y),
    "x - -y": lambda x, y: x - (-y),
    "-x + y": lambda x, y: -x + y,
    "x * -y": lambda x, y: x * (-y),
    "-(x - y)": lambda x, y: -(x - y),
    "- -x": lambda x, y: np.negative(-x),
    "squares": lambda x, y: np.square(x) + y**2,
    "powers": lambda x, y: x**0.5 + x**3 + x**-1,
    "reciprocal": lambda x, y: np.reciprocal(x) + 1.0 / y,
    "products": lambda x, y: x * y + y * x - x,
    "maximum": lambda x, y: np.maximum(x, y) - np.minimum(x, y),
    "logaddexp": lambda x, y: np.logaddexp(x, y),
    "choice": lambda x, y: np.where(x > y, x, -y),
    "sums": lambda x, y: np.sum(x.reshape(8, 8) - (-y.reshape(8, 8)), axis=0),
    "running sums": lambda x, y: np.cumsum(-x) + y,
    "in place": in_place,
}


@each_row("dtype", ["f2", "f4", "f8"])
@each_row("name", PROGRAMS)
@np.errstate(all="ignore")
def test_signs_are_those_of_numpy(name: str, dtype: str) -> None:
    program = PROGRAMS[name]
    x, y = (one.astype(dtype) for one in PAIRS)
    found, expected = tj.function(program, exact=True)(x, y), program(x, y)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
