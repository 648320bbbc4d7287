"""Addends: sums and differences as what is added and subtracted, and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tracejit.ir.graph import Graph, Node, Value
from tracejit.passes.emission import emit, is_real, made_by

SUMS = ("add", "subtract")
Signed = tuple[float, Value]
IsInner = Callable[[Value], bool]


def addends_of(last: Node, operands: tuple[Value, ...], is_inner: IsInner) -> list[Signed]:
    """What the sum of which `last` is the last step adds and subtracts, in order, each with its
    sign; sums that are inner are taken apart."""
    addends: list[Signed] = []
    pending = _signed(last, operands, 1.0)[::-1]
    while pending:
        sign, value = pending.pop()
        made = made_by(value, *SUMS)
        if made is not None and is_inner(value):
            pending += _signed(made, made.operands, sign)[::-1]
        else:
            addends.append((sign, value))
    return addends


def added_up(new: Graph, node: Node, addends: Sequence[Signed]) -> Value:
    """The addends added up in order, from the first that is not subtracted on."""
    first = max(addends, key=lambda addend: addend[0])
    total = first[1] if first[0] > 0 else emit(new, node, "negative", (first[1],))
    for addend in addends:
        if addend is not first:
            step = "add" if addend[0] > 0 else "subtract"
            total = emit(new, node, step, (total, addend[1]))
    return total


def inner_sums(sums: Iterable[Node], is_inner: Callable[[Value, Node], bool]) -> set[Value]:
    """The sums that are steps on the way to others."""
    return {
        value
        for node in sums
        for value in node.operands
        if made_by(value, *SUMS) and is_inner(value, node)
    }


def is_step(value: Value, reader: Node) -> bool:
    """Tell if a value without a name is computed beside its reader."""
    return not value.label and is_beside(value, reader)


def is_beside(value: Value, reader: Node) -> bool:
    """Tell if a value is computed in the same part of the function as its reader."""
    node = value.node
    return (
        node is not None
        and node.segment == reader.segment
        and node.region == reader.region
        and node.tapes == reader.tapes
        and is_real(value)
    )


def _signed(node: Node, operands: tuple[Value, ...], sign: float) -> list[Signed]:
    """The operands of a sum or difference that has a sign, each with its own."""
    other = sign if node.op.name == "add" else -sign
    return list(zip((sign, other), operands, strict=True))
