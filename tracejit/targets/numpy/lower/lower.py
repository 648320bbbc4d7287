"""Lower: sums as products with ones, which BLAS adds up several times faster.

`x.dot(ones)` takes a sixth of the time of `add.reduce(x)` for a few elements and half of it for
thousands; a sum of products that nothing else reads needs no array of products at all. BLAS adds
in another order than NumPy. It must not use threads meanwhile, for their number would show in the
last bits: it does not up to blas_elements, and above that sums are taken row by row (`vecdot`) or,
where rows are short, in blocks of that many elements. What tiles go through is left to them.

Products of long rows that are added up row by row, over the last axis but one, are for `einsum`,
which makes no array of them either.

Only the sign of a zero may change besides the last bits: a sum of nothing but -0.0 is 0.0. The
BLAS rounds no product, nor does einsum: where products overflow with either sign, their sum is an
infinity or nan. Sums of free dimensions stay, and those that nothing but a decision reads.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[3], y: f8[3]) -> s: f8, t: f8
...   s    f8    = sum x  axis=(0,)
...   t_1  f8[3] = multiply x y
...   t    f8    = sum t_1  axis=(0,)
... ''', OPS)
>>> print(print_graph(drop_dead(lower(graph))), end="")
graph f(x: f8[3], y: f8[3]) -> s: f8, t: f8
  ones_3 f8[3] = constant [1.0,1.0,1.0]
  s  f8 = dot x ones_3
  t  f8 = dot x y
"""

from __future__ import annotations

import math
import string
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import FLOATING
from tracejit.ops.indexing.indexing import FULL
from tracejit.passes.framework.emission import emit, readers_of
from tracejit.passes.framework.rebuild import rebuild
from tracejit.passes.framework.tiled import is_tiled, tiled_rows
from tracejit.support.cost_model import costs


def lower(graph: Graph) -> Graph:
    """`graph` with its sums lowered."""
    readers = readers_of(graph)
    tiled = tiled_rows(graph)

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        value = _Sum(new, node, operands[0], readers[node.operands[0]] == 1, tiled).lowered()
        return None if value is None else (value,)

    return rebuild(graph, rewrite, ops=("sum",))


class _Sum:
    """A sum of the new graph in the making: of `x`, which it alone reads where `is_only`. Tiles go
    through arrays with as many rows as `tiled` says. What is summed may be the product of
    `factors`, or of factors that are `spread` over each other.

    A full sum of a product is one of its factors also where the product is read elsewhere: it need
    not be made as early then, nor kept for it.
    """

    def __init__(
        self, graph: Graph, node: Node, x: Value, is_only: bool, tiled: Container[Any]
    ) -> None:
        self.model = costs()
        self.graph = graph
        self.node = node
        self.x = x
        self.axis: tuple[int, ...] = node.params["axis"]
        self.keeps = bool(node.params.get("keepdims"))
        self.is_only = is_only
        factors = self._factors()
        is_spread = factors is not None and any(factor.type is not x.type for factor in factors)
        self.factors = None if is_spread else factors
        self.spread = factors if is_spread else None
        self.tiled = tiled

    def lowered(self) -> Value | None:
        """The value that stands for the sum; None if it stays."""
        type, result = self.x.type, self.node.results[0].type
        if result.dtype not in FLOATING or type.sizes is not None or not type.size:
            return None
        if type.dtype != result.dtype and type.dtype.kind != "b":
            return None  # counting is exact in any order
        value = None
        if self.axis == tuple(range(type.ndim)):
            value = None if self.keeps else self._of_all()
        elif self.axis == (type.ndim - 1,):
            value = self._of_rows()
        elif self.axis == (0,) and type.ndim == 2 and type.size <= self.model.blas_elements:
            value = self._of_columns()
        elif self.axis == (0,) and type.size <= self.model.blas_elements:
            value = self._of_stack()
        elif self.axis == (type.ndim - 2,) and type.dtype == result.dtype:
            value = self._of_multiples() or self._of_many_columns() or self._of_long_rows()
        elif len(self.axis) > 1:
            value = self._over_one_axis()
        assert value is None or value.type is result, (self.node, value)
        return value

    def _over_one_axis(self) -> Value | None:
        """A sum over axes next to each other as one over a single axis of the array in another
        shape, where that is not a copy."""
        x, axis = self.x, sorted(self.axis)
        first, last = axis[0], axis[-1] + 1
        if axis != list(range(first, last)) or x.type.dtype != self.node.results[0].type.dtype:
            return None
        if x.type.size <= self.model.blas_elements or is_tiled(x) or x.type.shape[0] in self.tiled:
            return None
        if x.node is not None and x.node.op.view_of is not None and x.node.op.name != "reshape":
            return None
        shape = x.type.shape
        parts = [part for part in (shape[:first], shape[first:last], shape[last:]) if part]
        x = self._emit("reshape", x, shape=tuple(map(math.prod, parts)))
        total = self._emit("sum", x, axis=(1 if first else 0,))
        assert total.node is not None
        value = _Sum(self.graph, total.node, x, False, self.tiled).lowered() or total
        result = self.node.results[0].type
        return value if value.type is result else self._emit("reshape", value, shape=result.shape)

    def _of_all(self) -> Value | None:
        x, size = self.x, self.x.type.size
        if size > self.model.blas_elements:
            rows = _rows_of(size)
            if self.factors is None or rows is None or not self.is_only:
                return None
            return self._emit("dot_in_rows", *self.factors, rows=rows)
        if self.factors is not None:
            return self._emit("dot" if x.type.ndim == 1 else "vdot", *self.factors)
        flat = x if x.type.ndim == 1 else self._emit("ravel", x)
        return self._emit("dot", flat, self._ones(size))

    def _of_rows(self) -> Value | None:
        x, length = self.x, self.x.type.shape[-1]
        rows = x.type.size // length
        fits = x.type.size <= self.model.blas_elements
        if length > self.model.blas_elements:
            return None
        if self.is_only and self.spread and self._reach(-1, length):
            by_one = self._of_rows_by_one()
            return by_one or self._kept(self._emit("vecdot", *self.spread))
        block = None if fits else self._rows_at_once(rows, length)
        is_dense = length < self.model.dense_row and rows > self.model.dense_rows
        is_dense = is_dense and (fits or block is not None)
        if self.is_only and self.factors and not is_dense:
            return self._kept(self._emit("vecdot", *self.factors))
        if fits and x.type.ndim == 2 and self.keeps:
            return self._emit("dot_matrix", x, self._ones(length, 1))
        if fits:
            return self._kept(self._emit("dot_vector", x, self._ones(length)))
        if length >= self.model.vecdot_row:
            return self._kept(self._emit("vecdot", x, self._ones(length)))
        if block is None:
            return None
        blocks = self._emit("reshape", x, shape=(rows // block, block, length))
        sums = self._emit("matmul_vector", blocks, self._ones(length))
        return self._kept(self._emit("reshape", sums, shape=x.type.shape[:-1]))

    def _of_rows_by_one(self) -> Value | None:
        """Rows that are multiplied by a single one in each matrix."""
        assert self.spread is not None
        x, (rows, _) = self.x, self.x.type.shape[-2:]
        if not self._is_small_stack():
            return None
        is_long = rows >= self.model.least_product_rows
        is_long = is_long and x.type.size >= self.model.least_product_elements
        for matrix, row in (self.spread, self.spread[::-1]):
            if matrix.type.shape[-2:] != x.type.shape[-2:]:
                continue
            if row.type.ndim == 1 and (is_long or x.type.ndim == 2):
                return self._kept(self._emit("matmul_vector", matrix, row))
            if row.type.ndim > 1 and row.type.shape[-2] == 1 and is_long:
                axes = tuple(range(row.type.ndim))
                standing = self._emit("transpose", row, axes=(*axes[:-2], axes[-1], axes[-2]))
                value = self._emit("matmul", matrix, standing)
                first = (*(FULL,) * (value.type.ndim - 1), 0)
                return value if self.keeps else self._emit("getitem", value, index=first)
        return None

    def _of_stack(self) -> Value | None:
        """Arrays that lie in order are added up as rows."""
        type, made = self.x.type, self.x.node
        if type.dtype != self.node.results[0].type.dtype or (made and made.op.view_of is not None):
            return None
        length = type.shape[0]
        rows = self._emit("reshape", self.x, shape=(length, type.size // length))
        sums = self._emit("vector_dot", self._ones(length), rows)
        return self._emit("reshape", sums, shape=self.node.results[0].type.shape)

    def _of_columns(self) -> Value:
        length = self.x.type.shape[0]
        if self.keeps:
            return self._emit("dot_matrix", self._ones(1, length), self.x)
        return self._emit("vector_dot", self._ones(length), self.x)

    def _of_many_columns(self) -> Value | None:
        """Blocks of rows are added up one by one, and then their sums."""
        *stack, rows, length = self.x.type.shape
        block = self._rows_at_once(rows, length)
        if stack and self._is_small_stack() and length < self.model.wide_row:
            block = rows
        if block is None:
            return None
        if block == rows:
            return self._kept(self._emit("vector_matmul", self._ones(rows), self.x))
        blocks = self._emit("reshape", self.x, shape=(*stack, rows // block, block, length))
        sums = self._emit("vector_matmul", self._ones(block), blocks)
        return self._emit("sum", sums, **{**self.node.params, "axis": (len(stack),)})

    def _of_multiples(self) -> Value | None:
        """Multiples of the rows of each matrix are added up as they are."""
        x = self.x
        length, columns = x.type.shape[-2:]
        if not (self.is_only and self.spread and self._is_small_stack()):
            return None
        if not self._reach(-2, length):
            return None
        for multiples, rows in (self.spread, self.spread[::-1]):
            if multiples.type.shape[-1] != 1 or rows.type.shape[-1] != columns:
                continue
            axes = tuple(range(multiples.type.ndim))
            lying = self._emit("transpose", multiples, axes=(*axes[:-2], axes[-1], axes[-2]))
            value = self._emit("matmul", lying, rows)
            first = (*(FULL,) * (value.type.ndim - 2), 0)
            return value if self.keeps else self._emit("getitem", value, index=first)
        return None

    def _of_long_rows(self) -> Value | None:
        """Products of long rows are added up as they are made."""
        type = self.x.type
        if not (self.is_only and self.factors) or type.shape[0] in self.tiled or is_tiled(self.x):
            return None
        if type.size < self.model.least_einsum_elements or type.shape[-1] < self.model.wide_row:
            return None
        letters = string.ascii_lowercase[: type.ndim]
        left = letters[:-2] + letters[-1]
        return self._kept(
            self._emit("einsum", *self.factors, subscripts=f"{letters},{letters}->{left}")
        )

    def _is_small_stack(self) -> bool:
        """Return whether the summed values are matrices for one thread of the BLAS, without
        tiles."""
        type = self.x.type
        if type.size > self.model.summed_stack_elements or type.shape[0] in self.tiled:
            return False
        return type.shape[-2] * type.shape[-1] <= self.model.blas_elements

    def _reach(self, axis: int, length: int) -> bool:
        """Return whether both factors have so many elements along an axis."""
        assert self.spread is not None
        shapes = [factor.type.shape for factor in self.spread]
        return all(len(shape) >= -axis and shape[axis] == length for shape in shapes)

    def _rows_at_once(self, rows: int, length: int) -> int | None:
        """The most of `rows` that divide them into blocks of up to blas_elements; None if the
        blocks would be of few rows, or nothing is gained."""
        type = self.x.type
        if type.ndim < 2 or type.shape[0] in self.tiled or is_tiled(self.x):
            return None
        if not 1 < length < self.model.wide_row:
            return None
        most = min(rows, self.model.blas_elements // length)
        candidates = range(
            most, max(self.model.least_block_rows, most // self.model.block_divisors) - 1, -1
        )
        return next((block for block in candidates if not rows % block), None)

    def _kept(self, value: Value) -> Value:
        """The axis that was summed put back, if the sum keeps it."""
        return self._emit("expand_dims", value, axis=self.axis) if self.keeps else value

    def _factors(self) -> tuple[Value, Value] | None:
        """The arrays whose product is summed, made in the same part of the function."""
        made, node = self.x.node, self.node
        if made is None or made.region != node.region:
            return None
        if made.segment != node.segment:
            return None
        match made.op.name, made.operands:
            case "multiply", (first, second):
                pass
            case "square", (first,):
                second = first
            case "pow_to" | "power_to", (first,) if made.params["exponent"] == 2:
                second = first
            case _:
                return None
        # A product of booleans counts; a dot product of them is a boolean.
        types, dtype = (first.type, second.type, self.x.type), node.results[0].type.dtype
        alike = all(type.form == "array" and type.dtype == dtype for type in types)
        return (first, second) if alike else None

    def _ones(self, *shape: int) -> Value:
        constant = self.graph.constant(np.ones(shape, self.node.results[0].type.dtype))
        constant.name = constant.name or f"ones_{'x'.join(map(str, shape))}"
        return constant

    def _emit(self, name: str, *operands: Value, **params: Any) -> Value:
        return emit(self.graph, self.node, name, operands, **params)


def _rows_of(size: int) -> tuple[int, int] | None:
    """The shape with the longest rows up to blas_elements that `size` elements have; None if
    there are no long ones.

    >>> _rows_of(1_000_000), _rows_of(10_007)
    ((125, 8000), None)
    """
    most = costs().blas_elements
    lengths = range(most, most // costs().block_divisors, -1)
    return next(((size // length, length) for length in lengths if not size % length), None)
