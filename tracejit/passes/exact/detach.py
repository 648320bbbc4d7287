"""Detach: a part of an array that is read after the array was updated is copied when it is taken,
so that the update can be in place.

A part is a view; where all that is read later are parts smaller than the array, copying these is
less than copying the array.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> graph = parse_graph('''graph f(x: f8[9]) -> out: f8[9], c: f8[2]
...   a    f8[9] = exp x
...   b    f8[2] = getitem a  index=(('slice', None, 2, None),)
...   out  f8[9] = set_item a 0  index=(3,)  unique=True
...   c    f8[2] = multiply b 2.0
... ''', OPS)
>>> print(print_graph(detach(graph)), end="")
graph f(x: f8[9]) -> out: f8[9], c: f8[2]
  a          f8[9] = exp x
  getitem_1  f8[2] = getitem a  index=(('slice', None, 2, None),)
  b          f8[2] = copy getitem_1  order='K'
  out        f8[9] = set_item a 0  index=(3,) unique=True
  c          f8[2] = multiply b 2.0
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ops.base.op import OPS
from tracejit.passes.framework.rebuild import rebuild


def detach(graph: Graph) -> Graph:
    """`graph` with copies of the parts that are read after the update of what they are part of."""
    return _detached(graph, _late_parts(graph, frozenset(graph.inputs)))


def detach_in_step(graph: Graph) -> Graph:
    """The body `graph` with such copies; it may own what it is handed, too."""
    return _detached(graph, _late_parts(graph, frozenset()))


def _detached(graph: Graph, chosen: set[Node]) -> Graph:
    if not chosen:
        return graph

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node not in chosen:
            return None
        types = [value.type for value in node.results]
        place = node.where, node.region, node.tapes, node.segment
        part = new.emit(node.op, operands, node.params, types, *place)
        return new.emit(OPS["copy"], part.results, {"order": "K"}, types, *place).results

    return rebuild(graph, rewrite)


def _late_parts(graph: Graph, foreign: Set[Value]) -> set[Node]:
    """The views to copy; what is `foreign` is never updated in place."""
    last = dict.fromkeys(graph.outputs, len(graph.nodes))
    views: dict[Value, list[Node]] = {}
    for number, node in enumerate(graph.nodes):
        for value in node.operands:
            last[value] = max(last.get(value, -1), number)
        if node.op.view_of is not None and node.results[0].type.form == "array":
            views.setdefault(node.operands[node.op.view_of], []).append(node)
    chosen: set[Node] = set()
    for now, node in enumerate(graph.nodes):
        base = node.operands[0] if node.operands else None
        if node.op.statements is None or not node.op.inplace or base is None:
            continue
        late = _read_after(now, base, views, last)
        if last[base] > now or base in foreign or isinstance(base, Constant):
            continue
        copied = sum(view.results[0].type.estimated_size for view in late)
        if copied < base.type.estimated_size:
            chosen.update(late)
    return chosen


def _read_after(
    now: int, base: Value, views: dict[Value, list[Node]], last: dict[Value, int]
) -> list[Node]:
    """The outermost views of `base`, made before node number `now`, that are read after it, or of
    which others are."""
    late: list[Node] = []
    for view in views.get(base, []):
        value = view.results[0]
        if last.get(value, -1) > now or _read_after(now, value, views, last):
            late.append(view)
    return late
