"""Subgraph: the body of a loop, or one side of a condition, as a graph that a node owns.

While a function is recorded, a body is recorded in the open, on placeholders: its nodes read values
of the graph around it directly. They are taken out of that graph, and the node that owns the body
stands in their place. So the rules of differentiation run on the body as they do on any other nodes
of the recording. After the recording, `graph` is the body by itself: a graph whose inputs stand for
all that it reads. That graph is printed, rewritten by passes and written out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from tracejit.ir.dims import dims_in
from tracejit.ir.graph import Constant, Graph, Node, Value, change_sizes, replace_values
from tracejit.ir.step_sizes import StepSizes
from tracejit.ir.types import ArrayType
from tracejit.support.words import identifier

_serial = count()


class Placeholder(Value):
    """A value that a body is recorded on: what it stands for differs from step to step."""

    __slots__ = ()


class Subgraph:
    """A body: `inputs`, `nodes` and `outputs` of the recording, or a graph of its own.

    `base` is the body that this one extends by further outputs.
    """

    __slots__ = ("_graph", "_parent", "base", "inputs", "name", "nodes", "outputs", "serial")

    def __init__(
        self,
        parent: Graph,
        name: str,
        inputs: Sequence[Value],
        nodes: Sequence[Node],
        outputs: Sequence[Value],
        base: Subgraph | None = None,
    ) -> None:
        """A body that was recorded among the nodes of `parent`."""
        self.name = identifier(name)
        self.inputs = list(inputs)
        self.nodes = list(nodes)
        self.outputs = list(outputs)
        self.base = base
        self.serial = next(_serial)
        self._parent: Graph | None = parent
        self._graph: Graph | None = None

    @classmethod
    def of(cls, graph: Graph) -> Subgraph:
        """The body that is `graph`."""
        made = cls(graph, graph.name, graph.inputs, graph.nodes, graph.outputs)
        made._graph, made._parent = graph, None
        return made

    def opened(self, parent: Graph, around: Sequence[Value]) -> Subgraph:
        """This body as one that was recorded among the nodes of `parent`, and reads the values
        `around` directly, where its first inputs stand for them."""
        inputs = [*around, *self.inputs[len(around) :]]
        known = dict(zip(self.inputs, inputs, strict=True))
        nodes = []
        for node in self.nodes:
            operands = replace_values(node.operands, known)
            params = opened_params(parent, node.params, operands)
            types = [value.type for value in node.results]
            nodes.append(Node(node.op, operands, params, types, node.where, node.region, ()))
            known.update(zip(node.results, nodes[-1].results, strict=True))
            for old, new in zip(node.results, nodes[-1].results, strict=True):
                new.take_name(old)
        return Subgraph(parent, self.name, inputs, nodes, replace_values(self.outputs, known))

    def extended_from(self, base: Subgraph) -> Subgraph:
        """This body, whose own base does the same as `base`, as one that extends `base`."""
        mine = self.base or self
        known = dict(zip(mine.inputs, base.inputs, strict=True))
        for old, new in zip(mine.nodes, base.nodes, strict=True):
            known.update(zip(old.results, new.results, strict=True))
        outputs = replace_values(self.outputs, known)
        return Subgraph(base.parent, self.name, base.inputs, base.nodes, outputs, base)

    @property
    def is_recorded(self) -> bool:
        """Return whether the body stands among the values of a recording."""
        return self._parent is not None

    @property
    def parent(self) -> Graph:
        """The graph among whose nodes the body was recorded."""
        assert self._parent is not None
        return self._parent

    @property
    def output_types(self) -> list[ArrayType]:
        """The types of the outputs."""
        return [value.type for value in self.outputs]

    @property
    def graph(self) -> Graph:
        """The body as a graph of its own; made when it is first asked for, after the recording."""
        if self._graph is None:
            self._graph = _isolated(self)
        return self._graph

    @property
    def now(self) -> Graph | Subgraph:
        """The body as it can be computed at any time: as it was recorded, if it was not asked for
        as a graph of its own."""
        return self if self._graph is None else self._graph

    @property
    def sizes(self) -> Any:
        """The sizes that may be free."""
        return self.graph.sizes if self._parent is None else self._parent.sizes

    def change_sizes(self, changed: Callable[[Any], Any]) -> None:
        """Let the sizes in types and parameters be `changed`."""
        results = [value for node in self.nodes for value in node.results]
        change_sizes([*self.inputs, *results], self.nodes, changed)
        if self._graph is not None and self.is_recorded:
            change_sizes(self._graph.values(), self._graph.nodes, changed)
            self._graph.sizes = self.parent.sizes

    def __repr__(self) -> str:
        """A name that no other body of the process has: no two are treated as equal."""
        return f"{self.name}.{self.serial}"


def _isolated(body: Subgraph) -> Graph:
    """A copy of a recorded body whose inputs stand for all that it reads."""
    graph = Graph(body.name)
    graph.adopt(body.parent)
    known: dict[Value, Value] = {}
    for number, value in enumerate(body.inputs):
        known[value] = graph.add_input(_called(value) or f"x{number}", value.type)
    for node in body.nodes:
        made = graph.copy_node(node, replace_values(node.operands, known), tapes=())
        known.update(zip(node.results, made.results, strict=True))
        for old, new in zip(node.results, made.results, strict=True):
            if new.derived is not None and new.derived[0] in known:
                new.derived = known[new.derived[0]], new.derived[1]
            if old.data is not None:
                new.data = old.data
    graph.outputs = list(replace_values(body.outputs, known))
    graph.assign_names()
    return graph


def _called(value: Value) -> str:
    """The name of a value, or the one that it is derived from."""
    if value.label or value.derived is None:
        return value.label or value.base or (value.node.op.name if value.node is not None else "")
    primal, suffix = value.derived
    name = _called(primal)
    return name and name + suffix


def bodies_of(node: Node) -> Iterator[tuple[str, Subgraph]]:
    """The bodies that a node owns, each with the name of the parameter that holds it."""
    for name, value in node.params.items():
        for part in value if type(value) is tuple else (value,):
            if type(part) is Subgraph:
                yield name, part


def opened_params(
    parent: Graph,
    params: dict[str, Any],
    operands: Sequence[Value],
    known: dict[Any, Subgraph] | None = None,
) -> dict[str, Any]:
    """The parameters of a node that is applied to these operands among the nodes of `parent`: its
    bodies read them directly. `known` are bodies that were opened already."""
    first = params.get("invariants")
    around = operands[1:] if first is None else operands[:first]
    known = {} if known is None else known

    def opened(part: Any) -> Any:
        if type(part) is not Subgraph or tuple(part.inputs[: len(around)]) == tuple(around):
            return part
        key = part, tuple(around)
        if key not in known:
            base = None if part.base is None else opened(part.base)
            whole = part.opened(parent, around) if base is None else part.extended_from(base)
            known[key] = whole
        return known[key]

    return {
        name: tuple(map(opened, value)) if type(value) is tuple else opened(value)
        for name, value in params.items()
    }


def every_node(nodes: Iterable[Node]) -> Iterator[Node]:
    """`nodes` and those of the bodies that they own."""
    for node in nodes:
        yield node
        for _, body in bodies_of(node):
            yield from every_node(body.nodes)


def differs_in_size(node: Node, symbol: int | None = None) -> bool:
    """Return whether a node computes something of another size in each step of a loop; or of that
    whose sizes have this `symbol`."""
    for part in (*node.params.values(), *[value.type.shape for value in node.results]):
        for dim in dims_in(part):
            if type(dim.sizes) is StepSizes:
                if symbol is None or any(symbol in one for one, _ in dim.key):
                    return True
    return any(
        differs_in_size(inner, symbol) for _, body in bodies_of(node) for inner in body.nodes
    )


def dependents(
    nodes: Sequence[Node], inputs: Collection[Value], size: int | None = None
) -> list[Node]:
    """The nodes that depend on `inputs`, or by their sizes on the number of a step, which has the
    symbol `size`, and those with an effect that is not a decision."""
    inside = set(inputs)
    found = []
    for node in nodes:
        is_effect = node.op.effect and node.op.vjp != ()
        is_sized = size is not None and differs_in_size(node, size)
        if not inside.isdisjoint(node.operands) or is_effect or is_sized:
            found.append(node)
            inside.update(node.results)
    return found


def needed_for(
    outputs: Sequence[Value], nodes: Sequence[Node], given: Collection[Value]
) -> list[Node]:
    """The nodes that compute `outputs` when the values `given` are there, and every effect whose
    result is not."""
    there = set(given)
    wanted = set(outputs) - there
    kept: list[Node] = []
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.results) or (
            node.op.effect and not there.issuperset(node.results)
        ):
            kept.append(node)
            wanted.update([value for value in node.operands if value not in there])
    return kept[::-1]


def values_around(
    nodes: Sequence[Node], outputs: Sequence[Value], inputs: Collection[Value]
) -> list[Value]:
    """The values from outside that a body reads or returns, in order of first use; array constants
    are among them, so that they belong to the graph around the body alone."""
    inside = set(inputs).union(value for node in nodes for value in node.results)
    read = [*(value for node in nodes for value in node.operands), *outputs]
    return [
        value
        for value in dict.fromkeys(read)
        if value not in inside and (value.type.form == "array" or not isinstance(value, Constant))
    ]
