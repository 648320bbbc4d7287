"""The Dask graph of a call: which tasks there are, and what each waits for.

A stage on blocks is a task for each block. Parts are combined by a tree whose nodes take FAN_IN
neighbours, so that the order, and with it the bits, depend on the blocks alone. Kernels and
arguments are data of the graph: a scheduler that loses a worker can make everything again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import dask.array as da
import numpy as np
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import DataNode, Task, TaskRef

from tracejit.dask import tasks
from tracejit.dask.arguments import Split
from tracejit.dask.blocks import BlockTasks, Key
from tracejit.dask.tasks import ARGUMENTS, FIRST_ROW, OTHERS, Block, Pick, Place, StageTask
from tracejit.ir.sizes import evaluated
from tracejit.ir.types import ArrayType
from tracejit.sharding.analysis import row_axis
from tracejit.sharding.program import FAN_IN, CompiledStage, Program
from tracejit.sharding.stages import Source

Bundle = tuple[str, int]
"""Values that are computed once: ("head", level), ("combined", level), or a Dask array of one block
among the arguments, ("argument", its number)."""

ROWS = "n"
"""The name of the symbol of the rows."""


class Call(NamedTuple):
    """A program with the arguments of one call, by the number of the input: `arguments` that are
    the same for all blocks, None for the others; the number of the input that is the first row of
    a block; and `dasks`, the Dask arrays, of which those in `axes` are split along an axis.
    `label` begins the names of its tasks."""

    program: Program
    arguments: Sequence[Any]
    first_row: int | None
    dasks: Mapping[int, Any]
    axes: Mapping[int, int]
    split: Split
    function: str
    label: str

    def bundle_of(self, source: Source) -> Bundle | None:
        """The bundle that a source is from; None if it is there already, or split."""
        if source.kind in ("head", "combined"):
            return source.kind, source.level
        if source.kind == "argument" and source.number in self.dasks:
            return "argument", source.number
        return None

    def value_of(self, source: Source) -> Any:
        """A constant, or an argument that is there."""
        return source.data if source.kind == "constant" else self.arguments[source.number]


class Tasks:
    """The tasks of a call, made as they are asked for; bundles in `known` are there already."""

    def __init__(
        self, call: Call, blocks: BlockTasks, known: Mapping[Bundle, Any] | None = None
    ) -> None:
        """No task yet."""
        self.call, self.blocks, self.known = call, blocks, known or {}
        self.token = uuid4().hex
        self.graph: dict[Key, Any] = {}
        self.stages = {(s.stage.is_map, s.stage.level): s for s in call.program.stages}
        self.places = _places(call.split.chunks)
        self._bundles: dict[Bundle, Key] = {}
        self._maps: dict[int, list[Key]] = {}
        self._shared: dict[int, dict[Key, Key]] = {}

    def name(self, kind: str, *numbers: int) -> str:
        """The name of tasks: Dask shows and groups what stands before the numbers."""
        return "-".join(map(str, (self.call.label, kind, *numbers, self.token)))

    def bundle(self, bundle: Bundle) -> Key:
        """The key of a bundle."""
        kind, level = bundle
        if bundle not in self._bundles:
            if bundle in self.known:
                name = self.name(f"known-{kind}", level)
                self._bundles[bundle] = self.data(name, self.known[bundle])
            elif kind == "argument":
                self._at(0)
                self._bundles[bundle] = self.blocks.keys[level][0]
            else:
                made = self._head(level) if kind == "head" else self._combined(level)
                self._bundles[bundle] = made
        return self._bundles[bundle]

    def whole(self, source: Source, number: int) -> Key:
        """The key of result `number`, which is the same for all blocks."""
        name = self.name("result", number)
        bundle = self.call.bundle_of(source)
        if bundle is None:
            return self.data(name, self.call.value_of(source))
        if source.kind == "argument":
            return self.bundle(bundle)
        return self._task(name, tasks.part, TaskRef(self.bundle(bundle)), source.number)

    def array(self, source: Source, number: int, type: ArrayType) -> da.Array:
        """Result `number`, which is split, as a Dask array."""
        axis = row_axis(type)
        chunks = [
            tuple([evaluated(size, {ROWS: rows}) for rows in self.call.split.chunks])
            if k == axis
            else (int(size),)
            for k, size in enumerate(type.shape)
        ]
        name = self.name("result", number)
        found = {}
        for place, key in enumerate(self._map(source.level)):
            own = (name, *[place if k == axis else 0 for k in range(type.ndim)])
            found[own] = Task(own, tasks.part, TaskRef(key), source.number)
        return da.Array(self._layers(name, found), name, chunks, dtype=type.dtype)

    def delayed(self, key: Key) -> Delayed:
        """A task, to be computed."""
        name = f"{self.call.label}-{self.token}"
        return Delayed(key, self._layers(name, {}), layer=name)

    def gathered(self, bundles: Sequence[Bundle]) -> Delayed:
        """Some bundles, to be computed together."""
        refs = [TaskRef(self.bundle(one)) for one in bundles]
        return self.delayed(self._task(self.name("gather"), tasks.gathered, *refs))

    def data(self, name: str, value: Any) -> Key:
        """The key of a value that is there."""
        self.graph[name] = DataNode(name, value)
        return name

    def _task(self, key: Key, function: Any, *arguments: Any) -> Key:
        self.graph[key] = Task(key, function, *arguments)
        return key

    def _layers(self, name: str, own: dict[Key, Any]) -> HighLevelGraph:
        """All tasks, with the layer `name`, of `own` tasks, on top."""
        base = f"{self.call.label}-tasks-{self.token}"
        return HighLevelGraph({base: self.graph, name: own}, {base: set(), name: {base}})

    def _head(self, level: int) -> Key:
        kernel, arguments, others = self._inputs(self.stages[False, level])
        refs = [TaskRef(key) for key in (kernel, arguments, *[keys[0] for keys in others])]
        return self._task(self.name("once", level), tasks.run_once, *refs)

    def _map(self, level: int) -> list[Key]:
        """The keys of a stage on every block."""
        if level in self._maps:
            return self._maps[level]
        kernel, arguments, others = self._inputs(self.stages[True, level])
        renamed = self._at(level)
        name = self.name("map", level)
        found: list[Key] = []
        for number, place in enumerate(self.places):
            key = (name, number)
            if place.rows or not self.call.split.rows:
                refs = [TaskRef(keys[number if len(keys) > 1 else 0]) for keys in others]
                task = Task(key, tasks.run_block, TaskRef(kernel), place, TaskRef(arguments), *refs)
                self.graph[key] = self.blocks.joined(task, number, renamed)
            else:
                self._task(key, tasks.run_nothing, TaskRef(kernel))
            found.append(key)
        self._maps[level] = found
        return found

    def _combined(self, level: int) -> Key:
        """The key of what is combined of the parts of all blocks; those without rows have none."""
        stage = self.stages[True, level].stage
        keys = [k for k, p in zip(self._map(level), self.places, strict=True) if p.rows]
        keys = keys or self._map(level)
        if len(stage.outputs) > len(stage.combine):  # what is split stays where it is
            name = self.name("parts", level)
            keys = [
                self._task((name, k), tasks.parts, TaskRef(key), len(stage.combine))
                for k, key in enumerate(keys)
            ]
        rounds = 0
        while rounds == 0 or len(keys) > 1:
            name = self.name("combine", level, rounds)
            groups = [keys[k : k + FAN_IN] for k in range(0, len(keys), FAN_IN)]
            keys = [
                self._task((name, k), tasks.combine, stage.combine, *map(TaskRef, group))
                for k, group in enumerate(groups)
            ]
            rounds += 1
        return keys[0]

    def _at(self, level: int) -> dict[Key, Key]:
        """The names at a level of the tasks that blocks share, which are added to the graph."""
        if level not in self._shared:
            self.graph.update(self.blocks.tasks(level))
            self._shared[level] = self.blocks.shared(level)
        return self._shared[level]

    def _inputs(self, one: CompiledStage) -> tuple[Key, Key, list[list[Key]]]:
        """The keys of the kernel of a stage and of the arguments that are the same for all blocks,
        and those of all else that it reads: one key, or one for each block."""
        stage, call = one.stage, self.call
        renamed = self._at(stage.level)
        picks: list[Pick] = []
        blocks: list[Block] = []
        others: list[list[Key]] = []
        slots: dict[Any, int] = {}

        def slot(what: Any, keys: list[Key]) -> int:
            if what not in slots:
                slots[what] = OTHERS + len(others)
                others.append([renamed.get(key, key) for key in keys])
            return slots[what]

        for source, value in zip(stage.inputs, stage.graph.inputs, strict=True):
            number = source.number
            if source.kind == "block" and number == call.first_row:
                picks.append(Pick(FIRST_ROW))
            elif number in call.dasks and source.kind in ("argument", "block"):
                place = slot(number, self.blocks.keys[number])
                picks.append(Pick(place))
                if source.kind == "block":
                    axis = call.axes[number]
                    sizes = [None if k == axis else n for k, n in enumerate(value.type.shape)]
                    blocks.append(Block(place, value.name, axis, value.type.dtype, tuple(sizes)))
            elif source.kind == "argument":
                picks.append(Pick(ARGUMENTS, number))
            elif source.kind == "kept":
                picks.append(Pick(slot(("kept", source.level), self._map(source.level)), number))
            else:
                bundle = source.kind, source.level
                picks.append(Pick(slot(bundle, [self.bundle(bundle)]), number))
        kernel = one.kernel
        stage_task = StageTask(
            function=call.function,
            name=kernel.name,
            text=kernel.source,
            npz=kernel.module.__npz__,
            picks=tuple(picks),
            blocks=tuple(blocks),
            outputs=len(stage.outputs),
            empty=tuple([_empty(value.type) for value in stage.outputs]) if stage.is_map else (),
        )
        arguments = self.name("arguments")
        if arguments not in self.graph:
            self.data(arguments, tuple(call.arguments))
        name = self.name("kernel-map" if stage.is_map else "kernel-once", stage.level)
        return self.data(name, stage_task), arguments, others


def _places(chunks: Sequence[int]) -> list[Place]:
    first_rows = np.cumsum([0, *chunks[:-1]]).tolist()
    return [Place(k, *pair) for k, pair in enumerate(zip(first_rows, chunks, strict=True))]


def _empty(type: ArrayType) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Shape and dtype of a split output of a block without rows; None of a part."""
    if row_axis(type) is None:
        return None
    return tuple([evaluated(size, {ROWS: 0}) for size in type.shape]), type.dtype
