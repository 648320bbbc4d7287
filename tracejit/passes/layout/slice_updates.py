'''In-place slice updates: an array put together of its own edges and a new inside is the array with
that part replaced, and so is the sum of the edges of a cotangent in zeros and of what falls inside.

Replacing writes into the array itself where nothing reads the old one any more, so that the edges
of a state need not move from step to step. What was the inside before and something more is added
or subtracted there. Only the sign of a zero may change besides the last bits of sums, whose terms
come in another order.

An element or a row that is added to zeros is written there, `x_bar[1] = b` for `x_bar[1] += b`: a
third of the time, and what a person writes. So are slices, if none of an array meets another.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> graph = parse_graph("""graph f(x: f8[9], c: f8[7]) -> z: f8[9]
...   u    f8[9] = exp x
...   a    f8[1] = getitem u  index=(('slice', None, 1, None),)
...   b    f8[7] = getitem u  index=(('slice', 1, -1, None),)
...   b_1  f8[7] = add b c
...   d    f8[1] = getitem u  index=(('slice', -1, None, None),)
...   z    f8[9] = concatenate a b_1 d  axis=0
... """, OPS)
>>> print(print_graph(drop_dead(update_slices(graph))), end="")
graph f(x: f8[9], c: f8[7]) -> z: f8[9]
  u  f8[9] = exp x
  z  f8[9] = add_item u c  index=(('slice', 1, 8, None),) unique=True
'''

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.framework.emission import emit, is_real, made_by, readers_of
from tracejit.passes.framework.rebuild import rebuild
from tracejit.passes.layout.slices import Area, Part, area_of, has_area, index_of, parents
from tracejit.support.cost_model import costs


class SliceUpdate(NamedTuple):
    """`base`, but that a part is `inside`, None if it is zero, and that `others` are added."""

    base: Value
    area: Area
    inside: Value | None
    others: Sequence[Part]


def update_slices(graph: Graph) -> Graph:
    """`graph` with arrays that differ from another in their inside alone as updates of it, and with
    what is written into zeros written there."""
    updates = _Search(graph).updates()
    if not updates:
        return stack_numbers(write_into_zeros(graph))
    changes = {node: _change(update) for node, update in updates.items()}
    known: dict[Value, Value] = {}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        known.update(zip(node.operands, operands, strict=True))
        if node not in updates:
            return None
        return (_updated(new, node, updates[node], changes[node], known),)

    return stack_numbers(write_into_zeros(rebuild(graph, rewrite)))


def write_into_zeros(graph: Graph) -> Graph:
    '''`graph` with elements and rows written where they would be added to zeros.

    >>> from tracejit.ir.printer import parse_graph, print_graph
    >>> from tracejit.ops.base.op import OPS
    >>> graph = parse_graph("""graph f(a: f8[], b: f8[]) -> z: f8[3]
    ...   z_1  f8[3] = put_slice a  shape=(3,) index=(1,)
    ...   z    f8[3] = add_slice z_1 b  index=(0,)
    ... """, OPS)
    >>> print(print_graph(write_into_zeros(graph)), end="")
    graph f(a: f8[], b: f8[]) -> z: f8[3]
      z_1  f8[3] = put_slice a  shape=(3,) index=(1,)
      z    f8[3] = set_item z_1 b  index=(0,) unique=True
    '''
    written: dict[Value, list[Area]] = {}
    zeros: dict[Value, Value] = {}
    changes: dict[Node, bool] = {}
    overlapping: set[Value] = set()
    for node in graph.nodes:
        is_put = node.op.name == "put_slice"
        if not (is_put or node.op.name in ("add_slice", "set_item")):
            continue
        if len(node.operands) != 2 - is_put:  # the index is computed
            continue
        whole = node.results[0]
        start = zeros[whole] = whole if is_put else zeros.get(node.operands[0], whole)
        reach = _reach_of(node.params["index"], whole.type.shape)
        before = [] if is_put else written.get(node.operands[0])
        if reach is None or before is None:
            overlapping.add(start)
            continue
        if len(before) < costs().most_joined_parts:
            written[whole] = [*before, reach]
        is_of_row = any(type(entry) is int for entry in node.params["index"])
        if not all(map(_is_apart, before, [reach] * len(before))):
            overlapping.add(start)
        elif node.op.name == "add_slice" and is_real(whole):
            if node.operands[1].type.dtype == whole.type.dtype:
                changes[node] = is_of_row
    chosen = {
        node
        for node, is_row in changes.items()
        if is_row or zeros[node.results[0]] not in overlapping
    }
    if not chosen:
        return graph

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node not in chosen:
            return None
        index = node.params["index"]
        return (emit(new, node, "set_item", operands, index=index, unique=True),)

    return rebuild(graph, rewrite)


def stack_numbers(graph: Graph) -> Graph:
    '''`graph` with few numbers that are written into zeros one by one as an array of them.

    >>> from tracejit.ir.printer import parse_graph, print_graph
    >>> from tracejit.ops.base.op import OPS
    >>> from tracejit.passes.framework.dce import drop_dead
    >>> from tracejit.support.cost_model import assuming
    >>> graph = parse_graph("""graph f(a: f8, b: f8) -> z: f8[2]
    ...   z_1  f8[2] = put_slice a  shape=(2,) index=(1,)
    ...   z    f8[2] = set_item z_1 b  index=(0,) unique=True
    ... """, OPS)
    >>> with assuming(most_stacked_numbers=2):
    ...     print(print_graph(drop_dead(stack_numbers(graph))), end="")
    graph f(a: f8, b: f8) -> z: f8[2]
      z  f8[2] = stack b a  axis=0
    '''
    if not costs().most_stacked_numbers:
        return graph
    uses = readers_of(graph)
    found = {node: numbers for node in graph.nodes if (numbers := _numbers_in(node, uses))}
    if not found:
        return graph
    known: dict[Value, Value] = {}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        known.update(zip(node.operands, operands, strict=True))
        if node not in found:
            return None
        return (emit(new, node, "stack", tuple(known[one] for one in found[node]), axis=0),)

    return rebuild(graph, rewrite)


def _numbers_in(node: Node, uses: Mapping[Value, int]) -> list[Value]:
    """The numbers that an array is written from, where `node` writes the last of them."""
    whole, numbers = node.results[0], dict[Any, Value]()
    made: Node | None = node
    while made is not None and made.op.name in ("set_item", "put_slice"):
        *before, number = made.operands
        index = made.params["index"]
        is_number = number.type.form == "scalar" and number.type.dtype == whole.type.dtype
        if len(before) > 1 or len(index) != 1 or type(index[0]) is not int or not is_number:
            return []
        if index[0] in numbers:
            return []
        numbers[index[0]] = number
        if not before:
            break
        if uses[before[0]] != 1 or made.segment != node.segment or made.region != node.region:
            return []
        made = before[0].node
    size = len(numbers)
    is_all = whole.type.shape == (size,) and numbers.keys() == set(range(size))
    if made is None or made.op.name != "put_slice" or not is_all:
        return []
    return [numbers[k] for k in range(size)] if 1 < size <= costs().most_stacked_numbers else []


def _reach_of(index: Sequence[Any], shape: Sequence[Any]) -> Area | None:
    """The area that elements, rows or slices are in; None for another index, and for one whose
    numbers differ from step to step of a loop."""
    entries = [("slice", one, one + 1, None) if type(one) is int else one for one in index]
    bounds = [one for entry in entries if type(entry) is tuple for one in entry[1:]]
    if not all(one is None or (type(one) is int and one >= 0) for one in bounds):
        return None
    return area_of(entries, shape)


def _is_apart(one: Area, other: Area) -> bool:
    """Return whether two areas have no element in common."""
    pairs = zip(one, other, strict=True)
    return any(last <= begin or end <= first for (first, last), (begin, end) in pairs)


def _updated(
    graph: Graph,
    node: Node,
    update: SliceUpdate,
    change: tuple[str, Value] | None,
    known: dict[Value, Value],
) -> Value:
    """The value that an update is, where `known` are the values of the new graph and `change` is
    what the part that was there before is changed by."""
    base, inside = known[update.base], update.inside
    index = index_of(update.area, base.type.shape)
    name = "set_item"
    value = graph.constant(base.type.dtype.type(0)) if inside is None else known[inside]
    if change is not None:
        name, value = change[0], known[change[1]]
    whole = emit(graph, node, name, (base, value), index=index, unique=True)
    for other, area in update.others:
        index = index_of(area, base.type.shape)
        whole = emit(graph, node, "add_slice", (whole, known[other]), index=index)
    return whole


def _change(update: SliceUpdate) -> tuple[str, Value] | None:
    """The value that the inside adds to or subtracts from the old part."""
    inside = update.inside
    made = None if inside is None else made_by(inside, "add", "subtract")
    if inside is None or made is None:
        return None
    name = f"{made.op.name}_item"
    for before, value in (made.operands, made.operands[::-1])[: 1 + (made.op.name == "add")]:
        if value.type is inside.type and Part(update.base, update.area) in parents(before):
            return name, value
    return None


class _Search:
    """The updates of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = graph.nodes
        self.uses = readers_of(graph)
        self.last = {value: k for k, node in enumerate(graph.nodes) for value in node.operands}
        self.last.update(dict.fromkeys(graph.outputs, len(graph.nodes)))

    def updates(self) -> dict[Node, SliceUpdate]:
        """The nodes that make an array which is another but for its inside, each with that."""
        found: dict[Node, SliceUpdate] = {}
        inner: set[Node] = set()
        for number in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[number]
            if node in inner or node.region:
                continue
            update = None
            if node.op.name == "concatenate" and is_real(node.results[0]):
                update = self._joined(node, number)
            elif node.op.name == "add_slice" and is_real(node.results[0]):
                update = self._added(node, inner)
            if update is not None:
                found[node] = update
        return found

    def _joined(self, node: Node, number: int) -> SliceUpdate | None:
        """The slice update that a concatenation is; None if it is none."""
        parts = list(self._pieces(node, node, tuple(0 for _ in node.results[0].type.shape)))
        if not 1 < len(parts) <= costs().most_joined_parts or not all(
            has_area(part) for part in parts
        ):
            return None
        base, own = _owner(parts, node.results[0])
        others = [part for part in parts if part not in own]
        if base is None or len(others) != 1 or others[0].value.type.dtype != base.type.dtype:
            return None
        is_nested = len(parts) > len(node.operands)
        if self.last[base] >= number or (base.node is None and not is_nested):
            return None
        return SliceUpdate(base, others[0].area, others[0].value, ())

    def _pieces(self, node: Node, end: Node, start: tuple[int, ...]) -> Iterator[Part]:
        """The values that are joined, also by the joins that `node` alone reads."""
        axis = node.params["axis"]
        offset = list(start)
        for value in node.operands:
            shape = value.type.shape
            made = made_by(value, "concatenate")
            if made is not None and self._is_inner(value, end):
                yield from self._pieces(made, end, tuple(offset))
            else:
                area = tuple((first, first + n) for first, n in zip(offset, shape, strict=True))
                yield Part(value, area)
            offset[axis] += shape[axis]

    def _added(self, node: Node, inner: set[Node]) -> SliceUpdate | None:
        """The slice update that is added up in zeros, of which the edges are those of another
        array; `inner` has the nodes that are part of a longer sum."""
        parts = []
        chain = node
        while chain.op.name == "add_slice":
            inner.add(chain)
            whole, value = chain.operands
            parts.append((value, chain.params["index"]))
            made = made_by(whole, "add_slice", "put_slice")
            if made is None or not self._is_inner(whole, node):
                return None
            chain = made
        if len(chain.operands) != 1 or len(parts) > costs().most_joined_parts - 1:
            return None
        parts.append((chain.operands[0], chain.params["index"]))
        whole = node.results[0]
        placed = []
        for value, index in reversed(parts):
            area = area_of(index, whole.type.shape)
            if area is None or not has_area(Part(value, area)):
                return None
            placed.append(Part(value, area))
        base, own = _owner(placed, whole)
        area = None if base is None else _uncovered([part.area for part in own], whole.type.shape)
        if base is None or area is None:
            return None
        rest = [part for part in placed if part not in own]
        inside = next((part for part in rest if part.area == area), None)
        others = [part for part in rest if part is not inside]
        return SliceUpdate(base, area, None if inside is None else inside.value, others)

    def _is_inner(self, value: Value, reader: Node) -> bool:
        """Return whether nothing but `reader`, in the same part of the function, needs `value`."""
        node = value.node
        if node is None or self.uses[value] > 1:
            return False
        place = node.region, node.segment, node.tapes
        return place == (reader.region, reader.segment, reader.tapes)


def _owner(parts: Sequence[Part], whole: Value) -> tuple[Value | None, list[Part]]:
    """The array like `whole` of which most parts are the very parts, and these."""
    owners: dict[Value, list[Part]] = {}
    for part in parts:
        for value, area in parents(part.value):
            if value.type is whole.type and area == part.area:
                owners.setdefault(value, []).append(part)
    base = max(owners, key=lambda value: len(owners[value]), default=None)
    return base, [] if base is None else owners[base]


def _uncovered(areas: Sequence[Area], shape: Sequence[int]) -> Area | None:
    """The part of an array that areas which do not overlap leave, if it is one area."""
    bounds = [
        sorted({0, n, *(bound for area in areas for bound in area[axis])})
        for axis, n in enumerate(shape)
    ]
    covered = np.zeros([len(one) - 1 for one in bounds], int)
    for area in areas:
        covered[
            tuple(
                slice(one.index(first), one.index(last))
                for (first, last), one in zip(area, bounds, strict=True)
            )
        ] += 1
    free = np.argwhere(covered == 0)
    if covered.max() > 1 or not free.size:
        return None
    first, last = free.min(axis=0), free.max(axis=0) + 1
    if np.prod(last - first) != len(free):
        return None
    return tuple((one[a], one[b]) for one, a, b in zip(bounds, first, last, strict=True))
