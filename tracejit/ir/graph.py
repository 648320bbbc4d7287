"""Graph, Node, Value: the one intermediate form.

A graph is in static single assignment and in program order. `Graph.emit` is the only way to add a
node: it hash-conses, so a computation that is already there is found and not repeated. Nodes of
different recompute regions, or recorded by different tapes, are never taken for each other.

A `Constant` is a value without a node: numbers and arrays that were made while recording. Inputs
have no node either. Operations are known here by `Operation` alone; their records live in
`tracejit/ops`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, groupby
from operator import attrgetter
from typing import Any

import numpy as np

from tracejit.ir.branches import STRAIGHT
from tracejit.ir.dims import resolved, spelled
from tracejit.ir.location import Location
from tracejit.ir.sizes import Sizes
from tracejit.ir.types import ArrayType, Operation, canonical, type_of
from tracejit.ir.value_names import ValueNames, own_base
from tracejit.support.words import identifier


class Value:
    """One array in a graph: the result of a node, an input or a constant.

    `base` is the name the user gave it, or one derived from it; `name` is unique in the graph.
    Both are set by `Graph.assign_names`; until then `label` holds the user's name, and `derived`
    the value and suffix that a cotangent or tangent is named after. `data` is the array or number
    itself where it is known: of a constant, and of what was computed eagerly; such a value does
    not know its node, so that it keeps alive nothing of how it was computed.
    """

    __slots__ = ("base", "data", "derived", "index", "label", "name", "node", "type")

    def __init__(self, type: ArrayType, node: Node | None = None, index: int = 0) -> None:
        """A value of `type`, result number `index` of `node`."""
        self.type = type
        self.node = node
        self.index = index
        self.label = ""
        self.derived: tuple[Value, str] | None = None
        self.base = ""
        self.name = ""
        self.data: Any = None

    @property
    def is_named(self) -> bool:
        """Return whether the user named it, or it is the cotangent or tangent of something the user
        named."""
        return bool(self.label or (self.derived is not None and self.derived[0].label))

    def name_result(self, name: str) -> None:
        """Be called `name`, as a result, unless it has a name already."""
        if self.node is not None and not self.is_named:
            self.label = name

    def take_name(self, other: Value) -> None:
        """Be called what `other` is called, unless there is a name of its own already."""
        if self.node is None or self is other or self.label:
            return
        if self.derived is not None and self.derived[0].label:
            return
        if not self.name or other.is_named:
            self.label, self.derived = other.label, other.derived
            self.base, self.name = other.base, other.name

    def copied(self, node: Node) -> Value:
        """The same result of a copy of its node, under the same name."""
        value: Value = object.__new__(Value)
        value.type, value.node, value.index, value.data = self.type, node, self.index, None
        value.label, value.derived = self.label, self.derived
        value.base, value.name = self.base, self.name
        return value

    def __repr__(self) -> str:
        return f"{self.name or self.label or '_'} {self.type!r}"


class Held(Value):
    """A value that was computed eagerly: it has its data, and no place in a graph.

    There are many, and they live as briefly as arrays: what they all have in common is their
    class's. `index` is free for who computes them.
    """

    __slots__ = ("index",)
    node = None
    label = base = name = ""
    derived = None

    def __init__(self, type: ArrayType, data: Any) -> None:
        """Hold `data`, which has this `type`."""
        self.type = type
        self.data = data
        self.index = 0


class Constant(Value):
    """A value known while recording: a Python number, a NumPy scalar or a small or large array.

    One that is computed from other constants is spelled as in `made`, a node outside any graph.
    """

    __slots__ = ("made",)

    def __init__(self, data: Any, type: ArrayType) -> None:
        """The constant `data`, which must not change any more."""
        super().__init__(type)
        self.data = data
        self.made: Node | None = None

    def take_name(self, other: Value) -> None:
        """Be called what `other` is called, unless there is a name already; numbers have none."""
        if self.type.shape and not self.label:
            self.label = other.label


class Node:
    """One operation applied to operands, with its results, the user's line and where it may be
    shared. `spelled` are its parameters as they tell nodes from each other, once that is asked."""

    __slots__ = (
        "op", "operands", "params", "region", "results", "segment", "spelled", "tapes", "where",
    )  # fmt: skip

    def __init__(
        self,
        op: Any,
        operands: tuple[Value, ...],
        params: dict[str, Any],
        types: Sequence[ArrayType],
        where: Location | None,
        region: int,
        tapes: tuple[int, ...],
        segment: int = 0,
    ) -> None:
        """Use `Graph.emit` instead."""
        self.op = op
        self.operands = operands
        self.params = params
        self.where = where
        self.region = region
        self.tapes = tapes
        self.segment = segment
        self.spelled: str | None = None
        if len(types) == 1:
            self.results: tuple[Value, ...] = (Value(types[0], self),)
        else:
            self.results = tuple([Value(type, self, index) for index, type in enumerate(types)])

    @classmethod
    def of(
        cls,
        op: Any,
        operands: tuple[Value, ...],
        params: dict[str, Any],
        results: tuple[Value, ...],
        where: Location | None,
    ) -> Node:
        """A node outside any graph, whose results were computed already and do not know it."""
        node: Node = cls.__new__(cls)
        node.op, node.operands, node.params = op, operands, params
        node.results, node.where = results, where
        node.region, node.tapes, node.segment = 0, (), 0
        return node

    def applied_to(self, operands: tuple[Value, ...]) -> Node:
        """A copy that is applied to `operands`, its names kept."""
        node: Node = object.__new__(Node)
        node.op, node.operands, node.params = self.op, operands, self.params
        node.where, node.region, node.tapes = self.where, self.region, self.tapes
        node.segment, node.spelled = self.segment, self.spelled
        node.results = tuple([value.copied(node) for value in self.results])
        return node

    def __repr__(self) -> str:
        return f"{self.op.name} {' '.join(map(repr, self.operands))}"


NO_PARAMS: dict[str, Any] = {}
"""The parameters of every node in a graph that has none: nobody adds to those of a node."""

PLACE = ("where", "region", "tapes", "segment")


class Graph:
    """Nodes in program order from inputs to outputs.

    `files` maps a location to its file and the absolute line in it; it serves errors and is not
    part of the printed form, of equality or of any key. `branches` say which traces
    each segment of the nodes is on, where there are several. `sizes` knows the free
    dimensions, if there are any. Of a graph that `is_passing` nobody but the next pass holds
    anything: nodes that this leaves are those of the next graph, too, which `takes_nodes`, with
    their operands there. Those of them whose op nothing new or changed has need no key, since no
    two are equal. The pass that runs leaves `protected` nodes alone; `most_keys` can be met again.
    """

    def __init__(self, name: str) -> None:
        """An empty graph of the function `name`, which may be called anything."""
        self.is_passing = self.takes_nodes = False
        self.protected: frozenset[Node] = frozenset()
        self.most_keys = 1 << 62
        self.branches = STRAIGHT
        self.name = identifier(name)
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.nodes: list[Node] = []
        self.files: dict[Location, tuple[str, int]] = {}
        self.sizes: Sizes | None = None
        self._keyed_ops: set[str] = set()
        self._keyless: dict[str, list[Node]] | None = None
        self._consed: dict[tuple[Any, ...], Node] = {}
        self._older: dict[tuple[Any, ...], Node] = {}
        self._constants: dict[tuple[Any, ...], Constant] = {}

    def add_input(self, name: str, type: ArrayType) -> Value:
        """A new input called `name`, which may be any word, with a number where another input has
        that name."""
        name = identifier(name)
        taken = {value.name for value in self.inputs}
        names = chain([name], (f"{name}_{number}" for number in count(2)))
        value = Value(type)
        value.label = value.base = value.name = next(n for n in names if n not in taken)
        self.inputs.append(value)
        return value

    def constant(self, data: Any) -> Constant:
        """The constant `data`; equal type and bytes give the same constant."""
        type = type_of(data)
        assert type is not None, data
        if isinstance(data, np.ndarray):
            key: tuple[Any, ...] = (type, hashlib.sha256(data.tobytes()).digest())
        else:
            is_plain = type.dtype.kind == "f" and data == data != 0  # zeros have signs
            key = (type, data if is_plain else repr(data))
        known = self._constants.get(key)
        if known is None:
            if isinstance(data, np.ndarray):
                data = canonical(data).copy()
                data.flags.writeable = False
            known = self._constants[key] = Constant(data, type)
        return known

    def emit(
        self,
        op: Operation,
        operands: tuple[Value, ...],
        params: dict[str, Any],
        types: Sequence[ArrayType],
        where: Location | None,
        region: int = 0,
        tapes: tuple[int, ...] = (),
        segment: int = 0,
    ) -> Node:
        """The node that applies `op`: an equal one that is there, or a new one at the end."""
        if self.sizes is not None:
            params = {name: resolved(value) for name, value in params.items()}
        if op.name not in self._keyed_ops:
            self._give_keys(op.name)
        text = self._spelled(params) if params else ""
        key = (op.name, operands, text, region, tapes)
        known = None if op.effect else self._consed.get(key) or self._older.get(key)
        if known is not None and self.branches.precedes(known.segment, segment):
            self._consed[key] = known
            return known
        node = Node(op, operands, params or NO_PARAMS, types, where, region, tapes, segment)
        node.spelled = text if self.sizes is None else None
        self.nodes.append(node)
        self._consed[key] = node
        if len(self._consed) > self.most_keys:
            self._older, self._consed = self._consed, {}
        return node

    def take(self, node: Node, operands: tuple[Value, ...]) -> Node:
        """`node` of the graph before applied to `operands`: itself where this one `takes_nodes`,
        else a copy, or an equal one that is there already. Its names are kept."""
        if not self.takes_nodes:
            node = node.applied_to(operands)
        elif operands is not node.operands and operands != node.operands:
            node.operands = operands
        elif node.op.name not in self._keyed_ops:  # no two of that graph are equal
            self.nodes.append(node)
            if self._keyless is not None:
                self._keyless.setdefault(node.op.name, []).append(node)
            return node
        if node.op.name not in self._keyed_ops:
            self._give_keys(node.op.name)
        key = self._key_of(node)
        known = None if node.op.effect else self._consed.get(key)
        if known is not None and self.branches.precedes(known.segment, node.segment):
            for old, result in zip(node.results, known.results, strict=True):
                result.take_name(old)
            return known
        self.nodes.append(node)
        self._consed[key] = node
        return node

    def remove(self, nodes: Collection[Node]) -> None:
        """Take nodes out, of which nothing that stays reads a result."""
        gone = set(nodes)
        if self.sizes is None:  # then a key is what it was
            for node in gone:
                key = self._key_of(node)
                for known in (self._consed, self._older):
                    if known.get(key) is node:
                        del known[key]
        else:
            self._consed = {key: node for key, node in self._consed.items() if node not in gone}
            self._older = {key: node for key, node in self._older.items() if node not in gone}
        first, left = len(self.nodes), len(gone)
        while left and first:
            first -= 1
            left -= self.nodes[first] in gone
        self.nodes[first:] = [node for node in self.nodes[first:] if node not in gone]

    def cut(self, start: int) -> None:
        """Take out the nodes from number `start` on; the others may have other operands by now."""
        del self.nodes[start:]
        self.forget_keys()

    def forget_keys(self) -> None:
        """Keep no key of a node: where one is needed again it is made again."""
        self._consed.clear()
        self._older.clear()
        self._keyed_ops.clear()
        self._keyless = {}
        for node in self.nodes:
            self._keyless.setdefault(node.op.name, []).append(node)

    def take_all(self, nodes: Iterable[Node]) -> None:
        """Begin with `nodes`, the first of the graph before, as they are."""
        self.nodes = list(nodes)

    def _give_keys(self, op: str) -> None:
        """Make keys for the nodes of `op` that have none yet; from now on all that come have."""
        if self._keyless is None:
            self._keyless = {}
            for node in self.nodes if self.takes_nodes else ():
                self._keyless.setdefault(node.op.name, []).append(node)
        self._keyed_ops.add(op)
        self._consed.update((self._key_of(node), node) for node in self._keyless.pop(op, ()))

    def _key_of(self, node: Node) -> tuple[Any, ...]:
        """The hash key under which equal nodes meet."""
        if self.sizes is not None:
            node.params = {name: resolved(value) for name, value in node.params.items()}
            return node.op.name, node.operands, self._spelled(node.params), node.region, node.tapes
        if node.spelled is None:
            node.spelled = self._spelled(node.params) if node.params else ""
        return node.op.name, node.operands, node.spelled, node.region, node.tapes

    def _spelled(self, params: dict[str, Any]) -> str:
        """Parameters as they tell nodes from each other."""
        if self.sizes is None:
            return repr(params)
        return ", ".join(f"{name}={spelled(value)}" for name, value in params.items())

    def take_sizes(self, other: Graph) -> bool:
        """Be over the free dimensions of a graph that was recorded for the same calls; whether that
        is possible: as many are free, and the same holds of them."""
        sizes, mine = other.sizes, self.sizes
        if sizes is None or mine is None:
            return sizes is mine
        known = sizes.symbols_for(mine)
        if known is None:
            return False
        self.sizes = sizes
        change_sizes(self.values(), self.nodes, known.translated)
        return True

    def retype(self) -> None:
        """Put what is known of sizes by now into every type and parameter."""
        change_sizes(self.values(), self.nodes)

    def copy_node(self, node: Node, operands: tuple[Value, ...], **changes: Any) -> Node:
        """`node` applied to `operands` in this graph, its names kept; `changes` replace its other
        parts."""
        types = [value.type for value in node.results]
        place: Any = node.where, node.region, node.tapes, node.segment
        if changes:
            place = [changes.get(name, old) for name, old in zip(PLACE, place, strict=True)]
        new = self.emit(node.op, operands, node.params, types, *place)
        for old, result in zip(node.results, new.results, strict=True):
            result.take_name(old)
        return new

    def adopt(self, other: Graph) -> None:
        """Let constants of `other` be constants of this graph, too, its sizes and files be its."""
        self._constants = other._constants | self._constants
        self.files = other.files | self.files if self.files else other.files
        self.sizes = other.sizes

    def values(self) -> Iterator[Value]:
        """Inputs, then the results of every node in order."""
        yield from self.inputs
        for node in self.nodes:
            yield from node.results

    def constants(self) -> list[Constant]:
        """The constants that nodes and outputs use, in order of first use."""
        used = dict.fromkeys(chain(*[node.operands for node in self.nodes], self.outputs))
        return [value for value in used if isinstance(value, Constant)]

    def assign_names(self, results: Iterable[Value] = ()) -> None:
        """Give every value its base and its unique name; `results` are outputs, too.

        A value is called what the user called it; else after the value it is derived from
        (`h_bar`); else, as a temporary, after the named value that its statement makes (`h_1`,
        `h_2`); else after its op.
        """
        outputs = {*self.outputs, *results}
        if self.sizes is not None:
            taken = {value.name for value in self.inputs} | {node.op.name for node in self.nodes}
            self.sizes.assign_names(taken)
        names = ValueNames({value.name for value in self.inputs})
        for _, statement in groupby(self.nodes, key=attrgetter("where")):
            temporaries: list[Value] = []
            for value in (value for node in statement for value in node.results):
                own = own_base(value, value in outputs)
                if not own:
                    temporaries.append(value)
                    continue
                for temporary in temporaries:
                    names.give(temporary, own, numbered=True)
                temporaries.clear()
                names.give(value, own)
            for temporary in temporaries:
                assert temporary.node is not None
                names.give_word(temporary)
        for constant in self.constants():
            names.give(constant, constant.label or "c", numbered=not constant.label)

    def complete_names(self) -> None:
        """Name the values that a pass has added: after their base, else after their op."""
        unnamed = [value for node in self.nodes for value in node.results if not value.name]
        if not unnamed:
            return
        names = ValueNames({value.name for value in self.values()})
        for value in unnamed:
            if value.base:
                names.give(value, value.base, numbered=True)
            else:
                names.give_word(value)

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.inputs)} inputs, {len(self.nodes)} nodes>"


def replace_values(values: Sequence[Value], known: Mapping[Value, Value]) -> tuple[Value, ...]:
    """`values` with every value that `known` maps replaced."""
    return tuple([known.get(value, value) for value in values])


def retyped(type: ArrayType, changed: Callable[[Any], Any] = resolved) -> ArrayType:
    """A type with its sizes `changed`: by what is known of them by now."""
    return type if type.sizes is None else ArrayType(changed(type.shape), type.dtype, type.form)


def change_sizes(
    values: Iterable[Value], nodes: Iterable[Node], changed: Callable[[Any], Any] = resolved
) -> None:
    """Let the sizes in the types of values, and in the parameters of nodes and the bodies among
    these, be `changed`: by what is known of them by now."""
    for value in values:
        value.type = retyped(value.type, changed)
    for node in nodes:
        for name, param in node.params.items():
            node.params[name] = changed(param)
            for part in param if type(param) is tuple else (param,):
                if hasattr(type(part), "change_sizes"):
                    part.change_sizes(changed)
