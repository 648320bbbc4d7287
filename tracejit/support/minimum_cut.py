"""Minimum cut of a flow network: the cheapest set of edges between its source and its sink.

A network is made of numbered places and of edges with capacities. A cut costs the capacities of the
edges that lead from the source's side to the sink's; the cheapest is found by Dinic's algorithm, as
the largest flow (E. A. Dinic, Algorithm for solution of a problem of maximum flow in networks with
power estimation, 1970). Edges of capacity `UNCUT` are never cut.

>>> network = Network(4)
>>> for edge in [(0, 1, 3), (0, 2, 2), (1, 3, 1), (2, 3, UNCUT)]:
...     network.join(*edge)
>>> network.sink_side(0, 3)
[False, False, True, True]
"""

from __future__ import annotations

UNCUT = 1 << 80


class Network:
    """Places and edges."""

    def __init__(self, places: int) -> None:
        """Begin with `places` places and no edge."""
        self._edges: list[list[int]] = [[] for _ in range(places)]
        self._ends: list[int] = []
        self._room: list[int] = []

    def join(self, start: int, end: int, capacity: int) -> None:
        """An edge from `start` to `end`."""
        for place, other, room in ((start, end, capacity), (end, start, 0)):
            self._edges[place].append(len(self._ends))
            self._ends.append(other)
            self._room.append(room)

    def sink_side(self, source: int, sink: int) -> list[bool]:
        """For each place, whether the cheapest cut leaves it on the side of the sink."""
        while True:
            levels = self._levels(source, sink)
            if levels[sink] < 0:
                return [level < 0 for level in levels]
            self._fill(source, sink, levels)

    def _levels(self, source: int, sink: int) -> list[int]:
        """The distance of each place from the source, in edges with room; -1 where it is out of
        reach."""
        ends, room = self._ends, self._room
        levels = [-1] * len(self._edges)
        levels[source] = 0
        reached = [source]
        for place in reached:
            following = levels[place] + 1
            for edge in self._edges[place]:
                end = ends[edge]
                if levels[end] < 0 and room[edge]:
                    levels[end] = following
                    reached.append(end)
            if levels[sink] >= 0 and levels[place] >= levels[sink]:
                break
        return levels

    def _fill(self, source: int, sink: int, levels: list[int]) -> None:
        """Push as much flow as possible along shortest paths."""
        ends, room = self._ends, self._room
        untried = [list(edges) for edges in self._edges]
        way: list[int] = []
        place = source
        while True:
            if place == sink:
                amount = min(room[edge] for edge in way)
                for edge in way:
                    room[edge] -= amount
                    room[edge ^ 1] += amount
                full = next(number for number, edge in enumerate(way) if not room[edge])
                place = ends[way[full] ^ 1]
                del way[full:]
                continue
            edges = untried[place]
            while edges:
                edge = edges[-1]
                if room[edge] and levels[ends[edge]] == levels[place] + 1:
                    break
                edges.pop()
            if edges:
                way.append(edges[-1])
                place = ends[edges[-1]]
            elif way:
                place = ends[way.pop() ^ 1]
                untried[place].pop()
            else:
                return
