"""Arrays whose axes have labels: values of the bodies of nested loops, at all steps at once.

The steps of a loop are an axis like others. A part of an axis, whose bounds go on with the steps,
is the whole axis: what lies outside of the bounds of a label is anything at all, and masked where
it would be added up. A product keeps its factors until it is needed, so that a sum over steps is a
product of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tracejit.ir.graph import Node
from tracejit.loops.arrays.loop_regions import Affine, Bounds
from tracejit.ops.elementwise.arithmetic import multiply
from tracejit.ops.linalg.triangles import masked_product
from tracejit.support.cost_model import costs
from tracejit.trace.tensor.tensor import Tensor

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class NotAtOnce(Exception):
    """The steps of a loop cannot be computed at once, or had better not."""


class Factor(NamedTuple):
    """A Tensor each axis of which has a label."""

    tensor: Any
    labels: tuple[int, ...]


class Whole(NamedTuple):
    """A value of a body at all steps: the product of `factors`, whose own axes are `axes`. It is
    the same along an axis for which no factor has a label."""

    factors: tuple[Factor, ...]
    axes: tuple[int, ...]

    @property
    def labels(self) -> set[int]:
        """The labels of all axes and loops."""
        return {label for factor in self.factors for label in factor.labels}.union(self.axes)


class LabelledArrays:
    """The labels of a nest of loops, and operations on what has them.

    `sizes` are those of all labels, `lengths` those of loops alone, and `bounds` those between
    which a label counts. Where the loops have products (`is_heavy`), larger arrays pay.
    """

    def __init__(self, recording: Any, is_heavy: bool) -> None:
        """Begin without labels."""
        self.recording = recording
        self.is_heavy = is_heavy
        self.sizes: dict[int, int] = {}
        self.lengths: dict[int, int] = {}
        self.bounds: dict[int, Bounds] = {}

    def like(self, label: int) -> int:
        """Another label for an axis between the same bounds."""
        return self.label(self.sizes[label], self.bounds.get(label))

    def loop(self, length: int) -> int:
        """A label for the steps of a loop."""
        label = self.label(length)
        self.lengths[label] = length
        return label

    def plain(self, tensor: Any) -> Whole:
        """An array that is the same at each step."""
        labels = tuple([self.label(size) for size in tensor.shape])
        return Whole((Factor(tensor, labels),), labels)

    def label(self, size: Any, bounds: Bounds | None = None) -> int:
        if type(size) is not int:
            raise NotAtOnce(size)
        label = len(self.sizes)
        self.sizes[label] = size
        if bounds is not None:
            self.bounds[label] = bounds
        return label

    def element(self, whole: Whole, loop: int) -> Whole:
        """One element along the first axis of an array, in each step."""
        label, *rest = whole.axes
        if label in self.bounds:
            raise NotAtOnce(whole)
        return Whole(relabelled(whole.factors, {label: loop}), tuple(rest))

    def stacked(self, whole: Whole, loop: int) -> Whole:
        """The values of all steps along a new first axis."""
        if any(loop in self.bounds[label].loops for label in whole.labels & self.bounds.keys()):
            raise NotAtOnce(whole)
        label = self.label(self.sizes[loop])
        return Whole(relabelled(whole.factors, {loop: label}), (label, *whole.axes))

    def elementwise(self, node: Node, wholes: Sequence[Whole]) -> Whole:
        shape = node.results[0].type.shape
        axes: dict[int, int] = {}
        fitted = []
        for whole in wholes:
            factors, names = whole.factors, {}
            for k, label in enumerate(reversed(whole.axes), start=1):
                if self.sizes[label] == 1 != shape[-k]:
                    factors = self.points(factors, label, Affine(0))
                    continue
                if k not in axes:
                    is_new = label not in axes.values()
                    axes[k] = label if is_new else self.like(label)
                if axes[k] != label and not self._are_alike(axes[k], label):
                    raise NotAtOnce(node)
                names[label] = axes[k]
            fitted.append(relabelled(factors, names))
        if len(axes) < len(shape):
            raise NotAtOnce(node)
        own = tuple([axes[k] for k in range(len(shape), 0, -1)])
        labels = [{v for one in factors for v in one.labels} for factors in fitted]
        every = set().union(*labels)
        if node.op is multiply and all(part < every for part in labels):
            both = [one for factors in fitted for one in factors]
            kind = node.results[0].type.dtype
            if all(one.tensor.type.is_inexact and one.tensor.type.form != "weak" for one in both):
                cast = [one._replace(tensor=one.tensor.astype(kind)) for one in both]
                return Whole((*cast,), own)
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

    def product(self, node: Node, left: Whole, right: Whole) -> Whole:
        for axis in right.axes:
            if axis in left.labels:  # the same array on both sides
                fresh = self.like(axis)
                axes = tuple([fresh if one == axis else one for one in right.axes])
                right = Whole(relabelled(right.factors, {axis: fresh}), axes)
        if node.op.product == "outer":
            return Whole((*left.factors, *right.factors), (*left.axes, *right.axes))
        type = node.results[0].type
        if len(left.axes) + len(right.axes) - 2 != type.ndim or type.dtype.kind == "c":
            raise NotAtOnce(node)
        one, other = left.axes[-1], right.axes[0]
        if not self._are_alike(one, other):
            raise NotAtOnce(node)
        factors = (*left.factors, *relabelled(right.factors, {other: one}))
        return self.contracted(factors, (*left.axes[:-1], *right.axes[1:]), {one})

    def contracted(
        self, factors: Sequence[Factor], axes: tuple[int, ...], gone: Collection[int]
    ) -> Whole:
        """The sum over the labels `gone` of a product."""
        every = {label for one in factors for label in one.labels}
        if self.bounds.keys() & ({*axes, *gone} - every):
            raise NotAtOnce(axes)
        masked = self._between(every, gone)
        repeated = {*gone} - every.union(*[self.bounds[label].loops for label in masked])
        found = self._masked_product(factors, gone, masked)
        if found is None:
            found = self._summed(self._masked(factors, masked) if masked else factors, gone)
        if repeated:
            times = math.prod([self.sizes[label] for label in repeated])
            found = found._replace(tensor=found.tensor * times)
        return Whole((found,), axes)

    def _masked(self, factors: Sequence[Factor], masked: Sequence[int]) -> list[Factor]:
        """A product with zeros where bounds of these labels do not hold: no factor alone, as zero
        times infinity is nan."""
        loops = {loop for label in masked for loop in self.bounds[label].loops}
        every = loops.union(*[one.labels for one in factors])
        labels = tuple(sorted(every))
        whole = self._aligned(Whole((*factors,), ()), labels)
        found = np.where(self.mask(masked, labels), whole, whole.dtype.type(0))
        shape = tuple([self.sizes[label] for label in labels])
        self._check(labels, whole.dtype.itemsize)
        return [Factor(found if found.shape == shape else np.broadcast_to(found, shape), labels)]

    def _summed(self, factors: Sequence[Factor], gone: Collection[int]) -> Factor:
        """The sum of the product over the labels `gone`."""
        every = [*dict.fromkeys(label for one in factors for label in one.labels)]
        left = tuple([label for label in every if label not in gone])
        for one in factors:
            self._check(one.labels, one.tensor.dtype.itemsize)
        self._check(left, factors[0].tensor.dtype.itemsize)
        if len(left) == len(every):
            return Factor(self.array(Whole((*factors,), ()), left), left)
        if len(factors) == 1:
            axes = tuple([k for k, label in enumerate(every) if label in gone])
            return Factor(np.sum(factors[0].tensor, axis=axes), left)
        letters = dict(zip(every, LETTERS, strict=False))
        sides = ["".join([letters[label] for label in one.labels]) for one in factors]
        text = f"{','.join(sides)}->{''.join([letters[label] for label in left])}"
        found: Any = np.einsum(text, *[one.tensor for one in factors])
        return Factor(found, left)

    def _masked_product(
        self, factors: Sequence[Factor], gone: Collection[int], masked: Sequence[int]
    ) -> Factor | None:
        """A product of two factors, of which one has all the labels that the masks have: what the
        mask leaves out is not multiplied, be it infinite. None if it is none."""
        if len(factors) != 2 or len(gone) != 1 or not masked:
            return None
        (summed,) = gone
        within = {*masked}.union(*[self.bounds[label].loops for label in masked])
        for one, other in (factors, factors[::-1]):
            if len(one.labels) != 2 or not {*within, summed} <= {*one.labels}:
                continue
            (row,) = {*one.labels} - {summed}
            if row in other.labels or summed not in other.labels:
                continue
            matrix = self.array(Whole((one,), ()), (row, summed))
            mask = np.broadcast_to(self.mask(masked, (row, summed)), matrix.shape)
            rest = tuple([label for label in other.labels if label != summed])
            side: Any = self.array(Whole((other,), ()), (summed, *rest))
            columns = math.prod([self.sizes[label] for label in rest])
            found: Any = masked_product(matrix, mask, np.reshape(side, (side.shape[0], columns)))
            labels = (row, *rest)
            self._check(labels, found.dtype.itemsize)
            return Factor(np.reshape(found, [self.sizes[label] for label in labels]), labels)
        return None

    def _between(self, labels: Collection[int], gone: Collection[int]) -> list[int]:
        """The labels whose bounds must hold where the labels `gone` are summed over."""
        return [
            label
            for label in self.bounds
            if label in labels and (label in gone or not self.bounds[label].loops.isdisjoint(gone))
        ]

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

    def array(self, whole: Whole, order: Sequence[int]) -> Any:
        """The array with all of these axes."""
        found = self._aligned(whole, order)
        shape = tuple([self.sizes[label] for label in order])
        if found.shape != shape:
            self._check(order, found.dtype.itemsize)
            found = np.broadcast_to(found, shape)
        return found

    def _check(self, labels: Collection[int], itemsize: int) -> None:
        """Refuse an array that is too large."""
        total = math.prod([self.sizes[label] for label in labels]) * itemsize
        is_large = total > costs().loop_bytes
        if not is_large and not self.is_heavy:
            size = math.prod([self.sizes[label] for label in labels if label not in self.lengths])
            is_large = total > costs().cached_steps and size * itemsize > costs().step_bytes
        if is_large:
            raise NotAtOnce(labels)

    def mask(self, labels: Collection[int], order: Sequence[int]) -> Any:
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

    def cut(
        self, factors: Sequence[Factor], label: int, part: slice, new: int
    ) -> tuple[Factor, ...]:
        """Factors with a part of the axis `label`, which gets a new label."""
        if label in self.bounds:
            raise NotAtOnce(label)
        made = []
        for tensor, labels in factors:
            if label in labels:
                tensor = tensor[(slice(None),) * labels.index(label) + (part,)]
                labels = tuple([new if one == label else one for one in labels])
            made.append(Factor(tensor, labels))
        return tuple(made)

    def reduced(self, node: Node, whole: Whole) -> Whole:
        """A value reduced along axes by what is not a sum."""
        gone = {whole.axes[k] for k in node.params["axis"]}
        if not self.bounds.keys().isdisjoint(gone):
            raise NotAtOnce(node)
        order = (*sorted(whole.labels - gone), *sorted(gone))
        behind = tuple(range(len(order) - len(gone), len(order)))
        found = node.op(self.array(whole, order), axis=behind)
        axes = tuple([label for label in whole.axes if label not in gone])
        return Whole((Factor(found, order[: len(order) - len(gone)]),), axes)

    def windows(
        self, factors: Sequence[Factor], label: int, start: Affine, size: int
    ) -> tuple[tuple[Factor, ...], int]:
        """Factors with so many elements of the axis `label` from another place at each step, and
        the label of these elements."""
        if len(start.factors) != 1 or label in self.bounds:
            raise NotAtOnce(start)
        ((loop, stride),) = start.factors
        window = self.label(size)
        if size == 1:
            return self.points(factors, label, start), window
        made = []
        for tensor, labels in factors:
            if label in labels:
                if loop in labels:
                    raise NotAtOnce(start)
                axis = labels.index(label)
                places = (slice(None),) * axis + (slice_of(start, stride, self.lengths[loop]),)
                tensor = sliding_window_view(tensor, size, axis=axis)[places]
                labels = (*[loop if one == label else one for one in labels], window)
            made.append(Factor(tensor, labels))
        return tuple(made), window

    def points(self, factors: Sequence[Factor], label: int, at: Affine) -> tuple[Factor, ...]:
        """Factors with one element of the axis `label` at each step."""
        if len(at.factors) > 1:
            raise NotAtOnce(at)
        new = self.label(1)
        if not at.factors:
            made = self.cut(factors, label, slice(at.constant, at.constant + 1), new)
            return tuple([self._squeezed(one, new) for one in made])
        ((loop, stride),) = at.factors
        found = []
        for tensor, labels in self.cut(
            factors, label, slice_of(at, stride, self.lengths[loop]), new
        ):
            if new in labels and loop in labels:
                tensor = np.diagonal(tensor, 0, labels.index(loop), labels.index(new))
                labels = (*[one for one in labels if one not in (new, loop)], new)
            found.append(Factor(tensor, labels))
        return relabelled(found, {new: loop})

    def _squeezed(self, factor: Factor, label: int) -> Factor:
        """A factor without an axis that has one element."""
        tensor, labels = factor
        if label not in labels:
            return factor
        left = tuple([one for one in labels if one != label])
        return Factor(np.squeeze(tensor, labels.index(label)), left)


def relabelled(factors: Sequence[Factor], names: Mapping[int, int]) -> tuple[Factor, ...]:
    """Factors with other labels for some axes."""
    return tuple(
        [
            Factor(tensor, tuple([names.get(label, label) for label in labels]))
            for tensor, labels in factors
        ]
    )


def slice_of(at: Affine, stride: int, length: int) -> slice:
    """The slice that takes the elements of all steps."""
    stop = at.constant + stride * (length - 1) + (1 if stride > 0 else -1)
    return slice(at.constant, None if stop < 0 else stop, None if stride == 1 else stride)
