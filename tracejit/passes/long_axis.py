"""The long axis last: many short rows are computed with as the columns of a few long ones.

NumPy goes through an array row by row where one operand is spread over another: of a thousand rows
of three elements that takes ten times as long as of three rows of a thousand. So values of many
short rows that are computed from each other are computed turned, their last two axes swapped:
elementwise operations of turned operands, products as those of turned factors in reverse, sums
and extremes over the other axis. So are products that are read turned only, whatever their shape.
What comes from elsewhere is turned by a copy, unless a product reads it; what goes elsewhere is
turned back. A group of values is turned where that gains more than the copies take. What tiles go
through by its rows stays, and what is of free dimensions.

Sums over rows are added up in another order; nothing else changes.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> from tracejit.passes.dce import drop_dead
>>> graph = parse_graph('''graph f(x: f8[900,3], a: f8[5,1,3]) -> s: f8[5,900], t: f8[5,3,3]
...   c    f8[5,900,3] = subtract x a
...   e    f8[5,900,3] = multiply c a
...   s    f8[5,900]   = max e  axis=(2,)
...   d    f8[5,3,900] = transpose c  axes=(0, 2, 1)
...   t    f8[5,3,3]   = matmul d e
... ''', OPS)
>>> print(print_graph(drop_dead(put_long_axis_last(graph))), end="")
graph f(x: f8[900,3], a: f8[5,1,3]) -> s: f8[5,900], t: f8[5,3,3]
  c_1  f8[3,900]   = transpose x  axes=(1, 0)
  c_2  f8[3,900]   = ascontiguousarray c_1
  c_3  f8[5,3,1]   = transpose a  axes=(0, 2, 1)
  c    f8[5,3,900] = subtract c_2 c_3
  e    f8[5,3,900] = multiply c c_3
  s    f8[5,900]   = max e  axis=(1,)
  t_1  f8[5,900,3] = transpose e  axes=(0, 2, 1)
  t    f8[5,3,3]   = matmul c t_1
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType, Shape
from tracejit.passes.emission import emit, for_decisions, is_real, is_spread, made_by
from tracejit.passes.lower import FLOATING, is_tiled
from tracejit.passes.rebuild import rebuild

SHORT_ROW = 32
"""Longer rows are long enough."""
LONG_ROW = 16
"""So many rows at least are to become one, and LONGER times as many as they have elements."""
LONGER = 4
LEAST_ELEMENTS = 100
SPREAD = 6.5
"""What a row takes, in nanoseconds, where an operand is spread; as much as LONG_TURN does, turned.
"""
LONG_TURN = 30.0
COPIED, COPY = 0.9, 700.0
"""What an element takes to be copied into its place, and a copy besides."""
LEAST_GAIN = 1500.0
LEAST_SHARE = 0.02
"""What is to be gained of the time of the whole, and how long each operation takes at least."""
OPERATION = 0.02
REDUCTIONS = ("sum", "max", "min")
TURNED_PRODUCTS = {
    "matmul": "matmul",
    "dot_matrix": "dot_matrix",
    "matmul_vector": "vector_matmul",
    "vector_matmul": "matmul_vector",
    "dot_vector": "vector_dot",
    "vector_dot": "dot_vector",
}
"""What a product is of turned factors in reverse."""


def put_long_axis_last(graph: Graph) -> Graph:
    """`graph` with values of many short rows turned, where that gains something; not where the
    user has something computed again."""
    if any(node.region for node in graph.nodes):
        return graph
    if not any(is_tall(value.type) for node in graph.nodes for value in node.results):
        return graph
    groups = _Groups(graph)
    chosen = groups.chosen() | _only_read_turned(graph, groups.kept)
    return rebuild(graph, _Turning(groups, chosen).rewrite) if chosen else graph


def is_tall(type: ArrayType) -> bool:
    """Tell if an array is of many short rows, or of stacks of them."""
    if type.sizes is not None or type.ndim < 2 or type.form != "array":
        return False
    if type.dtype not in FLOATING and type.dtype.kind != "b":
        return False
    rows, length = type.shape[-2:]
    enough = max(LONG_ROW, LONGER * length)
    return 1 < length <= SHORT_ROW and rows >= enough and type.size >= LEAST_ELEMENTS


def _swapped(shape: Shape) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2])


def _axes(ndim: int) -> tuple[int, ...]:
    """The order of axes in which the last two are swapped."""
    return (*range(ndim - 2), ndim - 1, ndim - 2)


def is_turn(node: Node) -> bool:
    """Tell if a node swaps the last two axes."""
    if node.op.name != "transpose":
        return False
    axes: tuple[int, ...] = node.params["axes"]
    return axes == _axes(len(axes))


def _is_leading(node: Node) -> bool:
    """Tell if a reduction is one over axes before the last two."""
    axis: tuple[int, ...] = node.params["axis"]
    return max(axis) < node.operands[0].type.ndim - 2


def _is_product(node: Node) -> bool:
    return node.op.name in TURNED_PRODUCTS


def _is_matrix_product(node: Node) -> bool:
    """Tell if a node is a product of matrices, or of stacks of them."""
    ndims = {value.type.ndim for value in node.operands}
    if node.op.name == "dot_matrix":
        return ndims == {2}
    return node.op.name == "matmul" and min(ndims) > 1


def _only_read_turned(graph: Graph, kept: frozenset[Node]) -> set[Value]:
    """The products of matrices that nothing reads but to swap their last two axes."""
    read = set(graph.outputs)
    turned: set[Value] = set()
    for node in graph.nodes:
        (turned if is_turn(node) and node not in kept else read).update(node.operands)
    return {
        value
        for value in turned - read
        if value.node is not None and _is_matrix_product(value.node) and is_real(value)
    }


def _is_plain_reduction(node: Node) -> bool:
    if node.op.name not in REDUCTIONS or not node.params["axis"]:
        return False
    return node.params.keys() <= {"axis", "dtype", "keepdims"}


def _operations(node: Node) -> int:
    """How many operations a node is, as far as is known."""
    types = [value.type for value in node.operands]
    if any(type.sizes is not None for type in types):
        return 0
    return int(node.op.cost(*types, **node.params))


class _Groups:
    """The values that can be turned, in groups that are turned together or not at all; what each
    group gains, in nanoseconds, and the values it copies."""

    def __init__(self, graph: Graph) -> None:
        self.kept = for_decisions(graph)
        elementwise = [node for node in graph.nodes if node.op.batch == "elementwise"]
        self.tiled = {
            value.type.shape[0]
            for node in elementwise
            for value in node.results
            if is_tiled(value) and value.type.ndim == 2
        }
        self.work = OPERATION * sum(_operations(node) for node in graph.nodes)
        self.parents: dict[Value, Value] = {}
        self.gains: dict[Value, float] = {}
        self.copied: dict[Value, set[Value]] = defaultdict(set)
        self.copying: dict[Value, Value] = {}
        self.read_as_they_are: set[Value] = set(graph.outputs)
        for node in graph.nodes:
            if self._can_turn(node):
                self._turn(node)
            else:
                self._read(node)

    def chosen(self) -> set[Value]:
        """The values of the groups that gain enough."""
        gains: dict[Value, float] = defaultdict(float)
        copied: dict[Value, set[Value]] = defaultdict(set)
        for value in self.parents:
            group = self._group(value)
            gains[group] += self.gains[value]
            copied[group] |= self.copied[value]
            if value in self.read_as_they_are:
                copied[group].add(value)
        costs = {
            group: sum(COPY + COPIED * value.type.size for value in values)
            for group, values in copied.items()
        }
        least = LEAST_GAIN + LEAST_SHARE * self.work
        good = {group for group in gains if gains[group] > 1.25 * costs[group] + least}
        return {value for value in self.parents if self._group(value) in good}

    def reads_turned(self, node: Node, place: int) -> bool:
        """Tell if a node that is not turned itself can read a turned operand."""
        if node in self.kept:
            return False
        if is_turn(node) or _is_plain_reduction(node):
            return True
        if node.op.name not in TURNED_PRODUCTS:
            return False
        if node.op.name == "matmul" or all(value.type.ndim == 2 for value in node.operands):
            return True
        return node.operands[1 - place].type.ndim == 1

    def _can_turn(self, node: Node) -> bool:
        """Tell if the result of a node can be computed turned."""
        if len(node.results) != 1 or node in self.kept or not is_tall(node.results[0].type):
            return False
        type = node.results[0].type
        if type.ndim == 2 and type.shape[0] in self.tiled:
            return False
        if node.op.batch == "elementwise" or node.op.name == "broadcast_to":
            return True
        if _is_matrix_product(node):
            return True
        return _is_plain_reduction(node) and _is_leading(node) and node.operands[0] in self.parents

    def _turn(self, node: Node) -> None:
        """A value that can be turned: with those it is computed from."""
        value = node.results[0]
        self.parents[value] = value
        type, gain = value.type, 0.0
        rows, length = type.size // type.shape[-1], type.shape[-1]
        for operand in node.operands:
            if operand in self.parents:
                self.parents[self._group(operand)] = self._group(value)
            elif not _is_product(node) and operand.type.shape[-2:] == type.shape[-2:]:
                self.copied[value].add(operand)
                other = self.copying.setdefault(operand, value)
                self.parents[self._group(other)] = self._group(value)
        if node.op.batch == "elementwise" and any(is_spread(x, type.shape) for x in node.operands):
            gain = rows * max(SPREAD - 0.13 * length, 1.0) - LONG_TURN * type.size / type.shape[-2]
        elif node.op.name == "matmul" and node.operands[0].type.shape[-1] <= SHORT_ROW:
            made = node.operands[1].node
            gain = rows * (0.2 * length + (4.0 if made and is_turn(made) else 0.0))
        self.gains[value] = gain

    def _read(self, node: Node) -> None:
        """What else reads values that can be turned."""
        for place, operand in enumerate(node.operands):
            if operand not in self.parents:
                continue
            if not self.reads_turned(node, place):
                self.read_as_they_are.add(operand)
            elif node.op.name in REDUCTIONS and len(node.params["axis"]) == 1:
                is_short = node.params["axis"][0] == operand.type.ndim - 1
                gain = 0.1 if node.op.name == "sum" else 1.0 if is_short else 0.0
                self.gains[operand] += gain * operand.type.size

    def _group(self, value: Value) -> Value:
        while self.parents[value] is not value:
            self.parents[value] = self.parents[self.parents[value]]
            value = self.parents[value]
        return value


class _Turning:
    """One pass: the values `chosen` are made turned, and turned back where they are read as they
    are."""

    def __init__(self, groups: _Groups, chosen: Container[Value]) -> None:
        self.groups = groups
        self.chosen = chosen
        self.turned: dict[Value, Value] = {}

    def rewrite(
        self, new: Graph, node: Node, operands: tuple[Value, ...]
    ) -> Sequence[Value] | None:
        """The results of `node` computed with turned values."""
        if node.results and node.results[0] in self.chosen:
            old = node.results[0]
            value = self.turned[old] = self._made_turned(new, node, operands)
            assert value.type is ArrayType(_swapped(old.type.shape), old.type.dtype), node
            if old not in self.groups.read_as_they_are:
                return (value,)
            return (emit(new, node, "copy", (turn(new, node, value),), order="C"),)
        read = tuple(
            self.turned[old]
            if old in self.turned and self.groups.reads_turned(node, place)
            else None
            for place, old in enumerate(node.operands)
        )
        if not any(read):
            return None
        value = self._made(new, node, operands, read)
        assert value.type is node.results[0].type, node
        return (value,)

    def _made_turned(self, new: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
        """The result of `node`, turned."""
        pairs = list(zip(node.operands, operands, strict=True))
        if _is_product(node):
            turned = tuple(self.turned.get(old) or turn(new, node, x) for old, x in pairs)
            return emit(new, node, node.op.name, turned[::-1])
        type = node.results[0].type
        turned = tuple(self.turned.get(old) or _operand(new, node, x, type) for old, x in pairs)
        params = dict(node.params)
        if node.op.name == "broadcast_to":
            params["shape"] = _swapped(params["shape"])
        return emit(new, node, node.op.name, turned, **params)

    def _made(
        self, new: Graph, node: Node, operands: tuple[Value, ...], read: tuple[Value | None, ...]
    ) -> Value:
        """The result of `node`, computed from `read`: turned operands, where there is one."""
        if is_turn(node):
            return self.turned[node.operands[0]]
        if node.op.name in REDUCTIONS:
            return self._reduced(new, node, self.turned[node.operands[0]])
        pairs = list(zip(operands, read, strict=True))
        if all(value.type.ndim > 1 for value in operands):
            views = [turn(new, node, turned) if turned else value for value, turned in pairs]
            return emit(new, node, node.op.name, tuple(views))
        factors = [turned or value for value, turned in reversed(pairs)]
        return emit(new, node, TURNED_PRODUCTS[node.op.name], tuple(factors))

    def _reduced(self, new: Graph, node: Node, x: Value) -> Value:
        """A reduction over the axes where they are now."""
        order = _axes(x.type.ndim)
        axis: tuple[int, ...] = node.params["axis"]
        params = {name: value for name, value in node.params.items() if name != "keepdims"}
        params["axis"] = tuple(sorted(order[k] for k in axis))
        value = emit(new, node, node.op.name, (x,), **params)
        if _is_leading(node):
            value = emit(new, node, "copy", (turn(new, node, value),), order="C")
        if node.params.get("keepdims"):
            value = emit(new, node, "expand_dims", (value,), axis=axis)
        return value


def turned_value(value: Value) -> Value:
    """What `value` is of which the last two axes are swapped; itself where it is no such view."""
    made = value.node
    return made.operands[0] if made is not None and is_turn(made) else value


def turn(graph: Graph, like: Node, value: Value) -> Value:
    """`value` with the last two axes swapped, as a view."""
    known = turned_value(value)
    if known is not value:
        return known
    return emit(graph, like, "transpose", (value,), axes=_axes(value.type.ndim))


def _operand(graph: Graph, like: Node, value: Value, over: ArrayType) -> Value:
    """An operand of a turned operation: one that is not spread as a copy."""
    ndim = value.type.ndim
    if value.type.size == 1 or not ndim:
        return value
    if ndim == 1:
        return emit(graph, like, "expand_dims", (value,), axis=(1,))
    made = made_by(value, "expand_dims")
    if made is not None and made.params["axis"] in ((ndim - 2,), (ndim - 1,)):
        axis = (2 * ndim - 3 - made.params["axis"][0],)
        return emit(graph, like, "expand_dims", made.operands, axis=axis)
    if (made := made_by(value, "negative")) is not None:
        return emit(graph, like, "negative", (_operand(graph, like, made.operands[0], over),))
    turned = turn(graph, like, value)
    if value.type.shape[-2:] != over.shape[-2:]:
        return turned
    return emit(graph, like, "ascontiguousarray", (turned,))
