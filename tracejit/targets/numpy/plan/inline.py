"""Inlining: write a node inside the expression that uses it.

A value is inlined when exactly one statement uses it, once, and it is small or only a view: below
inline_elements an expression costs the same as statements in place, and reads better. A larger one
is inlined in the statement that follows, where no buffer is updated in place in between. Four kinds
keep a line of their own: values that the user named, values read from an array that is updated
before the statement, arrays that are updated, and arrays that are updated in another shape. So do
operands that a statement of several lines reads in a loop, or twice. Views of a named value may be
repeated: `w.T` twice is two cheap views. So may the zeros that loops begin with: each has its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tracejit.ir.graph import Constant, Node, Value
from tracejit.ops.base.creation import full
from tracejit.ops.control.branches import LEAVE
from tracejit.ops.control.control_flow import is_loop
from tracejit.ops.elementwise.weak import SIZE
from tracejit.ops.shapes.shapes import transpose
from tracejit.support.cost_model import costs
from tracejit.targets.numpy.plan.liveness import read_values


def inlined_nodes(nodes: Sequence[Node], results: Sequence[Value]) -> set[Node]:
    """The nodes among `nodes` that are not statements, whatever is updated in place."""
    uses = Counter([value for node in nodes for value in node.operands])
    user = {value: node for node in nodes for value in node.operands}
    by_loops = Counter(v for node in nodes if is_loop(node) for v in node.operands)
    returned = set(results)
    places = {node: number for number, node in enumerate(nodes)}
    updates: dict[Value, list[int]] = {}
    for node in nodes:
        if node.op.statements is not None and node.op.inplace:
            updates.setdefault(node.operands[0], []).append(places[node])
    inlined: set[Node] = set()
    for node in nodes:
        value = node.results[0]
        if node.op is SIZE:
            inlined.add(node)
            continue
        if not _may_be_inlined(node) or value in returned:
            continue
        if value in updates and (node.op.elements == "reshaped" or _is_updated(node, user[value])):
            continue
        if (
            updates
            and uses[value] == 1
            and _misses_update(node, user[value], inlined, places, updates)
        ):
            continue
        if node.op is full and by_loops[value] == uses[value]:
            is_chosen = True
        elif _is_view_of_name(node, inlined):
            is_chosen = uses[value] <= costs().view_uses
        else:
            is_chosen = uses[value] == 1 and (
                node.op.view_of is not None or _is_small(node) or _ends_line(node, user[value])
            )
        is_chosen = is_chosen and _operations(node, inlined) <= costs().expression_operations
        if is_chosen and (node.op.view_of is not None or _is_read_once(value, user.get(value))):
            inlined.add(node)
    return inlined


def _is_read_once(value: Value, user: Node | None) -> bool:
    """Return whether the statement of `user`, if it has one, reads `value` in one place, and in no
    loop."""
    if user is None or user.op.statements is None:
        return True
    lines = user.op.statement_lines([one.type for one in user.operands], user.params)
    place = f"{{{user.operands.index(value)}}}"
    reading = [line for line in lines if place in line]
    return sum(line.count(place) for line in lines) < 2 and not any(
        line.startswith(" ") for line in reading
    )


def _is_updated(node: Node, user: Node) -> bool:
    """Return whether `node` makes an array of its own that `user` may update in place."""
    return node.op.view_of is None and user.operands[0] is node.results[0]


def inlined_in_the_next(
    statements: Sequence[Node],
    inlined: set[Node],
    last_use: Mapping[Value, int],
    overwrites: Mapping[Node, Value],
) -> set[Node]:
    """`inlined` and the statements that may be written inside the one after them: it alone reads
    their result, once, and neither is better off with a buffer that it updates in place."""
    buffers = set(overwrites.values())
    inlined = set(inlined)
    for number, (node, following) in enumerate(pairwise(statements)):
        value = node.results[0]
        if not _may_be_inlined(node) or last_use.get(value) != number + 1:
            continue
        if node in overwrites or value in buffers or following.op.statements is not None:
            continue
        if following.op is LEAVE:
            continue
        operations = _operations(node, inlined) + _operations(following, inlined)
        reads = list(read_values(following, inlined))
        if operations <= costs().expression_operations and reads.count(value) == 1:
            inlined.add(node)
    return inlined


def _misses_update(
    node: Node,
    user: Node,
    inlined: set[Node],
    places: Mapping[Node, int],
    updates: Mapping[Value, Sequence[int]],
) -> bool:
    """Return whether an operand of `node` is updated before `user`, so that the update could not be
    in place if `node` were written there."""
    if node.results[0].type.form == "array" and node.op.view_of is not None:
        return False
    here, there = places[node], places[user]
    return any(
        here < place < there
        for value in read_values(node, inlined)
        for place in updates.get(value, ())
    )


def _may_be_inlined(node: Node) -> bool:
    single = len(node.results) == 1 and not node.op.effect and node.op.statements is None
    return single and not node.results[0].is_named


def _operations(node: Node, inlined: set[Node]) -> int:
    """The number of operations in the expression of `node`."""
    makers = [value.node for value in node.operands]
    return 1 + sum([_operations(one, inlined) for one in makers if one in inlined])


def _is_view_of_name(node: Node, inlined: set[Node]) -> bool:
    return node.op is transpose and node.operands[0].node not in inlined


def _ends_line(node: Node, user: Node) -> bool:
    """Return whether a reduction to a small result is used in the same statement of the user's."""
    is_small = node.results[0].type.estimated_size < costs().inline_elements
    return is_small and node.where == user.where


def _is_small(node: Node) -> bool:
    """Return whether `node` neither makes nor reads an array of inline_elements or more."""
    arrays = [v for v in (*node.operands, *node.results) if not isinstance(v, Constant)]
    return max([value.type.estimated_size for value in arrays], default=0) < costs().inline_elements
