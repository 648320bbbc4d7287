"""Slices: what basic indices select, and where that lies in the array made flat."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.interpret import record
from tracejit.passes.layout.slices import (
    FlatSlice,
    Part,
    SliceRows,
    area_of,
    flat_slice_of,
    has_area,
    index_of,
    parents,
)

ALL = ("slice", None, None, None)


@pytest.mark.parametrize(
    ("index", "area"),
    [
        ((("slice", 1, -1, None),), ((1, 6), (0, 5))),
        ((ALL, ("slice", -2, None, 1)), ((0, 7), (3, 5))),
        ((("slice", None, None, 2),), None),
        (("...", ("slice", 1, None, None)), ((0, 7), (1, 5))),
        ((("slice", 1, None, None), ALL, "..."), ((1, 7), (0, 5))),
        ((3,), None),
        ((ALL, ALL, ALL), None),
    ],
)
def test_area(index: tuple[object, ...], area: object) -> None:
    assert area_of(index, (7, 5)) == area


def test_index_of_an_area() -> None:
    assert index_of(((1, 6), (0, 5)), (7, 5)) == (("slice", 1, 6, None),)
    assert index_of(((0, 7), (3, 5)), (7, 5)) == (ALL, ("slice", 3, None, None))


def test_a_part_of_a_part() -> None:
    graph = record(lambda x: x[1:][:, 2:4][1:3], np.ones((7, 5)))[0]
    found = list(parents(graph.outputs[0]))
    assert found[-1] == Part(graph.inputs[0], ((2, 4), (2, 4)))
    assert [part.value.type.shape for part in found] == [(6, 2), (6, 5), (7, 5)]


def test_what_is_spread_has_no_area() -> None:
    graph = record(lambda x: x[1:], np.ones((7, 5)))[0]
    value = graph.outputs[0]
    assert has_area(Part(value, ((0, 6), (0, 5))))
    assert not has_area(Part(value, ((0, 7), (0, 5))))


SHAPES = ((5,), (4, 6), (3, 4, 5), (2, 3, 1, 4))


def test_axes_that_are_one() -> None:
    assert flat_slice_of(((0, 4), (0, 9)), (4, 9)) == FlatSlice(0, SliceRows((36,), ()))
    assert flat_slice_of(((1, 3), (0, 9)), (4, 9)) == FlatSlice(9, SliceRows((18,), ()))
    assert flat_slice_of(((1, 3), (1, 4), (0, 2)), (4, 9, 2)) == FlatSlice(
        20, SliceRows((2, 6), (18,))
    )
    assert flat_slice_of(((1, 3), (0, 9), (1, 2)), (4, 9, 2)) == FlatSlice(
        19, SliceRows((18, 1), (2,))
    )
    assert flat_slice_of(((1, 2), (1, 4)), (4, 9)) == FlatSlice(10, SliceRows((3,), ()))


def test_no_elements() -> None:
    assert flat_slice_of(((1, 1), (1, 4)), (4, 9)) is None
    assert flat_slice_of((), ()) is None


@pytest.mark.parametrize("shape", SHAPES)
def test_elements_and_gaps(shape: tuple[int, ...]) -> None:
    """The elements of a flat slice that lie in no gap are those of the area, in their order."""
    numbers = np.arange(np.prod(shape)).reshape(shape)
    bounds = [[(a, b) for a in range(n) for b in range(a + 1, n + 1)] for n in shape]
    for area in product(*bounds):
        found = flat_slice_of(area, shape)
        assert found is not None
        start, rows = found
        used = np.ones(rows.size, bool)
        for count, length in rows.levels:
            whole = rows.size - count
            assert whole % length == 0
            used[:whole].reshape(-1, length)[:, count:] = False
        part = numbers[tuple(slice(*bound) for bound in area)]
        found = numbers.reshape(-1)[start : start + rows.size][used]
        np.testing.assert_array_equal(found, part.reshape(-1))
        assert rows.gaps == rows.size - part.size
        assert rows.number * rows.extents[-1] == part.size
