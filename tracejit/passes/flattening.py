'''Flattening of strided slices: a part of each row of an array as one slice of the flat array.

A part u[a:b, c:d] of an array has gaps between its rows, and NumPy goes through it row by row.
With what lies in the gaps it is one slice of the array made flat, which it goes through several
times as fast: u.ravel()[start:stop]. What is added, subtracted and multiplied of such parts is
computed of flat slices, parts of that are flat slices again, and they are added to arrays so. An
array that is no part of another but of the same shape gets gaps with zeros.

No element in a gap reaches a result, so that every bit stays what it is. Before a flat slice is
added to an array its gaps are filled with the zero that leaves every number what it is, -0.0 among
them: whatever the gaps hold, infinities and nan included, ends there. Before it replaces a part of
an array they are filled with what lies between the rows of that. What something else reads is taken
out of its flat slice. In a gap stand numbers that NumPy would not have computed: an overflow there
may be warned of, as no warnings of kernels are promised; where warnings are errors, the call is
made again without the kernel. So nothing is computed there but sums and products.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
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
from collections.abc import Sequence
from typing import Any

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.indexing import FULL
from tracejit.passes.emission import emit
from tracejit.passes.flattening_analysis import ARITHMETIC, GAPS, Flattening
from tracejit.passes.rebuild import rebuild
from tracejit.passes.slices import FlatSlice, SliceRows
from tracejit.passes.sum_of_products import is_full


def flatten_slices(graph: Graph) -> Graph:
    """`graph` with arithmetic on parts of the rows of arrays done on flat slices."""
    layout = Flattening(graph)
    laid = layout.laid()
    if not laid:
        return graph
    return rebuild(graph, _Flattener(graph, layout, laid).rewrite)


class _Flattener:
    """The rewriting of a graph, of which the nodes `laid` are done on flat slices."""

    def __init__(self, graph: Graph, layout: Flattening, laid: set[Node]) -> None:
        self.layout = layout
        self.laid = laid
        self.known: dict[Value, Value] = {}
        self.flat_slices: dict[Value, Value] = {}
        self.spread: dict[tuple[Value, SliceRows], Value] = {}
        """What has gaps with zeros in these rows."""
        self.flat: dict[Value, Value] = {}
        """Whole arrays made flat."""
        self.made: set[Value] = set()
        """Of these the ones that are made flat in the first place."""
        self.read: set[Value] = set()
        self.left = set(graph.outputs)
        self.filled: dict[Value, str] = {}
        """The number in the gaps of a flat slice."""
        summed = [node for node in layout.sums if node in laid]
        self.products = {node.operands[0] for node in summed if len(layout.sums[node]) > 1}
        """What is added up and no more, whose factors have zeros in their gaps."""
        for node in graph.nodes:
            if node in laid:
                self.read.update(node.operands)
            else:
                self.left.update(node.operands)

    def rewrite(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Any:
        """The replacement of a node: where only flat slices read it, the node itself, which is
        dropped."""
        self.known.update(zip(node.operands, operands, strict=True))
        result = node.results[0] if len(node.results) == 1 else None
        if result in self.layout.views and result in self.read:
            assert result is not None
            base, flat_slice = self.layout.views[result]
            whole = self._home(new, node, base)
            self.flat_slices[result] = emit(
                new, node, "getitem", (whole,), index=flat_slice.selection
            )
            return None
        if result is None or node not in self.laid:
            return self._of_wholes(new, node)
        if node in self.layout.updates:
            return self._updated(new, node)
        if node in self.layout.sums:
            return (self._summed(new, node),)
        if result in self.products:
            for value in node.operands:
                self._filled(new, node, value, 0.0)
        rows = self.layout.rows[result]
        flat_slices = tuple(self._flat_slice(new, node, value, rows) for value in node.operands)
        value = emit(new, node, node.op, flat_slices, **node.params)
        return self._known_slice(new, node, value)

    def _known_slice(self, new: Graph, node: Node, value: Value) -> Sequence[Value] | None:
        """The result of a node, which is there as a flat slice."""
        result = node.results[0]
        _be_called(value, result)
        self.flat_slices[result] = value
        if result not in self.left:
            return None
        return (_taken_out(new, node, value, self.layout.rows[result]),)

    def _home(self, new: Graph, node: Node, value: Value) -> Value:
        """The array that the parts of an array lie in: the array as a flat slice, or made flat."""
        if self.layout.is_flat(value):
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
        value, flat_slice = node.operands[-1], self.layout.updates[node]
        wholes = tuple(self._home(new, node, whole) for whole in node.operands[:-1])
        result = node.results[0]
        is_flat_slice = self.layout.is_flat(result)
        params = {**node.params, "index": flat_slice.selection}
        if not wholes:
            size = self.layout.rows[result].size if is_flat_slice else result.type.size
            params["shape"] = (size,)
        if node.op.name in GAPS:
            added = self._filled(new, node, value, GAPS[node.op.name])
        else:
            added = self._replacing(new, node, flat_slice, wholes)
        flat = emit(new, node, node.op, (*wholes, added), **params)
        if is_flat_slice:
            return self._known_slice(new, node, flat)
        return (self._known_flat(new, node, flat),)

    def _summed(self, new: Graph, node: Node) -> Value:
        """The sum of all that counts in a flat slice."""
        value = node.operands[0]
        if value not in self.products:
            self._filled(new, node, value, 0.0)
        return emit(new, node, "sum", (self.flat_slices[value],), **{**node.params, "axis": (0,)})

    def _filled(self, new: Graph, node: Node, value: Value, zero: float) -> Value:
        """A flat slice with zeros in its gaps, which change nothing where `node` puts it."""
        if self.filled.get(value) != str(zero):
            for used, length in self.layout.rows[value].levels:
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
        filled = emit(
            new, node, "fill_gaps", (self.flat_slices[value], gaps), used=used, length=length
        )
        _be_called(filled, value)
        self.flat_slices[value] = filled

    def _known_flat(self, new: Graph, node: Node, flat: Value) -> Value:
        """The result of a node, which is there as a flat array."""
        result = node.results[0]
        _be_called(flat, result)
        self.flat[result] = flat
        self.made.add(result)
        return emit(new, node, "reshape", (flat,), shape=result.type.shape)

    def _of_wholes(self, new: Graph, node: Node) -> Sequence[Value] | None:
        """Arithmetic on what is made flat is done on flat arrays, and so are sums of all."""
        arrays = [value for value in node.operands if value.type.shape]
        if self.made.isdisjoint(arrays) or node.region:
            return None
        result = node.results[0]
        is_sum = is_full(node)
        if node.op.name not in ARITHMETIC and not is_sum:
            return None
        if not is_sum and any(value.type is not result.type for value in arrays):
            return None
        operands = tuple(
            self._whole(new, node, value) if value.type.shape else self.known[value]
            for value in node.operands
        )
        if is_sum:
            return (emit(new, node, "sum", operands, **{**node.params, "axis": (0,)}),)
        flat = emit(new, node, node.op, operands, **node.params)
        return (self._known_flat(new, node, flat),)


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
