"""The shape of a sample: one call of an op in plain NumPy, on arrays that show what it can do.

The areas' tables (`samples_*.py`) are lists of samples; `test_table.py` runs every property on
every sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit.ops.base.op import HANDLERS


@dataclass(frozen=True)
class Sample:
    """`call(*arrays)` exercises `op` (an op's name, or a composite's).

    Arrays of floating or complex dtype are differentiated unless `differentiable` is False.
    `order` is the highest order checked. `holomorphic` says that complex step works (True for
    most); False means finite differences. `zero_size` lists other arguments with an axis of
    length zero, where NumPy accepts them. `float32=False` leaves out the float32 check where the
    samples are ill-conditioned.
    """

    op: str
    call: Callable[..., Any]
    args: tuple[Any, ...]
    differentiable: bool = True
    order: int = 2
    holomorphic: bool = True
    zero_size: tuple[Any, ...] | None = None
    float32: bool = True


_rng = np.random.default_rng(20)


def normal(*shape: int) -> np.ndarray:
    """Values around zero, none within 0.05 of it."""
    values = _rng.normal(size=shape)
    return np.where(np.abs(values) < 0.05, 0.3, values)


def positive(*shape: int) -> np.ndarray:
    """Values between 0.3 and 2."""
    return _rng.uniform(0.3, 2.0, size=shape)


def unit(*shape: int) -> np.ndarray:
    """Values between -0.9 and 0.9, none within 0.05 of zero."""
    values = _rng.uniform(-0.9, 0.9, size=shape)
    return np.where(np.abs(values) < 0.05, 0.3, values)


def distinct(*shape: int) -> np.ndarray:
    """Values that differ by at least 0.1 from each other, in random order."""
    count = int(np.prod(shape, dtype=int))
    return (_rng.permutation(count) * 0.1 - count * 0.043).reshape(shape)


def complex_normal(*shape: int) -> np.ndarray:
    """Complex values of modulus above 0.1."""
    return normal(*shape) + 1j * normal(*shape)


def low(array: np.ndarray) -> np.ndarray:
    """The same numbers in single precision."""
    return array.astype(np.complex64 if array.dtype.kind == "c" else np.float32)


def each(function: Any, *lists: tuple[Any, ...], name: str = "", **fields: Any) -> list[Sample]:
    """A sample of a ufunc for each list of arguments; reals are not checked by complex step."""
    return [
        Sample(name or function.__name__, function, arguments, holomorphic=False, **fields)
        for arguments in lists
    ]


def formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """The formula that records a function of SciPy's, on plain arrays as on Tensors."""
    return lambda *args, **keywords: HANDLERS[function](*args, **keywords)


def exact(op: str, call: Callable[..., Any], *lists: tuple[Any, ...]) -> list[Sample]:
    """A sample of a call that has no derivative for each list of arguments."""
    return [Sample(op, call, arguments, differentiable=False) for arguments in lists]
