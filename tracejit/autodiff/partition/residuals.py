"""Rematerialisation: choose the residuals, and the values that backward computes again.

Backward reads some values of forward. Each is kept, or computed again from kept values. The
cheapest choice is a minimum cut (`support/minimum_cut.py`). A node is on the sink's side where it
is computed again, a value where it is there in backward:

    source -> node     what it costs to compute the node again; UNCUT where it may not be
    node   -> value    what it costs to keep a result of it
    value  -> node     UNCUT, for each node that reads the value: it needs it
    value  -> sink     UNCUT, where backward reads it

Views are made again in any case: what is said here of values is said of what they view. Constants,
arguments and single numbers are there for nothing.

Without a budget only large arrays that cost nearly nothing are computed again: casts, negatives and
multiples by constants, and one plain operation where its result would not fit any cache. With one,
memory gets dearer until what is kept and what is computed again at once are within it. Where that
alone does not help, because all would be there again at the start of backward, the values between
two parts of forward are kept as well, so that backward computes one part after the other.

Each node runs twice at most, so that a budget costs at most another forward. Effects, what the user
registered and what is in a recompute region are never computed again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import accumulate, chain
from typing import NamedTuple

from tracejit.autodiff.partition.partition import Partition
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import OPS, Op
from tracejit.ops.elementwise.weak import SIZE
from tracejit.passes.framework.rematerialise import Late, computed_before
from tracejit.support.cost_model import costs
from tracejit.support.minimum_cut import UNCUT, Network

Weight = Callable[[Node], int | None]


class Rematerialisation(NamedTuple):
    """A choice of values that backward computes `again`: the most bytes of forward's values that
    backward then holds at once, and the number of operations it adds."""

    again: Set[Value]
    bytes: int
    operations: int


def choose(part: Partition, gradients: Iterable[Value], budget: int | None) -> Rematerialisation:
    """The plan with the fewest operations that is within `budget` bytes, or has the fewest
    bytes."""
    if budget is None and not any(_is_repeatable(node) and _cheap(node) for node in part.forward):
        return Rematerialisation(frozenset(), 0, 0)
    choice = ResidualChoice(part, gradients)
    best = choice.plan(choice.cut(_cheap, 1))
    if budget is None or best.bytes <= budget:
        return best
    tried: set[Node] = set()
    for price in costs().recomputing_prices:
        nodes = choice.cut(operations, price)
        if nodes == tried:
            continue
        tried = nodes
        fewest = None
        for plan in chain([choice.plan(nodes)], choice.in_parts(nodes)):
            if plan.bytes <= budget:
                return choice.filled(plan, budget)
            best = min(best, plan, key=lambda plan: plan.bytes)
            if fewest is not None and plan.bytes > costs().worse_parts * fewest:
                break
            fewest = plan.bytes if fewest is None else min(fewest, plan.bytes)
    return best


class ResidualChoice:
    """The values of one forward that its backward needs."""

    def __init__(self, part: Partition, gradients: Iterable[Value]) -> None:
        """`part` is the partition whose residuals are chosen, `gradients` the outputs of its
        backward."""
        self.places = {node: number for number, node in enumerate(part.forward)}
        self.readers = [node for node in part.backward if node not in self.places]
        self.bytes: dict[Value, int] = {}
        self.reads: dict[Node, tuple[Value, ...]] = {}
        self._bases: dict[Value, Value] = {}
        for node in (*part.forward, *self.readers):
            self._add(node)
        read = (self._bases.get(value, value) for value in gradients)
        self.returned = {value for value in read if value in self.bytes}
        self.needed = dict.fromkeys(value for node in self.readers for value in self.reads[node])
        self.needed.update(dict.fromkeys(self.returned))
        self._operations: dict[Node, int] = {}

    def _add(self, node: Node) -> None:
        """Enter what `node` makes, and what it reads that takes memory."""
        read = (self._bases.get(value, value) for value in node.operands)
        self.reads[node] = tuple(value for value in dict.fromkeys(read) if value in self.bytes)
        if node not in self.places:
            return
        for value in node.results:
            if _is_view(node, value):
                viewed = node.operands[node.op.view_of]
                self._bases[value] = self._bases.get(viewed, viewed)
            elif value.type.estimated_bytes:
                self.bytes[value] = value.type.estimated_bytes

    def _weigher(self, weigh: Weight) -> Weight:
        """`weigh`, each node once; None for what backward returns."""
        known: dict[Node, int | None] = {
            value.node: None for value in self.returned if value.node is not None
        }

        def weight(node: Node) -> int | None:
            if node not in known:
                known[node] = weigh(node) if _is_repeatable(node) else None
            return known[node]

        return weight

    def cut(self, weigh: Weight, price: int) -> set[Node]:
        """The nodes to compute again where a byte is worth `price` of what they weigh."""
        weight = self._weigher(weigh)
        there = {v for v in self.needed if v.node is not None and weight(v.node) is None}
        wanted = [value for value in self.needed if value not in there]
        numbers: dict[Node | Value, int] = {}
        edges: list[tuple[int, int, int]] = []

        def number(one: Node | Value) -> int:
            return numbers.setdefault(one, 2 + len(numbers))

        def enter(node: Node, capacity: int) -> None:
            edges.append((0, number(node), capacity))
            edges.extend(
                (number(node), number(value), price * self.bytes[value])
                for value in node.results
                if value in self.bytes
            )

        pending = list(dict.fromkeys(value.node for value in wanted if value.node is not None))
        seen = set(pending)
        while pending:
            node = pending.pop()
            enter(node, weight(node) or 0)
            for value in self.reads[node]:
                if value in there or value.node is None:
                    continue
                edges.append((number(value), number(node), UNCUT))
                if value.node in seen:
                    continue
                seen.add(value.node)
                if weight(value.node) is None:
                    enter(value.node, UNCUT)
                else:
                    pending.append(value.node)
        edges.extend((number(value), 1, UNCUT) for value in wanted)
        network = Network(2 + len(numbers))
        for edge in edges:
            network.join(*edge)
        is_again = network.sink_side(0, 1)
        return {one for one, place in numbers.items() if type(one) is Node and is_again[place]}

    def plan(self, nodes: Set[Node]) -> Rematerialisation:
        """The plan that computes `nodes` again, and the views of their results."""
        again = {value for node in nodes for value in node.results}
        before = computed_before(Late(self.readers, again), self.places, self.reads.__getitem__)
        kept = set(self.returned)
        last: dict[Value, Node] = {}
        for reader in self.readers:
            for node in (*before.get(reader, ()), reader):
                for value in self.reads[node]:
                    if value in again:
                        last[value] = node
                    else:
                        kept.add(value)
        again.update(view for view, base in self._bases.items() if base in again)
        copied = [node for several in before.values() for node in several]
        return Rematerialisation(
            again,
            sum(self.bytes[value] for value in kept) + self._fullest(before, last),
            sum(self._cost(node) for node in copied),
        )

    def _cost(self, node: Node) -> int:
        if node not in self._operations:
            self._operations[node] = operations(node)
        return self._operations[node]

    def _fullest(self, before: Mapping[Node, Sequence[Node]], last: Mapping[Value, Node]) -> int:
        """The most bytes of what is computed again that are there at once."""
        leaving: dict[Node, int] = {}
        for value, node in last.items():
            leaving[node] = leaving.get(node, 0) + self.bytes[value]
        total = fullest = 0
        for reader in self.readers:
            for node in before.get(reader, ()):
                total += sum(self.bytes[value] for value in node.results if value in last)
                fullest = max(fullest, total)
                total -= leaving.get(node, 0)
            total -= leaving.get(reader, 0)
        return fullest

    def in_parts(self, nodes: Set[Node]) -> Iterator[Rematerialisation]:
        """The plans of computing `nodes` again, but with what lies between two parts of them kept,
        for ever more parts."""
        ordered = sorted(nodes, key=self.places.__getitem__)
        spans = self._spans(ordered)
        crossing = self._crossing(spans, len(ordered))
        sizes = [self._needed_bytes(node) for node in ordered]
        count = 2
        while count <= len(ordered):
            borders = _borders(sizes, crossing, sum(sizes) // count)
            kept = {
                value
                for value, (first, last) in spans.items()
                if bisect_left(borders, last) > bisect_left(borders, first)
            }
            yield self.plan({node for node in ordered if kept.isdisjoint(node.results)})
            count += count // 2

    def _needed_bytes(self, node: Node) -> int:
        return sum(self.bytes[value] for value in node.results if value in self.needed)

    def filled(self, plan: Rematerialisation, budget: int) -> Rematerialisation:
        """`plan`, but with as much kept of what forward makes last as the budget has room for."""
        room = budget - plan.bytes
        nodes = [node for node in self.places if not plan.again.isdisjoint(node.results)]
        nodes = [node for node in nodes if not _is_view(node, node.results[0])]
        while nodes:
            room -= self._needed_bytes(nodes[-1])
            if room < 0:
                break
            nodes.pop()
        found = self.plan(set(nodes))
        return found if found.bytes <= budget else plan

    def _spans(self, nodes: Sequence[Node]) -> dict[Value, tuple[int, int]]:
        """The numbers of the node that makes a value and of the last that reads it."""
        made = {value: time for time, node in enumerate(nodes) for value in node.results}
        read = {
            value: time
            for time, node in enumerate(nodes)
            for value in self.reads[node]
            if value in made
        }
        return {value: (made[value], last) for value, last in read.items()}

    def _crossing(self, spans: Mapping[Value, tuple[int, int]], count: int) -> list[int]:
        """The bytes of what is made before, and read after, the end of each of `count` nodes."""
        changes = [0] * (count + 1)
        for value, (first, last) in spans.items():
            changes[first] += self.bytes[value]
            changes[last] -= self.bytes[value]
        return list(accumulate(changes))


def operations(node: Node) -> int:
    """The cost of computing `node`, in operations on an element; a free dimension has the size that
    planners expect."""
    types = [
        ArrayType(tuple(map(_estimate, value.type.shape)), value.type.dtype, value.type.form)
        if value.type.sizes is not None
        else value.type
        for value in node.operands
    ]
    return max(int(node.op.cost(*types, **node.params)), 1)


def _estimate(size: int | Dim) -> int:
    return size.estimate if type(size) is Dim else int(size)


def _cheap(node: Node) -> int | None:
    """For what costs nearly nothing, as many bytes as it makes: it is computed again if that saves
    keeping more."""
    result = node.results[0].type
    if result.estimated_bytes < costs().least_recomputed_bytes:
        return None
    is_cheap = node.op.elements == "same"
    if node.op.elementwise and operations(node) <= result.estimated_size:
        is_uncached = result.estimated_bytes > costs().uncached_bytes
        is_cheap |= _is_multiple(node) or is_uncached
    return result.estimated_bytes // 2 + 1 if is_cheap else None


def _is_multiple(node: Node) -> bool:
    """Return whether `node` makes a multiple of one array."""
    op: Op = node.op
    places = [k for k, v in enumerate(node.operands) if not isinstance(v, Constant) or v.type.shape]
    if len(node.operands) == 1:
        return op.linear_in == "jointly"
    return len(places) == 1 and op.is_linear_in(places[0])


def _is_repeatable(node: Node) -> bool:
    """Return whether `node` computes the same whenever it runs, and may run twice."""
    if node.op.effect or node.op is SIZE or node.region or OPS.get(node.op.name) is not node.op:
        return False
    values = (*node.operands, *node.results)
    return all(value.type.form == "array" for value in node.results) and not any(
        value.type.form == "handle" for value in values
    )


def _is_view(node: Node, value: Value) -> bool:
    return node.op.view_of is not None and value.type.form == "array"


def _borders(sizes: Sequence[int], crossing: Sequence[int], most: int) -> list[int]:
    """The last nodes of parts, each but the last of which makes at most about `most` bytes: where
    the fewest bytes cross, in the second half of what a part could be."""
    borders: list[int] = []
    best: int | None = None
    place = total = 0
    while place < len(sizes):
        total += sizes[place]
        if 2 * total >= most and (best is None or crossing[place] <= crossing[best]):
            best = place
        if total >= most and best is not None:
            borders.append(best)
            place, total, best = best, 0, None
        place += 1
    return borders
