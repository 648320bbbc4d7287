"""The shape of an idiom: a small function as people write them, with arguments to call it on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Idiom(NamedTuple):
    """`function(*args)`; arguments of floating or complex dtype are differentiated."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


IDIOMS: dict[str, Idiom] = {}
IN_PLACE: dict[str, Idiom] = {}


def idiom(*args: Any, table: dict[str, Idiom] = IDIOMS) -> Callable[..., Any]:
    """Enter a function in the table under its name, with its arguments."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        assert name not in IDIOMS and name not in IN_PLACE, name
        table[name] = Idiom(function, args)
        return function

    return enter


def in_place(*args: Any) -> Callable[..., Any]:
    """Enter a function that writes into arrays it has made."""
    return idiom(*args, table=IN_PLACE)


_rng = np.random.default_rng(41)


def normal(*shape: int) -> np.ndarray:
    """Values around zero."""
    return _rng.normal(size=shape)


def positive(*shape: int) -> np.ndarray:
    """Values between 0.3 and 2."""
    return _rng.uniform(0.3, 2.0, size=shape)


def complex_normal(*shape: int) -> np.ndarray:
    """Complex values around zero."""
    return normal(*shape) + 1j * normal(*shape)


def labels(count: int, size: int) -> np.ndarray:
    """`size` integers below `count`."""
    return _rng.integers(0, count, size=size)


def spd(size: int) -> np.ndarray:
    """A symmetric positive definite matrix."""
    root = normal(size, size)
    return root @ root.T + size * np.eye(size)
