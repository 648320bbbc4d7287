"""Sparse Jacobians: the directions of a colouring in one batched pass, and the entries of the
pattern in its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.api.derived import Sources
from tracejit.autodiff.batch.batch import Batch, one_of
from tracejit.autodiff.request.request import cotangents_of, like, tangents_of
from tracejit.autodiff.sparsity.colouring import coloured_columns, places_of, star_coloured
from tracejit.autodiff.sparsity.dependencies import Dependencies, TooDense
from tracejit.ir.graph import Value
from tracejit.ir.location import NOWHERE
from tracejit.ir.subgraph import every_node
from tracejit.ir.types import HANDLE, ArrayType
from tracejit.ops.base.op import LIBRARIES
from tracejit.ops.control.marker_ops import OVERRIDE
from tracejit.ops.indexing.sparse import matrix_part
from tracejit.support.cost_model import costs
from tracejit.support.errors import NoGradientError, RuleTypeError, ValueNeededError, fail
from tracejit.support.imports import import_module
from tracejit.trace.convert.libraries import number_of
from tracejit.trace.recording.decisions import Unknown
from tracejit.trace.recording.record import Recording
from tracejit.trace.source import places
from tracejit.trace.structure.sparse_products import PARTS, matrix_of, places_by_rows
from tracejit.trace.tensor.tensor import Tensor

FEW_COLOURS = 3
"""So many colours are few: no other colouring is looked for."""


def scipy_sparse(call: str) -> Any:
    """scipy.sparse, imported for `call`. Raises UnsupportedError if SciPy is not installed."""
    try:
        import_module("tracejit.ops.scipy.base.library")
    except ImportError:
        words = {"function": call, "problem": "it needs SciPy, which is not installed"}
        fix = "install it: pip install scipy."
        raise fail("unsupported-call", places.here(), fix=fix, **words) from None
    return LIBRARIES["scipy"].sparse


class Direction:
    """A pass along one direction: of a source, forwards, or of a result, backwards."""

    def __init__(self, moving: Any, sources: Sources, others: Sequence[Any], forward: bool) -> None:
        """Record the pass for a direction that stands for any; `others` are the results, or the
        sources."""
        self.moving, self.others, self.forward = moving, others, forward
        self.sources, self.recording = sources, sources.recording
        recording: Any = self.recording
        with recording.at(NOWHERE):  # no line of the user's is about directions
            self.element = one_of(recording, ArrayType(moving.shape, moving.dtype))
        with recording.recording_from([self.element]) as nodes:
            self.given = self._along(self.element)
        self.nodes = nodes

    def _along(self, direction: Any) -> list[Any]:
        """The tangents of the results, or the cotangents of the sources."""
        nodes = self.sources.nodes
        if self.forward:
            return tangents_of(self.others, [self.moving], [direction], nodes)
        return cotangents_of([self.moving], self.others, [direction], nodes)

    def patterns(self, sparse: Any) -> list[Any]:
        """The patterns of what it gives, by the elements of the direction."""
        numbers = NumbersOfCall(self.recording, sparse)
        found = Dependencies(sparse, self.moving.size, numbers)
        found.of_source(self.element._value)
        found.follow(self.nodes, [one._value for one in self.given])
        patterns = [found.of(one._value) for one in self.given]
        for pattern in patterns:
            pattern.sort_indices()
        return patterns

    def products(self, colours: Any, chunk_size: int | None) -> list[Any]:
        """The derivatives along the sum of the directions of each colour, in turn."""
        count = int(colours.max()) + 1
        step = chunk_size or count
        found = [self._products(colours, k, min(k + step, count)) for k in range(0, count, step)]
        with self.recording.at(NOWHERE):
            parts = zip(*found, strict=True)
            return [one[0] if len(one) == 1 else np.concatenate(one) for one in parts]

    def _products(self, colours: Any, start: int, stop: int) -> list[Any]:
        recording: Any = self.recording
        with recording.at(NOWHERE):
            table: Any = Tensor(recording.lift(colours.astype(np.min_scalar_type(stop))), recording)
            units: Any = np.equal(table, np.arange(start, stop)[:, None])
            units = np.reshape(units.astype(self.moving.dtype), (stop - start, *self.moving.shape))
        if isinstance(recording, Recording):
            batch = Batch(recording, stop - start)
            batch.known[self.element._value] = units._value
            batch.extend(self.nodes)
            return [batch.everywhere(one) for one in self.given]
        found = [self._along(like(units[k], self.moving)) for k in range(stop - start)]
        with recording.at(NOWHERE):
            return [np.stack(parts) for parts in zip(*found, strict=True)]


class SparseRows:
    """The Jacobians of results by sources as sparse matrices; one `is_symmetric` that is a
    Hessian."""

    def __init__(
        self, ys: Sequence[Any], sources: Sources, chunk_size: int | None, is_symmetric: bool
    ) -> None:
        """Take sizes as they are in this call: a pattern is for one shape."""
        recording = sources.recording
        sizes = recording.graph.sizes
        if sizes is not None:
            for index in sizes.free():
                sizes.pin(sizes.dim(index))
            recording.retype()
        self.ys, self.xs, self.sources, self.chunk_size = ys, sources.tensors, sources, chunk_size
        self.transform = f"tj.{sources.request.transform}"
        self.sparse = scipy_sparse(f"{self.transform}(..., sparse=True)")
        is_single = len(ys) == len(self.xs) == 1
        nodes = recording.graph.nodes if sources.nodes is None else sources.nodes
        has_marker = any(node.op is OVERRIDE for node in every_node(nodes))
        self.is_symmetric = is_symmetric and is_single and not has_marker

    def matrices(self, mode: str) -> list[list[Any]]:
        """Per result, per source: the Jacobian."""
        try:
            return self._matrices(mode) if self.ys else []
        except TooDense:
            most = f"{costs().pattern_entries:,}"
            problem = f"more than {most} elements of it, or on the way to it, may differ from zero"
            words = {"function": f"{self.transform}(..., sparse=True)", "problem": problem}
            fix = "leave sparse=True out, or take the derivative of the parts that are sparse."
            raise fail("unsupported-call", places.here(), **words, fix=fix) from None

    def _matrices(self, mode: str) -> list[list[Any]]:
        is_complex = any(t.dtype.kind == "c" for t in (*self.ys, *self.xs))
        if mode == "fwd" and is_complex:
            problem = "an argument or a result is complex, which needs mode='rev'"
            words = {"transform": self.transform, "problem": problem}
            raise fail("transform-option", places.here(), **words)
        forward = None
        if mode == "fwd" or (mode == "auto" and not is_complex):
            try:
                forward = [self._direction(x, forward=True) for x in self.xs]
            except (RuleTypeError, NoGradientError):
                if mode == "fwd":
                    raise
        if forward is None:
            backward = [self._direction(y, forward=False) for y in self.ys]
            found = [one.patterns(self.sparse) for one in backward]
            return self._backwards(backward, found, [self._coloured(one) for one in found])
        columns = [one.patterns(self.sparse) for one in forward]
        colours = [self._coloured(one) for one in columns]
        rows = [[one.T.tocsr() for one in row] for row in zip(*columns, strict=True)]
        if mode == "auto" and _count(colours) > max(FEW_COLOURS, _least(rows)):
            coloured = [self._coloured(row) for row in rows]
            if _count(coloured) < _count(colours):
                backward = [self._direction(y, forward=False) for y in self.ys]
                return self._backwards(backward, rows, coloured)
        blocks = [
            [
                self._taken(whole, places_of(pattern, table), pattern, x)
                for whole, pattern in zip(self._products(one, table), patterns, strict=True)
            ]
            for one, patterns, table, x in zip(forward, columns, colours, self.xs, strict=True)
        ]
        return [list(row) for row in zip(*blocks, strict=True)]

    def _direction(self, moving: Any, forward: bool) -> Direction:
        return Direction(moving, self.sources, self.ys if forward else self.xs, forward)

    def _coloured(self, patterns: list[Any]) -> Any:
        """The colours of the directions that have these patterns. The pattern of a Hessian is made
        symmetric in its place."""
        whole = patterns[0] if len(patterns) == 1 else self.sparse.vstack(patterns, format="csr")
        if not self.is_symmetric:
            return coloured_columns(whole)
        patterns[0] = whole = (whole + whole.T).tocsr()
        whole.sort_indices()
        colours = coloured_columns(whole)
        if colours.max(initial=-1) < FEW_COLOURS:
            return colours
        return min(colours, star_coloured(whole), key=lambda one: one.max())

    def _backwards(
        self, backward: Sequence[Direction], patterns: Sequence[Any], colours: Sequence[Any]
    ) -> list[list[Any]]:
        """The same by reverse passes, the patterns being those of the sources by each result."""
        found = []
        for one, row, table in zip(backward, patterns, colours, strict=True):
            matrices = []
            wholes = self._products(one, table)
            for whole, pattern, x in zip(wholes, row, self.xs, strict=True):
                order = (np.arange(pattern.nnz), pattern.indices, pattern.indptr)
                turned = self.sparse.csr_array(order, shape=pattern.shape).T.tocsr()
                where = places_of(pattern, table)[turned.data]
                matrices.append(self._taken(whole, where, turned, x))
            found.append(matrices)
        return found

    def _products(self, one: Direction, colours: Any) -> list[Any]:
        return one.products(colours, self.chunk_size) if colours.size else one.given

    def _taken(self, whole: Any, where: Any, pattern: Any, x: Any) -> Any:
        """The matrix whose entries are at these places of the products."""
        with self.sources.recording.at(NOWHERE):
            data = np.take(np.reshape(whole, -1), where)
            if data.dtype != x.dtype and data.dtype.kind != "c":
                data = data.astype(x.dtype)
            is_large = max(pattern.nnz, *pattern.shape) > np.iinfo(np.int32).max
            kind = np.int64 if is_large else np.int32
            where = [one.astype(kind) for one in (pattern.indices, pattern.indptr)]
            return matrix_of(self.sparse.csr_array, PARTS["csr"], (data, *where), pattern.shape)


def _count(colours: Sequence[Any]) -> int:
    """The number of directions of all colours."""
    return sum(int(one.max(initial=-1)) + 1 for one in colours)


def _least(rows: Sequence[Sequence[Any]]) -> int:
    """A number of directions of results that no colouring is below, each result with its patterns
    by element: as many elements as one of a source is met by."""
    counts = [[np.diff(one.indptr).max(initial=0) for one in row] for row in rows]
    return int(sum(map(max, counts)))


class NumbersOfCall:
    """The data of values in this call, by which a pattern goes: the kernel is for these alone.

    What is computed from anything that is differentiated by is not asked.
    """

    def __init__(self, recording: Any, sparse: Any) -> None:
        """Nothing is asked yet."""
        self._recording = recording
        self._sparse = sparse
        self._known: dict[Value, Any] = {}

    def integers(self, value: Value) -> Any:
        """The elements of an array of integers or truth values."""
        if value.data is not None:
            return value.data
        if value not in self._known:
            is_recorded = isinstance(self._recording, Recording)
            found = number_of(Tensor(value, self._recording)) if is_recorded else None
            self._known[value] = self._decided(value) if found is None else found
        return self._known[value]

    def _decided(self, value: Value) -> Any:
        """The same, by a decision that the kernel makes at each call."""
        if not isinstance(self._recording, Recording):
            return None
        try:
            return self._recording.fixed(Tensor(value, self._recording), "the sparsity pattern")
        except ValueNeededError:
            return None

    def places(self, value: Value) -> Any:
        """The places of a matrix where an element may not be zero."""
        if value.type is HANDLE:
            return self._places_of_handle(value)
        if value.data is not None:
            return self._sparse.csr_array(np.asarray(value.data) != 0)
        with self._recording.at(NOWHERE):
            there: Any = np.not_equal(Tensor(value, self._recording), 0)
        found = self._decided(there._value)
        return None if found is None else self._sparse.csr_array(found)

    def _places_of_handle(self, value: Value) -> Any:
        """Those that a sparse matrix has in this call."""
        matrix = value.data
        if matrix is None:
            try:
                matrix = self._recording.decisions.prefix[value]
            except Unknown:
                return None
            for name, part in places_by_rows(matrix):
                words = {"name": name, "size": part.size, "dtype": str(part.dtype)}
                handle = Tensor(value, self._recording)
                if self._decided(matrix_part(handle, **words)._value) is None:
                    return None
        rows = self._sparse.csr_array(matrix)
        parts = np.ones(rows.indices.size, bool), rows.indices, rows.indptr
        return self._sparse.csr_array(parts, shape=rows.shape)
