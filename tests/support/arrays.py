"""Arrays of random numbers, the same in every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def normal(*shape: int, dtype: Any = "f8") -> Any:
    """Numbers around zero, the same for the same shape."""
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def normals(*shapes: int | Sequence[int], dtype: Any = "f8", seed: int = 0) -> list[Any]:
    """Arrays of these shapes, drawn one after the other."""
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.normal(size=shape)).astype(dtype) for shape in shapes]


def c(value: Any) -> Any:
    """A float64 array."""
    return np.array(value, dtype=float)


def rng(seed: int = 5) -> np.random.Generator:
    """A generator of its own for each use."""
    return np.random.default_rng(seed)


def state(generator: Any) -> str:
    """The state of a generator, comparable."""
    return repr(generator.bit_generator.state)
