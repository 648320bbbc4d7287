"""Layout: what is read stands above, nothing overlaps, few edges cross."""

from __future__ import annotations

import random

import pytest

from tracejit.explorer import layout
from tracejit.explorer.layout import Layout, layered


def check(made: Layout, sizes: list[tuple[float, float]], edges: list[tuple[int, int]]) -> None:
    for start, stop in edges:
        assert (
            made.centers[start].y + sizes[start][1] / 2 < made.centers[stop].y - sizes[stop][1] / 2
        )
    boxes = [
        (c.x - w / 2, c.x + w / 2, c.y - h / 2, c.y + h / 2)
        for c, (w, h) in zip(made.centers, sizes, strict=True)
    ]
    for number, one in enumerate(boxes):
        assert one[0] >= -1e-6 and one[1] <= made.width + 1e-6 and one[3] <= made.height + 1e-6
        for other in boxes[:number]:
            apart = one[1] <= other[0] or other[1] <= one[0]
            assert apart or one[3] <= other[2] or other[3] <= one[2]
    for (start, stop), route in zip(edges, made.routes, strict=True):
        assert route[0] == made.centers[start] and route[-1] == made.centers[stop]
        assert [point.y for point in route] == sorted(point.y for point in route)


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_are_laid_out_without_overlaps(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randrange(1, 60)
    sizes = [(rng.uniform(20, 200), rng.uniform(20, 300)) for _ in range(count)]
    edges = sorted(
        {(rng.randrange(stop), stop) for stop in range(1, count) for _ in range(rng.randrange(3))}
    )
    check(layered(sizes, edges), sizes, edges)


def test_a_chain_is_straight() -> None:
    sizes = [(40.0, 20.0)] * 5
    made = layered(sizes, [(n, n + 1) for n in range(4)])
    assert len({round(center.x, 6) for center in made.centers}) == 1


def test_two_chains_do_not_cross() -> None:
    edges = [(0, 3), (1, 2), (2, 5), (3, 4)]
    made = layered([(40.0, 20.0)] * 6, edges)
    x = [center.x for center in made.centers]
    assert (x[0] < x[1]) == (x[3] < x[2]) == (x[4] < x[5])


def test_no_nodes_take_no_room() -> None:
    assert layered([], []) == Layout([], [], 0.0, 0.0)


def test_inputs_stand_just_above_their_first_reader() -> None:
    made = layered([(10.0, 10.0)] * 4, [(0, 1), (1, 3), (2, 3)])
    assert made.centers[2].y == made.centers[1].y


def test_where_edges_are_too_many_they_are_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "MOST_POINTS", 0)
    made = layered([(10.0, 10.0)] * 3, [(0, 1), (1, 2), (0, 2)])
    assert [len(route) for route in made.routes] == [2, 2, 2]
