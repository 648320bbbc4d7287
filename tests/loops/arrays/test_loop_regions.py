"""Which steps of loops meet, against going through all of them."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tracejit.loops.arrays.loop_regions import Access, Affine, Bounds, meet, meet_in_step

N = 5
ROW, J = Affine.of_step(0), Affine.of_step(1)
END = Affine(N)
PARTS = {
    "i": Bounds(ROW, ROW + 1),
    "i + 1": Bounds(ROW + 1, ROW + 2),
    "j": Bounds(J, J + 1),
    ":i": Bounds(Affine(0), ROW),
    ":i + 1": Bounds(Affine(0), ROW + 1),
    "i + 1:": Bounds(ROW + 1, END),
    "-i": Bounds(ROW.times(-1) + 4, ROW.times(-1) + 5),
    ":": Bounds(Affine(0), END),
    "2": Bounds(Affine(2), Affine(3)),
}
LENGTHS = {0: N - 1, 1: N}


def cells(region: Any, step: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The cells of a region in a step."""

    def number(end: Affine) -> int:
        return end.constant + sum(factor * step[loop] for loop, factor in end.factors)

    return {*product(*[range(number(start), number(stop)) for start, stop in region])}


def accesses() -> list[Access]:
    found = []
    for one, other in product(PARTS.values(), repeat=2):
        has_inner = 1 in one.loops | other.loops
        found.append(Access((one, other), (0, 1) if has_inner else (0,)))
    return found


@pytest.mark.parametrize("is_before", [False, True])
def test_meetings_are_found(is_before: bool) -> None:
    some = accesses()
    kinds = set()
    for number, one in enumerate(some):
        other = some[(7 * number + 3) % len(some)]
        steps = [
            [*product(*[range(LENGTHS[loop]) for loop in access.loops])] for access in (one, other)
        ]
        depth = min(len(one.loops), len(other.loops))
        expected = any(
            (a[:depth] < b[:depth] if is_before else a[:depth] != b[:depth])
            and not cells(one.region, a).isdisjoint(cells(other.region, b))
            for a, b in product(*steps)
        )
        found = meet(one, other, LENGTHS, is_before=is_before)
        assert found or not expected, (one, other)
        kinds.add((found, expected))
    assert {(True, True), (False, False)} <= kinds


def test_meetings_in_one_step() -> None:
    row, column = (
        Access((PARTS["i"], PARTS["i + 1:"]), (0,)),
        Access((PARTS["i + 1:"], PARTS["i"]), (0,)),
    )
    assert not meet(row, column, LENGTHS)
    assert not meet_in_step(row, column, LENGTHS)
    assert meet_in_step(row, row, LENGTHS)
    assert not meet(row, row, LENGTHS)


def test_inside_of_loops() -> None:
    cell = Access((PARTS["j"], PARTS[":"]), (0, 1))
    assert meet(cell, cell, LENGTHS)
    assert not meet(cell, cell, LENGTHS, inside=1)
