"""Loops as operations on whole arrays: all steps of a nest of loops at once, where each step reads
and writes parts of arrays whose sizes differ from step to step.

`for i: c[i, :i + 1] += a[i] @ a[:i + 1].T` is `c += np.tril(a @ a.T)`. The body is gone through
once: its values become arrays with an axis for each loop (`labelled_arrays.py`), and what it
carries becomes cells, which all steps write into at once (`loop_cells.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.dims import dims_in
from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.step_sizes import NotForAllSteps
from tracejit.ir.subgraph import Subgraph, differs_in_size
from tracejit.loops.arrays.labelled_arrays import (
    Factor,
    LabelledArrays,
    NotAtOnce,
    Whole,
    relabelled,
)
from tracejit.loops.arrays.loop_cells import Cells, Write
from tracejit.loops.arrays.loop_regions import Access, Affine, Bounds, NotAffine
from tracejit.ops.control.control_flow import is_checkpoint, is_counted, parts_of
from tracejit.ops.elementwise.arithmetic import add
from tracejit.ops.elementwise.weak import BINARY_OPS
from tracejit.ops.indexing.indexing import FULL, getitem
from tracejit.ops.indexing.updates import UPDATES, set_item
from tracejit.ops.reductions import reductions
from tracejit.ops.shapes.shapes import copy, expand_dims, transpose
from tracejit.support.cost_model import costs
from tracejit.support.errors import ShapeError
from tracejit.trace.tensor.tensor import Tensor

SIGNS: dict[Any, int] = {set_item: 0, UPDATES["add"]: 1, UPDATES["subtract"]: -1}
"""Updates of arrays: what is put in place, added and subtracted."""


class State(NamedTuple):
    """Cells after so many writes."""

    cells: Cells
    writes: int


def at_once(recording: Any, node: Node, operands: Sequence[Any]) -> list[Any] | None:
    """The results of a loop, recorded as operations on whole arrays; None if that cannot be.
    Only loops that write into arrays, or in which sizes differ from step to step, are tried:
    `split_loops` has the others."""
    if not _is_plain(node) or not _has_parts(node, node.params.get("size")):
        return None
    graph = recording.graph
    start = len(graph.nodes)
    try:
        return _Nest(recording, node).results(operands)
    except (NotAtOnce, NotAffine, NotForAllSteps, ShapeError):  # steps that do not fit each other
        graph.remove(graph.nodes[start:])
        return None


def _has_parts(node: Node, size: int | None) -> bool:
    """Return whether there are writes into arrays, or sizes of this symbol, in a loop."""
    body: Subgraph = node.params["body"]
    return any(
        inner.op in SIGNS
        or (size is not None and differs_in_size(inner, size))
        or (is_counted(inner) and _has_parts(inner, None))
        for inner in body.nodes
    )


def _is_plain(node: Node) -> bool:
    """Return whether a node is a loop whose steps may be compared with each other."""
    return (
        is_counted(node)
        and type(node.params["length"]) is int
        and node.params["length"] <= costs().compared_steps
        and not node.params["reverse"]
        and not is_checkpoint(node)
        and not node.op.effect
    )


class _Nest:
    """A nest of loops. `around` are those that the node which is computed is in, `symbols` the
    loops of sizes, and `carried` the values of bodies that are arrays which steps write into."""

    def __init__(self, recording: Any, node: Node) -> None:
        """Nothing is computed yet."""
        self.node = node
        self.arrays = LabelledArrays(recording, _is_heavy(node))
        self.symbols: dict[int, int] = {}
        self.known: dict[Value, Whole | Affine | State] = {}
        self.around: tuple[int, ...] = ()
        self.carried: set[Value] = set()
        self.cells: list[Cells] = []

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """The results of the outermost loop."""
        found = self._loop(self.node, [self.arrays.plain(operand) for operand in operands])
        tensors = []
        for value, old in zip(found, self.node.results, strict=True):
            whole = value.cells.finished(value.writes) if type(value) is State else value
            tensor = self.arrays.array(whole, whole.axes)
            if tensor.type is not old.type:
                tensor = np.broadcast_to(tensor, old.type.shape)
            if tensor.type is not old.type:
                raise NotAtOnce(self.node)
            tensors.append(tensor)
        for cells in self.cells:
            cells.check_reads()
        return tensors

    def _loop(self, node: Node, operands: Sequence[Any]) -> list[Any]:
        """The results of a loop, in the loops around it."""
        if not _is_plain(node):
            raise NotAtOnce(node)
        body: Subgraph = node.params["body"]
        loop = self.arrays.loop(node.params["length"])
        if node.params.get("size") is not None:
            self.symbols[node.params["size"]] = loop
        given: Any = parts_of(operands, node)
        inputs = parts_of(body.inputs[:-1], node)
        outer = self.around
        self.known.update(zip(inputs.invariants, given.invariants, strict=True))
        for value, one in zip(inputs.carried, given.carried, strict=True):
            self.known[value] = one if type(one) is State else self._state(one)
        outputs = body.outputs[: len(inputs.carried)]
        for value, out in zip(inputs.carried, outputs, strict=True):
            if not self._follow(value, out):
                raise NotAtOnce(node)
        self.around = (*outer, loop)
        for value, one in zip(inputs.sliced, given.sliced, strict=True):
            self.known[value] = self.arrays.element(self._whole(one), loop)
        self.known[body.inputs[-1]] = Affine.of_step(loop)
        for inner in body.nodes:
            with self.arrays.recording.at(inner.where):
                self._node(inner)
        found: list[Any] = []
        for value, out in zip(inputs.carried, outputs, strict=True):
            before, after = self.known[value], self._of(out)
            if type(before) is not State or type(after) is not State:
                raise NotAtOnce(node)
            if after.cells is not before.cells:
                raise NotAtOnce(node)
            found.append(after)
        stacked = [self._whole(self._of(value)) for value in body.outputs[len(outputs) :]]
        self.around = outer
        return [*found, *[self.arrays.stacked(whole, loop) for whole in stacked]]

    def _state(self, initial: Any) -> State:
        """A carried array before the first step."""
        whole = self._whole(initial)
        if not self.arrays.bounds.keys().isdisjoint(whole.axes):
            raise NotAtOnce(initial)
        self.cells.append(Cells(self.arrays, whole, self.around))
        return State(self.cells[-1], 0)

    def _follow(self, carried: Value, value: Value) -> bool:
        """Find the values that are made of what is carried, by writing into it or adding to it, on
        the way to `value`; whether that is one."""
        node = value.node
        if value is not carried and node is not None:
            if _is_update(node) or node.op is copy:
                before = node.operands[:1]
            elif is_counted(node) and value.index < node.params["carried"]:
                number = node.params["invariants"] + value.index
                before = node.operands[number : number + 1]
            else:
                before = node.operands if node.op is add else ()
            if not any(self._follow(carried, one) for one in before):
                return False
        elif value is not carried:
            return False
        self.carried.add(value)
        return True

    def _of(self, value: Value) -> Any:
        """A value of a body for all steps."""
        found = self.known.get(value)
        if found is not None:
            return found
        if isinstance(value, Constant):
            if type(value.data) is int:
                return Affine(value.data)
            return self.arrays.plain(Tensor(value, self.arrays.recording))
        raise NotAtOnce(value)

    def _whole(self, found: Any) -> Whole:
        """A value for all steps, as an array."""
        if type(found) is Affine and not found.factors:
            constant = self.arrays.recording.graph.constant(found.constant)
            return Whole((Factor(Tensor(constant, self.arrays.recording), ()),), ())
        if type(found) is Affine:
            raise NotAtOnce(found)
        if type(found) is State:
            return found.cells.read_all(self.around, found.writes)
        whole: Whole = found
        return whole

    def _node(self, node: Node) -> None:
        operands = [self._of(value) for value in node.operands]
        op = node.op
        found: Any
        if op is copy:
            found = operands[0]
        elif is_counted(node):
            results = self._loop(node, operands)
            self.known.update(zip(node.results, results, strict=True))
            return
        elif node.results[0] in self.carried:
            found = self._write(node, operands)
        elif all(type(one) is Affine for one in operands) and op in BINARY_OPS.values():
            found = _affine(node, operands)
        elif op is getitem:
            found = self._taken(node, operands)
        elif op.effect or op.statements is not None or len(node.results) > 1:
            raise NotAtOnce(node)
        else:
            wholes = [self._whole(one) for one in operands]
            if op.elementwise:
                found = self.arrays.elementwise(node, wholes)
            elif op.product is not None:
                found = self.arrays.product(node, *wholes)
            elif op is transpose:
                axes = node.params["axes"]
                found = Whole(wholes[0].factors, tuple(wholes[0].axes[k] for k in axes))
            elif op is reductions.sum and not {*node.params} - {"axis"}:
                (whole,) = wholes
                gone = {whole.axes[k] for k in node.params["axis"]}
                left = tuple([label for label in whole.axes if label not in gone])
                found = self.arrays.contracted(whole.factors, left, gone)
            elif op is expand_dims:
                axes = iter(wholes[0].axes)
                new = node.params["axis"]
                own = [
                    self.arrays.label(1) if k in new else next(axes)
                    for k in range(node.results[0].type.ndim)
                ]
                found = Whole(wholes[0].factors, tuple(own))
            elif op.reduces and not {*node.params} - {"axis"}:
                found = self.arrays.reduced(node, wholes[0])
            elif not any(whole.labels & {*self.arrays.lengths} for whole in wholes):
                found = self._same(node, wholes)
            else:
                raise NotAtOnce(node)
        self.known[node.results[0]] = found

    def _same(self, node: Node, wholes: Sequence[Whole]) -> Whole:
        """A value that does not differ between steps."""
        if differs_in_size(node) or any(w.labels & self.arrays.bounds.keys() for w in wholes):
            raise NotAtOnce(node)
        tensors = [self.arrays.array(whole, whole.axes) for whole in wholes]
        return self.arrays.plain(node.op(*tensors, **node.params))

    def _entries(self, node: Node, operands: Sequence[Any], shape: Sequence[int]) -> Iterator[Any]:
        """The index of a node, for each axis: an Affine, or (bounds, step)."""
        index = [entry for entry in node.params["index"] if entry is not None]
        if "..." in index:
            raise NotAtOnce(node)
        for axis, size in enumerate(shape):
            entry = index[axis] if axis < len(index) else FULL
            if type(entry) is int:
                yield Affine(entry % size)
                continue
            if isinstance(entry, str):
                found = operands[int(entry[1:-1]) - 1]
                if type(found) is not Affine:
                    raise NotAtOnce(node)
                self._check_within(found, found + 1, size)
                yield found
                continue
            if not any(True for _ in dims_in(entry)):
                first, last, stride = slice(*entry[1:]).indices(size)
                if stride < 0:
                    raise NotAtOnce(node)
                yield Bounds(Affine(first), Affine(max(first, last))), stride
                continue
            _, start, stop, step = entry
            ends = [0 if start is None else start, size if stop is None else stop]
            bounds = Bounds(*[Affine.of_size(end, self.symbols) for end in ends])
            if step not in (None, 1):
                raise NotAtOnce(node)
            self._check_within(*bounds, size)
            yield bounds, 1

    def _check_within(self, start: Affine, stop: Affine, size: int) -> None:
        least, most = start.end(self.arrays.lengths, False), stop.end(self.arrays.lengths, True)
        if least.constant < 0 or most.constant > size:
            raise NotAtOnce(start)

    def _taken(self, node: Node, operands: Sequence[Any]) -> Whole:
        """A part of an array, in each step."""
        source = operands[0]
        if type(source) is State:
            cells, after = source
            region = _region(self._entries(node, operands[1:], cells.shape))
            read = cells.read(Access(region, self.around), after)
            source = cells.read_all(self.around, after) if read is None else read
        whole = self._whole(source)
        factors, axes = whole.factors, []
        shape = [self.arrays.sizes[label] for label in whole.axes]
        entries = self._entries(node, operands[1:], shape)
        index = node.params["index"]
        given = iter(whole.axes)
        for one in (*index, *[FULL] * (len(shape) + index.count(None) - len(index))):
            if one is None:
                axes.append(self.arrays.label(1))
                continue
            label, entry = next(given), next(entries)
            size = self.arrays.sizes[label]
            if type(entry) is Affine:
                factors = self.arrays.points(factors, label, entry)
                continue
            bounds, step = entry
            if not bounds.loops:
                part = slice(bounds.start.constant, bounds.stop.constant, step)
                if part.indices(size) != (0, size, 1):
                    new = self.arrays.label(len(range(*part.indices(size))))
                    factors = self.arrays.cut(factors, label, part, new)
                    label = new
            elif bounds.start.factors == bounds.stop.factors:
                length = bounds.stop.constant - bounds.start.constant
                factors, label = self.arrays.windows(factors, label, bounds.start, length)
            elif label in self.arrays.bounds:
                raise NotAtOnce(node)
            else:
                new = self.arrays.label(size, bounds)
                factors = relabelled(factors, {label: new})
                label = new
            axes.append(label)
        return Whole(factors, tuple(axes))

    def _write(self, node: Node, operands: Sequence[Any]) -> State:
        """A write into an array that is carried: the region, and what is written or added."""
        op, value, sign = node.op, operands[-1], 1
        state = operands[0]
        if op is add:
            state, value = operands if node.operands[0] in self.carried else operands[::-1]
        if type(state) is not State or node.results[0].type.form == "weak":
            raise NotAtOnce(node)
        cells, after = state
        region = cells.everything
        if op is not add:
            if None in node.params["index"]:
                raise NotAtOnce(node)
            region = _region(self._entries(node, operands[1:-1], cells.shape))
            sign = SIGNS[op]
        cells.add(Write(Access(region, self.around), self._whole(value), sign), after)
        return State(cells, after + 1)


def _region(entries: Iterable[Any]) -> tuple[Bounds, ...]:
    """The region of an index."""
    found = []
    for entry in entries:
        if type(entry) is Affine:
            found.append(Bounds(entry, entry + 1))
        elif entry[1] == 1:
            found.append(entry[0])
        else:
            raise NotAtOnce(entry)
    return tuple(found)


def _affine(node: Node, operands: Sequence[Affine]) -> Affine:
    """A sum or a product of numbers of steps."""
    left, right = operands
    if node.op is BINARY_OPS["+"]:
        return left + right
    if node.op is BINARY_OPS["-"]:
        return left + right.times(-1)
    if node.op is BINARY_OPS["*"] and not (left.factors and right.factors):
        return right.times(left.constant) if not left.factors else left.times(right.constant)
    raise NotAtOnce(node)


def _is_update(node: Node) -> bool:
    """Return whether a node writes into its first operand, no place of it twice."""
    return node.op in SIGNS and bool(node.params["unique"])


def _is_heavy(node: Node) -> bool:
    """Return whether there are products or other loops in a loop."""
    body: Subgraph = node.params["body"]
    return any(inner.op.product not in (None, "outer") or is_counted(inner) for inner in body.nodes)
