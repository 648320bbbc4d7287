'''Stretches: a part of each row of an array as one stretch of its elements in a row.

A part u[a:b, c:d] of an array has gaps between its rows, and NumPy goes through it row by row.
With what lies in the gaps it is one stretch of the array made flat, which it goes through several
times as fast: u.ravel()[start:stop]. What is added, subtracted and multiplied of such parts is
computed in stretches, and added to arrays so. An array that is no part of another but of the same
shape gets gaps with zeros.

No element in a gap reaches a result. Before a stretch is added to an array its gaps are cleared,
to the zero that leaves every number what it is, -0.0 among them: whatever the gaps hold, infinities
and nan included, ends there. What something else reads is taken out of its stretch. In a gap stand
numbers that NumPy would not have computed; an overflow there may be warned of, as of kernels no
warnings are promised, and no other operations are done in them than those that are never slow.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph("""graph f(u: f8[99,99]) -> z: f8[99,99]
...   a    f8[97,97] = getitem u  index=(('slice', 1, 98, None), ('slice', None, 97, None))
...   b    f8[97,97] = getitem u  index=(('slice', 1, 98, None), ('slice', 2, None, None))
...   b_1  f8[97,97] = add a b
...   z    f8[99,99] = add_slice u b_1  index=(('slice', 1, 98, None), ('slice', 1, 98, None))
... """, OPS)
>>> print(print_graph(drop_dead(lay_in_stretches(graph))), end="")
graph f(u: f8[99,99]) -> z: f8[99,99]
  u_flat f8[9801] = ravel u
  a      f8[9601] = getitem u_flat  index=(('slice', 99, 9700, None),)
  b      f8[9601] = getitem u_flat  index=(('slice', 101, 9702, None),)
  b_1    f8[9601] = add a b
  b_2    f8[9601] = clear_gaps b_1  used=97 length=99 negative=True
  z_1    f8[9801] = add_slice u_flat b_2  index=(('slice', 100, 9701, None),)
  z      f8[99,99] = reshape z_1  shape=(99, 99)
'''

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.indexing import FULL
from tracejit.passes.areas import Area, Part, area_of, has_area, parents
from tracejit.passes.emission import emit, for_decisions, is_real
from tracejit.passes.rebuild import rebuild

ARITHMETIC = ("add", "subtract", "multiply", "negative")
ADDING = ("add_slice", "add_item")
UPDATES = (*ADDING, "subtract_item")
LEAST_ELEMENTS = 256
"""From as many elements on a part is laid in a stretch."""
ROW = 50.0
"""What a row costs that is gone through by itself, in nanoseconds; below what an element costs, a
row whose gap is cleared, and a statement."""
ELEMENT = 0.25
CLEARED_ROW = 8.0
STATEMENT = 700.0


class Rows(NamedTuple):
    """`count` rows of `length`, one after the other, of each of which `used` elements count."""

    count: int
    used: int
    length: int

    @property
    def size(self) -> int:
        """The elements of the stretch, which ends with the last that counts."""
        return (self.count - 1) * self.length + self.used

    @property
    def gaps(self) -> int:
        """The elements that do not count."""
        return self.size - self.count * self.used


class Stretch(NamedTuple):
    """The elements of an array made flat from `start` on, in rows."""

    start: int
    rows: Rows

    @property
    def index(self) -> tuple[object, ...]:
        """The index that selects it."""
        return (("slice", self.start or None, self.start + self.rows.size, None),)


def stretch_of(area: Area, shape: Sequence[int]) -> Stretch | None:
    """The stretch that an area lies in; None where it is more than a part of each row.

    >>> stretch_of(((1, 4), (2, 6)), (5, 8))
    Stretch(start=10, rows=Rows(count=3, used=4, length=8))
    """
    extents = [last - first for first, last in area]
    if not extents or min(extents) < 1:
        return None
    axis = max((k for k, n in enumerate(shape) if extents[k] < n), default=0)
    if any(extents[k] < shape[k] for k in range(1, axis)):
        return None
    inner = math.prod(shape[axis + 1 :])
    used, length = extents[axis] * inner, shape[axis] * inner
    count = math.prod(extents[:axis])
    start = area[axis][0] * inner
    if axis:
        start += area[0][0] * math.prod(shape[1:])
    return Stretch(start, Rows(count, used, length if count > 1 else used))


def lay_in_stretches(graph: Graph) -> Graph:
    """`graph` with arithmetic on parts of the rows of arrays done in stretches."""
    search = _Search(graph)
    laid = search.laid()
    if not laid:
        return graph
    return rebuild(graph, _Layer(graph, search, laid).rewrite)


class _Search:
    """What of a graph can be laid in stretches."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.kept = for_decisions(graph)
        self.views: dict[Value, tuple[Value, Stretch]] = {}
        """Parts of arrays, each with the array and where it lies in it."""
        self.rows: dict[Value, Rows] = {}
        """What may lie in rows: parts, and what is computed of them."""
        self.updates: dict[Node, Stretch] = {}
        """Where an array is added to."""
        self._groups: dict[Value, Value] = {}

    def laid(self) -> set[Node]:
        """The nodes that are better done in stretches."""
        for node in self.graph.nodes:
            if not self._is_open(node):
                continue
            if node.op.name == "getitem":
                self._enter_view(node.results[0])
            elif node.op.name in ARITHMETIC:
                self._enter_arithmetic(node)
            elif node.op.name in UPDATES:
                self._enter_update(node)
        if not self._groups:
            return set()
        members: dict[Value, list[Node]] = defaultdict(list)
        for value in self._groups:
            assert value.node is not None
            members[self._group(value)].append(value.node)
        for node in self.updates:
            members[self._group(node.operands[1])].append(node)
        readers: dict[Value, list[Node]] = defaultdict(list)
        for node in self.graph.nodes:
            for value in node.operands:
                readers[value].append(node)
        laid: set[Node] = set()
        for nodes in members.values():
            if self._gain(nodes, readers) > 0.0:
                laid.update(nodes)
        return laid

    def _is_open(self, node: Node) -> bool:
        if node in self.kept or node.region or len(node.results) != 1:
            return False
        return is_real(node.results[0]) and node.results[0].type.sizes is None

    def _enter_view(self, value: Value) -> None:
        found = list(parents(value))
        if not found or value.type.size < LEAST_ELEMENTS:
            return
        base, area = found[-1]
        stretch = stretch_of(area, base.type.shape)
        if stretch is not None and stretch.rows.gaps:
            self.views[value] = base, stretch
            self.rows[value] = stretch.rows

    def _enter_arithmetic(self, node: Node) -> None:
        result = node.results[0]
        arrays = [value for value in node.operands if value.type.shape]
        found = {self.rows[value] for value in arrays if value in self.rows}
        if len(found) != 1 or any(value.type is not result.type for value in arrays):
            return
        (self.rows[result],) = found
        self._groups[result] = result
        for value in arrays:
            if value in self._groups:
                self._groups[self._group(value)] = self._group(result)

    def _enter_update(self, node: Node) -> None:
        whole, value = node.operands[0], node.operands[-1]
        if len(node.operands) != 2 or value not in self._groups:
            return
        shape = whole.type.shape
        area = area_of(node.params["index"], shape)
        if area is None or not has_area(Part(value, area)):
            return
        stretch = stretch_of(area, shape)
        if stretch is not None and stretch.rows == self.rows[value]:
            self.updates[node] = stretch

    def _group(self, value: Value) -> Value:
        """One of the values that are computed of each other, the same for all of them."""
        while self._groups[value] is not value:
            self._groups[value] = value = self._groups[self._groups[value]]
        return value

    def _gain(self, nodes: Sequence[Node], readers: dict[Value, list[Node]]) -> float:
        """The time that a group saves, in nanoseconds."""
        inside = set(nodes)
        entering: set[Value] = set()
        leaving: set[Value] = set()
        cleared: set[Value] = set()
        gain = 0.0
        rows = self.rows[nodes[0].results[0]]
        outputs = set(self.graph.outputs)
        for node in nodes:
            gain -= rows.gaps * ELEMENT
            if node in self.updates:
                cleared.add(node.operands[1])
                gain += rows.count * ROW
                continue
            (result,) = node.results
            arrays = [value for value in node.operands if value.type.shape]
            if any(value in self.views for value in arrays):
                gain += rows.count * ROW
            entering.update(value for value in arrays if value not in self.rows)
            if result in outputs or not inside.issuperset(readers[result]):
                leaving.add(result)
        moved = rows.count * ROW + rows.size * ELEMENT
        gain -= (len(entering) + 2 * len(leaving)) * (moved + STATEMENT)
        return gain - len(cleared) * (rows.count * CLEARED_ROW + STATEMENT)


class _Layer:
    """The rewriting of a graph, of which the nodes `laid` are done in stretches."""

    def __init__(self, graph: Graph, search: _Search, laid: set[Node]) -> None:
        self.search = search
        self.laid = laid
        self.known: dict[Value, Value] = {}
        self.flat: dict[Value, Value] = {}
        """What is there as a stretch, and whole arrays made flat."""
        self.wholes: set[Value] = set()
        self.read: set[Value] = set()
        self.left = set(graph.outputs)
        self.signs: dict[Value, bool] = {}
        """What is added to an array or taken off it, and whether -0.0 changes nothing there."""
        for node in graph.nodes:
            if node in laid:
                self.read.update(node.operands)
            else:
                self.left.update(node.operands)
            if node in laid and node in search.updates:
                value = node.operands[1]
                self.signs[value] = self.signs.get(value, False) or node.op.name in ADDING

    def rewrite(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Any:
        """What stands for a node: where nothing reads it but stretches, the node itself, which is
        dropped."""
        self.known.update(zip(node.operands, operands, strict=True))
        result = node.results[0] if len(node.results) == 1 else None
        if result in self.search.views and result in self.read:
            assert result is not None
            base, stretch = self.search.views[result]
            whole = self._whole(new, node, base)
            self.flat[result] = emit(new, node, "getitem", (whole,), index=stretch.index)
            return None
        if result is None or node not in self.laid:
            return self._of_wholes(new, node)
        if node in self.search.updates:
            return (self._updated(new, node),)
        rows = self.search.rows[result]
        stretches = tuple(self._stretch(new, node, value, rows) for value in node.operands)
        value = emit(new, node, node.op.name, stretches, **node.params)
        value.take_name(result)
        if result in self.signs:
            value = _cleared(new, node, value, rows, self.signs[result])
            value.take_name(result)
        self.flat[result] = value
        return (_taken_out(new, node, value, rows),) if result in self.left else None

    def _whole(self, new: Graph, node: Node, value: Value) -> Value:
        """An array made flat."""
        if value not in self.flat:
            flat = emit(new, node, "ravel", (self.known[value],))
            flat.base = f"{value.base or value.name}_flat"
            self.flat[value] = flat
        return self.flat[value]

    def _stretch(self, new: Graph, node: Node, value: Value, rows: Rows) -> Value:
        """An operand as a stretch; numbers stay."""
        if not value.type.shape:
            return self.known[value]
        if value not in self.flat:
            self.flat[value] = _spread(new, node, self.known[value], rows)
        return self.flat[value]

    def _updated(self, new: Graph, node: Node) -> Value:
        """An array of which a part is added to, made of itself made flat."""
        whole, value = node.operands
        result, stretch = node.results[0], self.search.updates[node]
        negative = node.op.name in ADDING
        added = self.flat[value]
        if self.signs[value] is not negative:
            added = _cleared(new, node, added, stretch.rows, negative)
        flat = self._whole(new, node, whole)
        params = {**node.params, "index": stretch.index}
        flat = emit(new, node, node.op.name, (flat, added), **params)
        flat.take_name(result)
        return self._known_flat(new, node, flat)

    def _known_flat(self, new: Graph, node: Node, flat: Value) -> Value:
        """The result of a node, which is there as a flat array."""
        result = node.results[0]
        self.flat[result] = flat
        self.wholes.add(result)
        return emit(new, node, "reshape", (flat,), shape=result.type.shape)

    def _of_wholes(self, new: Graph, node: Node) -> Sequence[Value] | None:
        """Arithmetic on what is flat stays flat, and so do sums of all."""
        arrays = [value for value in node.operands if value.type.shape]
        if not arrays or not self.wholes.issuperset(arrays) or node.region:
            return None
        if node in self.search.kept:
            return None
        result = node.results[0]
        operands = tuple(self.flat.get(value, self.known[value]) for value in node.operands)
        if node.op.name in ARITHMETIC:
            flat = emit(new, node, node.op.name, operands, **node.params)
            flat.take_name(result)
            return (self._known_flat(new, node, flat),)
        if node.op.name == "sum" and not result.type.shape and is_real(result):
            return (emit(new, node, "sum", operands, **{**node.params, "axis": (0,)}),)
        return None


def _cleared(new: Graph, node: Node, value: Value, rows: Rows, negative: bool) -> Value:
    """A stretch with zeros in its gaps."""
    sizes = {"used": rows.used, "length": rows.length}
    return emit(new, node, "clear_gaps", (value,), **sizes, negative=negative)


def _spread(new: Graph, node: Node, value: Value, rows: Rows) -> Value:
    """An array as a stretch with zeros in its gaps."""
    shape = rows.count, rows.used
    name = value.base or value.name
    spread = (
        value if value.type.shape == shape else emit(new, node, "reshape", (value,), shape=shape)
    )
    wide = {"shape": (rows.count, rows.length), "index": (FULL, ("slice", None, rows.used, None))}
    spread = emit(new, node, "put_slice", (spread,), **wide)
    spread.base = f"{name}_rows"
    spread = emit(new, node, "ravel", (spread,))
    spread = emit(new, node, "getitem", (spread,), index=Stretch(0, rows).index)
    spread.base = f"{name}_flat"
    return spread


def _taken_out(new: Graph, node: Node, value: Value, rows: Rows) -> Value:
    """What a stretch holds, without its gaps."""
    index = Stretch(0, rows).index
    size = rows.count * rows.length
    whole = emit(new, node, "put_slice", (value,), shape=(size,), index=index)
    whole.base = f"{value.base or value.name}_rows"
    whole = emit(new, node, "reshape", (whole,), shape=(rows.count, rows.length))
    used = (FULL, ("slice", None, rows.used, None))
    part = emit(new, node, "getitem", (whole,), index=used)
    shape = node.results[0].type.shape
    return part if part.type.shape == shape else emit(new, node, "reshape", (part,), shape=shape)
