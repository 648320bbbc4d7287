"""Loops as operations on whole arrays: all steps of a nest of loops at once, where each step reads
and writes other parts of arrays, of sizes that differ from step to step.

`for i: c[i, :i + 1] += a[i] @ a[:i + 1].T` is `c += np.tril(a @ a.T)`. An array that a body takes a
part of stands for that part, and what is computed outside of the part is never read: it is masked
where it would be added up, and where it would be written. Each axis has a label, the steps of a
loop among them, and a product keeps its factors until it is needed, so that sums over steps are
products of matrices. `passes/loop_regions.py` tells which steps may be computed together: none
reads what an earlier one has written, and no two write one place, unless they add to it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.step_sizes import NotForAllSteps
from tracejit.ir.subgraph import Subgraph, differs_in_size
from tracejit.ops.arithmetic import add, multiply
from tracejit.ops.control_flow import is_checkpoint, is_counted, parts_of
from tracejit.ops.indexing import FULL, getitem
from tracejit.ops.reductions import sum as sum_op
from tracejit.ops.shapes import copy, transpose
from tracejit.ops.triangles import masked_product
from tracejit.ops.updates import set_item
from tracejit.ops.weak import BINARY_OPS
from tracejit.passes.loop_regions import Access, Affine, Bounds, NotAffine, meet, meet_in_step
from tracejit.support.cost_model import costs
from tracejit.trace.tensor import Tensor

EINSUM = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class NotAtOnce(Exception):
    """The steps of a loop cannot be computed at once, or had better not."""


class Factor(NamedTuple):
    """A Tensor each axis of which has a label."""

    tensor: Any
    labels: tuple[int, ...]


class Whole(NamedTuple):
    """A value of a body for all steps: the product of `factors`, whose own axes are `axes`. What it
    has no label for is the same along that axis."""

    factors: tuple[Factor, ...]
    axes: tuple[int, ...]

    @property
    def labels(self) -> set[int]:
        """The labels of all axes and loops."""
        return {label for factor in self.factors for label in factor.labels}.union(self.axes)


class Write(NamedTuple):
    """What each step inside of `access.loops` writes into a region, or adds there by `sign`."""

    access: Access
    value: Whole
    sign: int


class Cells:
    """An array that steps write into. `loops` are those that it was made in."""

    def __init__(self, initial: Whole, loops: tuple[int, ...]) -> None:
        """Nothing is read or written yet."""
        self.initial = initial
        self.loops = loops
        self.reads: list[tuple[Access, int]] = []
        self.writes: list[Write] = []
        self.last: Whole | None = None
        self.is_filled = False


class State(NamedTuple):
    """Cells after so many writes."""

    cells: Cells
    writes: int


def at_once(recording: Any, node: Node, operands: Sequence[Any]) -> list[Any] | None:
    """The results of a loop, recorded as operations on whole arrays; None where that cannot be.
    Only loops in which sizes differ from step to step are tried: `split_loops` has the others."""
    size = node.params.get("size")
    if size is None or not _is_plain(node) or type(recording.graph.sizes) is None:
        return None
    body: Subgraph = node.params["body"]
    if not any(differs_in_size(inner, size) for inner in body.nodes):
        return None
    graph = recording.graph
    start = len(graph.nodes)
    try:
        found = _Steps(recording).results(node, operands)
    except (NotAtOnce, NotAffine, NotForAllSteps):
        graph.remove(graph.nodes[start:])
        return None
    return found


def _is_plain(node: Node) -> bool:
    return (
        is_counted(node)
        and type(node.params["length"]) is int
        and node.params["length"] <= costs().compared_steps
        and not node.params["reverse"]
        and not is_checkpoint(node)
        and not node.op.effect
    )


class _Steps:
    """The steps of a nest of loops. `lengths` are those of loops, `sizes` of all labels, and
    `bounds` those between which a label counts."""

    def __init__(self, recording: Any) -> None:
        self.recording = recording
        self.sizes: dict[int, int] = {}
        self.lengths: dict[int, int] = {}
        self.bounds: dict[int, Bounds] = {}
        self.symbols: dict[int, int] = {}
        self.known: dict[Value, Whole | Affine | State] = {}
        self.around: tuple[int, ...] = ()
        self.chains: set[Node] = set()
        self.has_products = False

    def results(self, node: Node, operands: Sequence[Any]) -> list[Any]:
        """The results of the outermost loop."""
        self.has_products = _has_products(node)
        given = [self._plain(operand) for operand in operands]
        found = self._loop(node, given)
        tensors = []
        for value, old in zip(found, node.results, strict=True):
            whole = self._finished(value)
            tensor = self._array(whole, whole.axes)
            if tensor.type is not old.type:
                tensor = np.broadcast_to(tensor, old.type.shape)
            if tensor.type is not old.type:
                raise NotAtOnce(node)
            tensors.append(tensor)
        return tensors

    def _plain(self, tensor: Any) -> Whole:
        """An array that is the same at each step."""
        labels = tuple([self._label(size) for size in tensor.shape])
        return Whole((Factor(tensor, labels),), labels)

    def _label(self, size: Any, bounds: Bounds | None = None) -> int:
        if type(size) is not int:
            raise NotAtOnce(size)
        label = len(self.sizes)
        self.sizes[label] = size
        if bounds is not None:
            self.bounds[label] = bounds
        return label

    # Loops

    def _loop(self, node: Node, operands: Sequence[Any]) -> list[Any]:
        """What each result of a loop is, in the loops around it."""
        if not _is_plain(node):
            raise NotAtOnce(node)
        body: Subgraph = node.params["body"]
        loop = self._label(node.params["length"])
        self.lengths[loop] = node.params["length"]
        if node.params.get("size") is not None:
            self.symbols[node.params["size"]] = loop
        given = parts_of(operands, node)
        inputs = parts_of(body.inputs[:-1], node)
        outer = self.around
        self.known.update(zip(inputs.invariants, given.invariants, strict=True))
        for value, one in zip(inputs.carried, given.carried, strict=True):
            state = one if type(one) is State else State(Cells(self._whole(one), outer), 0)
            self.known[value] = state
        outputs = body.outputs[: len(inputs.carried)]
        for value, out in zip(inputs.carried, outputs, strict=True):
            self._follow(value, out)
        self.around = (*outer, loop)
        for value, one in zip(inputs.sliced, given.sliced, strict=True):
            self.known[value] = self._element(self._whole(one), loop)
        self.known[body.inputs[-1]] = Affine.of_step(loop)
        for inner in body.nodes:
            with self.recording.at(inner.where):
                self._node(inner)
        found: list[Any] = []
        for value, out in zip(inputs.carried, outputs, strict=True):
            before, after = self.known[value], self._of(out)
            if type(after) is not State or after.cells is not before.cells:  # type: ignore[union-attr]
                raise NotAtOnce(node)
            found.append(after)
        stacked = [self._whole(self._of(value)) for value in body.outputs[len(outputs) :]]
        self.around = outer
        return [*found, *[self._stacked(whole, loop) for whole in stacked]]

    def _follow(self, carried: Value, out: Value) -> None:
        """Find the nodes that make `out` of what is carried, by writing into it or adding to it."""
        value = out
        while value is not carried:
            node = value.node
            if node is None:
                raise NotAtOnce(out)
            self.chains.add(node)
            if node.op.update or node.op is copy:
                value = node.operands[0]
            elif is_counted(node) and value.index < node.params["carried"]:
                value = node.operands[node.params["invariants"] + value.index]
            elif node.op is add:
                left, right = node.operands
                value = left if _leads_to(left, carried) else right
            else:
                raise NotAtOnce(out)

    def _element(self, whole: Whole, loop: int) -> Whole:
        """One element along the first axis of an array, in each step."""
        label, *rest = whole.axes
        if label in self.bounds:
            raise NotAtOnce(whole)
        return Whole(_renamed(whole.factors, label, loop), tuple(rest))

    def _stacked(self, whole: Whole, loop: int) -> Whole:
        """The values of all steps along a new first axis."""
        if any(loop in self.bounds[label].loops for label in whole.labels & self.bounds.keys()):
            raise NotAtOnce(whole)
        label = self._label(self.sizes[loop])
        return Whole(_renamed(whole.factors, loop, label), (label, *whole.axes))

    # Nodes

    def _of(self, value: Value) -> Any:
        """What a value of a body is for all steps."""
        found = self.known.get(value)
        if found is not None:
            return found
        if isinstance(value, Constant):
            if type(value.data) is int:
                return Affine(value.data)
            return self._plain(Tensor(value, self.recording))
        raise NotAtOnce(value)

    def _whole(self, found: Any) -> Whole:
        """A value for all steps, as an array."""
        if type(found) is Affine and not found.factors:
            constant = self.recording.graph.constant(found.constant)
            return Whole((Factor(Tensor(constant, self.recording), ()),), ())
        if type(found) is Affine:
            raise NotAtOnce(found)
        if type(found) is State:
            return self._read_whole(found)
        whole: Whole = found
        return whole

    def _node(self, node: Node) -> None:
        operands = [self._of(value) for value in node.operands]
        op = node.op
        found: Any
        if node in self.chains and op is not copy and not is_counted(node):
            found = self._write(node, operands)
        elif op is copy:
            found = operands[0]
        elif is_counted(node):
            results = self._loop(node, operands)
            self.known.update(zip(node.results, results, strict=True))
            return
        elif all(type(one) is Affine for one in operands) and op in BINARY_OPS.values():
            found = _affine(node, operands)
        elif op is getitem:
            found = self._taken(node, operands)
        elif op.effect or op.statements is not None or len(node.results) > 1:
            raise NotAtOnce(node)
        else:
            wholes = [self._whole(one) for one in operands]
            if op.elementwise:
                found = self._elementwise(node, wholes)
            elif op.product is not None:
                found = self._product(node, *wholes)
            elif op is transpose:
                axes = node.params["axes"]
                found = Whole(wholes[0].factors, tuple(wholes[0].axes[k] for k in axes))
            elif op is sum_op and not {*node.params} - {"axis"}:
                gone = {wholes[0].axes[k] for k in node.params["axis"]}
                found = self._contracted(wholes[0].factors, _without(wholes[0].axes, gone), gone)
            elif not any(whole.labels & {*self.lengths} for whole in wholes):
                found = self._same(node, wholes)
            else:
                raise NotAtOnce(node)
        self.known[node.results[0]] = found

    def _same(self, node: Node, wholes: Sequence[Whole]) -> Whole:
        """What does not differ between steps."""
        if differs_in_size(node) or any(w.labels & self.bounds.keys() for w in wholes):
            raise NotAtOnce(node)
        tensors = [self._array(whole, whole.axes) for whole in wholes]
        return self._plain(node.op(*tensors, **node.params))

    def _elementwise(self, node: Node, wholes: Sequence[Whole]) -> Whole:
        ndim = node.results[0].type.ndim
        axes: list[int | None] = [None] * ndim
        fitted = []
        for whole in wholes:
            factors = whole.factors
            for k, label in enumerate(reversed(whole.axes), start=1):
                there = axes[-k]
                if self.sizes[label] == 1 != node.results[0].type.shape[-k]:
                    raise NotAtOnce(node)
                if there is None:
                    axes[-k] = label
                elif there != label:
                    if not self._are_alike(there, label):
                        raise NotAtOnce(node)
                    factors = _renamed(factors, label, there)
            fitted.append(factors)
        if None in axes:
            raise NotAtOnce(node)
        own = tuple([label for label in axes if label is not None])
        labels = [{v for one in factors for v in one.labels} for factors in fitted]
        every = set().union(*labels)
        if node.op is multiply and all(part < every for part in labels):
            types = {factor.tensor.type.dtype for one in fitted for factor in one}
            if len(types) == 1 and node.results[0].type.dtype in types:
                return Whole(tuple([one for factors in fitted for one in factors]), own)
        order = tuple(sorted(every - {*own})) + own
        tensors = [
            self._aligned(Whole(one, ()), order) if any(f.labels for f in one) else one[0].tensor
            for one in fitted
        ]
        found = node.op(*tensors, **node.params)
        kept = tuple(label for label in order if label in every)
        if found.ndim != len(kept):
            found = np.reshape(found, [self.sizes[label] for label in kept])
        return Whole((Factor(found, kept),), own)

    def _are_alike(self, one: int, other: int) -> bool:
        """Return whether two axes are between the same bounds."""
        return self.sizes[one] == self.sizes[other] and (
            self.bounds.get(one) == self.bounds.get(other)
        )

    def _product(self, node: Node, left: Whole, right: Whole) -> Whole:
        if node.op.product == "outer":
            return Whole((*left.factors, *right.factors), (*left.axes, *right.axes))
        if len(left.axes) > 2 or len(right.axes) > 2:
            raise NotAtOnce(node)
        one, other = left.axes[-1], right.axes[0]
        if not self._are_alike(one, other):
            raise NotAtOnce(node)
        factors = (*left.factors, *_renamed(right.factors, other, one))
        return self._contracted(factors, (*left.axes[:-1], *right.axes[1:]), {one})

    # Arrays

    def _check(self, labels: Iterable[int], itemsize: int, row: Iterable[int] = ()) -> None:
        """Refuse an array that is too large."""
        total = math.prod([self.sizes[label] for label in labels]) * itemsize
        is_large = total > costs().loop_bytes
        if not is_large and not self.has_products and len(self.lengths) < 2:
            size = math.prod([self.sizes[label] for label in labels if label not in self.lengths])
            is_large = total > costs().cached_steps and size * itemsize > costs().step_bytes
        if is_large:
            raise NotAtOnce(labels)

    def _aligned(self, whole: Whole, order: Sequence[int]) -> Any:
        """The array with axes in this order, of size 1 for labels that it does not have."""
        found: Any = None
        for tensor, labels in whole.factors:
            there = [label for label in order if label in labels]
            axes = tuple(labels.index(label) for label in there)
            turned = np.transpose(tensor, axes) if axes != tuple(range(len(axes))) else tensor
            missing = tuple(k for k, label in enumerate(order) if label not in labels)
            turned = np.expand_dims(turned, missing) if missing and labels else turned
            found = turned if found is None else found * turned
        self._check([label for label in order if label in whole.labels], found.dtype.itemsize)
        return found

    def _array(self, whole: Whole, order: Sequence[int]) -> Any:
        """The array with all of these axes."""
        found = self._aligned(whole, order)
        shape = tuple([self.sizes[label] for label in order])
        if found.shape != shape:
            self._check(order, found.dtype.itemsize)
            found = np.broadcast_to(found, shape)
        return found

    def _mask(self, labels: Collection[int], order: Sequence[int]) -> Any:
        """The truth of all bounds of these labels, along axes in this order."""
        found: Any = None
        for label in sorted(labels):
            start, stop = self.bounds[label]
            place = self._counted(Affine.of_step(label), order)
            sides = []
            if start.end(self.lengths, True) != Affine(0):
                sides.append(place >= self._counted(start, order))
            if stop.end(self.lengths, False) != Affine(self.sizes[label]):
                sides.append(place < self._counted(stop, order))
            for side in sides:
                found = side if found is None else np.logical_and(found, side)
        return found

    def _counted(self, number: Affine, order: Sequence[int]) -> Any:
        """A number at all steps, along axes in this order."""
        if len(number.factors) > 1:
            raise NotAtOnce(number)
        if not number.factors:
            return number.constant
        ((label, factor),) = number.factors
        shape = [1] * len(order)
        shape[order.index(label)] = self.sizes[label]
        numbers = number.constant + factor * np.arange(self.sizes[label])
        graph = self.recording.graph
        return np.reshape(Tensor(graph.constant(numbers), self.recording), shape)

    def _between(self, labels: Collection[int], gone: Collection[int]) -> list[int]:
        """The labels whose bounds must hold where the labels `gone` are summed over."""
        return [
            label
            for label in self.bounds
            if label in labels and (label in gone or not self.bounds[label].loops.isdisjoint(gone))
        ]

    def _contracted(
        self, factors: Sequence[Factor], axes: tuple[int, ...], gone: Collection[int]
    ) -> Whole:
        """The sum over the labels `gone` of a product."""
        every = {label for one in factors for label in one.labels}
        masked = self._between(every, gone)
        order = tuple(sorted(every - {*gone, *axes})) + tuple(a for a in axes if a in every)
        times = math.prod([self.sizes[label] for label in gone if label not in every])
        found = self._masked_product(factors, order, gone, masked) if masked else None
        if found is None:
            parts = [self._masked(factor, masked) for factor in factors] if masked else factors
            found = self._summed(parts, order)
        if times != 1:
            found = found * times
        return Whole((Factor(found, order),), axes)

    def _masked(self, factor: Factor, masked: Sequence[int]) -> Factor:
        """A factor with zeros where bounds of its labels do not hold."""
        mine = [label for label in masked if label in factor.labels or not factor.labels]
        mine += [v for v in masked if not self.bounds[v].loops.isdisjoint(factor.labels)]
        mine = [*dict.fromkeys(mine)]
        if not mine:
            return factor
        loops = {loop for label in mine for loop in self.bounds[label].loops}
        labels = (*factor.labels, *sorted(({*mine} | loops) - {*factor.labels}))
        mask = self._mask(mine, labels)
        if mask is None:
            return factor
        self._check(labels, factor.tensor.dtype.itemsize)
        whole = self._aligned(Whole((factor,), ()), labels)
        found = np.where(mask, whole, factor.tensor.dtype.type(0))
        shape = tuple([self.sizes[label] for label in labels])
        return Factor(found if found.shape == shape else np.broadcast_to(found, shape), labels)

    def _summed(self, factors: Sequence[Factor], order: tuple[int, ...]) -> Any:
        """The sum of the product over all labels that are not in this order."""
        self._check(order, factors[0].tensor.dtype.itemsize)
        every = [*dict.fromkeys(label for one in factors for label in one.labels)]
        if {*every} == {*order}:
            return self._array(Whole((*factors,), ()), order)
        if len(factors) == 1:
            tensor, labels = factors[0]
            gone = tuple(k for k, label in enumerate(labels) if label not in order)
            left = tuple(label for label in labels if label in order)
            total: Any = np.sum(tensor, axis=gone)
            return self._array(Whole((Factor(total, left),), ()), order)
        letters = dict(zip(every, EINSUM, strict=False))
        sides = ["".join([letters[label] for label in one.labels]) for one in factors]
        text = f"{','.join(sides)}->{''.join([letters[label] for label in order])}"
        return np.einsum(text, *[one.tensor for one in factors])

    def _masked_product(
        self,
        factors: Sequence[Factor],
        order: tuple[int, ...],
        gone: Collection[int],
        masked: Sequence[int],
    ) -> Any:
        """A product of two factors, of which one has all the labels that the masks have: what the
        mask leaves out is not multiplied, be it infinite. None where it is none."""
        if len(factors) != 2 or len(gone) != 1:
            return None
        (summed,) = gone
        within = {*masked}.union(*[self.bounds[label].loops for label in masked])
        for one, other in (factors, factors[::-1]):
            kept = [label for label in one.labels if label != summed]
            if len(one.labels) != 2 or summed not in one.labels or not within <= {*one.labels}:
                continue
            if summed not in other.labels or not {*kept}.isdisjoint(other.labels):
                continue
            rest = tuple(label for label in order if label not in kept)
            matrix = self._array(Whole((one,), ()), (*kept, summed))
            mask = self._mask(masked, (*kept, summed))
            if mask is None:
                return None
            mask = np.broadcast_to(mask, matrix.shape)
            side = self._array(Whole((other,), ()), (summed, *rest))
            columns = math.prod([self.sizes[label] for label in rest])
            side = np.reshape(side, (self.sizes[summed], columns))
            found: Any = masked_product(matrix, mask, side)
            labels = (*kept, *rest)
            found = np.reshape(found, tuple([self.sizes[label] for label in labels]))
            return self._array(Whole((Factor(found, labels),), ()), order)
        return None

    # Reading

    def _entries(self, node: Node, operands: Sequence[Any], shape: Sequence[int]) -> Iterator[Any]:
        """The index of a node, for each axis: an Affine, or (bounds, step)."""
        index = node.params["index"]
        if None in index or "..." in index:
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
            _, start, stop, step = entry
            if step in (None, 1):
                ends = [0 if start is None else start, size if stop is None else stop]
                affine = [Affine.of_size(end, self.symbols) for end in ends]
                affine = [a + size if not a.factors and a.constant < 0 else a for a in affine]
                self._check_within(*affine, size)
                yield Bounds(*affine), 1
            elif type(start) in (int, type(None)) and type(stop) in (int, type(None)):
                yield Bounds(Affine(0), Affine(size)), slice(start, stop, step)
            else:
                raise NotAtOnce(node)

    def _check_within(self, start: Affine, stop: Affine, size: int) -> None:
        least, most = start.end(self.lengths, False), stop.end(self.lengths, True)
        if least.constant < 0 or most.constant > size:
            raise NotAtOnce(start)

    def _taken(self, node: Node, operands: Sequence[Any]) -> Whole:
        """A part of an array, in each step."""
        source = operands[0]
        if type(source) is State:
            cells = source.cells
            shape = [self.sizes[label] for label in cells.initial.axes]
            read = Access(tuple(_region(self._entries(node, operands[1:], shape))), self.around)
            before = cells.writes[: source.writes]
            if any(meet_in_step(write.access, read, self.lengths) for write in before):
                source = self._read_whole(source)
            else:
                cells.reads.append((read, source.writes))
                source = cells.initial
        whole: Whole = self._whole(source)
        factors, axes = whole.factors, []
        shape = [self.sizes[label] for label in whole.axes]
        entries = [*self._entries(node, operands[1:], shape)]
        for label, entry in zip(whole.axes, entries, strict=True):
            size = self.sizes[label]
            if type(entry) is Affine:
                factors = self._points(factors, label, entry)
                continue
            bounds, step = entry
            if step != 1:
                factors = self._cut(factors, label, step)
                label = self._label(len(range(*step.indices(size))))
                factors = _renamed(factors, -1, label)
            elif not bounds.loops:
                first, last = bounds.start.constant, max(bounds.stop.constant, 0)
                if (first, last) != (0, size):
                    factors = self._cut(factors, label, slice(first, last))
                    label = self._label(len(range(first, last)))
                    factors = _renamed(factors, -1, label)
            elif label in self.bounds:
                raise NotAtOnce(node)
            else:
                new = self._label(size, bounds)
                factors = _renamed(factors, label, new)
                label = new
            axes.append(label)
        return Whole(factors, tuple(axes))

    def _cut(self, factors: Sequence[Factor], label: int, part: Any) -> tuple[Factor, ...]:
        """Factors with a part of the axis `label`, which is called -1 then."""
        if label in self.bounds:
            raise NotAtOnce(label)
        made = []
        for tensor, labels in factors:
            if label in labels:
                axis = labels.index(label)
                tensor = tensor[(*[slice(None)] * axis, part)]
                labels = tuple([-1 if one == label else one for one in labels])
            made.append(Factor(tensor, labels))
        return tuple(made)

    def _points(self, factors: Sequence[Factor], label: int, at: Affine) -> tuple[Factor, ...]:
        """Factors with one element of the axis `label` at each step."""
        if len(at.factors) > 1:
            raise NotAtOnce(at)
        if not at.factors:
            made = self._cut(factors, label, at.constant)
            return tuple(Factor(t, tuple(v for v in labels if v != -1)) for t, labels in made)
        ((loop, stride),) = at.factors
        made = self._cut(factors, label, _slice_of(at, stride, self.lengths[loop]))
        found = []
        for tensor, labels in made:
            if -1 in labels and loop in labels:
                axes = labels.index(loop), labels.index(-1)
                tensor = np.diagonal(tensor, 0, *axes)
                labels = (*[v for v in labels if v not in (-1, loop)], loop)
            found.append(Factor(tensor, labels))
        return _renamed(found, -1, loop)

    # Writing

    def _write(self, node: Node, operands: Sequence[Any]) -> State:
        """A write into an array that is carried: the region, and what is written or added."""
        op, value = node.op, operands[-1]
        if op is add:
            states = [one for one in operands if type(one) is State and one.cells.loops != self.around]
            if len(states) != 1 or node.results[0].type.form == "weak":
                raise NotAtOnce(node)
            state = states[0]
            value = operands[0] if operands[1] is state else operands[1]
            region = tuple(self._everything(state.cells))
            sign = 1
        else:
            state = operands[0]
            if type(state) is not State or op.update is None or not node.params.get("unique", True):
                raise NotAtOnce(node)
            shape = [self.sizes[label] for label in state.cells.initial.axes]
            region = tuple(_region(self._entries(node, operands[1:-1], shape)))
            sign = {"put": 0, "add": 1, "subtract": -1}[op.update]
        cells = state.cells
        if state.writes != len(cells.writes) or cells.last is not None:
            raise NotAtOnce(node)
        cells.writes.append(Write(Access(region, self.around), self._whole(value), sign))
        return State(cells, len(cells.writes))

    def _everything(self, cells: Cells) -> Iterator[Bounds]:
        for label in cells.initial.axes:
            yield Bounds(Affine(0), Affine(self.sizes[label]))

    def _read_whole(self, state: State) -> Whole:
        """All of an array that steps have written into."""
        cells = state.cells
        if cells.last is not None:
            return cells.last
        if not state.writes:
            everything = tuple(self._everything(cells))
            cells.reads.append((Access(everything, self.around), 0))
            return cells.initial
        if state.writes != len(cells.writes):
            raise NotAtOnce(state)
        if cells.loops == self.around:
            return self._finished(state)
        (write,) = cells.writes if len(cells.writes) == 1 else (None,)
        if write is None or write.sign or write.access.loops[: len(self.around)] != self.around:
            raise NotAtOnce(state)
        inner = write.access.loops[len(self.around) :]
        for bounds, label in zip(write.access.region, cells.initial.axes, strict=True):
            whole = bounds.over(inner, self.lengths)
            if whole != (Affine(0), Affine(self.sizes[label])):
                raise NotAtOnce(state)
        cells.last = self._written(cells.initial, write, self.around)
        cells.is_filled = True
        return cells.last

    def _finished(self, found: Any) -> Whole:
        """A value after all steps of the loops inside of those that it was made in."""
        if type(found) is not State:
            return self._whole(found)
        cells = found.cells
        if cells.last is not None:
            return self._last(cells)
        inside = len(cells.loops)
        for read, after in cells.reads:
            for number, write in enumerate(cells.writes):
                if meet(write.access, read, self.lengths, inside, is_before=True):
                    raise NotAtOnce(found)
                if number < after and meet_in_step(write.access, read, self.lengths):
                    raise NotAtOnce(found)
        whole = cells.initial
        for write in self._in_order(cells.writes, inside):
            whole = self._written(whole, write, cells.loops)
        cells.last = whole
        return whole

    def _in_order(self, writes: Sequence[Write], inside: int) -> Sequence[Write]:
        """An order in which each of these writes can take place for all steps at once."""
        if any(not w.sign and meet(w.access, w.access, self.lengths, inside) for w in writes):
            raise NotAtOnce(writes)
        program = {id(write): number for number, write in enumerate(writes)}

        def is_before(one: Write, other: Write) -> bool:
            """Return whether `one` does not wait for `other`, at no step."""
            if one.sign and other.sign:
                return True
            return not meet(other.access, one.access, self.lengths, inside, True) and (
                program[id(one)] < program[id(other)]
                or not meet_in_step(one.access, other.access, self.lengths)
            )

        for order in (writes, sorted(writes, key=lambda write: abs(write.sign))):
            pairs = combinations(order, 2)
            if all(is_before(one, other) for one, other in pairs):
                return order
        raise NotAtOnce(writes)

    def _last(self, cells: Cells) -> Whole:
        """What the last step has left in an array that each step fills."""
        assert cells.last is not None
        whole = cells.last
        if cells.is_filled and cells.reads:
            raise NotAtOnce(cells)
        if whole.labels & self.bounds.keys():
            raise NotAtOnce(cells)
        for loop in sorted(whole.labels & {*self.lengths} - {*cells.loops}):
            factors = self._points(whole.factors, loop, Affine(self.lengths[loop] - 1))
            whole = Whole(factors, whole.axes)
        return whole

    def _written(self, whole: Whole, write: Write, around: tuple[int, ...]) -> Whole:
        """An array with what all steps inside of the loops `around` write into it."""
        gone = {*write.access.loops} - {*around}
        own = [*write.value.axes]
        entries: list[Any] = []
        order: list[int] = []
        masked: list[int] = []
        factors = write.value.factors
        ndim = sum(1 for bounds in write.access.region if bounds.stop != bounds.start + 1)
        if len(own) > ndim:
            raise NotAtOnce(write)
        own = [-1] * (ndim - len(own)) + own
        for bounds, label in zip(write.access.region, whole.axes, strict=True):
            size = self.sizes[label]
            if bounds.stop == bounds.start + 1:
                if not bounds.start.factors:
                    entries.append(bounds.start.constant)
                    continue
                ((loop, stride), *more) = bounds.start.factors
                if more or loop not in gone or loop in order:
                    raise NotAtOnce(write)
                order.append(loop)
                entries.append(_slice_of(bounds.start, stride, self.lengths[loop]))
                continue
            mine = own.pop(0)
            if mine == -1 or self.sizes[mine] == 1 != size:
                raise NotAtOnce(write)
            if not bounds.loops:
                start, stop = (end.constant for end in bounds)
                entries.append(slice(None) if (start, stop) == (0, size) else slice(start, stop))
                if self.sizes[mine] != stop - start:
                    raise NotAtOnce(write)
            else:
                if self.bounds.get(mine) != bounds or self.sizes[mine] != size:
                    raise NotAtOnce(write)
                entries.append(slice(None))
                masked.append(mine)
            order.append(mine)
        summed = gone - {*order}
        if summed and not write.sign:
            raise NotAtOnce(write)
        every = {label for factor in factors for label in factor.labels}
        front = tuple([loop for loop in around if loop in whole.labels or loop in every])
        target = (*front, *order)
        if summed:
            late = [v for v in masked if self.bounds[v].loops.isdisjoint(summed)]
            found = self._contracted(factors, tuple(order), summed)
            new = self._array(found, target)
            masked = late
        else:
            new = self._array(Whole(factors, ()), target)
        base = self._array(whole, (*front, *whole.axes))
        index = (*[slice(None)] * len(front), *entries)
        is_all = all(type(e) is slice and self._is_all(e, k, base) for k, e in enumerate(index))
        before = base if is_all else base[index]
        mask = self._mask(masked, target) if masked else None
        if write.sign:
            if mask is not None:
                new = np.where(mask, new, new.dtype.type(0))
            new = before + new if write.sign > 0 else before - new
        elif mask is not None:
            new = np.where(mask, new, before)
        if new.dtype != base.dtype:
            raise NotAtOnce(write)
        if not is_all:
            new = set_item(base, new, index=_index(index), unique=True)
        return Whole((Factor(new, (*front, *whole.axes)),), whole.axes)

    def _is_all(self, entry: slice, axis: int, base: Any) -> bool:
        return entry.indices(base.shape[axis]) == (0, base.shape[axis], 1)


def _index(index: Sequence[Any]) -> tuple[Any, ...]:
    """An index as parameters of a node have it."""
    return tuple(
        [("slice", e.start, e.stop, e.step) if type(e) is slice else e for e in index]
    )


def _renamed(factors: Sequence[Factor], old: int, new: int) -> tuple[Factor, ...]:
    return tuple(
        Factor(tensor, tuple([new if one == old else one for one in labels]))
        for tensor, labels in factors
    )


def _without(axes: Sequence[int], gone: Collection[int]) -> tuple[int, ...]:
    return tuple([axis for axis in axes if axis not in gone])


def _region(entries: Iterable[Any]) -> Iterator[Bounds]:
    """The region of an index."""
    for entry in entries:
        if type(entry) is not Affine and entry[1] != 1:
            raise NotAtOnce(entry)
        yield Bounds(entry, entry + 1) if type(entry) is Affine else entry[0]


def _slice_of(at: Affine, stride: int, length: int) -> slice:
    """The slice that takes the elements of all steps."""
    stop = at.constant + stride * (length - 1) + (1 if stride > 0 else -1)
    return slice(at.constant, None if stop < 0 else stop, None if stride == 1 else stride)


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


def _leads_to(value: Value, carried: Value) -> bool:
    """Return whether a value is made of what is carried by writing into it or adding to it."""
    left = [value]
    while left:
        value = left.pop()
        if value is carried:
            return True
        node = value.node
        if node is None:
            continue
        if node.op.update or node.op is copy:
            left.append(node.operands[0])
        elif node.op is add:
            left += node.operands
        elif is_counted(node) and value.index < node.params["carried"]:
            left.append(node.operands[node.params["invariants"] + value.index])
    return False


def _has_products(node: Node) -> bool:
    body: Subgraph = node.params["body"]
    return any(
        inner.op.product is not None or (is_counted(inner) and _has_products(inner))
        for inner in body.nodes
    )
