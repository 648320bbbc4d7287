"""Cells: an array that the steps of loops write into, and what it is after all of them.

A step may read what no step before it writes. Writes of all steps take place at once where no
other step writes the same cells, or where all of them add to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tracejit.loops.arrays.labelled_arrays import (
    Factor,
    LabelledArrays,
    NotAtOnce,
    Whole,
    slice_of,
)
from tracejit.loops.arrays.loop_regions import Access, Affine, Bounds, meet, meet_in_step
from tracejit.ops.indexing.updates import set_item


class Write(NamedTuple):
    """A value that each step inside of `access.loops` puts somewhere, or adds there by `sign`."""

    access: Access
    value: Whole
    sign: int


class Cells:
    """An array that steps write into, made in these `loops`. `last` is what it is after them; it
    may be that each step of another loop fills it anew."""

    def __init__(self, arrays: LabelledArrays, initial: Whole, loops: tuple[int, ...]) -> None:
        """Nothing is read or written yet."""
        self.arrays = arrays
        self.initial = initial
        self.loops = loops
        self.reads: list[tuple[Access, int]] = []
        self.writes: list[Write] = []
        self.last: Whole | None = None

    @property
    def shape(self) -> list[int]:
        """The sizes of the axes."""
        return [self.arrays.sizes[label] for label in self.initial.axes]

    @property
    def everything(self) -> tuple[Bounds, ...]:
        """The region of all cells."""
        return tuple([Bounds(Affine(0), Affine(size)) for size in self.shape])

    def read(self, access: Access, after: int) -> Whole | None:
        """The array before any write, for a region that is read after so many of them; None if
        the step itself has written there."""
        for write in self.writes[:after]:
            if meet_in_step(write.access, access, self.arrays.lengths):
                return None
        self.reads.append((access, after))
        return self.initial

    def read_all(self, around: tuple[int, ...], after: int) -> Whole:
        """All of the array inside of the loops `around`, after so many writes."""
        if not after:
            self.reads.append((Access(self.everything, around), 0))
            return self.initial
        if after != len(self.writes):
            raise NotAtOnce(self)
        if self.last is not None:
            return self.last
        if self.loops == around:
            return self.finished(after)
        write = self.writes[0]
        inner = write.access.loops[len(around) :]
        lengths = self.arrays.lengths
        region = tuple([bounds.over(inner, lengths) for bounds in write.access.region])
        is_inside = write.access.loops[: len(around)] == around
        if after > 1 or write.sign or not is_inside or region != self.everything:
            raise NotAtOnce(self)
        self.last = self._written(self.initial, write, around)
        return self.last

    def add(self, write: Write, after: int) -> None:
        """Write once more, after so many writes."""
        if after != len(self.writes) or self.last is not None:
            raise NotAtOnce(self)
        self.writes.append(write)

    def check_reads(self) -> None:
        """Refuse reads of what an earlier step has written."""
        inside, lengths = len(self.loops), self.arrays.lengths
        for read, after in self.reads:
            for number, write in enumerate(self.writes):
                is_late = number < after and meet_in_step(write.access, read, lengths)
                if is_late or meet(write.access, read, lengths, inside, is_before=True):
                    raise NotAtOnce(self)

    def finished(self, after: int) -> Whole:
        """The array after all steps of the loops inside of those that it was made in, which write
        so often."""
        if after != len(self.writes):
            raise NotAtOnce(self)
        if self.last is not None:
            return self._after_last()
        whole = self.initial
        for write in self._in_order():
            whole = self._written(whole, write, self.loops)
        self.last = whole
        return whole

    def _in_order(self) -> Sequence[Write]:
        """The writes in an order in which each can take place for all steps at once."""
        inside, lengths = len(self.loops), self.arrays.lengths
        if any(not w.sign and meet(w.access, w.access, lengths, inside) for w in self.writes):
            raise NotAtOnce(self)
        program = list(enumerate(self.writes))

        def may_precede(one: tuple[int, Write], other: tuple[int, Write]) -> bool:
            (first, write), (second, later) = one, other
            if write.sign and later.sign:
                return True
            return not meet(later.access, write.access, lengths, inside, is_before=True) and (
                first < second or not meet_in_step(write.access, later.access, lengths)
            )

        for order in (program, sorted(program, key=lambda pair: abs(pair[1].sign))):
            if all(may_precede(*pair) for pair in combinations(order, 2)):
                return [write for _, write in order]
        raise NotAtOnce(self)

    def _after_last(self) -> Whole:
        """The array as the last step has left it."""
        assert self.last is not None
        whole = self.last
        if whole.labels & self.arrays.bounds.keys():
            raise NotAtOnce(self)
        for loop in sorted(whole.labels & {*self.arrays.lengths} - {*self.loops}):
            factors = self.arrays.points(whole.factors, loop, Affine(self.arrays.lengths[loop] - 1))
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
            size = self.arrays.sizes[label]
            if bounds.stop == bounds.start + 1:
                if not bounds.start.factors:
                    entries.append(bounds.start.constant)
                    continue
                ((loop, stride), *more) = bounds.start.factors
                if more or loop not in gone or loop in order:
                    raise NotAtOnce(write)
                order.append(loop)
                entries.append(slice_of(bounds.start, stride, self.arrays.lengths[loop]))
                continue
            mine = own.pop(0)
            if mine == -1 or self.arrays.sizes[mine] == 1 != size:
                raise NotAtOnce(write)
            if not bounds.loops:
                start, stop = (end.constant for end in bounds)
                entries.append(slice(None) if (start, stop) == (0, size) else slice(start, stop))
                if self.arrays.sizes[mine] != stop - start:
                    raise NotAtOnce(write)
            else:
                if self.arrays.bounds.get(mine) != bounds or self.arrays.sizes[mine] != size:
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
            late = [v for v in masked if self.arrays.bounds[v].loops.isdisjoint(summed)]
            found = self.arrays.contracted(factors, tuple(order), summed)
            new = self.arrays.array(found, target)
            masked = late
        else:
            new = self.arrays.array(Whole(factors, ()), target)
        base = self.arrays.array(whole, (*front, *whole.axes))
        if not write.sign and new.dtype.kind == base.dtype.kind == "f":
            new = new.astype(base.dtype)
        index = (*[slice(None)] * len(front), *entries)
        is_all = all(
            type(e) is slice and e.indices(size) == (0, size, 1)
            for e, size in zip(index, base.shape, strict=True)
        )
        before = base if is_all else base[index]
        mask = self.arrays.mask(masked, target) if masked else None
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


def _index(index: Sequence[Any]) -> tuple[Any, ...]:
    """An index as parameters of a node have it."""
    return tuple([("slice", e.start, e.stop, e.step) if type(e) is slice else e for e in index])
