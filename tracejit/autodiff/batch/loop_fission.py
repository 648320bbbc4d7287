"""Loop fission: compute values that no later step needs for all steps at once.

`u @ x` in a loop over the rows of `xs` is `xs @ u.T` before the loop; a row that is only stacked,
such as `xs_bar[t] = u.T @ h_bar`, is `h_bar_all @ u` after it; and what steps only add up is the
sum of what they stack, `w_bar = h_bar_all.T @ h_all`. A loop that carries nothing is its body for
all steps: no loop at all. `loops/bodies/loop_stages.py` finds what goes where; the rules of
batching apply it to all steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.autodiff.batch.batch import Batch
from tracejit.ir.graph import Graph, Node, Value, replace_values
from tracejit.ir.location import NOWHERE
from tracejit.ir.subgraph import bodies_of, differs_in_size
from tracejit.loops.arrays.loop_arrays import at_once
from tracejit.loops.bodies.loop_stages import Stages
from tracejit.loops.bodies.loop_terms import Term, is_zero
from tracejit.loops.bodies.loops import emit_like, moved_node, rebuild_loops, with_inputs
from tracejit.loops.bodies.step_values import KnownCarry, RowIndex
from tracejit.ops.base.batching import spread
from tracejit.ops.control.control_flow import is_checkpoint, parts_of
from tracejit.ops.indexing.indexing import add_at, getitem, put_at, put_slice
from tracejit.ops.indexing.updates import set_item
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor


class NoRule(Exception):
    """No rule computes this node for all steps at once."""

    def __init__(self, node: Node) -> None:
        """The node of the body."""
        super().__init__(node)
        self.node = node


class AllSteps(Batch):
    """A batch whose elements are the steps of a loop: nothing is computed one by one, and products
    of the matrices of all steps with one matrix are one product."""

    def _applied(self, node: Node, moved: Sequence[bool], operands: Sequence[Any]) -> Any:
        if node.op.product == "matrices" and tuple(moved) == (True, False):
            whole, matrix = operands
            if whole.ndim == 3 and matrix.ndim == 2:
                count, rows, size = whole.shape
                product = np.reshape(whole, (count * rows, size)) @ matrix
                return np.reshape(product, (count, rows, matrix.shape[1]))
        return super()._applied(node, moved, operands)

    def one_by_one(self, node: Node, moved: Sequence[bool], operands: Sequence[Any]) -> Any:
        """Refuse."""
        raise NoRule(node)


def whole_loops(graph: Graph) -> Graph:
    """`graph` with loops over parts of arrays as operations on whole arrays."""
    if graph.branches.ends:
        return graph
    recording = Recording(graph.name)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        recording.graph = new
        recording.region = node.region
        with recording.at(node.where or NOWHERE):
            found = at_once(recording, node, [Tensor(value, recording) for value in operands])
        return None if found is None else [tensor._value for tensor in found]

    return rebuild_loops(graph, rewrite)


def split_loops(graph: Graph) -> Graph:
    """`graph` with as little in its loops as their carried values need."""
    if graph.branches.ends:
        return graph
    recording = Recording(graph.name)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if is_checkpoint(node):  # which is to save the memory that this takes
            return None
        recording.graph = new
        recording.region = node.region
        return _split(recording, node, operands)

    return rebuild_loops(graph, rewrite)


def _split(recording: Recording, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
    """The results of a loop by stages; None if all of it stays."""
    body: Graph = node.params["body"].graph
    values = [*operands, *body.values()]
    if type(node.params["length"]) is not int:
        return None
    if any(value.type.sizes is not None for value in values) or any(n.region for n in body.nodes):
        return None
    if any(differs_in_size(one) for one in body.nodes):
        return None
    refused: set[Node] = set()
    while True:
        stages = Stages(node, body, refused)
        if stages.is_of_one_piece:
            return None
        if stages.inside and not stages.kept and not stages.stacked:
            return None  # effects alone: a node without results is none
        try:
            with recording.at(node.where or NOWHERE):
                return _Fission(recording, stages, node, operands).results()
        except NoRule as error:
            refused.add(error.node)


class _Fission:
    """One loop that is computed by stages."""

    def __init__(
        self, recording: Recording, stages: Stages, node: Node, operands: tuple[Value, ...]
    ) -> None:
        """Nothing is computed yet: all steps of the sliced arrays are there."""
        self.recording = recording
        self.stages = stages
        self.node = node
        self.body = stages.body
        parts = parts_of(operands, node)
        self.initial = parts.carried
        self.around = dict(zip(stages.inputs.invariants, parts.invariants, strict=True))
        for number, update in stages.updates.items():
            self.around.update((value, self.initial[number]) for value in update.copies)
        self.batch = AllSteps(recording, stages.length, is_in_body=True)
        self.batch.known.update(zip(stages.inputs.sliced, parts.sliced, strict=True))

    def results(self) -> list[Value]:
        """The values that stand for the results of the loop."""
        stages = self.stages
        for value in stages.fills:
            assert value.node is not None
            self.around[value] = moved_node(
                self.recording.graph,
                value.node,
                (),
                segment=self.node.segment,
                region=self.node.region,
            ).results[0]
        self._compute_ahead()
        last = self._loop()
        for node in self.body.nodes:
            if node in stages.batched and not stages.ahead.issuperset(node.results):
                self._batch(node)
        last.update((number, self._total(number)) for number in stages.sums)
        last.update((number, self._updated(number)) for number in stages.updates)
        last.update((one.number, self._last(one.out)) for one in stages.carries.values())
        for number, value in enumerate(stages.inputs.carried):
            if value in stages.numbers:
                last[number] = self.recording.graph.constant(stages.numbers[value])
        finals = [last[number] for number in range(len(self.initial))]
        results = [*finals, *[self._whole(value) for value in stages.stacked_out]]
        for made, old in zip(results, self.node.results, strict=True):
            assert made.type is old.type, (made, old)
            made.take_name(old)
        return results

    # All steps at once

    def _compute_ahead(self) -> None:
        """Compute what is known before the loop, a carried value as soon as it can be."""
        stages = self.stages
        nodes = [
            node
            for node in self.body.nodes
            if node in stages.batched and stages.ahead.issuperset(node.results)
        ]
        carries = list(stages.followed)
        while nodes or carries:
            for value in carries:
                if all(map(self._is_known, stages.carries[value].sources)):
                    self.batch.known[value] = self._carry(stages.carries[value])
                    self._name(self.batch.known[value], value)
            carries = [value for value in carries if value not in self.batch.known]
            left = []
            for node in nodes:
                if all(map(self._is_known, node.operands)):
                    self._batch(node)
                else:
                    left.append(node)
            nodes = left

    def _is_known(self, value: Value) -> bool:
        return self.stages.is_whole(value) or value in self.batch.known

    def _batch(self, node: Node) -> None:
        """Compute a node of the body for all steps."""
        known = self.batch.known
        for value in node.operands:
            if value in self.stages.tables and value not in known:
                known[value] = self._table(value)
        rows = self.stages.rows_read(node)
        if rows is not None:
            known[node.results[0]] = whole = self._lifted(self._taken(node, rows))
            self._name(whole, node.results[0])
            return
        operands = replace_values(node.operands, self.around)
        types = [value.type for value in node.results]
        params = dict(node.params)
        for name, inner in bodies_of(node):
            around = operands[: params["invariants"]]
            params[name] = inner.opened(self.recording.graph, around)
        one = Node(node.op, operands, params, types, node.where or NOWHERE, node.region, ())
        try:
            self.batch.extend([one])
        except NoRule:
            raise NoRule(node) from None
        for old, new in zip(node.results, one.results, strict=True):
            known[old] = known[new]
            self._name(known[old], old)

    def _name(self, whole: Value, value: Value) -> None:
        if whole.node is not None and not whole.base and not whole.is_named:
            whole.base = f"{value.base}_all"

    def _table(self, value: Value) -> Value:
        """A number that follows from the number of the step, for all steps."""
        numbers = self.stages.tables[value]
        return self.recording.graph.constant(np.array(numbers, value.type.dtype))

    def _whole(self, value: Value) -> Value:
        """A value for all steps, along a first axis."""
        if value in self.stages.tables and value not in self.batch.known:
            return self._table(value)
        if value in self.batch.known:
            return self.batch.known[value]
        same = Tensor(self.around.get(value, value), self.recording)
        return self._lifted(np.broadcast_to(same, (self.stages.length, *value.type.shape)))

    def _lifted(self, tensor: Any) -> Value:
        return self.recording.lift(tensor)

    # The rest of the loop

    def _loop(self) -> dict[int, Value]:
        """The last carried values of a loop of what stays inside; what it stacks is known then."""
        stages = self.stages
        kept, stacked = stages.kept, list(stages.stacked)
        if not kept and not stages.inside and not stacked:
            return {}
        body, first = self.body, len(stages.inputs.invariants)
        nodes = [node for node in body.nodes if node in stages.inside]
        outputs = [*[stages.carried_out[number] for number in kept], *stacked]
        read = {value for node in nodes for value in node.operands}.union(outputs)
        fixed = [value for value in body.inputs[:first] if value in read]
        carried = [stages.inputs.carried[number] for number in kept]
        elements = [value for value in stages.inputs.sliced if value in read]
        elements += [value for value in stages.sliced if value in read]
        inputs = [*fixed, *carried, *elements, body.inputs[-1]]
        operands = [self.around[value] for value in fixed]
        operands += [self.initial[number] for number in kept]
        operands += [self.batch.known[value] for value in elements]
        shrunk = with_inputs(body, inputs, nodes, outputs, {})
        made = emit_like(
            self.recording.graph,
            self.node,
            operands,
            shrunk,
            invariants=len(fixed),
            carried=len(kept),
        ).results
        for value, whole in zip(stacked, made[len(kept) :], strict=True):
            self.batch.known[value] = whole
            self._name(whole, value)
        last = dict(zip(kept, made, strict=False))
        for number, value in last.items():
            value.take_name(self.node.results[number])
        return last

    # Carried values

    def _carry(self, carry: KnownCarry) -> Value:
        """A carried value at the beginning of all steps."""
        kind = carry.out.type
        first = np.reshape(Tensor(self.initial[carry.number], self.recording), (1, *kind.shape))
        rows: Any = None if carry.terms else Tensor(self._whole(carry.out), self.recording)
        for value, is_subtracted in carry.terms:
            is_same = self.stages.is_same(value)
            found = self.around.get(value, value) if is_same else self._whole(value)
            term: Any = Tensor(found, self.recording)
            term = term if is_same or term.dtype == kind.dtype else term.astype(kind.dtype)
            if rows is None:
                rows = -term if is_subtracted else term
            else:
                rows = rows - term if is_subtracted else rows + term
        if rows.ndim == kind.ndim:
            rows = np.broadcast_to(rows, (self.stages.length, *kind.shape)).astype(kind.dtype)
        is_sum = bool(carry.terms)
        if not self.node.params["reverse"]:
            rows = np.concatenate((first, rows[:-1]))
            return self._lifted(np.cumsum(rows, axis=0) if is_sum else rows)
        if is_sum:
            return self._lifted(np.cumsum(np.concatenate((first, rows[:0:-1])), axis=0)[::-1])
        return self._lifted(np.concatenate((rows[1:], first)))

    def _last(self, out: Value) -> Value:
        """A carried value after the last step."""
        rows = Tensor(self._whole(out), self.recording)
        return self._lifted(rows[0 if self.node.params["reverse"] else -1])

    # Sums

    def _total(self, number: int) -> Value:
        """A carried value that is a sum: what it begins with, and its terms for all steps."""
        initial = self.initial[number]
        total: Any = None if is_zero(initial) else Tensor(initial, self.recording)
        for term in self.stages.sums[number]:
            value = self.around.get(term.value, term.value)
            if not term.parts and is_zero(value):
                continue
            with self.recording.at(_where(term.value)):
                found = self._sum(term)
                if total is not None:
                    total = total - found if term.is_subtracted else total + found
                elif found.type is initial.type:
                    total = -found if term.is_subtracted else found
                else:
                    zero = Tensor(initial, self.recording)
                    total = zero - found if term.is_subtracted else zero + found
        return initial if total is None else self._lifted(total)

    def _sum(self, term: Term) -> Any:
        """The sum over the steps of a term."""
        parts = [Tensor(self._whole(value), self.recording) for value in term.parts]
        if not parts:
            one = self.around.get(term.value, term.value)
            return Tensor(one, self.recording) * self.stages.length
        if term.rows is not None:
            assert term.value.node is not None
            shape = term.value.node.params["shape"]
            first: Any = parts[0]
            rows = np.moveaxis(first, 0, term.rows.axis)
            return put_slice(*self._at(rows, term.rows), shape=shape, index=term.rows.entries)
        if term.scattered is not None:
            return self._scattered(parts[0], term.scattered)
        if len(parts) == 1:
            found = np.sum(parts[0], axis=0)
        else:
            found = _sum_of_products(parts, term.value.type.shape)
        if term.placed is None:
            return found
        indices = replace_values(term.placed.operands[1:], self.around)
        operands = [Tensor(value, self.recording) for value in indices]
        return put_slice(found, *operands, **term.placed.params)

    def _scattered(self, rows: Any, node: Node) -> Any:
        """The sum of rows, each of which a step places at an index of its own."""
        entries, shape = node.params["index"], node.params["shape"]
        places = [k for k, entry in enumerate(entries) if type(entry) is not tuple]
        is_one_run = places[-1] - places[0] + 1 == len(places)
        found = np.moveaxis(rows, 0, places[0]) if is_one_run else rows
        indices = [Tensor(self._whole(value), self.recording) for value in node.operands[1:]]
        table = self.stages.tables.get(node.operands[1]) if len(places) == 1 else None
        is_unique = table is not None and len({k % shape[places[0]] for k in table}) == len(table)
        place = put_at if is_unique else add_at
        return place(found, *indices, shape=shape, index=entries)

    # Rows

    def _at(self, x: Any, rows: RowIndex) -> list[Any]:
        """`x` and the operands of an index."""
        return [x, *[Tensor(v, self.recording) for v in replace_values(rows.operands, self.around)]]

    def _taken(self, node: Node, rows: RowIndex) -> Any:
        """The rows of all steps, along the first axis."""
        (value,) = replace_values(node.operands[:1], self.around)
        found: Any = getitem(*self._at(Tensor(value, self.recording), rows), index=rows.entries)
        return np.moveaxis(found, rows.axis, 0)

    def _updated(self, number: int) -> Value:
        """A carried array after all steps have written their rows."""
        update = self.stages.updates[number]
        node, value, rows = update.node, update.value, update.rows
        x = Tensor(self.initial[number], self.recording)
        with self.recording.at(node.where or NOWHERE):
            if self.stages.is_same(value):
                new: Any = Tensor(self.around.get(value, value), self.recording)
                before = new.ndim - (rows.ndim - rows.axis)
                new = np.expand_dims(new, before) if before > 0 else new
            else:
                whole: Any = Tensor(self._whole(value), self.recording)
                new = np.moveaxis(spread(whole, True, rows.ndim), 0, rows.axis)
            operands = *self._at(x, rows), new
            return self._lifted(set_item(*operands, index=rows.entries, unique=True))


def _sum_of_products(factors: Sequence[Any], shape: Sequence[int]) -> Any:
    """The sum over the steps, and the rows of each, of products of a column and a row, or of a
    number and an array."""
    first, second = factors
    if first.ndim == 1:
        return np.reshape(first @ np.reshape(second, (len(first), math.prod(shape))), shape)
    sides = zip(factors, shape, strict=True)
    left, right = [np.reshape(whole, (math.prod(whole.shape) // n, n)) for whole, n in sides]
    return left.T @ right


def _where(value: Value) -> Any:
    return value.node.where or NOWHERE if value.node is not None else NOWHERE
