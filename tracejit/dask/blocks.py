"""Blocks of Dask arrays: the tasks that make them, as Dask has optimised them.

A stage reads every block once. The tasks that only this block needs become a part of the task of
the stage, which loads a block, computes, and lets go of it; so no worker holds blocks that wait for
a later stage, which loads them again. What several blocks need stays a task, one for each level.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dask
from dask.core import flatten
from dask.task_spec import DataNode, GraphNode, Task, TaskRef

Key = Any
"""A key of a Dask graph: a name, or a name with numbers."""

SHARED = -1
"""Stands for the place of what several blocks need."""


class BlockTasks:
    """The tasks of the Dask arrays of a call: `graph` holds them all, and `keys` those of the
    blocks of each array."""

    def __init__(self, arrays: Mapping[Any, Any], split: Iterable[Any]) -> None:
        """Optimise the arrays, of which those in `split` are in blocks, as many each."""
        optimised = dask.optimize(*arrays.values())
        self.graph: dict[Key, Any] = {}
        for array in optimised:
            self.graph.update(array.__dask_graph__())
        # Optimised graphs only name the futures of persisted arrays; these keep them alive.
        self._futures = {
            key: value
            for array in arrays.values()
            for layer in array.__dask_graph__().layers.values()
            if layer.is_materialized()
            for key, value in layer.items()
            if isinstance(value, TaskRef)
        }
        self.keys: dict[Any, list[Key]] = {
            name: list(flatten(array.__dask_keys__()))
            for name, array in zip(arrays, optimised, strict=True)
        }
        split = set(split)
        places = {
            name: range(len(keys)) if name in split else [SHARED] * len(keys)
            for name, keys in self.keys.items()
        }
        self._own: dict[int, dict[Key, GraphNode]] = {}
        self._shared: list[Key] = []
        # Without optimisation (optimization.fuse.active) they may be no GraphNodes: left alone.
        if all(isinstance(node, GraphNode) for node in self.graph.values()):
            self._assign(places)

    def _assign(self, places: Mapping[Any, Sequence[int]]) -> None:
        """Find the block that needs a task, for each that is needed by one alone."""
        needs: dict[Key, int] = {}

        def need(key: Key, place: int) -> None:
            needs[key] = place if needs.get(key, place) == place else SHARED

        for name, keys in self.keys.items():
            for key, place in zip(keys, places[name], strict=True):
                need(key, place)
        sorter = graphlib.TopologicalSorter(
            {key: node.dependencies for key, node in self.graph.items()}
        )
        for key in reversed(list(sorter.static_order())):
            node = self.graph.get(key)
            if key not in needs or node is None:  # nothing needs it, or it is a future's
                continue
            for other in node.dependencies:
                need(other, needs[key])
            if needs[key] != SHARED and not getattr(node, "block_fusion", False):
                self._own.setdefault(needs[key], {})[key] = node
            elif not isinstance(node, DataNode):
                self._shared.append(key)

    def shared(self, level: int) -> dict[Key, Key]:
        """The keys at a level of the tasks that are shared by blocks."""
        if not level:
            return {}
        return {key: _at_level(key, level) for key in self._shared}

    def tasks(self, level: int) -> dict[Key, Any]:
        """The tasks that are shared by blocks, at a level, and all data."""
        renamed = self.shared(level)
        found = {new: self.graph[key].substitute(renamed, key=new) for key, new in renamed.items()}
        own = {key for nodes in self._own.values() for key in nodes}
        found.update((k, v) for k, v in self.graph.items() if k not in own and k not in renamed)
        return {**found, **self._futures}

    def joined(self, task: Task, place: int, renamed: Mapping[Key, Key]) -> GraphNode:
        """A task of a stage with those that only its block needs; `renamed` are the shared."""
        own = self._own.get(place, {})
        found: dict[Key, GraphNode] = {}
        remaining = list(task.dependencies)
        while remaining:
            key = remaining.pop()
            if key in own and key not in found:
                found[key] = own[key].substitute(renamed) if renamed else own[key]
                remaining.extend(own[key].dependencies)
        return Task.fuse(*found.values(), task, key=task.key) if found else task


def _at_level(key: Key, level: int) -> Key:
    """The key of a task that is computed again at a level."""
    name, numbers = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
    renamed = f"{name}-level-{level}"
    return (renamed, *numbers) if numbers else renamed
