"""Incidence: the elements of an operand that each element of a result is computed from.

An incidence is a matrix of truth values, with a row for each element of the result and a column for
each of the operand. It is given as factors, of which the product counts, so that a sum over an axis
has as many entries as elements; no factor at all is the identity. It never misses an entry: of an
op about which nothing is known, every element of a result depends on every element of an operand.

`numbers` returns the data of operands, as far as they are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ir.types import HANDLE, ArrayType
from tracejit.ops.base.axes import axis_rule
from tracejit.ops.control.marker_ops import OVERRIDE
from tracejit.ops.indexing.sparse import sparse_product
from tracejit.ops.statistics.sampling import convolve, correlate

Factors = Sequence[Any]


class Numbers(Protocol):
    """The data of operands; None if they are others at each call."""

    def integers(self, value: Value) -> Any:
        """The elements of an array of integers or truth values."""

    def places(self, value: Value) -> Any:
        """A matrix of truth values, sparse or not: True where an element may not be zero."""


class Incidences:
    """The incidences of operations, as matrices of `sparse`, which is scipy.sparse."""

    def __init__(self, sparse: Any, numbers: Numbers) -> None:
        """Nothing is asked yet."""
        self.sparse = sparse
        self.numbers = numbers

    def of(self, node: Node, result: int, k: int) -> Factors | None:
        """The incidence of result number `result` and operand number `k`; None if the one does
        not depend on the other."""
        x, y = node.operands[k].type, node.results[result].type
        if node.op is OVERRIDE:
            return self._of_override(node, result, k)
        if node.op.elementwise or node.op.elements == "same":
            return self._broadcast(x, y)
        factors = self._read(node, k)
        if factors is None and len(node.results) == 1:
            factors = self._moved(node, k)
        if factors is None and node.op.update is not None:
            factors = self._updated(node, k)
        if factors is None and len(node.operands) == 2:
            factors = self._multiplied(node, k)
        return self._by_axes(node, result, k) if factors is None else factors

    def _of_override(self, node: Node, result: int, k: int) -> Factors | None:
        """A marker is its values; of a call computed out of sight nothing is known."""
        if node.params["grad"].linear is not None:
            return self.dense(node.operands[k].type, node.results[result].type)
        return () if k == result else None

    def gathered(self, sources: Any, columns: int) -> Factors:
        """One element of an operand, of so many, for each of the result: those of these numbers,
        none where a number is negative."""
        sources = np.ravel(sources)
        there = sources >= 0
        starts = np.concatenate(([0], np.cumsum(there)))
        parts = np.ones(int(starts[-1]), bool), sources[there], starts
        return [self.sparse.csr_array(parts, shape=(sources.size, columns))]

    def dense(self, x: ArrayType, y: ArrayType) -> Factors:
        """Every element of the result by every element of the operand."""
        return self._grouped(np.zeros(y.size, np.intp), np.zeros(x.size, np.intp), 1)

    def _grouped(self, rows: Any, columns: Any, count: int) -> Factors:
        """Elements of the result by those of the operand of the same group, of which there are so
        many; rows and columns are the groups of the elements."""
        return [*self.gathered(rows, count), self.gathered(columns, count)[0].T.tocsr()]

    def _broadcast(self, x: ArrayType, y: ArrayType) -> Factors:
        if x.shape == y.shape:
            return ()
        return self.gathered(np.broadcast_to(_positions(x), y.shape), x.size)

    def _read(self, node: Node, k: int) -> Factors | None:
        """Of an op that says it, for the integers among its operands."""
        if node.op.reads is None:
            return None
        whole = [value.type.dtype.kind in "iu" for value in node.operands]
        pairs = zip(whole, node.operands, strict=True)
        integers = [self.numbers.integers(value) if is_one else None for is_one, value in pairs]
        if any(is_one and one is None for is_one, one in zip(whole, integers, strict=True)):
            return None
        types = [value.type for value in node.operands]
        rows, columns = node.op.reads(k, types, integers, **node.params)
        parts = np.ones(rows.size, bool), (rows, columns)
        shape = node.results[0].type.size, types[k].size
        return [self.sparse.coo_array(parts, shape=shape).tocsr()]

    def _moved(self, node: Node, k: int) -> Factors | None:
        """Of an op that moves elements: computed with the positions of the elements in their
        place."""
        op = node.op
        if op.elements == "reshaped":
            return ()
        is_moving = op.moves or (op.elements is not None and op.reduces is None)
        if not is_moving or (op.elements is not None and k):
            return None
        operands: list[Any] = []
        for number, value in enumerate(node.operands):
            if number == k:
                operands.append(_positions(value.type) + 1)
            elif value.type.dtype.kind in "fc":
                operands.append(np.zeros(value.type.shape, np.intp))
            else:
                operands.append(self.numbers.integers(value))
        if any(operand is None for operand in operands):
            return None
        params = dict(node.params)
        for name, plain in (("dtype", np.dtype(np.intp)), ("value", 0)):
            if name in params:
                params[name] = plain
        found = op.evaluate(*operands, **params)
        return self.gathered(np.asarray(found).astype(np.intp) - 1, node.operands[k].type.size)

    def _updated(self, node: Node, k: int) -> Factors | None:
        """Of an op that writes values at places: what it writes to, or the values."""
        x, y = node.operands[k].type, node.results[0].type
        in_zeros = "shape" in node.params
        if not in_zeros and k == 0 and node.op.update != "put":
            return ()
        others = node.operands[1:] if in_zeros else node.operands[1:-1]
        indices = [self.numbers.integers(value) for value in others]
        if any(index is None for index in indices):
            return None if in_zeros or k else ()
        places = _positions(y)
        params = node.params
        if "axis" in params:
            targets = np.take_along_axis(places, indices[0], axis=params["axis"])
        elif "offset" in params:
            targets = np.diagonal(places, params["offset"], params["axis1"], params["axis2"])
        else:
            index = tuple(_entry(entry, indices) for entry in params["index"])
            targets = places[index]
        if not in_zeros and k == 0:
            return self.gathered(np.where(np.isin(places, targets), -1, places), x.size)
        shape = np.shape(targets)
        written = _positions(x).reshape(x.shape[max(0, x.ndim - len(shape)) :])
        if np.ndim(written) and np.size(written) == np.size(targets):
            written = np.reshape(written, shape)
        values = np.broadcast_to(written, shape)
        parts = np.ones(np.size(targets), bool), (np.ravel(targets), np.ravel(values))
        return [self.sparse.coo_array(parts, shape=(y.size, x.size)).tocsr()]

    def _multiplied(self, node: Node, k: int) -> Factors | None:
        """Of a product with a matrix or vector whose zeros are known."""
        y = node.results[0].type
        other = node.operands[1 - k]
        if node.op is sparse_product:
            params = {"left": node.params["left"], "transposed": node.params["transposed"]}
            return self._by_matrix(self.numbers.places(other), **params, width=y)
        sizes = node.operands[k].type.size, other.type.size
        is_turned = node.op is correlate and k == 0 and sizes[0] >= sizes[1]
        if node.op is convolve or is_turned:
            return self._shifted(*sizes, node.params["mode"])
        kinds = {"matrices": True, "matrix_vector": k == 1, "vector_matrix": k == 0}
        is_matrix = other.type.ndim == 2 and node.operands[k].type.ndim <= 2
        if not is_matrix or not kinds.get(node.op.product or "", False):
            return None
        matrix = self.numbers.places(other)
        return self._by_matrix(matrix, left=k == 1, transposed=False, width=y)

    def _by_matrix(
        self, matrix: Any, left: bool, transposed: bool, width: ArrayType
    ) -> Factors | None:
        """Of the product with a matrix on the left, or on the right, for a result of the type
        `width`."""
        if matrix is None:
            return None
        rows = self.sparse.csr_array(matrix.T if transposed else matrix)
        if width.ndim == 1:
            return [rows if left else rows.T.tocsr()]
        beside = self.sparse.eye_array(width.shape[1 if left else 0], dtype=bool)
        whole = (rows, beside) if left else (beside, rows.T)
        return [self.sparse.csr_array(self.sparse.kron(*whole, format="csr"))]

    def _shifted(self, size: int, width: int, mode: str) -> Factors:
        """Of a convolution with a kernel of this width."""
        columns = np.arange(size)[:, None] + np.zeros(width, np.intp)
        there = np.ravel(columns + np.arange(width)), np.ravel(columns)
        parts = np.ones(size * width, bool), there
        whole = self.sparse.csr_array(parts, shape=(size + width - 1, size))
        least, most = sorted((size, width))
        first, count = {
            "same": ((least - 1) // 2, most),
            "valid": (least - 1, most - least + 1),
        }.get(mode, (0, size + width - 1))
        return [whole[first : first + count]]

    def _by_axes(self, node: Node, result: int, k: int) -> Factors:
        """Elements in the same places along the axes that the op does not mix."""
        x, y = node.operands[k].type, node.results[result].type
        types = [value.type for value in node.operands]
        rule = None
        if x.form != "list" and y.form != "list" and HANDLE not in types:
            rule = axis_rule(node.op, types, node.params)
        if rule is None:
            return self.dense(x, y)
        own, made = rule.operands[k], rule.results[result]
        sizes = {
            letter: x.shape[axis]
            for axis, letter in enumerate(own)
            if letter in made and letter != "_" and y.shape[made.index(letter)] == x.shape[axis]
        }
        count = int(np.prod([*sizes.values()], dtype=np.intp))
        rows, columns = _groups(made, y.shape, sizes), _groups(own, x.shape, sizes)
        return self._grouped(rows, columns, count)


def _positions(type: ArrayType) -> Any:
    """The position of each element of an array."""
    return np.arange(type.size).reshape(type.shape)


def _entry(entry: Any, arrays: Sequence[Any]) -> Any:
    """An entry of the index of an op, as NumPy takes it."""
    if type(entry) is tuple:
        return slice(*entry[1:])
    if type(entry) is str:
        return ... if entry == "..." else arrays[int(entry[1:-1]) - 1]
    return entry


def _groups(letters: str, shape: Sequence[int], sizes: dict[str, int]) -> Any:
    """The group of each element of an array: its place along the axes of these letters."""
    group: Any = np.zeros((1,) * len(shape), np.intp)
    for letter, size in sizes.items():
        axis = letters.index(letter)
        places = np.arange(size).reshape(
            [-1 if number == axis else 1 for number in range(len(shape))]
        )
        group = group * size + places
    return np.broadcast_to(group, shape).ravel()
