"""Layout: what of a graph can be laid in stretches (`passes/stretches.py`), and where that pays.

What is computed of each other is a group, all of which is laid in stretches or nothing: parts of
arrays, arithmetic on them, parts of what that computes, what is put into arrays, and sums of all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.passes.areas import Area, Part, area_of, has_area, parents
from tracejit.passes.emission import for_decisions, is_real, made_by
from tracejit.passes.rows import Rows, Stretch, stretch_of
from tracejit.passes.sum_of_products import is_full

ARITHMETIC = ("add", "subtract", "multiply", "negative", "copy")
GAPS = {"add_slice": -0.0, "add_item": -0.0, "subtract_item": 0.0, "put_slice": 0.0}
"""What in the gaps of a stretch changes nothing where it is added to an array, or put in zeros."""
LEAST_ELEMENTS = 256
"""From as many elements on a part is laid in a stretch."""
LEAST_UPDATES = 3
"""As often at least something is put into arrays that is no more than a part of an array."""
ROW = 50.0
"""What a row costs that is gone through by itself, in nanoseconds; below what an element costs, a
row whose gap is filled, and a statement."""
ELEMENT = 0.25
FILLED_ROW = 8.0
STATEMENT = 700.0


class Layout:
    """What of a graph can be laid in stretches."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.outputs = set(graph.outputs)
        self.kept = for_decisions(graph)
        self.views: dict[Value, tuple[Value, Stretch]] = {}
        """Parts of arrays, each with the array and where it lies in it."""
        self.rows: dict[Value, Rows] = {}
        """What may lie in rows: parts, and what is computed of them."""
        self.updates: dict[Node, Stretch] = {}
        """Where an array is added to."""
        self.sums: dict[Node, tuple[Value, ...]] = {}
        """Sums of all, each with what has zeros in its gaps: what is added up, or its factors."""
        self._groups: dict[Value, Value] = {}

    def laid(self) -> set[Node]:
        """The nodes that are better done in stretches."""
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
        if node in self.kept or node.region or len(node.results) != 1:
            return False
        return is_real(node.results[0]) and node.results[0].type.sizes is None

    def _enter_view(self, value: Value) -> None:
        if value.type.size < LEAST_ELEMENTS:
            return
        found = list(parents(value))
        if not found:
            return
        base, area = found[-1]
        stretch = self._stretch_of(area, base)
        if stretch is not None and stretch.rows.gaps:
            self.views[value] = base, stretch
            self.rows[value] = stretch.rows

    def _stretch_of(self, area: Area, value: Value) -> Stretch | None:
        """Where a part of an array lies: in the array made flat, or in the rows that it lies in."""
        shape = value.type.shape
        if value not in self._groups:
            return stretch_of(area, shape)
        rows = self.rows[value]
        return stretch_of(area, (shape[0], *rows.lengths)) if rows.extents == shape else None

    def _enter_arithmetic(self, node: Node) -> None:
        result = node.results[0]
        arrays = [value for value in node.operands if value.type.shape]
        found = {self.rows[value] for value in arrays if value in self.rows}
        if len(found) != 1 or any(value.type is not result.type for value in arrays):
            return
        (rows,) = found
        self._enter_result(node, rows)

    def _enter_result(self, node: Node, rows: Rows) -> None:
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
        stretch = self._stretch_of(area, whole)
        if stretch is not None and stretch.rows == rows:
            self.updates[node] = stretch
            if whole in self._groups:
                self._enter_result(node, self.rows[whole])
        elif whole is result:
            self._enter_placed(node, area, rows)

    def _enter_placed(self, node: Node, area: Area, rows: Rows) -> None:
        """What is put in zeros that are no longer than the rows that it lies in."""
        shape = node.results[0].type.shape
        if rows.extents != node.operands[0].type.shape:
            return
        if any(n >= length for n, length in zip(shape[1:], rows.lengths, strict=True)):
            return
        stretch = stretch_of(area, (shape[0], *rows.lengths))
        if stretch is not None and stretch.rows == rows:
            self.updates[node] = stretch
            self._enter_result(node, Rows(shape, rows.lengths))

    def is_laid_out(self, value: Value) -> bool:
        """Tell if a value is computed of parts, rather than a part or a whole array."""
        return value in self._groups

    def _group(self, value: Value) -> Value:
        """One of the values that are computed of each other, the same for all of them."""
        while self._groups[value] is not value:
            self._groups[value] = value = self._groups[self._groups[value]]
        return value

    def _is_strided(self, node: Node) -> bool:
        """Tell if NumPy goes through arrays row by row; what is multiplied by the cotangent of the
        result may be multiplied by the number 1."""
        if node.op.name not in ARITHMETIC:
            return False
        numbers = [value for value in node.operands if not value.type.shape]
        is_known = all(isinstance(value, Constant) for value in numbers)
        return is_known and any(value in self.views for value in node.operands)

    def gain(self, nodes: Sequence[Node], readers: dict[Value, list[Node]]) -> float:
        """The time that a group saves, in nanoseconds."""
        if (
            not any(map(self._is_strided, nodes))
            and sum(node in self.updates for node in nodes) < LEAST_UPDATES
        ):
            return 0.0
        inside = set(nodes)
        entering: dict[Value, Rows] = {}
        leaving: dict[Value, Rows] = {}
        filled: set[Value] = set()
        gain = 0.0
        for node in nodes:
            result = node.results[0]
            if node in self.sums:
                filled.update(self.sums[node])
                continue
            rows = self.updates[node].rows if node in self.updates else self.rows[result]
            gain -= rows.gaps * ELEMENT
            if node in self.updates or self._is_strided(node):
                gain += rows.number * ROW
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
            gain -= rows.number * ROW + rows.size * ELEMENT + STATEMENT
        for value in filled:
            rows = self.rows[value]
            gain -= sum(rows.size // n * FILLED_ROW + STATEMENT for _, n in rows.levels)
        return gain

    def _users(self, value: Value, readers: dict[Value, list[Node]]) -> Iterator[Node]:
        """The nodes that read a value, also as a part of it."""
        for node in readers[value]:
            if node.results and node.results[0] in self.views:
                yield from self._users(node.results[0], readers)
            else:
                yield node
