"""Helpers for gradient rules: sums over the axes that an operand was broadcast along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def unbroadcast(x: Any, shape: tuple[int, ...]) -> Any:
    """Return the sum of `x` over the axes that an array of that shape was broadcast along.

    >>> unbroadcast(np.ones((4, 3)), (1, 3))
    array([[4., 4., 4.]])
    """
    extra = np.ndim(x) - len(shape)
    if extra > 0:
        x = np.sum(x, axis=tuple(range(extra)))
    axes = [axis for axis, size in enumerate(shape) if size == 1 and np.shape(x)[axis] != 1]
    return np.sum(x, axis=tuple(axes), keepdims=True) if axes else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return `f`, its result summed over the axes that `target` was broadcast along.

    >>> unbroadcast_f(1.0, lambda g: 2.0 * g)(np.ones(3))
    np.float64(6.0)
    """
    shape = np.shape(target)
    return lambda g: unbroadcast(f(g), shape)


def match_complex(target: Any, x: Any) -> Any:
    """Return `x` as it is, real where `target` is, or complex where `target` is.

    >>> match_complex(1.0, 2.0 + 1.0j)
    2.0
    """
    if np.iscomplexobj(x) and not np.iscomplexobj(target):
        return np.real(x)
    return x + 0j if np.iscomplexobj(target) and not np.iscomplexobj(x) else x


def replace_zero(x: Any, val: Any) -> Any:
    """Return `x` with `val` in place of zeros.

    >>> replace_zero(np.array([0.0, 2.0]), 1.0)
    array([1., 2.])
    """
    return np.where(x, x, val)
