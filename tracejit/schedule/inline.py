"""Which nodes are written inside the expression that uses them.

A value is inlined when exactly one statement uses it, once, and it is small or only a view: below
INLINE_BELOW elements an expression costs what statements in place cost (within 5 %, measured at
24 and 256 elements), and reads better. What the user named keeps its line. Views of a named value
may be repeated: `w.T` twice is two cheap views.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tracejit.ir.graph import Constant, Node, Value

INLINE_BELOW = 256
EXPRESSION_OPS = 4
VIEW_USES = 3


def inlined_nodes(nodes: Sequence[Node], results: Sequence[Value]) -> set[Node]:
    """The nodes among `nodes` that are no statements."""
    uses = Counter(value for node in nodes for value in node.operands)
    user = {value: node for node in nodes for value in node.operands}
    returned = set(results)
    inlined: set[Node] = set()
    weight: dict[Node, int] = {}
    for node in nodes:
        weight[node] = 1 + sum(
            weight[value.node]
            for value in node.operands
            if value.node is not None and value.node in inlined
        )
        if node.op.effect or len(node.results) != 1 or node.op.statements is not None:
            continue
        value = node.results[0]
        if value in returned or value.is_named or weight[node] > EXPRESSION_OPS:
            continue
        if _is_view_of_name(node, inlined):
            if uses[value] <= VIEW_USES:
                inlined.add(node)
        elif uses[value] == 1 and (
            node.op.alias is not None or _is_small(node) or _ends_line(node, user[value])
        ):
            inlined.add(node)
    return inlined


def _is_view_of_name(node: Node, inlined: set[Node]) -> bool:
    return node.op.name == "transpose" and node.operands[0].node not in inlined


def _ends_line(node: Node, user: Node) -> bool:
    """Whether a reduction to a small result is used in the same statement of the user's."""
    return node.results[0].type.size < INLINE_BELOW and node.where == user.where


def _is_small(node: Node) -> bool:
    """Whether no array of INLINE_BELOW elements or more is made or read."""
    return all(
        isinstance(value, Constant) or value.type.size < INLINE_BELOW
        for value in (*node.operands, *node.results)
    )
