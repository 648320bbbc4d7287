"""Loops in the steps of another loop, whose numbers go on from step to step: `for j in range(i)`.

Such an inner loop is a node of each outer step. Its length, the numbers in the parameters of its
body, sizes there, and integers that the body computes with may all differ from one outer step to
the next. `numbers_in` lists them, `letter_of` says what must be alike, and `InnerLoop` makes the
one loop that is in the body of the outer one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import count
from typing import Any

from tracejit.ir.dims import Dim, terms_of
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.step_sizes import StepSizes
from tracejit.ir.subgraph import Placeholder, Subgraph
from tracejit.ir.types import WEAK_TYPES, ArrayType
from tracejit.ops.control.control_flow import is_counted, loop_inputs
from tracejit.trace.rerolling.moving_numbers import Moving, blanked, replaced

Owners = tuple[int, ...]
"""The symbols of a loop and of those around it, the outermost first."""


def is_inner(node: Node) -> bool:
    """Return whether numbers in a loop are listed."""
    return is_counted(node) and not node.op.effect and node.params["body"].base is None


def numbers_in(node: Node, owners: Owners = ()) -> Iterator[int]:
    """The numbers of a loop, in order."""
    params, body = node.params, node.params["body"]
    owners = _with(owners, params)
    yield from _numbers(params["length"], owners)
    for value in _own_inputs(node):
        for size in value.type.shape:
            yield from _numbers(size, owners)
    for inner in body.nodes:
        for value in inner.operands:
            if _is_integer(value):
                yield value.data
        found: list[Any] = []
        replaced(inner.params, found.append, found.append)
        for number in found:
            yield from _numbers(number, owners)
        if is_inner(inner):
            yield from numbers_in(inner, owners)
        for value in inner.results:
            for size in value.type.shape:
                yield from _numbers(size, owners)


def letter_of(node: Node, others: Callable[[Node], Hashable]) -> Hashable:
    """All of a loop but these numbers, as a key; `others` is that of nodes that are not loops."""
    params, body = node.params, node.params["body"]
    numbers: dict[Value, int] = {}
    for value in body.inputs:
        numbers[value] = len(numbers)

    def place(value: Value) -> Any:
        return int if _is_integer(value) else numbers.get(value, value)

    parts: list[Any] = [node.op, params["invariants"], params["carried"], params["reverse"]]
    parts += ["size" in params, *[_kind(value.type) for value in body.inputs]]
    for inner in body.nodes:
        if is_inner(inner):
            key = letter_of(inner, others)
        else:
            is_numbered = "index" in inner.params or "shape" in inner.params
            key = blanked(inner.params) if is_numbered else others(inner)
        kinds = [_kind(value.type) for value in inner.results]
        parts.append((inner.op, key, tuple(map(place, inner.operands)), *kinds))
        for value in inner.results:
            numbers[value] = len(numbers)
    return (*parts, tuple(map(place, body.outputs)))


def _kind(type: ArrayType) -> Hashable:
    return type.dtype, type.form, type.ndim


def _with(owners: Owners, params: dict[str, Any]) -> Owners:
    return (*owners, params["size"]) if "size" in params else owners


def _own_inputs(node: Node) -> list[Value]:
    """The inputs of the body of a loop that are others at each step."""
    inputs = loop_inputs(node)
    return [*inputs.carried, *inputs.sliced]


def _is_integer(value: Value) -> bool:
    return isinstance(value, Constant) and value.type is WEAK_TYPES[int]


def _numbers(size: Any, owners: Owners) -> list[int]:
    """A size as numbers: what is constant, and the factor of each symbol."""
    if type(size) is not Dim:
        return [size]
    terms = terms_of(size)
    return [terms.get((), 0), *[terms.get((symbol,), 0) for symbol in owners]]


class InnerLoop:
    """The loop of all outer steps, as `params` of its node; `extra` are the numbers of the outer
    step that it reads, further invariants."""

    def __init__(
        self, graph: Graph, moving: Moving, step: Dim, counted: Callable[[int, int], Value]
    ) -> None:
        """Numbers go on by `moving`; `step` is the number of the outer step in sizes, and `counted`
        one that begins and goes on like this, as a value."""
        self.graph = graph
        self.moving = moving
        self.step = step
        self.counted = counted
        self.place = count()

    def params(
        self, params: dict[str, Any], owners: Owners = (), dims: Sequence[Dim] = ()
    ) -> tuple[dict[str, Any], list[Value]]:
        """The parameters of the loop for those of the first outer step, and `extra`."""
        sizes = self.graph.sizes
        assert type(sizes) is StepSizes
        body: Subgraph = params["body"]
        first = params["invariants"]
        made = dict(params)
        owners = _with(owners, params)
        place = next(self.place)
        made["length"] = self.moving.size(place, self.step)
        if "size" in params:
            length, stride = self.moving.first[place], self.moving.strides[place]
            symbol = self.step.symbol
            most = max(length, length + stride * symbol.most)
            new = sizes.step(made["length"], most)
            dims = [*dims, new]
            made["size"] = new.place
        known: dict[Value, Value] = {}
        extra: dict[Value, None] = {}
        for value in body.inputs[first:-1]:
            kind = self._type(value.type, owners, dims)
            if kind is not value.type:
                known[value] = Placeholder(kind)
                known[value].label, known[value].derived = value.label, value.derived
        nodes = [self._node(node, owners, dims, known, extra) for node in body.nodes]
        inputs = [known.get(value, value) for value in body.inputs]
        inputs[first:first] = extra
        outputs = [known.get(value, value) for value in body.outputs]
        made["body"] = Subgraph(self.graph, body.name, inputs, nodes, outputs)
        made["invariants"] = first + len(extra)
        return made, [*extra]

    def _node(
        self,
        node: Node,
        owners: Owners,
        dims: Sequence[Dim],
        known: dict[Value, Value],
        extra: dict[Value, None],
    ) -> Node:
        operands = []
        for value in node.operands:
            number = self._integer(extra) if _is_integer(value) else None
            operands.append(known.get(value, value) if number is None else number)
        indices: list[Value] = []
        entries = iter(operands[1:])

        def entry(number: Any) -> Any:
            if type(number) is Dim:
                return self._size(number, owners, dims)
            found = self._integer(extra)
            if isinstance(found, Constant):
                return found.data
            indices.append(found)
            return f"{{{len(indices)}}}"

        def given(text: str) -> str:
            indices.append(next(entries))
            return f"{{{len(indices)}}}"

        params = replaced(node.params, entry, lambda n: self._size(n, owners, dims), given)
        if indices:
            used = sum(type(one) is str and one != "..." for one in node.params["index"])
            operands[1 : 1 + used] = indices
        if is_inner(node):
            params, more = self.params(params, owners, dims)
            operands[node.params["invariants"] : node.params["invariants"]] = more
            extra.update(dict.fromkeys(more))
        types = [self._type(value.type, owners, dims) for value in node.results]
        made = Node(node.op, tuple(operands), params, types, node.where, node.region, ())
        for old, new in zip(node.results, made.results, strict=True):
            new.label, new.derived = old.label, old.derived
            known[old] = new
        return made

    def _integer(self, extra: dict[Value, None]) -> Value:
        """The next number as a value."""
        place = next(self.place)
        first, stride = self.moving.first[place], self.moving.strides[place]
        if not stride:
            return self.graph.constant(first)
        found = self.counted(first, stride)
        extra[found] = None
        return found

    def _size(self, size: Any, owners: Owners, dims: Sequence[Dim]) -> Any:
        total: Any = self.moving.size(next(self.place), self.step)
        if type(size) is Dim:
            for dim in dims[: len(owners)]:
                total = total + self.moving.size(next(self.place), self.step) * dim
        return total

    def _type(self, type: ArrayType, owners: Owners, dims: Sequence[Dim]) -> ArrayType:
        shape = tuple([self._size(size, owners, dims) for size in type.shape])
        return ArrayType(shape, type.dtype, type.form)
