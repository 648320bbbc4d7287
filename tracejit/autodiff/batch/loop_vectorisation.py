"""Loop vectorisation: run the body of an unrolled Python loop once, for all iterations.

A Python loop over the parts of an array leaves one copy of its body per iteration in the graph. The
copies differ only in the index that they read. Where their results meet, in a stack, in a sum, or
in the rows of a gradient, the pass records the body once, with the `batch` rules of its operations,
on the whole arrays. It does so for parts small enough that all of them fit in memory at once. A
loop whose iterations depend on each other is left as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tracejit.autodiff.batch.batch import Batch
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.location import NOWHERE
from tracejit.ir.types import ArrayType
from tracejit.loops.bodies.loop_products import (
    LoopStep,
    bytes_of,
    flattened,
    partial_sums,
    step_of,
    steps_from,
)
from tracejit.ops.elementwise.arithmetic import add
from tracejit.ops.indexing.indexing import add_slice, getitem, put_slice
from tracejit.ops.shapes.joining import stack
from tracejit.passes.framework.dce import drop_dead
from tracejit.passes.framework.emission import emit, readers_of
from tracejit.passes.framework.rebuild import rebuild
from tracejit.support.cost_model import costs
from tracejit.trace.recording.record import Recording

JOINED_ELSEWHERE = ("matrices", "outer")
"""Products of which sums are one product."""


class LoopInvariant(NamedTuple):
    """Loop invariant: a value that all copies of the body read."""

    value: Value


class Steps(NamedTuple):
    """Consecutive steps of an array, one for each copy, from `first` on."""

    first: LoopStep


class Copies(NamedTuple):
    """The results number `result` of `nodes`, one of each copy, applied to `operands`."""

    nodes: tuple[Node, ...]
    result: int
    operands: tuple[Part, ...]


Part = LoopInvariant | Steps | Copies


def vectorise_loops(graph: Graph) -> Graph:
    """`graph` with its unrolled loops vectorised; nobody else may hold the graph or its nodes."""
    if graph.branches.ends or graph.sizes is not None or not _may_have_copies(graph):
        return graph
    graph.is_passing = True
    return drop_dead(rebuild(graph, _LoopVectoriser(graph).rewrite))


def _may_have_copies(graph: Graph) -> bool:
    """Return whether several parts are read from one array."""
    taken = Counter(node.operands[0] for node in graph.nodes if node.op is getitem)
    return any(count >= costs().least_copies for count in taken.values())


class _LoopVectoriser:
    """One pass over a graph: `parts` classify values of the copies, `rows` map values to rows of a
    batched result."""

    def __init__(self, graph: Graph) -> None:
        uses = readers_of(graph)
        self.inner = partial_sums(graph, uses) | _partial_updates(graph, uses)
        self.within: set[Value] = set()
        self.recording = Recording(graph.name)
        self.parts: dict[tuple[Value, ...], Part | None] = {}
        self.pending: set[Value] = set()
        self.made: dict[tuple[Node, ...], dict[Value, Value]] = {}
        self.rows: dict[Value, LoopStep] = {}

    def rewrite(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value]:
        """The values that stand for the results of `node`."""
        self.recording.graph = new
        operands = tuple([self._row(node, value) for value in operands])
        if node in self.inner:
            results = new.take(node, operands).results
            self.within.update(results)
            return results
        whole = self._vectorised(node, operands) if not node.region else None
        if whole is not None and whole.type is node.results[0].type:
            return (whole,)
        return new.take(node, operands).results

    def _emit(self, like: Node, op: str, *operands: Value, **params: object) -> Value:
        return emit(self.recording.graph, like, op, operands, **params)

    def _row(self, like: Node, value: Value) -> Value:
        """A value, read as a row of the batched result that holds all its copies."""
        if value not in self.rows:
            return value
        row = self.rows[value]
        return self._emit(like, "getitem", row.whole, index=(row.number,))

    # Where copies meet

    def _vectorised(self, node: Node, operands: tuple[Value, ...]) -> Value | None:
        """The result of a node in which copies meet, computed for all of them at once."""
        if node.op is stack:
            return self._stack(node, operands)
        if self.within.isdisjoint(operands):
            return None
        if node.op is add:
            return self._sum(node, operands)
        return self._gradient(node, operands) if node.op is add_slice else None

    def _stack(self, node: Node, operands: tuple[Value, ...]) -> Value | None:
        whole = self._whole(node, operands)
        axis = node.params["axis"]
        if whole is None or not axis:
            return whole
        axes = list(range(1, whole.type.ndim))
        axes.insert(axis, 0)
        return self._emit(node, "transpose", whole, axes=tuple(axes))

    def _sum(self, node: Node, operands: tuple[Value, ...]) -> Value | None:
        """A sum with a term from each copy: reduce those terms along the batch axis."""
        terms = flattened(operands, self.within)
        kinds = Counter(value.node.op for value in terms if value.node is not None)
        kind = max(kinds, key=kinds.__getitem__, default=None)
        if kind is not None and kind.product in JOINED_ELSEWHERE:
            return None
        alike = [v for v in terms if v.node is not None and v.node.op is kind]
        whole = self._whole(node, alike) or self._whole(node, alike[::-1])
        if whole is None:
            return None
        total = self._emit(node, "sum", whole, axis=(0,))
        for value in terms:
            if value not in alike:
                total = self._emit(node, "add", total, value)
        return total

    def _gradient(self, node: Node, operands: tuple[Value, ...]) -> Value | None:
        """An array to each row of which one copy adds: add the batched rows in one operation."""
        rows = {_row_of(node): operands[1]}
        rest: Value | None = operands[0]
        while rest in self.within:
            assert rest is not None and rest.node is not None
            number = _row_of(rest.node)
            if number in rows:
                return None
            *before, rows[number] = rest.node.operands
            rest = before[0] if before else None
        if rows.keys() != set(range(node.results[0].type.shape[0])):
            return None
        whole = self._whole(node, [rows[number] for number in range(len(rows))])
        if whole is None or rest is None:
            return whole
        return self._emit(node, "add", rest, whole)

    # Finding copies

    def _whole(self, like: Node, values: Sequence[Value]) -> Value | None:
        """`values` stacked along a first axis, computed at once."""
        part = self._part(tuple(values)) if len(values) >= costs().least_copies else None
        if part is None or isinstance(part, LoopInvariant):
            return None
        return self._made(like, part, len(values))

    def _part(self, values: tuple[Value, ...], depth: int = 0) -> Part | None:
        """The class of one value from each copy; None if they are not made alike."""
        if values not in self.parts:
            self.parts[values] = self._classified(values, depth)
        return self.parts[values]

    def _classified(self, values: tuple[Value, ...], depth: int) -> Part | None:
        if len(set(values)) == 1:
            return LoopInvariant(values[0])
        step = self._step(values[0])
        if step is not None:
            steps = [step._replace(number=step.number + k) for k in range(len(values))]
            if [self._step(value) for value in values] == steps:
                return Steps(step)
        if depth > costs().vectorised_depth or len(set(values)) < len(values):
            return None
        if not self.pending.isdisjoint(values):
            return None
        nodes = tuple([value.node for value in values if value.node is not None])
        if len(nodes) < len(values) or not _are_alike(nodes, values):
            return None
        self.pending.update(values)
        operands: list[Part] = []
        for column in zip(*[node.operands for node in nodes], strict=True):
            part = self._part(column, depth + 1)
            if part is None:
                break
            operands.append(part)
        self.pending.difference_update(values)
        if len(operands) < len(nodes[0].operands):
            return None
        if len(set(zip(nodes[0].operands, operands, strict=True))) > len(set(nodes[0].operands)):
            return None  # one value is the same for all copies here, and of the first alone there
        return Copies(nodes, values[0].index, tuple(operands))

    def _step(self, value: Value) -> LoopStep | None:
        return self.rows[value] if value in self.rows else step_of(value)

    # Making all at once

    def _made(self, like: Node, part: Part, count: int) -> Value:
        """The values of all copies along the first axis; a value that they share as it is."""
        if isinstance(part, LoopInvariant):
            return part.value
        if isinstance(part, Steps):
            return steps_from(self.recording.graph, like, part.first, count)
        known = self.made.get(part.nodes)
        if known is None:
            known = self.made[part.nodes] = self._batched(part, count)
        return known[part.nodes[0].results[part.result]]

    def _batched(self, part: Copies, count: int) -> dict[Value, Value]:
        """The batched values that replace the results of the first copy."""
        node = part.nodes[0]
        batch = Batch(self.recording, count)
        for value, operand in zip(node.operands, part.operands, strict=True):
            if not isinstance(operand, LoopInvariant):
                batch.known[value] = self._made(node, operand, count)
        with self.recording.at(node.where or NOWHERE):
            batch.extend([node])
        for value in node.results:
            batched = batch.known[value]
            batched.base = batched.base or value.base
        for number, copy in enumerate(part.nodes):
            for value, first in zip(copy.results, node.results, strict=True):
                if value.type.form != "array" or value.type.ndim:
                    self.rows[value] = LoopStep(batch.known[first], 0, number)
        return batch.known


def _are_alike(nodes: Sequence[Node], values: Sequence[Value]) -> bool:
    """Return whether these nodes apply the same small operation, one that can be batched."""
    first, value = nodes[0], values[0]
    return (
        all(node.op is first.op and not node.region for node in nodes)
        and all(v.index == value.index and v.type is value.type for v in values)
        and all(node.params == first.params for node in nodes[1:])
        and all(len(node.operands) == len(first.operands) for node in nodes)
        and _is_worth_it(first, [value.type for value in first.operands], len(nodes))
    )


def _is_worth_it(node: Node, types: Sequence[ArrayType], copies: int) -> bool:
    op = node.op
    if op.batch is None or op.effect or (op.statements is not None and op.update is None):
        return False
    if any(value.type.form == "weak" for value in node.results):
        return False
    if copies * bytes_of(*node.results) > costs().joined_bytes:
        return False
    return bool(op.cost(*types, **node.params) <= costs().vectorised_operations)


def _row_of(node: Node) -> int | None:
    """The row that an update of a gradient is of."""
    match node.params.get("index"):
        case (int(number),):
            return number
    return None


def _partial_updates(graph: Graph, uses: Counter[Value]) -> set[Node]:
    """The updates of a gradient's row whose result is only read by another such update."""
    updates = {
        node
        for node in graph.nodes
        if node.op in (put_slice, add_slice)
        and _row_of(node) is not None
        and node.operands[-1].type.shape == node.results[0].type.shape[1:]
        and len(node.operands) == 1 + (node.op is add_slice)
    }
    return {
        node.operands[0].node
        for node in updates
        if node.op is add_slice
        and node.operands[0].node in updates
        and uses[node.operands[0]] == 1
        and node.operands[0].node.region == node.region
    }
