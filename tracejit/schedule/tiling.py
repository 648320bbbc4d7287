"""Tiles: chains of operations on large arrays, run over a few rows after the other.

What goes row by row - elementwise operations, reductions within a row, products with a small matrix
that all rows share (`cuts.py`) - reads and writes nothing but its own rows, so a chain of it may
finish some rows before it begins others: what passes between its operations stays in the cache.
Sums over all rows are added tile by tile. A *sweep* is such a chain with everything that is ready
when it begins; what needs a sum over all rows waits for the next sweep. Where only sums lie between
forward and backward they are one sweep. Rows lie along the axis that lets most be done in one.

The size of a tile is fixed: tile_bytes of all that is there at once, but no less of an array than
least_tile_bytes, and so that no single row is left for the last. So the order of every sum is,
whoever runs the tiles.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate
from operator import attrgetter
from typing import Any

from tracejit.ir.dims import estimated, key_of
from tracejit.ir.graph import STRAIGHT, Branches, Constant, Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.branches import LEAVE
from tracejit.ops.indexing import FULL, put_slice
from tracejit.ops.products import dot_in_rows
from tracejit.passes.dce import needed_nodes
from tracejit.schedule.blas_policy import cost_of, is_for_one_blas_thread
from tracejit.schedule.tile_axes import TileAxes, Tiled, ufunc_of
from tracejit.schedule.tile_loops import TILES, TileLoop, TileLoopBody, ones_of
from tracejit.support.cost_model import costs


class Tiling:
    """The sweeps of one module; none where it is not `enabled`."""

    def __init__(self, enabled: bool = True) -> None:
        """No sweeps yet."""
        self._sweeps: dict[Hashable, TileLoop] = {}
        self._nodes: dict[Node, None] = {}
        self._in_tiles: set[Node] = set()
        self._graph = Graph("constants")
        self._enabled = enabled

    @property
    def sweeps(self) -> list[TileLoop]:
        """Every sweep once."""
        return list(self._sweeps.values())

    @property
    def is_for_one_blas_thread(self) -> bool:
        """Tell if the functions of the module are better off with one thread of the BLAS."""
        return self._enabled and is_for_one_blas_thread(self._nodes, self._in_tiles)

    def of(
        self, nodes: Sequence[Node], results: Sequence[Value] = (), branches: Branches = STRAIGHT
    ) -> list[Node]:
        """The `nodes` of a body with chains on large arrays replaced by sweeps; `results` are what
        it returns besides what LEAVE does."""
        self._nodes.update(dict.fromkeys(nodes))
        lengths = _lengths(nodes) if self._enabled and not branches.decisions else []
        if not lengths:
            return list(nodes)
        all_found = [_TileLoops(nodes, results, rows, self._graph) for rows in lengths]
        found = max(all_found, key=_TileLoops.heaviest)
        replaced = found.replaced(self._sweeps)
        self._in_tiles.update(set(nodes).difference(replaced))
        return replaced


def _lengths(nodes: Iterable[Node]) -> list[Any]:
    """The numbers of rows of what is computed elementwise in large arrays: of the axes along which
    a tile can be a part of one, in runs that are long enough; of the first where there is none."""
    model = costs()
    first: dict[Any, Any] = {}
    long: dict[Any, Any] = {}
    for node in nodes:
        for type in [value.type for value in node.results if node.op.elementwise]:
            if not type.shape or type.estimated_bytes < model.tiled_bytes:
                continue
            first.setdefault(key_of(type.shape[0]), type.shape[0])
            for axis, size in enumerate(type.shape):
                bytes_at_once = model.arrays_at_once * max(type.estimated_bytes, 1)
                step = estimated((size,)) * model.tile_bytes // bytes_at_once
                run = step * estimated(type.shape[axis + 1 :])
                if step and (not axis or run >= model.least_tile_run):
                    long.setdefault(key_of(size), size)
    return list((long or first).values())


class _TileLoops:
    """The sweeps of one body over arrays of `rows` rows; `graph` makes their constants."""

    def __init__(
        self, nodes: Sequence[Node], results: Sequence[Value], rows: Any, graph: Graph
    ) -> None:
        self.graph = graph
        self.nodes = list(nodes)
        self.rows = rows
        self.cuts = TileAxes(rows)
        self.returned = set(results)
        self.readers: dict[Value, list[Node]] = defaultdict(list)
        for node in nodes:
            for value in node.operands:
                self.readers[value].append(node)
        self.cut: dict[Node, Tiled] = {
            node: found for node in nodes if (found := self.cuts.of(node)) is not None
        }
        self.levels = self._earliest()
        self._postpone()

    def _cuts(self, value: Value, reader: Node) -> bool:
        """Tell if a reader cuts a value."""
        return reader in self.cut and value in self.cut[reader].operands

    def _makes_rows(self, node: Node) -> bool:
        return node in self.cut and self.cut[node].makes_rows

    # When: the number of the sweep before which a node runs, or in which it does

    def _earliest(self) -> dict[Node, int]:
        levels: dict[Node, int] = {}
        effects = least = latest = region = 0
        for node in self.nodes:
            if node.region != region:  # what is computed again there is not computed any earlier
                region, least = node.region, latest + 1
            ready = [self._ready(value, levels, self._cuts(value, node)) for value in node.operands]
            level = max([least, *ready])
            if node.op.effect or node.op is LEAVE:
                level = effects = max(level, effects)
            levels[node] = level
            latest = max(latest, level)
        return levels

    def _ready(self, value: Value, levels: dict[Node, int], cut: bool) -> int:
        """From which level on `value` can be read, as rows within its sweep if `cut`."""
        if value.node is None or value.node not in levels:
            return 0
        if value.node not in self.cut or (self._makes_rows(value.node) and cut):
            return levels[value.node]
        return levels[value.node] + 1

    def _postpone(self) -> None:
        """Let rows be computed in the sweep that reads them, where what they are made of is there
        anyway."""
        for node in reversed(self.nodes):
            if not self._makes_rows(node) or node.results[0] in self.returned:
                continue
            latest = [
                self._wanted(node.results[0], reader) for reader in self.readers[node.results[0]]
            ]
            level = min(latest, default=self.levels[node])
            if level > self.levels[node] and all(
                self._is_stored(value, node, level) for value in self.cut[node].operands
            ):
                self.levels[node] = level

    def _wanted(self, value: Value, reader: Node) -> int:
        """The last sweep that may compute `value` for `reader`."""
        return self.levels[reader] - (not self._cuts(value, reader))

    def _is_stored(self, value: Value, reader: Node, level: int) -> bool:
        """Tell if `value` is an array that is there in sweep `level` without `reader`."""
        if value.node is None or value.node not in self.cut:
            return True
        others = [one for one in self.readers[value] if one is not reader]
        return value in self.returned or any(
            self.levels[one] >= level or one not in self.cut for one in others
        )

    # What is replaced

    def heaviest(self) -> float:
        """The work of the sweep in which most is done."""
        work: dict[int, float] = defaultdict(float)
        for node in self.cut:
            work[self.levels[node]] += cost_of(node, self._widest(node))
        return max(work.values(), default=0.0)

    def replaced(self, sweeps: dict[Hashable, TileLoop]) -> list[Node]:
        """The nodes, a TILES node for each sweep that pays, which joins `sweeps` by its form."""
        swept: dict[int, list[Node]] = defaultdict(list)
        for node in self.nodes:
            if node in self.cut:
                swept[self.levels[node]].append(node)
        taken: dict[Node, Node] = {}
        for _, chain in sorted(swept.items()):
            if self._pays(chain):
                views = self._views_left(chain)
                tiles = self._tiles(chain, views, f"tile_{len(sweeps) + 1}")
                sweep = tiles.params["sweep"]
                tiles.params["sweep"] = sweeps.setdefault(sweep.form(), sweep)
                placings = [value.node for value in tiles.results if value.node is not None]
                taken.update(dict.fromkeys([*chain, *placings], tiles))
                for node in views:
                    del taken[node]
        return in_order(self.nodes, taken) if taken else self.nodes

    def _pays(self, chain: Sequence[Node]) -> bool:
        model = costs()
        wide = [node for node in chain if self._widest(node).estimated_bytes >= model.tiled_bytes]
        return (
            len(wide) >= model.least_tiled_operations
            and sum(cost_of(node, self._widest(node)) for node in wide) >= model.least_tiled_work
        )

    def _widest(self, node: Node) -> ArrayType:
        return self._widest_value(node).type

    def _widest_value(self, node: Node) -> Value:
        cut = self.cut[node]
        made = node.results if cut.makes_rows else ()
        return max((*cut.operands, *made), key=attrgetter("type.estimated_bytes"))

    def _views_left(self, chain: Sequence[Node]) -> set[Node]:
        """The views of `chain` that are wanted of all rows as well: they take nothing."""
        inside = set(chain)
        for node in reversed(chain):
            if node.op.view_of is not None and self._is_read_outside(node.results[0], inside):
                inside.discard(node)
        return set(chain) - inside

    def _tiles(self, chain: Sequence[Node], views: set[Node], name: str) -> Node:
        """The node that runs `chain` in tiles; `views` of it are also outside."""
        inside = set(chain) - views
        made = {value for node in chain for value in node.results}
        totals = [node.results[0] for node in chain if not self._makes_rows(node)]
        stored = [
            node.results[0]
            for node in chain
            if node in inside
            and self._makes_rows(node)
            and self._is_read_outside(node.results[0], inside)
        ]
        placings = [self._placing(value) for value in stored]
        cut: dict[Value, None] = {}
        whole: dict[Value, None] = {}
        for node in chain:
            rows = self.cut[node].operands
            for value in node.operands:
                if value in rows:
                    if value not in made and value is not ones_of(node, self.cut[node]):
                        cut[value] = None
                elif value not in rows and not isinstance(value, Constant):
                    whole[value] = None
        step, unit = self._step(chain)
        may_be_one = self._may_be_one(step)
        body = TileLoopBody(self.graph, self.cuts, step, unit, may_be_one)
        inputs = [body.row_input(value) for value in cut]
        inputs += [body.whole_input(value) for value in whole]
        for node in chain:
            body.add(node, self.cut[node])
        sweep = TileLoop(
            name=name,
            rows=self.rows,
            step=step,
            inputs=inputs,
            sliced=len(cut),
            axes=[self._axis(value) for value in (*cut, *stored)],
            nodes=needed_nodes(body.nodes, [body.rows[value] for value in (*stored, *totals)]),
            stored=[body.rows[value] for value in stored],
            places=[node and node.params["index"] for node in placings],
            totals=[body.rows[value] for value in totals],
            ufuncs=[ufunc_of(value.node) for value in totals if value.node is not None],
            may_be_one=may_be_one,
        )
        pairs = zip(stored, placings, strict=True)
        whole_results = [value if node is None else node.results[0] for value, node in pairs]
        results = (*whole_results, *totals)
        return Node.of(TILES, (*cut, *whole), {"sweep": sweep}, results, None)

    def _step(self, chain: Sequence[Node]) -> tuple[int, int]:
        """The rows of a tile, and of how many they are a multiple. Few tiles are an even number,
        for two threads."""
        model = costs()
        widest = max(self._row_bytes(self._widest_value(node)) for node in chain)
        row = self._row_bytes_at_once(chain)
        step = max(model.tile_bytes // row, model.least_tile_bytes // widest, 1)
        unit = _unit(chain, step)
        step -= step % unit
        rows = estimated((self.rows,))
        count = -(-rows // step)
        if model.tile_bytes // 2 < rows * row and count < model.many_tiles:
            count += count % 2
            if count == 2 and rows * widest >= 2 * model.halved_tile_bytes:
                count = 4  # two threads with half of everything each hold all at once
            step = -(-rows // count)
        step += -step % unit
        while step > 1 == unit and self._may_be_one(step) and type(self.rows) is int:
            step += 1
        return step, unit

    def _may_be_one(self, step: int) -> bool:
        """Tell if a tile of `step` rows, or the last, may have a single row of several."""
        return type(self.rows) is not int or (self.rows > step and self.rows % step == 1 % step)

    def _row_bytes_at_once(self, chain: Sequence[Node]) -> int:
        """The bytes of a row of all that is there at once, at most, while `chain` runs."""
        inside = set(chain)
        begin: dict[Value, int] = {}
        end: dict[Value, int] = {}
        for number, node in enumerate(chain):
            rows = [value for value in node.operands if self._cuts(value, node)]
            for value in (*rows, *node.results) if self._makes_rows(node) else rows:
                begin.setdefault(value, number)
                is_stored = value.node in inside and self._is_read_outside(value, inside)
                end[value] = len(chain) if is_stored else number
        changes = [0] * (len(chain) + 2)
        for value, number in begin.items():
            changes[number] += self._row_bytes(value)
            changes[end[value] + 1] -= self._row_bytes(value)
        return max(accumulate(changes))

    def _axis(self, value: Value) -> int:
        axis = self.cuts.axis(value)
        assert axis is not None
        return axis + value.type.ndim

    def _row_bytes(self, value: Value) -> int:
        type, axis = value.type, self._axis(value)
        row = ArrayType((1, *type.shape[:axis], *type.shape[axis + 1 :]), type.dtype)
        return max(row.estimated_bytes, 1)

    def _placing(self, value: Value) -> Node | None:
        """The node that places `value` among zeros, if nothing else reads it."""
        if value in self.returned or len(self.readers[value]) != 1 or self._axis(value):
            return None
        (node,) = self.readers[value]
        if node.op is not put_slice or len(node.operands) > 1 or node.region:
            return None
        first, *others = node.params["index"]
        is_part = type(first) is tuple and first[3] is None and all(one == FULL for one in others)
        fits = node.results[0].type.dtype == value.type.dtype and value.type.sizes is None
        return node if is_part and fits else None

    def _is_read_outside(self, value: Value, inside: set[Node]) -> bool:
        return value in self.returned or any(
            reader not in inside or not self._cuts(value, reader) for reader in self.readers[value]
        )


def in_order(nodes: Sequence[Node], taken: Mapping[Node, Node]) -> list[Node]:
    """`nodes` as near to their order as may be, those that are `taken` by another replaced by it:
    each after what it reads, effects in turn."""
    places: dict[Node, int] = {}
    for number, node in enumerate(nodes):
        places.setdefault(taken.get(node, node), number)
    makers = {value: taken.get(node, node) for node in nodes for value in node.results}
    after: dict[Node, list[Node]] = defaultdict(list)
    waits: dict[Node, int] = {}
    effect: Node | None = None
    for node in places:
        read = {makers[value] for value in node.operands if value in makers}
        if node.op.effect or node.op is LEAVE:
            read |= {effect} if effect is not None else set()
            effect = node
        waits[node] = len(read)
        for maker in read:
            after[maker].append(node)
    at = {place: node for node, place in places.items()}
    ready = [place for place, node in at.items() if not waits[node]]
    heapify(ready)
    ordered: list[Node] = []
    while ready:
        node = at[heappop(ready)]
        ordered.append(node)
        for reader in after[node]:
            waits[reader] -= 1
            if not waits[reader]:
                heappush(ready, places[reader])
    assert len(ordered) == len(places)
    return ordered


def _unit(chain: Iterable[Node], step: int) -> int:
    """Of so many rows every tile of up to `step` rows, also the last, has a multiple."""
    lengths = {
        node.params["rows"][1]
        for node in chain
        if node.op is dot_in_rows and node.operands[0].type.ndim == 1 and node.params["rows"]
    }
    return min(lengths) if len(lengths) == 1 and max(lengths) <= step else 1
