"""Stages: a graph cut where parts of blocks are combined.

At each level there is a *head*, replicated code that runs once on what was combined, and a *map*,
which runs on every block: it makes the parts that are combined for the next level, and results that
are split. A map computes again what it needs of earlier ones from the split arguments, unless that
is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.passes.framework.extract import extract
from tracejit.sharding.analysis import Analysis, has_rows

Kind = Literal["argument", "block", "head", "combined", "kept", "constant"]


class Source(NamedTuple):
    """The place that an input of a stage, or a result, is taken from.

    An `argument` or a `block` of one by its number among the inputs of the graph; what the `head`
    of a level computes, what is `combined` before it, or what its map has `kept`, by its number
    there; or a `constant`.
    """

    kind: Kind
    number: int
    level: int = 0
    data: Any = None


class Stage(NamedTuple):
    """One stage as a graph: `inputs` say where those of `graph` come from. The first outputs are
    parts, combined by the ufuncs `combine`; the others are split, or those of a head."""

    graph: Graph
    level: int
    is_map: bool
    inputs: tuple[Source, ...]
    combine: tuple[str, ...]
    outputs: tuple[Value, ...]


class Cut(NamedTuple):
    """The stages of a graph, in order, and where its results are."""

    stages: list[Stage]
    results: list[Source]


def cut(found: Analysis, kept: Iterable[Value] = ()) -> Cut:
    """Cut an analysed graph into stages; split values in `kept` are computed once."""
    return _Cutter(found, frozenset(kept)).cut()


class _Cutter:
    def __init__(self, found: Analysis, kept: frozenset[Value]) -> None:
        self.found, self.graph, self.kept = found, found.graph, kept
        self.numbers = {value: number for number, value in enumerate(self.graph.inputs)}
        self.order = {
            value: place
            for place, value in enumerate([*self.graph.inputs, *_results(self.graph.nodes)])
        }
        levels = {found.of(value).level for value in self.order} | {0}
        self.levels = range(max(levels) + 1)
        self.sources: dict[Value, Source] = {
            value: Source("block" if found.of(value).is_split else "argument", number)
            for value, number in self.numbers.items()
        }

    def cut(self) -> Cut:
        """All stages: first what each map reads is found out, then who hands it out."""
        maps = [self._map(level) for level in self.levels]
        stages: list[Stage] = []
        read = {value for _, inputs, _ in maps for value in inputs}
        read.update(value for value in self.graph.outputs if not self.found.of(value).is_split)
        heads = self._heads(read)
        for level, (_, _, outputs) in zip(self.levels, maps, strict=True):
            if heads[level][2]:
                stages.append(self._stage("head", level, *heads[level]))
            if outputs:
                stages.append(self._stage("map", level, *self._map(level)))
        return Cut(stages, [self._source(value) for value in self.graph.outputs])

    def _map(self, level: int) -> tuple[list[Node], list[Value], list[Value]]:
        """The nodes, inputs and outputs of the map of a level: first the parts, then what is
        split."""
        found = self.found
        parts = [
            value
            for value in self.order
            if value in found.combined and found.of(value).level == level + 1
        ]
        split = [
            value
            for value in dict.fromkeys([*self.graph.outputs, *self.kept])
            if value.node is not None and found.of(value) == (True, level)
        ]
        split.sort(key=self.order.__getitem__)
        outputs = [*parts, *split]

        def is_given(value: Value) -> bool:
            if value in outputs:
                return False
            if value in self.kept and found.of(value).level < level:
                return True
            return value in found.combined or not found.is_computed_in_blocks(value)

        nodes, inputs = self._slice(outputs, is_given)
        if outputs and not any(map(has_rows, inputs)):  # which say how many rows a block has
            inputs.append(next(filter(has_rows, self.graph.inputs)))
        return nodes, inputs, outputs

    def _heads(self, read: set[Value]) -> list[tuple[list[Node], list[Value], list[Value]]]:
        """Nodes, inputs and outputs of the head of each level; `read` is what maps and results
        read of them."""
        found = self.found
        heads: list[tuple[list[Node], list[Value], list[Value]]] = []
        for level in reversed(self.levels):
            outputs = [
                value
                for value in self.order
                if value in read
                and value.node is not None
                and value not in found.combined
                and found.of(value) == (False, level)
            ]

            def is_given(value: Value, level: int = level) -> bool:
                return (
                    value.node is None or value in found.combined or found.of(value).level < level
                )

            nodes, inputs = self._slice(outputs, is_given)
            read.update(inputs)
            heads.append((nodes, inputs, outputs))
        return heads[::-1]

    def _slice(
        self, outputs: Sequence[Value], is_given: Callable[[Value], bool]
    ) -> tuple[list[Node], list[Value]]:
        """The nodes that compute `outputs`, and the values they read that are given."""
        nodes: set[Node] = set()
        inputs: set[Value] = set()
        remaining = list(outputs)
        while remaining:
            value = remaining.pop()
            if isinstance(value, Constant):
                continue
            if is_given(value):
                inputs.add(value)
            elif value.node is not None and value.node not in nodes:
                nodes.add(value.node)
                remaining.extend(value.node.operands)
        in_order = [node for node in self.graph.nodes if node in nodes]
        return in_order, sorted(inputs, key=self.order.__getitem__)

    def _stage(
        self, kind: str, level: int, nodes: list[Node], inputs: list[Value], outputs: list[Value]
    ) -> Stage:
        combine = [self.found.combined[v] for v in outputs if v in self.found.combined]
        combine = combine if kind == "map" else []
        name = f"{self.graph.name}_{kind}_{level}"
        for value in outputs:  # the same name in all stages
            value.label = value.label or value.name
        graph = extract(self.graph, name, inputs, outputs, nodes=nodes)
        sources = tuple(self._source(value) for value in inputs)
        for number, value in enumerate(outputs):
            if kind == "head":
                self.sources[value] = Source("head", number, level)
            elif number < len(combine):
                self.sources[value] = Source("combined", number, level)
            else:
                self.sources[value] = Source("kept", number, level)
        return Stage(graph, level, kind == "map", sources, tuple(combine), tuple(outputs))

    def _source(self, value: Value) -> Source:
        if isinstance(value, Constant):
            return Source("constant", 0, data=value.data)
        return self.sources[value]


def _results(nodes: Iterable[Node]) -> list[Value]:
    return [value for node in nodes for value in node.results]
