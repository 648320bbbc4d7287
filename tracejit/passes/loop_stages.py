"""Stages of a loop: which nodes of its body can be computed for all steps at once.

A value is *free* if the rules of batching can compute it for all steps: it depends on elements of
sliced arrays, on the number of the step, on invariants, and on what the loop can stack. It is
*ahead* if it depends on nothing of the loop's, so that it can be computed before the loop. The
nodes *inside* are those that the next carried values need, and those that cannot be batched; they
read rows of what is ahead. Everything else is computed after the loop, from stacks of what it
reads.

A carried value that nothing reads but its own sum is no carried value: its terms are added up after
the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.subgraph import bodies_of
from tracejit.ir.types import ArrayType
from tracejit.ops.arithmetic import add, multiply, subtract
from tracejit.ops.control_flow import body_inputs, element_type, stacked_type
from tracejit.ops.indexing import getitem, put_slice
from tracejit.ops.shapes import copy, transpose
from tracejit.ops.updates import set_item
from tracejit.passes.emission import made_by
from tracejit.passes.loop_rows import RowIndex, row_index
from tracejit.support.cost_model import costs


class Term(NamedTuple):
    """What each step adds to a sum, or subtracts from it.

    `parts` are what is needed for all steps: the term itself; two factors, whose products are added
    up by one product; or `rows`, which each step places at its own index. There are none where the
    term is the same at each step. The sum is `placed` by a node at an index that is the same.
    """

    value: Value
    is_subtracted: bool
    parts: tuple[Value, ...]
    rows: RowIndex | None = None
    placed: Node | None = None


class RowUpdate(NamedTuple):
    """What each step writes into its own rows of a carried array, of which there are copies."""

    node: Node
    copies: Sequence[Value]
    value: Value
    rows: RowIndex


def fits(type: ArrayType, length: int) -> bool:
    """Return whether so many values of a type may be held at once."""
    row = type.size * type.dtype.itemsize
    return (
        type.form != "weak"
        and type.dtype.kind in "biufc"
        and row <= costs().step_bytes
        and row * length <= costs().joined_bytes
    )


class Stages:
    """The stages of the loop `node`, whose body is `body`. Nodes that are `refused` cannot be
    batched.

    `inside` are the nodes that stay, `sliced` the values ahead of the loop whose rows they read,
    and `stacked` those of theirs that are read for all steps. `batched` are the nodes that are
    computed for all steps, `sums` the terms of those carried values that are sums, and `updates`
    what is written into those of which each step reads and writes rows of its own.
    """

    def __init__(self, node: Node, body: Graph, refused: set[Node]) -> None:
        """Find the stages."""
        self.node = node
        self.body = body
        self.refused = refused
        self.length: int = node.params["length"]
        self.inputs = body_inputs(node)
        self.carried_out = body.outputs[: len(self.inputs.carried)]
        self.stacked_out = body.outputs[len(self.inputs.carried) :]
        self.readers = _readers(body)
        self.tables: dict[Value, list[Any]] = {body.inputs[-1]: list(range(self.length))}
        self._tabulate()
        self.updates = self._row_updates()
        self._classify()
        while lost := [k for k, one in self.updates.items() if not self._is_had(one.value)]:
            for number in lost:
                del self.updates[number]
            self._classify()
        self.sums: dict[int, list[Term]] = {}
        for number in range(len(self.inputs.carried)):
            terms = self._terms(number) if number not in self.updates else []
            if terms:
                self.sums[number] = terms
        self.inside: set[Node] = set()
        self.sliced: dict[Value, None] = {}
        self.stacked: dict[Value, None] = {}
        self.batched: set[Node] = set()
        self._place()

    @property
    def kept(self) -> list[int]:
        """The numbers of the values that are carried from step to step."""
        done = self.sums.keys() | self.updates.keys()
        return [k for k in range(len(self.carried_out)) if k not in done]

    def is_same(self, value: Value) -> bool:
        """Return whether a value is the same at each step."""
        return isinstance(value, Constant) or value in self._fixed

    def is_whole(self, value: Value) -> bool:
        """Return whether a value is there for all steps without computing or stacking anything."""
        return self.is_same(value) or value in self._given or value in self.tables

    def fits(self, value: Value) -> bool:
        """Return whether the values of all steps may be held at once."""
        return fits(value.type, self.length)

    # Which values are free

    def _classify(self) -> None:
        """Find the values that are free, and those ahead."""
        self._fixed = {*self.inputs.invariants}
        self._fixed.update(value for one in self.updates.values() for value in one.copies)
        self._given = set(self.inputs.sliced)
        self.ahead, self.free = set(self._given), set(self._given)
        for node in self.body.nodes:
            if self._is_free(node):
                self.free.update(node.results)
                if all(self._is_there(value) for value in node.operands):
                    self.ahead.update(node.results)

    def _is_there(self, value: Value) -> bool:
        return self.is_same(value) or value in self.ahead or value in self.tables

    def _tabulate(self) -> None:
        """Find Python's numbers that follow from the number of the step."""
        for node in self.body.nodes:
            if node.results[0].type.form == "weak" and self.length <= costs().tabled_steps:
                numbers = self._numbers(node)
                if numbers is not None:
                    self.tables[node.results[0]] = numbers

    def _numbers(self, node: Node) -> list[Any] | None:
        """What a node makes of numbers that are known at each step; None where they are not, or do
        not fit an array."""
        columns = []
        if not any(value in self.tables for value in node.operands):
            return None
        for value in node.operands:
            if isinstance(value, Constant):
                columns.append([value.data] * self.length)
            elif value in self.tables:
                columns.append(self.tables[value])
            else:
                return None
        try:
            numbers = [node.op.evaluate(*row, **node.params) for row in zip(*columns, strict=True)]
        except ArithmeticError:
            return None
        fits = all(type(n) is float or abs(n) <= np.iinfo(np.int32).max for n in numbers)
        return numbers if fits else None

    def _is_free(self, node: Node) -> bool:
        """Return whether a node can be computed for all steps at once."""
        op = node.op
        if node in self.refused or op.batch is None or has_effect(node):
            return False
        if not all(self.fits(value) for value in node.results):
            return False
        if all(self.is_same(value) for value in node.operands):
            return False
        if op.elements == "taken" and not self._is_read(node.operands[0]):
            return False  # rather than all that it is taken from, the loop stacks what is taken
        return all(self._is_read(value) or self.fits(value) for value in node.operands)

    def _is_read(self, value: Value) -> bool:
        return self.is_same(value) or value in self.tables or value in self.free

    def _is_had(self, value: Value) -> bool:
        """Return whether a value can be there for all steps."""
        return self._is_read(value) or self.fits(value)

    # Rows of their own

    def _row_updates(self) -> dict[int, RowUpdate]:
        """The carried arrays of which each step reads and writes rows of its own."""
        found = {}
        for number, (value, out) in enumerate(
            zip(self.inputs.carried, self.carried_out, strict=True)
        ):
            node = out.node
            if node is None or node.op is not set_item or len(self.readers[out]) > 1:
                continue
            rows = row_index(node, self.tables, self._is_invariant)
            copies = self._copies(value, node)
            new = node.operands[-1]
            if rows is not None and copies and new.type.ndim <= rows.ndim:
                found[number] = RowUpdate(node, copies, new, rows)
        return found

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
        parts = [part for term in found for part in term.parts]
        is_sum = len(self.readers[out]) == 1 and all(map(self._is_added_after, parts))
        return found if is_sum else []

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
            if rows is not None and not self.is_same(node.operands[0]):
                return Term(node.results[0], is_subtracted, node.operands[:1], rows)
            if all(self.is_same(index) for index in node.operands[1:]):
                placed, value = node, node.operands[0]
                node = self._only_read(value)
        factors = () if node is None else _factors(node)
        if node is not None and node.op is transpose and node.params["axes"] == (1, 0):
            inner = self._only_read(node.operands[0])
            factors = () if inner is None else _factors(inner)[::-1]
        if not all(map(self._is_added_after, factors)):
            factors = ()
        return Term(value, is_subtracted, factors or (value,), None, placed)

    def _only_read(self, value: Value) -> Node | None:
        """The node that makes a value which is read once."""
        is_open = value.node not in self.refused and len(self.readers.get(value, ())) == 1
        return value.node if is_open else None

    def _is_added_after(self, part: Value) -> bool:
        return part.type.form != "weak" and not self.is_same(part) and self._is_had(part)

    # Where nodes go

    def _place(self) -> None:
        """Place each node inside or outside of the loop."""
        roots = [self.carried_out[number] for number in self.kept]
        roots += [v for node in self.body.nodes if has_effect(node) for v in node.results]
        while True:
            self.inside, self.sliced, self.stacked, self.batched = set(), {}, {}, set()
            self._keep(roots)
            for terms in self.sums.values():
                for term in terms:
                    self._want(term.parts)
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
            if self.is_whole(value):
                continue
            if value in self.ahead or (value in self.free and node not in self.inside):
                assert node is not None
                if node not in self.batched:
                    self.batched.add(node)
                    left += node.operands
            else:
                self.stacked[value] = None


def _factors(node: Node) -> tuple[Value, ...]:
    """`a` and `b` of a product `outer(a, b)` or `a.T @ b`, of a number and an array, or of a column
    and a row."""
    left, right = node.operands[:2] if len(node.operands) > 1 else (node.results[0],) * 2
    if node.op.product == "outer":
        return left, right
    if node.op.product == "matrices" and left.type.ndim == right.type.ndim == 2:
        turned = made_by(left, "transpose")
        return (turned.operands[0], right) if turned is not None else ()
    if node.op is multiply and left.type.dtype == right.type.dtype:
        for column, row in ((left, right), (right, left)):
            is_column = column.type.ndim == 2 and column.type.shape[1] == 1 == _rows(row)
            if is_column or (not column.type.ndim and row.type.ndim):
                return column, row
    return ()


def _rows(value: Value) -> int:
    """The number of rows of a matrix, or of what is broadcast with one."""
    shape = value.type.shape
    return shape[0] if len(shape) == 2 else 1 if len(shape) == 1 else 0


def has_effect(node: Node) -> bool:
    """Return whether a node, or one of a body that it owns, has an effect."""
    return node.op.effect or any(
        has_effect(inner) for _, body in bodies_of(node) for inner in body.graph.nodes
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
