"""Numbers in the parameters of a node that may differ from step to step: those of an index, bounds
of slices among them, and those of a shape.

`a[k, k + 1:]` has two of them, 4 and 5 in step 4. In the body of a loop, an integer in an index
becomes an operand that is computed from the number of the step; every other number becomes a size
that differs in steps (`ir/step_sizes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Node
from tracejit.ops.indexing.indexing import getitem, put_slice
from tracejit.ops.indexing.updates import UPDATES, set_item

_NUMBERED = ("index", "shape")
_NUMBERS = frozenset((int, Dim))

INDEXED = {getitem: 1, put_slice: 1, set_item: 2, **dict.fromkeys(UPDATES.values(), 2)}
"""The operations whose index may hold operands, with the number of their other operands."""


class Moving(NamedTuple):
    """Numbers that go on from step to step: what they begin with, and by how much they grow."""

    first: tuple[int, ...]
    strides: tuple[int, ...]

    def size(self, number: int, step: Any) -> Any:
        """One of them in some `step`."""
        stride = self.strides[number]
        return self.first[number] + stride * step if stride else self.first[number]


def numbers_of(node: Node) -> list[int]:
    """The numbers in an index or a shape, in order."""
    found: list[int] = []
    for name in _NUMBERED:
        parts = node.params.get(name)
        for part in parts if isinstance(parts, tuple) else ():
            if type(part) is tuple:
                found += [bound for bound in part if type(bound) in _NUMBERS]
            elif type(part) in _NUMBERS:
                found.append(part)
    return found


def entries_of(node: Node) -> list[bool]:
    """True for each of these numbers that is an entry of an index."""
    found: list[bool] = []
    replaced(node.params, lambda _: found.append(True), lambda _: found.append(False))
    return found


def replaced(
    params: Mapping[str, Any],
    entry: Callable[[int], Any],
    other: Callable[[Any], Any],
    operand: Callable[[str], str] = str,
) -> dict[str, Any]:
    """Parameters with what `entry` makes of each integer that is an entry of an index, `other` of
    each other number or size, and `operand` of an entry that is one, in order."""
    made = dict(params)
    for name in _NUMBERED:
        if isinstance(params.get(name), tuple):
            one = entry if name == "index" else other
            made[name] = tuple([_replaced(part, one, other, operand) for part in params[name]])
    return made


def _replaced(
    part: Any,
    entry: Callable[[int], Any],
    other: Callable[[Any], Any],
    operand: Callable[[str], str],
) -> Any:
    if type(part) is int:
        return entry(part)
    if type(part) is Dim:
        return other(part)
    if type(part) is tuple:
        return tuple([other(bound) if type(bound) in _NUMBERS else bound for bound in part])
    return operand(part) if type(part) is str and part != "..." else part


def blanked(params: Mapping[str, Any], sizes_differ: bool = True) -> str:
    """Parameters without these numbers, as text; with those in bounds and shapes, unless
    `sizes_differ`."""
    return repr(replaced(params, lambda _: "entry", lambda size: "size" if sizes_differ else size))


def course(rows: Sequence[Sequence[int]], middle: int) -> tuple[np.ndarray, Moving]:
    """The steps, as flags, at which numbers go on as around the middle one."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), -1)
    other = middle - 1 if middle else 1
    strides = (table[middle] - table[other]) * (middle - other)
    wanted = table[middle] + strides * (np.arange(len(rows)) - middle)[:, None]
    fits: np.ndarray = (table == wanted).all(axis=1)
    return fits, Moving(tuple(wanted[0].tolist()), tuple(strides.tolist()))


def middle_of(rows: np.ndarray) -> int:
    """The middle of the longest stretch of steps in which all numbers go on by the same."""
    strides = np.diff(rows, axis=0)
    start, stop = longest((strides[1:] == strides[:-1]).all(axis=1))
    return start + (stop - start + 2) // 2


def longest(fits: np.ndarray) -> tuple[int, int]:
    """The longest stretch of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], fits, [False])).astype(int)))
    pairs = edges.reshape(-1, 2)
    if not len(pairs):
        return 0, 0
    start, stop = pairs[np.argmax(pairs[:, 1] - pairs[:, 0])].tolist()
    return start, stop
