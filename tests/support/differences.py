"""Derivatives by differences, which know of no rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def extrapolated(function: Callable[[float], Any], step: float) -> Any:
    """The derivative at zero by central differences at three steps, errors of order 2 and 4
    removed."""
    one, half, quarter = (
        (function(h) - function(-h)) / (2 * h) for h in (step, step / 2, step / 4)
    )
    coarse, fine = (4 * half - one) / 3, (4 * quarter - half) / 3
    return (16 * fine - coarse) / 15


def along(function: Callable[[Any], Any], x: Any, direction: Any, step: float = 1e-3) -> Any:
    """The derivative at `x` along a direction."""
    return extrapolated(lambda h: function(x + h * direction), step)


def slopes(function: Callable[[Any], Any], x: Any, step: float = 1e-3) -> Any:
    """The gradient of a number at `x`, an array or a number, which `function` gets as it is."""
    found = np.zeros(np.shape(x))

    def moved(place: tuple[int, ...], h: float) -> Any:
        array = np.array(x, dtype=float)
        array[place] += h
        return function(array if isinstance(x, np.ndarray) else type(x)(array))

    for place in np.ndindex(found.shape):
        found[place] = extrapolated(lambda h, place=place: moved(place, h), step)  # type: ignore[misc]
    return found
