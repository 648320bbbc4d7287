"""Rows: where parts of arrays lie in the arrays made flat."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tracejit.passes.rows import Rows, Stretch, stretch_of

SHAPES = ((5,), (4, 6), (3, 4, 5), (2, 3, 1, 4))


def test_axes_that_are_one() -> None:
    assert stretch_of(((0, 4), (0, 9)), (4, 9)) == Stretch(0, Rows((36,), ()))
    assert stretch_of(((1, 3), (0, 9)), (4, 9)) == Stretch(9, Rows((18,), ()))
    assert stretch_of(((1, 3), (1, 4), (0, 2)), (4, 9, 2)) == Stretch(20, Rows((2, 6), (18,)))
    assert stretch_of(((1, 3), (0, 9), (1, 2)), (4, 9, 2)) == Stretch(19, Rows((18, 1), (2,)))
    assert stretch_of(((1, 2), (1, 4)), (4, 9)) == Stretch(10, Rows((3,), ()))


def test_no_elements() -> None:
    assert stretch_of(((1, 1), (1, 4)), (4, 9)) is None
    assert stretch_of((), ()) is None


@pytest.mark.parametrize("shape", SHAPES)
def test_elements_and_gaps(shape: tuple[int, ...]) -> None:
    """The elements of a stretch that lie in no gap are those of the area, in their order."""
    numbers = np.arange(np.prod(shape)).reshape(shape)
    bounds = [[(a, b) for a in range(n) for b in range(a + 1, n + 1)] for n in shape]
    for area in product(*bounds):
        stretch = stretch_of(area, shape)
        assert stretch is not None
        start, rows = stretch
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
