"""Values in the body of a loop that are known at each step before the loop runs.

Rows: `row_index` finds that an index goes through an array in equal steps, one element of one axis
in each step of the loop. What a loop reads there for all steps is a slice, and so is what it
writes: `x[t + 1]` of all steps is `x[1:n + 1]`.

Numbers: `known_numbers` are Python's numbers that follow from the number of the step, and from
numbers that are carried and begin with a known one.

Carried values: what a step hands on may depend on no other step. It is what the next step begins
with, so that the values of all steps are those shifted by a step. Or it is the value that the step
began with and terms that are known: the values of all steps are cumulative sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ops.control.control_flow import ControlFlow
from tracejit.ops.elementwise.arithmetic import add, subtract
from tracejit.ops.indexing.indexing import getitem, put_slice
from tracejit.ops.indexing.updates import set_item
from tracejit.support.cost_model import costs


class RowIndex(NamedTuple):
    """The index of all steps, as params and as operands. The steps stand along the axis `axis` of
    what it selects; one of them selects `ndim` axes."""

    entries: tuple[Any, ...]
    operands: tuple[Value, ...]
    axis: int
    ndim: int


def row_index(
    node: Node, tables: Mapping[Value, Sequence[Any]], is_same: Callable[[Value], bool]
) -> RowIndex | None:
    """The index of a node of a loop's body for all steps: `tables` say which numbers are known at
    each, and `is_same` which values do not differ. None if it is not a slice."""
    operands = _index_operands(node)
    moving = [k for k, value in enumerate(operands) if value in tables]
    if len(moving) != 1 or not all(is_same(v) for v in operands if v not in tables):
        return None
    if any(value.type.shape for value in operands):
        return None
    place, axis = -1, 0
    entries: list[Any] = []
    rest: list[Value] = []
    for number, entry in enumerate(node.params["index"]):
        if entry is None or entry == "...":
            return None
        if isinstance(entry, str) and (which := int(entry[1:-1]) - 1) in moving:
            place, axis = number, sum(type(one) is tuple for one in entries)
        elif isinstance(entry, str):
            rest.append(operands[which])
            entry = f"{{{len(rest)}}}"
        entries.append(entry)
    shape = _shape(node)
    steps = _slice_of(tables[operands[moving[0]]], shape[place])
    if steps is None:
        return None
    ndim = len(shape) - sum(type(entry) is not tuple for entry in entries)
    entries[place] = steps
    return RowIndex(tuple(entries), tuple(rest), axis, ndim)


def _index_operands(node: Node) -> tuple[Value, ...]:
    """The operands of an index that are part of it."""
    if node.op not in (getitem, put_slice, set_item):
        return ()
    return node.operands[1:-1] if node.op is set_item else node.operands[1:]


def _shape(node: Node) -> tuple[int, ...]:
    """The shape of the array that is indexed."""
    shape: tuple[int, ...]
    shape = node.params["shape"] if node.op is put_slice else node.operands[0].type.shape
    return shape


def _slice_of(numbers: Sequence[Any], size: int) -> tuple[str, int, int | None, int | None] | None:
    """The slice that takes these elements of an axis."""
    first, last = numbers[0], numbers[-1]
    step = numbers[1] - first if len(numbers) > 1 else 1
    if min(first, last) < 0 or max(first, last) >= size or not step:
        return None
    if any(number != first + k * step for k, number in enumerate(numbers)):
        return None
    stop = last + (1 if step > 0 else -1)
    return "slice", first, None if stop < 0 else stop, None if step == 1 else step


def known_numbers(
    body: Graph, node: Node, carried: Sequence[Value], initial: Sequence[Value]
) -> tuple[dict[Value, list[Any]], dict[Value, Any]]:
    """The numbers at each step of the loop `node`, and those `carried` out of the last."""
    length: int = node.params["length"]
    step = body.inputs[-1]
    if length > costs().tabled_steps:
        return {}, {}
    state = {
        value: (start.data, out)
        for value, start, out in zip(carried, initial, body.outputs, strict=False)
        if value.type.form == "weak" and isinstance(start, Constant)
    }
    while True:
        nodes = _computed(body, {step, *state})
        known = {step, *state, *(inner.results[0] for inner in nodes)}
        lost = [v for v, (_, out) in state.items() if not _is_in(out, known)]
        if not lost:
            break
        for value in lost:
            del state[value]
    try:
        return _run(nodes, node, step, state)
    except (ArithmeticError, ValueError):
        return {step: list(range(length))}, {}


def _is_in(value: Value, known: set[Value]) -> bool:
    return value in known or isinstance(value, Constant)


def _computed(body: Graph, given: set[Value]) -> list[Node]:
    """The nodes that compute Python's numbers from `given` ones."""
    known, nodes = set(given), []
    for node in body.nodes:
        is_number = len(node.results) == 1 and node.results[0].type.form == "weak"
        is_operation = not node.op.effect and not isinstance(node.op, ControlFlow)
        if is_number and is_operation and node.operands:
            if all(_is_in(value, known) for value in node.operands):
                nodes.append(node)
                known.add(node.results[0])
    return nodes


def _run(
    nodes: Sequence[Node], loop: Node, step: Value, state: dict[Value, tuple[Any, Value]]
) -> tuple[dict[Value, list[Any]], dict[Value, Any]]:
    """The numbers that each step begins with or computes. Integers that do not fit an array count
    as unknown, with all that follows from them."""
    length: int = loop.params["length"]
    functions = [
        node.op.computation([value.type for value in node.operands], node.params) for node in nodes
    ]
    numbers: dict[Value, Any] = {value: start for value, (start, _) in state.items()}
    tables: dict[Value, list[Any]] = {
        value: [None] * length for value in (step, *state, *(node.results[0] for node in nodes))
    }

    def number(value: Value) -> Any:
        return value.data if isinstance(value, Constant) else numbers[value]

    for t in reversed(range(length)) if loop.params["reverse"] else range(length):
        numbers[step] = t
        for node, compute in zip(nodes, functions, strict=True):
            numbers[node.results[0]] = compute(*map(number, node.operands))
        for value, table in tables.items():
            table[t] = numbers[value]
        numbers.update({value: number(out) for value, (_, out) in state.items()})
    fits = {value for value, table in tables.items() if all(map(_fits, table))}
    last = {value: numbers[value] for value in state if value in fits}
    return {value: tables[value] for value in tables if value in fits}, last


def _fits(number: Any) -> bool:
    return type(number) is not int or abs(number) <= np.iinfo(np.int32).max


class KnownCarry(NamedTuple):
    """The carried value number `number`: what steps add to it, or subtract from it; where there
    are no `terms`, it is what the step before returns as `out`."""

    number: int
    out: Value
    terms: tuple[tuple[Value, bool], ...]

    @property
    def sources(self) -> list[Value]:
        """The values that are needed for all steps."""
        return [value for value, _ in self.terms] or [self.out]


def known_carry(
    number: int, value: Value, out: Value, is_there: Callable[[Value], bool]
) -> KnownCarry | None:
    """A carried value of which `out` is the next, if it follows from what is there before the
    loop; None if it does not."""
    kind = out.type
    if kind.dtype.kind not in "fc" and kind.dtype.name != "int64":
        return None
    if is_there(out):
        return KnownCarry(number, out, ())
    terms: list[tuple[Value, bool]] = []
    total = out
    while total is not value:
        node = total.node
        if node is None or node.op not in (add, subtract) or node.results[0].type is not kind:
            return None
        first, second = node.operands
        if node.op is add and is_there(first):
            first, second = second, first
        is_number = isinstance(second, Constant) and second.type.form == "weak"
        if not is_there(second) or not (is_number or second.type.shape == kind.shape):
            return None
        if second.type.form != "weak" and second.type.dtype != kind.dtype:
            return None
        terms.append((second, node.op is subtract))
        total = first
    return KnownCarry(number, out, tuple(terms[::-1])) if terms else None
