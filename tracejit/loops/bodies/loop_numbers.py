"""Python's numbers in a loop that are known at each step: those that follow from the number of the
step, and from numbers that are carried and begin with a known one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ops.control.control_flow import ControlFlow
from tracejit.support.cost_model import costs


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
