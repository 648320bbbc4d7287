'''Updates in place: steps of loops that add to a part of an array, or replace a part, in the array
that they get.

A step owns the carried arrays that it updates, so that an update touches no more than the part:

- a sum of an array and of parts placed in zeros is additions to these parts, whatever the order of
  the terms, and so is a difference;
- what is updated need not be a copy of the array, as an update leaves its operand as it is.

The last bits of sums may change, and the signs of zeros.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> graph = parse_graph("""graph step(x_bar: f8[9], g: f8, i: i8, j: i8) -> x_bar_4: f8[9]
...   x_bar_1  f8[9] = put_slice g i  shape=(9,) index=('{1}',)
...   x_bar_2  f8[9] = put_slice g j  shape=(9,) index=('{1}',)
...   x_bar_3  f8[9] = add x_bar_1 x_bar_2
...   x_bar_4  f8[9] = add x_bar x_bar_3
... """, OPS)
>>> print(print_graph(drop_dead(update_in_place(graph))), end="")
graph step(x_bar: f8[9], g: f8, i: i8, j: i8) -> x_bar_4: f8[9]
  x_bar_4_1  f8[9] = add_item x_bar j g  index=('{1}',) unique=True
  x_bar_4    f8[9] = add_item x_bar_4_1 i g  index=('{1}',) unique=True
'''

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.elementwise.arithmetic import add, subtract
from tracejit.ops.indexing.indexing import add_at, add_slice, put_at, put_slice
from tracejit.ops.indexing.updates import add_item, subtract_item
from tracejit.passes.framework.emission import emit, readers_of
from tracejit.passes.framework.rebuild import rebuild

IN_ZEROS = (put_slice, put_at, add_at)


def update_in_place(graph: Graph) -> Graph:
    """`graph`, the body of a loop, with updates of the arrays that it is handed."""
    readers = readers_of(graph)
    idle = _idle_copies(graph)
    sums = {node for node in graph.nodes if node.op is add or node.op is subtract}
    if not idle and not sums:
        return graph
    uses: Counter[Value] = Counter()

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value]:
        if node in idle:
            return operands[:1]
        total = _accumulated(new, node, operands, uses) if node in sums else None
        results = new.take(node, operands).results if total is None else (total,)
        for old, made in zip(node.results, results, strict=True):
            uses[made] += readers[old]
        return results

    return rebuild(graph, rewrite)


def _idle_copies(graph: Graph) -> set[Node]:
    """The copies of inputs that are updated: what is updated may be the input itself."""
    updated = {
        node.operands[0]
        for node in graph.nodes
        if node.op.update is not None and node.op.inplace and node.operands
    }
    return {
        value.node
        for value in updated.difference(graph.outputs)
        if value.node is not None
        and value.node.op.elements == "same"
        and value.node.op.view_of is None
        and value.node.operands[0].node is None
        and value.node.operands[0].type is value.type
    }


def _accumulated(
    graph: Graph, node: Node, operands: tuple[Value, ...], uses: Mapping[Value, int]
) -> Value | None:
    """A sum as additions to parts of one operand, a difference as subtractions; None if the
    other is not a sum of parts in zeros that nothing else reads."""
    first, second = operands
    pairs = [(first, second), (second, first)] if node.op is add else [(first, second)]
    update = add_item if node.op is add else subtract_item
    for total, parts in pairs if first.node is None else pairs[::-1]:
        if total.type is not node.results[0].type or parts.type is not total.type:
            continue
        terms = _terms(parts, uses)
        for term in terms:
            is_first = term.op in IN_ZEROS
            placed = term.operands[0 if is_first else -1]
            indices = term.operands[1:] if is_first else term.operands[1:-1]
            unique = term.op is not add_at and term.params.get("unique", True)
            params = {"index": term.params["index"], "unique": unique}
            total = emit(graph, node, update, (total, *indices, placed), **params)
        if terms:
            return total
    return None


def _terms(parts: Value, uses: Mapping[Value, int]) -> list[Node]:
    """The nodes that place parts in zeros and add others to them; none where there is anything
    else."""
    found: list[Node] = []
    while parts.node is not None and uses[parts] == 1:
        found.append(parts.node)
        if parts.node.op in IN_ZEROS:
            return found[::-1]
        if parts.node.op not in (add_item, add_slice):
            break
        parts = parts.node.operands[0]
    return []
