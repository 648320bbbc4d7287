"""Terms of sums in the body of a loop: what they are, and which are known before it.

In `w @ h + u @ x + b` only `w @ h` waits for the step before. `gather_terms` adds up the other
terms first, and fission computes their sum for all steps.

IR in -> IR out:

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.op import OPS
>>> graph = parse_graph('''graph step(h: f8[3], x: f8[3], b: f8[3]) -> z: f8[3]
...   y  f8[3] = add h x
...   z  f8[3] = add y b
... ''', OPS)
>>> print(print_graph(gather_terms(graph, lambda value: value.name in "xb")), end="")
graph step(h: f8[3], x: f8[3], b: f8[3]) -> z: f8[3]
  z_1  f8[3] = add x b
  z    f8[3] = add h z_1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from tracejit.ir.graph import Constant, Graph, Node, Value, replace_values
from tracejit.ops.arithmetic import add, multiply
from tracejit.ops.creation import full
from tracejit.passes.dce import drop_dead
from tracejit.passes.emission import emit, made_by, readers_of
from tracejit.passes.loop_products import flattened, partial_sums
from tracejit.passes.loop_rows import RowIndex
from tracejit.passes.rebuild import rebuild


class Term(NamedTuple):
    """A term that each step adds to a sum, or subtracts from it.

    `parts` are what is needed for all steps: the term itself; two factors, whose products are added
    up by one product; or `rows`, which each step places at its own index. There are none where the
    term is the same at each step. The sum is `placed` by a node at an index that is the same.
    """

    value: Value
    is_subtracted: bool
    parts: tuple[Value, ...]
    rows: RowIndex | None = None
    placed: Node | None = None


def gather_terms(body: Graph, is_there: Callable[[Value], bool]) -> Graph:
    """`body` with the terms of a sum that are there before the loop in one sum, and the others in
    another."""
    partial = partial_sums(body, readers_of(body))
    within = {value for node in partial for value in node.results}
    split = {
        node: terms
        for node in body.nodes
        if node.op is add and node not in partial and not within.isdisjoint(node.operands)
        for terms in [_split(flattened(node.operands, within), is_there)]
        if terms is not None
    }
    if not split:
        return body
    known: dict[Value, Value] = {}

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        def added(one: Value, other: Value) -> Value:
            return emit(new, node, add, (one, other))

        known.update(zip(node.operands, operands, strict=True))
        results: Sequence[Value] = new.take(node, operands).results
        if node in split:
            sums = [reduce(added, replace_values(terms, known)) for terms in split[node]]
            results = (added(*sums),)
        known.update(zip(node.results, results, strict=True))
        return results

    return drop_dead(rebuild(body, rewrite))


def _split(
    terms: Sequence[Value], is_there: Callable[[Value], bool]
) -> tuple[Sequence[Value], Sequence[Value]] | None:
    """The terms that wait for a step, and those that are there; None where there is nothing to
    gather."""
    there = [value for value in terms if is_there(value)]
    waiting = [value for value in terms if not is_there(value)]
    return (waiting, there) if len(there) > 1 and waiting else None


def factors_of(node: Node) -> tuple[Value, ...]:
    """`a` and `b` of a product `outer(a, b)` or `a.T @ b`, of a number and an array, or of a column
    and a row."""
    left, right = node.operands[:2] if len(node.operands) > 1 else (node.results[0],) * 2
    if node.op.product == "outer":
        return left, right
    if node.op.product == "matrices" and left.type.ndim == right.type.ndim == 2:
        turned = made_by(left, "transpose")
        return (turned.operands[0], right) if turned is not None else ()
    if node.op is multiply and left.type.dtype == right.type.dtype:
        for column, row in ((left, right), (right, left)):
            is_column = column.type.ndim == 2 and column.type.shape[1] == 1 == _row_count(row)
            if is_column or (not column.type.ndim and row.type.ndim):
                return column, row
    return ()


def _row_count(value: Value) -> int:
    """The number of rows of a matrix, or of what is broadcast with one."""
    shape = value.type.shape
    return shape[0] if len(shape) == 2 else 1 if len(shape) == 1 else 0


def is_zero(value: Value) -> bool:
    """Return whether a value is known to be zero everywhere."""
    if isinstance(value, Constant):
        return not np.any(value.data)
    node = value.node
    return node is not None and node.op is full and node.params["fill"] == 0
