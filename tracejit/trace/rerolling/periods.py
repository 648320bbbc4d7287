"""Repetitions in a recording: where its nodes repeat with a period, as the steps of a loop do.

Each node has a letter. Nodes of equal letters may be one operation at different steps: they apply
the same op at the same line to operands of the same types, with the same parameters but for numbers
in an index. Elementwise operations need only have results of the same types. Where sizes may
differ, types are the same but for sizes, and parameters but for sizes and bounds of slices. A loop
of Python's leaves a repetition in the word that the letters spell. Whether its steps fit together
is for `step_columns.py` to find out.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ir.subgraph import Subgraph, bodies_of
from tracejit.ir.types import ArrayType
from tracejit.ops.control.control_flow import OWNERS
from tracejit.ops.control.marker_ops import FIXED_RULES, IDENTITY, OVERRIDE
from tracejit.trace.rerolling.inner_loops import is_inner, letter_of, numbers_in
from tracejit.trace.rerolling.moving_numbers import INDEXED, blanked, numbers_of

Index = tuple[Any, ...]
MOST_BOUNDARIES = 8
"""Places where a step may begin that are tried."""
TIMES_IN_A_STEP = 4
"""Times that the rarest operation of a step may be in it: a step that calls a function four times
may have none of its own."""


class Repetition(NamedTuple):
    """The nodes from number `start` to `stop`, which repeat with `period`."""

    start: int
    stop: int
    period: int


class Word:
    """Nodes with their letters and numbered values.

    Results are numbered in their order; `first_results` holds the number of the first of each node.
    Values from outside have negative numbers. The operands of node i are those in `operands` from
    `offsets[i]` to `offsets[i + 1]`.
    """

    def __init__(
        self, nodes: Sequence[Node], unique: Collection[Node], sizes_differ: bool = False
    ) -> None:
        """Spell `nodes`; those that are `unique` have letters of their own."""
        self.nodes = nodes
        self.sizes_differ = sizes_differ
        self.letters = np.array(_letters(nodes, unique, sizes_differ), dtype=np.int64)
        self.values: list[Value] = []
        self.outside: list[Value] = []
        self.numbers: dict[Value, int] = {}
        firsts = array("q")
        owners = array("q")
        for number, node in enumerate(nodes):
            firsts.append(len(self.values))
            self.values += node.results
            owners.extend([number] * len(node.results))
        numbers = self.numbers
        numbers.update((value, number) for number, value in enumerate(self.values))
        operands = array("q")
        offsets = array("q", [0])
        for node in nodes:
            for value in node.operands:
                known = numbers.get(value)
                if known is None:
                    self.outside.append(value)
                    known = numbers[value] = -len(self.outside)
                operands.append(known)
            offsets.append(len(operands))
        firsts.append(len(self.values))
        self.first_results = np.frombuffer(firsts, dtype=np.int64)
        self.owners = np.frombuffer(owners, dtype=np.int64)
        self.operands = np.frombuffer(operands, dtype=np.int64)
        self.offsets = np.frombuffer(offsets, dtype=np.int64)
        self._numbers_in: dict[int, list[int]] = {}

    def value(self, number: int) -> Value:
        """The value of this number."""
        return self.values[number] if number >= 0 else self.outside[-1 - number]

    def readers_of(self, results: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nodes that read these results, and for each of them the place in `results` of the one
        that it reads."""
        nodes, begins = self._readers
        counts = begins[results + 1] - begins[results]
        skipped = np.cumsum(counts) - counts
        places = np.repeat(begins[results] - skipped, counts) + np.arange(int(counts.sum()))
        return nodes[places], np.repeat(np.arange(len(results)), counts)

    @cached_property
    def _readers(self) -> tuple[np.ndarray, np.ndarray]:
        """The nodes that read results, in the order of these, and where those of each result
        begin."""
        nodes = np.repeat(np.arange(len(self.nodes)), np.diff(self.offsets))
        is_result = self.operands >= 0
        numbers = self.operands[is_result]
        order = np.argsort(numbers, kind="stable")
        begins = np.searchsorted(numbers[order], np.arange(len(self.values) + 1))
        return nodes[is_result][order], begins

    def numbers_in(self, number: int) -> list[int]:
        """The numbers in the parameters of the node of this number, and of the nodes in it."""
        found = self._numbers_in.get(number)
        if found is None:
            node = self.nodes[number]
            found = [*numbers_in(node)] if is_inner(node) else numbers_of(node)
            self._numbers_in[number] = found
        return found

    def repetitions(self, steps: int) -> Iterator[Repetition]:
        """The maximal repetitions of at least `steps` periods, those of short periods first."""
        letters = self.letters
        order = np.argsort(letters, kind="stable")
        met: list[int] = []
        for apart in range(1, TIMES_IN_A_STEP + 1):
            shorter = [*met]
            for period in _distances(letters, order, steps, apart):
                if apart > 1 and any(period % one == 0 for one in shorter):
                    continue  # a few of them are tried with each
                equal = letters[period:] == letters[:-period]
                padded = np.concatenate(([False], equal, [False])).astype(int)
                edges = np.flatnonzero(np.diff(padded))
                for start, stop in edges.reshape(-1, 2).tolist():
                    if stop - start >= (steps - 1) * period:
                        met.append(period)
                        yield Repetition(start, stop + period, period)

    def boundaries(self, found: Repetition) -> list[int]:
        """The nodes of the first period with which a step may begin: where the fewest values are
        handed on, and the most of these have names of the user's, and where a function goes back to
        an earlier line."""
        start, _, period = found
        first = start + period
        begin, end = self.offsets[first], self.offsets[first + 3 * period]
        readers = np.repeat(
            np.arange(first, first + 3 * period),
            np.diff(self.offsets[first : first + 3 * period + 1]),
        )
        low, high = self.first_results[first], self.first_results[first + period]
        pairs = zip(self.operands[begin:end].tolist(), readers.tolist(), strict=True)
        last = {number: reader for number, reader in pairs if low <= number < high}
        crossing = np.zeros(period + 1, dtype=np.int64)
        for number, reader in last.items():
            owner = int(self.owners[number])
            weight = 100 if self.values[number].label else 110
            place, length = (owner + 1 - first) % period, min(reader - owner, period)
            crossing[place] += weight
            if place + length > period:
                crossing[0] += weight
                length -= period
            crossing[place + length] -= weight
        live = np.cumsum(crossing)[:period]
        live[_returns(self.nodes[first : first + period])] -= 1
        least: list[int] = np.flatnonzero(live == live.min()).tolist()
        return [start + number for number in least[:MOST_BOUNDARIES]]

    def step_before(self, first: int, period: int) -> tuple[list[int], list[int]] | None:
        """The nodes of the step before node `first`, and those between them that are in no other
        step. They are found by what reads them, and those that nothing reads by their letters."""
        size = int(self.first_results[first + period] - self.first_results[first])
        here, after = int(self.first_results[first]), int(self.first_results[first + period])
        inside: list[dict[int, int]] = []
        known: dict[int, int] = {}
        for node in range(first, first + period):
            slots = {}
            begin, next = int(self.offsets[node]), int(self.offsets[node + period])
            for place in range(len(self.nodes[node].operands)):
                number = int(self.operands[next + place])
                if after <= number < after + size:
                    slots[place] = number - after
                elif here <= number < after:
                    known[number - here] = int(self.operands[begin + place])
            inside.append(slots)
        numbers: list[int] = []
        lowest = max(first - 3 * period, 0)
        place = first - 1
        for column in range(period - 1, -1, -1):
            slot = int(self.first_results[first + column]) - here
            count = len(self.nodes[first + column].results)
            results = [known[k] - (k - slot) for k in range(slot, slot + count) if k in known]
            letter = self.letters[first + column]
            if results:
                owner = int(self.owners[results[0]]) if results[0] >= 0 else -1
                if owner < 0 or self.first_results[owner] != results[0]:
                    return None
            else:
                owner = place
                while owner >= lowest and self.letters[owner] != letter:
                    owner -= 1
            if not lowest <= owner < first or self.letters[owner] != letter:
                return None
            place = min(place, owner - 1)
            numbers.append(owner)
            for operand, producer in inside[column].items():
                known[producer] = int(self.operands[self.offsets[owner] + operand])
        own = set(numbers)
        if len(own) < period:
            return None
        extras = [node for node in range(min(numbers), first) if node not in own]
        for node in extras:
            read = self.operands[self.offsets[node] : self.offsets[node + 1]].tolist()
            if self.nodes[node].op.effect or any(
                int(self.owners[k]) in own for k in read if k >= 0
            ):
                return None
        return numbers[::-1], extras


def _returns(nodes: Sequence[Node]) -> list[int]:
    """The nodes of a period at which a function goes back to an earlier line, of functions that do
    so once."""
    lines: dict[str, list[tuple[int, int]]] = {}
    for number, node in enumerate(nodes):
        if node.where is not None:
            lines.setdefault(node.where.function, []).append((number, node.where.line))
    found = []
    for places in lines.values():
        before = [places[-1], *places]
        back = [here[0] for here, last in zip(places, before, strict=False) if here[1] < last[1]]
        found += back if len(back) == 1 else []
    return found


def _distances(letters: np.ndarray, order: np.ndarray, steps: int, apart: int) -> list[int]:
    """The distances between one letter and the equal one that is so many `apart`, where they are
    met often enough; `order` sorts the letters."""
    same = letters[order][apart:] == letters[order][:-apart]
    found, counts = np.unique((order[apart:] - order[:-apart])[same], return_counts=True)
    often = (counts >= steps - 1) & (found * steps <= len(letters))
    distances: list[int] = found[often].tolist()
    return distances


def _letters(nodes: Sequence[Node], unique: Collection[Node], sizes_differ: bool) -> list[int]:
    known: dict[Any, int] = {}
    found = []
    kinds: dict[ArrayType, Any] = {}
    for node in nodes:
        if node in unique:
            key: Any = node
        else:
            # Python numbers that the first step begins with take the type of what follows on them.
            types: list[Any] = [] if node.op.elementwise else [v.type for v in node.operands]
            types += [value.type for value in node.results]
            if sizes_differ:
                types = [kinds.setdefault(t, (t.dtype, t.form, t.ndim)) for t in types]
            key = (node.op, node.where, _parameters(node, sizes_differ), *types)
        found.append(known.setdefault(key, len(known)))
    return found


def _parameters(node: Node, sizes_differ: bool) -> Any:
    """The parameters of a node as part of its letter."""
    params = node.params
    if not params or node.op is IDENTITY:
        return ()
    if sizes_differ and ("index" in params or "shape" in params):
        return blanked(params)
    if sizes_differ and is_inner(node):
        return letter_of(node, exact_parameters)
    if node.op in INDEXED:
        return blanked(params, sizes_differ=False)
    return exact_parameters(node)


def exact_parameters(node: Node) -> Any:
    """All that the parameters of a node say, as a key; of a rule of the user's, the rule itself."""
    if node.op is OVERRIDE:
        marker = node.params["grad"]
        is_fixed = marker.rule in FIXED_RULES
        return node.params["outputs"], marker.name, marker.rule if is_fixed else marker
    if node.op.name in OWNERS:
        bodies = [*bodies_of(node)]
        names = {name for name, _ in bodies}
        others = [(name, repr(x)) for name, x in node.params.items() if name not in names]
        return (*others, *[(name, structure_of(body)) for name, body in bodies])
    return repr(node.params) if node.params else ""


def structure_of(body: Subgraph) -> tuple[Any, ...]:
    """A key for all that a body computes: bodies of equal keys compute the same of equal inputs."""
    numbers = {value: number for number, value in enumerate(body.inputs)}

    def place(value: Value) -> Any:
        return numbers.get(value, value)

    parts: list[Any] = [tuple([value.type for value in body.inputs])]
    for node in body.nodes:
        operands = tuple(map(place, node.operands))
        types = tuple([value.type for value in node.results])
        parts.append((node.op, exact_parameters(node), operands, types))
        for value in node.results:
            numbers[value] = len(numbers)
    return (*parts, tuple(map(place, body.outputs)))
