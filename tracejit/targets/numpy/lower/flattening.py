'''Flattening of strided slices: a part of each row of an array as one slice of the flat array.

A part u[a:b, c:d] of an array has gaps between its rows, and NumPy goes through it row by row. With
what lies in the gaps it is one slice of the array made flat, which it goes through several times as
fast: u.ravel()[start:stop]. What is added, subtracted and multiplied of such parts is computed of
flat slices, parts of that are flat slices again, and they are added to arrays so. An array that is
not a part of another but of the same shape gets gaps with zeros. All that lies in rows of one
length is done on flat slices where that saves time, or nothing is.

No element in a gap reaches a result, so that every bit stays what it is. Before a flat slice is
added to an array its gaps are filled with the zero that leaves every number what it is, -0.0 among
them: whatever the gaps hold, infinities and nan included, ends there. Before it replaces a part of
an array they are filled with what lies between the rows of that. What something else reads is taken
out of its flat slice. In a gap stand numbers that NumPy would not have computed: an overflow there
may be warned of, as no warnings of kernels are promised; where warnings are errors, the call is
made again without the kernel. So nothing is computed there but sums and products.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> graph = parse_graph("""graph f(u: f8[99,99]) -> z: f8[99,99]
...   a    f8[97,97] = getitem u  index=(('slice', 1, 98, None), ('slice', None, 97, None))
...   b    f8[97,97] = getitem u  index=(('slice', 1, 98, None), ('slice', 2, None, None))
...   d    f8[97,97] = add a b
...   z    f8[99,99] = add_slice u d  index=(('slice', 1, 98, None), ('slice', 1, 98, None))
... """, OPS)
>>> print(print_graph(drop_dead(flatten_slices(graph))), end="")
graph f(u: f8[99,99]) -> z: f8[99,99]
  u_flat_1  f8[9801]  = ravel u
  a_1       f8[9601]  = getitem u_flat_1  index=(('slice', 99, 9700, None),)
  b_1       f8[9601]  = getitem u_flat_1  index=(('slice', 101, 9702, None),)
  d_1       f8[9601]  = add a_1 b_1
  d_2       f8[9601]  = fill_gaps d_1 -0.0  used=97 length=99
  z_1       f8[9801]  = add_slice u_flat_1 d_2  index=(('slice', 100, 9701, None),)
  z         f8[99,99] = reshape z_1  shape=(99, 99)
'''

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tracejit.ir.dims import estimated
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ops.indexing.indexing import FULL
from tracejit.passes.algebra.sum_of_products import is_full
from tracejit.passes.framework.emission import emit, is_real, made_by
from tracejit.passes.framework.rebuild import rebuild
from tracejit.passes.layout.slices import (
    Area,
    FlatSlice,
    Part,
    SliceRows,
    area_of,
    flat_slice_of,
    has_area,
    parents,
)
from tracejit.support.cost_model import costs

ARITHMETIC = ("add", "subtract", "multiply", "negative", "copy")
Readers = Mapping[Value, Sequence[Node | None]]
GAPS = {"add_slice": -0.0, "add_item": -0.0, "subtract_item": 0.0, "put_slice": 0.0}
"""Ops that change nothing in the gaps of a flat slice that is added or put in zeros."""


def flatten_slices(graph: Graph) -> Graph:
    """`graph` with arithmetic on parts of the rows of arrays done on flat slices."""
    flattening = Flattening(graph)
    laid = flattening.laid()
    return rebuild(graph, _Flattener(flattening, laid).rewrite) if laid else graph


class Flattening:
    """The nodes of a graph that can be computed on flat slices, and the time that this saves."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.views: dict[Value, tuple[Value, FlatSlice]] = {}
        """Parts of arrays, each with the array and where it lies in it."""
        self.rows: dict[Value, SliceRows] = {}
        """The values that may lie in rows: parts, and what is computed of them."""
        self.updates: dict[Node, FlatSlice] = {}
        """The places where an array is added to."""
        self.sums: dict[Node, tuple[Value, ...]] = {}
        """Sums of all, each with what has zeros in its gaps: what is added up, or its factors."""
        self._groups: dict[tuple[int, ...], list[Node]] = defaultdict(list)
        """Nodes that are done on flat slices together, by the lengths of rows."""

    def laid(self) -> set[Node]:
        """The nodes that are better done on flat slices."""
        for node in self.graph.nodes:
            name = node.op.name
            if not (self.rows or name == "getitem") or not _is_open(node):
                continue
            if name == "getitem":
                self._enter_view(node.results[0])
            elif name in ARITHMETIC:
                self._enter_arithmetic(node)
            elif name in GAPS or name == "set_item":
                self._enter_update(node)
            elif is_full(node) and self.is_flat(node.operands[0]):
                self.sums[node] = node.operands
                self._groups[self.rows[node.operands[0]].lengths].append(node)
        if not self._groups:
            return set()
        readers: dict[Value, list[Node | None]] = defaultdict(list)
        for node in self.graph.nodes:
            for value in node.operands:
                readers[value].append(node)
        for value in self.graph.outputs:
            readers[value].append(None)
        for node, (value,) in self.sums.items():
            made = made_by(value, "multiply")
            if made and len(readers[value]) == 1 and all(map(self.is_flat, made.operands)):
                self.sums[node] = made.operands
        least = costs().least_flat_share * _time_of(self.graph)
        groups = [group for group in self._groups.values() if self.gain(group, readers) > least]
        return {node for group in groups for node in group}

    def is_flat(self, value: Value) -> bool:
        """Return whether a value is computed of parts, rather than a part or a whole array."""
        return value in self.rows and value not in self.views

    def _enter_view(self, value: Value) -> None:
        found = list(parents(value)) if value.type.size >= costs().least_flat_slice else []
        if found:
            base, area = found[-1]
            flat_slice = self._flat_slice_of(area, base)
            if flat_slice is not None and flat_slice.rows.gaps:
                self.views[value] = base, flat_slice
                self.rows[value] = flat_slice.rows

    def _flat_slice_of(self, area: Area, value: Value) -> FlatSlice | None:
        """The place of a part of an array: in the array made flat, or in the rows that it lies
        in."""
        shape = value.type.shape
        if not self.is_flat(value):
            return flat_slice_of(area, shape)
        rows = self.rows[value]
        if rows.extents != shape:
            return None
        found = flat_slice_of(area, (shape[0], *rows.lengths))
        return found if found and found.rows.lengths == rows.lengths else None

    def _enter_result(self, node: Node, rows: SliceRows) -> None:
        self.rows[node.results[0]] = rows
        self._groups[rows.lengths].append(node)

    def _enter_arithmetic(self, node: Node) -> None:
        type = node.results[0].type
        arrays = [value for value in node.operands if value.type.shape]
        found = {self.rows[value] for value in arrays if value in self.rows}
        if len(found) == 1 and all(value.type is type for value in arrays):
            self._enter_result(node, found.pop())

    def _enter_update(self, node: Node) -> None:
        value, result = node.operands[-1], node.results[0]
        if len(node.operands) != 1 + (node.op.name != "put_slice") or not self.is_flat(value):
            return
        area = area_of(node.params["index"], result.type.shape)
        if area is None or not has_area(Part(value, area)):
            return
        if value.type.dtype != result.type.dtype:
            return
        rows = self.rows[value]
        whole = node.operands[0] if len(node.operands) > 1 else result
        flat_slice, within = self._flat_slice_of(area, whole), self.rows.get(whole)
        if whole is result and (flat_slice is None or flat_slice.rows != rows):
            within = rows.around(value.type.shape, result.type.shape)
            flat_slice = within and flat_slice_of(area, (within.extents[0], *rows.lengths))
        if flat_slice is None or flat_slice.rows != rows:
            return
        self.updates[node] = flat_slice
        if within is not None and whole not in self.views:
            self._enter_result(node, within)
        else:
            self._groups[rows.lengths].append(node)

    def _is_strided(self, node: Node) -> bool:
        """Return whether NumPy goes through arrays row by row; a product with the cotangent of the
        result may become one with the number 1."""
        if node.op.name not in ARITHMETIC:
            return False
        numbers = [value for value in node.operands if not value.type.shape]
        is_known = all(isinstance(value, Constant) for value in numbers)
        return is_known and any(value in self.views for value in node.operands)

    def gain(self, nodes: Sequence[Node], readers: Readers) -> float:
        """The time that it saves to do `nodes` on flat slices, in nanoseconds."""
        model, gain = costs(), 0.0
        updates = [node for node in nodes if node in self.updates]
        strided = [node for node in nodes if self._is_strided(node)]
        if not strided and len(updates) < model.least_slice_updates:
            return 0.0
        entering: set[tuple[Value, SliceRows]] = set()
        leaving: list[SliceRows] = []
        for node in nodes:
            result = node.results[0]
            if node in self.sums:
                continue
            rows = self._rows_of(node)
            gain -= rows.gaps * model.flat_element
            if node not in self.updates:
                arrays = [value for value in node.operands if value.type.shape]
                entering.update((value, rows) for value in arrays if value not in self.rows)
            if result in self.rows and not self._users(result, readers) <= {*nodes}:
                leaving.append(self.rows[result])
        for node in (*updates, *strided):
            gain += self._rows_of(node).number * model.slice_row
        for rows in (*[rows for _, rows in entering], *leaving, *leaving):
            gain -= rows.number * model.slice_row + rows.size * model.flat_element
            gain -= model.flat_statement
        filled = {node.operands[-1] for node in updates}
        filled.update(*[self.sums[node] for node in nodes if node in self.sums])
        for value in filled:
            size, levels = self.rows[value].size, self.rows[value].levels
            times = [size // n * model.filled_row + model.flat_statement for _, n in levels]
            gain -= sum(times)
        return gain

    def _rows_of(self, node: Node) -> SliceRows:
        """The rows that a node goes through."""
        return self.updates[node].rows if node in self.updates else self.rows[node.results[0]]

    def _users(self, value: Value, readers: Readers) -> set[Node | None]:
        """The nodes that read a value, also as a part of it; None for an output."""
        users = set(readers[value])
        for node in readers[value]:
            if node is not None and node.results and node.results[0] in self.views:
                users.remove(node)
                users |= self._users(node.results[0], readers)
        return users


def _time_of(graph: Graph) -> float:
    """The time of a graph, in nanoseconds."""
    model, time = costs(), 0.0
    for node in graph.nodes:
        operations = node.op.cost(*[value.type for value in node.operands], **node.params)
        per_operation = model.multiplication if node.op.product else 1.0
        time += estimated((operations,)) * per_operation * model.addition + model.array_call
    return time


def _is_open(node: Node) -> bool:
    if node.region or len(node.results) != 1:
        return False
    return is_real(node.results[0]) and node.results[0].type.sizes is None


class _Flattener:
    """The rewriting of a graph, of which the nodes `laid` are done on flat slices."""

    def __init__(self, flattening: Flattening, laid: set[Node]) -> None:
        self.flattening, self.laid = flattening, laid
        self.views, self.rows = flattening.views, flattening.rows
        self.known: dict[Value, Value] = {}
        self.flat_slices: dict[Value, Value] = {}
        self.spread: dict[tuple[Value, SliceRows], Value] = {}
        """The values that have gaps with zeros in these rows."""
        self.filled: dict[Value, str] = {}
        """The number in the gaps of a flat slice."""
        self.flat: dict[Value, Value] = {}
        """Whole arrays made flat."""
        self.made: set[Value] = set()
        """Of these the ones that are made flat in the first place."""
        sums = [node for node in flattening.sums if node in laid]
        self.products = {node.operands[0] for node in sums if len(flattening.sums[node]) > 1}
        """The values that are added up and no more, whose factors have zeros in their gaps."""
        nodes = flattening.graph.nodes
        self.read = {value for node in laid for value in node.operands}
        self.left = {value for node in nodes if node not in laid for value in node.operands}
        self.left.update(flattening.graph.outputs)

    def rewrite(
        self, new: Graph, node: Node, operands: tuple[Value, ...]
    ) -> Sequence[Value] | None:
        """The replacement of a node: where only flat slices read it, the node itself, which is
        dropped."""
        self.known.update(zip(node.operands, operands, strict=True))
        result = node.results[0] if node.results else None
        if result in self.views and result in self.read:
            base, flat_slice = self.views[result]
            whole = self._home(new, node, base)
            self.flat_slices[result] = emit(
                new, node, "getitem", (whole,), index=flat_slice.selection
            )
        if result is None or node not in self.laid:
            return self._of_wholes(new, node)
        if node in self.flattening.updates:
            return self._updated(new, node)
        if node in self.flattening.sums:
            return (self._summed(new, node),)
        if result in self.products:
            for value in node.operands:
                self._filled(new, node, value, 0.0)
        rows = self.rows[result]
        operands = tuple([self._flat_slice(new, node, one, rows) for one in node.operands])
        return self._known_slice(new, node, emit(new, node, node.op, operands, **node.params))

    def _known_slice(self, new: Graph, node: Node, value: Value) -> Sequence[Value] | None:
        """The result of a node, which is there as a flat slice."""
        result = node.results[0]
        _be_called(value, result)
        self.flat_slices[result] = value
        if result not in self.left:
            return None
        return (_taken_out(new, node, value, self.rows[result]),)

    def _home(self, new: Graph, node: Node, value: Value) -> Value:
        """The array that the parts of an array lie in: the array as a flat slice, or made flat."""
        if self.flattening.is_flat(value):
            return self.flat_slices[value]
        return self._whole(new, node, value)

    def _whole(self, new: Graph, node: Node, value: Value) -> Value:
        """An array made flat."""
        if value not in self.flat:
            flat = emit(new, node, "ravel", (self.known[value],))
            self.flat[value] = _named(flat, value, "_flat")
        return self.flat[value]

    def _flat_slice(self, new: Graph, node: Node, value: Value, rows: SliceRows) -> Value:
        """An operand as a flat slice; numbers stay."""
        if not value.type.shape:
            return self.known[value]
        if value in self.flat_slices:
            return self.flat_slices[value]
        if (value, rows) not in self.spread:
            self.spread[value, rows] = _with_gaps(new, node, self.known[value], rows)
        return self.spread[value, rows]

    def _updated(self, new: Graph, node: Node) -> Sequence[Value] | None:
        """An array of which a part is added to, made of itself made flat."""
        value, flat_slice = node.operands[-1], self.flattening.updates[node]
        wholes = tuple([self._home(new, node, whole) for whole in node.operands[:-1]])
        result = node.results[0]
        params = {**node.params, "index": flat_slice.selection}
        if not wholes:
            params["shape"] = (self.rows[result].size if result in self.rows else result.type.size,)
        if node.op.name in GAPS:
            added = self._filled(new, node, value, GAPS[node.op.name])
        else:
            added = self._replacing(new, node, flat_slice, wholes)
        flat = emit(new, node, node.op, (*wholes, added), **params)
        if result in self.rows:
            return self._known_slice(new, node, flat)
        return self._known_flat(new, node, flat)

    def _known_flat(self, new: Graph, node: Node, flat: Value) -> Sequence[Value]:
        """The result of a node, which is there as a flat array."""
        result = node.results[0]
        _be_called(flat, result)
        self.flat[result] = flat
        self.made.add(result)
        return (emit(new, node, "reshape", (flat,), shape=result.type.shape),)

    def _of_wholes(self, new: Graph, node: Node) -> Sequence[Value] | None:
        """Arithmetic on what is made flat is done on flat arrays, and so are sums of all."""
        arrays = [value for value in node.operands if value.type.shape]
        if self.made.isdisjoint(arrays) or node.region:
            return None
        is_sum = is_full(node)
        is_alike = all(value.type is node.results[0].type for value in arrays)
        if not is_sum and not (node.op.name in ARITHMETIC and is_alike):
            return None
        operands = tuple(
            self._whole(new, node, value) if value.type.shape else self.known[value]
            for value in node.operands
        )
        if is_sum:
            return (emit(new, node, "sum", operands, **{**node.params, "axis": (0,)}),)
        return self._known_flat(new, node, emit(new, node, node.op, operands, **node.params))

    def _summed(self, new: Graph, node: Node) -> Value:
        """The sum of all that counts in a flat slice."""
        (value,) = node.operands
        if value not in self.products:
            self._filled(new, node, value, 0.0)
        return emit(new, node, "sum", (self.flat_slices[value],), **{**node.params, "axis": (0,)})

    def _filled(self, new: Graph, node: Node, value: Value, zero: float) -> Value:
        """A flat slice with zeros in its gaps, which change nothing where `node` puts it."""
        if self.filled.get(value) != str(zero):
            for used, length in self.rows[value].levels:
                self._fill(new, node, value, new.constant(zero), used, length)
            self.filled[value] = str(zero)
        return self.flat_slices[value]

    def _replacing(
        self, new: Graph, node: Node, flat_slice: FlatSlice, wholes: tuple[Value, ...]
    ) -> Value:
        """A flat slice with that in its gaps which is there in the array that it is put into."""
        value = node.operands[-1]
        for used, length in flat_slice.rows.levels:
            end = flat_slice.start + flat_slice.rows.size - used
            index = (("slice", flat_slice.start or None, end, None),)
            gaps = emit(new, node, "getitem", wholes, index=index)
            self._fill(new, node, value, gaps, used, length)
        self.filled.pop(value, None)
        return self.flat_slices[value]

    def _fill(
        self, new: Graph, node: Node, value: Value, gaps: Value, used: int, length: int
    ) -> None:
        """Fill the gaps of one axis of a flat slice."""
        slices = self.flat_slices[value], gaps
        filled = emit(new, node, "fill_gaps", slices, used=used, length=length)
        _be_called(filled, value)
        self.flat_slices[value] = filled


def _be_called(value: Value, like: Value) -> None:
    """Let a flat slice be called what it is a flat slice of."""
    if not value.is_named:
        value.label, value.derived, value.base = like.label, like.derived, like.base


def _named(value: Value, like: Value, suffix: str) -> Value:
    """`value`, called after another."""
    value.derived, value.base = (like, suffix), f"{like.base or like.name}{suffix}"
    return value


def _with_gaps(new: Graph, node: Node, value: Value, rows: SliceRows) -> Value:
    """An array as a flat slice with zeros in its gaps."""
    spread = _in_shape(new, node, value, rows.extents)
    shape = (rows.extents[0], *rows.lengths)
    spread = emit(new, node, "put_slice", (spread,), shape=shape, index=_used(rows))
    spread = emit(new, node, "ravel", (_named(spread, value, "_rows"),))
    spread = emit(new, node, "getitem", (spread,), index=FlatSlice(0, rows).selection)
    return _named(spread, value, "_flat")


def _taken_out(new: Graph, node: Node, value: Value, rows: SliceRows) -> Value:
    """The elements of a flat slice without its gaps."""
    shape = (rows.extents[0], *rows.lengths)
    size, index = math.prod(shape), FlatSlice(0, rows).selection
    whole = emit(new, node, "put_slice", (value,), shape=(size,), index=index)
    whole = _in_shape(new, node, _named(whole, value, "_rows"), shape)
    part = emit(new, node, "getitem", (whole,), index=_used(rows))
    return _in_shape(new, node, part, node.results[0].type.shape)


def _used(rows: SliceRows) -> tuple[object, ...]:
    """The index of what counts in the rows."""
    return (FULL, *[("slice", None, extent, None) for extent in rows.extents[1:]])


def _in_shape(new: Graph, node: Node, value: Value, shape: tuple[int, ...]) -> Value:
    if value.type.shape == shape:
        return value
    return emit(new, node, "reshape", (value,), shape=shape)
