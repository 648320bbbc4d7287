"""Cuts of networks, against every cut there is."""

from __future__ import annotations

import itertools
import time

import numpy as np

from tests.rows import each_row
from tracejit.support.minimum_cut import UNCUT, Network

Edge = tuple[int, int, int]


def cost(edges: list[Edge], sink_side: list[bool]) -> int:
    """What a cut costs."""
    return sum(room for start, end, room in edges if sink_side[end] and not sink_side[start])


def cut(places: int, edges: list[Edge]) -> list[bool]:
    network = Network(places)
    for edge in edges:
        network.join(*edge)
    return network.sink_side(0, places - 1)


@each_row("seed", range(60))
def test_the_cheapest_of_all_cuts_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = int(rng.integers(2, 9))
    edges = []
    for _ in range(int(rng.integers(1, 25))):
        start, end = (int(place) for place in rng.integers(0, places, 2))
        if start != end:
            room = int(rng.integers(0, 20)) if rng.random() < 0.8 else UNCUT
            edges.append((start, end, room))
    found = cut(places, edges)
    every = itertools.product((False, True), repeat=places - 2)
    best = min(cost(edges, [False, *middle, True]) for middle in every)
    if best < UNCUT:
        assert not found[0] and found[-1]
        assert cost(edges, found) == best


def test_a_long_chain_takes_no_longer_than_its_length() -> None:
    count = 20_000
    edges = [(place, place + 1, 5 + place % 7) for place in range(count - 1)]
    before = time.perf_counter()
    found = cut(count, edges)
    assert time.perf_counter() - before < 2.0
    assert cost(edges, found) == 5
