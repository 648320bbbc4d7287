"""Numbers in the parameters of a node that may differ from step to step: those of an index, bounds
of slices among them, and those of a shape.

`a[k, k + 1:]` has two of them, 4 and 5 in step 4. In the body of a loop, an integer in an index
becomes an operand that is computed from the number of the step; every other number becomes a size
that differs in steps (`ir/step_sizes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Node
from tracejit.ops.control_flow import is_counted
from tracejit.ops.indexing import getitem, put_slice
from tracejit.ops.updates import UPDATES, set_item

_NUMBERED = ("index", "shape")

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
    """The numbers in an index or a shape, in order; of a loop, those of its body that are entries
    of an index."""
    if has_body(node):
        return [number for one in indexed_nodes(node) for number in _entries(one)]
    found: list[int] = []

    def note(number: int) -> int:
        found.append(number)
        return number

    replaced(node.params, note, note)
    return found


def entries_of(node: Node) -> list[bool]:
    """True for each of these numbers that is an entry of an index."""
    if has_body(node):
        return [True] * len(numbers_of(node))
    found: list[bool] = []
    replaced(node.params, lambda _: found.append(True), lambda _: found.append(False))
    return found


def takes_entries(node: Node) -> bool:
    """Return whether the entries of an index of a node may be operands, or those in its body."""
    return node.op in INDEXED or has_body(node)


def has_body(node: Node) -> bool:
    """Return whether a node is a loop whose body no derivative of it extends."""
    return is_counted(node) and node.params["body"].base is None


def indexed_nodes(loop: Node) -> Iterator[Node]:
    """The nodes of the body of a loop, and of loops in it, whose indices may move."""
    for node in loop.params["body"].nodes:
        if has_body(node):
            yield from indexed_nodes(node)
        elif node.op in INDEXED:
            yield node


def _entries(node: Node) -> list[int]:
    return [entry for entry in node.params["index"] if type(entry) is int]


def replaced(
    params: Mapping[str, Any], entry: Callable[[int], Any], other: Callable[[int], Any]
) -> dict[str, Any]:
    """Parameters with what `entry` makes of each integer that is an entry of an index, and `other`
    of each other number, in order."""
    made = dict(params)
    for name in _NUMBERED:
        if type(params.get(name)) is tuple:
            one = entry if name == "index" else other
            made[name] = tuple([_replaced(part, one, other) for part in params[name]])
    return made


def _replaced(part: Any, entry: Callable[[int], Any], other: Callable[[int], Any]) -> Any:
    if type(part) is int:
        return entry(part)
    if type(part) is tuple:
        return tuple([other(bound) if type(bound) is int else bound for bound in part])
    return part


def blanked(params: Mapping[str, Any], sizes_differ: bool) -> str:
    """Parameters without these numbers, as text; with those in bounds and shapes, unless
    `sizes_differ`."""
    return repr(replaced(params, lambda _: "entry", lambda number: "" if sizes_differ else number))


def course(rows: Sequence[Sequence[int]], middle: int) -> tuple[np.ndarray, Moving]:
    """The steps, as flags, at which numbers go on as around the middle one."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), -1)
    other = middle - 1 if middle else 1
    strides = (table[middle] - table[other]) * (middle - other)
    wanted = table[middle] + strides * (np.arange(len(rows)) - middle)[:, None]
    fits: np.ndarray = (table == wanted).all(axis=1)
    return fits, Moving(tuple(wanted[0].tolist()), tuple(strides.tolist()))
