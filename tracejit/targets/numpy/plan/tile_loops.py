"""Tile loops: the body that runs for the rows of one tile, and the node that runs it for all.

The body is a list of nodes of its own over the rows of one tile. Loops that do the same to other
arrays, such as the iterations of a Python loop, have the same form and share one function.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit.ir.dims import estimated, key_of
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import OPS, Op
from tracejit.ops.elementwise.arithmetic import multiply
from tracejit.ops.linalg.products import dot_in_rows, dot_vector, vecdot
from tracejit.ops.reductions import reductions
from tracejit.passes.algebra.rewrites import DOTS
from tracejit.support.cost_model import costs
from tracejit.targets.numpy.plan.tile_axes import TileAxes, Tiled

SUMMING = ("vectors", "matrix_vector", "vector_matrix")
MATMULS = {dot: OPS[name] for name, dot in DOTS.items()}


SUM_OF_ROWS = Op(
    name="sum_of_rows",
    infer=lambda ones, x: ArrayType(x.shape[1:], x.dtype),
    source="{0}[:stop - start].dot({1})",
)
"""The sum of the rows of a tile; the last may have fewer than there are ones."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TileLoop:
    """A loop over tiles, whose body is the function `name`.

    `inputs` stand for the operands of the TILES node, the first `sliced` of which are sliced to the
    rows of the tile. `nodes` compute from them `stored`, rows of the first results of the TILES
    node, and `totals`, parts of the others, to be combined by `ufuncs`. A stored value is all of a
    result, or the part of it at an index in `places`, with zeros around it. The sliced inputs, and
    then the stored values, have their rows along the axes in `axes`. With `may_be_one`, a tile may
    be a single row although there are several.
    """

    name: str
    rows: Any
    step: int
    inputs: list[Value]
    sliced: int
    axes: list[int]
    nodes: list[Node]
    stored: list[Value]
    places: list[Any]
    totals: list[Value]
    ufuncs: list[str]
    may_be_one: bool

    def form(self) -> Hashable:
        """The key under which loops share one function: the same statements for the same lines of
        the user's, whatever the names."""
        numbers = {value: number for number, value in enumerate(self.inputs)}
        statements = []
        for node in self.nodes:
            read = [numbers[one] if one in numbers else _data_of(one) for one in node.operands]
            statements.append((node.op.name, *read, repr(node.params), node.where))
            for value in node.results:
                numbers[value] = len(numbers)
        return (
            (key_of(self.rows), self.step, *self.axes, repr(self.places), *self.ufuncs),
            tuple([value.type for value in self.inputs]),
            tuple(statements),
            tuple([numbers[value] for value in (*self.stored, *self.totals)]),
        )


def _data_of(constant: Value) -> Hashable:
    assert isinstance(constant, Constant)
    return constant.type, np.asarray(constant.data).tobytes()


def _no_types(*types: ArrayType, loop: TileLoop) -> tuple[ArrayType, ...]:
    raise AssertionError("a tile loop is made of nodes that have their types")


TILES = Op(name="tiles", infer=_no_types, statements=lambda types, loop: ())
"""A tile loop: its results are the stored arrays, then the totals."""


class TileLoopBody:
    """The body of a tile loop under construction: its `nodes`, for one tile; `rows` and `whole` map
    the values of the graph to those of the tile."""

    def __init__(
        self, graph: Graph, tile_axes: TileAxes, step: int, unit: int, may_be_one: bool = False
    ) -> None:
        """Begin the body for tiles of `step` rows, a multiple of `unit`; `graph` makes its
        constants. With `may_be_one`, a tile may be a single row although there are several."""
        self._graph = graph
        self.tile_axes = tile_axes
        self.rows: dict[Value, Value] = {}
        self.whole: dict[Value, Value] = {}
        self.nodes: list[Node] = []
        self._step, self._unit, self._may_be_one = step, unit, may_be_one

    def row_input(self, value: Value) -> Value:
        """The rows of a tile of `value`."""
        shape, axis = list(value.type.shape), self.tile_axes.axis(value)
        assert axis is not None
        shape[axis] = self._step
        made = _named_like(value, Value(ArrayType(tuple(shape), value.type.dtype)))
        self.rows[value] = made
        return made

    def whole_input(self, value: Value) -> Value:
        """`value`, which every tile reads as it is."""
        self.whole[value] = made = _named_like(value, Value(value.type))
        return made

    def add(self, node: Node, tiled: Tiled) -> None:
        """Add the operation of `node` on one tile."""
        ones = ones_of(node, tiled)
        operands = tuple(
            self.rows[value] if value in tiled.operands else self.whole.get(value, value)
            for value in node.operands
            if value is not ones
        )
        op, params = node.op, node.params
        if ones is not None:
            axis = max(operands[0].type.ndim - (2 if ones is node.operands[0] else 1), 0)
            op, params = reductions.sum, {"axis": (axis,)}
        elif op is dot_in_rows:
            params = {"rows": self._in_units(node)}
        elif op in MATMULS and self._may_be_one:
            op = MATMULS[op]  # dot scales by what has one element
        if op is reductions.sum and not tiled.makes_rows and _are_short(operands[0].type, params):
            op, params = SUM_OF_ROWS, {}
            operands = (self._ones(self._step, operands[0].type), *operands)
        if op is vecdot and tiled.makes_rows:
            op, operands = self._products_of_rows(node, operands)
        made = self._applied(op, operands, params, node)
        for old, new in zip(node.results, made.results, strict=True):
            self.rows[old] = _named_like(old, new)

    def _products_of_rows(
        self, node: Node, operands: tuple[Value, ...]
    ) -> tuple[Op, tuple[Value, ...]]:
        """The products of rows, by a matrix and a vector where that is faster: the BLAS has one
        thread for a tile, and NumPy goes to it for each row."""
        first, second = sorted(operands, key=lambda value: -value.type.ndim)
        length: Any = first.type.shape[-1]
        is_plain = first.type.ndim == 2 and first.type.dtype.kind == "f"
        if not is_plain or (length if type(length) is int else length.least()) < 2:
            return node.op, operands
        if second.type.ndim == 1 and second.type.dtype == first.type.dtype:
            return dot_vector, (first, second)
        if first.type is not second.type or type(length) is not int:
            return node.op, operands
        if length > costs().short_product_row:
            return node.op, operands
        product = self._applied(multiply, operands, {}, node).results[0]
        return dot_vector, (product, self._ones(length, first.type))

    def _applied(
        self, op: Op, operands: tuple[Value, ...], params: dict[str, Any], node: Node
    ) -> Node:
        types = op.result_types([value.type for value in operands], params)
        made = Node(op, operands, params, types, node.where, 0, ())
        self.nodes.append(made)
        return made

    def _ones(self, count: int, type: ArrayType) -> Value:
        """A constant vector of `count` ones."""
        return self._graph.constant(np.ones(count, type.dtype))

    def _in_units(self, node: Node) -> tuple[int, int] | None:
        """The shape of a tile's elements whose products a node adds up; None if it is not known."""
        is_long = self._unit > 1 and node.operands[0].type.ndim == 1
        return (-1, self._unit) if is_long else None


def _are_short(type: ArrayType, params: Mapping[str, Any]) -> bool:
    """Return whether this is a sum over many short rows, which NumPy adds up one by one."""
    is_plain = params == {"axis": (0,)} and type.ndim == 2 and type.dtype.kind == "f"
    return is_plain and type.estimated_size <= costs().summed_tile_row * estimated(type.shape[:1])


def ones_of(node: Node, tiled: Tiled) -> Value | None:
    """The vector of ones in a total that is a product with ones. A tile writes it as a sum, because
    the last tile has fewer rows."""
    if tiled.makes_rows or node.op.product not in SUMMING:
        return None
    found = [value for value in node.operands if is_ones(value) and value.type.ndim == 1]
    return found[0] if found else None


def is_ones(value: Value) -> bool:
    """Return whether a value is an array of ones."""
    return isinstance(value, Constant) and bool(np.all(value.data == 1.0))


def _named_like(old: Value, new: Value) -> Value:
    new.label, new.derived, new.base, new.name = old.label, old.derived, old.base, old.name
    return new
