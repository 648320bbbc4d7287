"""Shared parts of the batching rules.

A rule (moved, *operands, **params) applies an op for all elements of a batch: `moved` says which
operands have the batch as their first axis, at least one, and every result must have it. A rule may
answer NotImplemented: then the op is mapped over one element after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ops.base.op import OPS

Moved = Sequence[bool]


def behind(axis: Any) -> Any:
    """The number of an axis of one element, or the numbers of several, in the batch."""
    return tuple(number + 1 for number in axis) if isinstance(axis, tuple) else axis + 1


def element_ndim(x: Any, there: bool) -> int:
    """The number of axes of one element of an operand."""
    ndim: int = x.ndim - there
    return ndim


def size_of(moved: Moved, operands: Sequence[Any]) -> int:
    """The number of elements."""
    size: int = next(x.shape[0] for x, there in zip(operands, moved, strict=True) if there)
    return size


def in_front(x: Any, there: bool, size: int) -> Any:
    """An operand with the batch in front, repeated for each element where it is the same."""
    return x if there else np.broadcast_to(x, (size, *x.shape))


def everywhere(moved: Moved, operands: Sequence[Any]) -> list[Any]:
    """All operands with the batch in front."""
    size = size_of(moved, operands)
    return [in_front(x, there, size) for x, there in zip(operands, moved, strict=True)]


def spread(x: Any, there: bool, rank: int) -> Any:
    """An operand whose elements broadcast with others to `rank` axes, lined up with theirs."""
    missing = rank - element_ndim(x, there)
    return np.expand_dims(x, tuple(range(1, missing + 1))) if there and missing > 0 else x


def aligned(moved: Moved, operands: Sequence[Any], rank: int | None = None) -> list[Any]:
    """Operands whose elements broadcast with each other, to `rank` axes, lined up."""
    pairs = list(zip(operands, moved, strict=True))
    if rank is None:
        rank = max(element_ndim(x, there) for x, there in pairs)
    return [spread(x, there, rank) for x, there in pairs]


def rows(x: Any) -> Any:
    """Each element of a batch flattened."""
    return np.reshape(x, (x.shape[0], math.prod(x.shape[1:])))


# Rules of ops of one operand, or of operands that broadcast


def along_axis(name: str) -> Callable[..., Any]:
    """The rule of the op `name` of one operand, along its `axis`, a number or several."""
    return lambda moved, x, axis, **params: OPS[name](x, axis=behind(axis), **params)


def broadcasting(name: str) -> Callable[..., Any]:
    """The rule of the op `name`, whose operands broadcast with each other."""
    return lambda moved, *operands, **params: OPS[name](*aligned(moved, operands), **params)
