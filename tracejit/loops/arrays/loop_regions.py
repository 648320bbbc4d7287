"""Regions of arrays that the steps of nested loops read and write, and which of them may meet.

A region is a slice of each axis, between bounds that are affine in the numbers of the steps:
`a[i, :i + 1]` is rows `i` to `i + 1` and columns `0` to `i + 1`. `meet` answers for two accesses
if some cell of an array is in the regions of two different steps.

>>> i, end = Affine.of_step(0), Affine(5)
>>> here, after, everywhere = Bounds(i, i + 1), Bounds(i + 1, end), Bounds(Affine(0), end)
>>> row, column = Access((here, after), (0,)), Access((after, here), (0,))
>>> whole = Access((everywhere, everywhere), (0,))
>>> meet(row, column, {0: 4}), meet(row, whole, {0: 4})
(False, True)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.dims import terms_of


class NotAffine(Exception):
    """A number of a body that is not an affine function of the numbers of steps."""


class Affine(NamedTuple):
    """A number that follows from those of the steps of loops: `constant`, and for each of the
    `factors`, as (loop, factor), so many times the number of its step."""

    constant: int
    factors: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of_step(cls, loop: int) -> Affine:
        """The number of the step of a loop."""
        return cls(0, ((loop, 1),))

    @classmethod
    def of_size(cls, size: Any, loops: Mapping[int, int]) -> Affine:
        """A size; `loops` are those of the symbols. Raises NotAffine for another polynomial."""
        found = cls(0)
        for monomial, factor in terms_of(size).items():
            if len(monomial) > 1 or not loops.keys() >= {*monomial}:
                raise NotAffine(size)
            one = cls.of_step(loops[monomial[0]]) if monomial else cls(1)
            found = found + one.times(factor)
        return found

    def __add__(self, other: Any) -> Affine:
        """The sum with another, or with an integer."""
        constant, more = (other, ()) if type(other) is int else other
        factors = dict(self.factors)
        for loop, factor in more:
            factors[loop] = factors.get(loop, 0) + factor
        kept = tuple((loop, factor) for loop, factor in sorted(factors.items()) if factor)
        return Affine(self.constant + constant, kept)

    def times(self, number: int) -> Affine:
        """So many times it."""
        factors = tuple((loop, factor * number) for loop, factor in self.factors if number)
        return Affine(self.constant * number, factors)

    @property
    def loops(self) -> frozenset[int]:
        """The loops on whose steps it depends."""
        return frozenset(loop for loop, _ in self.factors)

    def end(self, lengths: Mapping[int, int], is_last: bool, free: Any = None) -> Affine:
        """The least or greatest that it is while the steps of `free` loops, by default of all,
        go on."""
        found = Affine(self.constant)
        for loop, factor in self.factors:
            if free is not None and loop not in free:
                found = found + Affine(0, ((loop, factor),))
            elif (factor > 0) == is_last:
                found = found + factor * (lengths[loop] - 1)
        return found


class Bounds(NamedTuple):
    """A slice of an axis."""

    start: Affine
    stop: Affine

    @property
    def loops(self) -> frozenset[int]:
        """The loops on whose steps it depends."""
        return self.start.loops | self.stop.loops

    def over(self, free: Any, lengths: Mapping[int, int]) -> Bounds:
        """A slice with all that it is while the steps of the `free` loops go on."""
        return Bounds(self.start.end(lengths, False, free), self.stop.end(lengths, True, free))


class Access(NamedTuple):
    """A region that each step inside of `loops`, the outermost first, reads or writes."""

    region: Sequence[Bounds]
    loops: tuple[int, ...]


def meet(
    one: Access,
    other: Access,
    lengths: Mapping[int, int],
    inside: int = 0,
    is_before: bool = False,
) -> bool:
    """Return whether a step of `one` may meet another step of `other`; with `is_before`, one that
    comes before it. Both are in the same step of the first `inside` loops."""
    common = [a for a, b in zip(one.loops, other.loops, strict=False) if a == b]
    return any(
        _meet_at(one, other, common[: depth + 1], lengths, is_before)
        for depth in range(inside, len(common))
    )


def meet_in_step(one: Access, other: Access, lengths: Mapping[int, int]) -> bool:
    """Return whether two accesses of one step of the loops around both may meet."""
    common = [a for a, b in zip(one.loops, other.loops, strict=False) if a == b]
    return _meet_at(one, other, common, lengths, None)


def _meet_at(
    one: Access,
    other: Access,
    loops: Sequence[int],
    lengths: Mapping[int, int],
    is_before: bool | None,
) -> bool:
    """Return whether accesses may meet in different steps of the last of these loops, where the
    others are in the same step; of all loops in the same step where `is_before` is None."""
    fixed = loops if is_before is None else loops[:-1]
    axes: list[Any] = [*fixed, *([] if is_before is None else ("one", "other"))]
    found = np.ones((1,) * len(axes), dtype=bool)
    if is_before is not None:
        count = np.arange(lengths[loops[-1]])
        first, second = count[:, None], count
        found = found & ((first < second) if is_before else (first != second))
    by_axes: dict[frozenset[Any], Any] = {
        frozenset(axes[-2:]) if is_before is not None else frozenset(): found
    }
    for mine, theirs in zip(one.region, other.region, strict=True):
        sides = []
        for bounds, access, name in ((mine, one, "one"), (theirs, other, "other")):
            free = [loop for loop in access.loops if loop not in loops]
            whole = bounds.over(free, lengths)
            names: dict[int, Any] = {loop: loop for loop in fixed}
            if is_before is not None:
                names[loops[-1]] = name
            sides.append([_numbers(end, names, axes, lengths) for end in whole])
        (start, stop), (start_2, stop_2) = sides
        together = (start < stop_2) & (start_2 < stop)
        key = frozenset(axis for axis, size in zip(axes, together.shape, strict=True) if size > 1)
        by_axes[key] = by_axes.get(key, True) & together
    # what depends on other numbers is true or false by itself
    while len(by_axes) > 1:
        for key in by_axes:
            joined = next((k for k in by_axes if k is not key and not key.isdisjoint(k)), None)
            if joined is not None:
                both = by_axes.pop(key) & by_axes.pop(joined)
                by_axes[key | joined] = by_axes.get(key | joined, True) & both
                break
        else:
            break
    return all(bool(np.any(part)) for part in by_axes.values())


def _numbers(
    end: Affine, names: Mapping[int, Any], axes: Sequence[Any], lengths: Mapping[int, int]
) -> Any:
    """A bound at all steps, along the axes of these names."""
    found = np.full((1,) * len(axes), end.constant)
    for loop, factor in end.factors:
        shape = [1] * len(axes)
        shape[axes.index(names[loop])] = lengths[loop]
        found = found + (factor * np.arange(lengths[loop])).reshape(shape)
    return found
