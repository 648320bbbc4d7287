"""Flattening analysis: what of a graph can be done on flat slices (`passes/flattening.py`), and
where that pays.

What is computed of each other is a group, all of which is done on flat slices or nothing: parts of
arrays, arithmetic on them, parts of what that computes, what is put into arrays, and sums of all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.passes.emission import is_real, made_by
from tracejit.passes.slices import (
    Area,
    FlatSlice,
    Part,
    SliceRows,
    area_of,
    flat_slice_of,
    has_area,
    parents,
)
from tracejit.passes.sum_of_products import is_full
from tracejit.support.cost_model import costs

ARITHMETIC = ("add", "subtract", "multiply", "negative", "copy")
GAPS = {"add_slice": -0.0, "add_item": -0.0, "subtract_item": 0.0, "put_slice": 0.0}
"""Ops that change nothing in the gaps of a flat slice that is added or put in zeros."""


class Flattening:
    """The nodes of a graph that can be computed on flat slices."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.model = costs()
        self.outputs = set(graph.outputs)
        self.views: dict[Value, tuple[Value, FlatSlice]] = {}
        """Parts of arrays, each with the array and where it lies in it."""
        self.rows: dict[Value, SliceRows] = {}
        """What may lie in rows: parts, and what is computed of them."""
        self.updates: dict[Node, FlatSlice] = {}
        """Where an array is added to."""
        self.sums: dict[Node, tuple[Value, ...]] = {}
        """Sums of all, each with what has zeros in its gaps: what is added up, or its factors."""
        self._groups: dict[Value, Value] = {}

    def laid(self) -> set[Node]:
        """The nodes that are better done on flat slices."""
        for node in self.graph.nodes:
            name = node.op.name
            if not (self.rows or name == "getitem") or not self._is_open(node):
                continue
            if name == "getitem":
                self._enter_view(node.results[0])
            elif name in ARITHMETIC:
                self._enter_arithmetic(node)
            elif name in GAPS or name == "set_item":
                self._enter_update(node)
            elif name == "sum" and is_full(node) and node.operands[0] in self._groups:
                self.sums[node] = node.operands
        if not self._groups:
            return set()
        members: dict[Value, list[Node]] = defaultdict(list)
        for node in self.graph.nodes:
            if node.results and node.results[0] in self._groups:
                members[self._group(node.results[0])].append(node)
            elif node in self.updates or node in self.sums:
                members[self._group(node.operands[-1])].append(node)
        readers: dict[Value, list[Node]] = defaultdict(list)
        for node in self.graph.nodes:
            for value in node.operands:
                readers[value].append(node)
        for node, (value,) in self.sums.items():
            made = made_by(value, "multiply")
            if made and len(readers[value]) == 1 and self._groups.keys() >= set(made.operands):
                self.sums[node] = made.operands
        laid: set[Node] = set()
        for nodes in members.values():
            if self.gain(nodes, readers) > 0.0:
                laid.update(nodes)
        return laid

    def _is_open(self, node: Node) -> bool:
        if node.region or len(node.results) != 1:
            return False
        return is_real(node.results[0]) and node.results[0].type.sizes is None

    def _enter_view(self, value: Value) -> None:
        if value.type.size < self.model.least_flat_slice:
            return
        found = list(parents(value))
        if not found:
            return
        base, area = found[-1]
        flat_slice = self._flat_slice_of(area, base)
        if flat_slice is not None and flat_slice.rows.gaps:
            self.views[value] = base, flat_slice
            self.rows[value] = flat_slice.rows

    def _flat_slice_of(self, area: Area, value: Value) -> FlatSlice | None:
        """The place of a part of an array: in the array made flat, or in the rows that it lies
        in."""
        shape = value.type.shape
        if value not in self._groups:
            return flat_slice_of(area, shape)
        rows = self.rows[value]
        return flat_slice_of(area, (shape[0], *rows.lengths)) if rows.extents == shape else None

    def _enter_arithmetic(self, node: Node) -> None:
        result = node.results[0]
        arrays = [value for value in node.operands if value.type.shape]
        found = {self.rows[value] for value in arrays if value in self.rows}
        if len(found) != 1 or any(value.type is not result.type for value in arrays):
            return
        (rows,) = found
        self._enter_result(node, rows)

    def _enter_result(self, node: Node, rows: SliceRows) -> None:
        """A result that lies in rows, with all that it is computed of."""
        result = node.results[0]
        self.rows[result] = rows
        self._groups[result] = result
        for value in node.operands:
            base = self.views[value][0] if value in self.views else value
            if base in self._groups:
                self._groups[self._group(base)] = self._group(result)

    def _enter_update(self, node: Node) -> None:
        value, result = node.operands[-1], node.results[0]
        if len(node.operands) != 1 + (node.op.name != "put_slice") or value not in self._groups:
            return
        area = area_of(node.params["index"], result.type.shape)
        if area is None or not has_area(Part(value, area)):
            return
        if value.type.dtype != result.type.dtype:
            return
        rows = self.rows[value]
        whole = node.operands[0] if len(node.operands) > 1 else result
        flat_slice = self._flat_slice_of(area, whole)
        if flat_slice is not None and flat_slice.rows == rows:
            self.updates[node] = flat_slice
            if whole in self._groups:
                self._enter_result(node, self.rows[whole])
        elif whole is result:
            self._enter_placed(node, area, rows)

    def _enter_placed(self, node: Node, area: Area, rows: SliceRows) -> None:
        """Enter a part placed in zeros that are no longer than the rows that it lies in."""
        shape = node.results[0].type.shape
        if rows.extents != node.operands[0].type.shape:
            return
        if any(n >= length for n, length in zip(shape[1:], rows.lengths, strict=True)):
            return
        flat_slice = flat_slice_of(area, (shape[0], *rows.lengths))
        if flat_slice is not None and flat_slice.rows == rows:
            self.updates[node] = flat_slice
            self._enter_result(node, SliceRows(shape, rows.lengths))

    def is_flat(self, value: Value) -> bool:
        """Return whether a value is computed of parts, rather than a part or a whole array."""
        return value in self._groups

    def _group(self, value: Value) -> Value:
        """One of the values that are computed of each other, the same for all of them."""
        while self._groups[value] is not value:
            self._groups[value] = value = self._groups[self._groups[value]]
        return value

    def _is_strided(self, node: Node) -> bool:
        """Return whether NumPy goes through arrays row by row; a product with the cotangent of the
        result may become one with the number 1."""
        if node.op.name not in ARITHMETIC:
            return False
        numbers = [value for value in node.operands if not value.type.shape]
        is_known = all(isinstance(value, Constant) for value in numbers)
        return is_known and any(value in self.views for value in node.operands)

    def gain(self, nodes: Sequence[Node], readers: dict[Value, list[Node]]) -> float:
        """The time that a group saves, in nanoseconds."""
        if (
            not any(map(self._is_strided, nodes))
            and sum(node in self.updates for node in nodes) < self.model.least_slice_updates
        ):
            return 0.0
        inside, model = set(nodes), self.model
        entering: dict[Value, SliceRows] = {}
        leaving: dict[Value, SliceRows] = {}
        filled: set[Value] = set()
        gain = 0.0
        for node in nodes:
            result = node.results[0]
            if node in self.sums:
                filled.update(self.sums[node])
                continue
            rows = self.updates[node].rows if node in self.updates else self.rows[result]
            gain -= rows.gaps * model.flat_element
            if node in self.updates or self._is_strided(node):
                gain += rows.number * model.slice_row
            if node in self.updates:
                filled.add(node.operands[-1])
            else:
                arrays = [value for value in node.operands if value.type.shape]
                entering.update((value, rows) for value in arrays if value not in self.rows)
            if result not in self._groups:
                continue
            if result in self.outputs or not inside.issuperset(self._users(result, readers)):
                leaving[result] = self.rows[result]
        for rows in (*entering.values(), *leaving.values(), *leaving.values()):
            gain -= (
                rows.number * model.slice_row
                + rows.size * model.flat_element
                + model.flat_statement
            )
        for value in filled:
            rows = self.rows[value]
            gain -= sum(
                rows.size // n * model.filled_row + model.flat_statement for _, n in rows.levels
            )
        return gain

    def _users(self, value: Value, readers: dict[Value, list[Node]]) -> Iterator[Node]:
        """The nodes that read a value, also as a part of it."""
        for node in readers[value]:
            if node.results and node.results[0] in self.views:
                yield from self._users(node.results[0], readers)
            else:
                yield node
