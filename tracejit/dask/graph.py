"""The Dask graph of a call: which tasks there are, and what each waits for.

A stage on blocks is a task for each block. Parts are combined by a tree whose nodes take FAN_IN
neighbours, so that the order, and with it the bits, depend on the blocks alone. Kernels and
arguments are values of the graph: a scheduler that loses a worker can make everything again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import dask.array as da
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from tracejit.dask import tasks
from tracejit.dask.arguments import Split, cumulative
from tracejit.dask.tasks import Block, Pick, StageTask
from tracejit.ir.sizes import evaluated
from tracejit.ir.types import ArrayType
from tracejit.sharding.analysis import row_axis
from tracejit.sharding.program import FAN_IN, CompiledStage, Program
from tracejit.sharding.stages import Source

Key = str | tuple[str, int]
Bundle = tuple[str, int]
"""What is computed once at a level: ("head", level) or ("combined", level)."""


class Call(NamedTuple):
    """A program with the arguments of one call: `arguments` by the number of the input, those
    that are split as Dask arrays; `label` begins the names of its tasks."""

    program: Program
    arguments: Sequence[Any]
    split: Split
    axes: Mapping[int, int]
    label: str
    function: str


def bundles_of(sources: Iterable[Source]) -> list[Bundle]:
    """The bundles that these sources are parts of."""
    found = [(s.kind, s.level) for s in sources if s.kind in ("head", "combined")]
    return sorted(dict.fromkeys(found))


class Tasks:
    """The tasks of a call, made as they are asked for; bundles in `known` are there already."""

    def __init__(self, call: Call, known: Mapping[Bundle, Any] | None = None) -> None:
        """No task yet."""
        self.call = call
        self.token = uuid4().hex
        self.known = known or {}
        self.graph: dict[Key, Any] = {}
        self.stages = {(s.stage.is_map, s.stage.level): s for s in call.program.stages}
        self.first_rows = cumulative(call.split.chunks)
        self._made: dict[Any, Any] = {}

    def name(self, *words: Any) -> str:
        """The name of tasks: what stands before the token is what dashboards show."""
        return "-".join(map(str, (self.call.label, *words, self.token)))

    def bundle(self, bundle: Bundle) -> Key:
        """The key of a bundle."""
        kind, level = bundle
        if bundle not in self._made:
            if bundle in self.known:
                self._made[bundle] = self._put(self.name("known", kind, level), self.known[bundle])
            elif kind == "head":
                self._made[bundle] = self._head(level)
            else:
                self._made[bundle] = self._tree(level)
        key: Key = self._made[bundle]
        return key

    def blocks(self, source: Source) -> list[Key]:
        """The keys of the blocks of a split result."""
        if source.kind == "block":
            return list(_keys(self.call.arguments[source.number], self.call.axes[source.number]))
        name = self.name("result", source.level, source.number)
        outputs = self._map(source.level)
        for place, key in enumerate(outputs):
            self.graph[name, place] = (tasks.part, key, source.number)
        return [(name, place) for place in range(len(outputs))]

    def _put(self, name: str, value: Any) -> Key:
        self.graph[name] = (_Held(value),)
        return name

    def _head(self, level: int) -> Key:
        one = self.stages[False, level]
        stage, keys = self._task(one, None)
        key = self.name("head", level)
        self.graph[key] = (stage, -1, 0, 0, *keys)
        return key

    def _map(self, level: int) -> list[Key]:
        """The keys of a stage on every block."""
        if ("map", level) not in self._made:
            name = self.name("map", level)
            one = self.stages[True, level]
            held = self._put(self.name("kernel", level), self._task(one, 0)[0])
            found: list[Key] = []
            for place, rows in enumerate(self.call.split.chunks):
                keys = self._task(one, place)[1]
                first = self.first_rows[place]
                self.graph[name, place] = (_run, held, place, first, rows, *keys)
                found.append((name, place))
            self._made["map", level] = found
        keys: list[Key] = self._made["map", level]
        return keys

    def _tree(self, level: int) -> Key:
        """The key of what is combined of the parts of all blocks."""
        stage = self.stages[True, level].stage
        sizes = self.call.split.chunks
        keys = [k for k, rows in zip(self._map(level), sizes, strict=True) if rows] or self._map(
            level
        )
        if len(stage.outputs) > len(stage.combine):
            name = self.name("parts", level)
            for place, key in enumerate(keys):
                self.graph[name, place] = (tasks.parts, key, len(stage.combine))
            keys = [(name, place) for place in range(len(keys))]
        round = 0
        while True:
            name = self.name("combine", level, round)
            groups = [keys[k : k + FAN_IN] for k in range(0, len(keys), FAN_IN)]
            for place, group in enumerate(groups):
                self.graph[name, place] = (tasks.combine, list(stage.combine), group)
            keys = [(name, place) for place in range(len(groups))]
            if len(keys) == 1:
                return keys[0]
            round += 1

    def _task(self, one: CompiledStage, place: int | None) -> tuple[StageTask | None, list[Key]]:
        """A stage as a task, and the keys of its arguments for a block."""
        slots: dict[Any, int] = {}
        keys: list[Key] = []
        picks: list[Pick] = []
        blocks: list[Block] = []

        def slot(key: Any) -> int:
            if key not in slots:
                slots[key] = len(keys)
                keys.append(key)
            return slots[key]

        for source, value in zip(one.stage.inputs, one.stage.graph.inputs, strict=True):
            if source.kind == "argument":
                given = self.call.arguments[source.number]
                if given is FIRST_ROW:
                    picks.append(Pick(-1))
                else:
                    picks.append(Pick(slot(self._argument(source.number))))
            elif source.kind == "block":
                assert place is not None
                axis = self.call.axes[source.number]
                key = _keys(self.call.arguments[source.number], axis)[place]
                known = key in slots
                picks.append(Pick(slot(key)))
                if not known:
                    shape = tuple(
                        [None if k == axis else n for k, n in enumerate(value.type.shape)]
                    )
                    name = value.name
                    blocks.append(Block(slots[key], name, axis, value.type.dtype, shape))
            elif source.kind == "kept":
                assert place is not None
                picks.append(Pick(slot(self._map(source.level)[place]), source.number))
            else:
                picks.append(Pick(slot(self.bundle((source.kind, source.level))), source.number))
        if place:
            return None, keys
        kernel = one.kernel
        stage = StageTask(
            self.call.function, kernel.name, kernel.source, kernel.module.__npz__, picks, blocks,
            len(one.stage.outputs), one.stage.combine,
        )  # fmt: skip
        return stage, keys

    def _argument(self, number: int) -> Key:
        if ("argument", number) not in self._made:
            given = self.call.arguments[number]
            if isinstance(given, da.Array):
                key = next(iter(_flat(given.__dask_keys__())))
            else:
                key = self._put(self.name("argument", number), given)
            self._made["argument", number] = key
        key_: Key = self._made["argument", number]
        return key_


FIRST_ROW = object()
"""Stands for the number of the first row of a block among the arguments."""

ROWS = "n"
"""The name of the symbol of the rows."""


class _Held:
    """A value in a graph, which is no task."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


def _run(stage: StageTask, number: int, first_row: int, rows: int, *given: Any) -> tuple[Any, ...]:
    return stage(number, first_row, rows, *given)


def _flat(keys: Any) -> Iterable[Any]:
    if isinstance(keys, list):
        for one in keys:
            yield from _flat(one)
    else:
        yield keys


def _keys(array: Any, axis: int) -> list[Key]:
    """The keys of the blocks of an array along its rows."""
    return list(_flat(array.__dask_keys__()))


def delayed(tasks: Tasks, key: Key, arrays: Sequence[Any]) -> Any:
    """One task of a graph, to be computed."""
    name = f"tracejit-{tasks.token}"
    graph = HighLevelGraph.from_collections(name, tasks.graph, dependencies=arrays)
    return Delayed(key, graph, layer=name)


def array(tasks: Tasks, source: Source, type: ArrayType, arrays: Sequence[Any]) -> da.Array:
    """A split result of this type as a Dask array."""
    axis = row_axis(type)
    counts = tasks.call.split.chunks
    chunks = [
        tuple([evaluated(size, {ROWS: rows}) for rows in counts]) if k == axis else (int(size),)
        for k, size in enumerate(type.shape)
    ]
    keys = tasks.blocks(source)
    name = tasks.name("array", source.level, source.number)
    for place, key in enumerate(keys):
        places = [place if k == axis else 0 for k in range(type.ndim)]
        tasks.graph[(name, *places)] = (_itself, key)
    graph = HighLevelGraph.from_collections(name, tasks.graph, dependencies=arrays)
    return da.Array(graph, name, chunks, dtype=type.dtype)


def _itself(value: Any) -> Any:
    return value
