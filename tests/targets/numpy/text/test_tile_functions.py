"""The text of modules with tiles."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj

ROWS = 400_000

EXPECTED = '''
def tile_1(start, stop, x, y, shift):
    """Return (most, out_1) of the rows from start to stop."""
    x = x[start:stop]
    y = y[start:stop]
    # damped:1  y = np.tanh(x - shift)
    subtract(x, shift, y)
    tanh(y, y)
    # damped:2  most = np.max(np.abs(y))
    most = maximum.reduce(absolute(y), axis=None)
    # damped:3  return y, np.sum(np.sin(y)), most
    out_1 = add.reduce(sin(y), axis=None)
    return most, out_1


def forward(x, shift):
    """Return (y, out_1, most)."""
    y = empty(400000)
    parts = tuple(zip(*in_turn(tile_1, 400000, 100000, x, y, shift)))
    most = maximum.reduce(parts[0])
    out_1 = add.reduce(parts[1])
    return y, out_1, most
'''


def damped(x: Any, shift: Any) -> Any:
    y = np.tanh(x - shift)
    most = np.max(np.abs(y))
    return y, np.sum(np.sin(y)), most


def test_a_module_reads_well() -> None:
    function = tj.function(damped, cache=False)
    x = np.linspace(-3.0, 3.0, ROWS)
    source = function.kernel(x, np.float64(0.5)).source
    assert EXPECTED.strip() in source, source
    y, total, most = function(x, np.float64(0.5))
    expected = damped(x, 0.5)
    np.testing.assert_array_equal(y, expected[0])
    np.testing.assert_allclose(total, expected[1], rtol=1e-12)
    assert most == expected[2]
    assert type(total) is np.float64 and type(most) is np.float64


def test_variables_called_as_the_loop_is_keep_apart() -> None:
    def shadowing(start: Any, parts: Any) -> Any:
        in_turn = np.exp(start * 0.1)
        stop = np.tanh(in_turn * parts)
        empty = np.sin(stop) * np.cos(start)
        tile_1 = np.sqrt(np.abs(empty) + 1.0)
        return np.sum(tile_1 * empty), np.sum(stop)

    args = np.linspace(-1.0, 1.0, ROWS), np.linspace(0.0, 2.0, ROWS)
    function = tj.function(shadowing, cache=False)
    assert "in_turn(tile_1, " in function.kernel(*args).source
    np.testing.assert_allclose(function(*args), shadowing(*args), rtol=1e-12)
