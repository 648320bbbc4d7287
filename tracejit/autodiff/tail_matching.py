"""Tail matching: find the common end of the reverse passes of several traces.

Traces of one function share their beginning. The reverse pass runs from the end to the beginning,
so the last nodes of the reverse passes are the same operations, on other cotangents and on the same
values of the forward run. `tails` finds for each trace the node of the longest pass from which on
that holds. The nodes before it belong to the trace alone.

>>> from tracejit.ir.printer import parse_graph
>>> from tracejit.ops.op import OPS
>>> graph = parse_graph('''graph f(x: f8, g: f8) -> d: f8, e: f8
...   a  f8 = multiply g 2.0
...   b  f8 = sin a
...   c  f8 = multiply b x
...   d  f8 = negative c
...   u  f8 = cos g
...   v  f8 = multiply u x
...   e  f8 = negative v
... ''', OPS)
>>> passes = [graph.nodes[:4], graph.nodes[4:]]
>>> longest, (tail,) = tails(passes, [[value] for value in graph.outputs])
>>> longest, tail.number, tail.own, tail.joins, tail.moves
(0, 1, [cos g f8], 2, [(b f8, u f8)])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tracejit.ir.graph import Node, Value
from tracejit.ir.printer import parameter_text


class Tail(NamedTuple):
    """A pass that joins the longest one before its node number `joins`: the `number` of the pass,
    its own nodes, and pairs of a value that the longest reads from there on with its counterpart
    here."""

    number: int
    own: list[Node]
    joins: int
    moves: list[tuple[Value, Value]]


def tails(
    passes: Sequence[Sequence[Node]], outputs: Sequence[Sequence[Value]]
) -> tuple[int, list[Tail]]:
    """The number of the longest pass, and the others that join it, in the order in which they do.

    A pass that has nothing in common with it is not among these.
    """
    longest = max(range(len(passes)), key=lambda number: len(passes[number]))
    found = [
        _joined(number, passes[number], outputs[number], passes[longest], outputs[longest])
        for number in range(len(passes))
        if number != longest
    ]
    return longest, sorted(filter(None, found), key=lambda tail: tail.joins)


def _joined(
    number: int,
    nodes: Sequence[Node],
    outputs: Sequence[Value],
    others: Sequence[Node],
    other_outputs: Sequence[Value],
) -> Tail | None:
    match = Match(nodes, others)
    if not match.add(zip(outputs, other_outputs, strict=True)):
        return None
    place, joins = len(nodes), len(others)
    while place and joins and match.node(nodes[place - 1], others[joins - 1]):
        place, joins = place - 1, joins - 1
    if place == len(nodes):
        return None
    defined = {value for node in others[:joins] for value in node.results}
    moves = [(theirs, mine) for mine, theirs in match.pairs.items() if theirs in defined]
    return Tail(number, list(nodes[:place]), joins, moves)


class Match:
    """A one-to-one match between the values of two passes, built from their ends."""

    def __init__(self, nodes: Sequence[Node], others: Sequence[Node]) -> None:
        """Begin with no match."""
        self.pairs: dict[Value, Value] = {}
        self._back: dict[Value, Value] = {}
        self._mine = {value for node in nodes for value in node.results}
        self._theirs = {value for node in others for value in node.results}

    def node(self, one: Node, other: Node) -> bool:
        """Return whether two nodes do the same, and fit the matches so far."""
        if one.op is not other.op or one.op.effect or len(one.operands) != len(other.operands):
            return False
        if one.params.keys() != other.params.keys() or any(
            parameter_text(value) != parameter_text(other.params[key])
            for key, value in one.params.items()
        ):
            return False
        results = zip(one.results, other.results, strict=True)
        operands = zip(one.operands, other.operands, strict=True)
        return self.add([*results, *operands])

    def add(self, pairs: Iterable[tuple[Value, Value]]) -> bool:
        """Match the values of each pair; False, and none matched, if one has another match."""
        added: list[tuple[Value, Value]] = []
        for mine, theirs in pairs:
            if mine not in self._mine and theirs not in self._theirs:
                fits = mine is theirs
            elif mine in self.pairs or theirs in self._back:
                fits = (mine, theirs) in self.pairs.items()
            else:
                fits = mine in self._mine and theirs in self._theirs and mine.type is theirs.type
                if fits:
                    self.pairs[mine], self._back[theirs] = theirs, mine
                    added.append((mine, theirs))
            if not fits:
                for one, two in added:
                    del self.pairs[one], self._back[two]
                return False
        return True
