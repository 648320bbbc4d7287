"""Areas: what basic indices select."""

from __future__ import annotations

import numpy as np
import pytest

from tests.interpret import record
from tracejit.passes.areas import Part, area_of, has_area, index_of, parents

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
