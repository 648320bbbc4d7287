"""Stages of a loop: which nodes of its body can be computed for all steps at once.

A value is *free* if the rules of batching can compute it for all steps: it depends on elements of
sliced arrays, on the number of the step, on invariants, and on what the loop can stack. It is
*ahead* if it depends on nothing of the loop's, so that it can be computed before the loop. The
nodes *inside* are those that the next carried values need, and those that cannot be batched; they
read rows of what is ahead. Everything else is computed after the loop, from stacks of what it
reads.

A carried value that nothing reads but its own sum is not a carried value: its terms are added up
after the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.loops.bodies.loop_products import bytes_of
from tracejit.loops.bodies.loop_terms import Term, factors_of, is_zero
from tracejit.loops.bodies.step_values import (
    KnownCarry,
    RowIndex,
    known_carry,
    known_numbers,
    row_index,
)
from tracejit.ops.base.creation import full
from tracejit.ops.control.control_flow import (
    ControlFlow,
    element_type,
    is_checkpoint,
    is_counted,
    parts_of,
    stacked_type,
)
from tracejit.ops.elementwise.arithmetic import add, subtract
from tracejit.ops.indexing.indexing import getitem, put_slice
from tracejit.ops.indexing.updates import set_item
from tracejit.ops.shapes.shapes import copy, transpose
from tracejit.support.cost_model import costs


class RowUpdate(NamedTuple):
    """An update by each step of its own rows of a carried array, of which there are copies."""

    node: Node
    copies: Sequence[Value]
    value: Value
    rows: RowIndex


def fits(type: ArrayType, length: int, beside: int = 0) -> bool:
    """Return whether so many values of a type may be held at once, rather than one in the cache,
    where each step reads `beside` bytes besides."""
    if type.form == "weak" or type.dtype.kind not in "biufc":
        return False
    row = type.estimated_size * type.dtype.itemsize
    is_small = row <= max(costs().step_bytes, beside // costs().rows_for_one)
    total = row * length
    return total <= costs().cached_steps or (is_small and total <= costs().loop_bytes)


class Stages:
    """The stages of the loop `node`, whose body is `body`, without nodes that are `refused`.

    `inside` are the nodes that stay, `sliced` the values ahead of the loop whose rows they read,
    and `stacked` those of theirs that are read for all steps. `batched` are the nodes that are
    computed for all steps, `fills` arrays full of one number. `sums` are the terms of those carried
    values that are sums, and `updates` what is written into arrays of which each step reads and
    writes rows of its own. `carries` are carried values that are known before the loop, and
    `followed` those of them that are needed for all steps. `tables` are Python's numbers at each
    step, `numbers` the carried ones after the last, and `counted` those that nodes inside read.
    """

    def __init__(self, node: Node, body: Graph, refused: set[Node]) -> None:
        """Find the stages."""
        self.node = node
        self.body = body
        self.refused = refused
        self.length: int = node.params["length"]
        self.inputs = parts_of(body.inputs[:-1], node)
        self.carried_out = body.outputs[: len(self.inputs.carried)]
        self.stacked_out = body.outputs[len(self.inputs.carried) :]
        self.readers = _readers(body)
        self.fills = [node.results[0] for node in body.nodes if node.op is full]
        initial = parts_of(node.operands, node).carried
        self.tables, self.numbers = known_numbers(body, node, self.inputs.carried, initial)
        self.updates = self._row_updates()
        self.carries: dict[Value, KnownCarry] = {}
        self._classify()
        while lost := [k for k, one in self.updates.items() if not self._is_had(one.value)]:
            for number in lost:
                del self.updates[number]
            self._classify()
        self._find_carries()
        self.sums: dict[int, list[Term]] = {}
        for number, value in enumerate(self.inputs.carried):
            is_open = number not in self.updates and value not in self.carries
            terms = self._terms(number) if is_open else []
            if terms:
                self.sums[number] = terms
        self.inside: set[Node] = set()
        self.sliced: dict[Value, None] = {}
        self.stacked: dict[Value, None] = {}
        self.batched: set[Node] = set()
        self.followed: dict[Value, None] = {}
        self.counted: set[Value] = set()
        self._place()

    @property
    def is_of_one_piece(self) -> bool:
        """Return whether all of the loop stays."""
        return bool(self.inside) and not (self.batched or self.sums or self.updates or self.carries)

    @property
    def kept(self) -> list[int]:
        """The numbers of the values that are carried from step to step."""
        done = {*self.sums, *self.updates, *(one.number for one in self.carries.values())}
        return [
            number
            for number, value in enumerate(self.inputs.carried)
            if number not in done and (value not in self.numbers or value in self.counted)
        ]

    def is_same(self, value: Value) -> bool:
        """Return whether a value is the same at each step."""
        return isinstance(value, Constant) or value in self._fixed

    def is_whole(self, value: Value) -> bool:
        """Return whether a value is there for all steps without computing or stacking anything."""
        return self.is_same(value) or value in self._given or value in self.tables

    def fits(self, value: Value, beside: int = 0) -> bool:
        """Return whether the values of all steps may be held at once, where each step reads
        `beside` bytes besides."""
        return fits(value.type, self.length, beside)

    # Which values are free

    def _classify(self) -> None:
        """Find the values that are free, and those ahead."""
        self._fixed = {*self.inputs.invariants}
        self._fixed.update(value for one in self.updates.values() for value in one.copies)
        self._fixed.update(self.fills)
        self._given = set(self.inputs.sliced)
        self.ahead = {*self._given, *self.carries}
        self.free = set(self.ahead)
        for node in self.body.nodes:
            if self._is_free(node):
                self.free.update(node.results)
                if all(self.is_there(value) for value in node.operands):
                    self.ahead.update(node.results)

    def _find_carries(self) -> None:
        """Find the carried values that are known before the loop, where something else can be
        computed from them."""
        tried: set[Value] = set()
        pairs = list(enumerate(zip(self.inputs.carried, self.carried_out, strict=True)))
        while self.length > 1:
            new = {
                value: found
                for number, (value, out) in pairs
                if number not in self.updates and value not in tried and self._is_row(value)
                for found in [known_carry(number, value, out, self.is_there)]
                if found is not None and self.fits(value)
            }
            if not new:
                return
            tried.update(new)
            self.carries.update(new)
            self._classify()
            for value, found in new.items():
                if not self._is_followed(value, found):
                    del self.carries[value]
            self._classify()

    def _is_followed(self, value: Value, found: KnownCarry) -> bool:
        """Return whether something is computed from a carried value for all steps. A sum of which
        only the last is read is one of `sums`."""
        readers = self.readers[value]
        if found.terms:
            return len(readers) + len(self.readers[found.out]) > 2
        return not readers or any(
            node is None or self.ahead.issuperset(node.results) for node in readers
        )

    def is_there(self, value: Value) -> bool:
        """Return whether a value is known before the loop, at each step."""
        return self.is_same(value) or value in self.ahead or value in self.tables

    def _is_free(self, node: Node) -> bool:
        """Return whether a node can be computed for all steps at once."""
        op = node.op
        is_batched = op.batch is not None and not isinstance(op, ControlFlow)
        if node in self.refused or op.effect or not (is_batched or _is_loop_of_loops(node)):
            return False
        if all(self.is_same(value) for value in node.operands):
            return False
        beside = bytes_of(*filter(self.is_same, node.operands)) if op.product else 0
        if not all(self.fits(value, beside) for value in node.results):
            return False
        if op.elements == "taken" and not self._is_read(node.operands[0]):
            return False  # rather than all that it is taken from, the loop stacks what is taken
        return all(self._is_had(value, beside) for value in node.operands)

    def _is_read(self, value: Value) -> bool:
        return self.is_same(value) or value in self.tables or value in self.free

    def _is_had(self, value: Value, beside: int = 0) -> bool:
        """Return whether a value can be there for all steps."""
        return self._is_read(value) or self.fits(value, beside)

    # Rows of their own

    def rows_read(self, node: Node) -> RowIndex | None:
        """The index of all rows of an array that `node` reads one of at each step."""
        if node.op is not getitem or not self.is_same(node.operands[0]):
            return None
        return row_index(node, self.tables, self.is_same)

    def _row_updates(self) -> dict[int, RowUpdate]:
        """The carried arrays of which each step reads and writes rows of its own."""
        found = {}
        for number, (value, out) in enumerate(
            zip(self.inputs.carried, self.carried_out, strict=True)
        ):
            if len(self.readers.get(out, ())) > 1:
                continue
            node, new = self._written(out)
            rows = row_index(node, self.tables, self._is_invariant) if node is not None else None
            copies = self._copies(value, node) if rows is not None and node is not None else []
            if node is not None and rows is not None and copies and new.type.ndim <= rows.ndim:
                found[number] = RowUpdate(node, copies, new, rows)
        return found

    def _written(self, value: Value) -> tuple[Node | None, Value]:
        """The node that writes into an array and so makes `value`, and what it writes. To write
        zeros and add something in their place is to write that."""
        node = value.node
        if node is not None and node.op is set_item:
            return node, node.operands[-1]
        if node is not None and node.op is add:
            for one, other in (node.operands, node.operands[::-1]):
                zeros, added = self._only_read(one), self._only_read(other)
                if (
                    zeros is not None
                    and added is not None
                    and (zeros.op, added.op) == (set_item, put_slice)
                    and is_zero(zeros.operands[-1])
                    and zeros.params["index"] == added.params["index"]
                    and zeros.operands[1:-1] == added.operands[1:]
                ):
                    return zeros, added.operands[0]
        return None, value

    def _is_invariant(self, value: Value) -> bool:
        return isinstance(value, Constant) or value in self.inputs.invariants

    def _copies(self, value: Value, update: Node) -> list[Value]:
        """`value` and its copies, where nothing reads them but one `update`, and rows by the same
        index."""
        copies, is_updated = [value], False
        for one in copies:
            for node in self.readers[one]:
                if node is update and one not in update.operands[1:]:
                    is_updated = True
                elif node is not None and node.op is copy:
                    copies += node.results
                elif (
                    node is None
                    or node.op is not getitem
                    or node.params["index"] != update.params["index"]
                    or node.operands[1:] != update.operands[1:-1]
                ):
                    return []
        return copies if is_updated else []

    # Sums

    def _terms(self, number: int) -> list[Term]:
        """The terms of a carried value that is but a sum of them; none where it is not, or where
        the steps had better add them up."""
        total, out = self.inputs.carried[number], self.carried_out[number]
        found: list[Term] = []
        if out.type is not total.type or total.type.dtype.kind not in "fc":
            return []
        value = total
        while value is not out:
            readers = self.readers[value]
            node = readers[0] if len(readers) == 1 else None
            if node is None or node.op not in (add, subtract) or node.results[0].type != out.type:
                return []
            left, right = node.operands
            if node.op is subtract and value is not left:
                return []
            terms = self._split(right if value is left else left)
            found += [self._term(term, node.op is subtract) for term in terms]
            value = node.results[0]
        parts = [term.parts[0] for term in found if len(term.parts) == 1]
        is_had = all(self._is_had(part) and part.type.form != "weak" for part in parts)
        return found if is_had and len(self.readers[out]) == 1 else []

    def _split(self, value: Value) -> list[Value]:
        """The terms of a sum that nothing else reads."""
        terms, left = [], [value]
        while left:
            value = left.pop()
            node = value.node
            if (
                node is not None
                and node.op is add
                and len(self.readers[value]) == 1
                and all(operand.type is value.type for operand in node.operands)
            ):
                left += node.operands[::-1]
            else:
                terms.append(value)
        return terms

    def _term(self, value: Value, is_subtracted: bool) -> Term:
        node = self._only_read(value)
        placed = None
        if self.is_same(value):
            return Term(value, is_subtracted, ())
        if node is not None and node.op is put_slice:
            rows = row_index(node, self.tables, self._is_invariant)
            if rows is not None:
                return Term(node.results[0], is_subtracted, node.operands[:1], rows)
            if all(self.is_same(index) for index in node.operands[1:]):
                placed, value = node, node.operands[0]
                node = self._only_read(value)
            elif self._is_scattered(node):
                parts = node.operands[:1]
                return Term(node.results[0], is_subtracted, parts, scattered=node)
        factors = () if node is None else factors_of(node)
        if node is not None and node.op is transpose and node.params["axes"] == (1, 0):
            inner = self._only_read(node.operands[0])
            factors = () if inner is None else factors_of(inner)[::-1]
        beside = bytes_of(value)
        if not all(self._is_had(v, beside) and v.type.form != "weak" for v in factors):
            factors = ()
        return Term(value, is_subtracted, factors or (value,), None, placed)

    def _is_scattered(self, node: Node) -> bool:
        """Return whether the indices of all steps can be there, of a node that places a value."""
        if any(entry is None or entry == "..." for entry in node.params["index"]):
            return False
        indices = node.operands[1:]
        return not any(value.type.shape for value in indices) and all(
            self.is_same(value)
            or value in self.tables
            or (value.type.form != "weak" and self._is_had(value))
            for value in indices
        )

    def _only_read(self, value: Value) -> Node | None:
        """The node that makes a value which is read once."""
        is_open = value.node not in self.refused and len(self.readers.get(value, ())) == 1
        return value.node if is_open else None

    # Where nodes go

    def _place(self) -> None:
        """Place each node inside or outside of the loop."""
        roots = [self.carried_out[number] for number in self.kept]
        roots += [v for node in self.body.nodes if node.op.effect for v in node.results]
        while True:
            self.inside, self.sliced, self.stacked, self.batched = set(), {}, {}, set()
            self.followed = {}
            self._want([one.out for one in self.carries.values()])
            self._keep(roots)
            for terms in self.sums.values():
                for term in terms:
                    self._want(term.wanted)
            self._want([update.value for update in self.updates.values()])
            self._want(self.stacked_out)
            new = [v for v in self.stacked if v.node is not None and v.node not in self.inside]
            if not new:
                return
            roots += new

    def _keep(self, values: Sequence[Value]) -> None:
        """Compute these values in the loop, or read them there as rows."""
        left = list(values)
        while left:
            value = left.pop()
            if value in self.ahead and self._is_row(value):
                if value not in self._given:
                    self.sliced[value] = None
                    self._want((value,))
            elif value in self.numbers and value not in self.counted:
                self.counted.add(value)
                left.append(self.carried_out[self.inputs.carried.index(value)])
            elif value.node is not None and value.node not in self.inside:
                self.inside.add(value.node)
                left += value.node.operands

    def _is_row(self, value: Value) -> bool:
        return value.type is element_type(stacked_type(value.type, self.length))

    def _want(self, values: Sequence[Value]) -> None:
        """Have these values for all steps."""
        left = list(values)
        while left:
            value = left.pop()
            node = value.node
            if self.is_whole(value) or value in self.followed:
                continue
            if value in self.carries:
                self.followed[value] = None
                left += self.carries[value].sources
                continue
            if value in self.ahead or (value in self.free and node not in self.inside):
                assert node is not None
                if node not in self.batched:
                    self.batched.add(node)
                    left += node.operands
            else:
                self.stacked[value] = None


def _is_loop_of_loops(node: Node) -> bool:
    """Return whether a node is a loop of a known number of steps, with nothing but such loops in
    its body: a batch of it computes no more than the steps do."""
    return (
        is_counted(node)
        and not is_checkpoint(node)
        and all(
            not isinstance(inner.op, ControlFlow) or _is_loop_of_loops(inner)
            for inner in node.params["body"].nodes
        )
    )


def _readers(body: Graph) -> dict[Value, list[Node | None]]:
    """The nodes that read each value; None for each output that it is."""
    readers: dict[Value, list[Node | None]] = {value: [] for value in body.values()}
    for node in body.nodes:
        for value in node.operands:
            if not isinstance(value, Constant):
                readers[value].append(node)
    for value in body.outputs:
        if not isinstance(value, Constant):
            readers[value].append(None)
    return readers
