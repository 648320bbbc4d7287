"""Recompute: what is read late is computed once more, just before, in place of being kept.

The copies belong to a recompute region of their own, as those of `recompute_grad` do: nothing
merges them with the first. Each value is computed again once at most, where it is first read.

IR in -> IR out, where the last node is to compute `h` again:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> graph = parse_graph('''graph f(x: f8[3], g: f8[3]) -> out: f8, x_bar: f8[3]
...   h      f8[3] = sin x       # f:1  h = np.sin(x)
...   out    f8    = sum h  axis=(0,)
...   x_bar  f8[3] = multiply g h
... ''', OPS)
>>> late = Late(graph.nodes[2:], frozenset(graph.nodes[0].results))
>>> repeated, values = recompute(graph, {0: late})
>>> print(print_graph(repeated), values, sep="")
graph f(x: f8[3], g: f8[3]) -> out: f8, x_bar: f8[3]
  h      f8[3] = sin x                              # f:1  h = np.sin(x)
  out    f8    = sum h  axis=(0,)
  h_1    f8[3] = sin@1 x                            # f:1  h = np.sin(x)    [recomputed]
  x_bar  f8[3] = multiply g h_1                     # f:1  h = np.sin(x)
[h f8[3]]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from operator import attrgetter
from typing import NamedTuple

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.framework.rebuild import rebuild

RECOMPUTED = "recomputed"


class Late(NamedTuple):
    """The nodes that read late, and the values that are computed again for them."""

    readers: Sequence[Node]
    again: Set[Value]


def recompute(graph: Graph, late: Mapping[int, Late]) -> tuple[Graph, list[Value]]:
    """`graph` with copies of what is to be computed again, for the readers of each segment; and
    what it has copies of."""
    places = {node: number for number, node in enumerate(graph.nodes)}
    before: dict[Node, list[Node]] = {}
    for one in late.values():
        before |= computed_before(one, places)
    if not before:
        return graph, []
    readers = {node for one in late.values() for node in one.readers}
    region = 1 + max(node.region for node in graph.nodes)
    known: dict[Value, Value] = {}
    copies: dict[int, dict[Value, Value]] = {segment: {} for segment in late}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        known.update(zip(node.operands, operands, strict=True))
        if node not in readers:
            return None
        mine = copies[node.segment]
        for first in before.get(node, ()):
            read = tuple(mine.get(value) or known[value] for value in first.operands)
            _copy(new, first, read, mine, region, node.segment)
        if mine.keys().isdisjoint(node.operands):
            return None
        pairs = zip(node.operands, operands, strict=True)
        return new.copy_node(node, tuple(mine.get(old, value) for old, value in pairs)).results

    repeated = rebuild(graph, rewrite)
    copied = dict.fromkeys(node for several in before.values() for node in several)
    values = [value for node in copied for value in node.results if value in known]
    return repeated, [known[value] for value in values]


def computed_before(
    late: Late,
    places: Mapping[Node, int],
    reads: Callable[[Node], Sequence[Value]] = attrgetter("operands"),
) -> dict[Node, list[Node]]:
    """The nodes to compute again just before each reader, in the order of `places`, where each node
    `reads` these values."""
    made: set[Node] = set()
    found: dict[Node, list[Node]] = {}
    for reader in late.readers:
        missing: list[Node] = []
        pending = [value for value in reads(reader) if value in late.again]
        while pending:
            node = pending.pop().node
            if node is None or node in made:
                continue
            made.add(node)
            missing.append(node)
            pending += [value for value in reads(node) if value in late.again]
        if missing:
            found[reader] = sorted(missing, key=places.__getitem__)
    return found


def _copy(
    graph: Graph,
    first: Node,
    operands: tuple[Value, ...],
    copies: dict[Value, Value],
    region: int,
    segment: int,
) -> None:
    """Compute `first` again, on these operands."""
    where = first.where._replace(note=RECOMPUTED) if first.where is not None else None
    types = [value.type for value in first.results]
    node = graph.emit(first.op, operands, first.params, types, where, region, (), segment)
    for old, result in zip(first.results, node.results, strict=True):
        result.label, result.derived, result.base = old.label, old.derived, old.base
        copies[old] = result
