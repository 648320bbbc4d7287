"""Buffer ownership: statements that run in place, and results that must be copied.

A body owns what it allocates: never its inputs (arguments, residuals, cotangents), never
constants. Values that may share memory (`Op.view_of`) form one storage; a storage may be
overwritten only when everything in it is dead, and only as a whole, in whatever shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejit.ir.graph import Constant, Node, Value
from tracejit.ops.elementwise.complex import sign
from tracejit.support.cost_model import costs

APART = sign
"""Operations that take NumPy eight times as long in place: compilers make branches of the loop."""


class Storages:
    """The storage of every value: a representative value, and whether this body allocated it."""

    def __init__(self, inputs: Sequence[Value], nodes: Sequence[Node]) -> None:
        """Storages of the values of one body."""
        self._root: dict[Value, Value] = {}
        self._foreign = set(inputs)
        for node in nodes:
            if node.op.view_of is not None and node.results[0].type.form == "array":
                root = self.root(node.operands[node.op.view_of])
                self._root.update(dict.fromkeys(node.results, root))

    def root(self, value: Value) -> Value:
        """The value whose allocation holds `value`."""
        while value in self._root:
            value = self._root[value]
        return value

    def take_over(self, value: Value, operand: Value) -> None:
        """`value` now lives in the storage of `operand`."""
        self._root[value] = self.root(operand)

    def is_ours(self, value: Value) -> bool:
        """Return whether the body allocated the memory of `value`."""
        root = self.root(value)
        return root not in self._foreign and not isinstance(root, Constant)


def overwritten_operands(
    inputs: Sequence[Value],
    nodes: Sequence[Node],
    statements: Sequence[Node],
    inlined: set[Node],
    last_use: dict[Value, int],
) -> dict[Node, Value]:
    """For each statement that writes in place, the operand whose buffer it writes to."""
    candidates = [pair for pair in enumerate(statements) if may_overwrite(pair[1])]
    if not candidates:
        return {}
    storages = Storages(inputs, nodes)
    dies: dict[Value, int] = {}
    for value, last in last_use.items():
        root = storages.root(value)
        dies[root] = max(dies.get(root, -1), last)
    overwrites: dict[Node, Value] = {}
    for number, node in candidates:
        result = node.results[0]
        updates = node.op.statements is not None
        for operand in node.operands[: 1 if updates else None]:
            root = storages.root(operand)
            if operand.type is not result.type or not storages.is_ours(operand):
                continue
            if operand.node in inlined:
                continue
            if dies.get(root) != number:
                continue
            if not is_whole(operand, root, overwrites):
                continue
            overwrites[node] = operand
            dies[root] = dies.get(result, -1)
            storages.take_over(result, operand)
            break
    return overwrites


def is_whole(value: Value, root: Value, overwrites: Mapping[Node, Value]) -> bool:
    """Return whether `value` covers all of the memory of `root`, in whatever shape."""
    while value is not root and value.node not in overwrites:
        assert value.node is not None
        if value.node.op.elements != "reshaped":
            return False
        value = value.node.operands[0]
    return True


def may_overwrite(node: Node) -> bool:
    """Return whether a statement should reuse a buffer: not for small arrays."""
    if not node.op.inplace or len(node.results) != 1 or node.op is APART:
        return False
    type = node.results[0].type
    is_large = type.form == "array" and type.estimated_size >= costs().inline_elements
    return is_large or (type.form == "array" and node.op.statements is not None)


def shared_results(storages: Storages, results: Sequence[Value], kept: Sequence[Value]) -> set[int]:
    """The positions of results that must be copied to be fresh, distinct, writeable arrays;
    `storages` without what statements take over."""
    taken = {storages.root(value) for value in kept}
    copies: set[int] = set()
    for position, value in enumerate(results):
        if value.type.form != "array":
            continue
        root = storages.root(value)
        if not storages.is_ours(value) or root in taken or _is_strided_view(value):
            copies.add(position)
        else:
            taken.add(root)
    return copies


def _is_strided_view(value: Value) -> bool:
    """Return whether `value` shows only a part of its storage, or in another order."""
    while value.node is not None and value.node.op.view_of is not None:
        if value.node.op.elements != "reshaped":
            return True
        value = value.node.operands[value.node.op.view_of]
    return False
