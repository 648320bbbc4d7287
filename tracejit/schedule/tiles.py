"""Tiles: chains of operations on large arrays, run over a few rows after the other.

What goes row by row - elementwise operations, reductions within a row - reads and writes nothing
but its own rows, so a chain of it may finish some rows before it begins others: what passes between
its operations stays in the cache. Sums over all rows are added tile by tile. A *sweep* is such a
chain with everything that is ready when it begins; what needs a sum over all rows waits for the
next sweep. Where only sums lie between forward and backward they are one sweep.

The size of a tile is fixed: TILE_BYTES of the widest rows. So the order of every sum is, whoever
runs the tiles.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Any

import numpy as np

from tracejit.ir.dims import key_of
from tracejit.ir.graph import STRAIGHT, Branches, Constant, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.branches import LEAVE
from tracejit.ops.indexing import FULL
from tracejit.ops.op import Op
from tracejit.passes.dce import needed_nodes
from tracejit.passes.lower import TILED_BYTES
from tracejit.schedule.regime import elements_of, is_for_one_blas_thread

TILE_BYTES = 1 << 19
LEAST_BYTES = TILED_BYTES
LEAST_OPERATIONS = 4
LEAST_COST = 1_000_000
"""What a sweep must come to, in elements of a plain operation, for the tiles to pay."""

WITHIN_ROWS = frozenset(("sum", "max", "min", "prod", "any", "all"))
TOTALS = {"sum": "add", "max": "maximum", "min": "minimum", "dot_in_rows": "add"}
"""The ufunc that combines what a reduction over all rows gives for each tile."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Sweep:
    """What the function `name` does for each tile.

    `inputs` stand for the operands of the TILES node, the first `sliced` of which are cut to the
    rows of the tile. `nodes` compute from them `stored`, rows of the first results of the TILES
    node, and `totals`, parts of the others, to be combined by `ufuncs`. What is stored is the whole
    of a result, or the part of it at an index in `places`, zeros around it.
    """

    name: str
    rows: Any
    step: int
    inputs: list[Value]
    sliced: int
    nodes: list[Node]
    stored: list[Value]
    places: list[Any]
    totals: list[Value]
    ufuncs: list[str]

    def form(self) -> Hashable:
        """What sweeps have in common that one function serves: the same statements for the same
        lines of the user's, whatever the names."""
        numbers = {value: number for number, value in enumerate(self.inputs)}
        statements = []
        for node in self.nodes:
            read = [numbers[one] if one in numbers else _data_of(one) for one in node.operands]
            statements.append((node.op.name, *read, repr(node.params), node.where))
            for value in node.results:
                numbers[value] = len(numbers)
        return (
            (key_of(self.rows), self.step, self.sliced, repr(self.places), *self.ufuncs),
            tuple([value.type for value in self.inputs]),
            tuple(statements),
            tuple([numbers[value] for value in (*self.stored, *self.totals)]),
        )


def _data_of(constant: Value) -> Hashable:
    assert isinstance(constant, Constant)
    return constant.type, np.asarray(constant.data).tobytes()


def _no_types(*types: ArrayType, sweep: Sweep) -> tuple[ArrayType, ...]:
    raise AssertionError("a sweep is made of nodes that have their types")


TILES = Op(name="tiles", infer=_no_types, statements=lambda types, sweep: ())
"""A sweep: what it stores, and its totals."""


class Tiling:
    """The sweeps of one module; none where it is not `enabled`."""

    def __init__(self, enabled: bool = True) -> None:
        """No sweeps yet."""
        self._sweeps: dict[Hashable, Sweep] = {}
        self._nodes: dict[Node, None] = {}
        self._enabled = enabled

    @property
    def sweeps(self) -> list[Sweep]:
        """Every sweep once."""
        return list(self._sweeps.values())

    @property
    def is_for_one_blas_thread(self) -> bool:
        """Whether the functions of the module are better off with one thread of the BLAS."""
        return self._enabled and is_for_one_blas_thread(self._nodes, bool(self._sweeps))

    def of(
        self, nodes: Sequence[Node], results: Sequence[Value] = (), branches: Branches = STRAIGHT
    ) -> list[Node]:
        """The `nodes` of a body with chains on large arrays replaced by sweeps; `results` are what
        it returns besides what LEAVE does."""
        self._nodes.update(dict.fromkeys(nodes))
        rows = _commonest_rows(nodes) if self._enabled and not branches.decisions else None
        if rows is None:
            return list(nodes)
        return _Sweeps(nodes, results, rows).replaced(self._sweeps)


def is_row_wise(value: Value, rows: Any) -> bool:
    """Whether `value` has an element, or several, for each of the `rows`."""
    shape = value.type.shape
    return value.type.form == "array" and bool(shape) and key_of(shape[0]) == key_of(rows)


def _commonest_rows(nodes: Iterable[Node]) -> Any:
    """The number of rows of most of what is computed elementwise in large arrays; None if there
    are no such."""
    bytes_of: Counter[Any] = Counter()
    sizes: dict[Any, Any] = {}
    for node in nodes:
        for value in node.results:
            if node.op.batch == "elementwise" and value.type.form == "array" and value.type.shape:
                rows = value.type.shape[0]
                size = value.type.estimated_size * value.type.dtype.itemsize
                if size >= LEAST_BYTES:
                    sizes[key_of(rows)] = rows
                    bytes_of[key_of(rows)] += size
    return sizes[bytes_of.most_common(1)[0][0]] if bytes_of else None


class _Sweeps:
    """The sweeps of one body over arrays of `rows` rows."""

    def __init__(self, nodes: Sequence[Node], results: Sequence[Value], rows: Any) -> None:
        self.nodes = list(nodes)
        self.rows = rows
        self.returned = set(results)
        self.readers: dict[Value, list[Node]] = defaultdict(list)
        for node in nodes:
            for value in node.operands:
                self.readers[value].append(node)
        self.kinds = {node: self._kind(node) for node in nodes}
        self.levels = self._earliest()
        self._postpone()

    def _kind(self, node: Node) -> str:
        """Whether a node computes "rows" from rows, a "total" of all rows, or "other"."""
        if node.region or node.op.effect or len(node.results) != 1:
            return "other"
        result = node.results[0]
        if node.op.batch == "elementwise":
            wide = any(self._is_cut(value, result.type.ndim) for value in node.operands)
            return "rows" if wide and is_row_wise(result, self.rows) else "other"
        if node.op.name in WITHIN_ROWS and is_row_wise(node.operands[0], self.rows):
            if 0 not in node.params["axis"]:
                return "rows"
            return "total" if node.op.name in TOTALS else "other"
        if node.op.name == "dot_in_rows" and is_row_wise(node.operands[0], self.rows):
            return "total"
        if node.op.name == "vecdot" and is_row_wise(result, self.rows):
            first, second = node.operands
            alike = first.type.ndim == second.type.ndim
            return "rows" if alike or isinstance(second, Constant) else "other"
        if node.op.name in ("astype", "expand_dims") and is_row_wise(node.operands[0], self.rows):
            return "rows" if 0 not in node.params.get("axis", ()) else "other"
        return "other"

    def _is_cut(self, value: Value, ndim: int) -> bool:
        """Whether an operand of an operation on `ndim` dimensions is cut into tiles."""
        return is_row_wise(value, self.rows) and value.type.ndim == ndim

    def _cut_operands(self, node: Node) -> set[Value]:
        """The operands of a node of a sweep that are cut."""
        if node.op.batch != "elementwise":
            ndim = node.operands[0].type.ndim
            return {value for value in node.operands if self._is_cut(value, ndim)}
        ndim = node.results[0].type.ndim
        return {value for value in node.operands if self._is_cut(value, ndim)}

    # When: the number of the sweep before which a node runs, or in which it does

    def _earliest(self) -> dict[Node, int]:
        levels: dict[Node, int] = {}
        effects = least = latest = region = 0
        for node in self.nodes:
            if node.region != region:  # what is computed again there is not computed any earlier
                region, least = node.region, latest + 1
            swept = self.kinds[node] != "other"
            cut = self._cut_operands(node) if swept else set()
            ready = [self._ready(value, levels, value in cut) for value in node.operands]
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
        kind = self.kinds[value.node]
        if kind == "other" or (kind == "rows" and cut):
            return levels[value.node]
        return levels[value.node] + 1

    def _postpone(self) -> None:
        """Let rows be computed in the sweep that reads them, where what they are made of is there
        anyway."""
        for node in reversed(self.nodes):
            if self.kinds[node] != "rows" or node.results[0] in self.returned:
                continue
            latest = [
                self._wanted(node.results[0], reader) for reader in self.readers[node.results[0]]
            ]
            level = min(latest, default=self.levels[node])
            if level > self.levels[node] and all(
                self._is_stored(value, node, level) for value in self._cut_operands(node)
            ):
                self.levels[node] = level

    def _wanted(self, value: Value, reader: Node) -> int:
        """The last sweep that may compute `value` for `reader`."""
        if self.kinds[reader] == "other" or value not in self._cut_operands(reader):
            return self.levels[reader] - 1
        return self.levels[reader]

    def _is_stored(self, value: Value, reader: Node, level: int) -> bool:
        """Whether `value` is an array that is there in sweep `level` without `reader`."""
        if value.node is None or self.kinds.get(value.node, "other") == "other":
            return True
        others = [one for one in self.readers[value] if one is not reader]
        return value in self.returned or any(
            self.levels[one] >= level or self.kinds[one] == "other" for one in others
        )

    # What is replaced

    def replaced(self, sweeps: dict[Hashable, Sweep]) -> list[Node]:
        """The nodes, a TILES node for each sweep that pays, which joins `sweeps` by its form."""
        swept: dict[int, list[Node]] = defaultdict(list)
        for node in self.nodes:
            if self.kinds[node] != "other":
                swept[self.levels[node]].append(node)
        taken: dict[Node, Node] = {}
        for _, chain in sorted(swept.items()):
            if self._pays(chain):
                tiles = self._tiles(chain, f"tile_{len(sweeps) + 1}")
                sweep = tiles.params["sweep"]
                tiles.params["sweep"] = sweeps.setdefault(sweep.form(), sweep)
                placings = [value.node for value in tiles.results if value.node is not None]
                taken.update(dict.fromkeys([*chain, *placings], tiles))
        return in_order(self.nodes, taken) if taken else self.nodes

    def _pays(self, chain: Sequence[Node]) -> bool:
        wide = [node for node in chain if self._widest(node).estimated_bytes >= LEAST_BYTES]
        return (
            len(wide) >= LEAST_OPERATIONS
            and sum(elements_of(node, self._widest(node)) for node in wide) >= LEAST_COST
        )

    def _widest(self, node: Node) -> ArrayType:
        cut = self._cut_operands(node)
        return max(
            (value.type for value in (*cut, *node.results)), key=attrgetter("estimated_bytes")
        )

    def _tiles(self, chain: Sequence[Node], name: str) -> Node:
        """The node that runs `chain` in tiles."""
        inside = set(chain)
        made = {value for node in chain for value in node.results}
        totals = [node.results[0] for node in chain if self.kinds[node] == "total"]
        stored = [
            node.results[0]
            for node in chain
            if self.kinds[node] == "rows" and self._is_read_outside(node.results[0], inside)
        ]
        placings = [self._placing(value) for value in stored]
        cut: dict[Value, None] = {}
        whole: dict[Value, None] = {}
        for node in chain:
            rows = self._cut_operands(node)
            for value in node.operands:
                if value in rows and value not in made:
                    cut[value] = None
                elif value not in rows and not isinstance(value, Constant):
                    whole[value] = None
        step = max(1, TILE_BYTES // max(_row_bytes(self._widest(node)) for node in chain))
        unit = _unit(chain, step)
        step -= step % unit
        body = _Body(step, unit)
        inputs = [body.row_input(value) for value in cut]
        inputs += [body.whole_input(value) for value in whole]
        nodes = [body.add(node, self._cut_operands(node)) for node in chain]
        sweep = Sweep(
            name=name,
            rows=self.rows,
            step=step,
            inputs=inputs,
            sliced=len(cut),
            nodes=needed_nodes(nodes, [body.rows[value] for value in (*stored, *totals)]),
            stored=[body.rows[value] for value in stored],
            places=[node and node.params["index"] for node in placings],
            totals=[body.rows[value] for value in totals],
            ufuncs=[TOTALS[value.node.op.name] for value in totals if value.node is not None],
        )
        pairs = zip(stored, placings, strict=True)
        whole_results = [value if node is None else node.results[0] for value, node in pairs]
        results = (*whole_results, *totals)
        return Node.of(TILES, (*cut, *whole), {"sweep": sweep}, results, None)

    def _placing(self, value: Value) -> Node | None:
        """The node that places `value` among zeros, if nothing else reads it."""
        if value in self.returned or len(self.readers[value]) != 1:
            return None
        (node,) = self.readers[value]
        if node.op.name != "put_slice" or len(node.operands) > 1 or node.region:
            return None
        first, *others = node.params["index"]
        is_part = type(first) is tuple and first[3] is None and all(one == FULL for one in others)
        fits = node.results[0].type.dtype == value.type.dtype and value.type.sizes is None
        return node if is_part and fits else None

    def _is_read_outside(self, value: Value, inside: set[Node]) -> bool:
        return value in self.returned or any(
            reader not in inside or value not in self._cut_operands(reader)
            for reader in self.readers[value]
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


class _Body:
    """The nodes of a sweep as they are for one tile; `rows` and `whole` map what they read and
    make."""

    def __init__(self, step: int, unit: int) -> None:
        self.rows: dict[Value, Value] = {}
        self.whole: dict[Value, Value] = {}
        self._step, self._unit = step, unit

    def row_input(self, value: Value) -> Value:
        """The rows of a tile of `value`."""
        type = ArrayType((self._step, *value.type.shape[1:]), value.type.dtype)
        self.rows[value] = made = _named_like(value, Value(type))
        return made

    def whole_input(self, value: Value) -> Value:
        """`value`, which every tile reads as it is."""
        self.whole[value] = made = _named_like(value, Value(value.type))
        return made

    def add(self, node: Node, cut: set[Value]) -> Node:
        """`node` for one tile."""
        operands = tuple(
            self.rows[value] if value in cut else self.whole.get(value, value)
            for value in node.operands
        )
        params = {"rows": self._in_units(node)} if node.op.name == "dot_in_rows" else node.params
        types = node.op.result_types([value.type for value in operands], params)
        made = Node(node.op, operands, params, types, node.where, 0, ())
        for old, new in zip(node.results, made.results, strict=True):
            self.rows[old] = _named_like(old, new)
        return made

    def _in_units(self, node: Node) -> tuple[int, int] | None:
        """The shape of a tile's elements whose products a node adds up; None if it is not known."""
        is_long = self._unit > 1 and node.operands[0].type.ndim == 1
        return (-1, self._unit) if is_long else None


def _unit(chain: Iterable[Node], step: int) -> int:
    """Of so many rows every tile of up to `step` rows, also the last, has a multiple."""
    lengths = {
        node.params["rows"][1]
        for node in chain
        if node.op.name == "dot_in_rows" and node.operands[0].type.ndim == 1 and node.params["rows"]
    }
    return min(lengths) if len(lengths) == 1 and max(lengths) <= step else 1


def _named_like(old: Value, new: Value) -> Value:
    new.label, new.derived, new.base, new.name = old.label, old.derived, old.base, old.name
    return new


def _row_bytes(type: ArrayType) -> int:
    row = ArrayType(type.shape[1:], type.dtype) if type.ndim > 1 else ArrayType((1,), type.dtype)
    return max(row.estimated_size * type.dtype.itemsize, 1)
