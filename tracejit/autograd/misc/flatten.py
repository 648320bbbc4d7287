"""Containers of arrays as one vector."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.trace.recording.active import OF_TRANSFORM
from tracejit.trace.structure.trees import Structure
from tracejit.trace.structure.trees import flatten as _flatten
from tracejit.trace.structure.trees import unflatten as _unflatten


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the numbers in a container of arrays as one vector, and the function that undoes it.

    >>> vector, unflatten = flatten({"w": np.array([[1.0, 2.0]]), "b": 3.0})
    >>> vector
    array([3., 1., 2.])
    >>> unflatten(2.0 * vector)
    {'w': array([[2., 4.]]), 'b': np.float64(6.0)}
    """
    leaves, structure = _flatten(value)
    shapes = tuple([np.shape(leaf) for leaf in leaves])
    vector = np.concatenate([np.ravel(leaf) for leaf in leaves]) if leaves else np.zeros(0)
    return vector, functools.partial(_rebuilt, structure, shapes)


vars(flatten)[OF_TRANSFORM] = "reader"


def _rebuilt(structure: Structure, shapes: Sequence[tuple[int, ...]], vector: Any) -> Any:
    """The container with the numbers of a vector."""
    leaves, start = [], 0
    for shape in shapes:
        size = int(np.prod(shape))
        part = vector[start : start + size]
        leaves.append(np.reshape(part, shape) if shape else part[0])
        start += size
    return _unflatten(structure, leaves)


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Any, Any, Any]:
    """Return `func` on vectors, the function that makes containers of them, and the vector for an
    example.

    >>> double, unflatten, start = flatten_func(lambda tree: {"a": tree["a"] * 2.0}, {"a": 1.0})
    >>> double(start)
    array([2.])
    """
    vector, unflatten = flatten(example)

    def flat(x: Any, *args: Any) -> Any:
        return flatten(func(unflatten(x), *args))[0]

    return flat, unflatten, vector
