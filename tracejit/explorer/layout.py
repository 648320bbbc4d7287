"""Layered layout of a graph: each node stands below all that it reads, with few crossings.

The steps are Sugiyama's: layers by the longest path, points where an edge passes a layer, an order
in each layer by the median of the neighbours, and positions as near to the neighbours as widths
allow, which is a regression under the constraint of the order.

>>> made = layered([(10, 10), (10, 10), (10, 10)], [(0, 2), (1, 2)])
>>> made.width, [center.y for center in made.centers]
(44.0, [5.0, 5.0, 51.0])
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

GAP = 24.0
LAYER_GAP = 36.0
SWEEPS = 8
ROUNDS = 6
# Where more edges pass layers, they are drawn straight.
MOST_POINTS = 6000


class Point(NamedTuple):
    """A point of a drawing."""

    x: float
    y: float


class Layout(NamedTuple):
    """The centers of nodes, by number; the points that each edge goes through; and the size."""

    centers: list[Point]
    routes: list[list[Point]]
    width: float
    height: float


def layered(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """The layout of nodes of these widths and heights, in an order in which every edge goes from
    an earlier one to a later one."""
    if not sizes:
        return Layout([], [], 0.0, 0.0)
    layer = _layers(len(sizes), edges)
    spans = sum(max(layer[stop] - layer[start] - 1, 0) for start, stop in edges)
    widths = [width for width, _ in sizes]
    level = list(layer)
    chains: list[list[int]] = []
    for start, stop in edges:
        chain = [start]
        if spans <= MOST_POINTS:
            for between in range(layer[start] + 1, layer[stop]):
                chain.append(len(widths))
                widths.append(0.0)
                level.append(between)
        chains.append([*chain, stop])
    above: list[list[int]] = [[] for _ in widths]
    below: list[list[int]] = [[] for _ in widths]
    for chain in chains:
        for one, other in pairwise(chain):
            below[one].append(other)
            above[other].append(one)
    rows: list[list[int]] = [[] for _ in range(max(level) + 1)]
    for node, its in enumerate(level):
        rows[its].append(node)
    _order(rows, above, below)
    x = _positions(rows, widths, above, below)
    y, height = _heights(rows, sizes)
    points = [Point(x[node], y[level[node]]) for node in range(len(widths))]
    width = max(x[node] + widths[node] / 2 for node in range(len(widths)))
    return Layout(
        points[: len(sizes)], [[points[node] for node in chain] for chain in chains], width, height
    )


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each node: below all that it reads; what reads nothing is just above its
    first reader."""
    layer = [0] * count
    readers: list[list[int]] = [[] for _ in range(count)]
    reads = [False] * count
    for start, stop in sorted(edges):
        layer[stop] = max(layer[stop], layer[start] + 1)
        readers[start].append(stop)
        reads[stop] = True
    for node in range(count):
        if not reads[node] and readers[node]:
            layer[node] = min(layer[reader] for reader in readers[node]) - 1
    return layer


def _order(
    rows: list[list[int]], above: Sequence[Sequence[int]], below: Sequence[Sequence[int]]
) -> None:
    """Put the nodes of each row in an order in which few edges cross."""
    place: dict[int, float] = {}
    for row in rows:
        place.update((node, float(number)) for number, node in enumerate(row))
    for sweep in range(SWEEPS):
        is_down = sweep % 2 == 0
        for row in rows if is_down else rows[::-1]:
            beside = above if is_down else below

            def key(node: int, beside: Sequence[Sequence[int]] = beside) -> float:
                known = [place[other] for other in beside[node]]
                return median(known) if known else place[node]

            row.sort(key=key)
            place.update((node, float(number)) for number, node in enumerate(row))


def _positions(
    rows: Sequence[Sequence[int]],
    widths: Sequence[float],
    above: Sequence[Sequence[int]],
    below: Sequence[Sequence[int]],
) -> list[float]:
    """The horizontal center of each node."""
    x = [0.0] * len(widths)
    offsets: list[list[float]] = []
    for row in rows:
        at, offset = 0.0, []
        for node in row:
            at += widths[node] / 2
            offset.append(at)
            x[node] = at
            at += widths[node] / 2 + (GAP if widths[node] else GAP / 2)
        offsets.append(offset)
    for number in range(ROUNDS):
        both = [*zip(rows, offsets, strict=True)]
        for row, offset in both if number % 2 == 0 else both[::-1]:
            beside = above if number % 2 == 0 else below
            wanted = []
            for node in row:
                around = beside[node] or above[node] or below[node]
                near = [x[other] for other in around]
                wanted.append(sum(near) / len(near) if near else x[node])
            moved = _increasing([w - o for w, o in zip(wanted, offset, strict=True)])
            for node, shift, o in zip(row, moved, offset, strict=True):
                x[node] = o + shift
    left = min(x[node] - widths[node] / 2 for node in range(len(widths)))
    return [one - left for one in x]


def _increasing(values: Sequence[float]) -> list[float]:
    """The numbers nearest to `values` by least squares that never decrease.

    >>> _increasing([1.0, 3.0, 2.0, 4.0])
    [1.0, 2.5, 2.5, 4.0]
    """
    blocks: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            before, number = blocks.pop()
            total, count = total + before, count + number
        blocks.append((total, count))
    return [total / count for total, count in blocks for _ in range(count)]


def _heights(
    rows: Sequence[Sequence[int]], sizes: Sequence[tuple[float, float]]
) -> tuple[list[float], float]:
    """The vertical center of each row, and the height of all."""
    centers, at = [], 0.0
    for row in rows:
        tallest = max((sizes[node][1] for node in row if node < len(sizes)), default=0.0)
        centers.append(at + tallest / 2)
        at += tallest + LAYER_GAP
    return centers, at - LAYER_GAP
