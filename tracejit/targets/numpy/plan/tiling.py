"""Tiling: run chains of operations on large arrays tile by tile, so that they stay in the cache.

Elementwise operations, reductions within a row and products with a small matrix that all rows share
(`tile_axes.py`) read and write only their own rows. So a chain of them may finish some rows before
it begins others, and intermediate values stay in the cache. Sums over all rows are added tile by
tile. A *tile loop* is such a chain of everything that is ready when it begins; an operation that
needs a sum over all rows waits for the next loop. Where only sums lie between forward and backward,
both are one loop. The tiled axis is the one with most work in one loop.

The size of a tile is fixed: tile_bytes for all arrays that are live at once, but at least
least_tile_bytes of one array, and such that the last tile is not a single row. So the order of
every sum is fixed too, whatever thread runs the tiles.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate
from operator import attrgetter
from typing import Any

from tracejit.ir.branches import STRAIGHT, Branches
from tracejit.ir.dims import estimated, key_of
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.control.branches import LEAVE
from tracejit.ops.indexing.indexing import FULL, put_slice
from tracejit.ops.linalg.products import dot_in_rows
from tracejit.passes.framework.dce import needed_nodes
from tracejit.support.cost_model import costs
from tracejit.targets.numpy.plan.blas_policy import cost_of, is_for_one_blas_thread
from tracejit.targets.numpy.plan.tile_axes import TileAxes, Tiled, ufunc_of
from tracejit.targets.numpy.plan.tile_loops import TILES, TileLoop, TileLoopBody, ones_of


class Tiling:
    """The tile loops of one module; none where it is not `enabled`."""

    def __init__(self, enabled: bool = True) -> None:
        """Begin without loops."""
        self._loops: dict[Hashable, TileLoop] = {}
        self._nodes: dict[Node, None] = {}
        self._in_tiles: set[Node] = set()
        self._graph = Graph("constants")
        self._enabled = enabled

    @property
    def loops(self) -> list[TileLoop]:
        """The distinct tile loops."""
        return list(self._loops.values())

    @property
    def is_for_one_blas_thread(self) -> bool:
        """Return whether the functions of the module are faster with one thread of the BLAS."""
        return self._enabled and is_for_one_blas_thread(self._nodes, self._in_tiles)

    def of(
        self, nodes: Sequence[Node], results: Sequence[Value] = (), branches: Branches = STRAIGHT
    ) -> list[Node]:
        """The `nodes` of a body with chains on large arrays replaced by tile loops; `results` are
        the values it returns besides those of LEAVE nodes."""
        self._nodes.update(dict.fromkeys(nodes))
        lengths = _lengths(nodes) if self._enabled and not branches.decisions else []
        if not lengths:
            return list(nodes)
        all_found = [_TileLoops(nodes, results, rows, self._graph) for rows in lengths]
        found = max(all_found, key=_TileLoops.heaviest)
        replaced = found.replaced(self._loops)
        self._in_tiles.update(set(nodes).difference(replaced))
        return replaced


def _lengths(nodes: Iterable[Node]) -> list[Any]:
    """The candidate sizes of the tiled axis: of the axes of large elementwise results along which a
    tile has long enough contiguous runs; of the first axes where there is none."""
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
    """The tile loops of one body over arrays of `rows` rows; `graph` makes their constants."""

    def __init__(
        self, nodes: Sequence[Node], results: Sequence[Value], rows: Any, graph: Graph
    ) -> None:
        self.graph = graph
        self.nodes = list(nodes)
        self.rows = rows
        self.tile_axes = TileAxes(rows)
        self.returned = set(results)
        self.readers: dict[Value, list[Node]] = defaultdict(list)
        for node in nodes:
            for value in node.operands:
                self.readers[value].append(node)
        self.tiled: dict[Node, Tiled] = {
            node: found for node in nodes if (found := self.tile_axes.of(node)) is not None
        }
        self.levels = self._earliest()
        self._postpone()

    def _tiles_operand(self, value: Value, reader: Node) -> bool:
        """Return whether a reader takes `value` tile by tile."""
        return reader in self.tiled and value in self.tiled[reader].operands

    def _makes_rows(self, node: Node) -> bool:
        return node in self.tiled and self.tiled[node].makes_rows

    # The level of a node: the number of the tile loop before which it runs, or in which it does

    def _earliest(self) -> dict[Node, int]:
        levels: dict[Node, int] = {}
        effects = least = latest = region = 0
        for node in self.nodes:
            if node.region != region:  # what is computed again there is not computed any earlier
                region, least = node.region, latest + 1
            ready = [
                self._ready(value, levels, self._tiles_operand(value, node))
                for value in node.operands
            ]
            level = max([least, *ready])
            if node.op.effect or node.op is LEAVE:
                level = effects = max(level, effects)
            levels[node] = level
            latest = max(latest, level)
        return levels

    def _ready(self, value: Value, levels: dict[Node, int], tiled: bool) -> int:
        """The first level at which `value` can be read, as rows within its loop if `tiled`."""
        if value.node is None or value.node not in levels:
            return 0
        if value.node not in self.tiled or (self._makes_rows(value.node) and tiled):
            return levels[value.node]
        return levels[value.node] + 1

    def _postpone(self) -> None:
        """Postpone rows to the loop that reads them, where their operands are stored anyway."""
        for node in reversed(self.nodes):
            if not self._makes_rows(node) or node.results[0] in self.returned:
                continue
            latest = [
                self._wanted(node.results[0], reader) for reader in self.readers[node.results[0]]
            ]
            level = min(latest, default=self.levels[node])
            if level > self.levels[node] and all(
                self._is_stored(value, node, level) for value in self.tiled[node].operands
            ):
                self.levels[node] = level

    def _wanted(self, value: Value, reader: Node) -> int:
        """The last tile loop that may compute `value` for `reader`."""
        return self.levels[reader] - (not self._tiles_operand(value, reader))

    def _is_stored(self, value: Value, reader: Node, level: int) -> bool:
        """Return whether `value` is a stored array in loop `level` even without `reader`."""
        if value.node is None or value.node not in self.tiled:
            return True
        others = [one for one in self.readers[value] if one is not reader]
        return value in self.returned or any(
            self.levels[one] >= level or one not in self.tiled for one in others
        )

    # What is replaced

    def heaviest(self) -> float:
        """The work of the loop with most work."""
        work: dict[int, float] = defaultdict(float)
        for node in self.tiled:
            work[self.levels[node]] += cost_of(node, self._widest(node))
        return max(work.values(), default=0.0)

    def replaced(self, loops: dict[Hashable, TileLoop]) -> list[Node]:
        """The nodes with a TILES node for each loop that pays; those of one form share one."""
        looped: dict[int, list[Node]] = defaultdict(list)
        for node in self.nodes:
            if node in self.tiled:
                looped[self.levels[node]].append(node)
        taken: dict[Node, Node] = {}
        for _, chain in sorted(looped.items()):
            if self._pays(chain):
                views = self._views_left(chain)
                tiles = self._tiles(chain, views, f"tile_{len(loops) + 1}")
                loop = tiles.params["loop"]
                tiles.params["loop"] = loops.setdefault(loop.form(), loop)
                placings = [value.node for value in tiles.results if value.node is not None]
                taken.update(dict.fromkeys([*chain, *placings], tiles))
                for node in views:
                    del taken[node]
        return in_order(self.nodes, taken) if taken else self.nodes

    def _pays(self, chain: Sequence[Node]) -> bool:
        """Return whether `chain` is worth a loop over several tiles."""
        model = costs()
        wide = [node for node in chain if self._widest(node).estimated_bytes >= model.tiled_bytes]
        return (
            len(wide) >= model.least_tiled_operations
            and sum(cost_of(node, self._widest(node)) for node in wide) >= model.least_tiled_work
            and not (type(self.rows) is int and self._step(chain)[0] >= self.rows)
        )

    def _widest(self, node: Node) -> ArrayType:
        return self._widest_value(node).type

    def _widest_value(self, node: Node) -> Value:
        tiled = self.tiled[node]
        made = node.results if tiled.makes_rows else ()
        return max((*tiled.operands, *made), key=attrgetter("type.estimated_bytes"))

    def _views_left(self, chain: Sequence[Node]) -> set[Node]:
        """The views of `chain` that are also read outside, for all rows: they cost nothing."""
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
        tiled: dict[Value, None] = {}
        whole: dict[Value, None] = {}
        for node in chain:
            rows = self.tiled[node].operands
            for value in node.operands:
                if value in rows:
                    if value not in made and value is not ones_of(node, self.tiled[node]):
                        tiled[value] = None
                elif value not in rows and not isinstance(value, Constant):
                    whole[value] = None
        step, unit = self._step(chain)
        may_be_one = self._may_be_one(step)
        body = TileLoopBody(self.graph, self.tile_axes, step, unit, may_be_one)
        by_rows = {body.row_input(value): value for value in tiled}
        inputs = by_rows | {body.whole_input(value): value for value in whole}
        for node in chain:
            body.add(node, self.tiled[node])
        made_rows = [body.rows[value] for value in (*stored, *totals)]
        nodes = needed_nodes(body.nodes, made_rows)
        read = {*made_rows, *(value for node in nodes for value in node.operands)}
        inputs = {inside: value for inside, value in inputs.items() if inside in read}
        sliced = [value for inside, value in by_rows.items() if inside in read]
        loop = TileLoop(
            name=name,
            rows=self.rows,
            step=step,
            inputs=list(inputs),
            sliced=len(sliced),
            axes=[self._axis(value) for value in (*sliced, *stored)],
            nodes=nodes,
            stored=made_rows[: len(stored)],
            places=[node and node.params["index"] for node in placings],
            totals=made_rows[len(stored) :],
            ufuncs=[ufunc_of(value.node) for value in totals if value.node is not None],
            may_be_one=may_be_one,
        )
        pairs = zip(stored, placings, strict=True)
        whole_results = [value if node is None else node.results[0] for value, node in pairs]
        results = (*whole_results, *totals)
        return Node.of(TILES, tuple(inputs.values()), {"loop": loop}, results, None)

    def _step(self, chain: Sequence[Node]) -> tuple[int, int]:
        """The number of rows of a tile, and the unit that it is a multiple of. Where there are few
        tiles, their number is even, for two threads."""
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
        """Return whether a tile of `step` rows, or the last one, may be one row of several."""
        return type(self.rows) is not int or (self.rows > step and self.rows % step == 1 % step)

    def _row_bytes_at_once(self, chain: Sequence[Node]) -> int:
        """The peak of the bytes of a row of all values that are live at once in `chain`."""
        inside = set(chain)
        begin: dict[Value, int] = {}
        end: dict[Value, int] = {}
        for number, node in enumerate(chain):
            rows = [value for value in node.operands if self._tiles_operand(value, node)]
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
        axis = self.tile_axes.axis(value)
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
            reader not in inside or not self._tiles_operand(value, reader)
            for reader in self.readers[value]
        )


def in_order(nodes: Sequence[Node], taken: Mapping[Node, Node]) -> list[Node]:
    """`nodes` in topological order, as near to their old order as possible; nodes that are `taken`
    are replaced. Effects stay in their order."""
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
    """A number of rows of which every tile of up to `step` rows, also the last, has a multiple."""
    lengths = {
        node.params["rows"][1]
        for node in chain
        if node.op is dot_in_rows and node.operands[0].type.ndim == 1 and node.params["rows"]
    }
    return min(lengths) if len(lengths) == 1 and max(lengths) <= step else 1
