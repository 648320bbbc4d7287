"""Programs that raise on one side of a condition; pytest would rewrite an `assert` of a test."""

from __future__ import annotations

from typing import Any

import numpy as np


def in_a_loop(x: Any, y: Any) -> Any:
    for k in range(30):
        if x < 0:
            raise ValueError(f"negative in step {k}: {x:.3f}")
        y = y + np.sqrt(x)
        x = x * 0.9 - 0.01
    return y


def asserted(x: Any, y: Any) -> Any:
    for _ in range(30):
        assert 0.0 < x < 1e6 and y > 0, f"out of bounds: {x}"
        y = y + np.sqrt(x)
        x = x * 0.9 - 0.01
    return y


def in_a_function(x: Any, y: Any) -> Any:
    def root(z: Any) -> Any:
        if not z >= 0:
            raise ValueError("negative", float(z))
        return np.sqrt(z)

    for _ in range(30):
        y = y + (root(x) if y < 50.0 else x)
        x = x * 0.9 - 0.01
    return y


def does_not_converge(x: Any, y: Any) -> Any:
    n = 0
    while abs(x) > 1e-3:
        x = x * y
        n += 1
        if n > 50:
            raise RuntimeError(f"no convergence in {n} steps")
    return x * y + n


def never_ends_otherwise(x: Any, y: Any) -> Any:
    """A program whose inner loop has no end where the check fails."""
    total = 0.0
    for _ in range(20):
        if y >= 1.0:
            raise ValueError("no contraction")
        z = x
        while abs(z) > 1e-2:
            z = z * y
            total = total + z
        y = y * 1.05
    return total


def on_a_side(x: Any, y: Any) -> Any:
    if y > 0.5:
        if x < 0:
            raise ValueError("negative")
        z = np.sqrt(x) * y
    elif x > 3.0:
        raise ValueError("large")
    else:
        z = y * 2 - x
    return z


def in_loops(x: Any, y: Any) -> Any:
    total = 0.0
    for i in range(20):
        for j in range(i):
            if total > 100.0 * x:
                raise OverflowError(f"{i}, {j}")
            total = total + x * y
    return total


def in_a_handler(x: Any, y: Any) -> Any:
    total = 0.0
    try:
        for _ in range(30):
            total = total + x
            if total > 20.0:
                raise ValueError("caught")
    except ValueError:
        total = y * 3.0
    return total


PROGRAMS = [
    in_a_loop, asserted, in_a_function, does_not_converge, never_ends_otherwise, on_a_side,
    in_loops,
]  # fmt: skip
